"""Figures of a shared server. Nothing here may quote a memory: errors are named, not repeated."""

from __future__ import annotations

import re
from collections import Counter

from .. import __version__
from ..errors import StoreError
from ..storage import Store
from ..storage.store_types import Bookings, JobCounts, Spent
from ..types import DAY, Job, iso, to_datetime
from . import admin_schemas, schemas
from .auth import Serving
from .owner_view import owner_id
from .request_counts import AnsweredRequest

# Days for which spend is shown.
DAYS = 30
# Owners and errors that are listed.
MOST_OWNERS = 500
MOST_ERRORS = 50
LOST = re.compile(r"Its worker .* was lost\.")
BUDGET = re.compile(r"The language model has taken [\d,]+ of the [\d,]+ tokens")
EXCEPTION = re.compile(r"([A-Z]\w*(?:Error|Exception|Timeout)):")
NO_RIGHTS = (
    "The database role of this server may not read the figures of all owners. Give it maintenance "
    "rights."
)


def figures(server: Serving) -> admin_schemas.ServerFigures:
    """Return the figures of the server, or say which it may not read."""
    requests = server.requests
    told = admin_schemas.ServerFigures(
        version=__version__,
        started_at=iso(requests.started_at),
        keys=len(list(server.keys)),
        requests=sum(requests.by_status.values()),
        statuses={str(status): count for status, count in sorted(requests.by_status.items())},
        failures=[_failure(one) for one in reversed(requests.failures)],
        daily_tokens=server.hf.settings.model_tokens_per_day,
        findings=server.checkup.findings(),
    )
    try:
        return told.model_copy(update=_of_the_store(server))
    except StoreError:
        return told.model_copy(update={"missing": NO_RIGHTS})


def _failure(failed: AnsweredRequest) -> admin_schemas.RequestFailure:
    return admin_schemas.RequestFailure(
        at=iso(failed.at),
        method=failed.method,
        route=failed.route,
        status=failed.status,
        request_id=failed.request_id,
    )


def _of_the_store(server: Serving) -> dict[str, object]:
    store: Store = server.hf.store
    sizes = store.sizes()
    booked = store.spend.since(server.hf.clock() // DAY - DAYS + 1)
    counted = store.jobs.counts()
    failed = store.jobs.list(status="error", limit=MOST_ERRORS)
    keys = Counter(key.owner for key in server.keys)
    spent = _by_owner(booked)
    owners = sorted(sizes.owners, key=lambda one: (-one.memories, str(one.scope)))
    return {
        "bytes": sizes.bytes,
        "owner_count": len(owners),
        "memories": sum(one.memories for one in owners),
        "owners": [
            admin_schemas.OwnerFigures(
                owner=owner_id(one.scope),
                memories=one.memories,
                words=one.words,
                last_activity=schemas.when(one.last_activity),
                keys=keys[one.scope.key] if one.scope.kind == "user" else 0,
                calls=spent.get(str(one.scope), Spent()).calls,
                tokens=spent.get(str(one.scope), Spent()).tokens,
            )
            for one in owners[:MOST_OWNERS]
        ],
        "spend": _by_day(booked),
        "jobs": _jobs(counted),
        "workers": _workers(counted),
        "job_errors": [_job_error(job) for job in failed],
    }


def _by_owner(booked: Bookings) -> dict[str, Spent]:
    total: dict[str, Spent] = {}
    for one in booked:
        before = total.get(str(one.scope), Spent())
        total[str(one.scope)] = _sum(before, one.spent)
    return total


def _by_day(booked: Bookings) -> list[admin_schemas.DaySpend]:
    total: dict[int, Spent] = {}
    for one in booked:
        total[one.day] = _sum(total.get(one.day, Spent()), one.spent)
    return [
        admin_schemas.DaySpend(
            day=to_datetime(day * DAY).date().isoformat(), calls=spent.calls, tokens=spent.tokens
        )
        for day, spent in total.items()
    ]


def _sum(one: Spent, other: Spent) -> Spent:
    return Spent(one.calls + other.calls, one.tokens + other.tokens)


def _jobs(counted: JobCounts) -> dict[str, dict[str, int]]:
    jobs: dict[str, dict[str, int]] = {}
    for one in counted:
        statuses = jobs.setdefault(one.kind, {})
        statuses[one.status] = statuses.get(one.status, 0) + one.number
    return jobs


def _workers(counted: JobCounts) -> list[admin_schemas.WorkerFigures]:
    return [
        admin_schemas.WorkerFigures(
            name=one.worker, job=one.kind, lease_until=schemas.when(one.lease_until)
        )
        for one in counted
        if one.status == "running" and one.worker
    ]


def _job_error(job: Job) -> admin_schemas.JobError:
    return admin_schemas.JobError(
        owner=owner_id(job.scope),
        job=job.kind,
        error=named_error(job.error),
        retries_left=job.retries_left,
        retry_at=schemas.when(job.retry_at),
    )


def named_error(error: str) -> str:
    """Name an error without repeating it: its text may quote a memory."""
    if LOST.match(error):
        return "Its worker was lost."
    if BUDGET.match(error):
        return "The token budget is used up."
    if found := EXCEPTION.match(error):
        return f"{found[1]}; the log of the worker has the details."
    return "It failed; the log of the worker has the details."
