"""Routes of mem0's hosted API, for its `MemoryClient`: the same paths on this server."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from ...client import Holdfast
from ...errors import HoldfastError, InvalidInput
from ...integrations.mem0.hosted_api import (
    ENTITIES,
    added,
    created_between,
    hosted_item,
    only_ids,
    read_filters,
    read_text_mapping,
    split_ids,
)
from ...integrations.mem0.ids import OWNERS
from ...integrations.mem0.mem0_memory import UNSET
from ...text.terminal import counted
from .. import schemas
from ..auth import Mine, Server, Serving
from ..owner_view import owner_id
from ..problem_json import tell_http, tell_invalid, tell_ours
from .mem0_api import Answer, Given, Id, Ids, item_or_404, memory_of, own_filters, owner_ids

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class HostedRoute(APIRoute):
    """A route whose errors have the content type from which mem0's client reads their text."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except HoldfastError as error:
                response = await tell_ours(request, error)
            except HTTPException as error:
                response = await tell_http(request, error)
            except RequestValidationError as error:
                response = await tell_invalid(request, error)
            response.headers["Content-Type"] = "application/json"
            return response

        return answer


router = APIRouter(tags=["mem0"], route_class=HostedRoute)
missing = APIRouter(route_class=HostedRoute, include_in_schema=False)

EVERYTHING = 10**9  # items; pages are cut afterwards
MOST_IN_BATCH = 1000
ELSEWHERE = {
    "exports": "GET /api/memory/export exports everything of an owner.",
    "summary": "POST /api/memory/context returns what a model should know.",
    "profiles": "POST /api/memory/context returns what a model should know.",
    "profile": "POST /api/memory/context returns what a model should know.",
    "orgs": "A key belongs to one owner; there are no organizations or projects.",
    "webhooks": "GET /api/memory/changes lists what changed.",
    "event": "add and delete are finished when they answer, so there are no events.",
    "events": "add and delete are finished when they answer, so there are no events.",
}
"""What to use instead of a part of mem0's hosted API that is not served."""


class HostedRequest(BaseModel):
    """Base of requests. The client sends any keyword as a field, so unknown ones are ignored."""

    model_config = ConfigDict(extra="ignore")

    user_id: Given = None
    agent_id: Given = None
    app_id: Given = None
    run_id: Given = None
    filters: dict[str, Any] | None = None

    @property
    def ids(self) -> dict[str, Any]:
        """Ids that the request names outside its filters."""
        return {name: one for name in ENTITIES if (one := getattr(self, name)) is not None}


class HostedAddition(HostedRequest):
    """Messages to extract from, or to store as they are."""

    messages: list[dict[str, Any]] = Field(max_length=1000)
    metadata: dict[str, Any] | None = None
    timestamp: int | float | str | None = None
    expiration_date: str | None = None
    infer: bool = True


class HostedReading(HostedRequest):
    """What reads of several items have in common."""

    fields: list[schemas.Name] | None = None
    show_expired: bool = False
    categories: list[str] | None = None


class HostedSearch(HostedReading):
    """Query, filters and number of results."""

    query: str = Field(min_length=1, max_length=2000)
    metadata: dict[str, Any] | None = None
    top_k: int = Field(10, ge=1, le=1000)
    threshold: float = Field(0.1, ge=0, le=1)
    rerank: bool = False
    reference_date: int | float | str | None = None


class HostedListing(HostedReading):
    """Filters and period of a list."""

    keywords: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    page: int | None = Field(None, ge=1)
    page_size: int | None = Field(None, ge=1, le=200)


class HostedUpdate(BaseModel):
    """New text, metadata or dates of an item."""

    text: str | None = Field(None, max_length=schemas.MOST_TEXT)
    metadata: dict[str, Any] | None = None
    timestamp: int | float | str | None = None
    expiration_date: str | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """Arguments of `Mem0.update`: an expiration date may be None, which removes it."""
        given = self.model_dump(exclude={"memory_id"})
        given["expiration_date"] = (
            self.expiration_date if "expiration_date" in self.model_fields_set else UNSET
        )
        return given


class HostedBatchItem(HostedUpdate):
    """One item of a batch."""

    memory_id: schemas.Id


class HostedBatch(BaseModel):
    """Items to update or to delete."""

    memories: list[HostedBatchItem] = Field(max_length=MOST_IN_BATCH)


class HostedFeedback(BaseModel):
    """What somebody thinks of an item; null withdraws it."""

    memory_id: schemas.Id
    feedback: Literal["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"] | None = None
    feedback_reason: str | None = Field(None, max_length=2000)


