"""A transaction on an SQL store: memories, and a table for each other noun.

Backend differences are in the rows it wraps (`journal.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..types import Edge, Edges, Events, Kind, Memories, Memory, Scope
from .journal import JournalledRows, read_events
from .memory_table import SQLMemoryTable
from .protocol import (
    EntityTable,
    Erasure,
    FileTable,
    JobWrites,
    ProfileTable,
    ProgressTable,
    Replication,
    SessionTable,
)
from .session_table import SQLSessionTable
from .store_types import EventOrder

if TYPE_CHECKING:
    from .entity_table import SQLEntityTable
    from .progress_table import SQLProgressTable
    from .restore import SQLRestore
    from .scrub import SQLErasure


class SQLTransaction:
    """One transaction; see `Transaction` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        self._rows = rows
        self._memories = SQLMemoryTable(rows)
        self._sessions = SQLSessionTable(rows)
        self.sessions: SessionTable = self._sessions

    # Tables that not every transaction needs, each imported on first use

    @cached_property
    def entities(self) -> EntityTable:
        return self._entities

    @cached_property
    def _entities(self) -> SQLEntityTable:
        from .entity_table import SQLEntityTable  # noqa: PLC0415

        return SQLEntityTable(self._rows)

    @cached_property
    def progress(self) -> ProgressTable:
        return self._progress

    @cached_property
    def _progress(self) -> SQLProgressTable:
        from .progress_table import SQLProgressTable  # noqa: PLC0415

        return SQLProgressTable(self._rows)

    @cached_property
    def profiles(self) -> ProfileTable:
        from .profile_table import SQLProfileTable  # noqa: PLC0415

        return SQLProfileTable(self._rows)

    @cached_property
    def files(self) -> FileTable:
        from .file_table import SQLFileTable  # noqa: PLC0415

        return SQLFileTable(self._rows)

    @cached_property
    def jobs(self) -> JobWrites:
        from .job_table import SQLJobWrites  # noqa: PLC0415

        return SQLJobWrites(self._rows)

    @cached_property
    def erasure(self) -> Erasure:
        return self._erasure

    @cached_property
    def _erasure(self) -> SQLErasure:
        from .scrub import SQLErasure  # noqa: PLC0415

        return SQLErasure(self._rows, self._memories, self._entities, self._sessions)

    @cached_property
    def replication(self) -> Replication:
        from .peer import SQLReplication  # noqa: PLC0415

        return SQLReplication(
            self._rows, self._memories, self._entities, self._sessions, self._erasure
        )

    @cached_property
    def _restore(self) -> SQLRestore:
        from .restore import SQLRestore  # noqa: PLC0415

        return SQLRestore(self._rows, self._progress)

    # Memories

    def memory(self, scope: Scope, ref: str | int) -> Memory | None:
        return self._memories.memory(scope, ref)

    def same_words(self, memories: Sequence[Memory]) -> dict[str, Memories]:
        return self._memories.same_words(memories)

    def surplus(
        self,
        scope: Scope,
        kinds: Sequence[Kind],
        keep: int,
        *,
        spare_unconsolidated: bool,
    ) -> Memories:
        return self._memories.surplus(scope, kinds, keep, spare_unconsolidated=spare_unconsolidated)

    def touched(self, source: str | None = None) -> Iterator[tuple[Scope, str, Memory | None]]:
        return self._rows.touched(source)

    def add(self, memory: Memory) -> Memory:
        return self._memories.add_many([memory])[0]

    def add_many(self, memories: Sequence[Memory]) -> Memories:
        return self._memories.add_many(memories)

    def change(self, memory: Memory, **fields: Any) -> Memory:
        return self._memories.change(memory, **fields)

    def remove(self, memory: Memory) -> None:
        self._memories.remove(memory)

    def link(self, edge: Edge) -> None:
        self._memories.link(edge)

    def edges(self, scope: Scope, memory: str) -> Edges:
        return self._memories.edges(scope, memory)

    # Journal, export and import

    def events(
        self,
        scopes: Sequence[Scope],
        *,
        run: str | None = None,
        target: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        order: EventOrder = "newest",
        strict: bool = False,
    ) -> Events:
        return read_events(
            self._rows,
            scopes,
            run=run,
            target=target,
            after=after,
            limit=limit,
            order=order,
            strict=strict,
        )

    def undo(self, scopes: Sequence[Scope], run: str) -> Events:
        from .undo import SQLUndo  # noqa: PLC0415

        undo = SQLUndo(self._rows, self._memories, self._entities, self._sessions, self._progress)
        return undo.undo(scopes, run)

    def restore_row(
        self,
        noun: str,
        row: Mapping[str, Any],
        *,
        journal: bool,
        seq: int | None = None,
    ) -> bool:
        return self._restore.restore_row(noun, row, journal=journal, seq=seq)

    def restore_many(
        self,
        noun: str,
        scope: Scope,
        rows: Sequence[Mapping[str, Any]],
    ) -> None:
        self._restore.restore_many(noun, scope, rows)
