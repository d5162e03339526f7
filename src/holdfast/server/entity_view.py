"""Entities for responses: a profile of current facts, and who is mentioned with whom."""

from __future__ import annotations

from collections import Counter

from ..client import Holdfast
from ..ingest.known_names import TYPES
from ..maintenance.entity_jobs import KINDS
from ..storage.row_codec import entity_names
from ..storage.store_types import Pair
from ..text.normal_forms import fold, fold_text
from ..types import Entity, Memories, Memory, Micros
from . import entity_schemas, schemas

# Mentions of one entity, and latest memories, that are read for a graph.
MOST_MENTIONS = 20_000
DRAWN = 20_000
# Latest memories among which unread ones are counted.
LATEST = 10_000
# Facts of an entity that are considered for its profile, newest first, and those that are shown.
CONSIDERED = 300
SHOWN = 8
SHOWN_PER_CATEGORY = 3
# What says least about somebody: the timeline shows events, and the rest is anything.
_LAST = ("event", "general")


def profile(
    hf: Holdfast,
    name: str,
    *,
    limit: int,
) -> entity_schemas.Profile:
    """An entity with its profile and the memories that mention it."""
    found = hf.entities.get(name, limit=limit)
    facts = hf.store.timeline.page(
        [found.entity.scope],
        axis="happened",
        kinds=("fact",),
        limit=CONSIDERED,
        entity=found.entity.id,
    )
    return entity_schemas.Profile.of(
        found.entity,
        facts=[schemas.Record.of(one) for one in _telling(found.entity, facts, hf.clock())],
        memories=[schemas.Record.of(one) for one in found.memories],
        waiting=waiting(hf),
    )


def _telling(
    entity: Entity,
    facts: Memories,
    now: Micros,
) -> Memories:
    """The facts that say most about an entity: lasting ones first, a few of each category."""
    names = tuple(entity_names(entity))
    current = [
        one
        for one in facts
        if (one.valid_until is None or one.valid_until > now) and _is_about(one, names)
    ]
    # Stable, so that the newest stay first among equals.
    current.sort(key=lambda one: (one.category in _LAST, not one.protected, one.decay_rate))
    chosen: Memories = []
    taken = Counter[str]()
    for one in current:
        if len(chosen) < SHOWN and taken[one.category] < SHOWN_PER_CATEGORY:
            taken[one.category] += 1
            chosen.append(one)
    return chosen


def _is_about(memory: Memory, names: tuple[str, ...]) -> bool:
    """Whether an entity is the subject of a fact."""
    if memory.triple is not None and memory.triple.subject:
        return fold(memory.triple.subject) in names
    return fold_text(memory.content).startswith(names)


def waiting(hf: Holdfast) -> entity_schemas.Waiting:
    """Number of memories in which names have not been looked for thoroughly yet."""
    count, complete = hf.store.timeline.waiting(hf.scopes, kinds=KINDS, latest=LATEST)
    return entity_schemas.Waiting(count=count, complete=complete)


def graph(
    hf: Holdfast,
    *,
    entity: str | None,
    limit: int,
) -> entity_schemas.Graph:
    """The entities that are mentioned most, or those around one, and who is mentioned with whom."""
    beside: dict[str, int] = {}
    complete = True
    if entity is None:
        centre = None
        shown = hf.entities.list(types=TYPES, limit=limit)
    else:
        centre = hf.entities.get(entity, limit=1).entity
        beside, complete = hf.store.entities.companions(
            centre.scope, centre.id, limit=limit, most=MOST_MENTIONS
        )
        shown = hf.store.entities.list([centre.scope], ids=[centre.id, *beside])
    others = [one.id for one in shown if centre is None or one.id != centre.id]
    pairs, all_read = hf.store.entities.pairs(hf.scopes[0], others, latest=DRAWN)
    if centre is not None:
        pairs = [*(Pair(centre.id, other, count) for other, count in beside.items()), *pairs]
    return entity_schemas.Graph(
        entities=[entity_schemas.Who.of(one) for one in shown if one.mentions > 0],
        links=[
            entity_schemas.EntityLink(one=pair.one, other=pair.other, memories=pair.memories)
            for pair in pairs
        ],
        complete=complete and all_read,
        waiting=waiting(hf),
    )
