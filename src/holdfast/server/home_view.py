"""Overview of a memory: what is new, growth, what fades next, what waits, who was mentioned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..client import Holdfast
from ..ingest.known_names import TYPES
from ..maintenance.decay import THRESHOLD, fades_at
from ..storage.store_types import DayCounts
from ..types import DAY, MINUTE, Memory, iso
from . import entity_schemas, entity_view, schemas, timeline_schemas
from .timeline_view import LIFE, by_day

# Days that count as new, today among them.
NEW_DAYS = 7
# Memories among which entities are mentioned lately.
LATEST = 1000
SHOWN = 6
SHOWN_ENTITIES = 12


def overview(hf: Holdfast, *, minutes_ahead: int) -> timeline_schemas.Overview:
    """What the start page of the Memory page shows."""
    learned = hf.store.timeline.days(
        hf.scopes, axis="learned", kinds=LIFE, ahead=minutes_ahead * MINUTE
    )
    counts = hf.store.timeline.counts(hf.scopes)
    newest = hf.store.timeline.page(hf.scopes, axis="learned", kinds=LIFE, limit=SHOWN)
    return timeline_schemas.Overview(
        new=_new(learned, (hf.clock() + minutes_ahead * MINUTE) // DAY),
        newest=[schemas.Record.of(one) for one in newest],
        growth=by_day(learned),
        review=sum(by_status.get("proposed", 0) for by_status in counts.values()),
        held=sum(by_status.get("held", 0) for by_status in counts.values()),
        turns=_turns(hf, counts),
        fading=_fading(hf),
        mentioned=_mentioned(hf),
        waiting=entity_view.waiting(hf),
    )


def _new(learned: DayCounts, today: int) -> dict[str, int]:
    new = Counter[str]()
    for one in learned:
        if one.day > today - NEW_DAYS:
            new[one.kind] += one.memories
    return dict(new)


def _turns(hf: Holdfast, counts: Mapping[str, Mapping[str, int]]) -> int:
    """Turns in use: what the store counts of all memories, less the `counts` of the other kinds.
    Counting a million turns would take longer than all the rest of the page.
    """
    others = sum(by_status.get("active", 0) for by_status in counts.values())
    return hf.store.corpus(hf.scopes, ()).size - others


def _fading(hf: Holdfast) -> list[timeline_schemas.Fading]:
    found = hf.store.timeline.fading(hf.scopes, now=hf.clock(), threshold=THRESHOLD, limit=SHOWN)
    return [_end(one) for one in found]


def _end(memory: Memory) -> timeline_schemas.Fading:
    record = schemas.Record.of(memory)
    if memory.valid_until is not None:
        return timeline_schemas.Fading(at=iso(memory.valid_until), how="ends", memory=record)
    return timeline_schemas.Fading(at=iso(fades_at(memory) or 0), how="fades", memory=record)


def _mentioned(hf: Holdfast) -> list[entity_schemas.Mentioned]:
    counts = hf.store.entities.recently_mentioned(
        hf.scopes, latest=LATEST, limit=5 * SHOWN_ENTITIES
    )
    known = hf.store.entities.list(hf.scopes, ids=list(counts), types=TYPES)
    known.sort(key=lambda one: -counts[one.id])
    return [
        entity_schemas.Mentioned.of(one, lately=counts[one.id]) for one in known[:SHOWN_ENTITIES]
    ]
