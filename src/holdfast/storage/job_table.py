"""Jobs in SQL: one row each, held by a lease that expires by itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..errors import Conflict, NotFound
from ..types import Job, Micros, Scope, new_id
from .filters import Clause, marks
from .journal import JournalledRows
from .row_codec import job_from
from .schema import JOB_COLUMNS, Rows, Statements
from .store_types import Enqueued, JobCount, JobCounts, Jobs
from .table_access import StoreAccess, existing_number

LOST = "'Its worker ' || worker || ' was lost.'"
# Conditional upsert: only a higher watermark renews a job. A running job keeps its worker; `finish`
# sees the higher watermark and makes the job pending again.
ENQUEUE = (
    "INSERT INTO jobs (scope, kind, key, status, token, worker, retries_left, error, watermark, "
    "done_watermark) VALUES (?, ?, ?, 'pending', '', '', 3, '', ?, 0) "
    "ON CONFLICT (scope, kind, key) DO UPDATE SET watermark = excluded.watermark, retries_left = "
    "3, "
    "retry_at = NULL, status = CASE WHEN jobs.status = 'running' THEN 'running' ELSE 'pending' END "
    "WHERE excluded.watermark > jobs.watermark"
)


class SQLJobs:
    """The jobs of a store; see `JobTable` in protocol.py."""

    def __init__(self, store: StoreAccess) -> None:
        self._store = store

    def enqueue(
        self,
        scope: Scope,
        kind: str,
        key: str,
        *,
        watermark: int,
    ) -> None:
        number = existing_number(self._store, scope)
        self._store.transact(
            (number,), lambda execute: execute(ENQUEUE, (number, kind, key, watermark))
        )

    def claim(
        self,
        kinds: Sequence[str],
        *,
        worker: str,
        now: Micros,
        lease: Micros,
        scopes: Sequence[Scope] | None = None,
        keys: Sequence[str] | None = None,
        after: Scope | None = None,
    ) -> Job | None:
        numbers = None if scopes is None else self._store.numbers(scopes)
        if numbers == []:
            return None
        (last,) = (None if after is None else self._store.numbers((after,))) or (0,)
        # None means no restriction; an empty list matches nothing.
        these = [("kind", kinds), ("scope", numbers), ("key", keys)]
        condition = " AND ".join(
            f"{column} IN ({marks(only)})" for column, only in these if only is not None
        )
        wanted = (condition, [one for _, only in these for one in only or ()])
        any_due = f"SELECT 1 FROM jobs WHERE {condition} AND due_at <= ? LIMIT 1"
        if not self._store.read(numbers, any_due, (*wanted[1], now)):
            # The common case; checked with a read so that no write lock is taken.
            return None
        hold = (new_id("lease", now), worker, now + lease)
        # By watermark, so that sessions are read in the order in which they took place. With one
        # key a scope has one job of a kind, and the index by key has it.
        skip_locked = self._store.dialect.skip_locked
        order = "scope, kind" if keys and len(keys) == 1 else "scope, kind, watermark, key"

        def work(execute: Statements) -> Rows:
            _take_back(execute, wanted, now, skip_locked)
            take = partial(_take_next, execute, wanted, f"{order} LIMIT 1{skip_locked}", hold)
            return (last and take(last)) or take(0)

        rows = self._store.transact(numbers, work)
        self._store.learn_scopes(row[0] for row in rows)
        return job_from(rows[0], self._store.scope_of) if rows else None

    def heartbeat(
        self,
        job: Job,
        *,
        now: Micros,
        lease: Micros,
    ) -> bool:
        return self._if_held(job, "lease_until = ?", (now + lease,), "lease_until > ?", (now,))

    def fail(
        self,
        job: Job,
        *,
        error: str,
        retry_at: Micros,
        tried: bool = True,
    ) -> bool:
        return self._if_held(
            job,
            "status = 'error', token = '', worker = '', lease_until = NULL, error = ?, retry_at = "
            "?, "
            "retries_left = retries_left - ?",
            (error, retry_at, int(tried)),
        )

    def release(self, job: Job) -> bool:
        return self._if_held(
            job, "status = 'pending', token = '', worker = '', lease_until = NULL", ()
        )

    def forget_done(
        self,
        kind: str,
        *,
        before: int,
        scopes: Sequence[Scope] | None = None,
    ) -> int:
        numbers = None if scopes is None else self._store.numbers(scopes)
        within = "" if numbers is None else f" AND scope IN ({marks(numbers)})"
        old = (
            "FROM jobs WHERE kind = ? AND status = 'done' AND done_watermark >= watermark AND "
            f"watermark < ?{within}"
        )
        values = (kind, before, *(numbers or ()))
        if numbers == [] or not self._store.read(numbers, f"SELECT 1 {old} LIMIT 1", values):
            # The common case; checked with a read so that no write lock is taken.
            return 0
        return len(
            self._store.transact(
                numbers, lambda execute: execute(f"DELETE {old} RETURNING key", values)
            )
        )

    def list(
        self,
        scopes: Sequence[Scope] | None = None,
        *,
        kind: str | None = None,
        status: str | None = None,
        limit: int | None = None,
    ) -> Jobs:
        numbers = None if scopes is None else self._store.numbers(scopes)
        conditions = [] if numbers is None else [f"scope IN ({marks(numbers)})"]
        given = {"kind": kind, "status": status}
        only = {column: value for column, value in given.items() if value is not None}
        conditions += [f"{column} = ?" for column in only]
        within = f"WHERE {' AND '.join(conditions)} " if conditions else ""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        rows = self._store.read(
            numbers,
            f"SELECT scope, {', '.join(JOB_COLUMNS)} FROM jobs {within}ORDER BY scope, kind, key"
            f"{most}",
            (*(numbers or ()), *only.values()),
        )
        self._store.learn_scopes(row[0] for row in rows)
        return self._store.damages.sound(rows, lambda row: job_from(row, self._store.scope_of))

    def waiting(self, kind: str, *, now: Micros, keys: Sequence[str] | None = None) -> int:
        within = "" if keys is None else f" AND key IN ({marks(keys)})"
        rows = self._store.read(
            None,
            f"SELECT count(*) FROM jobs WHERE kind = ? AND due_at <= ?{within}",
            (kind, now, *(keys or ())),
        )
        return int(rows[0][0])

    def enqueue_all(self, jobs: Sequence[Enqueued]) -> None:
        numbers = {one.scope: existing_number(self._store, one.scope) for one in jobs}
        rows = sorted((numbers[one.scope], *one[1:]) for one in jobs)
        if rows:
            self._store.transact(
                sorted(numbers.values()), lambda execute: execute.many(ENQUEUE, rows)
            )

    def counts(self) -> JobCounts:
        rows = self._store.read(
            None,
            "SELECT kind, status, worker, count(*), max(lease_until) FROM jobs "
            "GROUP BY kind, status, worker ORDER BY kind, status, worker",
        )
        return [JobCount(*row) for row in rows]

    def _if_held(
        self,
        job: Job,
        change: str,
        values: Sequence[Any],
        extra: str = "",
        more: Sequence[Any] = (),
    ) -> bool:
        numbers = self._store.numbers((job.scope,))
        if not numbers:
            raise NotFound(f"No job {job.kind} {job.key!r} in scope '{job.scope}'.")
        # The token is new for each lease, so a worker that lost its lease cannot touch the job.
        held = "scope = ? AND kind = ? AND key = ? AND token = ? AND status = 'running'"
        sql = (
            f"UPDATE jobs SET {change} WHERE {held}{f' AND {extra}' if extra else ''} RETURNING key"
        )
        key = (numbers[0], job.kind, job.key, job.token)
        return bool(
            self._store.transact(numbers, lambda execute: execute(sql, (*values, *key, *more)))
        )


class SQLJobWrites:
    """The jobs of a transaction; see `JobWrites` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        self._rows = rows

    def enqueue(
        self,
        scope: Scope,
        kind: str,
        key: str,
        *,
        watermark: int,
    ) -> None:
        self._rows.execute(ENQUEUE, (self._rows.number(scope), kind, key, watermark))

    def finish(self, job: Job) -> None:
        rows = self._rows.execute(
            # A watermark that grew while the job ran means new work: pending again instead of done.
            "UPDATE jobs SET status = CASE WHEN watermark > ? THEN 'pending' ELSE 'done' END, "
            "token = '', worker = '', lease_until = NULL, error = '', done_watermark = ? "
            "WHERE scope = ? AND kind = ? AND key = ? AND token = ? AND status = 'running' "
            "AND lease_until > ? RETURNING key",
            (
                job.watermark,
                job.watermark,
                self._rows.known(job.scope),
                job.kind,
                job.key,
                job.token,
                self._rows.author.at,
            ),
        )
        if not rows:
            raise Conflict(
                f"The lease of {job.kind} {job.key!r} was lost. Its outputs were not written."
            )

    def drop(self, scope: Scope, kinds: Sequence[str]) -> int:
        dropped = f"DELETE FROM jobs WHERE scope = ? AND kind IN ({marks(kinds)}) RETURNING key"
        if not kinds:
            return 0
        return len(self._rows.execute(dropped, (self._rows.known(scope), *kinds)))


