"""Sessions: begun by their first turn, ended once, and pruned oldest first.

The messages of a session are an agent's own record of a conversation, in its framework's format.
They are an append-only log: each turn adds only what is new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..storage.protocol import Transaction
from ..storage.session_table import message_body
from ..types import DAY, Memories, Memory, Micros, Scope, Session, Sessions
from .commit import check_session
from .sanitize import guard_data, without_secrets

ANOTHER_BEGAN = "another session began"


def append(
    tx: Transaction,
    scope: Scope,
    session: str,
    bodies: Sequence[Mapping[str, Any]],
    *,
    at: Micros,
    agent: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> int:
    """Append messages to a session, creating it if needed; return its message count."""
    check_session(session)
    known = tx.sessions.get(scope, session) or Session(
        session, scope, at, at, agent, metadata=_guarded(metadata)
    )
    tx.sessions.put(replace(known, last_activity=max(at, known.last_activity)))
    return tx.sessions.add_messages(scope, session, bodies)


def check_messages(bodies: Sequence[Mapping[str, Any]]) -> None:
    """Raise InvalidInput for messages no store would accept, before they are queued."""
    for body in bodies:
        message_body(body)


def begin(
    tx: Transaction,
    scope: Scope,
    session: str,
    *,
    at: Micros,
) -> None:
    """Begin an empty session; this ends the open ones, as its first turn would."""
    check_session(session)
    if tx.sessions.get(scope, session) is None:
        end_others(tx, scope, session, at=at)
        tx.sessions.put(Session(session, scope, at, at))


def end_others(
    tx: Transaction,
    scope: Scope,
    session: str,
    *,
    at: Micros,
) -> None:
    """End the open sessions of a scope when another begins, except those an agent leads."""
    for other in tx.sessions.list([scope], open_only=True):
        if other.id != session and not other.agent:
            end(
                tx,
                scope,
                other.id,
                at=at,
                reason=ANOTHER_BEGAN,
            )


def take_places(
    tx: Transaction,
    runs: Sequence[Memories],
    *,
    at: Micros,
    noted: Mapping[str, Any] | None = None,
) -> list[int]:
    """Return the position of the first turn of each run; a run is turns of one session in a row.

    The sessions become what they would be if the turns came one by one, but each is read and
    written only once, however many there are.
    """
    by_scope: dict[Scope, list[Memory]] = {}
    for run in runs:
        by_scope.setdefault(run[0].scope, []).append(run[0])
    taking = {
        scope: _Sessions(tx, scope, [str(first.session) for first in firsts])
        for scope, firsts in by_scope.items()
    }
    metadata = _guarded(noted)
    places = []
    for run in runs:
        first = run[0]
        sessions = taking[first.scope]
        places.append(sessions.take(first, len(run), at=at, noted=metadata))
    for sessions in taking.values():
        sessions.write()
    return places


class _Sessions:
    """Sessions of a scope, read at once, and written at once when turns have been added to them."""

    def __init__(self, tx: Transaction, scope: Scope, ids: Sequence[str]) -> None:
        self._tx = tx
        self._scope = scope
        found = tx.sessions.places(scope, list(dict.fromkeys(ids)))
        self._places = {id_: place for id_, (_, place) in found.items()}
        self._before = {one.id: one for one, _ in found.values() if one is not None}
        if len(self._before) < len(found):
            # A new session ends those that are open.
            for other in tx.sessions.list([scope], open_only=True):
                self._before.setdefault(other.id, other)
        self._now = dict(self._before)
        self._open = {
            id_ for id_, one in self._now.items() if one.ended_at is None and not one.agent
        }

    def take(
        self,
        first: Memory,
        turns: int,
        *,
        at: Micros,
        noted: Mapping[str, Any],
    ) -> int:
        """Add turns to a session, of which this is the first; return its position."""
        id_ = str(first.session)
        known = self._now.get(id_)
        if known is None:
            self._end_all(at)
            known = Session(id_, self._scope, first.event_time, first.created_at)
        self._now[id_] = replace(
            known,
            last_activity=max(at, known.last_activity),
            ended_at=None,
            end_reason="",
            metadata={**known.metadata, **noted},
        )
        if not known.agent:
            self._open.add(id_)
        place = self._places[id_]
        self._places[id_] += turns
        return place

    def _end_all(self, at: Micros) -> None:
        for id_ in self._open:
            self._now[id_] = replace(self._now[id_], ended_at=at, end_reason=ANOTHER_BEGAN)
        self._open.clear()

    def write(self) -> None:
        """Store the sessions that are new or have changed."""
        self._tx.sessions.begin_many(
            self._scope, [one for id_, one in self._now.items() if id_ not in self._before]
        )
        for id_, one in self._before.items():
            if self._now[id_] != one:
                self._tx.sessions.put(self._now[id_])


def end(
    tx: Transaction,
    scope: Scope,
    session: str,
    *,
    at: Micros,
    reason: str,
    metadata: Mapping[str, Any] | None = None,
) -> bool:
    """End a session; return False if it is missing or had ended. Idempotent.

    `metadata` is merged into the session's metadata.
    """
    known = tx.sessions.get(scope, session)
    if known is None or known.ended_at is not None:
        return False
    noted = {**known.metadata, **_guarded(metadata)}
    tx.sessions.put(
        replace(
            known,
            ended_at=at,
            end_reason=without_secrets(reason),
            metadata=noted,
        )
    )
    return True


def note(
    tx: Transaction,
    scope: Scope,
    session: str,
    metadata: Mapping[str, Any],
) -> None:
    """Merge into a session's metadata."""
    known = tx.sessions.get(scope, session)
    if known is not None and not metadata.items() <= known.metadata.items():
        tx.sessions.put(replace(known, metadata={**known.metadata, **_guarded(metadata)}))


def _guarded(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(guard_data(metadata or {}, name="metadata"))


def surplus(
    sessions: Sessions,
    keep: int,
    now: Micros,
) -> Sessions:
    """The least recently active sessions to remove so that `keep` stay.

    A session that may still be running, in this process or another, is never among them: it has not
    ended and was active within a day. A session whose process was killed never ends, so it is kept
    for that day.
    """
    newest_first = sorted(sessions, key=lambda one: (one.last_activity, one.id), reverse=True)
    return [
        one
        for one in newest_first[keep:]
        if one.ended_at is not None or now - one.last_activity >= DAY
    ]
