"""The command-line app: its commands, their shared options, and the entry point."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__, config
from ..errors import HoldfastError, InvalidInput
from .exit_codes import outcome
from .open_store import here, open_memory, parse_time, text_or_stdin, undo_command
from .output import json_time, when

# Re-exported so that command modules import their helpers and options from one place.
__all__ = [
    "here",
    "json_time",
    "open_memory",
    "parse_time",
    "text_or_stdin",
    "undo_command",
    "when",
]


KEY_FILE_HELP = "Key file of an encrypted memory file, or keyring:NAME. none: it is not encrypted."


class Root(TyperGroup):
    """Top-level command group: suggests our name for a command of another tool, and gives every
    command with --store the option --key-file.
    """

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        _add_key_file(self)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the named command; fail with a suggestion for a name of another tool."""
        here = OTHER_NAMES.get(args[0])
        if here is not None:
            ctx.fail(f"No such command {args[0]!r}. Did you mean `holdfast {here}`?")
        return super().resolve_command(ctx, args)


HELP_OPTIONS = ["-h", "--help"]


def _use_key_file(context: typer.Context, value: str | None) -> None:
    context.with_resource(config.using_key_file(value))


def _with_key_file(
    key_file: Annotated[
        str | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            help=KEY_FILE_HELP,
            # Commands read it from the settings, where HOLDFAST_KEY_FILE is too.
            expose_value=False,
            callback=_use_key_file,
        ),
    ] = None,
) -> None:
    """A command with nothing but the option."""


@cache
def _key_file_option() -> Any:
    one = typer.Typer(add_completion=False)
    one.command()(_with_key_file)
    return next(
        option for option in typer.main.get_command(one).params if option.name == "key_file"
    )


def _add_key_file(group: Any) -> None:
    for command in group.commands.values():
        names = [parameter.name for parameter in command.params]
        if hasattr(command, "commands"):
            _add_key_file(command)
        if "store" in names and "key_file" not in names:
            command.params.insert(names.index("store") + 1, _key_file_option())


app = typer.Typer(
    name="holdfast",
    cls=Root,
    help="Long-term memory for AI agents: one file that remembers, recalls, explains and undoes.",
    # `holdfast` alone prints an overview instead of an error.
    invoke_without_command=True,
    context_settings={"help_option_names": HELP_OPTIONS},
    rich_markup_mode="rich",
    # Errors are reported by `outcome`, and a traceback could show text of memories.
    pretty_exceptions_enable=False,
)

START = "Start here"
WRITING = "Write"
READING = "Read"
UPKEEP = "Look after"


def complete_ids(incomplete: str) -> list[tuple[str, str]]:
    """Ids with the typed prefix, newest first, with their text, for shell completion."""
    try:
        with open_memory(None, None) as hf:
            # Completion runs at every Tab, so it reads a bounded number of memories.
            every = hf.list(statuses=("active", "archived", "superseded"), limit=500)
            fitting = [one for one in every if one.id.startswith(incomplete)]
            return [(one.id, one.content[:60]) for one in fitting[:50]]
    except HoldfastError:
        return []


