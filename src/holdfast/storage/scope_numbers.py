"""What all SQL needs here: a way to run it that names its scopes. Each backend gives its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..types import SCOPE_KINDS, Memories, Scope, Scopes
from .damage import NOT_TEXT, Damage, Damages, GarbledRow
from .filters import Dialect
from .protocol import Author, T, Transaction
from .schema import SELECT_MEMORY, Row, Rows, Statements, memory_from

Numbers = Sequence[int]
Reach = Numbers | None
"""The scopes a statement may see, by number; None for all of them, which only upkeep asks for."""
Read = Callable[[str, Sequence[Any]], Rows]
"""Runs one SELECT."""
Newest = Callable[[Read, int], tuple[Any, ...]]
"""How far a scope's journal and vectors have come, and how often its vectors were dropped."""


class ScopedSQL(ABC):
    """Statements that say which scopes they are for, and what the scopes are called."""

    location: str
    dialect: Dialect

    def __init__(self) -> None:
        self._numbers: dict[Scope, int] = {}
        self._names: dict[int, Scope] = {}
        self._damages = Damages()
        """The damaged rows that reading has met and left out."""

    @abstractmethod
    def read(self, reach: Reach, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Runs one SELECT that may see these scopes only, and returns its rows."""

    @abstractmethod
    def stream(self, reach: Reach, sql: str, values: Sequence[Any]) -> Iterator[Row]:
        """Like `read`, but row by row in constant memory."""

    @abstractmethod
    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:
        """Runs `work` in one write transaction that is not journalled: bookkeeping, not memory."""

    @abstractmethod
    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        """See Store."""

    # Scopes

    @abstractmethod
    def find_scopes(self, scopes: Sequence[Scope]) -> Rows:
        """Number, kind and key of those of these scopes that exist."""

    @abstractmethod
    def make_scope(self, scope: Scope) -> None:
        """Adds a scope, unless it is there."""

    def scopes(self) -> Scopes:
        rows = self.read(None, "SELECT number, kind, key FROM scopes ORDER BY number")
        return self._damages.sound(rows, self._named)

    def _named(self, row: Row) -> Scope:
        """The scope of a row of number, kind and key; RowDamaged for one whose name cannot be
        read.
        """
        if type(row) is GarbledRow or row[1] not in SCOPE_KINDS:
            raise Damage(None, "scope", f"number {row[0]}", f"its name {NOT_TEXT}").error()
        return self._learn(*row)

    def numbers(self, scopes: Sequence[Scope]) -> list[int]:
        """The numbers of the scopes that exist here. Reading from a scope never creates it."""
        new = [scope for scope in scopes if scope not in self._numbers]
        for row in self.find_scopes(new) if new else ():
            self._learn(*row)
        return [self._numbers[scope] for scope in dict.fromkeys(scopes) if scope in self._numbers]

    def _learn(self, number: int, kind: str, key: str) -> Scope:
        scope = self._names.get(number) or Scope(kind, key)
        self._names[number] = scope
        self._numbers[scope] = number
        return scope

    def _learn_all(self, numbers: Iterable[int]) -> None:
        """Makes sure that these scopes are known by name, of which one asks that may see all of
        them.
        """
        if any(number not in self._names for number in numbers):
            self.scopes()

    def _scope(self, number: int) -> Scope:
        if number not in self._names:
            raise Damage(None, "scope", f"number {number}", "its name cannot be read").error()
        return self._names[number]

    def _memories(self, rows: Rows) -> Memories:
        """The memories of rows read as SELECT_MEMORY."""
        return self._damages.sound(rows, lambda row: memory_from(row, self._scope))

    def _select(
        self, reach: Reach, condition: str, values: Sequence[Any], tail: str = ""
    ) -> Memories:
        rows = self.read(
            reach, f"SELECT {SELECT_MEMORY} FROM memories m WHERE {condition} {tail}", values
        )
        return self._memories(rows)
