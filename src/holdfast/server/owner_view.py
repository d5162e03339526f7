"""How an owner's memory stands, put together for the answers that tell it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Literal

from ..async_client import AsyncHoldfast
from ..audit import AuditLog
from ..client import Holdfast
from ..errors import StoreError
from ..feedback import FeedbackLog
from ..types import MAIN_KINDS, MINUTE, Kind, Memory, Micros, Scope, iso
from . import schemas

LIFE: tuple[Kind, ...] = ("episode", "fact", "reflection", "rule", "document", "skill")
RECALL = "proactive_recall"


def owner_id(scope: Scope) -> str:
    """An owner as requests name one: the user's id, or the whole scope where it is not a user's."""
    return scope.key if scope.kind == "user" else str(scope)


def status(hf: Holdfast, audit: AuditLog, feedback: FeedbackLog) -> schemas.Standing:
    """The numbers of the Memory page, all of this owner alone."""
    scope = hf.scopes[0]
    counts = hf.store.counts(hf.scopes)
    by_layer = {layer: counts.get(kind, {}).get("active", 0) for layer, kind in MAIN_KINDS.items()}
    return schemas.Standing(
        memory_mode=hf.mode,
        owner_id=owner_id(scope),
        counts=schemas.Counts(**by_layer),
        crisis_log_count=audit.count(owner=str(scope)),
        session_feedback_count=feedback.count(owner=str(scope)),
        proactive_recall_enabled=hf.profile()[RECALL],
    )


def switch(hf: Holdfast, enabled: bool) -> schemas.Switched:
    """Turns proactive recall on or off."""
    hf.set_profile(**{RECALL: enabled})
    return schemas.Switched(
        owner_id=owner_id(hf.scopes[0]),
        proactive_recall_enabled=enabled,
        detail=f"Proactive recall is now {'on' if enabled else 'off'}.",
        run=hf.last_run,
    )


def timeline(hf: Holdfast, *, before: str | None, limit: int) -> schemas.Timeline:
    """A page of what happened and was learned, in the order in which memory came to know it."""
    page = hf.list(kinds=LIFE, limit=limit, after=seq_of(hf, before))
    return schemas.Timeline(
        items=[_happening(memory) for memory in page], next=next_after(page, limit)
    )


def _happening(memory: Memory) -> schemas.Happening:
    what: Literal["happened", "learned"] = "happened" if memory.layer == "episodic" else "learned"
    return schemas.Happening(at=iso(memory.created_at), what=what, memory=schemas.Record.of(memory))


def next_after(page: list[Memory], limit: int) -> str | None:
    """Where the next page goes on; None when this one was the last."""
    return page[-1].id if len(page) == limit else None


def seq_of(hf: Holdfast, cursor: str | None) -> int | None:
    """The place in the store that a cursor stands for; NotFound for one that is not of this
    owner.
    """
    return None if cursor is None else hf.get(cursor).seq


class Checkup:
    """What the latest check-up of the whole store found. A check-up takes a while, so one serves
    for ten minutes.
    """

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._lock = threading.Lock()
        self._at: Micros | None = None
        self._findings: int | None = None

    def findings(self) -> int | None:
        """How many; None where nobody here may look at the whole store."""
        with self._lock:
            now = self._hf.clock()
            if self._at is None or now - self._at >= 10 * MINUTE:
                self._at, self._findings = now, self._count()
            return self._findings

    def _count(self) -> int | None:
        try:
            return len(self._hf.doctor())
        except StoreError:
            return None


def health(hf: Holdfast, checkup: Checkup) -> schemas.Health:
    """Counts and coverage of one owner, and how sound the store is; not where it lies."""
    stats = hf.stats()
    told = {name: stats[name] for name in schemas.Health.model_fields if name in stats}
    return schemas.Health(**told, findings=checkup.findings())


async def bundle(hf: Holdfast) -> AsyncIterator[str]:
    """The lines of the owner's export."""
    async for line in AsyncHoldfast(hf).export():
        yield line
