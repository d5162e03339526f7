"""Conversations of a server: capture, extraction after each reply, end of sessions."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from ..client import Holdfast
from ..errors import Conflict, HoldfastError, StoreError
from ..extraction.orphaned_sessions import SERVED_BY, this_process
from ..types import Memory, Scope, Scopes

log = logging.getLogger(__name__)

REPLY = "assistant"  # the role whose turn ends an exchange
ACTOR = "worker:serve"
# Attempts at a session that another process extracts from.
TRIES = 3
# Seconds for extraction on shutdown; service managers often allow ten in all.
SHUTDOWN_SECONDS = 6.0


class Conversations:
    """Tracks the sessions of this server, so that they end with it."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._open: set[tuple[Scope, str]] = set()
        # Guards the set of open sessions: requests and the sweeper run in several threads.
        self._lock = threading.Lock()

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

    def consider(self, hf: Holdfast, turn: Memory | None) -> None:
        """Extract after a reply. A failure is retried when the session ends."""
        if turn is None or turn.role != REPLY or turn.session is None:
            return
        try:
            hf.sessions.extract(turn.session)
        except Conflict:
            # The session has ended, or another process extracts from it.
            return
        except HoldfastError:
            log.exception("extraction after a reply failed")

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
            owners = self._owners()
            if not owners:
                return
            view = self._view(*owners)
            view.sessions.end_idle()
            for session in view.store.sessions.unread(view.scopes):
                if enough():
                    return
                _learned(self._view(session.scope), session.id)
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
        with self._lock:
            sessions = sorted(self._open)
            self._open = set()
        views = [(self._view(scope), session) for scope, session in sessions]
        ended = [(hf, session) for hf, session in views if _ended(hf, session)]
        for hf, session in ended:
            if now() < until:
                _learned(hf, session)
        self._tend(lambda: now() >= until)

    def _owners(self) -> Scopes:
        """Return all owners of the store or, without permission for that, those seen here."""
        try:
            return self._hf.store.scopes()
        except StoreError:
            with self._lock:
                return sorted({scope for scope, _ in self._open})

    def _view(self, *scopes: Scope) -> Holdfast:
        view = self._hf.scoped(*scopes)
        view.actor = ACTOR
        return view


def _ended(hf: Holdfast, session: str) -> bool:
    try:
        return hf.sessions.end(session, reason="shutdown")
    except HoldfastError:
        log.exception("ending a session failed")
        return False


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