# The awaited client joins a host that ends with a slash and this path as they are.
@router.get("//v1/ping/", include_in_schema=False)
@router.get("/v1/ping/")
def mem0_ping(hf: Mine) -> Answer:
    """Check a key; the client calls it first."""
    return {
        "status": "ok",
        # The client wants both, and passes them on where it asks for projects.
        "org_id": "holdfast",
        "project_id": owner_id(hf.scopes[0]),
        # The client would send an address to mem0's telemetry.
        "user_email": None,
    }


@router.post("/v3/memories/add/")
def mem0_hosted_add(body: HostedAddition, hf: Mine, server: Server) -> Answer:
    """Extract from messages, or store each with `infer: false`; it is done when it answers."""
    ids, app = _owner(hf, server, {**only_ids(body.filters or {}), **body.ids})
    given = body.model_dump(include={"messages", "timestamp", "expiration_date", "infer"})
    given["metadata"] = {**(body.metadata or {}), **app}
    results = memory_of(hf, server).add(**given, **ids)["results"]
    return {"status": "SUCCEEDED", "results": [added(one) for one in results]}


@router.post("/v3/memories/")
def mem0_hosted_list(
    body: HostedListing,
    request: Request,
    hf: Mine,
    server: Server,
    page: Annotated[int | None, Query(ge=1)] = None,
    page_size: Annotated[int | None, Query(ge=1, le=200)] = None,
) -> Answer:
    """List items, newest first, in pages."""
    wanted = _filters(body, hf, server)
    if body.keywords:
        wanted = {"AND": [wanted, {"memory": {"icontains": body.keywords}}]}
    found = memory_of(hf, server).get_all(
        filters=wanted, top_k=EVERYTHING, show_expired=body.show_expired
    )["results"]
    found = created_between(found, body.start_date, body.end_date)
    return _page(
        request,
        [hosted_item(one, body.fields) for one in found],
        page or body.page or 1,
        page_size or body.page_size or 100,
    )


@router.post("/v3/memories/search/")
def mem0_hosted_search(body: HostedSearch, hf: Mine, server: Server) -> Answer:
    """Search items, best first."""
    if body.metadata:
        body.filters = {"AND": [body.filters or {}, {"metadata": body.metadata}]}
    options = ("query", "top_k", "threshold", "rerank", "reference_date", "show_expired")
    found = memory_of(hf, server).search(
        filters=_filters(body, hf, server), **body.model_dump(include=set(options))
    )
    return {"results": [hosted_item(one, body.fields) for one in found["results"]]}


@router.get("/v1/memories/{id}/")
def mem0_hosted_get(id: Id, hf: Mine, server: Server) -> Answer:
    """Return one item."""
    found = item_or_404(memory_of(hf, server), id)
    return hosted_item({name: value for name, value in found.items() if name != "score"})


@router.put("/v1/memories/{id}/")
def mem0_hosted_update(id: Id, body: HostedUpdate, hf: Mine, server: Server) -> Answer:
    """Update an item under the same id, and return it."""
    memory = memory_of(hf, server)
    item_or_404(memory, id)
    memory.update(id, **body.changes)
    return mem0_hosted_get(id, hf, server)


@router.delete("/v1/memories/{id}/")
def mem0_hosted_delete(
    id: Id,
    hf: Mine,
    server: Server,
    delete_linked: Annotated[
        bool, Query(description="Superseded memories are never shown, so none is left to delete.")
    ] = False,
) -> Answer:
    """Forget an item."""
    memory = memory_of(hf, server)
    item_or_404(memory, id)
    return {**memory.delete(id), **({"cascade_count": 0} if delete_linked else {})}


@router.delete("/v1/memories/")
def mem0_hosted_delete_all(
    hf: Mine,
    server: Server,
    user_id: Ids = None,
    agent_id: Ids = None,
    app_id: Ids = None,
    run_id: Ids = None,
    metadata: Annotated[str | None, Query(max_length=2000)] = None,
    filters: Annotated[str | None, Query(max_length=2000)] = None,
) -> Answer:
    """Forget the items of a user, an agent, an app or a run."""
    named = zip(ENTITIES, (user_id, agent_id, run_id, app_id), strict=True)
    given = {name: value for name, value in named if value is not None}
    if filters is not None:
        given = {**only_ids(read_text_mapping("filters", filters)), **given}
    narrower = read_text_mapping("metadata", metadata) if metadata is not None else {}
    if not given and not narrower:
        raise HTTPException(
            400, f"Name at least one of {', '.join(ENTITIES)}. Nothing was deleted."
        )
    ids, app = _owner(hf, server, given)
    filters_left = read_filters({**app, "metadata": narrower})
    return {**memory_of(hf, server).delete_all(**ids, filters=filters_left)}


