"""What the model got from memory for an answer, for people who want to know."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..types import Memory


class Given(NamedTuple):
    """A memory that the model got for an answer, and why."""

    memory: Memory
    why: str


class GivenMemories:
    """Memories that the model got for the current answer or the last one, each once."""

    def __init__(self) -> None:
        self._given: dict[str, Given] = {}

    def begin(self, reminders: Iterable[Given] = ()) -> None:
        """Begin an answer; the model has the reminders already."""
        self._given = {}
        self.add(reminders)

    def add(self, memories: Iterable[Given]) -> None:
        """Note memories that the model gets. The first reason counts."""
        for one in memories:
            self._given.setdefault(one.memory.id, one)

    def all(self) -> tuple[Given, ...]:
        """What was given, in that order."""
        return tuple(self._given.values())
