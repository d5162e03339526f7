"""Access of a table to its rows: through a store, or inside a transaction.

A table of a store takes a `StoreAccess`. Tables that only read also work inside a transaction,
whose rows (`journal.py`) implement `Access` too.
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
"""Scopes that a statement may see, by number; None for all, used only by maintenance."""
Read = Callable[[str, Sequence[Any]], Rows]
"""Runs one SELECT."""
Newest = Callable[[int], tuple[Any, ...]]
"""Returns the newest journal entry and vector of a scope, and how often its vectors were
dropped.
"""


class Access(Protocol):
    """Read access of a table."""

    @property
    def dialect(self) -> Dialect:
        """SQL spellings of the database."""

    @property
    def damages(self) -> Damages:
        """Damaged rows that were found and skipped."""

    def numbers(self, scopes: Sequence[Scope]) -> list[int]:
        """Return the numbers of the scopes that exist. Reading from a scope never creates it."""

    def read(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Run one SELECT that may see only these scopes; return its rows."""

    def scope_of(self, number: int) -> Scope:
        """Return the scope with a number that was read before."""

    def memories(self, rows: Rows) -> Memories:
        """Decode rows read as SELECT_MEMORY; damaged ones are skipped and recorded."""


class StoreAccess(Access, Protocol):
    """Access of a table of a store: adds bookkeeping that is not journalled."""

    @property
    def change_row(self) -> tuple[str, str]:
        """Table and column with the scope of the row that notes when a scope has changed."""

    @property
    def hold_watches(self) -> str:
        """Statement that keeps other workers from gathering changes and adding watches until the
        transaction ends, if needed.
        """

    def read_cached(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Like `read`, for a small answer that every recall needs. Inside `reading`, a backend may
        give it from memory while nothing has been written.
        """

    def read_in_order(
        self,
        reach: Reach,
        sql: str,
        values: Sequence[Any] = (),
    ) -> Rows:
        """Like `read`, for the first of many rows in the order of an index: they are not sorted."""

    def transact(self, reach: Reach, work: Callable[[Statements], T]) -> T:
        """Run `work` in one write transaction without journal: for bookkeeping, not for
        memories.
        """

    def scopes(self) -> Scopes:
        """Return all scopes in order of first use."""

    def make_scope(self, scope: Scope) -> None:
        """Create a scope if it does not exist."""

    def learn_scopes(self, numbers: Iterable[int]) -> None:
        """Load the names of these scopes if necessary."""


def existing_number(access: StoreAccess, scope: Scope) -> int:
    """Return the number of a scope; creates the scope if necessary."""
    if not access.numbers((scope,)):
        access.make_scope(scope)
    (number,) = access.numbers((scope,))
    return number


def counted(rows: Rows) -> dict[str, dict[str, int]]:
    """Rows of kind, status and number as a mapping."""
    counts: dict[str, dict[str, int]] = {}
    for kind, status, count in rows:
        counts.setdefault(kind, {})[status] = count
    return counts
