"""Second entity recognition for memories in which the fast recogniser found little."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from math import inf
from typing import Any

from ..errors import CapReached
from ..extraction.job_types import Due, Kind, Output, Task, Worker
from ..ingest import entity_linking
from ..models.entities.base import EntityMatch
from ..models.entities.select import Recognition, standard
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter
from ..types import Kind as MemoryKind
from ..types import Memories, Memory, Micros, Scope, iso

log = logging.getLogger(__name__)

# Memories per transaction, and the number of entities up to which a memory gets a second pass.
MOST = 50
FEW = 2
# Memories per page.
PAGE = 500
KINDS: tuple[MemoryKind, ...] = ("fact", "episode", "turn")
STAMP = "enriched_at"
KEY = "nightly"


def candidates(
    store: Store,
    scope: Scope,
    *,
    kinds: Sequence[MemoryKind] = KINDS,
    max_entity_count: int = FEW,
    limit: int = MOST,
) -> Memories:
    """Memories with few entities and no second pass yet, newest first."""
    return list(islice(_waiting(store, scope, kinds, max_entity_count), limit))


def _waiting(
    store: Store,
    scope: Scope,
    kinds: Sequence[MemoryKind],
    most: float = inf,
) -> Iterator[Memory]:
    """Yield memories with at most so many entities page by page; stamps and additions meanwhile do
    not affect later pages.
    """
    where = Filter((scope,), kinds=tuple(kinds), unenriched=True)
    after = None
    while page := store.list(where, limit=PAGE, after=after):
        mentioned = store.entities.mentions_of(scope, [memory.id for memory in page])
        yield from (memory for memory in page if len(mentioned.get(memory.id, ())) <= most)
        after = page[-1].seq


def look_again(
    tx: Transaction,
    memory: Memory,
    found: Sequence[EntityMatch],
    *,
    at: Micros,
) -> int:
    """Link the entities found in a memory and stamp it; return their number."""
    fresh = tx.memory(memory.scope, memory.id)
    if fresh is None:
        return 0
    linked = entity_linking.link(tx, fresh, found, at=at)
    tx.change(fresh, metadata={**fresh.metadata, STAMP: iso(at)})
    return len(linked)


def unseen(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata for a memory whose text changed: the new text has had no second pass."""
    return {key: value for key, value in metadata.items() if key != STAMP}


def _recognition(worker: Worker, complete: Complete | None) -> Recognition:
    return worker.recognition or standard(answer=complete)


def _due(worker: Worker) -> Iterator[Due]:
    if not _recognition(worker, worker.complete).accurate_available():
        # The same recogniser would find nothing new.
        return
    for scope in worker.store.scopes() if worker.scopes is None else worker.scopes:
        for newest in islice(_waiting(worker.store, scope, KINDS), 1):
            yield Due(scope, KEY, newest.seq)


def _run(task: Task) -> Output | None:
    """Process all waiting memories in batches, each in its own transaction. Stopping loses at most
    one batch.
    """
    recognition = _recognition(task.worker, task.complete)
    waiting = _waiting(task.worker.store, task.job.scope, KINDS)
    looked_at = 0
    while batch := list(islice(waiting, MOST)):
        found, stopped = _recognised(task, recognition, batch)
        task.write(partial(_look_again_at, found=found, at=task.worker.clock()))
        looked_at += len(found)
        log.info(
            "%s of %s: %d memories processed so far",
            task.job.kind,
            task.job.scope,
            looked_at,
        )
        if stopped is not None:
            # The rest follows when the model's token budget allows it.
            raise stopped
        task.heartbeat()
    return None


_Recognised = list[tuple[Memory, list[EntityMatch]]]


def _recognised(
    task: Task,
    recognition: Recognition,
    batch: Memories,
) -> tuple[_Recognised, CapReached | None]:
    """Recognise the entities of each memory before the transaction, which must not wait for a
    model. Also returns the error that stopped it.
    """
    found: _Recognised = []
    for memory in batch:
        try:
            found.append((memory, recognition.recognise(memory.content, "accurate")))
        except CapReached as error:
            return found, error
        task.heartbeat()
    return found, None


def _look_again_at(
    tx: Transaction,
    *,
    found: _Recognised,
    at: Micros,
) -> None:
    for memory, named in found:
        look_again(tx, memory, named, at=at)


ENRICH = Kind("enrich", due=_due, run=_run)
"""One job per scope with memories that need a second pass."""
