"""HTTP transport, through the official SDK, for clients that connect to a server.

Without keys it accepts only local connections, with the memory that it was opened with. A key opens
only its owner's memory.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ...client import Holdfast
from ...text.terminal import counted
from ..api_keys import KeyFile
from ..auth import ASK_FOR_KEY
from ..problem_json import problem
from ..ratelimit import Buckets
from ..response_headers import Envelope
from .dispatch import CACHED, SERVER, Methods, Rejected

PATH = "/mcp"
Context = ServerRequestContext[Any, Any]
PARAMS: dict[str, type[BaseModel]] = {
    "tools/call": types.CallToolRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "prompts/get": types.GetPromptRequestParams,
}


def create_app(
    hf: Holdfast,
    methods: Methods,
    keys: KeyFile,
    *,
    host: str,
    buckets: Buckets | None = None,
) -> ASGIApp:
    """Return the application over an open memory; the caller closes it."""
    inner = _server(hf, methods).streamable_http_app(
        streamable_http_path=PATH, json_response=True, host=host
    )
    return Envelope(Door(inner, keys, buckets or Buckets(hf.settings.rate_limit)))


class Door:
    """Requires a key if there are any, and records whose memory it opens."""

    def __init__(
        self,
        app: ASGIApp,
        keys: KeyFile,
        buckets: Buckets,
    ) -> None:
        self._app = app
        self._keys = keys
        self._buckets = buckets

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        needed = self._keys.needed
        key = self._keys.find(_shown(Headers(scope=scope))) if needed else None
        # Before the key is refused, so that guessing keys is limited as well.
        if wait := self._buckets.take(key.id if key else (scope.get("client") or ("-",))[0]):
            message = f"Too many requests. Try again in {counted(wait, 'second')}."
            await _refused(
                429,
                message,
                {"Retry-After": str(wait)},
                scope,
                receive,
                send,
            )
        elif needed and key is None:
            await _refused(
                401,
                ASK_FOR_KEY,
                {"WWW-Authenticate": "Bearer"},
                scope,
                receive,
                send,
            )
        else:
            state.update({"caller": key.id, "owner": key.scope} if key else {})
            await self._app(scope, receive, send)


def _shown(headers: Headers) -> str:
    kind, _, key = headers.get("Authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else headers.get("X-API-Key", "")


async def _refused(
    status: int,
    message: str,
    headers: dict[str, str],
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    name = scope["state"].get("request_id", "")
    await problem(status, message, request_id=name, headers=headers)(
        scope,
        receive,
        send,
    )


def _server(hf: Holdfast, methods: Methods) -> Server[Any]:
    hints: Any = {
        method: CacheHint(ttl, "public" if who == "public" else "private")
        for method, (ttl, who) in CACHED.items()
    }
    server: Server[Any] = Server(
        SERVER["name"],
        title=SERVER["title"],
        version=SERVER["version"],
        instructions=methods.instructions,
        cache_hints=hints,
    )
    for method in methods:
        params = PARAMS.get(method, types.PaginatedRequestParams)
        server.add_request_handler(
            method,
            params,
            partial(_answered, hf, methods),
        )
    return server


async def _answered(
    hf: Holdfast,
    methods: Methods,
    context: Context,
    params: object,  # noqa: ARG001
) -> dict[str, Any]:
    """Answer one request in a thread, so that others do not wait."""
    owner = context.request.scope["state"].get("owner") if context.request is not None else None
    greeting = context.session.client_params
    work = partial(
        methods.answer,
        context.method,
        context.params or {},
        client=greeting.client_info.name if greeting else "",
        hf=hf if owner is None else hf.scoped(owner),
    )
    try:
        return {"resultType": "complete", **await anyio.to_thread.run_sync(work)}
    except Rejected as error:
        raise MCPError(
            code=error.code,
            message=str(error),
            data=error.data,
        ) from error
