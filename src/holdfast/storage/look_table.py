"""Looks in SQL: which scopes a worker has to look at for jobs, found by their time.

A writer only notes that its scope has changed. Workers turn that into one look for each thing that
any of them looks for, and a look that finds nothing is gone until the next change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..types import Micros
from .filters import marks
from .job_table import ENQUEUE
from .schema import Statements
from .store_types import Enqueued, Look, Looks
from .table_access import StoreAccess

# Changed scopes per transaction, in which none of them can be written to.
TOGETHER = 50
_LOOK = (
    "INSERT INTO looks (scope, kind, key, due_at, changes) VALUES (?, ?, ?, 0, 1) "
    "ON CONFLICT (scope, kind, key) DO UPDATE SET due_at = 0, changes = looks.changes + 1"
)
_SETTLED = "WHERE scope = ? AND kind = ? AND key = ? AND changes = ?"


class SQLLooks:
    """The looks of a store; see `LookTable` in protocol.py."""

    def __init__(self, store: StoreAccess) -> None:
        self._store = store

    def watch(self, kind: str, keys: Sequence[str]) -> None:
        sql = f"SELECT key FROM watches WHERE kind = ? AND key IN ({marks(keys)})"
        known = {key for (key,) in self._store.read(None, sql, (kind, *keys))}
        for key in keys:
            if key not in known:
                self._store.transact(None, partial(_watch, kind, key))

    def gather(self) -> int:
        table, scope = self._store.change_row
        sql = (
            f"SELECT changed_at, {scope} FROM {table} WHERE changed_at IS NOT NULL "
            f"AND (changed_at, {scope}) > (?, ?) ORDER BY changed_at, {scope} LIMIT {TOGETHER}"
        )
        total, last = 0, (-1, -1)
        # Each page after the last one, because some scopes are passed over.
        while changed := self._store.read(None, sql, last):
            numbers = sorted(number for _, number in changed)
            total += self._store.transact(None, partial(self._spread, numbers))
            last = changed[-1]
        return total

    def _spread(self, numbers: Sequence[int], execute: Statements) -> int:
        """Give these scopes their looks, as far as they have changed and nobody writes to them."""
        if self._store.hold_watches:
            execute(self._store.hold_watches)
        watched = execute("SELECT kind, key FROM watches ORDER BY kind, key")
        table, scope = self._store.change_row
        skip = self._store.dialect.skip_locked
        this = f"WHERE {scope} = ? AND changed_at IS NOT NULL"
        taken = [
            number
            for number in numbers
            # A scope that is being written to is passed over: it changes once more anyway, and
            # waiting for a long import would keep everybody else waiting.
            if (not skip or execute(f"SELECT {scope} FROM {table} {this}{skip}", (number,)))
            and execute(f"UPDATE {table} SET changed_at = NULL {this} RETURNING {scope}", (number,))
        ]
        # In one order everywhere, so that two workers cannot deadlock.
        execute.many(_LOOK, [(number, *watch) for number in taken for watch in watched])
        return len(taken)

    def due(
        self,
        kind: str,
        keys: Sequence[str],
        *,
        now: Micros,
        limit: int,
    ) -> Looks:
        found = [
            row
            for key in keys
            for row in self._store.read(
                None,
                "SELECT scope, key, due_at, changes FROM looks WHERE kind = ? AND key = ? "
                "AND due_at <= ? ORDER BY due_at, scope LIMIT ?",
                (kind, key, now, limit),
            )
        ]
        found = sorted(found, key=lambda row: (row[2], row[0]))[:limit]
        self._store.learn_scopes(row[0] for row in found)
        return self._store.damages.sound(
            found, lambda row: Look(self._store.scope_of(row[0]), kind, row[1], row[3])
        )

    def settle(
        self,
        looks: Sequence[tuple[Look, Micros | None]],
        jobs: Sequence[Enqueued] = (),
    ) -> None:
        number = {look.scope: self._store.numbers((look.scope,))[0] for look, _ in looks}
        ended, put_off = [], []
        for look, next_at in sorted(looks, key=lambda one: (number[one[0].scope], *one[0][1:3])):
            row = (number[look.scope], look.kind, look.key, look.changes)
            if next_at is None:
                ended.append(row)
            else:
                put_off.append((next_at, *row))
        todo = sorted((number[scope], kind, key, watermark) for scope, kind, key, watermark in jobs)

        def work(execute: Statements) -> None:
            # With the jobs in one transaction: a look is over when what it found is enqueued.
            execute.many(ENQUEUE, todo)
            execute.many(f"UPDATE looks SET due_at = ? {_SETTLED}", put_off)
            execute.many(f"DELETE FROM looks {_SETTLED}", ended)

        self._store.transact(None, work)


def _watch(kind: str, key: str, execute: Statements) -> None:
    """Look for this from now on, first at every scope that there is."""
    made = execute(
        "INSERT INTO watches (kind, key) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING key",
        (kind, key),
    )
    if made:
        execute(
            "INSERT INTO looks (scope, kind, key, due_at, changes) "
            "SELECT number, ?, ?, 0, 0 FROM scopes WHERE true ON CONFLICT DO NOTHING",
            (kind, key),
        )