def _take_back(
    execute: Statements,
    wanted: Clause,
    now: Micros,
    skip_locked: str,
) -> None:
    """Make jobs claimable whose time has come: those that wait for another try, and those whose
    worker was lost. After the last try these become errors; otherwise they would look running
    forever.
    """
    condition, values = wanted
    execute(
        "WITH due AS MATERIALIZED (SELECT scope, kind, key FROM jobs "
        f"WHERE {condition} AND due_at > 0 AND due_at <= ?{skip_locked}) "
        "UPDATE jobs SET "
        # An expired lease counts as a failed try, or a job that kills its worker would be retried
        # forever.
        "retries_left = CASE WHEN status = 'running' THEN retries_left - 1 ELSE retries_left END, "
        f"error = CASE WHEN status = 'running' THEN {LOST} ELSE error END, "
        "retry_at = CASE WHEN status = 'running' AND retries_left <= 1 THEN ? END, "
        "status = CASE WHEN status <> 'running' THEN status WHEN retries_left <= 1 THEN 'error' "
        "ELSE 'pending' END, token = '', worker = '', lease_until = NULL "
        "FROM due "
        "WHERE jobs.scope = due.scope AND jobs.kind = due.kind AND jobs.key = due.key",
        (*values, now, now),
    )


def _take_next(
    execute: Statements,
    wanted: Clause,
    first: str,
    hold: tuple[str, str, Micros],
    after: int,
) -> Rows:
    """Lease the first claimable job of the scopes after this one, with the token, worker and expiry
    in `hold`, and return its row.
    """
    condition, values = wanted
    return execute(
        # Materialised, so that the row is chosen and locked exactly once.
        f"WITH due AS MATERIALIZED (SELECT scope, kind, key FROM jobs WHERE {condition} "
        f"AND due_at = 0 AND scope > ? ORDER BY {first}) "
        "UPDATE jobs SET status = 'running', token = ?, worker = ?, lease_until = ? "
        "FROM due "
        "WHERE jobs.scope = due.scope AND jobs.kind = due.kind AND jobs.key = due.key RETURNING "
        f"{', '.join(f'jobs.{column}' for column in ('scope', *JOB_COLUMNS))}",
        (*values, after, *hold),
    )
