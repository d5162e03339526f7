"""Input of `add` as memories, and its result as mem0 reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidInput
from ...extraction.episodes import SOURCE as LEARNED
from ...ingest import capture
from ...ingest.commit import Draft
from ...storage import Transaction
from ...transcripts.json_fields import micros, said_in
from ...types import Memories, Memory, Micros
from .ids import ACTOR, normalise_id
from .mem0_items import KINDS, SOURCE, Owner, note_of

Item = dict[str, Any]
PROCEDURAL = "procedural_memory"


@dataclass(frozen=True, slots=True)
class Said:
    """One message."""

    role: str
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """Arguments of `add`: owner, metadata, time, expiration and messages."""

    owner: Owner
    metadata: Mapping[str, Any]
    said_at: Micros | None
    ends: Micros | None
    said: Sequence[Said]

    def note(self, said: Said | None = None) -> dict[str, Any]:
        """Metadata stored with the memories."""
        fields = {"role": said.role, "actor_id": said.name} if said else {}
        return note_of(self.owner, self.metadata, **fields)

    def draft(self, said: Said) -> Draft:
        """Convert a message to a memory verbatim."""
        return Draft(
            content=said.text,
            source=SOURCE,
            event_time=self.said_at,
            valid_until=self.ends,
            metadata=self.note(said),
        )

    def turn(self, said: Said, session: str) -> Draft:
        """Convert a message to a turn of a conversation."""
        turn = capture.turn(
            session=session,
            role=said.role,
            text=said.text,
            event_time=self.said_at,
        )
        turn.author, turn.metadata = said.name or "", self.note(said)
        return turn


def said_of(message: Mapping[str, Any]) -> Said:
    role = str(message.get("role") or "user")
    name = str(message.get("name") or "").strip()
    return Said(
        role,
        said_in(message.get("content")).strip(),
        normalise_id(ACTOR, name or None),
    )


def procedure(given: Given) -> Draft:
    """Return a whole conversation as one procedural memory."""
    if len(given.said) > 1:
        text = "\n".join(f"{one.role}: {one.text}" for one in given.said)
    else:
        text = "\n".join(one.text for one in given.said)
    note = note_of(given.owner, {**given.metadata, "memory_type": PROCEDURAL})
    return Draft(
        content=text,
        kind="skill",
        source=SOURCE,
        event_time=given.said_at,
        valid_until=given.ends,
        metadata=note,
    )


def noted(tx: Transaction, given: Given) -> list[Item]:
    """Return what a transaction extracted, as mem0 reports it; new memories are marked with their
    owner.
    """
    touched = [*tx.touched(LEARNED), *tx.touched(SOURCE)]
    results = []
    replaced = set[str]()
    for scope, id_, before in touched:
        now = tx.memory(scope, id_)
        if now is None or now.status != "active" or now.kind not in KINDS:
            continue
        if before is not None and before.status == "active":
            results.append(result_of(now, "NONE"))
            continue
        ends = {"valid_until": given.ends} if given.ends else {}
        new = tx.change(now, metadata={**now.metadata, **given.note()}, **ends)
        old = _replaced(tx, new)
        replaced |= {one.id for one in old}
        more = {"previous_memory": old[0].content} if old else {}
        results.append({**result_of(new, "UPDATE" if old else "ADD"), **more})
    return [one for one in results if one["id"] not in replaced]


def _replaced(tx: Transaction, new: Memory) -> Memories:
    """Return what a memory superseded."""
    edges = (edge for edge in tx.edges(new.scope, new.id) if edge.relation == "supersedes")
    return [
        old
        for edge in edges
        if edge.source == new.id and (old := tx.memory(new.scope, edge.target))
    ]


def result_of(
    memory: Memory,
    event: str,
    said: Said | None = None,
) -> Item:
    more = {"actor_id": said.name, "role": said.role} if said else {}
    return {"id": memory.id, "memory": memory.content, "event": event, **more}


def parse_timestamp(timestamp: Any) -> Micros | None:
    """Parse a time: ISO 8601, or seconds since 1970."""
    if timestamp is None:
        return None
    found = micros(timestamp.isoformat() if hasattr(timestamp, "isoformat") else timestamp)
    if found is None:
        raise InvalidInput(f"{timestamp!r} is not a time. Use ISO 8601 or seconds since 1970.")
    return found
