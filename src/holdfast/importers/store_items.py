"""Store the memories of another system's file: in one transaction, each once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..client import Holdfast
from ..errors import InvalidInput
from ..ingest import commit, entity_linking
from ..storage import Transaction
from ..storage.merge import is_purged
from ..types import ID_PREFIXES, Kind, Memories, Memory, Scope
from .json_values import Problem
from .memory_file import ImportedItem, MemoryFile

# Memories between two reports of progress.
STEP = 200
_ID = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import did: memories that are new, how many were known (or erased before), and what
    was left out.
    """

    added: Memories
    known: int
    problems: list[Problem]


def take_in(
    hf: Holdfast,
    format: MemoryFile,
    items: Iterable[ImportedItem | Problem],
    *,
    into: Scope | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Taken:
    """Store the items of a file in one transaction, without those that are malformed. Idempotent:
    what is known already is not added again.

    `progress` is called with the number of finished steps, and of all: each item is read, and those
    that are new are stored.
    """
    items = list(items)
    total = 2 * len(items)
    built: dict[tuple[Scope, str], Memory] = {}
    problems: list[Problem] = []
    read = 0
    for number, one in enumerate(items, start=1):
        progress(number, total)
        try:
            memory = _checked(hf, format, one, into)
        except InvalidInput as error:
            problems.append(Problem(one.line, str(error)))
            continue
        read += 1
        built.setdefault((memory.scope, memory.id), memory)
    there = _there(hf, format, {scope for scope, _ in built})
    new = [
        one for one in built.values() if not (_is_erased(hf, one) or _is_there(format, one, there))
    ]
    added = (
        _stored(hf, new, lambda stored: progress(len(items) + stored, len(items) + len(new)))
        if new
        else []
    )
    return Taken(added, read - len(added), problems)


def _checked(
    hf: Holdfast,
    format: MemoryFile,
    one: ImportedItem | Problem,
    into: Scope | None,
) -> Memory:
    """The memory that is to be; InvalidInput says why there is none."""
    if isinstance(one, Problem):
        raise InvalidInput(one.reason)
    scope = into or one.scope or hf.scopes[0]
    at = one.created_at if one.created_at is not None else hf.clock()
    memory = commit.build(one.draft, scope, at=at, max_bytes=hf.settings.max_content_bytes)
    own = one.id if one.id and _ID.fullmatch(one.id) else id_of(format.name, memory.kind, one.key)
    return memory.with_(
        id=own, updated_at=at if one.updated_at is None else max(at, one.updated_at)
    )


def id_of(
    format: str,
    kind: Kind,
    key: tuple[str, ...],
) -> str:
    """An id that follows from what a memory is known again by."""
    told = json.dumps([format, *key]).encode()
    return f"{ID_PREFIXES[kind]}_{hashlib.blake2b(told, digest_size=13).hexdigest()}"


def _there(
    hf: Holdfast,
    format: MemoryFile,
    scopes: set[Scope],
) -> set[tuple[Scope, str]]:
    """What of such memories is known, under whichever id."""
    if format.same is None or not scopes:
        return set()
    return {(one.scope, format.same(one)) for one in hf.scoped(*scopes).list()}


def _is_there(
    format: MemoryFile,
    memory: Memory,
    there: set[tuple[Scope, str]],
) -> bool:
    return format.same is not None and (memory.scope, format.same(memory)) in there


def _is_erased(hf: Holdfast, memory: Memory) -> bool:
    return any(map(is_purged, hf.store.events([memory.scope], target=memory.id)))


def _stored(
    hf: Holdfast,
    memories: Memories,
    progress: Callable[[int], None],
) -> Memories:
    def work(tx: Transaction) -> Memories:
        new = [one for one in memories if tx.memory(one.scope, one.id) is None]
        stored: Memories = []
        for start in range(0, len(new), STEP):
            some = tx.add_many(new[start : start + STEP])
            entity_linking.note(tx, some, at=hf.clock())
            stored += some
            progress(len(stored))
        return stored

    view = hf.scoped(*dict.fromkeys(one.scope for one in memories))
    stored = view.admin.write("import", work)
    hf.last_run = view.last_run
    return stored
