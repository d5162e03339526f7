"""The API behind the proxy: its URL, the headers of both directions, and its answers."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ...errors import InvalidInput
from ..process import is_loopback
from .formats import ENCODINGS

PREFIX = "/v1"
USER, SESSION, KEY = "holdfast-user", "holdfast-session", "holdfast-key"
# Headers of one connection, which do not belong to the next one (RFC 9110, 7.6.1).
HOP_BY_HOP = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
    )
)
NOT_SENT = HOP_BY_HOP | {"host", "content-length", "expect", USER, SESSION, KEY}
# Seconds to connect. An answer may take as long as the client waits.
CONNECT_SECONDS = 10.0
Content = bytes | AsyncIterator[bytes]
Pairs = list[tuple[bytes, bytes]]


def check_upstream(url: str) -> str:
    """Return the base URL of an upstream without its last slash; raise InvalidInput if it is none.

    The message repeats no more than the host: a URL may hold a password.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidInput(
            "--upstream is the base URL of an OpenAI-compatible API, for example "
            "https://api.openai.com/v1 or http://127.0.0.1:11434/v1."
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidInput(
            f"--upstream may have no password, query or fragment (host {parts.hostname}). "
            "The client sends its own key."
        )
    return url.rstrip("/")


def check_not_itself(url: str, listener: socket.socket) -> None:
    """Raise InvalidInput if the upstream is the proxy, which would ask itself without end."""
    parts = urlsplit(url)
    if is_loopback(parts.hostname or "") and parts.port == listener.getsockname()[1]:
        raise InvalidInput(
            f"--upstream {url} is this proxy itself. Choose another --port, or name the API."
        )


class Upstream:
    """Connections to one API."""

    def __init__(self, url: str) -> None:
        self.url = check_upstream(url)
        host = urlsplit(self.url).hostname or ""
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            # As many as clients open.
            limits=httpx.Limits(max_connections=None),
            # HTTP_PROXY and the like are for other machines.
            trust_env=not is_loopback(host),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def answer(self, request: Request, content: Content) -> AsyncIterator[httpx.Response]:
        """Pass a request on and yield the answer, whose body is still to be read.

        Raises HTTPException if there is none.
        """
        path = request.scope["raw_path"].decode("ascii").removeprefix(PREFIX)
        query = request.scope["query_string"].decode("ascii")
        # Made here and not by the client, which would add headers of its own.
        asked = httpx.Request(
            request.method,
            f"{self.url}{path}?{query}" if query else self.url + path,
            headers=_request_headers(request, content),
            content=content,
        )
        try:
            answer = await self._client.send(asked, stream=True)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise HTTPException(
                502,
                f"The upstream {self.url} did not answer: {reason}. Check that it runs and that "
                "--upstream is its base URL.",
            ) from error
        try:
            yield answer
        finally:
            await answer.aclose()


def header(request: Request, name: str) -> str:
    """Return a header that may be any UTF-8, or an empty text; refuse it otherwise."""
    values = [value for key, value in request.headers.raw if key == name.encode()]
    try:
        return values[0].decode() if values else ""
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"The header {name} is not UTF-8.") from error


def response_headers(answer: httpx.Response) -> Pairs:
    """Return the headers of an answer for the client."""
    return [(name, value) for name, value in answer.headers.raw if _lower(name) not in HOP_BY_HOP]


def _request_headers(request: Request, content: Content) -> Pairs:
    # What the client names here is meant for this connection only.
    own = {one.strip().lower() for one in request.headers.get("connection", "").split(",")}
    pairs = [
        (name, value)
        for name, value in request.headers.raw
        if _lower(name) not in NOT_SENT and _lower(name) not in own
    ]
    if not isinstance(content, bytes):
        length = request.headers.get("content-length")
        # Without a length the body is sent in chunks, as it came.
        return [*pairs, (b"content-length", length.encode())] if length else pairs
    return [
        (name, _readable(value) if _lower(name) == "accept-encoding" else value)
        for name, value in pairs
    ]


def _readable(accepted: bytes) -> bytes:
    """Return the encodings that a client accepts and we can read."""
    offers = [one.strip() for one in accepted.decode("latin-1").split(",")]
    kept = [one for one in offers if one.partition(";")[0].lower() in ENCODINGS]
    return ", ".join(kept or ["identity"]).encode("latin-1")


def _lower(name: bytes) -> str:
    return name.decode("latin-1").lower()
