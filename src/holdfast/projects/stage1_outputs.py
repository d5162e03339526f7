"""Outputs of stage 1: what a session taught its project, stored as a memory until the session
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from ..errors import Conflict
from ..extraction.coding import Note
from ..ingest import commit
from ..ingest.commit import Draft
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter
from ..types import Edge, Memory, Micros, Scope, Session

CATEGORY = "session_memory"
SOURCE = "project"
_KEY = "taught"


@dataclass(frozen=True, slots=True)
class Taught:
    """What one session teaches, in full and in a sentence or two; empty texts teach nothing."""

    memory: str
    summary: str
    slug: str = ""
    notes: tuple[Note, ...] = ()
    """The same as notes, if rules found it."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to store."""
        return not self.memory.strip() or not self.summary.strip()


@dataclass(frozen=True, slots=True)
class Output:
    """Stored output of a session."""

    session: str
    updated_at: Micros
    """Last activity of the session when it was read."""
    taught: Taught


def outputs(
    store: Store,
    scope: Scope,
    limit: int | None = None,
) -> list[Output]:
    """Outputs of a project, most recent sessions first."""
    found = [_output(memory) for memory in kept_as(store, scope)]
    return sorted(found, key=lambda one: (-one.updated_at, one.session))[:limit]


def save_outputs(
    tx: Transaction,
    session: Session,
    taught: Taught,
    known: Iterable[Memory],
    *,
    at: Micros,
    limit: int,
) -> None:
    """Replace the outputs of a session; one that teaches nothing leaves none."""
    for old in known:
        tx.remove(old)
    if taught.is_empty:
        return
    draft = Draft(
        content=taught.summary,
        kind="episode",
        category=CATEGORY,
        source=SOURCE,
        trust="derived",
        event_time=session.last_activity,
        metadata={"session": session.id, _KEY: _as_json(taught, session)},
    )
    stored = tx.add(commit.build(draft, session.scope, at=at, max_bytes=limit))
    for turn in dict.fromkeys(turn for note in taught.notes for turn in note.turns):
        if tx.memory(session.scope, turn) is None:
            raise Conflict("Part of the session was removed while it was read. It is read again.")
        tx.link(Edge(session.scope, stored.id, turn, "derived_from", at))


def outputs_of(
    store: Store,
    scope: Scope,
    session: str,
) -> list[Memory]:
    """Memories that hold the output of a session."""
    return [memory for memory in kept_as(store, scope) if memory.metadata["session"] == session]


def kept_as(store: Store, scope: Scope) -> Sequence[Memory]:
    """Memories that hold the outputs of a project."""
    every = store.list(Filter((scope,), kinds=("episode",), categories=(CATEGORY,)))
    return [memory for memory in every if _KEY in memory.metadata]


def _as_json(taught: Taught, session: Session) -> dict[str, object]:
    return {
        "memory": taught.memory,
        "slug": taught.slug,
        "updated_at": session.last_activity,
        "notes": [asdict(note) | {"turns": list(note.turns)} for note in taught.notes],
    }


def _output(memory: Memory) -> Output:
    kept = memory.metadata[_KEY]
    notes = tuple(Note(**{**one, "turns": tuple(one["turns"])}) for one in kept["notes"])
    taught = Taught(kept["memory"], memory.content, kept["slug"], notes)
    return Output(memory.metadata["session"], kept["updated_at"], taught)
