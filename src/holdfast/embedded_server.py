"""HTTP server inside this process: binds its port before it starts and stops on an event."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .errors import InvalidInput

# Seconds that open requests get to finish on shutdown.
GRACE = 2
# Further seconds for running requests, after those that have not begun were refused.
LAST_SECONDS = 5
# Seconds that a connection accepted just before the shutdown gets to send its first request.
FIRST_REQUEST = 2.0
# Seconds after an answer in which the next request may be on its way, from a client that was not
# told then that the connection ends.
NEXT_REQUEST = 0.5
# Backlog of connections that wait to be accepted; the system may allow fewer.
WAITING = 2048


def listen(
    host: str,
    port: int,
    *,
    advice: str,
) -> socket.socket:
    """Bind a listening socket. From here on the port is ours, and requests wait for the server.

    Raises InvalidInput with the caller's advice if the port cannot be bound.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise InvalidInput(
            f"{host!r} is not a host to listen on: {error.strerror or error}."
        ) from error
    listener = socket.socket(family, kind, protocol)
    try:
        # On Windows this option would let two programs bind the same port.
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(WAITING)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"Cannot listen on port {port} of {host}: {reason}. {advice}") from error
    return listener


def answer(
    app: Any,
    listener: socket.socket,
    stop: threading.Event,
    *,
    grace: int = GRACE,
    started: Callable[[], None] = lambda: None,
    overdue: Callable[[], None] | None = None,
    **settings: Any,
) -> None:
    """Serve an ASGI application until `stop` is set; `started` is called when it answers.

    `overdue` is called in the event loop if requests are open `grace` seconds later. It answers
    those that have not begun; without it, they are cut off.
    """
    ending = threading.Event()
    chosen = uvicorn.Config(
        _told_when(ending, app),
        http="h11",
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=grace if overdue is None else grace + LAST_SECONDS,
        # Connections accepted at once, for asyncio. With more, the first of several processes on
        # one socket would take them all.
        backlog=1,
        **{"lifespan": "off", **settings},
    )
    server = _Server(chosen, stop, ending, started)
    if overdue is not None:
        server.overdue = (grace, overdue)
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Server that also checks `stop` on each tick."""

    def __init__(
        self,
        settings: uvicorn.Config,
        stop: threading.Event,
        ending: threading.Event,
        started: Callable[[], None],
    ) -> None:
        super().__init__(settings)
        self._stop = stop
        self._ending = ending
        self._begun = started
        self.overdue: tuple[float, Callable[[], None]] | None = None
        """Seconds after the begin of the shutdown, and what to call then."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer."""
        await super().startup(sockets)
        for one in sockets or ():
            # asyncio has shortened the queue to its own backlog.
            one.listen(WAITING)
        self._begun()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and wait for open requests."""
        self._ending.set()
        await self._stop_accepting(sockets or [])
        await self._wait_for_requests_on_their_way()
        if self.overdue is None:
            await super().shutdown(sockets)
            return
        waiting = asyncio.get_running_loop().call_later(*self.overdue)
        try:
            await super().shutdown(sockets)
        finally:
            waiting.cancel()

    async def on_tick(self, counter: int) -> bool:
        """Return True to shut down."""
        return await super().on_tick(counter) or self._stop.is_set()

    async def _stop_accepting(self, sockets: list[socket.socket]) -> None:
        """Close the listeners without losing a connection that has just been accepted.

        asyncio drops a connection whose task has not begun when its server closes.
        """
        if sys.platform != "win32":  # its event loop has no readers
            for one in sockets:
                asyncio.get_running_loop().remove_reader(one)
            for _ in range(3):  # accepted, connected, the first bytes read
                await asyncio.sleep(0)
        for server in self.servers:
            server.close()
        for one in sockets:
            one.close()

    async def _wait_for_requests_on_their_way(self) -> None:
        """Wait for connections that are about to send a request: uvicorn closes them unanswered."""
        now = asyncio.get_running_loop().time
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_REQUEST):
                while any(_may_send(one, now()) for one in self.server_state.connections):
                    await asyncio.sleep(0.01)


def _may_send(connection: object, now: float) -> bool:
    """Whether a connection has sent no request yet, or was answered a moment ago."""
    if not isinstance(connection, H11Protocol):
        return False
    if connection.cycle is None:
        return True
    # Set with each answer, and removed when the next request comes.
    idle = connection.timeout_keep_alive_task
    return idle is not None and now - (idle.when() - connection.timeout_keep_alive) < NEXT_REQUEST


def _told_when(ending: threading.Event, app: Any) -> Any:
    """Return the application, whose answers say when the connection ends with them. Otherwise a
    client would send its next request on a connection that is being closed.
    """

    async def told(
        scope: Any,
        receive: Any,
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        async def last(message: Any) -> None:
            if message["type"] == "http.response.start" and ending.is_set():
                others = [one for one in message.get("headers", ()) if one[0] != b"connection"]
                message = {**message, "headers": [*others, (b"connection", b"close")]}
            await send(message)

        await app(scope, receive, last)

    return told
