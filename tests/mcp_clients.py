"""The official SDK's own client, in this process, talking to real servers: started by pipe, or
found by HTTP.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from httpx2 import AsyncClient
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import Implementation

from holdfast.cli.fast_mcp import tools_for
from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.embedded_server import answer
from holdfast.server.api_keys import KeyFile
from holdfast.server.mcp.dispatch import Methods
from holdfast.server.mcp.http import PATH, create_app
from holdfast.server.process import listening, url_of
from patience import PATIENCE

HOLDFAST = (sys.executable, "-m", "holdfast")
WORDS = {"HOLDFAST_EMBEDDING_MODELS": "none"}


class Connected:
    """A client that is connected, with its verbs as plain calls."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client, self._portal = client, portal
        self.notified: Queue[Any] = Queue()
        """Notifications of the server, as they came."""

    def ask(self, verb: str, *args: Any, **options: Any) -> Any:
        """Any method of the client."""
        return self._portal.call(partial(getattr(self.client, verb), *args, **options))

    @contextmanager
    def listening(self, uri: str) -> Iterator[Callable[[], str]]:
        """Changes of a resource, in the way of the client's era; gives the next one's URL."""
        if self.client.protocol_version >= "2026":
            stream = self.client.listen(resource_subscriptions=[uri])
            with self._portal.wrap_async_context_manager(stream) as events:
                yield lambda: str(self._portal.call(events.__anext__).uri)
        else:
            with warnings.catch_warnings():
                # For clients up to 2025 these methods are the way.
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                self.ask("subscribe_resource", uri)
                yield lambda: str(self.notified.get(timeout=PATIENCE).params.uri)
                self.ask("unsubscribe_resource", uri)

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        return self.ask("call_tool", tool, arguments)

    def data(self, tool: str, **arguments: Any) -> Any:
        """What a tool gives, as data; it must not fail."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content[0].text
        return result.structured_content

    def said(self, tool: str, **arguments: Any) -> str:
        """What a tool says."""
        return str(self.call(tool, **arguments).content[0].text)


@contextmanager
def connected(server: Any, *, mode: str = "auto", name: str = "tests") -> Iterator[Connected]:
    """A client of a server: parameters of a process, or a URL."""
    notified: Queue[Any] = Queue()

    async def note(message: Any) -> None:
        notified.put(message)

    known = Client(
        server,
        mode=mode,
        message_handler=note,
        client_info=Implementation(name=name, version="1"),
        read_timeout_seconds=PATIENCE,
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(known) as client:
        held = Connected(client, portal)
        held.notified = notified
        yield held


def by_pipe(
    store: Path | str, *options: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> Any:
    """How a client starts the server."""
    command, *words = (*HOLDFAST, "mcp", "--store", str(store), *options)
    return StdioServerParameters(
        command=command, args=words, cwd=cwd, env={**os.environ, **WORDS, **(env or {})}
    )


@asynccontextmanager
async def shown(url: str, key: str) -> AsyncIterator[Any]:
    """A URL together with the key that is shown there."""
    async with (
        AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


@contextmanager
def served(
    store: Path | str, *scopes: str, settings: Settings | None = None, graph: bool = False
) -> Iterator[str]:
    """A server in a thread of this process, which need not load the SDK again; its URL."""
    chosen, stop, keys = (
        settings or Settings(embedding_models="none"),
        threading.Event(),
        KeyFile(Path("/no/keys")),
    )
    with (
        Holdfast.open(store, scope=scopes, settings=chosen, background=False) as hf,
        listening("127.0.0.1", 0, keys) as listener,
    ):
        app = create_app(hf, Methods(lambda: hf, tools_for(graph=graph)), keys, host="127.0.0.1")
        serve = partial(answer, app, listener, stop, grace=0, overdue=app.end, lifespan="on")
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield url_of(listener).rstrip("/") + PATH
        finally:
            stop.set()
            thread.join()


@contextmanager
def by_http(store: Path | str, *options: str, env: dict[str, str] | None = None) -> Iterator[str]:
    """A server in a process of its own, until the end of the block; its URL."""
    command = [*HOLDFAST, "mcp", "--http", "--port", "0", "--store", str(store), *options]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **WORDS, **(env or {})}
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        url = re.search(r"http://\S+", line)
        assert url, line + process.communicate(timeout=PATIENCE)[1]
        yield url[0]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
