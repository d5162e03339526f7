"""The app: its options, how a memory is opened, and what errors become."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__, config
from ..errors import HoldfastError, InvalidInput
from ..text.when import spans
from ..types import Micros, from_datetime, iso, system_clock

if TYPE_CHECKING:
    from ..memory import Holdfast

app = typer.Typer(
    name="holdfast",
    help="Long-term memory for AI agents: one file that remembers, recalls, explains and undoes.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

START, WRITING, READING, UPKEEP = "Start here", "Write", "Read", "Look after"


def complete_ids(incomplete: str) -> list[tuple[str, str]]:
    """Ids that start with what was typed, newest first, with their text, for the shell's completion."""
    try:
        with open_memory(None, None) as hf:
            every = hf.list(statuses=("active", "archived", "superseded"), limit=500)
            return [(m.id, m.content[:60]) for m in every if m.id.startswith(incomplete)][:50]
    except HoldfastError:
        return []


def complete_scopes(incomplete: str) -> list[str]:
    """Scopes of the default store that start with what was typed."""
    try:
        with open_memory(None, None) as hf:
            return [str(scope) for scope in hf.store.scopes() if str(scope).startswith(incomplete)]
    except HoldfastError:
        return []


Store = Annotated[
    str | None,
    typer.Option("--store", metavar="PATH|URL", help="Memory file or postgresql:// URL. Default: the per-user file."),
]
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
        help="Whose memory; may be given several times. Default: user:<login>.",
        autocompletion=complete_scopes,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id or number of a memory.", autocompletion=complete_ids)]
Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="Ids or numbers.", autocompletion=complete_ids)]


@contextmanager
def open_memory(store: str | None, scope: str | Sequence[str] | None) -> Iterator[Holdfast]:
    """An open memory for one command; embedding in the background would only delay its end."""
    from ..memory import Holdfast  # the database and numpy load here, so that help and completion do without

    settings = config.load()
    wanted = [scope] if isinstance(scope, str) else list(scope or ())
    hf = Holdfast.open(
        store,
        scope=wanted or settings.scope or f"user:{config.login()}",
        settings=settings,
        actor=f"cli:{config.login()}",
        background=False,
    )
    try:
        yield hf
    finally:
        hf.close()


def moment(text: str | None, *, end: bool = False) -> Micros | None:
    """A time from the command line: ISO, or words such as 'last week' (its beginning, or its `end`)."""
    if not text:
        return None
    from datetime import datetime, timedelta

    try:
        written = datetime.fromisoformat(text)
    except ValueError:
        found = spans(text, system_clock())
        if not found:
            raise InvalidInput(
                f"{text!r} is not a time. Write it like 2026-03-31, 2026-03-31T18:00 or 'last week'."
            ) from None
        return found[0].end if end else found[0].start
    if end and len(text) == len("2026-03-31"):
        written += timedelta(days=1)  # a day ends when the next begins
    try:
        return from_datetime(written.astimezone())
    except (OverflowError, ValueError):  # the first and last days there are have no local time everywhere
        return from_datetime(written)


def text_or_stdin(text: str | None, *, what: str) -> str:
    """The text given, or what is piped in."""
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        raise InvalidInput(f"Give the {what} as an argument, or pipe it in.")
    return sys.stdin.read()


def confirmed(question: str, *, yes: bool) -> bool:
    """Whether a person agreed. Without a terminal nobody can, so --yes is needed."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody can be asked here: add --yes if you mean it.")
    return typer.confirm(question, default=False)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"holdfast {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", "-V", is_eager=True, callback=_tell_version, help="Print the version and stop.")
]


@app.callback()
def root(context: typer.Context, version: Version = False) -> None:  # noqa: ARG001 (its callback answers)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def load_commands() -> None:
    """Adds every command to the app, in the order in which help shows them."""
    for module in ("demo", "writing", "reading", "upkeep", "store", "work", "bench"):
        import_module(f".{module}", __package__)


@lru_cache(maxsize=1)
def _command() -> Any:
    load_commands()
    return typer.main.get_command(app)


def run(args: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code: 0 fine, 1 not found or refused, 2 wrong usage."""
    try:
        result: Any = _command()(
            args=list(args) if args is not None else None, prog_name="holdfast", standalone_mode=False
        )
        sys.stdout.flush()  # here, where it can still be told that nobody reads it
        return result if isinstance(result, int) else 0
    except (BrokenPipeError, SystemExit) as error:
        # Typer turns a broken pipe into an exit of its own.
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader of our output went away (`| head`): not our error, but nothing may be flushed any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
        return 0
    except (Exception, KeyboardInterrupt) as error:
        message, code = _told_as(error)
        if message is None:
            raise
        print(message, end="\n" if message else "", file=sys.stderr)
        return code


def _told_as(error: BaseException) -> tuple[str | None, int]:
    """What a person is told of an error, and the exit code; None for one that is a fault of this program."""
    match error:
        case HoldfastError():
            return f"Error: {error}", 2 if isinstance(error, InvalidInput) else 1
        case UnicodeDecodeError():
            return f"Error: What was piped in is not UTF-8 text ({error}). Nothing was stored.", 2
        case typer.Abort():
            return "Aborted. Nothing was changed.", 1
        case KeyboardInterrupt():
            return "Stopped.", 130
    if hasattr(error, "show") and hasattr(error, "exit_code"):
        error.show()  # a usage error of the parser, with its own hint
        return "", int(error.exit_code)
    return None, 1


def when(micros: Micros | None) -> str:
    """A time for people, in their own time zone, to the minute."""
    if micros is None:
        return ""
    from ..types import to_datetime

    return to_datetime(micros).astimezone().strftime("%Y-%m-%d %H:%M")


def json_time(micros: Micros | None) -> str | None:
    """A time for scripts: ISO 8601 in UTC."""
    return None if micros is None else iso(micros)


def output_file(path: str) -> Path:
    """The file to write, refusing a folder that is not there."""
    file = Path(path).expanduser()
    if not file.parent.is_dir():
        raise InvalidInput(f"The folder {file.parent} does not exist. Nothing was written.")
    return file
