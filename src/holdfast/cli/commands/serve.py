"""Commands for the HTTP server and its API keys."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import config, retention_mode
from ...errors import InvalidInput, MissingExtra, StoreError
from ...types import SCOPE_KINDS, system_clock
from .. import output
from ..app import START, Json, MemoryMode, Scope, Store, app, json_time, open_memory, when
from ..signals import aside, ended_by_signals
from .audit_feedback import place_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ...client import Holdfast
    from ...server.api_keys import KeyFile
    from ...server.shared_ratelimit import SharedBuckets
    from ...server.waiting_table import WaitingTable

PORT = 8765
INSTALL = "`holdfast serve` needs {missing}. Install it with: pip install 'holdfast-memory[server]'"
serve_app = typer.Typer(invoke_without_command=True)
keys_app = typer.Typer(
    no_args_is_help=True,
    help="""Manage the keys of the HTTP API. Each key opens the memory of one owner.

Example: holdfast serve keys add alice""",
)
app.add_typer(serve_app, name="serve", rich_help_panel=START)
serve_app.add_typer(keys_app, name="keys")

KeysFile = Annotated[
    Path | None,
    typer.Option(
        "--keys", metavar="FILE", help="File with the keys. Default: keys.jsonl beside config.toml."
    ),
]
Host = Annotated[
    str, typer.Option("--host", help="Address to listen on; other addresses need keys.")
]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 picks a free one.")]
MOST_WORKERS = 64
Count = Annotated[
    int,
    typer.Option(
        "--workers",
        min=1,
        max=MOST_WORKERS,
        help="Server processes behind this address; SIGHUP renews them one by one.",
    ),
]
Listener = Annotated[
    int | None,
    typer.Option("--listener", hidden=True, help="Listening socket of the parent process."),
]
Waiting = Annotated[
    tuple[int, int] | None,
    typer.Option("--waiting", hidden=True, help="Table of the parent process, and the row."),
]


@serve_app.callback()
def serve(
    context: typer.Context,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    keys: KeysFile = None,
    memory_mode: MemoryMode = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Show the Memory page in the browser.")
    ] = False,
    workers: Count = 1,
    inherited: Listener = None,
    waiting: Waiting = None,
    store: Store = None,
    scope: Scope = None,
) -> None:
    """Serve memory over HTTP, with a web page to inspect, correct and forget it. Without keys it
    listens on this machine only.

    Example: holdfast serve --open
    """
    if context.invoked_subcommand is not None:
        return
    try:
        from ...server import process
        from ...server.http_app import create_app
    except ModuleNotFoundError as error:
        raise MissingExtra(INSTALL.format(missing=error.name)) from error
    from ...audit import open_audit
    from ...feedback import open_feedback

    stop = threading.Event()
    opened_by = key_file(keys)
    if workers > 1 and inherited is None:
        options = _options(store=store, scope=scope, keys=keys, memory_mode=memory_mode)
        with process.listening(host, port, opened_by) as listener, ended_by_signals(stop):
            _supervise(listener, workers, options, stop, open_=open_)
        return
    with (
        open_memory(store, scope, background=True, mode=memory_mode) as hf,
        closing(open_audit(_beside(hf, store), key_file=hf.settings.key_file)) as audit,
        closing(open_feedback(_beside(hf, store), key_file=hf.settings.key_file)) as feedback,
        _limits(hf, store, shared=inherited is not None) as buckets,
        _waiting(waiting) as table,
        _listener(inherited) or process.listening(host, port, opened_by) as listener,
        ended_by_signals(stop),
    ):
        server = create_app(
            hf,
            opened_by,
            audit=audit,
            feedback=feedback,
            buckets=buckets,
            waiting=table,
        )
        log_to_stderr()
        if inherited is None:
            _tell(hf.store.location, listener, open_=open_)
        _run(server, listener, stop, is_worker=inherited is not None, waiting=table)


def _run(
    server: FastAPI,
    listener: socket.socket,
    stop: threading.Event,
    *,
    is_worker: bool,
    waiting: WaitingTable | None,
) -> None:
    """Answer requests until `stop` is set; a worker tells its parent, a server the person."""
    from ...server import process
    from ...server.workers import announce_ready, follow_parent

    serving = server.state.serving
    run = partial(
        process.run, server, serving.conversations, listener, stop, overdue=serving.queue.close
    )

    def announce() -> None:
        if waiting is not None:
            waiting.accept()
        announce_ready()

    if is_worker:
        follow_parent(stop)
        aside(partial(run, started=announce))
    else:
        aside(run)
        print("Stopped.", file=sys.stderr)


def _listener(inherited: int | None) -> socket.socket | None:
    return None if inherited is None else socket.socket(fileno=inherited)


def _tell(
    location: str,
    listener: socket.socket,
    *,
    workers: int = 1,
    open_: bool,
) -> None:
    """Say where the server answers, and show it if asked to."""
    from ...server import process

    several = f" with {workers} workers" if workers > 1 else ""
    url = process.url_of(listener)
    print(f"Serving {location} at {url}{several}  Ctrl-C ends it.", file=sys.stderr, flush=True)
    if open_:
        typer.launch(url)


def _options(
    *, store: str | None, scope: str | None, keys: Path | None, memory_mode: str | None
) -> dict[str, str | None]:
    """Return the options of a worker, which are those of its parent."""
    return {
        "--store": store,
        "--scope": scope,
        "--keys": None if keys is None else str(keys),
        "--memory-mode": memory_mode,
    }


def _check_workers(memory_mode: str | None) -> None:
    """Raise InvalidInput where a server cannot have several processes."""
    from ...server.workers import check_supported

    check_supported()
    if retention_mode.chosen(config.load().memory_mode, memory_mode) == "incognito":
        raise InvalidInput(
            "The memory of an incognito server is in its process, so it cannot have several. "
            "Leave --workers out."
        )


def _supervise(
    listener: socket.socket,
    count: int,
    options: dict[str, str | None],
    stop: threading.Event,
    *,
    open_: bool,
) -> None:
    """Run several workers on one socket until `stop` is set; `options` are those of each worker."""
    from ...server.workers import Workers
    from ...storage.connect import shown

    _check_workers(options["--memory-mode"])
    number = listener.fileno()
    command = [sys.executable, "-m", "holdfast", "serve", "--listener", str(number)]
    for name, value in options.items():
        command += [] if value is None else [name, value]
    workers = Workers(command, number, count)
    renew = threading.Event()
    before = signal.signal(signal.SIGHUP, lambda *_: renew.set())
    log_to_stderr()
    try:
        workers.start()
        location = shown(place_of(options["--store"]))
        _tell(location, listener, workers=count, open_=open_)
        workers.tend(stop, renew)
    finally:
        workers.end()
        signal.signal(signal.SIGHUP, before)
    print("Stopped.", file=sys.stderr)


@contextmanager
def _limits(hf: Holdfast, store: str | None, *, shared: bool) -> Iterator[SharedBuckets | None]:
    """Yield the rate limits that server processes of one store share; None for limits of this
    process alone.

    On a Postgres server there may be others, also on other machines; beside a file only the other
    workers of the same address.
    """
    from ...server.shared_ratelimit import SharedBuckets, open_limits
    from ...storage.connect import is_server

    place = _beside(hf, store)
    with ExitStack() as stack:
        if not shared and not is_server(place):
            yield None
            return
        try:
            table = stack.enter_context(closing(open_limits(place, key_file=hf.settings.key_file)))
        except StoreError as error:
            print(
                f"Warning: every server process counts its requests alone. {error}",
                file=sys.stderr,
            )
            yield None
            return
        yield SharedBuckets(table, hf.settings.rate_limit)


@contextmanager
def _waiting(inherited: tuple[int, int] | None) -> Iterator[WaitingTable | None]:
    """Yield the table where workers of one address see in how many an owner waits."""
    from ...server.waiting_table import WaitingTable

    if inherited is None:
        yield None
        return
    with closing(WaitingTable(*inherited)) as table:
        yield table


def _beside(hf: Holdfast, store: str | None) -> str | Path:
    """Location of the separate files: next to the store, or in memory for an incognito one."""
    return ":memory:" if hf.mode == "incognito" else place_of(store)


def log_to_stderr() -> None:
    """Log one line per request to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("holdfast.server")
    # A configured root logger would print every line again.
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


