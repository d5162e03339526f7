"""The application: routes, error handlers, middleware and the Memory page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse
from starlette.staticfiles import StaticFiles

from .. import __version__
from ..audit import AuditLog
from ..client import Holdfast
from ..feedback import FeedbackLog
from .api_keys import KeyFile
from .auth import Serving
from .fair_queue import FairQueue
from .owner_view import Checkup
from .problem_json import HANDLERS, request_id
from .ratelimit import Buckets
from .request_counts import RequestCounts
from .request_guards import MCP_PATH, Gate
from .response_headers import Envelope
from .routes import ROUTERS, mem0_hosted
from .schemas import Problem
from .session_watch import Conversations
from .shared_ratelimit import SharedBuckets
from .waiting_table import WaitingTable

PREFIX = "/api/memory"
WEB = Path(__file__).parent / "web"
# Minimum size limit of a request, in bytes.
SMALLEST_LIMIT = 1_000_000
NO_MCP = (
    "`holdfast serve` does not speak MCP. Start `holdfast mcp --http` beside it, with the same "
    "--store, and connect to the address that it prints; or let the client start `holdfast mcp`."
)
# Of JSON-RPC 2.0.
INVALID_REQUEST = -32600
ABOUT = "Long-term memory of an owner: store, recall, correct, review and erase."
PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
JSON_PROBLEM = {"application/json": PROBLEM["application/problem+json"]}
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is not JSON."},
    401: {"description": "A key is required."},
    403: {"description": "The key does not open that memory, or a rule protects it."},
    404: {"description": "Not found in this owner's memory."},
    409: {"description": "The data changed meanwhile, or a later change blocks the request."},
    413: {"description": "Too large."},
    422: {"description": "The request does not match the schema."},
    429: {"description": "Too many requests; Retry-After says when to try again."},
    503: {"description": "The store is busy; Retry-After says when to try again."},
}


def create_app(
    hf: Holdfast,
    keys: KeyFile,
    *,
    audit: AuditLog,
    feedback: FeedbackLog,
    buckets: Buckets | SharedBuckets | None = None,
    waiting: WaitingTable | None = None,
) -> FastAPI:
    """Return the application over an open memory and its side tables; the caller closes them.

    `buckets` and `waiting` are shared with other processes; without them, this one counts alone.
    """
    app = FastAPI(
        title="Holdfast",
        description=ABOUT,
        version=__version__,
        docs_url=None,  # their pages load scripts from other servers; this server works offline
        redoc_url=None,
        exception_handlers=HANDLERS,
        generate_unique_id_function=_operation,
    )
    requests = RequestCounts(hf.clock())
    queue = FairQueue(table=waiting)
    app.state.serving = Serving(
        hf=hf,
        keys=keys,
        buckets=buckets or Buckets(hf.settings.rate_limit),
        conversations=Conversations(hf),
        checkup=Checkup(hf),
        audit=audit,
        feedback=feedback,
        requests=requests,
        queue=queue,
    )
    for router, checks in ROUTERS:
        app.include_router(router, prefix=PREFIX, dependencies=checks, responses=_problems(PROBLEM))
    # At the root, because a client of mem0's hosted API knows a host and no path.
    app.include_router(mem0_hosted.router, responses=_problems(PROBLEM | JSON_PROBLEM))
    app.include_router(mem0_hosted.missing)
    app.add_api_route(MCP_PATH, _no_mcp, methods=["GET", "POST", "DELETE"], include_in_schema=False)
    app.add_middleware(
        Gate,
        keys=keys,
        # Twice the content: JSON escapes make a text longer.
        largest=max(SMALLEST_LIMIT, 2 * hf.settings.max_content_bytes),
    )
    # Added last and so outermost: refusals of the gate also get headers and a log line.
    app.add_middleware(Envelope, requests=requests, is_crowded=queue.is_crowded)
    _add_page(app)
    _complete_schema(app)
    return app


def _operation(route: APIRoute) -> str:
    return route.name


def _problems(content: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {status: {**about, "content": content} for status, about in ERRORS.items()}


def _complete_schema(app: FastAPI) -> None:
    """Add the error schema, which no route returns itself, to the OpenAPI document."""
    make = app.openapi

    def complete() -> dict[str, Any]:
        schema = make()
        schema["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        return schema

    app.openapi = complete  # type: ignore[method-assign]


def _no_mcp(request: Request) -> JSONResponse:
    """Say where MCP is served, as a JSON-RPC error, whose message MCP clients show."""
    error = {
        "code": INVALID_REQUEST,
        "message": NO_MCP,
        "data": {"request_id": request_id(request)},
    }
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 404)


def _add_page(app: FastAPI) -> None:
    app.add_api_route(
        "/",
        _page,
        include_in_schema=False,
        response_class=FileResponse,
    )
    app.mount(
        "/static",
        StaticFiles(directory=WEB, check_dir=False),
        name="static",
    )


async def _page() -> FileResponse:
    return FileResponse(WEB / "index.html")
