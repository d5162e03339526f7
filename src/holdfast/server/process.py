"""The server process: listen, end idle sessions, shut down cleanly."""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
from typing import Any

from starlette.types import ASGIApp

from ..embedded_server import answer, listen
from ..errors import InvalidInput
from .api_keys import KeyFile
from .session_watch import Conversations

log = logging.getLogger(__name__)

EVERY_MINUTE = 60.0  # seconds
# Seconds that an idle connection is kept.
KEEP_ALIVE = 15
# Seconds that requests get to begin on shutdown. They need far less, unless very many wait.
GRACE = 20


def listening(
    host: str,
    port: int,
    keys: KeyFile,
) -> socket.socket:
    """Return a listening socket, or raise the reason. Requests queue until the server runs."""
    if not keys.needed and not is_loopback(host):
        raise InvalidInput(
            f"Without keys, anyone who can reach {host} could read and change every memory. "
            "Create one with `holdfast serve keys add OWNER`, or listen on 127.0.0.1."
        )
    return listen(
        host,
        port,
        advice="Choose another --port, or 0 for any free one.",
    )


def is_loopback(host: str) -> bool:
    """Whether a host is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(listener: socket.socket) -> str:
    """Return the URL for a browser."""
    host, port = listener.getsockname()[:2]
    # A browser cannot open the wildcard address.
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


def run(
    app: ASGIApp,
    conversations: Conversations,
    listener: socket.socket,
    stop: threading.Event,
    **settings: Any,
) -> None:
    """Serve requests until `stop` is set, then end the sessions of this server.

    `settings` are those of uvicorn.
    """
    # A daemon thread: it must not delay the shutdown.
    sweeper = threading.Thread(
        target=_sweep,
        args=(conversations, stop),
        name="holdfast-idle",
        daemon=True,
    )
    sweeper.start()
    try:
        answer(app, listener, stop, grace=GRACE, timeout_keep_alive=KEEP_ALIVE, **settings)
    finally:
        # Order: the sweeper must have ended before `close` extracts from the same sessions.
        stop.set()
        sweeper.join()
        conversations.close()


def _sweep(conversations: Conversations, stop: threading.Event) -> None:
    # End the sessions that a killed server left open.
    conversations.tend(stop)
    while not stop.wait(EVERY_MINUTE):
        conversations.tend(stop)