def complete_scopes(incomplete: str) -> list[str]:
    """Scopes of the default store with the typed prefix."""
    try:
        with open_memory(None, None) as hf:
            return [str(scope) for scope in hf.store.scopes() if str(scope).startswith(incomplete)]
    except HoldfastError:
        return []


Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PATH|URL",
        help="Memory file or postgresql:// URL. Default: the per-user file.",
    ),
]
KeyFile = Annotated[str | None, typer.Option("--key-file", metavar="FILE", help=KEY_FILE_HELP)]
Scope = Annotated[
    str | None,
    typer.Option(
        "--scope",
        metavar="KIND:KEY",
        help="Whose memory, e.g. user:alice, project:acme. Default: user:<login>.",
        autocompletion=complete_scopes,
    ),
]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="KIND:KEY",
        help="Whose memory (repeatable). Default: user:<login>.",
        autocompletion=complete_scopes,
    ),
]
MemoryMode = Annotated[
    str | None,
    typer.Option(
        "--memory-mode",
        metavar="MODE",
        help="Memory mode: incognito (or guest), local, synced.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Id = Annotated[
    str, typer.Argument(metavar="ID", help="Id or number of a memory.", autocompletion=complete_ids)
]
Ids = Annotated[
    list[str],
    typer.Argument(metavar="ID…", help="Ids or numbers of memories.", autocompletion=complete_ids),
]


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask for confirmation. Without a terminal, raise InvalidInput unless `yes` is set."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"{question} Nobody can be asked here, so nothing was done. Add --yes if you mean it."
        )
    return typer.confirm(question, default=False)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"holdfast {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", "-V", is_eager=True, callback=_tell_version, help="Print the version and stop."
    ),
]


@app.callback()
# `version` is handled by its own callback.
def root(context: typer.Context, version: Version = False) -> None:  # noqa: ARG001
    if context.invoked_subcommand is None:
        from .overview import tell

        tell()


# The commands that each module defines, in the order in which help shows them. A group is named by
# every module that adds to it. Running one command imports only its modules: 0.42 s of processor
# time instead of 1.05 s for all of them (median of 9 runs on the same slow machine).
COMMANDS: dict[str, str] = {
    "demo": "demo",
    "write": "remember capture correct confirm archive restore forget undo",
    "purge": "purge",
    "record": "record",
    "record_extract": "record",
    "record_verify": "record",
    "record_publish": "record",
    "record_watch": "record",
    "review": "review",
    "read": "recall list show history context stats",
    "explain": "explain",
    "session": "session",
    "audit_feedback": "session",
    "entity": "entity",
    "agent": "agent init run chat",
    "agent_memory": "agent memory",
    "agent_exec": "agent",
    "hook": "hook",
    "serve": "serve",
    "proxy": "proxy",
    "mcp": "mcp",
    "project": "project",
    "project_build": "project",
    "project_index": "project",
    "import_": "import",
    "export": "export",
    "worker": "worker",
    "worker_decay": "worker",
    "doctor": "doctor",
    "settings": "settings",
    "store": "store",
    "store_sync": "store",
    "store_reembed": "store",
    "store_key": "store",
    "bench": "bench",
}

# Names that other tools and earlier versions use for a command, and what it is called here.
OTHER_NAMES = {
    "add": "remember",
    "audit": "session audit",
    "compose": "agent compose",
    "config": "settings",
    "consider": "session extract",
    "decay": "worker decay",
    "delete": "forget",
    "exec": "agent exec",
    "extract": "record extract",
    "feedback": "session feedback",
    "forecast": "show ID --forecast",
    "get": "show",
    "help": "--help",
    "index": "project index",
    "jobs": "worker jobs",
    "log": "history",
    "maintain": "worker run",
    "profile": "settings profile",
    "publish": "record publish",
    "read": "project read",
    "redo": "undo RUN",
    "reembed": "store reembed",
    "search": "recall",
    "sync": "store sync",
    "version": "--version",
    "watch": "record watch",
    "why": "explain QUESTION --expect ID",
    "why-stored": "explain",
    "work": "worker run",
}


def load_commands(*modules: str) -> None:
    """Register the commands of these modules, or of all."""
    for module in modules or COMMANDS:
        import_module(f".commands.{module}", __package__)
    # Modules are imported in any order; sorting keeps the order of the help stable.
    order = " ".join(COMMANDS.values()).split()
    app.registered_commands.sort(key=lambda info: order.index(name_of(info)))
    app.registered_groups.sort(key=lambda info: order.index(name_of(info)))


def name_of(info: Any) -> str:
    """Return the name of a command or group."""
    return str(info.name or info.callback.__name__.replace("_", "-"))


