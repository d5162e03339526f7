"""A transaction on an SQLite file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import apsw

from ...errors import InvalidInput
from ..filters import SQLITE
from ..journal import Indexed, JournalledRows
from .connection import ADD_TO_META, scope_prefix


class SQLiteRows(JournalledRows):
    """The rows of a transaction on the write connection."""

    dialect = SQLITE

    def new_seqs(self, count: int) -> Sequence[int]:
        # Safe: the transaction holds the write lock of the file.
        rows = self.execute("SELECT seq FROM sqlite_sequence WHERE name = 'memories'")
        first = rows[0][0] + 1 if rows else 1
        return range(first, first + count)

    # `entries` is not needed: the health check derives the count from `sqlite_sequence`.
    def add_totals(
        self,
        number: int,
        active: int,
        terms: int,
        entries: int,  # noqa: ARG002
    ) -> None:
        self.execute(
            "UPDATE scopes SET active = active + ?, terms = terms + ?, "
            "changed_at = coalesce(changed_at, ?) WHERE number = ?",
            (active, terms, self.author.at, number),
        )

    @contextmanager
    def storable(self, noun: str) -> Iterator[None]:
        try:
            yield
        except apsw.ConstraintError as error:
            raise InvalidInput(f"This {noun} cannot be stored: {error}.") from error

    def index(self, memories: Sequence[Indexed]) -> None:
        rows = []
        for seq, number, terms, active in memories:
            prefix = scope_prefix(number, active=active)
            rows.append((seq, prefix + f" {prefix}".join(terms) if terms else ""))
        self.execute.many("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", rows)

    def unindex(self, memory: Indexed) -> None:
        self.execute("DELETE FROM memory_terms WHERE rowid = ?", (memory[0],))

    def clear_index(self, number: int, entries: int) -> None:
        self.execute(
            "DELETE FROM memory_terms WHERE rowid IN (SELECT seq FROM memories WHERE scope = ?)",
            (number,),
        )
        for key, more in (("vector_drops", 1), ("erased_entries", entries)):
            self.execute(ADD_TO_META, (key, str(more)))
