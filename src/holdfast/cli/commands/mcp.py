"""Commands for the Model Context Protocol: the server, and its entry in client configurations."""

from __future__ import annotations

import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import InvalidInput, MissingExtra
from ...text.terminal import plain
from .. import confirm, output
from ..app import START, Json, Scopes, Store, Yes, app, open_memory
from ..fast_mcp import mcp as serve_by_pipe
from ..fast_mcp import tools_for
from ..open_store import project_folder_here
from ..signals import aside, ended_by_signals
from .serve import Host, KeysFile, Port, key_file, log_to_stderr

if TYPE_CHECKING:
    from ...coding_agents.programs import Level

PORT = 8766
INSTALL = (
    "`holdfast mcp --http` needs {missing}. Install it with: "
    "pip install 'holdfast-memory[mcp,server]'"
)
ClientName = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help="claude-code, codex, cursor, zed and others; `holdfast mcp status` shows all.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the change, make none and ask nothing.")
]
Graph = Annotated[
    bool,
    typer.Option("--graph", help="Offer the nine tools of the reference knowledge-graph server."),
]
mcp_app = typer.Typer(invoke_without_command=True)
app.add_typer(mcp_app, name="mcp", rich_help_panel=START)


@mcp_app.callback()
def mcp(
    context: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP instead of standard input and output.")
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    keys: KeysFile = None,
    graph: Graph = False,
    store: Store = None,
    scope: Scopes = None,
) -> None:
    """Serve memory to MCP clients over standard input and output, or over HTTP. `mcp install` adds
    it to a client's configuration.

    Example: holdfast mcp --http --port 8766
    """
    if context.invoked_subcommand is not None:
        return
    if http:
        _serve(host, port, keys, graph=graph, store=store, scope=scope)
    else:
        _check_by_pipe(context)
        serve_by_pipe(store=store, scope=scope, graph=graph)


def _check_by_pipe(context: typer.Context) -> None:
    """Raise if an option makes sense only for a server that listens: it would wait in silence."""
    for name in ("host", "port", "keys"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InvalidInput(f"--{name} is for a server over HTTP. Add --http.")


def _serve(
    host: str,
    port: int,
    keys: Path | None,
    *,
    graph: bool,
    store: str | None,
    scope: list[str] | None,
) -> None:
    try:
        from ...embedded_server import answer
        from ...server import process
        from ...server.mcp.http import PATH, create_app
    except ModuleNotFoundError as error:
        raise MissingExtra(INSTALL.format(missing=error.name)) from error
    from ...server.mcp.dispatch import Methods

    stop = threading.Event()
    file = key_file(keys)
    with (
        open_memory(store, scope, background=True, index=False) as hf,
        process.listening(host, port, file) as listener,
        ended_by_signals(stop),
    ):
        served = create_app(hf, Methods(lambda: hf, tools_for(graph=graph)), file, host=host)
        log_to_stderr()
        url = process.url_of(listener).rstrip("/") + PATH
        print(f"Serving {hf.store.location} at {url}  Ctrl-C ends it.", file=sys.stderr, flush=True)
        aside(
            partial(
                answer,
                served,
                listener,
                stop,
                # At once: clients up to 2025 keep a stream open for as long as they run.
                grace=0,
                overdue=served.end,
                lifespan="on",
            )
        )
        print("Stopped.", file=sys.stderr)


@mcp_app.command()
def install(
    client: ClientName = "",
    project: Annotated[
        bool | None,
        typer.Option(
            "--project/--user",
            help="For this project and all who share it, or for you everywhere (default).",
        ),
    ] = None,
    graph: Graph = False,
    store: Store = None,
    scope: Scopes = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    list_: Annotated[
        bool, typer.Option("--list", help="Show all clients with their state, like `mcp status`.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--uninstall", help="Take it out again, like `mcp uninstall`.")
    ] = False,
) -> None:
    """Add Holdfast to an MCP client's configuration. It shows the change and asks first.

    Example: holdfast mcp install claude-code --yes
    """
    if list_:
        status()
    elif not client:
        raise InvalidInput("Name a client. `holdfast mcp install --list` shows all.")
    elif remove:
        uninstall(client, project, yes=yes, dry_run=dry_run)
    else:
        _install(client, project, _options(graph=graph, store=store, scope=scope), yes, dry_run)


def _install(
    client: str,
    project: bool | None,
    options: list[str],
    yes: bool,
    dry_run: bool,
) -> None:
    from ...coding_agents.mcp_entry import ServerEntry
    from ...coding_agents.programs import server_target

    (level, *_) = _levels(client, project)
    target = server_target(client, level, project_folder_here())
    confirm.install(
        target,
        ServerEntry(options),
        f"Give {target.program.title} this memory?",
        after=target.program.after_server,
        yes=yes,
        dry_run=dry_run,
    )


@mcp_app.command()
def uninstall(
    client: ClientName,
    project: Annotated[
        bool | None,
        typer.Option("--project/--user", help="Only this project's, or only yours. Default: both."),
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Remove Holdfast from an MCP client's configuration. Everything else in the file stays, byte
    for byte.

    Example: holdfast mcp uninstall claude-code
    """
    from ...coding_agents.mcp_entry import ServerEntry
    from ...coding_agents.programs import server_target

    here = project_folder_here()
    targets = [server_target(client, level, here) for level in _levels(client, project)]
    confirm.uninstall(
        targets,
        ServerEntry(),
        "Take this out?",
        missing=f"Holdfast is not installed in {client}. Nothing was changed.",
        yes=yes,
        dry_run=dry_run,
    )


def _levels(client: str, project: bool | None) -> tuple[Level, ...]:
    """Return the level that was asked for, or all that the client has, the usual one first."""
    from ...coding_agents.programs import server_levels

    if project is None:
        return server_levels(client)
    return ("project" if project else "user",)


@mcp_app.command()
def status(as_json: Json = False) -> None:
    """Show which MCP clients use Holdfast. Problems are named with their fix.

    Example: holdfast mcp status --json
    """
    from ...coding_agents.mcp_entry import entry_states

    every = entry_states(project_folder_here())
    if as_json:
        output.emit([one._asdict() | {"file": str(one.file)} for one in every])
        return
    for one in every:
        print(f"{one.client} ({one.level}): {plain(one.state)}  {plain(str(one.file))}")


def _options(
    *,
    graph: bool,
    store: str | None,
    scope: list[str] | None,
) -> list[str]:
    """Return the same options for the client's command, with an absolute path."""
    # A client may start the server in any folder.
    at = (
        []
        if store is None
        else ["--store", store if "://" in store else str(Path(store).expanduser().resolve())]
    )
    return [
        *at,
        *(word for one in scope or () for word in ("--scope", one)),
        *(["--graph"] if graph else []),
    ]