def _command(words: Sequence[str]) -> Any:
    """Return the parser for the module that defines the command, or for all modules."""
    # Completion needs every command, so it loads all modules.
    wanted = words[0] if words and "_HOLDFAST_COMPLETE" not in os.environ else ""
    return _parser(*(module for module, commands in COMMANDS.items() if wanted in commands.split()))


@cache
def _parser(*modules: str) -> Any:
    load_commands(*modules)
    command = typer.main.get_command(app)
    _name_values(command)
    _shorten_help(command)
    return command


def _shorten_help(group: Any) -> None:
    """Set the line that lists of commands show: the first sentence of each command's help."""
    for command in group.commands.values():
        sentence, _, _ = " ".join((command.help or "").split()).partition(". ")
        command.short_help = sentence.removesuffix(".") + "."
        _name_values(command)
        if hasattr(command, "commands"):
            _shorten_help(command)


def _name_values(command: Any) -> None:
    """Say in help which value an option takes. Typer writes `<bool>` behind a flag, which takes
    none, and `<list[str]>` behind an option that takes one text each time.
    """
    # Asked for now, the option is kept, so that help shows this one.
    context = typer.Context(command, help_option_names=HELP_OPTIONS)
    for param in (*command.params, command.get_help_option(context)):
        if param is None or param.metavar is not None:
            continue
        if getattr(param, "is_flag", False):
            param.metavar = ""
        elif getattr(param, "multiple", False):
            param.metavar = "<str>"


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code of `outcome`."""
    from .crash_report import warn_in_lines

    warn_in_lines()
    words = sys.argv[1:] if args is None else list(args)
    return outcome(lambda: _invoked(words), lambda error: _told_by_parser(error, words))


def _invoked(words: Sequence[str]) -> Any:
    command = _command(words)
    if "_HOLDFAST_COMPLETE" in os.environ:
        return command(args=words, prog_name="holdfast", standalone_mode=False)
    # Not through `main`, which would turn Ctrl-C into a silent exit.
    with command.make_context("holdfast", list(words)) as context:
        return command.invoke(context)


def _told_by_parser(error: BaseException, words: Sequence[str]) -> tuple[str | None, int]:
    if isinstance(error, typer.Exit):
        return "", int(error.exit_code)
    if isinstance(error, typer.Abort | EOFError):
        return "Aborted. Nothing was changed.", 1
    if hasattr(error, "show") and hasattr(error, "exit_code"):
        if str(error).strip():
            # The text is empty for a group without a command, whose help is printed already.
            error.show()
        return _hint(error, words), int(error.exit_code)
    return None, 1


def _hint(error: BaseException, words: Sequence[str]) -> str:
    """Return what the parser does not know about a mistake: what to do next."""
    # Click reports an option before the command as unknown.
    if hasattr(error, "option_name") and words[0].startswith("-"):
        return "Options go behind the command: holdfast COMMAND --json"
    if getattr(getattr(error, "param", None), "metavar", "") == "ROLE":
        return "A role file describes an agent. Write one: holdfast agent init --name assistant"
    return ""


def output_file(path: str) -> Path:
    """Return the output path. Raises InvalidInput for a folder, or if its parent is missing."""
    file = Path(path).expanduser()
    if file.is_dir():
        raise InvalidInput(
            f"{file} is a folder. Nothing was written. Name a file, e.g. {file / 'memory.jsonl'}."
        )
    if not file.parent.is_dir():
        raise InvalidInput(
            f"The folder {file.parent} does not exist. Nothing was written. Make it, or name "
            "another."
        )
    return file


def write_lines(
    file: Path,
    lines: Iterable[str],
    *,
    progress: Callable[[], None] = lambda: None,
) -> int:
    """Write a file atomically and return the number of lines.

    The mode is 0600, because the file contains memories.
    """
    from ..records.atomic_files import write_whole

    count = 0

    def written() -> Iterator[bytes]:
        nonlocal count
        for line in lines:
            yield line.encode()
            count += 1
            progress()

    write_whole(file, written(), mode=0o600)
    return count
