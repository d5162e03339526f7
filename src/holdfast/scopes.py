"""Whose memory it is: told by the user's id, else by that of the thread; never by nothing at
all.
"""

from __future__ import annotations

import hashlib

from .errors import OwnerMissing
from .types import Clock, Scope, system_clock, to_datetime


def resolve_owner_id(user_id: str | None = None, session_id: str | None = None) -> str:
    """Who owns what is said: the user, else the session itself. OwnerMissing, a ValueError, when
    neither is given.

    With a `user_id` the memory is that user's in every session; without one each session has a
    memory of its own.

    >>> resolve_owner_id("alice", "thread-1"), resolve_owner_id(session_id="thread-1")
    ('alice', 'thread-1')
    """
    for given in (user_id, session_id):
        if given is not None and given.strip():
            return given
    raise OwnerMissing()


def owner_scope(user_id: str | None = None, session_id: str | None = None) -> Scope:
    """The scope of that owner."""
    return Scope("user", resolve_owner_id(user_id, session_id))


def hash_session_id(session_id: str) -> str:
    """What stands for a session where its id must not: SHA-256, in hexadecimal.

    >>> hash_session_id("thread-1")[:12]
    '4b0a5fefc328'
    """
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


def iso_now(clock: Clock = system_clock) -> str:
    """The time in UTC with a Z at its end, as records of audit and feedback have it.

    >>> iso_now(lambda: 0)
    '1970-01-01T00:00:00Z'
    """
    return to_datetime(clock()).isoformat().replace("+00:00", "Z")
