"""Checks before a request reaches memory: its origin or key, and its size."""

from __future__ import annotations

import asyncio
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .api_keys import KeyFile
from .auth import check_key
from .problem_json import problem

LOOPBACK = ("localhost", "127.0.0.1", "::1")
READING = ("GET", "HEAD", "OPTIONS")
# Where clients look for an MCP server. This one only says where to find it, to anybody: a client
# that is asked for a key would look for a way to log in.
MCP_PATH = "/mcp"
# Seconds for a complete body to arrive.
BODY_SECONDS = 30.0


class Gate:
    """Middleware that admits a request or rejects it with the reason."""

    def __init__(
        self,
        app: ASGIApp,
        keys: KeyFile,
        largest: int,
        patience: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._keys = keys
        self._largest = largest
        self._patience = patience

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            if not self._keys.needed:
                check_browser(request.method, scope["path"], request.headers)
            # A foreign page does not know a key. What has no body is refused by its route, if it
            # needs a key at all.
            elif request.method not in READING and scope["path"] != MCP_PATH:
                await check_key(request)
            body = await self._body(request)
        except HTTPException as refusal:
            name = scope.get("state", {}).get("request_id", "")
            response = problem(
                refusal.status_code,
                refusal.detail,
                request_id=name,
                headers=refusal.headers,
            )
            await response(scope, receive, send)
        except ClientDisconnect:
            return
        else:
            await self._app(scope, _again(body, receive), send)

    async def _body(self, request: Request) -> bytes:
        try:
            async with asyncio.timeout(self._patience):
                return await read_body(request, self._largest)
        except TimeoutError as error:
            raise HTTPException(408, "The body did not arrive in time. Send it again.") from error


def check_browser(
    method: str,
    path: str,
    headers: Headers,
) -> None:
    """Protect a server without keys from other web pages.

    Any page can send requests to this machine through the browser of its visitor, and with DNS
    rebinding it could even read the responses. So the host name must be ours, and cross-site
    requests are refused.
    """
    check_host(headers)
    if not is_page(path):
        check_origin(method, headers)


def is_page(path: str) -> bool:
    """Whether a path belongs to the Memory page, which holds no memories itself: a link from
    another page may open it.
    """
    return path in ("/", "/openapi.json") or path.startswith("/static/")


def check_host(headers: Headers) -> None:
    """Refuse a request that another name than localhost led here."""
    if _parts(f"//{headers.get('Host', '')}").hostname not in LOOPBACK:
        raise HTTPException(
            403, "Without keys this server accepts only localhost. Use http://127.0.0.1."
        )


def check_origin(method: str, headers: Headers) -> None:
    """Refuse a request that another web page made."""
    if headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403, "Requests from other web pages are refused.")
    origin = headers.get("Origin")
    if (
        method not in READING
        and origin is not None
        and _parts(origin).netloc != headers.get("Host", "")
    ):
        raise HTTPException(403, "Requests from other web pages are refused.")


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:  # no address at all
        return urlsplit("")


async def read_body(request: Request, largest: int) -> bytes:
    """Return the body of a request; refuse one of more than `largest` bytes."""
    too_large = HTTPException(
        413, f"A request may have at most {largest} bytes. Send less at once."
    )
    declared = request.headers.get("Content-Length", "")
    # The header only allows an early refusal; it may be absent or wrong, so the bytes are counted
    # too.
    if declared.isdigit() and int(declared) > largest:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise too_large
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Replay a body that was read, then continue with the rest."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message
