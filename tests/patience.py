"""How long the tests wait for something to happen before they give up."""

import time
from collections.abc import Callable

PATIENCE = 240
"""Seconds: a machine that runs ten times more than it has cores for takes its time to start a
process. No test waits that long unless something is broken; each waits for an event.
"""


def wait_until(done: Callable[[], bool], what: str = "it") -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, f"{what} did not come about"
        time.sleep(0.01)
