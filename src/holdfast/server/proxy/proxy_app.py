"""The proxy as an application: whose memory a request uses, and the answer, byte for byte."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

import httpx
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from ...client import Holdfast
from ...errors import InvalidInput
from ...ingest.commit import check_session
from ...types import Scope as Owner
from ..api_keys import KeyFile
from ..auth import named, opened, within_limit
from ..owner_view import owner_id
from ..ratelimit import Buckets
from ..request_guards import check_host, check_origin, read_body
from ..session_watch import Conversations
from .formats import FORMATS, AnswerReader, Format
from .memory import Exchange, ProxyMemory
from .upstream import KEY, PREFIX, SESSION, USER, Content, Upstream, header, response_headers

log = logging.getLogger("holdfast.server.access")

ASK_FOR_KEY = "This proxy requires a key. Send it in the header `Holdfast-Key: hf_…`."
# Seconds that a request waits for memory before it goes on without.
MEMORY_SECONDS = 10.0
# Bytes of a chat request, which may hold pictures and files.
LARGEST = 100_000_000


class Relay:
    """State of one answer on its way to the client."""

    def __init__(self, send: Send, api: Format | None = None) -> None:
        self._send = send
        self._api = api
        self.status = 0
        self.reader: AnswerReader | None = None
        """What was read of an answer that is worth remembering."""

    async def run(self, answer: httpx.Response) -> None:
        """Send an answer. If it breaks off, so does what the client gets."""
        headers = response_headers(answer)
        self.status = answer.status_code
        if self._api and answer.is_success:
            kind = answer.headers.get("content-type", "")
            encoding = answer.headers.get("content-encoding", "")
            self.reader = AnswerReader(self._api, kind, encoding)
        await self._send({"type": "http.response.start", "status": self.status, "headers": headers})
        try:
            async for data in answer.aiter_raw():
                # Before the bytes are sent: with the last of them the client may close.
                if self.reader:
                    self.reader.feed(data)
                await self._send({"type": "http.response.body", "body": data, "more_body": True})
        except httpx.TransportError as error:
            self.reader = None
            # The server closes the connection of a response that was not completed.
            log.warning("the upstream broke off its answer: %s", type(error).__name__)
        else:
            await self._send({"type": "http.response.body", "body": b""})


class Proxy:
    """ASGI application that passes requests below /v1 on, and adds memory to chats."""

    def __init__(
        self,
        hf: Holdfast,
        upstream: str,
        keys: KeyFile,
        *,
        buckets: Buckets | None = None,
        memory_seconds: float = MEMORY_SECONDS,
    ) -> None:
        self.conversations = Conversations(hf)
        self._hf = hf
        self._upstream = Upstream(upstream)
        self._keys = keys
        self._buckets = buckets or Buckets(hf.settings.rate_limit)
        self._memory = ProxyMemory(self.conversations)
        self._memory_seconds = memory_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or close all connections when the server stops."""
        if scope["type"] == "http":
            await self._handle(Request(scope, receive), send)
        elif scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self._upstream.close()
            await send({"type": "lifespan.shutdown.complete"})

    async def _handle(self, request: Request, send: Send) -> None:
        started = time.perf_counter()
        path = request.url.path.removeprefix(PREFIX + "/")
        api = FORMATS.get(path) if request.method == "POST" else None
        relay = Relay(send, api)
        try:
            owner = self._owner(request)
            if not request.url.path.startswith(PREFIX + "/"):
                raise HTTPException(404, f"Unknown path. The base URL here ends in {PREFIX}.")
            if api is None:
                await self._pass_on(request, _body(request), relay)
            else:
                await self._chat(request, owner, api, relay)
        except HTTPException as refusal:
            relay.status = refusal.status_code
            await _error(refusal)(request.scope, request.receive, send)
        except ClientDisconnect:
            return
        finally:
            # Neither the path nor a header: they may hold a name or a key.
            name = api.path if api else "other"
            spent = (time.perf_counter() - started) * 1000
            log.info("%s %s %d %.1f ms", request.method, name, relay.status, spent)

    def _owner(self, request: Request) -> Owner:
        """Return whose memory a request uses; refuse a wrong key, a wrong name or a web page."""
        if not self._keys.needed:
            # With keys no check is needed: a foreign page does not know one.
            check_host(request.headers)
            check_origin(request.method, request.headers)
        try:
            check_session(header(request, SESSION) or "none")
            user = header(request, USER) or None
            if not self._keys.needed:
                return named(user, self._hf.scopes[0])
        except InvalidInput as error:
            raise HTTPException(400, f"Holdfast-User, Holdfast-Session: {error}") from error
        key = self._keys.find(header(request, KEY))
        if key is None:
            # Failed attempts count against the address: keys cannot be guessed at full speed.
            within_limit(self._buckets, request.client.host if request.client else "-")
            raise HTTPException(401, ASK_FOR_KEY)
        return opened(key, user)

    async def _pass_on(self, request: Request, content: Content, relay: Relay) -> None:
        async with self._upstream.answer(request, content) as answer:
            await relay.run(answer)

    async def _chat(self, request: Request, owner: Owner, api: Format, relay: Relay) -> None:
        raw = await read_body(request, LARGEST)
        view = self._hf.scoped(owner)
        view.actor = f"http:{owner_id(owner)}"
        exchange = self._memory.begin(view, api, raw, header(request, SESSION))
        content = await self._with_context(exchange, raw) if exchange else raw
        await _while_connected(request, self._pass_on(request, content, relay))
        # Also if the client stopped listening: the user said it, and saw what had arrived.
        if exchange and relay.reader:
            await asyncio.to_thread(self._memory.capture, exchange, relay.reader.end())

    async def _with_context(self, exchange: Exchange, raw: bytes) -> bytes:
        recalled = asyncio.to_thread(self._memory.add_context, exchange, raw)
        try:
            return await asyncio.wait_for(recalled, self._memory_seconds)
        except TimeoutError:
            self._memory.note_late()
            return raw


async def _while_connected(request: Request, work: Coroutine[Any, Any, None]) -> None:
    """Run `work`, and cancel it when the client closes its connection."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, gone):
            # Without effect on one that has ended.
            task.cancel()
    await asyncio.wait((working,))
    if not working.cancelled():
        working.result()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _body(request: Request) -> Content:
    """Return the body of a request as it arrives, so that files of any size can be sent."""
    has_one = any(name in request.headers for name in ("content-length", "transfer-encoding"))
    return request.stream() if has_one else b""


def _error(refusal: HTTPException) -> JSONResponse:
    """Return our own error in the shape that clients of the API know."""
    error = {"message": refusal.detail, "type": "holdfast_proxy", "param": None, "code": None}
    return JSONResponse({"error": error}, refusal.status_code, dict(refusal.headers or {}))
