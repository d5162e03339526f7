"""Stop a long command on Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def ended_by_signals(stop: threading.Event) -> Iterator[None]:
    """Set `stop` on Ctrl-C and SIGTERM, so that work ends after its current step."""
    # Restored afterwards: the caller may have its own handlers.
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def aside(run: Callable[[], T]) -> T:
    """Call `run` in another thread, so that a signal handler in this thread can set the event it
    waits for.
    """
    with ThreadPoolExecutor(1, "holdfast-work") as thread:
        result = thread.submit(run)
        # Wait in short steps: Python runs a signal handler only between two of them.
        while not result.done():
            wait([result], timeout=0.5)
        return result.result()
