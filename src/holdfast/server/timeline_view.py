"""The timeline, by when things happened or were stored: pages of memories, and counts by day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal

from ..client import Holdfast
from ..storage.store_types import Axis, DayCounts
from ..types import MINUTE, Kind, Memory, from_datetime, iso
from . import schemas, timeline_schemas
from .owner_view import next_after

LIFE: tuple[Kind, ...] = ("episode", "fact", "reflection", "rule", "document", "skill")
EPOCH = date(1970, 1, 1).toordinal()


def timeline(
    hf: Holdfast,
    *,
    axis: Axis,
    kinds: Sequence[Kind],
    entity: str | None,
    since: datetime | None,
    until: datetime | None,
    before: str | None,
    limit: int,
) -> timeline_schemas.Timeline:
    """Page of the timeline, newest first."""
    page = hf.store.timeline.page(
        hf.scopes,
        axis=axis,
        kinds=kinds or LIFE,
        limit=limit,
        entity=entity_id(hf, entity),
        since=None if since is None else from_datetime(since),
        until=None if until is None else from_datetime(until),
        before=None if before is None else hf.get(before),
    )
    return timeline_schemas.Timeline(
        items=[_happening(memory, axis) for memory in page], next=next_after(page, limit)
    )


def days(
    hf: Holdfast,
    *,
    axis: Axis,
    kinds: Sequence[Kind] = (),
    entity: str | None = None,
    minutes_ahead: int = 0,
) -> timeline_schemas.Days:
    """Number of memories by day and kind."""
    counts = hf.store.timeline.days(
        hf.scopes,
        axis=axis,
        kinds=kinds or LIFE,
        entity=entity_id(hf, entity),
        ahead=minutes_ahead * MINUTE,
    )
    return timeline_schemas.Days(total=sum(one.memories for one in counts), days=by_day(counts))


def by_day(counts: DayCounts) -> list[timeline_schemas.Day]:
    """One entry per day, oldest first."""
    found: dict[int, dict[str, int]] = {}
    for one in counts:
        found.setdefault(one.day, {})[one.kind] = one.memories
    return [
        timeline_schemas.Day(day=date.fromordinal(EPOCH + day).isoformat(), counts=by_kind)
        for day, by_kind in found.items()
        # A date that no calendar has cannot be shown.
        if 0 < EPOCH + day <= date.max.toordinal()
    ]


def entity_id(hf: Holdfast, name: str | None) -> str | None:
    """Id of an entity that a request names by id or name; raises NotFound."""
    return None if name is None else hf.entities.get(name, limit=1).entity.id


def _happening(memory: Memory, axis: Axis) -> timeline_schemas.Happening:
    what: Literal["happened", "learned"] = "happened" if memory.layer == "episodic" else "learned"
    return timeline_schemas.Happening(
        at=iso(memory.created_at if axis == "learned" else memory.moment),
        what=what,
        memory=schemas.Record.of(memory),
    )
