"""How a table reads and writes its rows: through a store, or inside a transaction.

A table of a store takes a `StoreAccess`; what it only reads also works inside a transaction, whose
rows (`journal.py`) are an `Access` as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ..types import Memories, Scope, Scopes
from .damage import Damages
from .filters import Dialect
from .protocol import T
from .schema import Rows, Statements

Numbers = Sequence[int]
Reach = Numbers | None
"""The scopes a statement may see, by number; None for all of them, which only upkeep asks for."""
Read = Callable[[str, Sequence[Any]], Rows]
"""Runs one SELECT."""
Newest = Callable[[Read, int], tuple[Any, ...]]
"""How far a scope's journal and vectors have come, and how often its vectors were dropped."""


class Access(Protocol):
    """What a table needs in order to read."""

    @property
    def dialect(self) -> Dialect:
        """How the database spells what differs between databases."""

    @property
    def damages(self) -> Damages:
        """The damaged rows that were met and left out."""

    def numbers(self, scopes: Sequence[Scope]) -> list[int]:
        """The numbers of the scopes that exist. Reading from a scope never creates it."""

    def read(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Runs one SELECT that may see these scopes only, and returns its rows."""

    def scope_of(self, number: int) -> Scope:
        """The scope with a number that was met."""

    def memories(self, rows: Rows) -> Memories:
        """The memories of rows read as SELECT_MEMORY; damaged ones are left out and noted."""


class StoreAccess(Access, Protocol):
    """What a table of a store needs besides: bookkeeping that is not journalled."""

    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:
        """Runs `work` in one write transaction that is not journalled: bookkeeping, not memory."""

    def scopes(self) -> Scopes:
        """All scopes, in the order they were first used."""

    def make_scope(self, scope: Scope) -> None:
        """Adds a scope, unless it is there."""

    def learn_scopes(self, numbers: Iterable[int]) -> None:
        """Makes sure that these scopes are known by name."""


def existing_number(access: StoreAccess, scope: Scope) -> int:
    """The number of a scope, which is made if it is not there."""
    if not access.numbers((scope,)):
        access.make_scope(scope)
    (number,) = access.numbers((scope,))
    return number
