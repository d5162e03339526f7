"""Status of an owner's memory for several responses."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator

from ..async_client import AsyncHoldfast
from ..audit import AuditLog
from ..client import Holdfast
from ..errors import StoreError
from ..feedback import FeedbackLog
from ..storage import Filter
from ..types import MAIN_KINDS, MINUTE, STATUSES, Memory, Micros, Scope, iso
from . import schemas

RECALL = "proactive_recall"


def owner_id(scope: Scope) -> str:
    """Owner as requests name it: the user id, or the full scope if it is not a user."""
    return scope.key if scope.kind == "user" else str(scope)


def status(
    hf: Holdfast,
    audit: AuditLog,
    feedback: FeedbackLog,
) -> schemas.Standing:
    """Figures of the Memory page, for this owner only."""
    scope = hf.scopes[0]
    counts = hf.store.timeline.counts(hf.scopes)
    by_layer = {layer: counts.get(kind, {}).get("active", 0) for layer, kind in MAIN_KINDS.items()}
    return schemas.Standing(
        memory_mode=hf.mode,
        owner_id=owner_id(scope),
        counts=schemas.Counts(**by_layer),
        crisis_log_count=audit.count(owner=str(scope)),
        session_feedback_count=feedback.count(owner=str(scope)),
        proactive_recall_enabled=hf.sessions.profile()[RECALL],
    )


def totals(hf: Holdfast, *, admin: bool) -> schemas.Totals:
    """Counts beside the views of the Memory page; `admin` says whether it may show the server."""
    counts = hf.store.counts(hf.scopes)
    oldest = hf.store.list(Filter(hf.scopes, statuses=STATUSES), order="oldest", limit=1)
    return schemas.Totals(
        active={kind: by_status.get("active", 0) for kind, by_status in counts.items()},
        review=sum(by_status.get("proposed", 0) for by_status in counts.values()),
        oldest=iso(oldest[0].created_at) if oldest else None,
        admin=admin,
    )


def switch(hf: Holdfast, enabled: bool) -> schemas.Switched:
    """Turn proactive recall on or off."""
    hf.sessions.set_profile(**{RECALL: enabled})
    return schemas.Switched(
        owner_id=owner_id(hf.scopes[0]),
        proactive_recall_enabled=enabled,
        detail=f"Proactive recall is now {'on' if enabled else 'off'}.",
        run=hf.last_run,
    )


def next_after(page: list[Memory], limit: int) -> str | None:
    """Cursor of the next page; None after the last one."""
    return page[-1].id if len(page) == limit else None


def seq_of(hf: Holdfast, cursor: str | None) -> int | None:
    """Sequence number of a cursor; raises NotFound if it is not of this owner."""
    return None if cursor is None else hf.get(cursor).seq


class Checkup:
    """Result of the last health check of the store. A check takes time, so it is cached for ten
    minutes.
    """

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        # One check at a time: requests wait for its result instead of repeating it.
        self._lock = threading.Lock()
        self._at: Micros | None = None
        self._findings: int | None = None

    def findings(self) -> int | None:
        """Number of problems; None without permission for the whole store."""
        with self._lock:
            now = self._hf.clock()
            if self._at is None or now - self._at >= 10 * MINUTE:
                self._at, self._findings = now, self._count()
            return self._findings

    def _count(self) -> int | None:
        try:
            return len(self._hf.admin.check())
        except StoreError:
            return None


def health(hf: Holdfast, checkup: Checkup) -> schemas.Health:
    """Counts and coverage of one owner and health of the store, without its location."""
    stats = hf.stats()
    found = {name: stats[name] for name in schemas.Health.model_fields if name in stats}
    return schemas.Health(**found, findings=checkup.findings())


async def bundle(hf: Holdfast) -> AsyncIterator[str]:
    """Lines of the owner's export."""
    async for line in AsyncHoldfast(hf).admin.export():
        yield line
