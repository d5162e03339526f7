"""What every response has: a request id, security headers, a log line."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..types import new_id, system_clock
from .problem_json import tell_unknown
from .request_counts import AnsweredRequest, RequestCounts
from .request_guards import is_page

log = logging.getLogger("holdfast.server.access")

LEFT_OUT = "Holdfast-Left-Out"
# Damaged rows listed in the header, at most.
MOST_NAMED = 10
# A caller's request id is logged, so it may not contain spaces or line breaks.
USABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Only this server's own files: a memory that contains HTML must not load or run anything.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Envelope:
    """Outermost middleware: names the request, answers if all else failed, logs the response."""

    def __init__(
        self,
        app: ASGIApp,
        requests: RequestCounts | None = None,
        is_crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._app = app
        self._requests = requests
        self._is_crowded = is_crowded

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = _name(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = name
        started = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                _add_headers(headers, scope["path"], name)
                if left_out := _left_out(scope):
                    headers[LEFT_OUT] = left_out
                # The caller connects again, and another process may accept it.
                if self._is_crowded():
                    headers["Connection"] = "close"
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:  # the boundary: the caller gets an answer in any case
            response = tell_unknown(name, error)
            # Once the response has started, a second one cannot be sent.
            if not status:
                await response(scope, receive, noted)
        finally:
            _note(scope, status, time.perf_counter() - started, name)
            if self._requests is not None:
                self._requests.note(
                    AnsweredRequest(system_clock(), scope["method"], _route(scope), status, name)
                )


def _left_out(scope: Scope) -> str:
    """Return the names of damaged rows that reads skipped, restricted to header characters."""
    hf = scope.get("state", {}).get("memory")
    found = hf.store.damaged(hf.scopes)[:MOST_NAMED] if hf is not None else ()
    return "; ".join(f"{one.noun} {one.name}" for one in found).encode("ascii", "replace").decode()


def _name(headers: Headers) -> str:
    supplied = headers.get("X-Request-Id", "")
    return supplied if USABLE_ID.fullmatch(supplied) else new_id("req", system_clock())


def _add_headers(
    headers: MutableHeaders,
    path: str,
    name: str,
) -> None:
    for header, value in HEADERS.items():
        headers[header] = value
    headers["X-Request-Id"] = name
    # Memories stay out of every cache; the page's own files may be cached if revalidated.
    headers["Cache-Control"] = "no-cache" if is_page(path) else "no-store"


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "-")


def _note(
    scope: Scope,
    status: int,
    seconds: float,
    name: str,
) -> None:
    """Write one log line, with the route and not the path: an address may contain a name or a
    query.
    """
    route = _route(scope)
    caller = scope.get("state", {}).get("caller", "-")
    log.info(
        "%s %s %d %.1f ms %s %s",
        scope["method"],
        route,
        status,
        seconds * 1000,
        name,
        caller,
    )
