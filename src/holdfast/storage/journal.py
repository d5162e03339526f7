"""The journal: row changes inside one transaction, each with its entry, on every SQL backend.

A backend supplies statements, new numbers, and full-text indexing. This module does not interpret
rows, except memories, whose text is indexed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ..errors import NotFound
from ..text.normal_forms import content_hash
from ..types import Events, Memories, Memory, Scope
from .damage import Damages
from .filters import Dialect, marks
from .row_codec import check_row, event_from, memory_from, terms_of, to_json
from .schema import (
    EVENTS,
    MEMORIES,
    MEMORY_COLUMNS,
    MENTIONS,
    POINTS_TO,
    TABLES,
    Rows,
    Statements,
    Table,
)
from .store_types import Author, EventOrder
from .table_access import Access, Reach

INSERT_MEMORY = (
    f"INSERT INTO memories (seq, scope, content_hash, terms, {', '.join(MEMORY_COLUMNS)}) "
    f"VALUES ({marks((None,) * (len(MEMORY_COLUMNS) + 4))})"
)
INSERT_EVENT = (
    "INSERT INTO events (scope, run, at, actor, verb, noun, target, before, after) "
    "VALUES (?,?,?,?,?,?,?,?,?)"
)
SELECT_EVENT = f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events"
PURGED = "purged"
Indexed = tuple[int, int, Sequence[str], bool]
"""A memory for the full-text index: its `seq`, its scope number, its terms, whether it is
active.
"""
# Bound values per statement.
PAGE = 500


class JournalledRows(ABC):
    """The rows of one transaction: reads, inserts, updates and deletes, with scopes and totals."""

    dialect: Dialect
    keeps_seqs = True
    """Whether a restored memory may keep a given number."""

    def __init__(
        self,
        author: Author,
        statements: Statements,
        remembered: Mapping[Scope, int],
    ) -> None:
        self.author = author
        self.damages = Damages()
        """The damaged rows that this transaction has met and left out."""
        self.execute = statements
        # Scope numbers the store already knows; a scope keeps its number forever.
        self._remembered = remembered
        self._numbers: dict[Scope, int] = {}
        self._names: dict[int, Scope] = {}
        self._totals: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        # Buffered entries, written in one batch before the commit or before a journal read.
        self._entries: list[tuple[Any, ...]] = []
        # By source, then by scope number and id: the row at the start of the transaction.
        self._touched: dict[str, dict[tuple[int, str], dict[str, Any] | None]] = defaultdict(dict)
        self.unmentioned: set[tuple[int, str]] = set()
        """Scope number and id of memories that this transaction has added without mentions."""
        # The row whose journal entries the caller supplies; see `silent`.
        self._unsaid: tuple[str, str] | None = None

    @abstractmethod
    def new_seqs(self, count: int) -> Sequence[int]:
        """Ascending numbers for new memories, never used before."""

    @abstractmethod
    def index(self, memories: Sequence[Indexed]) -> None:
        """Add memories to the full-text index."""

    @abstractmethod
    def unindex(self, memory: Indexed) -> None:
        """Remove a memory from the full-text index."""

    @abstractmethod
    def clear_index(self, number: int, entries: int) -> None:
        """Remove a scope from the full-text index and invalidate cached vectors.

        `entries` is the number of journal entries deleted with it, so that the health check does
        not report them as missing.
        """

    @abstractmethod
    def storable(self, noun: str) -> AbstractContextManager[None]:
        """Context in which a row rejected by the database raises InvalidInput."""

    def note_appended(  # noqa: B027
        self,
        number: int,
        session: str,
        position: int,
    ) -> None:
        """Record the last message appended by this transaction, which leaves no journal entry.

        Only a backend that must find out later whether the commit succeeded needs it.
        """

    @abstractmethod
    def add_totals(
        self,
        number: int,
        active: int,
        terms: int,
        entries: int,
    ) -> None:
        """Add to a scope's running totals: active memories, their terms, journal entries; and note
        that it has changed, for workers.
        """

    # Reading, as tables do

    def read(
        self,
        reach: Reach,  # noqa: ARG002
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Run one SELECT inside this transaction, which sees the scopes it has used."""
        return self.execute(sql, values)

    def numbers(self, scopes: Sequence[Scope]) -> list[int]:
        """Numbers of the scopes that exist. Reading from a scope never creates it."""
        found = (self.known(scope) for scope in dict.fromkeys(scopes))
        return [number for number in found if number]

    def memories(self, rows: Rows) -> Memories:
        """Decode rows read as SELECT_MEMORY; damaged ones are skipped and recorded."""
        return self.damages.sound(rows, lambda row: memory_from(row, self.scope_of))

    # Scopes

    def number(self, scope: Scope) -> int:
        """Return the number of a scope; creates the scope if it is new."""
        if not self.known(scope):
            ((number,),) = self.execute(
                "INSERT INTO scopes (kind, key, created_at) VALUES (?, ?, ?) RETURNING number",
                (scope.kind, scope.key, self.author.at),
            )
            self._numbers[scope], self._names[number] = number, scope
        return self._numbers[scope]

    def known(self, scope: Scope) -> int:
        """Return the number of a scope, or 0, which no scope has. Never creates the scope."""
        if scope not in self._numbers and (
            number := self._remembered.get(scope) or self._found(scope)
        ):
            self._numbers[scope], self._names[number] = number, scope
        return self._numbers.get(scope, 0)

    def _found(self, scope: Scope) -> int:
        rows = self.execute(
            "SELECT number FROM scopes WHERE kind = ? AND key = ?", (scope.kind, scope.key)
        )
        return int(rows[0][0]) if rows else 0

    def scope_of(self, number: int) -> Scope:
        """Return the scope with a number that this transaction has seen."""
        return self._names[number]

    def scopes_met(self) -> Collection[tuple[Scope, int]]:
        """Scopes that this transaction has read or created, with their numbers."""
        return self._numbers.items()

    def close(self) -> None:
        """Write the journal and the totals; the last step before the commit."""
        self.write_journal()
        for number, totals in self._totals.items():
            self.add_totals(number, *totals)
        self._totals.clear()

    def drop_entries(self) -> None:
        """Discard buffered entries: what they describe was erased with its scope."""
        self._entries = []

    def add_entries(self, number: int, entries: Sequence[tuple[Any, ...]]) -> None:
        """Add entries verbatim, as another store or an older version wrote them."""
        self._entries += entries
        self.count_totals(number, 0, 0, len(entries))

    @contextmanager
    def silent(self, noun: str, target: str) -> Iterator[None]:
        """Suppress journalling of one row inside the block: its entries already exist."""
        before, self._unsaid = self._unsaid, (noun, target)
        try:
            yield
        finally:
            self._unsaid = before

    def write_journal(self) -> None:
        """Flush the buffered entries. Batching is cheaper, and only undo and purge read them
        earlier.
        """
        if self._entries:
            self.execute.many(INSERT_EVENT, self._entries)
            self._entries = []

    def count_totals(
        self,
        number: int,
        active: int,
        terms: int,
        entries: int = 0,
    ) -> None:
        totals = self._totals[number]
        totals[0] += active
        totals[1] += terms
        totals[2] += entries

    # Rows

    def row(
        self,
        table: Table,
        scope: Scope,
        key: tuple[Any, ...],
    ) -> dict[str, Any] | None:
        condition = "".join(f" AND {column} = ?" for column in table.key)
        rows = self.execute(
            f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE scope = ?{condition}",
            (self.known(scope), *key),
        )
        if not rows:
            return None
        check_row(table, table.columns, rows[0], scope)
        return dict(zip(table.columns, rows[0], strict=True))

    def put_row(
        self,
        table: Table,
        scope: Scope,
        values: dict[str, Any],
    ) -> None:
        key = tuple(values[column] for column in table.key)
        row = self.row(table, scope, key)
        if row is None:
            self.insert_row(table, scope, values)
        else:
            self.change_row(table, scope, key, row, values)

    def insert_row(
        self,
        table: Table,
        scope: Scope,
        values: dict[str, Any],
    ) -> None:
        self.insert_all(table, scope, [values])

    def insert_all(
        self,
        table: Table,
        scope: Scope,
        rows: Sequence[dict[str, Any]],
    ) -> None:
        """Insert one or more rows with the same columns, each with its journal entry."""
        number = self.number(scope)
        self.insert_rows(table, number, rows)
        for values in rows:
            if table is MEMORIES:
                self.note_touched(number, values, None)
            self.journal_change(number, table.noun, self.target_of(table, values), None, None)

    def insert_pointing(
        self,
        table: Table,
        scope: Scope,
        values: dict[str, Any],
    ) -> None:
        if missing := self.missing_end(table, scope, values):
            raise NotFound(f"No {missing!r} in scope '{scope}' to point to.", id=missing)
        self.insert_row(table, scope, values)

    def missing_end(
        self,
        table: Table,
        scope: Scope,
        values: Mapping[str, Any],
    ) -> str | None:
        """Return the first id that a row refers to and that does not exist, or None."""
        for column, other in POINTS_TO.get(table.noun, ()):
            sql = f"SELECT 1 FROM {other.name} WHERE scope = ? AND id = ?"
            if not self.execute(sql, (self.known(scope), values[column])):
                return str(values[column])
        return None

    def insert_rows(
        self,
        table: Table,
        number: int,
        rows: Sequence[Mapping[str, Any]],
    ) -> None:
        """Insert one or more rows with the same columns, without journal entries."""
        if table is MEMORIES:
            self._insert_memories(number, rows)
            return
        if table is EVENTS:
            self.count_totals(number, 0, 0, len(rows))
        elif table is MENTIONS:
            self.unmentioned.difference_update((number, row["memory"]) for row in rows)
        columns = [column for column in table.columns if column in rows[0]]
        self.execute.many(
            (
                f"INSERT INTO {table.name} (scope, {', '.join(columns)}) VALUES "
                f"({marks((0, *columns))})"
            ),
            [(number, *(row[column] for column in columns)) for row in rows],
        )

    def _insert_memories(self, number: int, rows: Sequence[Mapping[str, Any]]) -> None:
        # A restored row keeps its old number; only the others get new ones.
        old = [row["seq"] for row in rows if row.get("seq")]
        new = iter(self.new_seqs(len(rows) - len(old)) if len(old) < len(rows) else ())
        values = []
        indexed = []
        for row in rows:
            seq = row.get("seq") or next(new)
            terms = self._terms(row)
            active = row["status"] == "active"
            known = {**row, "access_count": row.get("access_count") or 0}
            columns = (known.get(column) for column in MEMORY_COLUMNS)
            values.append((seq, number, content_hash(row["content"]), len(terms), *columns))
            indexed.append((seq, number, terms, active))
            if active:
                self.count_totals(number, 1, len(terms))
        self.execute.many(INSERT_MEMORY, values)
        self.index(indexed)
        if old:
            # Restored memories have no vectors yet, so the embedding watermark must fall below
            # them.
            first = min(old)
            self.execute(
                "UPDATE embedded SET seq = ? WHERE scope = ? AND seq >= ?",
                (first - 1, number, first),
            )

    def touched(self, source: str | None = None) -> Iterator[tuple[Scope, str, Memory | None]]:
        sources = list(self._touched) if source is None else [source]
        for (number, id_), row in [one for each in sources for one in self._touched[each].items()]:
            before = (
                None
                if row is None
                else memory_from((0, number, *(row[c] for c in MEMORY_COLUMNS)), self.scope_of)
            )
            yield self._names[number], id_, before

    def note_touched(
        self,
        number: int,
        memory: Mapping[str, Any],
        before: dict[str, Any] | None,
    ) -> None:
        """Record that a memory changes, with its state before the first change."""
        self._touched[memory["source"] or ""].setdefault((number, memory["id"]), before)

    def _terms(self, values: Mapping[str, Any]) -> list[str]:
        return terms_of(values["title"], values["content"], values.get("tags"))

    def update_row(
        self,
        table: Table,
        scope: Scope,
        key: tuple[Any, ...],
        wanted: Mapping[str, Any],
    ) -> None:
        row = self.row(table, scope, key)
        if row is None:
            raise NotFound(f"No {table.noun} {' '.join(map(str, key))!r} in scope '{scope}'.")
        self.change_row(table, scope, key, row, wanted)

    def change_row(
        self,
        table: Table,
        scope: Scope,
        key: tuple[Any, ...],
        row: dict[str, Any],
        wanted: Mapping[str, Any],
    ) -> None:
        """Update a row, currently equal to `row`, to the wanted values; a no-op leaves no entry."""
        changes = {column: value for column, value in wanted.items() if row[column] != value}
        if not changes:
            return
        number = self.number(scope)
        self.execute(
            (
                f"UPDATE {table.name} SET {', '.join(f'{column} = ?' for column in changes)} WHERE "
                "scope = ?"
            )
            + "".join(f" AND {column} = ?" for column in table.key),
            (*changes.values(), number, *key),
        )
        if table is MEMORIES:
            self.note_touched(number, row, row)
            self._reindex(number, row, row | changes)
            # Text is immutable; only a sync that replaces damaged text gets here.
            if "content" in changes:
                sql = "UPDATE memories SET content_hash = ? WHERE scope = ? AND id = ?"
                self.execute(sql, (content_hash(changes["content"]), number, row["id"]))
        # Observed columns (use counts, last activity) are stored but never journalled.
        told = {column: value for column, value in changes.items() if column not in table.observed}
        if told:
            before = {column: row[column] for column in told}
            self.journal_change(number, table.noun, self.target_of(table, row), before, told)

    def _reindex(
        self,
        number: int,
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> None:
        """Update the full-text index and totals when status, title, tags or text change."""
        if all(
            before[column] == after[column] for column in ("status", "title", "tags", "content")
        ):
            return
        # The stored length, not one computed from the old text: the totals were built from it.
        ((seq, old_length),) = self.execute(
            "SELECT seq, terms FROM memories WHERE scope = ? AND id = ?", (number, after["id"])
        )
        terms = self._terms(after)
        was = before["status"] == "active"
        is_ = after["status"] == "active"
        self.count_totals(number, is_ - was, is_ * len(terms) - was * old_length)
        self.execute(
            "UPDATE memories SET terms = ? WHERE scope = ? AND seq = ?", (len(terms), number, seq)
        )
        self.unindex((seq, number, self._terms(before), was))
        self.index([(seq, number, terms, is_)])

    def delete_row(
        self,
        table: Table,
        scope: Scope,
        key: tuple[Any, ...],
    ) -> None:
        row = self.row(table, scope, key)
        if row is None:
            raise NotFound(f"No {table.noun} {' '.join(map(str, key))!r} in scope '{scope}'.")
        number = self.number(scope)
        condition = "".join(f" AND {column} = ?" for column in table.key)
        if table is MEMORIES:
            # The image in the journal holds the number, so that undo restores the memory under it.
            ((row["seq"], length),) = self.execute(
                "SELECT seq, terms FROM memories WHERE scope = ? AND id = ?", (number, key[0])
            )
            self.note_touched(number, row, row)
            self.unindex((row["seq"], number, self._terms(row), row["status"] == "active"))
            if row["status"] == "active":
                self.count_totals(number, -1, -length)
        self.execute(f"DELETE FROM {table.name} WHERE scope = ?{condition}", (number, *key))
        self.journal_change(number, table.noun, self.target_of(table, row), row, None)

    def target_of(self, table: Table, row: Mapping[str, Any]) -> str:
        """How the journal names a row: a memory by id, anything else by its key as JSON."""
        return row["id"] if table is MEMORIES else to_json([row[column] for column in table.key])

    def journal_change(
        self,
        number: int,
        noun: str,
        target: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
    ) -> None:
        if not TABLES[noun].journalled or (noun, target) == self._unsaid:
            return
        old = None if before is None else to_json(before)
        new = None if after is None else to_json(after)
        by = self.author
        self._entries.append((number, by.run, by.at, by.actor, by.verb, noun, target, old, new))
        self.count_totals(number, 0, 0, 1)


def read_events(
    access: Access,
    scopes: Sequence[Scope],
    *,
    run: str | None = None,
    target: str | None = None,
    after: int | None = None,
    limit: int | None = None,
    order: EventOrder = "newest",
    strict: bool = False,
) -> Events:
    """Journal entries; see `Store.events` in protocol.py."""
    numbers = access.numbers(scopes)
    condition = ""
    values: list[Any] = []
    for column, value in (("run = ?", run), ("target = ?", target), ("seq > ?", after)):
        if value is not None:
            condition = f"{condition} AND {column}"
            values.append(value)
    # Only memories are named by a bare id; the same text could be another noun's key.
    if target is not None:
        condition += " AND noun = 'memory'"
    direction = "DESC" if order == "newest" else "ASC"
    tail = "" if limit is None else f" LIMIT {int(limit)}"
    # One scope at a time: its index has the entries in order, so a limit reads no more than it
    # returns. Among those of several scopes, a database would sort all.
    rows = [
        row
        for number in numbers
        for row in access.read(
            (number,),
            f"{SELECT_EVENT} WHERE scope = ?{condition} ORDER BY seq {direction}{tail}",
            (number, *values),
        )
    ]
    if len(numbers) > 1:
        rows = sorted(rows, key=lambda row: row[0], reverse=order == "newest")[:limit]
    if strict:
        return [event_from(row, access.scope_of) for row in rows]
    return access.damages.sound(rows, lambda row: event_from(row, access.scope_of))
