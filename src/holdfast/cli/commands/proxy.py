"""Command for the OpenAI-compatible proxy."""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import Annotated

import typer

from ...errors import MissingExtra
from .. import output
from ..app import START, Json, MemoryMode, Scope, Store, app, open_memory
from ..signals import aside, ended_by_signals
from .serve import Host, KeysFile, Port, key_file, log_to_stderr

# Next to those of `serve` and `mcp --http`, so that all three can run.
PORT = 8767
INSTALL = "`holdfast proxy` needs {missing}. Install it with: pip install 'holdfast-memory[server]'"


@app.command(rich_help_panel=START)
def proxy(
    upstream: Annotated[
        str,
        typer.Option(
            "--upstream", metavar="URL", help="Base URL of the API, e.g. https://api.openai.com/v1."
        ),
    ],
    host: Host = "127.0.0.1",
    port: Port = PORT,
    keys: KeysFile = None,
    memory_mode: MemoryMode = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Give any OpenAI client memory: pass its requests to an API, add what is relevant, and
    remember what was said. Point OPENAI_BASE_URL at it.

    Example: holdfast proxy --upstream https://api.openai.com/v1
    """
    try:
        from ...server import process
        from ...server.proxy.proxy_app import Proxy
        from ...server.proxy.upstream import PREFIX, check_not_itself, check_upstream
    except ModuleNotFoundError as error:
        raise MissingExtra(INSTALL.format(missing=error.name)) from error

    check_upstream(upstream)
    stop = threading.Event()
    opened_by = key_file(keys)
    with (
        open_memory(store, scope, background=True, mode=memory_mode) as hf,
        process.listening(host, port, opened_by) as listener,
        ended_by_signals(stop),
    ):
        check_not_itself(upstream, listener)
        log_to_stderr()
        url = process.url_of(listener).rstrip("/") + PREFIX
        _tell(url, upstream, hf.store.location, as_json=as_json)
        served = Proxy(hf, upstream, opened_by)
        run = partial(process.run, served, served.conversations, listener, stop)
        # The upstream sends its own date.
        aside(partial(run, lifespan="on", date_header=False))
        print("Stopped.", file=sys.stderr)


def _tell(url: str, upstream: str, location: str, *, as_json: bool) -> None:
    """Print where the proxy is; it accepts requests already."""
    if as_json:
        output.emit({"url": url, "upstream": upstream, "store": location})
        # A script reads it while the proxy runs.
        sys.stdout.flush()
    print(
        f"OPENAI_BASE_URL={url}  passes on to {upstream}, remembers in {location}. Ctrl-C ends it.",
        file=sys.stderr,
        flush=True,
    )
