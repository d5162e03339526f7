"""Command line: parse options, call `Holdfast`, print the result."""

from __future__ import annotations

import os
import sys

import holdfast


def main() -> None:
    """The `holdfast` command."""
    # pip enforces this already, but not for a checkout or a forced installation.
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit(
            f"Holdfast needs Python 3.11 or newer; this is {sys.version.split()[0]}. Nothing "
            "was "
            "changed."
        )
    if not hasattr(holdfast, "_HOMES"):
        sys.exit(
            "Another package that is also called holdfast has overwritten files of Holdfast. "
            "Nothing was changed. Run: "
            "pip uninstall holdfast; pip install --force-reinstall holdfast-memory"
        )
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Answered before anything is loaded, because scripts and editors ask this often.
        from .. import __version__

        print(f"holdfast {__version__}")
        return
    if sys.argv[1:3] == ["hook", "run"] and not {"-h", "--help"} & set(sys.argv):
        # Without the usual start-up, because a host waits for the answer at every prompt.
        from ..coding_agents.hooks.handler import main as answer

        answer(sys.argv[3:])
    from .exit_codes import outcome

    _settle_streams()
    sys.exit(outcome(_run))


def _settle_streams() -> None:
    """Make the standard streams safe.

    Replaces a closed stream by an empty one. Output escapes characters that the terminal lacks.
    Input that is not valid text raises an error, even if the locale would accept it.
    """
    for name, mode, errors in (("stdin", "r", "strict"), ("stdout", "w", ""), ("stderr", "w", "")):
        if getattr(sys, name) is None:
            # Stays open until the process ends.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors=errors or "backslashreplace")


def _run() -> int:
    completing = "_HOLDFAST_COMPLETE" in os.environ
    if not sys.argv[1:] and not completing:
        from .overview import tell

        tell()
        return 0
    from .fast_path import answered

    code = None if completing else answered(sys.argv[1:])
    if code is None:
        from .app import run

        code = run()
    return code
