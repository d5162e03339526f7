"""People, projects and places that memories mention."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from .. import schemas
from ..auth import Mine

router = APIRouter(prefix="/entities", tags=["entities"])
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")]


@router.get("")
def list_entities(
    hf: Mine,
    type: Annotated[list[schemas.Name], Query(description="Repeatable.")] = [],  # noqa: B006
    limit: Limit = 100,
) -> list[schemas.Who]:
    """List entities, most mentioned first."""
    return [schemas.Who.of(one) for one in hf.entities.list(types=type, limit=limit)]


@router.get("/{name:path}")
def about(
    name: Annotated[
        str, Path(min_length=1, max_length=1000, description="An id, a name or an alias.")
    ],
    hf: Mine,
    limit: Limit = 50,
) -> schemas.Profile:
    """Return one entity with its aliases and the memories that mention it."""
    found = hf.entities.get(name, limit=limit)
    return schemas.Profile.of(
        found.entity, memories=[schemas.Record.of(one) for one in found.memories]
    )
