"""Overview that `holdfast` alone prints: what people want, and the command to start with."""

from __future__ import annotations

import sys
from typing import NamedTuple

from .. import __version__, config


class Way(NamedTuple):
    """One goal: its first command, and those that follow."""

    wish: str
    start: str
    then: str


WAYS = (
    Way("See it work", "holdfast demo", "stats, settings"),
    Way(
        "Remember and recall",
        'holdfast remember "I take my coffee black"',
        "recall, explain, correct, forget, undo, review",
    ),
    Way(
        "Records in a project",
        "holdfast project init",
        "record add, record list, record publish",
    ),
    Way(
        "Past sessions",
        "holdfast import --all",
        "project build, project index, record extract",
    ),
    Way(
        "An agent of your own",
        "holdfast agent init --name assistant",
        "agent run, agent chat, agent memory",
    ),
    Way("Agents you have", "holdfast mcp install claude-code", "hook install, agent exec, context"),
    Way("A page and a server", "holdfast serve --open", "serve keys, mcp, proxy"),
    Way("Upkeep", "holdfast doctor", "export, worker run, store sync, purge"),
)
"""What to do first, and what next; `holdfast COMMAND --help` explains each."""


def tell() -> None:
    """Print the overview on one screen, with colours only on a terminal."""
    bold, dim, plain = ("\033[1m", "\033[2m", "\033[0m") if _coloured() else ("", "", "")
    print(
        f"{bold}holdfast {__version__}{plain}  long-term memory for AI agents: one file, no "
        "key, "
        "offline\n"
    )
    for way in WAYS:
        print(f"  {way.wish:<22}{bold}{way.start}{plain}\n  {'':<22}{dim}then: {way.then}{plain}")
    print("\nEvery command: holdfast --help     One of them: holdfast recall --help")


def _coloured() -> bool:
    environ = config.environment()
    # NO_COLOR and TERM=dumb are the usual ways to refuse colours.
    return sys.stdout.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
