"""How many requests are worked on at once, and whose is next: owners who wait take turns."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

# Requests worked on at once. With the threads that embed, extract and sweep this stays below the
# ten connections to Postgres of a process, so a request that needs a second one always gets it.
# More would not be faster: Python computes in one thread at a time.
SLOTS = 6


class FairQueue:
    """Slots for requests. Used from one event loop.

    However many requests an owner sends at once, another owner waits for one of them at most in
    each slot.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._free = slots
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        """By owner, whose turn is next first."""

    @asynccontextmanager
    async def slot(self, owner: Hashable) -> AsyncIterator[None]:
        """Wait for a slot, and hold it."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(owner)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, owner: Hashable) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # It may have been given the slot in the same moment.
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give the slot to the owner whose turn it is."""
        while self._waiting:
            owner, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[owner] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
