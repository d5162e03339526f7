"""Exit codes and error messages of commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from ..errors import HoldfastError, InvalidInput
from ..text.terminal import plain

PARTLY = 3
"""Exit code of a command that was done in part, named the failures, and can be run again."""

ErrorText = tuple[str | None, int]
"""Message and exit code of an error; the message is None for an internal error."""


def outcome(
    work: Callable[[], Any],
    told_otherwise: Callable[[BaseException], ErrorText] = lambda error: (None, 1),
) -> int:
    """Run a command and return its exit code.

    0 success, 1 not found or refused, 2 wrong usage, 3 partly done, 70 internal error.
    """
    try:
        result = work()
        # Flushed here, where a broken pipe can still be handled.
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (BrokenPipeError, SystemExit) as error:
        # Click turns a broken pipe into SystemExit.
        if not isinstance(error, BrokenPipeError) and not isinstance(
            error.__context__, BrokenPipeError
        ):
            raise
        # The reader of our output has gone (`| head`). That is no error.
        drop_output()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        message, code = _told(error) or told_otherwise(error)
        if message is None:
            from . import crash_report

            message = crash_report.report_crash(error)
            code = crash_report.EXIT_CODE
        print(plain(message), end="\n" if message else "", file=sys.stderr)
        return code


def drop_output() -> None:
    """Write the rest of the output nowhere: its reader has gone, and the flush at exit would
    fail.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]


def _told(error: BaseException) -> ErrorText | None:
    match error:
        case HoldfastError():
            return f"Error: {error}", 2 if isinstance(error, InvalidInput) else 1
        case UnicodeDecodeError():
            return f"Error: What was given is not UTF-8 text ({error}). Nothing was stored.", 2
        case KeyboardInterrupt():
            return (
                (
                    "Stopped. What was finished is kept, and nothing is half done: run it again "
                    "to go "
                    "on."
                ),
                130,
            )
        case OSError(filename=str() | bytes() as name):
            return (
                (
                    f"Error: {os.fsdecode(name)} cannot be used: {error.strerror}. What was stored "
                    "before is kept."
                ),
                1,
            )
        case ModuleNotFoundError(name=str()):
            told = (
                f"The Python package {error.name!r} is missing, so this installation is not "
                "whole. Nothing was changed."
            )
            return f"Error: {told} Install Holdfast again the way it was installed.", 1
    return None
