"""Memories that the model received for an answer, and why: the chat shows them to the user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..types import Memory


class AnswerMemory(NamedTuple):
    """A memory that the model received for an answer, and why."""

    memory: Memory
    reason: str


class AnswerMemories:
    """Memories that the model received for the current answer, or the last one, each once."""

    def __init__(self) -> None:
        self._received: dict[str, AnswerMemory] = {}

    def begin(self, reminders: Iterable[AnswerMemory] = ()) -> None:
        """Begin an answer; the model has the reminders already."""
        self._received = {}
        self.add(reminders)

    def add(self, memories: Iterable[AnswerMemory]) -> None:
        """Record memories that the model receives. The first reason counts."""
        for one in memories:
            self._received.setdefault(one.memory.id, one)

    def all(self) -> tuple[AnswerMemory, ...]:
        """Return them in the order in which they were received."""
        return tuple(self._received.values())
