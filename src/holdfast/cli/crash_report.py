"""Crash report: a short message, and a file that contains no user data and can be sent on."""

from __future__ import annotations

import logging
import os
import platform
import traceback
from pathlib import Path

from .. import __version__
from ..errors import HoldfastError
from ..text.terminal import plain, shorten

EXIT_CODE = 70
"""Exit code of an internal error: EX_SOFTWARE of BSD's sysexits."""


def report_crash(error: BaseException) -> str:
    """Return the message for an internal error and write its details to a file.

    The file contains no values, so it quotes no memory.
    """
    what = plain(shorten(f"{type(error).__name__}: {error}".rstrip(": "), 300))
    return (
        f"Error: Something is wrong in Holdfast itself ({what}).\n"
        "Nothing that was stored is lost: a change is made whole or not at all. `holdfast doctor` "
        "makes sure.\n"
        f"{_where(error)}"
    )


def warn_in_lines() -> None:
    """Show log warnings as single lines, each once, if no logging is configured."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Line())
        logging.lastResort.filters = [_Once()]


class _Line(logging.Formatter):
    """Format a warning with its error, without a traceback; that is in the file."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        said = f"Warning: {record.getMessage()}"
        if error is not None:
            said = f"{said.rstrip('.')}: {error or type(error).__name__}"
            said += (
                ""
                if isinstance(error, HoldfastError)
                else f" ({type(error).__name__}). {_where(error)}"
            )
        return plain(said)


class _Once(logging.Filter):
    """Pass each message once: what fails for one memory fails for the next in the same way."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        fresh = message not in self._told
        self._told.add(message)
        return fresh


def _where(error: BaseException) -> str:
    try:
        from .. import config

        file = config.data_folder() / "fault.txt"
        _write(file, details(error))
    except (
        OSError,
        ImportError,
    ):
        # A home that cannot be written, or a broken installation, may be what is wrong.
        last = traceback.extract_tb(error.__traceback__)[-1]
        return (
            f"It was at {Path(last.filename).name}, line {last.lineno}, of Holdfast "
            f"{__version__}. Please report it."
        )
    return (
        f"Where it happened is in {file}, without a word of what you remember: please report "
        "it with that file."
    )


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(
        os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(text)


def details(error: BaseException) -> str:
    """Return versions and tracebacks of an error and its causes, without messages and values."""
    lines = [f"Holdfast {__version__}, Python {platform.python_version()}, {platform.platform()}\n"]
    seen: list[BaseException] = []
    behind: BaseException | None = error
    # Exceptions can refer to each other in a circle.
    while behind is not None and behind not in seen:
        seen.append(behind)
        lines += [f"\n{type(behind).__module__}.{type(behind).__qualname__}\n"]
        lines += traceback.format_list(traceback.extract_tb(behind.__traceback__))
        behind = behind.__cause__ or behind.__context__
    return "".join(lines)
