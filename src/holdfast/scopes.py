"""Owner of a memory: the user id, or else the session id."""

from __future__ import annotations

import hashlib

from .errors import OwnerMissing
from .types import Clock, Scope, system_clock, to_datetime


def resolve_owner_id(user_id: str | None = None, session_id: str | None = None) -> str:
    """Return the owner: the user, or else the session. Raises OwnerMissing, a ValueError, without
    either.

    With a `user_id`, all sessions share that user's memory; without one, each session has its own.

    >>> resolve_owner_id("alice", "thread-1"), resolve_owner_id(session_id="thread-1")
    ('alice', 'thread-1')
    """
    for value in (user_id, session_id):
        if value is not None and value.strip():
            return value
    raise OwnerMissing()


def owner_scope(user_id: str | None = None, session_id: str | None = None) -> Scope:
    """Return the scope of the owner."""
    return Scope("user", resolve_owner_id(user_id, session_id))


def hash_session_id(session_id: str) -> str:
    """Return the SHA-256 of a session id in hexadecimal, for places that must not store the id.

    >>> hash_session_id("thread-1")[:12]
    '4b0a5fefc328'
    """
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


def iso_now(clock: Clock = system_clock) -> str:
    """Format a UTC time with a trailing Z, as audit and feedback records have it.

    >>> iso_now(lambda: 0)
    '1970-01-01T00:00:00Z'
    """
    return to_datetime(clock()).isoformat().replace("+00:00", "Z")
