"""Shell commands: equality, purpose, and whether they say something about a project."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import zip_longest

from ..patterns import compiled, expanded

# A variable that is set for one command, or before it.
_SETTING = (
    r"(?:export\s+)?[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\$\([^()]*\)|`[^`]*`|\S*)\s*(?:&&|;)?\s+"
)
# What stands around a command and does not change what it does.
_BEFORE = re.compile(
    r"(?:cd\s+\S+\s*(?:&&|;)\s*|set -\w+;?\s*|(?:source|\.)\s+\S*activate\s*(?:&&|;)\s*"
    rf"|{_SETTING}|env\s+(?=\w+=)"
    r"|sudo\s+(?:-\S+\s+)*|time\s+|timeout\s+(?:-\S+\s+)*\S+\s+|nice\s+(?:-\S+\s+)*)"
)
_SET = re.compile(rf"{_SETTING}")
# Variables that only say how much is shown, or that nobody watches.
_SHOWN = re.compile(
    r"(?:export\s+)?(?:CI|\w*COLOR\w*|TERM|DEBUG|VERBOSE|\w*LOG\w*|\w*BACKTRACE|PAGER)="
)
# Redirections, and pipes that only shorten the output.
_BEHIND = re.compile(
    r"\s*(?:\d?>&\d|[12&]?>>?\s*\S+|\|&?\s*(?:tail|head|grep|less|tee|cat|sed|awk|wc|sort|jq|cut)\b[^|;&]*"
    r"|\|\|\s*true|(?:\|\||&&|;)\s*echo\b[^;&|]*|&)\s*$"
)
_FLAG = re.compile(r"-")
# A command for another machine.
_THERE = re.compile(r"ssh (?:-\S+ )*[\w.@-]+ (?P<mark>['\"])(?P<command>[^'\"]+)(?P=mark)")
# Characters; a longer command is a script.
_LONGEST = 160
# Characters; nobody types more than that around a command.
_LONGEST_BARED = 1_000


@lru_cache(maxsize=4096)
def bare(command: str) -> str:
    """A command without directory changes, variables and pipes that only shorten its output.

    >>> bare("cd api && DEBUG=1 pytest -q 2>&1 | tail -20")
    'pytest -q'
    """
    command = " ".join(command.split())
    if len(command) > _LONGEST_BARED:
        return command
    while before := _BEFORE.match(command):
        command = command[before.end() :]
    while behind := _BEHIND.search(command):
        command = command[: behind.start()]
    return command.strip()


@lru_cache(maxsize=4096)
def settings(command: str) -> str:
    """The variables that a command is given, as they stand before it; empty where there are none.

    >>> settings("cd api && DATABASE_URL=sqlite:// CI=1 pytest -q"), settings("pytest -q")
    ('DATABASE_URL=sqlite://', '')
    """
    command = " ".join(command.split())
    found: list[str] = []
    while len(command) <= _LONGEST_BARED and (before := _BEFORE.match(command)):
        if _SET.match(before[0]) and not _SHOWN.match(before[0]):
            found.append(before[0].removeprefix("export ").rstrip("&; "))
        command = command[before.end() :]
    return " ".join(found)


def is_routine(command: str) -> bool:
    """Whether anybody would guess a bare command or find it where a repository defines it: a tool
    as it is called everywhere, a script of `package.json`, a target of a `Makefile`.

    >>> is_routine("npm run build"), is_routine("pytest -q"), is_routine("cargo test --features pg")
    (True, True, False)
    """
    tool = _words()["routine"].match(command)
    rest = command[tool.end() :].split() if tool else []
    return tool is not None and all(
        _words()["filler"].fullmatch(word) or _is_switch(word, following)
        for word, following in zip_longest(rest, rest[1:], fillvalue="")
    )


def _is_switch(word: str, following: str) -> bool:
    """Whether a flag has no value."""
    return bool(_FLAG.match(word)) and "=" not in word and (not following or following[0] == "-")


def covers(
    later: str,
    earlier: str,
    output: str = "",
) -> bool:
    """Whether a later command's success shows that an earlier one would pass; both are bare.

    It is the same command, a broader form of it, or the same on the files named in the earlier
    output.
    """
    if later == earlier:
        return True
    ours = later.split()
    theirs = earlier.split()
    if (
        program(later) != program(earlier)
        or purpose(later) != purpose(earlier)
        or purpose(later) is None
    ):
        return False
    more = {word.split("::")[0] for word in ours if not _FLAG.match(word)} - set(theirs)
    return all(word in output for word in more)


def wraps(later: str, earlier: str) -> bool:
    """Whether a later command is an earlier one with a prefix: `uv run pytest` for `pytest`.

    >>> wraps("uv run pytest -q", "pytest -q"), wraps("pnpm test", "npm test")
    (True, True)
    >>> wraps("make test", "make lint")
    False
    """
    if later == earlier:
        return False
    ours = later.split()
    theirs = earlier.split()
    return later.endswith(f" {earlier}") or (
        len(ours) > 1 and ours[1:] == theirs[1:] and ours[0] != theirs[0]
    )


@lru_cache(maxsize=4096)
def purpose(command: str) -> str | None:
    """The purpose of a bare command, such as `test`; None if it has none in particular.

    >>> purpose("uv run pytest -q"), purpose("git status")
    ('test', None)
    """
    if len(command) > _LONGEST or is_trivial(command):
        return None
    here = _run_there(command)
    return next((name for name, pattern in _purposes().items() if pattern.match(here)), None)


def is_trivial(command: str) -> bool:
    """Whether a bare command only inspects or changes directory, here or on another machine."""
    here = _run_there(command)
    return bool(_words()["trivial"].match(here)) and not any(
        one.match(here) for one in _purposes().values()
    )


def _run_there(command: str) -> str:
    """The bare command that another machine is told to run; any other command as it is."""
    there = _THERE.fullmatch(command)
    return bare(there["command"]) if there else command


def is_narrow(command: str) -> bool:
    """Whether a command served one occasion only: one test, one file."""
    return bool(_words()["narrow"].search(command)) or command.endswith("…")


def repairs(command: str) -> bool:
    """Whether a bare command is of a kind that fixes things, such as an install."""
    return bool(_words()["repairs"].match(command)) and len(command) <= _LONGEST


@lru_cache(maxsize=4096)
def program(command: str) -> tuple[str, ...]:
    """The program and its subcommands: the words before the first flag or path.

    >>> program("npm run build -- --watch")
    ('npm', 'run', 'build')
    """
    head: list[str] = []
    for word in command.split():
        if _FLAG.match(word) or "/" in word or "." in word:
            break
        head.append(word)
    return tuple(head[:4])


@cache
def _cues() -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    data = tomllib.loads((files(__package__) / "commands.toml").read_text("utf-8"))
    pieces = {name: data[name] for name in ("runner", "scripted")}
    return {
        table: {name: compiled(expanded(text, pieces)) for name, text in data[table].items()}
        for table in ("purposes", "words")
    }


def _purposes() -> Mapping[str, re.Pattern[str]]:
    return _cues()["purposes"]


def _words() -> Mapping[str, re.Pattern[str]]:
    return _cues()["words"]
