"""Weekly reflection: summarise what was learned into one memory that never decays.

With a language model it is a few sentences; without one, a digest in the language of the facts:
what is new, what changed, what ended, and who was involved. Either is linked to the facts it was
made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..context.blocks import Line, render_line
from ..errors import Conflict, ModelFailed
from ..extraction.job_types import Due, Kind, Output, Task, Worker
from ..extraction.patterns import languages_of
from ..extraction.prompts import prompt
from ..extraction.reconcile import DONE
from ..extraction.summaries import people_in
from ..ingest import commit
from ..ingest.commit import Draft
from ..languages import language
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Filter
from ..text.terminal import shorten
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
NEW = 5
CHANGES = 3
# What somebody likes is hardly news.
_LIKINGS = ("preference",)
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
    latest = _latest(store, scope)
    if latest and now - latest[0].created_at < COOL_DOWN:
        return False
    return len(_recent(store, scope, now, "fact")) >= FEWEST


def _latest(store: Store, scope: Scope) -> Memories:
    return store.list(Filter((scope,), kinds=("reflection",)), limit=1, order="latest")


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
    """Digest of the week, deterministic: what is new, what changed, what ended, who was there."""
    words = _words(seen.facts)
    changes = _changes(store, seen.facts)
    changed = [(new, old) for new, old in changes if old.status_reason != DONE]
    done = [old for _, old in changes if old.status_reason == DONE]
    known = {one.id for pair in changes for one in pair}
    ended = [*done, *_over(store, scope, seen)]
    new = _most_telling([one for one in seen.facts if one.id not in known], ended)
    parts = [words["week_new"].format(facts=_sentences(new))] if new else []
    parts += [
        words["week_changed"].format(now=_short(new), before=_short(old))
        for new, old in changed[:CHANGES]
    ]
    if ended:
        parts.append(words["week_ended"].format(facts=_sentences(ended[:CHANGES])))
    if people := people_in(store, scope, seen.memories, ("person", "project", "organization")):
        parts.append(words["week_people"].format(people=", ".join(people)))
    return "\n".join(parts)


def _words(facts: Sequence[Memory]) -> Mapping[str, str]:
    """How a week is worded, in the language of its facts."""
    spoken = languages_of("\n".join(one.content for one in facts))
    wordings = (language(one.code).section("summaries") for one in spoken)
    return next((one for one in wordings if "week_new" in one), language("en").section("summaries"))


def _most_telling(facts: Sequence[Memory], ended: Sequence[Memory]) -> Memories:
    """The surest facts, events and plans first; those that are over are told elsewhere."""
    over = {one.id for one in ended}
    ranked = sorted(
        (one for one in facts if one.id not in over),
        key=lambda one: (one.category in _LIKINGS, -one.confidence, -one.access_count, -one.seq),
    )
    distinct = {one.content: one for one in reversed(ranked)}
    return list(distinct.values())[::-1][:NEW]


def _over(store: Store, scope: Scope, seen: Week) -> Memories:
    """Plans whose date passed within the week."""
    now = max((one.created_at for one in seen.memories), default=0)
    past = store.list(Filter((scope,), kinds=("fact",), ended_by=now), limit=MOST, order="latest")
    return [one for one in past if one.valid_until and one.valid_until > now - WEEK]


def _changes(store: Store, facts: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
    """Facts of the week with those that they replaced or fulfilled."""
    return [
        (fact, old)
        for fact in facts
        for edge in store.edges(fact.scope, fact.id)
        if edge.relation == "supersedes" and edge.source == fact.id
        for old in store.get([fact.scope], [edge.target])
    ]


def _sentences(facts: Sequence[Memory]) -> str:
    return " ".join(f"{_short(one)}." for one in facts)


def _short(fact: Memory) -> str:
    return shorten(fact.content, _WIDTH).rstrip(".。")


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


def _again(worker: Worker, scope: Scope) -> Micros | None:
    """When the last reflection is old enough for the next; without one, facts have to come."""
    at = max((one.created_at + COOL_DOWN for one in _latest(worker.store, scope)), default=0)
    return at if at > worker.clock() else None


REFLECT = Kind("reflect", due=_due, run=_run, looks=lambda worker: ("",), again=_again)
"""One job per scope that has enough facts for a reflection."""
