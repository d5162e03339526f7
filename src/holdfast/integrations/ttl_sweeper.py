"""Thread that removes expired items at an interval, until it is stopped or its store is
garbage-collected.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from threading import Event, Lock, Thread
from weakref import WeakMethod

log = logging.getLogger(__name__)


class Sweeper:
    """At most one sweeping thread. It holds the store weakly and does not keep a process alive."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        """`sweep` is a method that returns the number of removed items."""
        self._sweep = WeakMethod(sweep)
        self._lock = Lock()
        self._thread: Thread | None = None
        self._stop = Event()
        self._done = Future[None]()

    def start(self, minutes: float) -> Future[None]:
        """Return a future that completes when sweeping ends, and ends it when cancelled; the same
        one while it runs.
        """
        with self._lock:
            if self._is_running():
                return self._done
            self._stop = Event()
            self._done = Future[None]()
            # Bound here: a later start replaces the attribute, and this future must stop its own
            # thread.
            stop = self._stop
            self._done.add_done_callback(lambda done: stop.set() if done.cancelled() else None)
            future = (self._sweep, minutes * 60, stop, self._done)
            # A daemon thread: sweeping must not keep a process alive.
            self._thread = Thread(
                target=_sweep_every,
                args=future,
                daemon=True,
                name="holdfast-ttl-sweeper",
            )
            self._thread.start()
            return self._done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop sweeping; return whether it ended within the timeout or was not running."""
        with self._lock:
            self._stop.set()
            if self._thread is not None:
                self._thread.join(timeout)
            return not self._is_running()

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and not self._stop.is_set()


def _sweep_every(
    sweep: WeakMethod[Callable[[], int]],
    seconds: float,
    stop: Event,
    done: Future[None],
) -> None:
    while not stop.wait(seconds):
        now = sweep()
        if now is None:
            break
        try:
            now()
        except Exception as error:  # the next sweep retries, and there is no caller to report to
            log.warning("removal of expired items failed: %s", error)
        # A strong reference during the wait would keep the store from being collected.
        del now
    with suppress(InvalidStateError):  # the future was cancelled
        done.set_result(None)
