"""Limit of concurrent requests, with a fair queue: owners who wait take turns."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException

from .waiting_table import WaitingTable

# Requests worked on at once. With the threads that embed, extract and sweep this stays below the
# ten connections to Postgres of a process, so a request that needs a second one always gets it.
# More would not be faster: Python computes in one thread at a time.
SLOTS = 6
ENDING = "The server is ending and has not begun this request. Send it again."


@dataclass(slots=True)
class _Line:
    """The requests of one owner that wait."""

    rounds: int
    """How often the owner's turn has come since the last one that was taken."""
    turns: deque[asyncio.Future[None]] = field(default_factory=deque)


class FairQueue:
    """Slots for requests. Used from one event loop.

    However many requests one owner sends, another owner waits in each slot for at most one of them.
    A slot that an owner took while nobody waited counts as a turn. An owner who waits in several
    processes of one address passes over turns in each, so that all together are as many as those of
    an owner who waits in one.
    """

    def __init__(
        self,
        slots: int = SLOTS,
        table: WaitingTable | None = None,
    ) -> None:
        self._free = slots
        self._table = table
        self._waiting: OrderedDict[Hashable, _Line] = OrderedDict()
        """By owner, whose turn is next first."""
        self._held: Counter[Hashable] = Counter()
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
        self._held[owner] += 1
        try:
            yield
        finally:
            self._held[owner] -= 1
            if not self._held[owner]:
                del self._held[owner]
            self._pass_on()

    def is_crowded(self) -> bool:
        """Whether far more owners wait here than in another process of the same address."""
        return self._table is not None and self._table.is_crowded()

    def close(self) -> None:
        """Refuse all waiting and new requests; those that hold a slot continue."""
        self._closed = True
        while self._waiting:
            owner, line = self._waiting.popitem()
            self._left(owner)
            for turn in line.turns:
                if not turn.done():
                    turn.set_exception(_refusal())

    async def _wait(self, owner: Hashable) -> None:
        turn = asyncio.get_running_loop().create_future()
        if owner not in self._waiting:
            # The slots that it took while nobody waited were turns, too.
            self._waiting[owner] = _Line(rounds=-self._held[owner])
            if self._table is not None:
                self._table.enter(owner)
        self._waiting[owner].turns.append(turn)
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
            owner, line = self._waiting.popitem(last=False)
            while line.turns and line.turns[0].done():
                line.turns.popleft()
            turn = self._take(owner, line)
            if line.turns:
                self._waiting[owner] = line
            else:
                self._left(owner)
            if turn is not None:
                turn.set_result(None)
                return
        self._free += 1

    def _take(
        self,
        owner: Hashable,
        line: _Line,
    ) -> asyncio.Future[None] | None:
        """Return the request whose turn it is; None if the owner passes it over."""
        line.rounds += 1
        places = 1 if self._table is None else self._table.places(owner)
        if not line.turns or line.rounds < places:
            return None
        line.rounds = 0
        return line.turns.popleft()

    def _left(self, owner: Hashable) -> None:
        if self._table is not None:
            self._table.leave(owner)


def _refusal() -> HTTPException:
    return HTTPException(503, ENDING, {"Retry-After": "1"})
