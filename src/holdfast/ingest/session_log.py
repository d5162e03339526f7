"""Sessions: begun by their first words, ended once, and the oldest of them removed when there are
too many.

The messages of a session are an agent's own record of a conversation, in the words of its
framework. They are a log that only grows: each turn adds what is new, so a long conversation costs
what it says and no more.
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
    """Adds messages to a session, which is begun by that, and says how many it has now."""
    check_session(session)
    known = tx.sessions.get(scope, session) or Session(
        session, scope, at, at, agent, metadata=_guarded(metadata)
    )
    tx.sessions.put(replace(known, last_activity=max(at, known.last_activity)))
    return tx.sessions.add_messages(scope, session, bodies)


def check_messages(bodies: Sequence[Mapping[str, Any]]) -> None:
    """InvalidInput for messages that no store would take, so that whoever keeps them for later
    keeps none of those.
    """
    for body in bodies:
        message_body(body)


def begin(
    tx: Transaction,
    scope: Scope,
    session: str,
    *,
    at: Micros,
) -> None:
    """Begins a conversation in which nothing was said yet: that ends the open ones, as its first
    words would.
    """
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
    """Ends the open conversations of a scope when another begins; those that an agent leads end by
    themselves.
    """
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
    """Marks a session as ended; False when it is not there or had ended before. Ending twice equals
    once.

    `metadata` is added to what is noted of it.
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
    """Adds to what is noted of a session."""
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
    """The sessions to remove so that `keep` stay, the least recently active ones.

    One that may still be going on, in this process or another, is never among them: it has not
    ended and was active within a day. A session whose process was killed never ends, and waits that
    day out.
    """
    newest_first = sorted(sessions, key=lambda one: (one.last_activity, one.id), reverse=True)
    return [
        one
        for one in newest_first[keep:]
        if one.ended_at is not None or now - one.last_activity >= DAY
    ]
