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
from ..types import DAY, Micros, Scope, Session, Sessions
from .commit import check_session
from .sanitize import guard_data, without_secrets


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
                reason="another session began",
            )


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
