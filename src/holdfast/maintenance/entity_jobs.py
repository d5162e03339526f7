"""Second entity recognition: every memory once, with models where the quick look found little."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ..errors import CapReached
from ..extraction.job_types import Due, Kind, Output, Task, Worker
from ..ingest import entity_linking
from ..ingest.known_names import TYPES as NAMED
from ..ingest.known_names import KnownNames
from ..models.entities.base import EntityMatch, resolve
from ..models.entities.names import BARE
from ..models.entities.select import Recognition, standard
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter
from ..types import Kind as MemoryKind
from ..types import Memories, Memory, Micros, Names, Scope, iso

log = logging.getLogger(__name__)

# Memories per transaction, and the number of entities up to which models are asked about a memory.
MOST = 50
FEW = 2
# Memories per page.
PAGE = 500
KINDS: tuple[MemoryKind, ...] = ("fact", "episode", "turn")
STAMP = "enriched_at"
KEY = "nightly"
_SMALL_WORD = re.compile(r"(?<![\w'’-])[^\W\d_A-Z]\w+")


def candidates(
    store: Store,
    scope: Scope,
    *,
    kinds: Sequence[MemoryKind] = KINDS,
    max_entity_count: int = FEW,
    limit: int = MOST,
) -> Memories:
    """Memories with few entities and no second pass yet, newest first."""
    return list(islice(_with_few(store, scope, kinds, max_entity_count), limit))


def _with_few(
    store: Store,
    scope: Scope,
    kinds: Sequence[MemoryKind],
    most: int,
) -> Iterator[Memory]:
    for page in _waiting(store, scope, kinds):
        mentioned = store.entities.mentions_of(scope, [memory.id for memory in page])
        yield from (memory for memory in page if len(mentioned.get(memory.id, ())) <= most)


def _waiting(
    store: Store,
    scope: Scope,
    kinds: Sequence[MemoryKind] = KINDS,
) -> Iterator[Memories]:
    """Yield pages of memories without a second pass; stamps and additions meanwhile do not affect
    later pages.
    """
    where = Filter((scope,), kinds=tuple(kinds), unenriched=True)
    after = None
    while page := store.list(where, limit=PAGE, after=after):
        yield page
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


def _looks(worker: Worker) -> Sequence[str]:
    # Otherwise the same recogniser would find nothing new.
    return ("",) if _recognition(worker, worker.complete).accurate_available() else ()


def _due(worker: Worker) -> Iterator[Due]:
    if not _looks(worker):
        return
    for scope in worker.store.scopes() if worker.scopes is None else worker.scopes:
        where = Filter((scope,), kinds=KINDS, unenriched=True)
        for newest in worker.store.list(where, limit=1):
            yield Due(scope, KEY, newest.seq)


def _run(task: Task) -> Output | None:
    """Process all waiting memories in batches, each in its own transaction. Stopping loses at most
    one batch.
    """
    recognition = _recognition(task.worker, task.complete)
    store, scope = task.worker.store, task.job.scope
    known = KnownNames(store.entities.list([scope], types=NAMED))
    looked_at = 0
    for page in _waiting(store, scope):
        context = _Context(known, page, store.entities.mentions_of(scope, [one.id for one in page]))
        for start in range(0, len(page), MOST):
            batch = page[start : start + MOST]
            found, stopped = _recognised(task, recognition, batch, context)
            task.write(partial(_look_again_at, found=found, at=task.worker.clock()))
            looked_at += len(found)
            log.info("%s of %s: %d memories processed so far", task.job.kind, scope, looked_at)
            if stopped is not None:
                # The rest follows when the model's token budget allows it.
                raise stopped
            task.heartbeat()
    return None


class _Context:
    """What a memory's surroundings say about its names: who is known, and which words are written
    small in the same session.
    """

    def __init__(
        self,
        known: KnownNames,
        page: Memories,
        mentioned: Mapping[str, Names],
    ) -> None:
        self._known = known
        self._mentioned = mentioned
        self._small: dict[str | None, set[str]] = defaultdict(set)
        for memory in page:
            self._small[memory.session or memory.id].update(_SMALL_WORD.findall(memory.content))

    def strategy(self, memory: Memory) -> str:
        """Return how to look at a memory: a model is only asked where little was found."""
        return "accurate" if len(self._mentioned.get(memory.id, ())) <= FEW else "local"

    def learn(self, found: Sequence[EntityMatch]) -> None:
        """Know the names of one memory in all others."""
        self._known.learn(found)

    def names(self, memory: Memory, found: Sequence[EntityMatch]) -> list[EntityMatch]:
        """Return what was found without ordinary words, and with the names that are known."""
        small = self._small[memory.session or memory.id]
        named = [one for one in found if one.confidence > BARE or one.name.casefold() not in small]
        return resolve([*named, *self._known.find(memory.content)], memory.content)


_Recognised = list[tuple[Memory, list[EntityMatch]]]


def _recognised(
    task: Task,
    recognition: Recognition,
    batch: Sequence[Memory],
    context: _Context,
) -> tuple[_Recognised, CapReached | None]:
    """Recognise the entities of each memory before the transaction, which must not wait for a
    model. Also returns the error that stopped it.
    """
    found: _Recognised = []
    stopped = None
    for memory in batch:
        try:
            named = recognition.recognise(memory.content, context.strategy(memory))
        except CapReached as error:
            stopped = error
            break
        context.learn(named)
        found.append((memory, named))
        task.heartbeat()
    return [(memory, context.names(memory, named)) for memory, named in found], stopped


def _look_again_at(
    tx: Transaction,
    *,
    found: _Recognised,
    at: Micros,
) -> None:
    speakers = {
        (memory.session, memory.author): memory
        for memory, _ in found
        if entity_linking.is_spoken(memory)
    }
    for memory, named in found:
        look_again(tx, memory, named, at=at)
    # Newest first, so the one that is kept of each session is the first of them.
    for memory in speakers.values():
        if tx.memory(memory.scope, memory.id) is not None:
            entity_linking.link_speaker(tx, memory, at=at)


ENRICH = Kind("enrich", due=_due, run=_run, looks=_looks)
"""One job per scope with memories that need a second pass."""
