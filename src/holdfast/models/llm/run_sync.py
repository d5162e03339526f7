"""Calling awaitable clients from synchronous code, whether or not the caller sits inside an event
loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import lru_cache
from threading import Lock, Thread
from typing import TypeVar

T = TypeVar("T")
_STARTING = Lock()


def wait_for(
    work: Coroutine[object, object, T],
    *,
    timeout: float | None,
    started: Callable[[Future[T]], object] = lambda future: None,
) -> T:
    """What `work` returns or raises; TimeoutError after `timeout` seconds.

    Whoever stops waiting, because of the time or a Ctrl-C, has `work` cancelled. Another thread can
    do so by the future that `started` is given: `concurrent.futures.CancelledError` is then raised
    here.

    All work of a process runs in one loop on one thread, so that clients may keep their
    connections.
    """
    future = asyncio.run_coroutine_threadsafe(work, _running_loop())
    try:
        started(future)
        return future.result(timeout)
    except BaseException:
        # What has ended already is not touched by this.
        future.cancel()
        raise


def _running_loop() -> asyncio.AbstractEventLoop:
    with _STARTING:
        # A forked child has the loop but not its thread.
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
