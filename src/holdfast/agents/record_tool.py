"""Tool with which an agent in a project stores a record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .. import config
from ..client import Holdfast
from ..errors import Refused
from ..records.roots import places_around
from .role_memory import RoleMemory, from_outside


class RecordTools:
    """Record operations of an agent in a project."""

    def __init__(self, memory: RoleMemory, folder: Path) -> None:
        self._memory = memory
        self._places = places_around(
            folder,
            config.login(),
            config.default_store(memory.environ).parent,
        )

    @property
    def in_project(self) -> bool:
        """Whether there is a project, and writing is permitted."""
        return not self._memory.incognito and any(place.name == "project" for place in self._places)

    def add_record(
        self,
        content: str,
        category: str,
        title: str = "",
        scope: str = "project",
    ) -> str:
        """Write down what should be known in every session from now on, as a record that people can
        read and edit.

        Args:
            content: What to remember, in sentences that can be understood on their own.
            category: One of decisions (a choice and its reasons), procedures (steps to follow),
                principles (rules and constraints), incidents (a problem, its cause and its fix),
                preferences (how somebody likes it).
            title: A few words that name it.
            scope: project for what concerns this project, assistant for what its user wants in
                every project.
        """
        if from_outside.get():
            raise Refused(
                "Not written down: this task came from outside, and everybody who works on the "
                "project relies on its records. Only the people who run the agent may have one "
                "added."
            )
        with Holdfast.open(
            scope=[place.scope for place in self._places],
            settings=self._memory.settings,
            clock=self._memory.clock,
            actor=f"agent:{self._memory.role.name}",
            background=False,
            places=self._places,
        ) as hf:
            record = hf.records.add(
                content,
                category=category,
                title=title,
                place=scope,
            )
        return f"Recorded (id={record.id}, category={record.category}, scope={scope})"


def record_functions(memory: RoleMemory, folder: Path) -> list[Callable[..., str]]:
    """Return the tool for an agent that works in a folder; none without a project."""
    tools = RecordTools(memory, folder)
    return [tools.add_record] if tools.in_project else []
