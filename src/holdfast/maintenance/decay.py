"""Decay: unused facts lose confidence every day and fade below a threshold.

    confidence = what it was when last said × exp(−decay rate × days since it was last said or used)

The result depends only on the fact and the time, so it does not matter how often it is computed,
and using a fact resets it. A faded fact keeps its row, text and links: `restore` undoes it.

The rate is set when a fact is written, by the vocabulary's `fading`: who somebody is, their people
and their health never fade, preferences fade slowly, and a plan ends with its date.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..extraction import approval
from ..extraction.episodes import SOURCE
from ..extraction.job_types import Due, Kind, Task, Worker
from ..ingest import commit
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Filter
from ..text.terminal import counted
from ..types import DAY, Memories, Memory, Micros, Scope, iso, new_id

# Facts below this confidence fade.
THRESHOLD = 0.05
# Facts per read, so that a large scope needs constant memory.
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Fading:
    """A fact with its current confidence."""

    memory: Memory
    confidence: float
    gone: bool


@dataclass(frozen=True, slots=True)
class Decayed:
    """Result of a decay run: facts with a changed confidence, and faded facts."""

    decayed: int
    faded: int


def retention(memory: Memory, now: Micros) -> float:
    """Confidence of a memory at a time, by the formula; a protected memory keeps its own."""
    if memory.protected or memory.decay_rate <= 0:
        return memory.confidence
    idle = max(0, now - last_use(memory)) / DAY
    return commit.said(memory) * math.exp(-memory.decay_rate * idle)


def last_use(memory: Memory) -> Micros:
    """When a memory was last stated or used."""
    return max(memory.created_at, memory.last_accessed or memory.created_at)


def fades_at(memory: Memory, threshold: float = THRESHOLD) -> Micros | None:
    """When a memory fades if nobody uses it; None if it never does."""
    if memory.protected or memory.decay_rate <= 0 or threshold <= 0:
        return None
    days = math.log(max(commit.said(memory), threshold) / threshold) / memory.decay_rate
    return last_use(memory) + int(days * DAY)


def explained(memory: Memory, now: Micros, threshold: float = THRESHOLD) -> str:
    """Say in plain words whether and when a memory fades, and why."""
    end = memory.valid_until
    if end is not None:
        day = iso(end - 1)[:10]
        ended = (
            f"It ended with its date, {day}." if end <= now else f"It ends with its date, {day}."
        )
        return f"{ended} After that it is no longer recalled."
    if memory.protected:
        return "It never fades. A person has confirmed it."
    fading = fades_at(memory, threshold)
    if fading is None:
        return f"It never fades. {_why_never(memory, threshold)}"
    days = math.ceil((fading - last_use(memory)) / DAY)
    return (
        f"It fades on {iso(fading)[:10]} unless it is used before: "
        f"{counted(days, 'day')} after it was last said or used."
    )


def _why_never(memory: Memory, threshold: float) -> str:
    if memory.kind != "fact":
        return f"Only facts do, and this is a {memory.kind}."
    if threshold <= 0:
        return "Fading is switched off."
    if memory.source == SOURCE:
        return f"What is of this kind ({memory.category}) stays until something replaces it."
    return "What was remembered on purpose stays, unless it was given a decay rate."


def plan(
    store: Store,
    scopes: Sequence[Scope],
    now: Micros,
    *,
    threshold: float = THRESHOLD,
) -> Iterator[Fading]:
    """All facts that decay, oldest first, with their current confidence. Read-only."""
    where = Filter(tuple(scopes), kinds=("fact",))
    after = None
    while page := store.list(where, limit=PAGE, after=after, order="oldest"):
        for memory in page:
            if memory.decay_rate > 0 and not memory.protected:
                left = retention(memory, now)
                yield Fading(memory, left, left < threshold)
        after = page[-1].seq


def decay(
    store: Store,
    scopes: Sequence[Scope],
    now: Micros,
    *,
    actor: str = "decay",
    threshold: float = THRESHOLD,
) -> Decayed:
    """Update the confidence of every fact in these scopes and fade those below the threshold.
    Idempotent.
    """
    decayed = faded = 0
    for scope in scopes:
        fading = list(plan(store, [scope], now, threshold=threshold))
        changed = {
            one.memory.seq: one.confidence
            for one in fading
            if one.confidence != one.memory.confidence
        }
        store.settle([scope], changed, now)
        decayed += len(changed)
        faded += _fade_all(store, [one.memory for one in fading if one.gone], now, actor, threshold)
    return Decayed(decayed, faded)


def _fade_all(
    store: Store,
    memories: Memories,
    now: Micros,
    actor: str,
    threshold: float,
) -> int:
    author = Author(actor, new_id("run", now), now, "decay")
    return store.write(author, lambda tx: _fade(tx, memories, now, threshold)) if memories else 0


def _fade(
    tx: Transaction,
    memories: Sequence[Memory],
    now: Micros,
    threshold: float,
) -> int:
    count = 0
    for memory in memories:
        fresh = tx.memory(memory.scope, memory.id)
        # The fact was used or confirmed at this very moment, so it stays.
        if fresh is not None and fresh.status == "active" and retention(fresh, now) < threshold:
            commit.set_status(
                tx,
                fresh,
                "faded",
                at=now,
                reason="not used for long",
            )
            count += 1
    return count


def _due(worker: Worker) -> Iterator[Due]:
    now = worker.clock()
    for scope in worker.store.scopes() if worker.scopes is None else worker.scopes:
        at = _next(worker, scope)
        if at is not None and at <= now:
            yield Due(scope, "daily", now // DAY)


def _next(worker: Worker, scope: Scope) -> Micros | None:
    """When the first fact has to be computed again, or the first proposal expires."""
    now = worker.clock()
    fading = (one.memory for one in plan(worker.store, [scope], now))
    times = [(one.decayed_at or one.created_at) + DAY // 2 for one in fading]
    waiting = approval.waiting(worker.store, [scope])
    times += map(approval.expires_at, waiting)
    return min(times, default=None)


def _run(task: Task) -> None:
    """Run decay for one scope and expire undecided proposals. Idempotent."""
    worker = task.worker
    now = task.worker.clock()
    actor = f"worker:{worker.name}"
    threshold = THRESHOLD if worker.threshold is None else worker.threshold
    decay(
        worker.store,
        [task.job.scope],
        now,
        actor=actor,
        threshold=threshold,
    )
    approval.expire_stale(
        worker.store,
        [task.job.scope],
        Author(actor, new_id("run", now), now, "expire"),
    )


DECAY = Kind("decay", due=_due, run=_run, looks=lambda worker: ("",), again=_next)
"""One job per scope with decaying facts, at most twice a day."""
