"""Base of triggers: threads that wait for an event and fire."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...text.terminal import shorten
from ...types import Clock
from ..role import Role

log = logging.getLogger(__name__)

EXCERPT = 80  # characters


@dataclass(frozen=True, slots=True)
class Firing:
    """One firing: trigger type, prompt, and its origin."""

    type: str
    prompt: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


Fire = Callable[[Firing], bool]
"""Queue a firing without waiting; False if there is no room."""
Announce = Callable[[str], None]
"""Print a line for people."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """Connections of a role's triggers."""

    role: Role
    fire: Fire
    clock: Clock
    stop: threading.Event
    environ: Mapping[str, str]
    report: Announce


class TriggerThread(ABC, threading.Thread):
    """One trigger, checked and ready. It is either started, and ends when `stop` is set, or
    released.
    """

    about = ""
    """Description of what it waits for."""

    def __init__(self, wiring: Wiring, kind: str) -> None:
        # A daemon thread: a blocked trigger must not keep the process alive.
        super().__init__(name=f"holdfast-{kind}", daemon=True)
        self._wiring = wiring

    def run(self) -> None:
        """Run until stopped. An error is reported, because a silent trigger would be noticed
        late.
        """
        try:
            self.attend()
        except Exception as error:
            log.exception("%s", self.about)
            self._wiring.report(
                f"{self.about}: stopped by an error ({type(error).__name__}: {error})"
            )
        finally:
            self.release()

    @abstractmethod
    def attend(self) -> None:
        """Wait and fire until stopped."""

    def release(self) -> None:
        """Release its resources. Idempotent."""

    def _fire(self, firing: Firing) -> bool:
        taken = self._wiring.fire(firing)
        if not taken and not self._wiring.stop.is_set():
            self._wiring.report(
                f"{firing.type}: refused, the queue is full: {excerpt(firing.prompt)}"
            )
        return taken


def excerpt(text: str) -> str:
    """Beginning of a text, on one line."""
    return shorten(text, EXCERPT)
