"""One answer and no more, in time: from the work if it is quick enough, else from a timer what is
ready by then.

The host waits for the process to end, so giving the answer and ending are one step. The timer is a
thread: it runs while the work waits for a pipe, a disk or a lock.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .events import EMPTY, TIMEOUT

# Seconds from the start of the process to its end. A third of what the host waits is left for
# starting the process and hearing its answer: on a crowded machine both take their time.
TIME = TIMEOUT * 2 / 3
# Of these, for writing the answer and the log, though that takes one millisecond.
LAST_STEPS = 0.05
# seconds that the work may go on when the timer wants to run; it does so some times in a row
TURN = 0.0005
# Seconds for a process to start: clocks that tell so do not belong together.
UNLIKELY = 30.0
# The descriptor, whatever has become of `sys.stdout`.
STDOUT = 1
# A timer gets this even when starting took longer than all of it.
LEAST = 0.01


class Answer:
    """The one answer of this process. Whoever gives it first ends the process; the other one ends
    with it.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        """`note` is told what became of it ("late", "gone" or what the giver says) after the host
        has it.
        """
        self._given = threading.Lock()
        self._note = note
        self._ready = EMPTY

    def give(self, text: str, outcome: str) -> None:
        """Writes the answer unless there is one already, and ends the process with exit code 0."""
        if not self._given.acquire(blocking=False):
            # The other one is writing it, and ends the process.
            threading.Event().wait()
        try:
            _write_all(text.encode())
        except OSError:
            # Nobody listens any more.
            outcome = "gone"
        # Nothing is worth a host that waits.
        with suppress(Exception):
            # The log may be on a disk that does not answer.
            self._later(LAST_STEPS, os._exit, 0)
            self._note(outcome)
        os._exit(0)

    def prepare(self, text: str) -> None:
        """Sets what is answered when the time is over before the work is; at first that is the
        empty answer.
        """
        self._ready = text

    def watch(self, seconds: float) -> None:
        """Gives what is ready when the work takes longer than `seconds`."""
        sys.setswitchinterval(TURN)
        self._later(seconds, self._give_late)

    def _give_late(self) -> None:
        self.give(self._ready, "late")

    def _later(
        self,
        seconds: float,
        step: Callable[..., None],
        *values: object,
    ) -> None:
        timer = threading.Timer(seconds, step, values)
        timer.daemon = True
        timer.start()


def time_left() -> float:
    """Seconds until a hook must have answered."""
    return max(LEAST, TIME - LAST_STEPS - age())


def age() -> float:
    """How long ago this process started, in seconds; where the system does not tell, how long it
    has computed.
    """
    try:
        # Field 22, counted behind the name of the program, which may hold anything; in ticks since
        # the machine started.
        started = int(Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[19])
        since = time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()
    return since if 0 <= since < UNLIKELY else time.process_time()


def _write_all(data: bytes) -> None:
    while data:
        data = data[os.write(STDOUT, data) :]
