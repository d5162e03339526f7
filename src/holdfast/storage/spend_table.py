"""What language models were asked, in SQL: calls and tokens of an owner, day by day, booked before
a model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Scope
from .filters import marks
from .protocol import Spent
from .scope_numbers import ScopedSQL

_BOOK = (
    "INSERT INTO spend (scope, day, calls, tokens) VALUES (?, ?, ?, ?) ON CONFLICT (scope, day) "
    "DO UPDATE "
    "SET calls = spend.calls + excluded.calls, tokens = spend.tokens + excluded.tokens"
)
_WITHIN = " WHERE spend.tokens + excluded.tokens <= ?"


class SQLSpend(ScopedSQL):
    """The part of a store that keeps accounts; see `Store` in protocol.py for what each method
    promises.
    """

    def spend(self, scope: Scope, day: int, used: Spent, *, most: int | None = None) -> bool:
        if most is not None and used.tokens > most:
            return False
        if not self.numbers((scope,)):
            self.make_scope(scope)
        (number,) = self.numbers((scope,))
        sql = f"{_BOOK}{'' if most is None else _WITHIN} RETURNING day"
        values = (number, day, *used, *(() if most is None else (most,)))
        return bool(self.transact((number,), lambda execute: execute(sql, values)))

    def spent(self, scopes: Sequence[Scope], day: int) -> Spent:
        numbers = self.numbers(scopes)
        sql = (
            "SELECT CAST(coalesce(sum(calls), 0) AS bigint), CAST(coalesce(sum(tokens), 0) AS "
            "bigint) FROM spend "
            f"WHERE day = ? AND scope IN ({marks(numbers)})"
        )
        return Spent(*self.read(numbers, sql, (day, *numbers))[0]) if numbers else Spent()
