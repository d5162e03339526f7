"""Progress marks in SQL: how far each sink of the extraction has read a session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..types import Progress, ProgressMarks, Scope
from .damage import NOT_JSON
from .filters import marks
from .journal import JournalledRows
from .row_codec import check_row, damaged, encode, to_json
from .schema import LOCAL_SINKS, PROGRESS, Row, ScopeOf
from .table_access import Access

_FIELDS = ("scope", *PROGRESS.columns)


def progress_from(row: Row, scope_of: ScopeOf) -> Progress:
    """Decode a row read as scope and PROGRESS.columns; raises RowDamaged."""
    number, session, sink, position, at, detail = row
    scope = scope_of(number)
    check_row(PROGRESS, _FIELDS, row, scope)
    try:
        known = json.loads(detail) if detail else {}
        if type(known) is not dict:
            raise ValueError(NOT_JSON)
    except (ValueError, RecursionError) as error:
        raise damaged(PROGRESS, _FIELDS, row, scope) from error
    return Progress(scope, session, sink, position, at, known)


def progress_values(progress: Progress) -> dict[str, Any]:
    """Encode a progress mark as its column values."""
    return {column: encode(column, getattr(progress, column)) for column in PROGRESS.columns}


class SQLProgressReads:
    """The progress marks of a store; see `ProgressReads` in protocol.py."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def get(
        self,
        scope: Scope,
        session: str,
        sink: str,
    ) -> Progress | None:
        return next((one for one in self.list(scope, session) if one.sink == sink), None)

    def list(self, scope: Scope, session: str | None = None) -> ProgressMarks:
        numbers = self._access.numbers((scope,))
        wanted = "" if session is None else " AND session = ?"
        rows = self._access.read(
            numbers,
            f"SELECT scope, {', '.join(PROGRESS.columns)} FROM progress "
            f"WHERE scope IN ({marks(numbers)}){wanted} ORDER BY {PROGRESS.order}",
            (*numbers, *(() if session is None else (session,))),
        )
        return self._access.damages.sound(
            rows, lambda row: progress_from(row, self._access.scope_of)
        )


class SQLProgressTable(SQLProgressReads):
    """The progress marks of a transaction; see `ProgressTable` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        super().__init__(rows)
        self._rows = rows

    def get(
        self,
        scope: Scope,
        session: str,
        sink: str,
    ) -> Progress | None:
        row = self._rows.row(PROGRESS, scope, (session, sink))
        if row is None:
            return None
        return progress_from((self._rows.known(scope), *row.values()), self._rows.scope_of)

    def put(self, progress: Progress) -> None:
        values = progress_values(progress)
        known = self._rows.row(PROGRESS, progress.scope, (progress.session, progress.sink))
        # Without progress only the time would change, which is not worth a journal entry.
        if known is not None and values == {**known, "at": progress.at}:
            return
        with self._unless_local(progress.session, progress.sink):
            self._rows.put_row(PROGRESS, progress.scope, values)

    def drop(
        self,
        scope: Scope,
        session: str,
        sink: str,
    ) -> None:
        if self._rows.row(PROGRESS, scope, (session, sink)) is not None:
            with self._unless_local(session, sink):
                self._rows.delete_row(PROGRESS, scope, (session, sink))

    @contextmanager
    def _unless_local(self, session: str, sink: str) -> Iterator[None]:
        """Suppress journalling for sinks that are local to this store."""
        if sink not in LOCAL_SINKS:
            yield
            return
        with self._rows.silent(PROGRESS.noun, to_json([session, sink])):
            yield
