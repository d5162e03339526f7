"""People, projects and places that memories mention: profiles, who is mentioned with whom, and
corrections.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from .. import entity_schemas, entity_view, schemas
from ..auth import Mine
from .timeline import EntityName

router = APIRouter(tags=["entities"])
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")]
Nodes = Annotated[int, Query(ge=1, le=100, description="Maximum number of entities.")]
EntityId = Annotated[
    str, Path(min_length=1, max_length=1000, description="An id, a name or an alias.")
]


@router.get("/entities")
def list_entities(
    hf: Mine,
    type: Annotated[list[schemas.Name], Query(description="Repeatable.")] = [],  # noqa: B006
    limit: Limit = 100,
) -> list[entity_schemas.Who]:
    """List entities, most mentioned first."""
    return [entity_schemas.Who.of(one) for one in hf.entities.list(types=type, limit=limit)]


@router.get("/entities/{name:path}")
def about(
    name: EntityId,
    hf: Mine,
    limit: Limit = 50,
) -> entity_schemas.Profile:
    """Return one entity with its names, its current facts and the memories that mention it."""
    return entity_view.profile(hf, name, limit=limit)


@router.get("/graph")
def graph(
    hf: Mine,
    entity: EntityName = None,
    limit: Nodes = 30,
) -> entity_schemas.Graph:
    """Return who is mentioned with whom: among the most mentioned, or around one entity."""
    return entity_view.graph(hf, entity=entity, limit=limit)


@router.get("/duplicates")
def duplicates(hf: Mine) -> list[entity_schemas.DuplicatePair]:
    """List entities that may be the same, with a reason each; nothing is merged."""
    return [
        entity_schemas.DuplicatePair(
            keep=entity_schemas.Who.of(pair.keep),
            other=entity_schemas.Who.of(pair.other),
            reason=pair.reason,
        )
        for pair in hf.entities.duplicates()
    ]


# A `path` as in the route that reads it: only that accepts a line break in a name.
@router.patch("/entities/{id:path}")
def rename(id: EntityId, body: entity_schemas.NewName, hf: Mine) -> entity_schemas.ChangedEntity:
    """Rename an entity, or change its type; the old name stays as an alias."""
    renamed = hf.entities.rename(id, body.name, type=body.type)
    return entity_schemas.ChangedEntity.of(renamed, run=hf.last_run)


@router.post("/entities/{id}/merge")
def merge(id: EntityId, body: entity_schemas.Merge, hf: Mine) -> entity_schemas.ChangedEntity:
    """Merge other entities into this one: their names and mentions move here."""
    return entity_schemas.ChangedEntity.of(hf.entities.merge(id, *body.others), run=hf.last_run)


@router.post("/entities/{id}/split")
def split(id: EntityId, body: entity_schemas.Split, hf: Mine) -> entity_schemas.ChangedEntity:
    """Move some names of an entity, and the memories that use them, to a new entity; return
    that.
    """
    return entity_schemas.ChangedEntity.of(hf.entities.split(id, *body.names), run=hf.last_run)
