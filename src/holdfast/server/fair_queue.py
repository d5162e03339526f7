"""Limit of concurrent requests, with a fair queue: owners who wait take turns."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from starlette.exceptions import HTTPException

# Requests worked on at once. With the threads that embed, extract and sweep this stays below the
# ten connections to Postgres of a process, so a request that needs a second one always gets it.
# More would not be faster: Python computes in one thread at a time.
SLOTS = 6
ENDING = "The server is ending and has not begun this request. Send it again."


class FairQueue:
    """Slots for requests. Used from one event loop.

    However many requests one owner sends, another owner waits in each slot for at most one of them.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._free = slots
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        """By owner, whose turn is next first."""
        self._closed = False

    @asynccontextmanager
    async def slot(self, owner: Hashable) -> AsyncIterator[None]:
        """Wait for a slot, and hold it. Raises HTTPException (503) after `close`."""
        if self._closed:
            raise _refusal()
        if self._free:
            self._free -= 1
        else:
            await self._wait(owner)
        try:
            yield
        finally:
            self._pass_on()

    def close(self) -> None:
        """Refuse all waiting and new requests; those that hold a slot continue."""
        self._closed = True
        waiting, self._waiting = self._waiting, OrderedDict()
        for turns in waiting.values():
            for turn in turns:
                if not turn.done():
                    turn.set_exception(_refusal())

    async def _wait(self, owner: Hashable) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # It may have been given the slot in the same moment.
            if turn.done() and not turn.cancelled() and turn.exception() is None:
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


def _refusal() -> HTTPException:
    return HTTPException(503, ENDING, {"Retry-After": "1"})
