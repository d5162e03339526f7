"""The command line as a whole: how many commands there are, and what other names lead to."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from holdfast.cli import app as app_

# Names that people type first, and the visible command that each is an alias of.
ALIASES = {name: f"agent {name}" for name in ("init", "run", "memory", "chat")}
# For people who work on Holdfast itself; docs/benchmarks.md describes it.
DEVELOPMENT = {"bench"}


def root() -> Any:
    app_.load_commands()
    return get_command(app_.app)


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every visible command and group, by what is typed after `holdfast`."""
    for name, command in group.commands.items():
        if not command.hidden:
            yield before + name, command
            if hasattr(command, "commands"):
                yield from commands(command, f"{before}{name} ")


def test_there_are_about_thirty_commands() -> None:
    visible = [name for name, command in root().commands.items() if not command.hidden]
    assert 25 <= len(visible) <= 35
    hidden = {name for name, command in root().commands.items() if command.hidden}
    assert hidden == {*ALIASES, *DEVELOPMENT}


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_an_alias_is_the_command_itself(alias: str, name: str) -> None:
    there = root().commands[alias]
    visible = dict(commands(root()))[name]
    assert [one.opts for one in there.params] == [one.opts for one in visible.params]
    assert there.help == visible.help
    assert set(getattr(there, "commands", ())) == set(getattr(visible, "commands", ()))


@pytest.mark.parametrize(("other", "name"), app_.OTHER_NAMES.items())
def test_another_name_for_a_command_leads_to_it(cli, other: str, name: str) -> None:
    done = cli(other, "x")
    assert (done.code, done.out) == (2, "")
    words = " ".join(done.err.replace("│", " ").split())
    assert f"No such command '{other}'. Did you mean `holdfast {name}`?" in words
    if name.startswith("--"):
        assert cli(name).code == 0
        return
    known = dict(commands(root()))
    first, *rest = name.split()
    assert (f"{first} {rest[0]}" if rest and hasattr(known[first], "commands") else first) in known


def test_the_help_of_every_command_is_two_sentences_and_an_example() -> None:
    top = root()
    wrong = {name: found for name, one in commands(top) if (found := wrong_help(top, name, one))}
    assert wrong == {}


def wrong_help(top: Any, name: str, command: Any) -> str:
    """What is wrong with the help of a command; nothing if it is fine."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    if len(paragraphs) != 2:
        return f"{len(paragraphs)} paragraphs"
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z`-])", " ".join(paragraphs[0].split()))
    if len(sentences) != 2 or not all(one.endswith(".") for one in sentences):
        return f"{len(sentences)} sentences"
    if any(len(one.split()) > 30 for one in sentences):
        return "a long sentence"
    label, _, line = paragraphs[1].partition(" ")
    if label != "Example:" or "\n" in line or not line.startswith(f"holdfast {name}"):
        return f"no example: {line}"
    try:
        parsed(top, shlex.split(line)[1:])
    except Exception as error:
        return f"{line}: {error}"
    return ""


def parsed(group: Any, words: list[str]) -> None:
    """Parse a command line with the real parser; a usage error fails the test."""
    command, parent, name = group, None, "holdfast"
    while hasattr(command, "commands"):
        parent = command.make_context(name, list(words), parent=parent)
        left = [*parent._protected_args, *parent.args]
        if not left:
            return
        name, command, words = command.resolve_command(parent, left)
    command.make_context(name, list(words), parent=parent)


def test_a_list_of_commands_shows_the_first_sentence(cli) -> None:
    listed = " ".join(cli("worker", "--help").out.replace("│", " ").split())
    assert "once Run the jobs that are due, then stop. plan Show" in listed


def test_scope_means_whose_memory_everywhere() -> None:
    for name, command in commands(root()):
        for option in command.params:
            if "--scope" in option.opts:
                assert option.metavar == "KIND:KEY", name
            if "--in" in option.opts:
                assert option.metavar == "project|personal", name


@pytest.mark.parametrize(
    ("typed", "offered", "hidden"),
    [
        ("holdfast wo", {"worker"}, {"work"}),
        ("holdfast worker ", {"run", "once", "plan", "jobs", "decay"}, set()),
        ("holdfast record e", {"extract"}, set()),
        ("holdfast session f", {"feedback"}, set()),
        ("holdfast session feedback ", {"add", "list", "purge"}, set()),
        ("holdfast agent memory c", {"clear", "consolidate"}, set()),
        ("holdfast m", {"mcp"}, {"memory"}),
        ("holdfast record list --i", {"--in"}, set()),
    ],
)
def test_the_shell_completes_commands_of_groups(
    typed: str, offered: set[str], hidden: set[str]
) -> None:
    words = typed.split()
    at = len(words) if typed.endswith(" ") else len(words) - 1
    env = {
        **os.environ,
        "_HOLDFAST_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(at),
    }
    done = subprocess.run(
        [sys.executable, "-m", "holdfast"], env=env, capture_output=True, text=True, check=False
    )
    found = set(done.stdout.split())
    assert offered <= found and not hidden & found, done
