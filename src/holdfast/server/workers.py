"""Several server processes behind one address: started, replaced when they end, and renewed.

All of them accept from one listening socket, which this process keeps open. So a worker that ends
refuses nobody: connections wait until another one, or the next one, accepts them. The workers hold
the other end of a pipe, and end when this process is gone.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

from ..errors import HoldfastError, InvalidInput
from .waiting_table import Rows

log = logging.getLogger(__name__)

# Seconds between two looks at the workers.
TICK = 0.2
# Seconds before a worker that ended by itself is replaced, so that a broken one does not spin.
REST = 1.0
READY = b"ready\n"
STDIN = 0


class WorkerFailed(HoldfastError):
    """A worker of the server ended before it was ready. Its message is above."""


class Worker:
    """One server process, and whether it answers requests yet."""

    def __init__(
        self,
        command: Sequence[str],
        listener: int,
        rows: Rows,
    ) -> None:
        self._rows = rows
        self._row = rows.take()
        if self._row is not None:
            command = [*command, "--waiting", str(rows.file), str(self._row)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(listener, rows.file),
        )
        self._told_to_end = False

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def wait_until_ready(self) -> bool:
        """Wait until it answers requests; False if it ended before."""
        assert self._process.stdout is not None
        return self._process.stdout.readline() == READY

    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def end(self) -> None:
        """Let it finish its requests and end."""
        self._told_to_end = True
        self._rows.leave(self._row)
        self._process.terminate()

    def wait(self) -> None:
        """Wait until it has ended; log it if that went wrong."""
        code = self._process.wait()
        self._rows.free(self._row)
        # One that is still starting has no handler for the signal yet: it just ends.
        as_told = self._told_to_end and code == -signal.SIGTERM
        if code and not as_told:
            log.error("worker %d ended with code %d", self.pid, code)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class Workers:
    """The workers of one address."""

    def __init__(
        self,
        command: Sequence[str],
        listener: int,
        count: int,
    ) -> None:
        self._command = command
        self._listener = listener
        self._count = count
        self._rows = Rows()
        self._running: list[Worker] = []
        self._leaving: list[Worker] = []

    def start(self) -> None:
        """Start all workers; return when they answer. Raises WorkerFailed."""
        self._running = [self._worker() for _ in range(self._count)]
        ready = [worker.wait_until_ready() for worker in self._running]
        if not all(ready):
            self.end()
            raise WorkerFailed

    def tend(self, stop: threading.Event, renew: threading.Event) -> None:
        """Replace workers that ended, and all of them whenever `renew` is set, until `stop`."""
        while not stop.wait(TICK):
            if renew.is_set():
                renew.clear()
                self._renew(stop)
            for worker in [one for one in self._leaving if one.has_ended()]:
                self._leaving.remove(worker)
                worker.wait()
            for worker in [one for one in self._running if one.has_ended()]:
                log.error("worker %d ended by itself; another one is started", worker.pid)
                self._running.remove(worker)
                worker.wait()
                if not stop.wait(REST):
                    self._running.append(self._worker())

    def _worker(self) -> Worker:
        return Worker(self._command, self._listener, self._rows)

    def _renew(self, stop: threading.Event) -> None:
        """Replace one worker after the other; each ends when its successor answers."""
        for old in list(self._running):
            if stop.is_set():
                return
            new = self._worker()
            if not new.wait_until_ready():
                log.error("the new worker %d did not start; the old ones go on", new.pid)
                new.wait()
                return
            self._running[self._running.index(old)] = new
            self._leaving.append(old)
            old.end()

    def end(self) -> None:
        """End all workers, and return when they have ended."""
        for worker in self._running:
            worker.end()
        for worker in (*self._running, *self._leaving):
            worker.wait()
        self._running, self._leaving = [], []
        self._rows.close()


def check_supported() -> None:
    """Raise InvalidInput where a process cannot hand its socket to others."""
    if sys.platform == "win32":
        raise InvalidInput(
            "--workers needs Linux or macOS. Start one server without it, or several on other "
            "ports behind a proxy."
        )


def follow_parent(stop: threading.Event) -> None:
    """Set `stop` when the process that started this worker is gone."""

    def wait() -> None:
        # Nothing is ever written to the pipe; it ends with its writer. Not through `sys.stdin`:
        # a thread that waits in there makes the end of the interpreter fail.
        os.read(STDIN, 1)
        stop.set()

    threading.Thread(target=wait, name="holdfast-parent", daemon=True).start()


def announce_ready() -> None:
    """Tell the process that started this worker that it answers requests."""
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
