"""Weekly reflection: summarise what was learned into one memory that never decays.

With a language model it is a few sentences; without one, a digest of the week's topics, people and
changes. Either is linked to the facts it was made from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..context.blocks import Line, render_line
from ..errors import Conflict, ModelFailed
from ..extraction.job_types import Due, Kind, Output, Task, Worker
from ..extraction.prompts import prompt
from ..extraction.third_person import NOBODY
from ..ingest import commit
from ..ingest.commit import Draft
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Filter
from ..text.terminal import counted, shorten
from ..text.tokens import query_terms
from ..types import DAY, Edge, Memories, Memory, Micros, Scope, new_id
from ..types import Kind as MemoryKind

# One day less than a week between two reflections, so that a late run does not skip a week.
WEEK = 7 * DAY
COOL_DOWN = 6 * DAY
# A week with fewer facts shows no pattern.
FEWEST = 3
# Memories read and linked to the reflection, and the number shown to a model.
MOST = 200
TOLD = 100
TAG = "weekly"
SOURCE = "reflection"
KEY = "weekly"
# Items that a digest names.
THEMES = 3
PEOPLE = 5
CHANGES = 3
_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Week:
    """Input of a reflection: facts, turns and episodes of the last seven days, newest first."""

    facts: Memories
    episodes: Memories

    @property
    def memories(self) -> Memories:
        """All of them, facts first."""
        return [*self.facts, *self.episodes][:MOST]


def week(
    store: Store,
    scope: Scope,
    now: Micros,
) -> Week:
    """Return what was learned in the seven days before a time."""
    return Week(_recent(store, scope, now, "fact"), _recent(store, scope, now, "turn", "episode"))


def _recent(
    store: Store,
    scope: Scope,
    now: Micros,
    *kinds: MemoryKind,
) -> Memories:
    found = store.list(
        Filter((scope,), kinds=kinds),
        limit=MOST,
        order="latest",
    )
    return [memory for memory in found if now - WEEK <= memory.created_at <= now]


def due(
    store: Store,
    scope: Scope,
    now: Micros,
) -> bool:
    """Whether a reflection is due: six days since the last one, and three facts in the last
    seven.
    """
    latest = store.list(
        Filter((scope,), kinds=("reflection",)),
        limit=1,
        order="latest",
    )
    if latest and now - latest[0].created_at < COOL_DOWN:
        return False
    return len(_recent(store, scope, now, "fact")) >= FEWEST


def reflection(
    store: Store,
    scope: Scope,
    seen: Week,
    complete: Complete | None,
) -> str:
    """Write the reflection with a model or as a digest. Raises ModelFailed if the answer is
    empty.
    """
    if complete is None:
        return digest(store, scope, seen)
    lines = (
        render_line(Line(one.content, bullet=f"{number}. ", labels=(one.kind,)))
        for number, one in enumerate(seen.memories[:TOLD], 1)
    )
    text = complete(prompt("reflect", memories="\n".join(lines))).strip()
    if not text:
        raise ModelFailed("The model had nothing to say about the week.")
    return text


def digest(
    store: Store,
    scope: Scope,
    seen: Week,
) -> str:
    """Digest of the week, deterministic: topics, people and projects, changed facts."""
    parts = [f"{counted(len(seen.facts), 'thing was', 'things were')} learned this week."]
    if themes := _themes(seen.facts):
        parts.append(f"They are mostly about {_and(themes)}.")
    if people := _people(store, scope, seen.memories):
        parts.append(f"They mention {_and(people)}.")
    parts += [
        f"Changed: {shorten(new, _WIDTH)} (before: {shorten(old, _WIDTH)})."
        for new, old in _changes(store, seen.facts)
    ]
    parts += [f"Most certain: {shorten(one.content, _WIDTH)}" for one in _surest(seen.facts)]
    return "\n".join(parts)


def _themes(facts: Sequence[Memory]) -> list[str]:
    categories = Counter(one.category for one in facts if one.category != "general")
    words: Counter[str] = Counter()
    for one in facts:
        words.update(dict.fromkeys(_telling(one.content), 1))
    common = [word for word, count in words.most_common(THEMES * 3) if count > 1]
    ranked = [name.replace("_", " ") for name, count in categories.most_common(THEMES) if count > 1]
    return list(dict.fromkeys(one for one in (*ranked, *common) if one))[:THEMES]


def _telling(text: str) -> Iterator[str]:
    """Words of a text that can be a topic: no stop words, no names of the owner."""
    about = NOBODY.split()
    for word in text.casefold().split():
        bare = word.strip(".,;:!?\"'()").removesuffix("'s")
        if len(bare) > 3 and bare not in about and query_terms(bare):
            yield bare


def _people(
    store: Store,
    scope: Scope,
    memories: Sequence[Memory],
) -> list[str]:
    mentioned = store.entities.mentions_of(scope, [memory.id for memory in memories])
    counts = Counter[str]()
    for entities in mentioned.values():
        counts.update(entities)
    # Ids break ties, so that a digest is deterministic.
    ranked = sorted(counts, key=lambda id_: (-counts[id_], id_))
    names = []
    for id_ in ranked:
        entity = store.entities.get(scope, id_)
        if entity is not None and entity.type in ("person", "project", "organization"):
            names.append(entity.name)
    return names[:PEOPLE]


def _changes(store: Store, facts: Sequence[Memory]) -> list[tuple[str, str]]:
    changes = []
    for fact in facts:
        for edge in store.edges(fact.scope, fact.id):
            if edge.relation == "supersedes" and edge.source == fact.id:
                changes += [
                    (fact.content, old.content) for old in store.get([fact.scope], [edge.target])
                ]
    return changes[:CHANGES]


def _surest(facts: Sequence[Memory]) -> Memories:
    return sorted(facts, key=lambda one: (-one.confidence, -one.access_count, -one.seq))[:1]


def _and(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def save_reflection(
    tx: Transaction,
    scope: Scope,
    text: str,
    sources: Sequence[Memory],
    *,
    at: Micros,
    max_bytes: int,
    tags: tuple[str, ...] = (TAG,),
) -> Memory:
    """Store a reflection with links to its sources. Raises Conflict if a source was purged
    meanwhile.
    """
    if any(tx.memory(scope, source.id) is None for source in sources):
        raise Conflict("Something of it was removed while the week was looked back on. Look again.")
    draft = Draft(
        content=text,
        kind="reflection",
        category="reflection",
        source=SOURCE,
        trust="derived",
        tags=tags,
    )
    stored = tx.add(commit.build(draft, scope, at=at, max_bytes=max_bytes))
    # Link all of them: an erasure must find everything that may retell its target.
    for source in sources:
        tx.link(Edge(scope, stored.id, source.id, "derived_from", at))
    return stored


def reflect(
    store: Store,
    scope: Scope,
    now: Micros,
    *,
    complete: Complete | None = None,
    max_bytes: int = 100_000,
) -> Memory | None:
    """Reflect now if it is due, else return None. Errors of the model are raised, and nothing is
    stored.
    """
    if not due(store, scope, now):
        return None
    seen = week(store, scope, now)
    text = reflection(store, scope, seen, complete)
    author = Author(SOURCE, new_id("run", now), now, "reflect")
    return store.write(
        author,
        lambda tx: save_reflection(tx, scope, text, seen.memories, at=now, max_bytes=max_bytes),
    )


def _due(worker: Worker) -> Iterator[Due]:
    now = worker.clock()
    for scope in worker.store.scopes() if worker.scopes is None else worker.scopes:
        if due(worker.store, scope, now):
            yield Due(scope, KEY, now // DAY)


def _run(task: Task) -> Output | None:
    worker = task.worker
    scope = task.job.scope
    now = task.worker.clock()
    if not due(worker.store, scope, now):
        return None
    seen = week(worker.store, scope, now)
    text = reflection(worker.store, scope, seen, task.complete)
    return lambda tx: save_reflection(
        tx, scope, text, seen.memories, at=now, max_bytes=worker.max_bytes
    )


REFLECT = Kind("reflect", due=_due, run=_run)
"""One job per scope that has enough facts for a reflection."""
