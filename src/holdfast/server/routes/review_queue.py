"""Memories that wait for a person to agree."""

from __future__ import annotations

from fastapi import APIRouter

from .. import schemas
from ..auth import Mine
from .memories import Id

router = APIRouter(prefix="/review", tags=["review"])


@router.get("")
def list_proposals(hf: Mine) -> list[schemas.Proposal]:
    """What waits, oldest first, each with what agreeing would do and the memory that is most like
    it.
    """
    return [schemas.Proposal.weighed(one, hf.weigh(one.id)) for one in hf.proposals()]


@router.post("/{id}/approve")
def approve(id: Id, hf: Mine, body: schemas.Approval | None = None) -> schemas.Changed:
    """Agrees, perhaps in other words: the memory that says it from now on comes back."""
    return schemas.Changed.of(hf.approve(id, body.content if body else None), run=hf.last_run)


@router.post("/{id}/reject")
def reject(id: Id, hf: Mine, body: schemas.Rejection | None = None) -> schemas.Changed:
    """Does not agree: the memory is put away, and not proposed again in the same words."""
    return schemas.Changed.of(hf.reject(id, body.reason if body else ""), run=hf.last_run)
