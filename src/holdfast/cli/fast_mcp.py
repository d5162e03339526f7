"""`holdfast mcp` over a pipe, after option parsing. Clients start it at every launch, so it loads
little.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from .. import config
from .open_store import open_memory

if TYPE_CHECKING:
    from ..client import Holdfast
    from ..server.mcp.tools import Tool

BY_HAND = (
    "Waiting for a client on standard input. `holdfast mcp install CLIENT` sets one up; "
    "Ctrl-C ends this."
)


def mcp(
    *,
    store: str | None = None,
    scope: list[str] | None = None,
    key_file: str | None = None,
    graph: bool = False,
) -> None:
    """Serve a client over standard input and output until it closes them."""
    from ..server.mcp.dispatch import Methods
    from ..server.mcp.stdio import own_pipes, serve

    if sys.stdin.isatty():
        print(BY_HAND, file=sys.stderr)
    with (
        config.using_key_file(key_file),
        own_pipes() as (source, sink),
        ExitStack() as stack,
    ):
        memory = Later(stack, lambda: open_memory(store, scope, background=True, index=False))
        serve(Methods(memory, tools_for(graph=graph)), source, sink)


class Later:
    """A memory that is opened on first use, once; a failed attempt is repeated on the next use."""

    def __init__(
        self, stack: ExitStack, open_: Callable[[], AbstractContextManager[Holdfast]]
    ) -> None:
        self._stack = stack
        self._open = open_
        self._lock = threading.Lock()
        self._memory: Holdfast | None = None

    def __call__(self) -> Holdfast:
        # Requests run in several threads; the memory must be opened once.
        with self._lock:
            if self._memory is None:
                self._memory = self._stack.enter_context(self._open())
            return self._memory


def tools_for(*, graph: bool) -> tuple[Tool, ...]:
    """Return the ten tools, or those of the reference knowledge-graph server."""
    if graph:
        from ..server.mcp.graph_tools import GRAPH_TOOLS

        return GRAPH_TOOLS
    from ..server.mcp.tools import TOOLS

    return TOOLS
