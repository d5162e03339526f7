"""The messages of one conversation, in the format of an agent's framework.

They are append-only, in every store that the session is synced with. The caller redacts secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, TypeVar

from ..client import Holdfast, check_open
from ..erasure.purge import erase_sessions
from ..errors import NotFound, StoreClosed, StoreError
from ..ingest import session_log
from ..ingest.commit import check_session
from ..storage import Transaction

log = logging.getLogger(__name__)
T = TypeVar("T")
Item = Mapping[str, Any]


class SessionMessages:
    """Messages of one session. Thread-safe.

    If the store is busy, messages are buffered and written with the next ones, so a run never fails
    for it; a closed store raises. Reading and erasing raise their errors, because lost history or
    incomplete erasure must not go unnoticed.
    """

    def __init__(self, hf: Holdfast, session: str) -> None:
        self._hf = check_open(hf)
        self.session = check_session(session)
        self.held = list[Item]()
        self.lock = RLock()

    def stored(self, last: int | None = None) -> list[Item]:
        """Return the stored messages in order; with `last`, only that many from the end."""
        return [message.body for message in self._hf.sessions.messages(self.session, last=last)]

    def all(self) -> list[Item]:
        """Return all messages, with those that wait to be written."""
        with self.lock:
            return [*self.stored(), *self.held]

    def add(self, items: Sequence[Item]) -> None:
        """Append messages."""
        with self.lock:
            if items:
                self.write(lambda tx: self.append(tx, items), lambda: self._hold(items))

    def replace(self, items: Sequence[Item]) -> None:
        """Erase all messages and append these instead, in one transaction."""

        def work(tx: Transaction) -> None:
            self._erase(tx)
            if items:
                self.append(tx, items, held=False)

        with self.lock:
            self._hf.admin.write("append", work)
            self.held.clear()

    def clear(self) -> None:
        """Erase every message permanently. Long-term memory of the conversation stays."""
        with self.lock:
            with suppress(NotFound):  # it was never stored
                self._hf.sessions.purge(self.session)
            self.held.clear()

    def write(self, work: Callable[[Transaction], T], otherwise: Callable[[], T]) -> T:
        """Run `work`, which appends the buffer, in a transaction; if the store fails, `otherwise`.

        The caller holds the lock.
        """
        try:
            done = self._hf.admin.write("append", work)
        except StoreClosed:
            # A closed store will never accept the buffer.
            raise
        except StoreError as error:
            kept = otherwise()
            log.warning("session %s: buffered, not stored: %s", self.session, error)
            return kept
        # Only after the commit: `work` wrote the buffer in the same transaction.
        self.held.clear()
        return done

    def append(self, tx: Transaction, items: Sequence[Item], *, held: bool = True) -> None:
        """Append the buffer and these messages inside a transaction."""
        session_log.append(
            tx,
            self._hf.scopes[0],
            self.session,
            [*(self.held if held else ()), *items],
            at=self._hf.clock(),
        )

    def _hold(self, items: Sequence[Item]) -> None:
        # An item that cannot be written would block all later ones.
        session_log.check_messages(items)
        self.held.extend(items)

    def _erase(self, tx: Transaction) -> None:
        scope = self._hf.scopes[0]
        if tx.sessions.get(scope, self.session) is not None:
            erase_sessions(tx, scope, [self.session], at=self._hf.clock())
