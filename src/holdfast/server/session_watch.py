"""Conversations of a server: capture, extraction after each reply, end of sessions."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from ..client import Holdfast
from ..errors import Conflict, HoldfastError, StoreError
from ..extraction.job_types import Rounds, Worker
from ..extraction.orphaned_sessions import SERVED_BY, this_process
from ..extraction.session_extraction import LEARN, end_silent
from ..maintenance.job_runner import enqueue_due, work_once
from ..model_access import model_of, worker_of
from ..types import Memory, Scope

log = logging.getLogger(__name__)

REPLY = "assistant"  # the role whose turn ends an exchange
ACTOR = "worker:serve"
# Attempts at a session that another process extracts from.
TRIES = 3
# Threads that extract after replies. Without a language model that is computing, and one is enough;
# with one it is mostly waiting.
EXTRACTORS = 1
EXTRACTORS_WITH_MODEL = 4
# Seconds for extraction on shutdown; service managers often allow ten in all.
SHUTDOWN_SECONDS = 6.0


class Conversations:
    """Tracks the sessions of this server, so that they end with it."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._open: set[tuple[Scope, str]] = set()
        # Guards the set of open sessions: requests and the sweeper run in several threads.
        self._lock = threading.Lock()
        self._answered: queue.SimpleQueue[tuple[Scope, str] | None] = queue.SimpleQueue()
        self._waiting: set[tuple[Scope, str]] = set()
        """Sessions in that queue, each once: extraction reads all that is new in a session."""
        self._extractors: list[threading.Thread] = []
        self._rounds = Rounds()

    def capture(self, hf: Holdfast, turn: dict[str, Any]) -> Memory | None:
        """Store one turn and mark its session as open."""
        # A guest's store ends with the request.
        if hf.store is not self._hf.store:
            kept = hf.capture_many([turn])
            return kept[0] if kept else None
        session = (hf.scopes[0], turn["session"])
        # If this process is killed, the next one learns from this mark that nobody else will end
        # the session.
        noted = None if session in self._open else {SERVED_BY: this_process()}
        kept = hf.capture_many([turn], noted=noted)
        if kept:
            with self._lock:
                self._open.add(session)
        return kept[0] if kept else None

    def consider_soon(self, hf: Holdfast, turn: Memory | None) -> None:
        """Let a thread extract after a reply, so that requests do not wait for it."""
        # A guest's store ends with the request, and everything in it.
        if not _is_reply(turn) or hf.store is not self._hf.store:
            return
        session = (hf.scopes[0], str(turn.session))
        with self._lock:
            if session in self._waiting:
                return
            self._waiting.add(session)
            if not self._extractors:
                self._start_extractors()
        self._answered.put(session)

    def _start_extractors(self) -> None:
        count = EXTRACTORS_WITH_MODEL if self._hf.settings.model else EXTRACTORS
        self._extractors = [
            # Daemons: an answer of a model that never comes must not delay the end of the process.
            threading.Thread(target=self._extract, name=f"holdfast-extract-{n}", daemon=True)
            for n in range(count)
        ]
        for thread in self._extractors:
            thread.start()

    def _extract(self) -> None:
        while (session := self._answered.get()) is not None:
            with self._lock:
                wanted = session in self._waiting
                self._waiting.discard(session)
            if wanted:
                scope, name = session
                _consider(self._view(scope), name)

    def consider(self, hf: Holdfast, turn: Memory | None) -> None:
        """Extract after a reply. A failure is retried when the session ends."""
        if _is_reply(turn):
            _consider(hf, str(turn.session))

    def end(
        self,
        hf: Holdfast,
        session: str,
        led: dict[str, Any] | None = None,
    ) -> tuple[bool, int | None]:
        """End a session and extract from it; return whether it was open, and the number of new
        memories.

        `led` is metadata from the caller. The number is None if extraction failed: the session
        still ends, and a worker retries.
        """
        ended = hf.sessions.end(session, metadata=led)
        with self._lock:
            self._open.discard((hf.scopes[0], session))
        return ended, _learned(hf, session) if ended else 0

    def tend(self, stop: threading.Event) -> None:
        """End sessions that are idle or whose server is gone, and extract from all ended ones."""
        self._tend(stop.is_set)

    def _tend(self, enough: Callable[[], bool]) -> None:
        try:
            # Even to look for work takes a while when many sessions have just ended.
            if enough():
                return
            worker = self._worker()
            end_silent(worker, ACTOR)
            # As jobs: several servers and workers share what is to be read, each session once.
            enqueue_due(worker, (LEARN.name,))
            while not enough() and work_once(worker, (LEARN.name,)) is not None:
                pass
        except Exception:  # must break neither the background thread nor the shutdown
            log.exception("maintenance of sessions failed")

    def close(
        self, *, seconds: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        """End every session of this server, then extract from them as far as time allows.

        `seconds` is SHUTDOWN_SECONDS by default. The rest is left to the next server or worker: the
        sessions are marked.
        """
        until = now() + (SHUTDOWN_SECONDS if seconds is None else seconds)
        if self._extractors:
            self._stop_extractors(until - now())
        with self._lock:
            sessions = sorted(self._open)
            self._open = set()
        views = [(self._view(scope), session) for scope, session in sessions]
        for hf, session in _ended(views):
            if now() < until:
                _learned(hf, session)
        self._tend(lambda: now() >= until)

    def _stop_extractors(self, seconds: float) -> None:
        """End the threads after their current session; what they leave is read with its end."""
        with self._lock:
            self._waiting.clear()
            threads, self._extractors = self._extractors, []
        for _ in threads:
            self._answered.put(None)
        for thread in threads:
            thread.join(max(0.0, seconds))

    def _worker(self) -> Worker:
        """Return a worker for all owners of the store or, without permission for that, for those
        seen here.
        """
        everybody = replace(
            worker_of(self._hf, None, complete=model_of(self._hf)), rounds=self._rounds
        )
        try:
            self._hf.store.jobs.waiting(LEARN.name, now=0)
        except StoreError:
            with self._lock:
                return replace(everybody, scopes=sorted({scope for scope, _ in self._open}))
        return everybody

    def _view(self, *scopes: Scope) -> Holdfast:
        view = self._hf.scoped(*scopes)
        view.actor = ACTOR
        return view


def _is_reply(turn: Memory | None) -> TypeGuard[Memory]:
    return turn is not None and turn.role == REPLY and turn.session is not None


def _consider(hf: Holdfast, session: str) -> None:
    try:
        hf.sessions.extract(session)
    except Conflict:
        # The session has ended, or another process extracts from it.
        return
    except HoldfastError:
        log.exception("extraction after a reply failed")


def _ended(sessions: Sequence[tuple[Holdfast, str]]) -> list[tuple[Holdfast, str]]:
    """End these sessions; return those that were open."""
    ended = []
    for hf, session in sessions:
        try:
            if _end_ours(hf, session):
                ended.append((hf, session))
        except StoreError:
            # Each attempt waits for a server that is away. The next one of ours ends the rest.
            log.exception("ending a session failed; the others were not tried")
            break
        except HoldfastError:
            log.exception("ending a session failed")
    return ended


def _end_ours(hf: Holdfast, session: str) -> bool:
    known = hf.store.sessions.get(hf.scopes[0], session)
    if known is not None and known.metadata.get(SERVED_BY) != this_process():
        # It goes on in another process of the same address.
        return False
    return hf.sessions.end(session, reason="shutdown")


def _learned(
    hf: Holdfast,
    session: str,
    *,
    tries: int = TRIES,
) -> int | None:
    try:
        outcome = hf.sessions.learn(session)
    except Conflict:
        # The last reply may be under extraction right now, or another program extracts from the
        # session.
        return _learned(hf, session, tries=tries - 1) if tries > 1 else None
    except HoldfastError:
        log.exception("extraction from a session failed; a worker retries")
        return None
    return outcome.new + outcome.arcs
