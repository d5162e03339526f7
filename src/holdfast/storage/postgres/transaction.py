"""A transaction on a server: locks every scope it uses and sees no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg

from ...errors import InvalidInput
from ...types import Scope
from ..filters import POSTGRES
from ..journal import Indexed, JournalledRows
from ..schema import Statements
from ..store_types import Author
from .connections import Trace
from .scoped_session import SEPARATOR, PostgresStatements, Sight

# The words of a memory travel as one text, and are taken apart on the server: they are too many to
# travel as rows. In the order of their index, so that neighbours in it are written together.
INDEX = (
    "INSERT INTO memory_terms (scope, seq, times, length, term) "
    "SELECT m.scope, m.seq, t.times, m.length, t.term "
    "FROM {rows} AS m (scope, seq, length, times, terms) CROSS JOIN LATERAL "
    "unnest(string_to_array(m.times, ' ')::integer[], string_to_array(m.terms, E'\\x1f')) "
    'AS t (times, term) ORDER BY m.scope, t.term COLLATE "C", m.seq'
)
LOCK = "SELECT scope FROM totals WHERE scope = ? FOR NO KEY UPDATE"
INDEXED_TYPES = ("bigint", "bigint", "integer", "text", "text")


class PostgresRows(JournalledRows):
    """The rows of a transaction on a server."""

    dialect = POSTGRES
    keeps_seqs = False

    def __init__(
        self,
        author: Author,
        statements: PostgresStatements,
        numbers: Mapping[Scope, int],
    ) -> None:
        super().__init__(author, statements, numbers)
        self._statements = statements
        self._unfound: set[Scope] = set()
        self._journalled = False
        self._appended: tuple[Any, ...] | None = None

    def new_seqs(self, count: int) -> Sequence[int]:
        rows = self.execute("SELECT nextval('memory_numbers') FROM generate_series(1, ?)", (count,))
        return sorted(row[0] for row in rows)

    def index(self, memories: Sequence[Indexed]) -> None:
        if self._statements.one_by_one:
            self.execute.many(
                "INSERT INTO memory_terms (scope, seq, times, length, term) VALUES (?, ?, ?, ?, ?)",
                [
                    (number, seq, times, len(terms), marked(term, active=active))
                    for seq, number, terms, active in memories
                    for term, times in Counter(terms).items()
                ],
            )
            return
        rows = []
        for seq, number, terms, active in memories:
            if terms:
                counts = Counter(terms)
                mark = marked("", active=active)
                words = mark + f"{SEPARATOR}{mark}".join(counts)
                times = " ".join(map(str, counts.values()))
                rows.append((number, seq, len(terms), times, words))
        self._statements.together(INDEX, INDEXED_TYPES, rows)

    def unindex(self, memory: Indexed) -> None:
        seq, number, terms, active = memory
        self.execute(
            "DELETE FROM memory_terms WHERE scope = ? AND seq = ? AND term = ANY (?::text[])",
            (number, seq, [marked(term, active=active) for term in set(terms)]),
        )

    # `entries` is not needed: `totals` already counts the journal entries of each scope.
    def clear_index(self, number: int, entries: int) -> None:  # noqa: ARG002
        self.execute("DELETE FROM memory_terms WHERE scope = ?", (number,))
        self.execute("UPDATE totals SET drops = drops + 1 WHERE scope = ?", (number,))

    def add_totals(
        self,
        number: int,
        active: int,
        terms: int,
        entries: int,
    ) -> None:
        self.execute(
            (
                "UPDATE totals SET active = active + ?, terms = terms + ?, entries = entries + ?, "
                "changed_at = coalesce(changed_at, ?) WHERE scope = ?"
            ),
            (active, terms, entries, self.author.at, number),
        )

    def trace(self, sight: Sight) -> Trace | None:
        """Return what identifies this transaction once it is committed; None if it wrote nothing of
        that kind.
        """
        if not self._journalled and self._appended is None:
            return None
        message = None if self._journalled else self._appended
        return Trace(replace(sight, numbers=tuple(self._names)), self.author.run, message)

    def write_journal(self) -> None:
        self._journalled = self._journalled or bool(self._entries)
        super().write_journal()

    def note_appended(
        self,
        number: int,
        session: str,
        position: int,
    ) -> None:
        self._appended = (number, session, position, self.author.at)

    @contextmanager
    def storable(self, noun: str) -> Iterator[None]:
        try:
            yield
        except (
            psycopg.IntegrityError,
            psycopg.DataError,
            psycopg.errors.UndefinedFunction,
        ) as error:
            raise InvalidInput(
                f"This {noun} cannot be stored: {str(error).splitlines()[0]}."
            ) from error

    def number(self, scope: Scope) -> int:
        if not self.known(scope):
            # Without ON CONFLICT, for which Citus would require the right to change scopes.
            try:
                made = self.execute(
                    "INSERT INTO scopes (kind, key, created_at) VALUES (?, ?, ?) RETURNING number",
                    (scope.kind, scope.key, self.author.at),
                )
            except psycopg.errors.UniqueViolation as error:
                # This transaction has read the scope as missing, which is no longer true: retry it.
                raise psycopg.errors.SerializationFailure(
                    f"another transaction made the scope '{scope}'"
                ) from error
            self._use(scope, made[0][0])
        return self._numbers[scope]

    def known(self, scope: Scope) -> int:
        if scope not in self._numbers and scope not in self._unfound:
            if scope in self._remembered:
                self._use(scope, self._remembered[scope])
            else:
                self._statements.widen(name=str(scope))
                self._find(scope)
        return self._numbers.get(scope, 0)

    def _find(self, scope: Scope) -> None:
        found = self.execute(
            "SELECT number FROM scopes WHERE kind = ? AND key = ?", (scope.kind, scope.key)
        )
        for (number,) in found:
            self._use(scope, number)
        if not found:
            # Cached, so that the scope stays missing for this transaction even if another one
            # creates it.
            self._unfound.add(scope)

    def _use(self, scope: Scope, number: int) -> None:
        """Lock the scope for writing until the transaction ends.

        Therefore numbers within a scope ascend in commit order, and a reader that follows the
        journal misses nothing.
        """
        lock = LOCK.replace("?", str(int(number)))
        found = self._statements.widen(number=number, then=lock)
        self._numbers[scope], self._names[number] = number, scope
        if not found:
            self.execute("INSERT INTO totals (scope) VALUES (?) ON CONFLICT DO NOTHING", (number,))
            take_turns(self.execute, (number,))


def take_turns(execute: Statements, numbers: Sequence[int]) -> int:
    """Lock these scopes against other writers until the transaction ends; return how many exist."""
    # Locked in ascending order, so that two transactions cannot deadlock; one by one, because Citus
    # locks rows on one machine only in a statement.
    return sum(len(execute(LOCK, (number,))) for number in sorted(numbers))


def marked(term: str, *, active: bool) -> str:
    """Return a term as stored in the postings, with a prefix for active or inactive memories."""
    return ("~" if active else "_") + term
