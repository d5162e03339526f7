"""`agent exec`: run a command with memory: recall before, index and extract after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Annotated

import typer

from ...errors import InvalidInput, reason
from ..app import text_or_stdin
from ..open_store import folder_here
from .agent import agent_app

CONTEXT = "MEMORY_CONTEXT"
CONTEXT_FILE = "MEMORY_CONTEXT_FILE"
# Exit codes that shells use: found but not runnable, and not found.
NOT_RUN = 126
NOT_FOUND = 127


@agent_app.command(
    "exec",
    # Options after the command belong to the command.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def exec_(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND…", help="The command and its arguments.")
    ],
    ticket: Annotated[
        str | None,
        typer.Option(
            "--ticket", metavar="TEXT", help="Task description, used as the recall query."
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Read the task description from a file; - is stdin.",
        ),
    ] = None,
    transcript: Annotated[
        str | None,
        typer.Option(
            "--transcript",
            metavar="FILE",
            help="Transcript that the command writes; it is indexed and extracted.",
        ),
    ] = None,
) -> int:
    """Run a command with recalled memory in MEMORY_CONTEXT and MEMORY_CONTEXT_FILE. Its input,
    output, signals and exit code are passed through.

    Example: holdfast agent exec --ticket "Make refunds work" -- make test
    """
    about = _ticket(ticket, file)
    with _context(about) as variables:
        code = _run(command, {**os.environ, **variables})
    if transcript:
        from ...coding_agents.hooks.after_session import finish_here

        finish_here(folder_here(), str(Path(transcript).absolute()), event="exec")
    # A negative code means that a signal ended the command.
    if code < 0:
        _end_like(-code)
    return code


def _ticket(text: str | None, file: str | None) -> str:
    if text is not None and file is not None:
        raise InvalidInput("Give the ticket as --ticket or as --file, not both. Nothing was run.")
    if file is None or file == "-":
        return text_or_stdin(text, what="ticket") if file == "-" else text or ""
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"Cannot read the ticket {file}: {reason(error)}. Nothing was run."
        ) from error


@contextmanager
def _context(ticket: str) -> Iterator[Mapping[str, str]]:
    """Yield the variables with the recalled memory; the file they name exists while the command
    runs.
    """
    from ...coding_agents.hooks.inject import before_execution

    text = before_execution(folder_here(), ticket)
    handle, name = mkstemp(prefix="memory-", suffix=".md")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        yield {CONTEXT: text, CONTEXT_FILE: name}
    finally:
        # The command may have deleted the file.
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the command and return its exit code, negative for a signal."""
    try:
        with _passed_on() as passing:
            process = subprocess.Popen(command, env=environ)
            passing.append(process)
            return process.wait()
    except FileNotFoundError:
        print(f"Error: There is no command {command[0]!r}.", file=sys.stderr)
        return NOT_FOUND
    except OSError as error:
        print(f"Error: {command[0]} could not be run: {error.strerror}.", file=sys.stderr)
        return NOT_RUN


@contextmanager
def _passed_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Forward signals to the command while it runs. Ctrl-C is ignored here: the command gets it
    too.
    """
    running: list[subprocess.Popen[bytes]] = []

    # Signature of a signal handler.
    def pass_on(number: int, frame: object) -> None:  # noqa: ARG001
        for process in running:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    # The terminal sends SIGINT to the whole process group, so forwarding it would deliver it twice.
    # A handler, not SIG_IGN, which the command would inherit.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None)}
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
        if hasattr(signal, name):
            number = getattr(signal, name)
            before[number] = signal.signal(number, pass_on)
    try:
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_like(number: int) -> None:
    """End this process by the signal that ended the command, so that the caller sees the same."""
    # A signal ends the process without flushing.
    sys.stdout.flush()
    # SIGKILL and SIGSTOP cannot be caught, so there is no handler to reset.
    with suppress(OSError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
