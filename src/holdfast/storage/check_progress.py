"""How far the checks of `holdfast doctor` are, in rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from .schema import Row
from .store_types import Finding

Select = Callable[[str], Iterable[Row]]
"""Runs one SELECT over all scopes and yields its rows."""

# Rows between two reports.
OFTEN = 200
# Cost of a row that only the database reads.
IN_DATABASE = 0.05


@dataclass(frozen=True, slots=True)
class Check:
    """A check, and how much it has to read."""

    find: Callable[[Select], Iterator[Finding]]
    reads: Sequence[str]
    """Tables whose rows it reads; `table.column` for as many rows as the column adds up to."""
    cost: float = 1.0
    """Time that a row takes, as a multiple of decoding it and checking its columns."""


class CheckedRows:
    """Runs checks, and reports how many rows are done, of how many.

    A row counts by what it costs, so that the time left can be told from the rows left.
    """

    def __init__(
        self,
        select: Select,
        checks: Sequence[Check],
        progress: Callable[[int, int], None],
        *,
        unreadable: Sequence[type[Exception]] = (),
    ) -> None:
        """`unreadable` are the errors of a table that is damaged or missing; it counts nothing."""
        self._select = select
        self._progress = progress
        self._done = 0
        sizes: dict[str, int] = {}
        for name in dict.fromkeys(name for check in checks for name in check.reads):
            sizes[name] = 0
            with suppress(*unreadable):
                ((sizes[name],),) = select(_size_of(name))
        # At least one each, so that the checks of an empty store are counted too.
        self._shares = {
            id(check): max(1, round(check.cost * sum(sizes[name] for name in check.reads)))
            for check in checks
        }
        self._total = sum(self._shares.values())
        progress(0, self._total)

    def findings(self, check: Check) -> Iterator[Finding]:
        """Yield the findings of one of the checks."""
        before, share, read = self._done, self._shares[id(check)], 0
        # Counted even if it fails and the caller goes on with the next one.
        self._done += share

        def counted(sql: str) -> Iterator[Row]:
            nonlocal read
            for row in self._select(sql):
                yield row
                read += 1
                if read % OFTEN == 0:
                    self._progress(before + min(share, round(read * check.cost)), self._total)

        yield from check.find(counted)
        self._progress(self._done, self._total)


def _size_of(name: str) -> str:
    table, _, column = name.partition(".")
    return f"SELECT {f'coalesce(sum({column}), 0)' if column else 'count(*)'} FROM {table}"
