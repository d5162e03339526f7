"""The command line: parse, call `Holdfast`, print. Nothing is decided here that the library should decide."""

from __future__ import annotations

import sys


def main() -> None:
    """The `holdfast` command."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Answered before anything is loaded: scripts and editors ask this often.
        from .. import __version__

        print(f"holdfast {__version__}")
        return
    from .app import run

    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows its number instead.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run())
