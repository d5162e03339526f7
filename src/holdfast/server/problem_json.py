"""Errors as problem+json (RFC 9457): what happened and what to do next, without internals."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from ..errors import (
    CapReached,
    Conflict,
    EmbedderError,
    HoldfastError,
    InvalidInput,
    MissingExtra,
    MissingKey,
    ModelFailed,
    NotFound,
    Refused,
    RowDamaged,
    StoreBusy,
    StoreError,
    StoreFull,
    TooLarge,
)

log = logging.getLogger(__name__)

STATUS: Mapping[type[HoldfastError], int] = {
    TooLarge: 413,
    InvalidInput: 422,
    NotFound: 404,
    Conflict: 409,
    Refused: 403,
    RowDamaged: 409,
    StoreBusy: 503,
    StoreFull: 507,
    MissingExtra: 501,
    MissingKey: 503,
    CapReached: 503,
    ModelFailed: 502,
    EmbedderError: 502,
    StoreError: 500,
    HoldfastError: 500,
}
"""Status codes; the first matching error type applies."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
RETRY_AFTER = {503: "1", 502: "10"}  # seconds
# The caller learns nothing but the request id.
INSIDE = "Internal error. The server's log has the details under this request id."


def problem(
    status: int,
    detail: str,
    *,
    request_id: str = "",
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """Return the response for an error."""
    title = HTTPStatus(status).phrase
    body = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "request_id": request_id,
    }
    return JSONResponse(
        {**body, **more},
        status,
        dict(headers or {}),
        "application/problem+json",
    )


def status_of(error: HoldfastError) -> int:
    """Return the HTTP status of an error."""
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


async def tell_ours(request: Request, error: HoldfastError) -> JSONResponse:
    """Handle an error that Holdfast raised; its message is written for people."""
    status = status_of(error)
    # The text of such an error may disclose paths or SQL.
    if status == 500:
        return tell_unknown(request_id(request), error)
    return problem(
        status,
        str(error),
        request_id=request_id(request),
        headers=_retry(status),
    )


async def tell_http(request: Request, error: HTTPException) -> JSONResponse:
    """Handle an unknown path, a wrong method, or a refusal of a guard."""
    detail = error.detail
    headers = dict(error.headers or {})
    if error.status_code == 404 and detail == "Not Found":
        detail = "Unknown path. /openapi.json lists all paths."
    if error.status_code == 400 and detail == "There was an error parsing the body":
        detail = "Invalid request: the body is not JSON in UTF-8."
    if error.status_code == 405 and (methods := _methods(request)):
        detail, headers["Allow"] = f"This path accepts {methods}, not {request.method}.", methods
    return problem(
        error.status_code,
        detail,
        request_id=request_id(request),
        headers=headers,
    )


def _methods(request: Request) -> str:
    """Return the methods of a path; each method has its own route, and the error knows only the
    first.
    """
    routes = request.app.routes
    found = []
    for method in METHODS:
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in routes):
            found.append(method)
    return ", ".join(found)


async def tell_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    """Handle a request that does not match the schema; the input is not repeated."""
    found = error.errors()
    errors = [
        {"where": ".".join(map(str, one["loc"])), "message": _message(request, one)}
        for one in found
    ]
    malformed = any(one["type"] == "json_invalid" for one in found)
    said = "; ".join(f"{one['where']}: {one['message']}" for one in errors[:3])
    status = 400 if malformed else 422
    return problem(
        status,
        f"Invalid request: {said}" + ("" if said.endswith((".", "?")) else "."),
        request_id=request_id(request),
        errors=errors,
    )


def _message(request: Request, error: Mapping[str, Any]) -> str:
    """Describe what is wrong with one part of a request, with advice for common mistakes."""
    if error["type"] == "json_invalid":
        return f"this is not JSON: {error['ctx']['error']}"
    came = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if error["type"] == "model_attributes_type" and not came.endswith(("/json", "+json")):
        return (
            f"it has content type {came or 'unknown'}; send JSON, with the header "
            "Content-Type: application/json"
        )
    if error["type"] == "extra_forbidden" and error["loc"][0] == "body":
        return "this field is unknown here; /openapi.json has the fields of every path"
    return str(error["msg"])


def tell_unknown(request_id: str, error: BaseException) -> JSONResponse:
    """Handle a bug: all details go to the log, none to the caller."""
    log.error("request %s failed", request_id, exc_info=error)
    return problem(500, INSIDE, request_id=request_id)


def request_id(request: Request) -> str:
    """Return the id of this request, which the response and the log carry too."""
    return str(getattr(request.state, "request_id", ""))


def _retry(status: int) -> dict[str, str]:
    return {"Retry-After": RETRY_AFTER[status]} if status in RETRY_AFTER else {}


HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    HoldfastError: tell_ours,
    HTTPException: tell_http,
    RequestValidationError: tell_invalid,
}
