"""Run awaitable clients from synchronous code, inside or outside an event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import lru_cache
from threading import Lock, Thread
from typing import TypeVar

T = TypeVar("T")
# `lru_cache` alone could start two loops if two threads call at the same time.
_STARTING = Lock()


def wait_for(
    work: Coroutine[object, object, T],
    *,
    timeout: float | None,
    started: Callable[[Future[T]], object] = lambda future: None,
) -> T:
    """Run `work` and return its result; raises TimeoutError after `timeout` seconds.

    A timeout or Ctrl-C cancels `work`. Another thread can cancel it through the future passed to
    `started`; then this raises `concurrent.futures.CancelledError`.

    All work of a process runs in one loop on one thread, so that clients can keep connections open.
    """
    future = asyncio.run_coroutine_threadsafe(work, _running_loop())
    try:
        started(future)
        return future.result(timeout)
    except BaseException:
        # No effect if the work has already finished.
        future.cancel()
        raise


def _running_loop() -> asyncio.AbstractEventLoop:
    with _STARTING:
        # Keyed by process: a forked child inherits the loop but not its thread.
        return _start(os.getpid())


@lru_cache(maxsize=1)
def _start(_pid: int) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(
        target=loop.run_forever,
        name="holdfast-outside",
        daemon=True,
    ).start()
    return loop
