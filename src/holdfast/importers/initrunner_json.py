"""An agent's memories as a JSON array, out and in: the shape that other tools of its kind read and
write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..agents.role_memory import RoleMemory, tidy
from ..errors import InvalidInput, Nothing
from ..ingest import commit
from ..ingest.commit import Draft
from ..storage.duplicates import same_content
from ..storage.protocol import Transaction
from ..types import MAIN_KINDS, Memory, Micros, from_iso, iso

# Memories embedded at a time, so that a person sees it move.
STEP = 50
READ = "consolidated_at"


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import did: memories that are new, those that were there already, and records without
    text.

    `put_away` says how many are over the role's caps now, and so not in use.
    """

    added: int
    known: int
    blank: int
    put_away: int


def listed(memory: Memory) -> dict[str, Any]:
    """One memory for scripts: as in an export, and when it was consolidated, if it was."""
    read = {READ: iso(memory.consolidated_at)} if memory.consolidated_at else {}
    return exported(memory) | {"metadata": dict(memory.metadata) or None} | read


def exported(memory: Memory) -> dict[str, Any]:
    """One memory as other tools know it, with exactly their six keys.

    That an episode was consolidated is told in its metadata, so that it is not read a second time
    where it comes in.
    """
    read = {READ: iso(memory.consolidated_at)} if memory.consolidated_at else {}
    return {
        "id": memory.seq,
        "content": memory.content,
        "category": memory.category,
        "created_at": iso(memory.created_at),
        "memory_type": memory.layer,
        "metadata": {**memory.metadata, **read} or None,
    }


def import_memories(
    memory: RoleMemory,
    records: Any,
    *,
    progress: Callable[[int], None] = lambda steps: None,
) -> Taken:
    """Takes exported memories in, all or none; they get new ids and keep their times. Twice equals
    once.

    InvalidInput names the first record that cannot be used, by its place in the array.
    """
    if not isinstance(records, list):
        raise InvalidInput(
            "An export is a JSON array of memories; this is something else. Nothing was imported."
        )
    hf = memory.hf
    at = memory.clock()
    built = [_built(memory, number, record, at) for number, record in enumerate(records)]
    wanted = sorted((one for one in built if one is not None), key=lambda one: one.created_at)
    there = {_same(one) for one in hf.list(statuses=("active", "evicted"))}
    added = hf.admin.write(
        "import", lambda tx: _added(tx, [one for one in wanted if _same(one) not in there])
    )
    put_away = memory.keep_within_caps()
    for start in range(0, len(added), STEP):
        memory.embed()
        progress(len(added[start : start + STEP]))
    return Taken(len(added), len(wanted) - len(added), len(records) - len(wanted), put_away)


def _added(tx: Transaction, wanted: Sequence[Memory]) -> list[Memory]:
    said = same_content(tx, wanted)
    return tx.add_many([one for one in wanted if one.id not in said])


def _same(memory: Memory) -> tuple[object, ...]:
    """What must be equal for a record to be a memory that is there. The same thing may happen
    twice; a fact may not.
    """
    at = memory.created_at if memory.kind == "episode" else None
    return memory.kind, memory.category, memory.content, at


def _built(
    memory: RoleMemory,
    number: int,
    record: Any,
    now: Micros,
) -> Memory | None:
    """The memory of one record; None for one without text."""
    if not isinstance(record, Mapping) or not isinstance(record.get("content"), str):
        raise InvalidInput(f"Record {number} has no text under 'content'. Nothing was imported.")
    type_ = record.get("memory_type") or "semantic"
    kind = next((kind for layer, kind in MAIN_KINDS.items() if layer == type_), None)
    if kind is None:
        raise InvalidInput(
            f"Record {number} has the type {type_!r}. Use: episodic, semantic, procedural. "
            "Nothing was imported."
        )
    try:
        at = _time(record.get("created_at"), now)
        metadata = dict(record.get("metadata") or {})
        # Version 0.1.0 had it as a key of its own.
        read = metadata.pop(READ, None) or record.get(READ)
        draft = Draft(
            content=record["content"],
            kind=kind,
            category=tidy(str(record.get("category") or "general")),
            source="import",
            metadata=metadata,
        )
        built = commit.build(
            draft, memory.scope, at=at, max_bytes=memory.settings.max_content_bytes
        )
        return built.with_(consolidated_at=_time(read, now), outcome="extracted") if read else built
    except Nothing:
        return None
    except (InvalidInput, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"Record {number} cannot be used: {error} Nothing was imported."
        ) from error


def _time(text: Any, otherwise: Micros) -> Micros:
    if text is None:
        return otherwise
    try:
        return from_iso(text)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{text!r} is not a time such as 2025-06-01T10:30:00+00:00.") from error
