"""The owner's memory as a whole: status, switch, undo, changes, export."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from .. import changes_view, owner_view, schemas
from ..auth import Mine, Server

router = APIRouter(tags=["owner"])
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")]
DOWNLOAD = {"Content-Disposition": "attachment; filename=holdfast.jsonl"}
NDJSON = {
    "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    "description": "One JSON object per line.",
}


@router.get("/status")
def status(hf: Mine, server: Server) -> schemas.Standing:
    """Count facts, sessions and rules; return the state of proactive recall."""
    return owner_view.status(hf, server.audit, server.feedback)


@router.get("/totals")
def totals(hf: Mine, request: Request) -> schemas.Totals:
    """Count active memories by kind, and proposals."""
    return owner_view.totals(hf, admin=getattr(request.state, "admin", False))


@router.patch("/recall")
def switch_recall(body: schemas.Switch, hf: Mine) -> schemas.Switched:
    """Turn proactive recall on or off."""
    return owner_view.switch(hf, body.enabled)


@router.post("/undo")
def undo(hf: Mine, body: schemas.UndoRequest | None = None) -> schemas.Undone:
    """Undo everything that one run did, exactly; by default the latest that was not undone yet."""
    events = hf.undo(body.run if body else None)
    return schemas.Undone(
        run=hf.last_run,
        undone=events[0].run,
        verb=events[0].verb,
        changes=len(events),
    )


@router.get("/changes")
def list_changes(hf: Mine, limit: Limit = 50) -> list[schemas.RunOfChanges]:
    """List recent changes, newest first; conversation turns are left out."""
    return changes_view.latest(hf, limit=limit)


@router.get("/health")
def health(hf: Mine, server: Server) -> schemas.Health:
    """Return the status of the memory: contents, models, problems."""
    return owner_view.health(hf, server.checkup)


@router.get("/export", response_class=StreamingResponse, responses={200: NDJSON})
def export(hf: Mine) -> StreamingResponse:
    """Export everything of this owner as a lossless bundle; `holdfast import` reads it."""
    return StreamingResponse(
        owner_view.bundle(hf),
        headers=DOWNLOAD,
        media_type="application/x-ndjson",
    )
