"""The command line: parse, call `Holdfast`, print. Nothing is decided here that the library should decide."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The `holdfast` command."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Answered before anything is loaded: scripts and editors ask this often.
        from .. import __version__

        print(f"holdfast {__version__}")
        return
    if sys.argv[1:3] == ["hook", "run"] and not {"-h", "--help"} & set(sys.argv):
        # A host waits for the answer at every prompt.
        from ..agent.hooks.run import main as answer

        answer(sys.argv[3:])
    from .quick import answered

    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows its number instead.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = None if "_HOLDFAST_COMPLETE" in os.environ else answered(sys.argv[1:])
    if code is None:
        from .app import run

        code = run()
    sys.exit(code)
