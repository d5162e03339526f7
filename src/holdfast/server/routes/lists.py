"""Facts, sessions and rules: numbered from 1 in the order in which they were stored, deleted by
number or id.
"""

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
        description="A number of the list, or an id. A number may change; an id does not.",
    ),
]


@router.get("/facts")
def list_facts(hf: Mine) -> list[schemas.Fact]:
    """What is known about the owner."""
    return [list_views.fact(index, memory) for index, memory in list_views.numbered(hf, "fact")]


@router.get("/sessions")
def list_sessions(hf: Mine) -> list[schemas.Arc]:
    """Past conversations, each as its summary."""
    return [list_views.arc(index, memory) for index, memory in list_views.numbered(hf, "episode")]


@router.get("/rules")
def list_rules(hf: Mine) -> list[schemas.Rule]:
    """What the owner asked for once and for all."""
    return [list_views.rule(index, memory) for index, memory in list_views.numbered(hf, "rule")]


@router.delete("/facts/{ref}")
def delete_fact(ref: Ref, hf: Mine) -> schemas.Deleted:
    """Forgets one fact; `POST /undo` with the run brings it back."""
    return list_views.delete(hf, "fact", ref)


@router.delete("/sessions/{ref}")
def delete_session(ref: Ref, hf: Mine) -> schemas.Deleted:
    """Forgets the summary of one session, by its number, its id or the session's."""
    return list_views.delete(hf, "episode", ref)


@router.delete("/rules/{ref}")
def delete_rule(ref: Ref, hf: Mine) -> schemas.Deleted:
    """Forgets one rule."""
    return list_views.delete(hf, "rule", ref)
