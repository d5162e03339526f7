"""mem0's REST routes, for its clients: the same paths below another base URL, with the same
schemas.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field, StrictInt
from starlette.exceptions import HTTPException

from ...client import Holdfast
from ...integrations.mem0 import Mem0
from ...integrations.mem0.ids import OWNERS, normalise_id
from .. import schemas
from ..auth import Mine, Server, Serving

router = APIRouter(prefix="/mem0", tags=["mem0"])
Id = Annotated[schemas.Id, Path()]
# The adapter validates the ids.
Given = Annotated[str, Field(max_length=200)] | StrictInt | None
Answer = dict[str, Any]
Ids = Annotated[Given, Query(description="Filter by metadata.")]


class Message(schemas.Request):
    """One message of a conversation."""

    role: schemas.Name
    content: str = Field(max_length=schemas.MOST_TEXT)
    name: schemas.Name | None = None


class Addition(schemas.Request):
    """Messages to extract from, or to store as they are."""

    messages: list[Message] = Field(max_length=1000)
    user_id: Given = None
    agent_id: Given = None
    run_id: Given = None
    metadata: dict[str, Any] | None = None
    expiration_date: str | None = None
    infer: bool = True
    memory_type: str | None = None
    prompt: str | None = None


class Search(schemas.Request):
    """Query, owner and number of results."""

    query: str = Field(min_length=1, max_length=2000)
    user_id: Given = None
    agent_id: Given = None
    run_id: Given = None
    filters: dict[str, Any] = Field(default_factory=dict)
    top_k: int = Field(20, ge=0, le=500)
    threshold: float = Field(0.1, ge=0, le=1)


class Update(schemas.Request):
    """New text of a memory, and metadata to merge."""

    text: str = Field(max_length=schemas.MOST_TEXT)
    metadata: dict[str, Any] | None = None


@router.post("/memories")
def mem0_add(
    body: Addition,
    hf: Mine,
    server: Server,
) -> Answer:
    """Extract from messages, or store each with `infer: false`."""
    request_ids = body.model_dump(exclude={"user_id", "agent_id", "run_id"})
    return {
        **memory_of(hf, server).add(
            **request_ids, **owner_ids(hf, server, body.user_id, body.agent_id, body.run_id)
        )
    }


@router.get("/memories")
def mem0_list(
    hf: Mine,
    server: Server,
    user_id: Ids = None,
    agent_id: Ids = None,
    run_id: Ids = None,
    top_k: Annotated[int, Query(ge=0, le=500)] = 100,
) -> Answer:
    """List the items of a user, an agent or a run, newest first."""
    return {
        **memory_of(hf, server).get_all(
            filters=owner_ids(hf, server, user_id, agent_id, run_id), top_k=top_k
        )
    }


@router.delete("/memories")
def mem0_delete_all(
    hf: Mine,
    server: Server,
    user_id: Ids = None,
    agent_id: Ids = None,
    run_id: Ids = None,
) -> Answer:
    """Forget the items of a user, an agent or a run."""
    return {**memory_of(hf, server).delete_all(**owner_ids(hf, server, user_id, agent_id, run_id))}


@router.get("/memories/{id}")
def mem0_get(
    id: Id,
    hf: Mine,
    server: Server,
) -> Answer:
    """Return one item."""
    return item_or_404(memory_of(hf, server), id)


@router.put("/memories/{id}")
def mem0_update(
    id: Id,
    body: Update,
    hf: Mine,
    server: Server,
) -> Answer:
    """Update the text of an item under the same id."""
    memory = memory_of(hf, server)
    item_or_404(memory, id)
    return {**memory.update(id, body.text, body.metadata)}


@router.delete("/memories/{id}")
def mem0_delete(
    id: Id,
    hf: Mine,
    server: Server,
) -> Answer:
    """Forget an item."""
    memory = memory_of(hf, server)
    item_or_404(memory, id)
    return {**memory.delete(id)}


@router.get("/memories/{id}/history")
def mem0_history(
    id: Id,
    hf: Mine,
    server: Server,
) -> list[Answer]:
    """Return the history of an item, oldest first."""
    return memory_of(hf, server).history(id)


@router.post("/search")
def mem0_search(
    body: Search,
    hf: Mine,
    server: Server,
) -> Answer:
    """Search items, best first."""
    ids = {name: value for name in OWNERS if (value := getattr(body, name)) is not None}
    filters = own_filters(hf, server, {**body.filters, **ids}, body.user_id)
    memory = memory_of(hf, server)
    return {
        **memory.search(body.query, filters=filters, top_k=body.top_k, threshold=body.threshold)
    }


@router.get("/entities")
def mem0_entities(hf: Mine, server: Server) -> list[Answer]:
    """List users, agents and runs with memories; with a key, only its owner."""
    return memory_of(hf, server).entities()


@router.post("/reset")
def mem0_reset(hf: Mine) -> Answer:
    """Forget everything of one owner: the key's, or without keys that of `user_id`, else of the
    server.
    """
    # A request without an owner must not reach all owners, with or without keys.
    Mem0(hf, only=hf.scopes[0]).reset()
    return {"message": "All memories reset"}


def memory_of(hf: Holdfast, server: Serving) -> Mem0:
    """Memory visible to a request: with a key its owner's, on a server without keys everybody's."""
    return Mem0(hf, only=hf.scopes[0] if server.keys.needed else None)


def owner_ids(
    hf: Holdfast,
    server: Serving,
    user_id: Given,
    agent_id: Given,
    run_id: Given,
) -> dict[str, Any]:
    """Owner of the requested items; a key implies its owner."""
    requested = zip(OWNERS, (user_id, agent_id, run_id), strict=True)
    ids = {name: normalise_id(name, value) for name, value in requested}
    if server.keys.needed:
        if ids["user_id"] not in (None, hf.scopes[0].key):
            raise HTTPException(
                403, "Your key does not open the memory of this user_id. Leave user_id out."
            )
        ids["user_id"] = hf.scopes[0].key
    if not any(ids.values()):
        raise HTTPException(400, "At least one identifier (user_id, agent_id, run_id) is required.")
    return {name: value for name, value in ids.items() if value is not None}


def own_filters(
    hf: Holdfast,
    server: Serving,
    filters: dict[str, Any],
    user_id: Given = None,
) -> dict[str, Any]:
    """Filters of a request, restricted to the owner of its key."""
    if not server.keys.needed:
        return filters
    return {"AND": [filters, owner_ids(hf, server, user_id, None, None)]}


def item_or_404(memory: Mem0, id: str) -> Answer:
    found = memory.get(id)
    if found is None:
        raise HTTPException(404, f"No memory {id!r} found.")
    return found
