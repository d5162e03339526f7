"""Usage of language models in SQL: calls and tokens per owner and day, reserved before each
call.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Scope
from .filters import marks
from .store_types import Booked, Bookings, Spent
from .table_access import StoreAccess, existing_number

_BOOK = (
    "INSERT INTO spend (scope, day, calls, tokens) VALUES (?, ?, ?, ?) ON CONFLICT (scope, day) "
    "DO UPDATE "
    "SET calls = spend.calls + excluded.calls, tokens = spend.tokens + excluded.tokens"
)
_WITHIN = " WHERE spend.tokens + excluded.tokens <= ?"


class SQLSpend:
    """The spend of a store; see `SpendTable` in protocol.py."""

    def __init__(self, store: StoreAccess) -> None:
        self._store = store

    def add(
        self,
        scope: Scope,
        day: int,
        used: Spent,
        *,
        most: int | None = None,
    ) -> bool:
        if most is not None and used.tokens > most:
            return False
        number = existing_number(self._store, scope)
        sql = f"{_BOOK}{'' if most is None else _WITHIN} RETURNING day"
        values = (number, day, *used, *(() if most is None else (most,)))
        return bool(self._store.transact((number,), lambda execute: execute(sql, values)))

    def total(self, scopes: Sequence[Scope], day: int) -> Spent:
        numbers = self._store.numbers(scopes)
        sql = (
            "SELECT CAST(coalesce(sum(calls), 0) AS bigint), CAST(coalesce(sum(tokens), 0) AS "
            "bigint) FROM spend "
            f"WHERE day = ? AND scope IN ({marks(numbers)})"
        )
        return Spent(*self._store.read(numbers, sql, (day, *numbers))[0]) if numbers else Spent()

    def since(self, day: int) -> Bookings:
        rows = self._store.read(
            None,
            "SELECT scope, day, calls, tokens FROM spend WHERE day >= ? ORDER BY day, scope",
            (day,),
        )
        self._store.learn_scopes(row[0] for row in rows)
        return [Booked(self._store.scope_of(row[0]), row[1], Spent(*row[2:])) for row in rows]