@router.get("/v1/memories/{id}/history/")
def mem0_hosted_history(id: Id, hf: Mine, server: Server) -> list[Answer]:
    """Return the history of an item, oldest first, with the conversation it came from."""
    memory = memory_of(hf, server)
    events = memory.history(id)
    item = memory.get(id)
    about = hosted_item(item, [*ENTITIES, "session_id", "metadata", "categories"]) if item else {}
    said = memory.sources(id)
    return [
        {**event, **about, "input": said if event["event"] == "ADD" else []} for event in events
    ]


@router.get("/v1/entities/")
def mem0_hosted_entities(request: Request, hf: Mine, server: Server) -> Answer:
    """List users, agents and runs with memories; with a key, those of its owner."""
    owner = owner_id(hf.scopes[0])
    found = memory_of(hf, server).entities()
    named = [{**one, "name": one["id"], "owner": owner, "metadata": None} for one in found]
    return _page(request, named, 1, EVERYTHING)


@router.delete("/v2/entities/{type}/{name:path}/")
def mem0_hosted_delete_entity(
    type: Annotated[Literal["user", "agent", "app", "run"], Path()],
    name: Annotated[schemas.Name, Path()],
    hf: Mine,
    server: Server,
) -> Answer:
    """Forget the items of a user, an agent, an app or a run; one without items is no error."""
    ids, app = _owner(hf, server, {f"{type}_id": name})
    return {**memory_of(hf, server).delete_all(**ids, filters=app)}


@router.put("/v1/batch/")
def mem0_hosted_batch_update(body: HostedBatch, hf: Mine, server: Server) -> Answer:
    """Update several items; one that cannot be updated is reported and stops no other."""
    memory = memory_of(hf, server)
    return _batch("updated", body, lambda one: memory.update(one.memory_id, **one.changes))


@router.delete("/v1/batch/")
def mem0_hosted_batch_delete(body: HostedBatch, hf: Mine, server: Server) -> Answer:
    """Forget several items; one that is not there is reported and stops no other."""
    memory = memory_of(hf, server)
    return _batch("deleted", body, lambda one: memory.delete(one.memory_id))


@router.post("/v1/feedback/")
def mem0_hosted_feedback(body: HostedFeedback, hf: Mine, server: Server) -> Answer:
    """Record with an item what somebody thinks of it."""
    memory = memory_of(hf, server)
    item_or_404(memory, body.memory_id)
    memory.feedback(**body.model_dump())
    return {"id": body.memory_id, **body.model_dump(exclude={"memory_id"})}


def mem0_hosted_missing(request: Request) -> JSONResponse:
    """Refuse what only mem0's own servers offer."""
    parts = request.url.path.split("/")
    hints = [ELSEWHERE[part] for part in parts if part in ELSEWHERE]
    raise HTTPException(
        501,
        f"Holdfast does not serve {request.method} {request.url.path} of mem0's hosted API. "
        + (hints or ["Its paths end with a slash; docs/how-to/mem0.md lists those it serves."])[0],
    )


for _root in ("/v1", "/v2", "/v3", "/api/v1"):
    missing.add_api_route(
        _root + "/{rest:path}",
        mem0_hosted_missing,
        methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
    )


def _filters(body: HostedReading, hf: Holdfast, server: Serving) -> dict[str, Any]:
    if body.categories:
        raise InvalidInput("categories are not stored. Filter by metadata instead.")
    filters = read_filters({**(body.filters or {}), **body.ids})
    return own_filters(hf, server, filters, body.user_id)


def _page(request: Request, found: list[Answer], page: int, size: int) -> Answer:
    def url(number: int) -> str:
        return str(request.url.include_query_params(page=number, page_size=size))

    end = page * size
    return {
        "count": len(found),
        "next": url(page + 1) if end < len(found) else None,
        "previous": url(page - 1) if page > 1 else None,
        "results": found[end - size : end],
    }


def _owner(
    hf: Holdfast, server: Serving, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the ids of an owner, and the filter for an app."""
    owner, app = split_ids(given)
    return owner_ids(hf, server, *(owner.get(name) for name in OWNERS)), app


def _batch(done: str, body: HostedBatch, change: Callable[[HostedBatchItem], object]) -> Answer:
    errors = []
    for one in body.memories:
        try:
            change(one)
        except HoldfastError as error:
            errors.append({"memory_id": one.memory_id, "detail": str(error)})
            if len(errors) == len(body.memories):
                raise
    count = len(body.memories) - len(errors)
    message = f"Successfully {done} {counted(count, 'memory', 'memories')}"
    return {"message": message, "errors": errors} if errors else {"message": message}
