"""Facts, sessions and rules: numbered from 1 in the order of storage, deleted by number or id."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from .. import list_views, schemas
from ..auth import Mine

router = APIRouter(tags=["facts, sessions, rules"])
Ref = Annotated[
    str,
    Path(
        max_length=200,
        description="Number in the list, or an id. Numbers can change; ids do not.",
    ),
]


@router.get("/facts")
def list_facts(hf: Mine) -> list[schemas.Fact]:
    """List the facts about the owner."""
    return [list_views.fact(index, memory) for index, memory in list_views.numbered(hf, "fact")]


@router.get("/sessions")
def list_sessions(hf: Mine) -> list[schemas.Arc]:
    """List past conversations by their summaries."""
    return [list_views.arc(index, memory) for index, memory in list_views.numbered(hf, "episode")]


@router.get("/rules")
def list_rules(hf: Mine) -> list[schemas.Rule]:
    """List the owner's standing rules."""
    return [list_views.rule(index, memory) for index, memory in list_views.numbered(hf, "rule")]


@router.delete("/facts/{ref}")
def delete_fact(ref: Ref, hf: Mine) -> schemas.Deleted:
    """Forget one fact; `POST /undo` with the run restores it."""
    return list_views.delete(hf, "fact", ref)


@router.delete("/sessions/{ref}")
def delete_session(ref: Ref, hf: Mine) -> schemas.Deleted:
    """Forget the summary of one session, by number, id or session id."""
    return list_views.delete(hf, "episode", ref)


@router.delete("/rules/{ref}")
def delete_rule(ref: Ref, hf: Mine) -> schemas.Deleted:
    """Forget one rule."""
    return list_views.delete(hf, "rule", ref)
