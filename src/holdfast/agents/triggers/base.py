"""What all triggers are: threads that wait for something, and fire."""

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
    """One reason to run: the kind of trigger, the prompt, and where that came from."""

    type: str
    prompt: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


Fire = Callable[[Firing], bool]
"""Takes a firing, at once; False when there is no room for it."""
Announce = Callable[[str], None]
"""Hears a line for people."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """What every trigger of a role is connected to."""

    role: Role
    fire: Fire
    clock: Clock
    stop: threading.Event
    environ: Mapping[str, str]
    told: Announce


class TriggerThread(ABC, threading.Thread):
    """One trigger, checked and ready. It is either started, and ends when `stop` is set, or
    released.
    """

    about = ""
    """What it waits for, in a line for people."""

    def __init__(self, wiring: Wiring, kind: str) -> None:
        super().__init__(name=f"holdfast-{kind}", daemon=True)
        self._wiring = wiring

    def run(self) -> None:
        """Attends until it is stopped. A fault is told: that a trigger has gone silent would be
        noticed late.
        """
        try:
            self.attend()
        except Exception as error:
            log.exception("%s", self.about)
            self._wiring.told(f"{self.about}: no longer works ({type(error).__name__}: {error})")
        finally:
            self.release()

    @abstractmethod
    def attend(self) -> None:
        """Waits and fires until it is stopped."""

    def release(self) -> None:
        """Gives back what it took hold of. May be called twice."""

    def _fire(self, firing: Firing) -> bool:
        taken = self._wiring.fire(firing)
        if not taken and not self._wiring.stop.is_set():
            self._wiring.told(
                f"{firing.type}: refused, too much is waiting already: {excerpt(firing.prompt)}"
            )
        return taken


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    return shorten(text, EXCERPT)
