"""HTTP transport, through the official SDK, for clients that connect to a server.

Without keys it accepts only local connections, with the memory that it was opened with. A key opens
only its owner's memory.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ...client import Holdfast
from ...text.terminal import counted
from ..api_keys import KeyFile
from ..auth import ASK_FOR_KEY
from ..open_streams import OpenStreams
from ..ratelimit import Buckets
from ..response_headers import Envelope
from .dispatch import CACHED, SERVER, WARNINGS, Methods, Rejected
from .stdio import MODERN
from .subscriptions import Subscriptions

PATH = "/mcp"
ELSEWHERE = f"Unknown path. The address of this MCP server ends in {PATH}."
SESSION = "mcp-session-id"
# Clients that leave do not say so; the oldest subscriptions go first.
MOST_SESSIONS = 1000
Context = ServerRequestContext[Any, Any]
PARAMS: dict[str, type[BaseModel]] = {
    "tools/call": types.CallToolRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "resources/subscribe": types.SubscribeRequestParams,
    "resources/unsubscribe": types.UnsubscribeRequestParams,
    "completion/complete": types.CompleteRequestParams,
    "logging/setLevel": types.SetLevelRequestParams,
    "prompts/get": types.GetPromptRequestParams,
}


class Listeners:
    """The clients of one owner that want to be told of changes."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.stream = ListenHandler(self._bus)
        """Answers clients from 2026 on, which listen by a request that stays open."""
        self._sessions: dict[str, tuple[ServerSession, Subscriptions]] = {}

    async def tell(self, context: Context, result: dict[str, Any], changed: list[str]) -> None:
        """Send what each client wants to be told after a request of one of them."""
        params = context.params or {}
        session = _session_of(context)
        if session:
            _, subscriptions = self._sessions.pop(session, (None, Subscriptions()))
            subscriptions.note(context.method, params)
            self._sessions[session] = (context.session, subscriptions)
            for one in subscriptions.messages(result.get("_meta", {}).get(WARNINGS, ())):
                message = types.LoggingMessageNotificationParams.model_validate(one)
                await context.session.send_notification(
                    types.LoggingMessageNotification(params=message)
                )
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        for uri in changed:
            await self._bus.publish(ResourceUpdated(uri=uri))
        for channel, subscriptions in list(self._sessions.values()):
            for one in subscriptions.updates(changed):
                await channel.send_resource_updated(one["uri"])


def create_app(
    hf: Holdfast,
    methods: Methods,
    keys: KeyFile,
    *,
    host: str,
    buckets: Buckets | None = None,
) -> OpenStreams:
    """Return the application over an open memory; the caller closes it."""
    inner = _server(hf, methods).streamable_http_app(
        streamable_http_path=PATH, json_response=True, host=host
    )
    door = Door(inner, keys, buckets or Buckets(hf.settings.rate_limit))
    return OpenStreams(Envelope(door))


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
        address, *_ = scope.get("client") or ("-",)
        wait = self._buckets.take(key.id if key else address)
        if wait:
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
        elif scope["path"].rstrip("/") != PATH:
            await _refused(404, ELSEWHERE, {}, scope, receive, send)
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
    """Answer with a JSON-RPC error: clients show its message, of any other body only a status."""
    error = {
        "code": types.INVALID_REQUEST,
        "message": message,
        "data": {"request_id": scope["state"].get("request_id", "")},
    }
    body = {"jsonrpc": "2.0", "id": None, "error": error}
    await JSONResponse(body, status, headers)(scope, receive, send)


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
    listeners: defaultdict[object, Listeners] = defaultdict(Listeners)
    for method in methods:
        params = PARAMS.get(method, types.PaginatedRequestParams)
        server.add_request_handler(
            method,
            params,
            partial(_answered, hf, methods, listeners),
        )

    async def listen(
        context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        return await listeners[_owner_of(context)].stream(context, params)

    server.add_request_handler(
        "subscriptions/listen", types.SubscriptionsListenRequestParams, listen
    )
    return server


def _owner_of(context: Context) -> Any:
    return context.request.scope["state"].get("owner") if context.request is not None else None


def _session_of(context: Context) -> str:
    headers = context.request.headers if context.request is not None else {}
    return str(headers.get(SESSION, ""))


async def _answered(
    hf: Holdfast,
    methods: Methods,
    listeners: defaultdict[object, Listeners],
    context: Context,
    params: object,  # noqa: ARG001
) -> dict[str, Any]:
    """Answer one request in a thread, so that others do not wait."""
    owner = _owner_of(context)
    greeting = context.session.client_params
    view = hf if owner is None else hf.scoped(owner)
    asked = context.params or {}

    def work() -> tuple[dict[str, Any], list[str]]:
        client = greeting.client_info.name if greeting else ""
        result = methods.answer(context.method, asked, client=client, hf=view)
        calls = context.method == "tools/call"
        return result, methods.changed(asked, result, hf=view) if calls else []

    try:
        result, changed = await anyio.to_thread.run_sync(work)
    except Rejected as error:
        raise MCPError(
            code=error.code,
            message=str(error),
            data=error.data,
        ) from error
    await listeners[owner].tell(context, result, changed)
    # Clients up to 2025 refuse an answer with a key that their version does not know.
    return {"resultType": "complete", **result} if context.protocol_version in MODERN else result
