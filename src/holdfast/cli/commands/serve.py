"""Commands for the HTTP server and its API keys."""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import config
from ...errors import InvalidInput, MissingExtra
from ...types import SCOPE_KINDS, system_clock
from .. import output
from ..app import START, Json, MemoryMode, Scope, Store, app, json_time, open_memory, when
from ..signals import aside, ended_by_signals
from .audit_feedback import place_of

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...server.api_keys import KeyFile

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
    with (
        open_memory(store, scope, background=True, mode=memory_mode) as hf,
        closing(open_audit(_beside(hf, store), key_file=hf.settings.key_file)) as audit,
        closing(open_feedback(_beside(hf, store), key_file=hf.settings.key_file)) as feedback,
        process.listening(host, port, opened_by) as listener,
        ended_by_signals(stop),
    ):
        server = create_app(hf, opened_by, audit=audit, feedback=feedback)
        log_to_stderr()
        print(
            f"Serving {hf.store.location} at {process.url_of(listener)}  Ctrl-C ends it.",
            file=sys.stderr,
            flush=True,
        )
        if open_:
            typer.launch(process.url_of(listener))
        conversations = server.state.serving.conversations
        aside(partial(process.run, server, conversations, listener, stop))
        print("Stopped.", file=sys.stderr)


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
