"""Review queue: memories that need human approval."""

from __future__ import annotations

from fastapi import APIRouter

from .. import review_schemas, schemas
from ..auth import Mine
from .memories import Id

router = APIRouter(prefix="/review", tags=["review"])


@router.get("")
def list_proposals(hf: Mine) -> list[review_schemas.Proposal]:
    """List proposals, oldest first, each with the effect of approval and the most similar
    memory.
    """
    return [
        review_schemas.Proposal.weighed(one, hf.reviews.preview(one.id))
        for one in hf.reviews.list()
    ]


@router.post("/{id}/approve")
def approve(
    id: Id,
    hf: Mine,
    body: review_schemas.Approval | None = None,
) -> schemas.Changed:
    """Approve a proposal, optionally reworded; returns the active memory."""
    return schemas.Changed.of(
        hf.reviews.approve(id, body.content if body else None), run=hf.last_run
    )


@router.post("/{id}/reject")
def reject(
    id: Id,
    hf: Mine,
    body: review_schemas.Rejection | None = None,
) -> schemas.Changed:
    """Reject a proposal: it is archived and not proposed again in the same words."""
    return schemas.Changed.of(hf.reviews.reject(id, body.reason if body else ""), run=hf.last_run)
