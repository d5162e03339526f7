"""Memories: search, store, correct, confirm, archive, forget, explain."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query

from .. import memory_view, schemas, search_view
from ..auth import Mine
from ..owner_view import next_after, seq_of

router = APIRouter(prefix="/memories", tags=["memories"])
Id = Annotated[schemas.Id, Path()]
After = Annotated[schemas.Id | None, Query(description="`next` of the previous page.")]


@router.get("")
def list_memories(
    hf: Mine,
    q: Annotated[
        str | None,
        Query(max_length=2000, description="A question: results are then ranked by relevance."),
    ] = None,
    kind: Annotated[list[schemas.Kind], Query(description="Repeatable.")] = [],  # noqa: B006
    status: Annotated[list[schemas.Status], Query(description="Repeatable.")] = [  # noqa: B006
        "active"
    ],
    category: Annotated[list[schemas.Name], Query(description="Repeatable.")] = [],  # noqa: B006
    session: Annotated[
        list[schemas.Name], Query(description="Only this session; not with `q`.")
    ] = [],  # noqa: B006
    deep: Annotated[
        bool, Query(description="Read the best candidates again: slower, better in conversations.")
    ] = False,
    since: Annotated[
        datetime | None,
        Query(description="Only memories that happened, or were stored, from this time on."),
    ] = None,
    as_of: Annotated[
        datetime | None, Query(description="What was known at this time. Default: now.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Maximum number of results.")] = 50,
    after: After = None,
) -> schemas.Page:
    """List memories, newest first; with `q`, recall active ones with scores and reasons."""
    if q and q.strip():
        return search_view.search(
            hf,
            q,
            kinds=kind,
            categories=category,
            since=since,
            as_of=as_of,
            limit=limit,
            deep=deep,
        )
    page = hf.list(
        kinds=kind,
        statuses=status,
        categories=category,
        sessions=session,
        since=since,
        as_of=as_of,
        limit=limit,
        after=seq_of(hf, after),
    )
    return schemas.Page(
        items=schemas.found(page),
        next=next_after(page, limit),
        warnings=hf.admin.warnings(commands=False),
    )


@router.post("", status_code=201)
def remember(body: schemas.Statement, hf: Mine) -> schemas.Changed:
    """Store a memory. An identical fact or rule is stored once."""
    stored = hf.remember(**body.model_dump(), source="http")
    return schemas.Changed.of(stored, run=hf.last_run)


@router.get("/{id}")
def show(id: Id, hf: Mine) -> schemas.Record:
    """Return one memory, in any status."""
    return schemas.Record.of(hf.get(id))


@router.patch("/{id}")
def correct(
    id: Id,
    body: schemas.Correction,
    hf: Mine,
) -> schemas.Changed:
    """Correct a memory: returns the new one; the old one is retired and linked, not lost."""
    return schemas.Changed.of(hf.correct(id, body.content, reason=body.reason), run=hf.last_run)


@router.delete("/{id}")
def forget(id: Id, hf: Mine) -> schemas.Changed:
    """Forget a memory; `POST /undo` with the run restores it."""
    return schemas.Changed.of(hf.forget(id)[0], run=hf.last_run)


@router.post("/{id}/confirm")
def confirm(id: Id, hf: Mine) -> schemas.Changed:
    """Confirm a memory: full confidence, and it never fades."""
    return schemas.Changed.of(hf.confirm(id), run=hf.last_run)


@router.post("/{id}/archive")
def archive(id: Id, hf: Mine) -> schemas.Changed:
    """Archive a memory: kept and listed, but no longer recalled."""
    return schemas.Changed.of(hf.archive(id), run=hf.last_run)


@router.post("/{id}/restore")
def restore(id: Id, hf: Mine) -> schemas.Changed:
    """Restore a memory that is no longer active."""
    return schemas.Changed.of(hf.restore(id), run=hf.last_run)


@router.get("/{id}/why")
def why(id: Id, hf: Mine) -> schemas.Story:
    """Explain why a memory was stored, with its sources and history."""
    return memory_view.memory_story(hf, id)


@router.get("/{id}/forecast")
def forecast(
    id: Id,
    hf: Mine,
    days: Annotated[int, Query(ge=1, le=3650, description="Days to look ahead.")] = 90,
) -> schemas.Forecast:
    """Forecast the confidence of a memory if nobody uses it."""
    return memory_view.forecast(hf, id, days=days)
