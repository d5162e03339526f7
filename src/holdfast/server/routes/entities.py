"""People, projects and places that memories mention: profiles, who is mentioned with whom, and
corrections.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from .. import entity_view, schemas
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
) -> list[schemas.Who]:
    """List entities, most mentioned first."""
    return [schemas.Who.of(one) for one in hf.entities.list(types=type, limit=limit)]


@router.get("/entities/{name:path}")
def about(
    name: EntityId,
    hf: Mine,
    limit: Limit = 50,
) -> schemas.Profile:
    """Return one entity with its names, its current facts and the memories that mention it."""
    return entity_view.profile(hf, name, limit=limit)


@router.get("/graph")
def graph(
    hf: Mine,
    entity: EntityName = None,
    limit: Nodes = 30,
) -> schemas.Graph:
    """Return who is mentioned with whom: among the most mentioned, or around one entity."""
    return entity_view.graph(hf, entity=entity, limit=limit)


@router.get("/duplicates")
def duplicates(hf: Mine) -> list[schemas.Alike]:
    """List entities that may be the same, with a reason each; nothing is merged."""
    return [
        schemas.Alike(
            keep=schemas.Who.of(pair.keep), other=schemas.Who.of(pair.other), reason=pair.reason
        )
        for pair in hf.entities.duplicates()
    ]


@router.patch(
    "/entities/{id:path}"
)  # as the route that reads: one takes a line break, the other not
def rename(id: EntityId, body: schemas.NewName, hf: Mine) -> schemas.ChangedEntity:
    """Rename an entity, or change its type; the old name stays as an alias."""
    renamed = hf.entities.rename(id, body.name, type=body.type)
    return schemas.ChangedEntity.of(renamed, run=hf.last_run)


@router.post("/entities/{id}/merge")
def merge(id: EntityId, body: schemas.Merge, hf: Mine) -> schemas.ChangedEntity:
    """Merge other entities into this one: their names and mentions move here."""
    return schemas.ChangedEntity.of(hf.entities.merge(id, *body.others), run=hf.last_run)


@router.post("/entities/{id}/split")
def split(id: EntityId, body: schemas.Split, hf: Mine) -> schemas.ChangedEntity:
    """Move some names of an entity, and the memories that use them, to a new entity; return
    that.
    """
    return schemas.ChangedEntity.of(hf.entities.split(id, *body.names), run=hf.last_run)