def key_file(path: Path | None) -> KeyFile:
    """Return the key file, by default the one next to config.toml."""
    from ...server.api_keys import KeyFile

    return KeyFile(path.expanduser() if path else config.config_file().with_name("keys.jsonl"))


@keys_app.command("add")
def add_key(
    owner: Annotated[
        str, typer.Argument(metavar="OWNER", help="Whose memory it opens: alice, or user:alice.")
    ],
    admin: Annotated[
        bool,
        typer.Option("--admin", help="Also open the figures of the server, but nobody's memories."),
    ] = False,
    keys: KeysFile = None,
    as_json: Json = False,
) -> None:
    """Create an API key for one owner. It is shown once, and the file stores only a hash.

    Example: holdfast serve keys add alice
    """
    file = key_file(keys)
    user = _user(owner)
    key = file.add(user, at=system_clock(), admin=admin)
    if as_json:
        output.emit({"owner": user, "key": key, "admin": admin, "file": str(file.path)})
        return
    print(key)
    print(
        f"It opens the memory of user:{user} and is not shown again. Keys are in {file.path}.",
        file=sys.stderr,
    )


def _user(owner: str) -> str:
    """Return the user id of an owner, given as an id or a scope. Raises InvalidInput."""
    kind, _, key = owner.partition(":")
    if key and kind in SCOPE_KINDS and kind != "user":
        raise InvalidInput(
            f"A key opens the memory of a user, and {owner} is none. No key was made."
        )
    return key if key and kind == "user" else owner


@keys_app.command("list")
def list_keys(keys: KeysFile = None, as_json: Json = False) -> None:
    """List the valid API keys and their owners. The secrets are not shown.

    Example: holdfast serve keys list
    """
    found = list(key_file(keys))
    if as_json:
        output.emit(
            [
                {
                    "id": one.id,
                    "owner": one.owner,
                    "admin": one.admin,
                    "created_at": json_time(one.created_at),
                }
                for one in found
            ]
        )
        return
    rows = [
        (one.id, one.owner, "admin" if one.admin else "", when(one.created_at)) for one in found
    ]
    output.table(
        ("id", "owner", "opens", "made"), rows, empty="No keys: only this machine is answered."
    )


@keys_app.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(metavar="ID", help="The id that `list` shows.")],
    keys: KeysFile = None,
    as_json: Json = False,
) -> None:
    """Revoke an API key. A running server refuses it at once.

    Example: holdfast serve keys revoke key_01
    """
    revoked = key_file(keys).revoke(key, at=system_clock())
    if as_json:
        output.emit({"revoked": revoked.id, "owner": revoked.owner})
    else:
        print(f"Revoked {revoked.id} of {revoked.owner}.")
