"""The owner's memory as a whole: how it stands, its switch, undo, its timeline, its export."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from .. import changes_view, owner_view, schemas
from ..auth import Mine, Server
from .memories import After

router = APIRouter(tags=["owner"])
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
DOWNLOAD = {"Content-Disposition": "attachment; filename=holdfast.jsonl"}
NDJSON = {
    "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    "description": "One JSON object a line.",
}


@router.get("/status")
def status(hf: Mine, server: Server) -> schemas.Standing:
    """Counts of facts, sessions and rules, and whether recall speaks up by itself."""
    return owner_view.status(hf, server.audit, server.feedback)


@router.patch("/recall")
def switch_recall(body: schemas.Switch, hf: Mine) -> schemas.Switched:
    """Lets memory speak up by itself, or not."""
    return owner_view.switch(hf, body.enabled)


@router.post("/undo")
def undo(hf: Mine, body: schemas.UndoRequest | None = None) -> schemas.Undone:
    """Takes back everything that one run did, exactly; without a run, the latest one."""
    events = hf.undo(body.run if body else None)
    return schemas.Undone(
        run=hf.last_run, undone=events[0].run, verb=events[0].verb, changes=len(events)
    )


@router.get("/timeline")
def timeline(
    hf: Mine,
    before: After = None,
    limit: Limit = 50,
) -> schemas.Timeline:
    """What happened and what was learned, newest first."""
    return owner_view.timeline(hf, before=before, limit=limit)


@router.get("/changes")
def list_changes(hf: Mine, limit: Limit = 50) -> list[schemas.RunOfChanges]:
    """What was stored, corrected or forgotten lately, newest first; turns of conversations are left
    out.
    """
    return changes_view.latest(hf, limit=limit)


@router.get("/health")
def health(hf: Mine, server: Server) -> schemas.Health:
    """How the memory stands: what is kept, which models serve, what is amiss."""
    return owner_view.health(hf, server.checkup)


@router.get("/export", response_class=StreamingResponse, responses={200: NDJSON})
def export(hf: Mine) -> StreamingResponse:
    """Everything of this owner as a lossless bundle, line by line; `holdfast import` reads it."""
    return StreamingResponse(
        owner_view.bundle(hf), headers=DOWNLOAD, media_type="application/x-ndjson"
    )
