"""Restore rows from an export inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Conflict, InvalidInput
from ..types import Scope
from .journal import JournalledRows
from .legacy_progress import ACTOR, MIGRATE, RUN, is_legacy, legacy_marks
from .progress_table import SQLProgressTable, progress_values
from .row_codec import exported, imported, to_json
from .schema import ENTITIES, EVENTS, MEMORIES, MESSAGES, PROGRESS, SESSIONS, TABLES, Table

# Columns that decay changes without anybody using the memory.
_FADING = ("confidence", "strength", "decayed_at")
# The largest integer that every JSON reader keeps exact; higher numbers stay free for new memories.
HIGHEST_SEQ = 2**53 - 1


class SQLRestore:
    """Restoring inside a transaction; see `Transaction.restore_row` in protocol.py."""

    def __init__(self, rows: JournalledRows, progress: SQLProgressTable) -> None:
        self._rows = rows
        self._progress = progress

    def restore_row(
        self,
        noun: str,
        row: Mapping[str, Any],
        *,
        journal: bool,
        seq: int | None = None,
    ) -> bool:
        with self._rows.storable(noun):
            return self._restore_row(noun, row, journal=journal, seq=seq)

    def _restore_row(
        self,
        noun: str,
        row: Mapping[str, Any],
        *,
        journal: bool,
        seq: int | None,
    ) -> bool:
        table = TABLES[noun]
        scope = Scope.parse(row["scope"])
        values = imported(table, row)
        if nested := [column for column, value in values.items() if isinstance(value, list | dict)]:
            raise InvalidInput(
                f"This {noun} cannot be stored: its {nested[0]} is neither text nor a number."
            )
        number = self._rows.number(scope)
        if table is EVENTS:
            if self._has_event(number, values):
                return False
        elif known := self._rows.row(table, scope, tuple(values[column] for column in table.key)):
            return self._same_or_conflict(table, known, values)
        # A message without its session could never be removed: only purging the session does that.
        if table is MESSAGES and (missing := self._rows.missing_end(table, scope, values)):
            raise InvalidInput(f"This {noun} cannot be stored: there is no session {missing!r}.")
        if table is MEMORIES and seq is not None and self._rows.keeps_seqs:
            values["seq"] = self._free_seq(seq)
        if journal:
            self._rows.insert_row(table, scope, values)
        else:
            self._rows.insert_rows(table, number, [values])
        if table is SESSIONS and is_legacy(row):
            self._adopt_marks(scope, row, journal=journal)
        return True

    def _adopt_marks(
        self,
        scope: Scope,
        row: Mapping[str, Any],
        *,
        journal: bool,
    ) -> None:
        """Store the progress marks that version 0.1.0 exported inside a session row."""
        number = self._rows.number(scope)
        for mark in legacy_marks(row, scope, row["id"], at=row["last_activity"]).values():
            if journal:
                self._progress.put(mark)
                continue
            values = progress_values(mark)
            self._rows.insert_rows(PROGRESS, number, [values])
            target = self._rows.target_of(PROGRESS, values)
            image = to_json({column: values[column] for column in ("at", "detail", "position")})
            added = (number, RUN, row["started_at"], ACTOR, MIGRATE, PROGRESS.noun, target)
            changed = (number, f"{RUN}-{mark.position}", mark.at, *added[3:])
            entries = [(*added, None, None), (*changed, image, image)]
            self._rows.add_entries(number, entries)

    def restore_many(
        self,
        noun: str,
        scope: Scope,
        rows: Sequence[Mapping[str, Any]],
    ) -> None:
        table = TABLES[noun]
        if rows:
            self._rows.insert_rows(
                table, self._rows.number(scope), [imported(table, row) for row in rows]
            )

    def _free_seq(self, seq: int) -> int:
        if not 0 < seq <= HIGHEST_SEQ:
            raise InvalidInput(
                f"A memory cannot have the number {seq}: it must be between 1 and {HIGHEST_SEQ}."
            )
        if has_seq(self._rows, seq):
            raise Conflict(f"The number {seq} is taken by another memory. Nothing was restored.")
        return seq

    def _has_event(self, number: int, values: dict[str, Any]) -> bool:
        """Whether the journal already has this entry. Numbers are local to a store and not
        compared.
        """
        rows = self._rows.execute(
            (
                f"SELECT {', '.join(EVENTS.columns)} FROM events WHERE scope = ? AND noun = ? AND "
                "target = ? AND run = ?"
            ),
            (number, values["noun"], values["target"], values["run"]),
        )
        wanted = exported(EVENTS, tuple(values.values()))
        return any(
            one == wanted
            for one in self._rows.damages.each_sound(rows, lambda row: exported(EVENTS, row))
        )

    def _same_or_conflict(
        self,
        table: Table,
        known: dict[str, Any],
        values: dict[str, Any],
    ) -> bool:
        differing = [c for c in table.columns if known[c] != values[c] and c not in table.observed]
        if table is MEMORIES and _unfaded(known) == _unfaded(values):
            differing = [c for c in differing if c not in _FADING]
        if table is ENTITIES:
            # The id is derived from name and type, so this is the same entity. Keep the local
            # spelling and creation time.
            differing = [c for c in differing if c not in ("name", "created_at")]
        if differing:
            name = " ".join((table.noun, *(str(values[column]) for column in table.key)))
            raise Conflict(
                f"The {name} is already here with another {differing[0]}. Nothing was imported. "
                "Import into an empty store, or into another scope with --into."
            )
        return False


def has_seq(rows: JournalledRows, seq: int) -> bool:
    """Whether a memory has this number."""
    return bool(rows.execute("SELECT 1 FROM memories WHERE seq = ?", (seq,)))


def _unfaded(row: Mapping[str, Any]) -> Any:
    """Return the confidence before decay, which stays the same while nobody uses the memory."""
    return row["confidence"] if row["strength"] is None else row["strength"]
