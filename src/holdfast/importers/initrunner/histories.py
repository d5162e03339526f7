"""Histories that were saved as a conversation went on, put together into that conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...agents.message_history import Body, kept, prompts
from ...ingest.commit import check_session
from ...storage.row_codec import to_json
from ...types import Micros
from .row_types import loaded

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What comes of reading a history that is none."""
# What tells one part of a message from another; later versions of the framework add fields to
# messages they pass on.
_TELLING = ("part_kind", "content", "args", "tool_name", "tool_call_id", "timestamp")


class Said(NamedTuple):
    """A message, and what it is known again by."""

    body: Body
    mark: bytes


def read_history(
    session: Any,
    agent: str,
    text: str | None,
) -> list[Said]:
    """The messages of a saved history, as they are stored; one of `UNREADABLE` when it is none."""
    check_session(session)
    check_session(other_name(session, agent))
    messages = loaded(text or "")
    if not isinstance(messages, list):
        raise ValueError("no list of messages")
    stored = kept(messages)
    # A conversation without what everybody looks for first would fail them all.
    list(prompts(stored))
    return [Said(message, _mark(message)) for message in stored]


def other_name(session: str, agent: str) -> str:
    """What a session is called where another agent's has its id."""
    return f"{session}@{agent}"


def _mark(message: Body) -> bytes:
    told = [message["kind"], [[part.get(name) for name in _TELLING] for part in message["parts"]]]
    return hashlib.sha256(to_json(told).encode()).digest()


@dataclass(slots=True)
class OldConversation:
    """The messages of one session, put together from its histories."""

    session: str
    agent: str
    started_at: Micros
    last_activity: Micros
    messages: list[tuple[Body, Micros]] = field(default_factory=list)
    _marks: list[bytes] = field(default_factory=list)

    def add(self, history: Sequence[Said], at: Micros) -> None:
        """Adds what is new in a history; it begins with messages that are known, however many were
        kept of them.
        """
        self.started_at, self.last_activity = min(self.started_at, at), max(self.last_activity, at)
        known = _overlap(self._marks, [one.mark for one in history])
        self.messages += [(one.body, at) for one in history[known:]]
        self._marks += [one.mark for one in history[known:]]


def _overlap(known: Sequence[bytes], history: Sequence[bytes]) -> int:
    """How many messages at the end of the known ones are also those at the beginning of a history,
    at most.
    """
    for count in range(min(len(known), len(history)), 0, -1):
        # The first one alone nearly always says no, and costs nothing.
        if known[-count] == history[0] and known[-count:] == history[:count]:
            return count
    return 0
