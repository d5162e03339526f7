"""Routes for an assistant during a conversation: capture, context, recall, end of a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from .. import schemas, turn_context
from ..auth import Mine, Server

router = APIRouter(tags=["conversations"])
SessionId = Annotated[str, Path(min_length=1, max_length=200, description="Id of a session.")]


@router.post("/capture", status_code=201)
def capture(
    body: turn_context.Turn,
    hf: Mine,
    server: Server,
) -> turn_context.Captured:
    """Store one turn of a conversation, verbatim and at once; extraction follows after a reply."""
    kept = server.conversations.capture(hf, body.model_dump())
    server.conversations.consider_soon(hf, kept)
    return turn_context.Captured(memory=schemas.Record.of(kept) if kept else None, run=hf.last_run)


@router.post("/sessions/{session:path}/end")
def end_session(
    session: SessionId,
    hf: Mine,
    server: Server,
    body: turn_context.Ending | None = None,
) -> turn_context.Ended:
    """End a session and extract from it. Idempotent."""
    led = body.model_dump(exclude_none=True) if body else None
    ended, learned = server.conversations.end(hf, session, led)
    return turn_context.Ended(ended=ended, learned=learned, run=hf.last_run)


@router.post("/context")
def context(body: turn_context.ContextRequest, hf: Mine) -> turn_context.ContextBlocks:
    """Return context for a model: a block for the whole session, and one for this prompt."""
    found = hf.context(body.prompt, session=body.session, tokens=body.tokens, deep=body.deep)
    return turn_context.ContextBlocks(
        stable=found.stable,
        turn=found.turn,
        ids=list(found.ids),
    )


@router.post("/recall")
def recall(body: schemas.Question, hf: Mine) -> schemas.Answer:
    """Return memories that help answer a question, best first."""
    hits = hf.recall(**body.model_dump())
    return schemas.Answer(items=[schemas.Found.by(hit) for hit in hits])
