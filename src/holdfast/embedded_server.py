"""An HTTP server that this process runs itself: a port that is certainly ours, and an end when it
is told to.
"""

from __future__ import annotations

import socket
import sys
import threading
from typing import Any

import uvicorn

from .errors import InvalidInput

# Seconds for requests that are under way when the server ends.
GRACE = 2
# Connections that wait until they are answered.
WAITING = 100


def listen(host: str, port: int, *, advice: str) -> socket.socket:
    """A socket that listens; from here on nobody else can have the port, and requests wait for the
    server.

    InvalidInput, with the caller's advice, where that cannot be.
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
        # There it would let two programs have the port at once.
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(WAITING)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"Cannot listen on port {port} of {host}: {reason}. {advice}") from error
    return listener


def answer(app: Any, listener: socket.socket, stop: threading.Event, **settings: Any) -> None:
    """Lets an ASGI application answer what comes in, until `stop` is set."""
    chosen = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        **{"lifespan": "off", **settings},
    )
    _Server(chosen, stop).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that looks at `stop` whenever it looks after itself."""

    def __init__(self, settings: uvicorn.Config, stop: threading.Event) -> None:
        super().__init__(settings)
        self._stop = stop

    async def on_tick(self, counter: int) -> bool:
        """True when it is time to end."""
        return await super().on_tick(counter) or self._stop.is_set()
