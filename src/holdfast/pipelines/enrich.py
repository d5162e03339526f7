"""A second look for people, places and projects: memories in which the quick recogniser found little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import CapReached
from ..models.chat import Complete
from ..models.entities.base import Found
from ..models.entities.strategies import Recognition, standard
from ..store.base import Filter, Store, Writer
from ..types import Kind as MemoryKind
from ..types import Memories, Memory, Micros, Scope, iso
from ..write import entities
from .task import Due, Kind, Output, Task, Worker

MOST, FEW = 50, 2  # memories of one night, and the number of entities up to which one is worth a second look
KINDS: tuple[MemoryKind, ...] = ("fact", "episode", "turn")
STAMP, KEY = "enriched_at", "nightly"


def candidates(
    store: Store, scope: Scope, *, kinds: Sequence[MemoryKind] = KINDS, max_entity_count: int = FEW, limit: int = MOST
) -> Memories:
    """Memories that mention few entities and have had no second look, newest first."""
    found: Memories = []
    where, after = Filter((scope,), kinds=tuple(kinds), unenriched=True), None
    while len(found) < limit and (page := store.list(where, limit=10 * limit, after=after)):
        mentioned = store.mentions_of(scope, [memory.id for memory in page])
        found += [memory for memory in page if len(mentioned.get(memory.id, ())) <= max_entity_count]
        after = page[-1].seq
    return found[:limit]


def look_again(writer: Writer, memory: Memory, found: Sequence[Found], *, at: Micros) -> int:
    """Links what was found in a memory and stamps it; how many entities were found."""
    fresh = writer.memory(memory.scope, memory.id)
    if fresh is None:
        return 0
    linked = entities.link(writer, fresh, found, at=at)
    writer.change(fresh, metadata={**fresh.metadata, STAMP: iso(at)})
    return len(linked)


def unseen(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a memory for one with other words, which have had no second look."""
    return {key: value for key, value in metadata.items() if key != STAMP}


def _recognition(worker: Worker, complete: Complete | None) -> Recognition:
    return worker.recognition or standard(answer=complete)


def _due(worker: Worker) -> Iterator[Due]:
    if not _recognition(worker, worker.complete).accurate_available():
        return  # a second look by the eyes of the first finds nothing new
    for scope in worker.store.scopes() if worker.scopes is None else worker.scopes:
        waiting = candidates(worker.store, scope, limit=1)
        if waiting:
            yield Due(scope, KEY, waiting[0].seq)


def _run(task: Task) -> Output | None:
    worker, at = task.worker, task.worker.clock()
    recognition = _recognition(worker, task.complete)
    waiting = candidates(worker.store, task.job.scope)
    found = []
    for memory in waiting:  # before the transaction, which must not wait for a model
        try:
            found.append((memory, recognition.recognise(memory.content, "accurate")))
        except CapReached:
            if not found:
                raise
            break  # the others have their turn when the model may be asked again
        task.heartbeat()
    return lambda writer: [look_again(writer, memory, named, at=at) for memory, named in found]


ENRICH = Kind("enrich", due=_due, run=_run)
"""One job for each scope with memories that deserve a second look."""
