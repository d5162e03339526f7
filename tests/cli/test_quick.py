"""What is read without the parser is read as the parser reads it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from holdfast.cli import app as app_
from holdfast.cli import main
from holdfast.cli.fast_chat import chat
from holdfast.cli.fast_mcp import mcp
from holdfast.cli.fast_path import SHORT_OPTIONS, answered, understood
from holdfast.cli.fast_recall import recall

PLAIN = (
    ["tea"],
    [""],
    ["what does she drink?", "--limit", "3"],
    ["--why", "tea"],
    ["tea", "--kind", "fact", "--kind", "rule", "--category", "drinks", "--tag", "hot"],
    [
        "tea",
        "--since",
        "last week",
        "--until",
        "2026-03-31",
        "--as-of",
        "2026-04-01",
        "--tokens",
        "200",
    ],
    ["--store", "x.db", "--scope", "user:ann", "--scope", "project", "tea", "--json"],
    ["tea", "--format", "prompt"],
    ["tea", "-n", "3"],
    ["-n3", "tea"],
    ["tea", "--limit=3", "--tag=hot=very"],
    ["1+1=2"],
)
DOUBTFUL = (
    ["--help"],
    ["-h"],
    ["tea", "--limit", "0"],
    ["tea", "-n", "0"],
    ["tea", "-n=3"],
    ["tea", "-n"],
    ["tea", "-n", "3", "--limit", "4"],
    ["--why=tea"],
    ["--colour=red"],
    ["tea", "--tag", "-n3"],
    ["tea", "--limit", "many"],
    ["tea", "--limit"],
    ["tea", "--kind", "--why"],
    ["tea", "--since", "-1"],
    ["tea", "--limit", "3", "--limit", "4"],
    ["tea", "cake"],
    ["tea", "--colour", "red"],
    ["--", "-tea"],
    ["-"],
    ["--question", "tea"],
    ["--return", "tea"],
)
OTHERWISE = {"as_json": "json", "format_": "format"}
"""What the parser's parameters are called, where their options are words of Python or names of
modules.
"""


def parser(name: str = "recall") -> Any:
    app_.load_commands()
    return get_command(app_.app).commands[name]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "command", "words"),
    [
        *(("recall", recall, words) for words in PLAIN),
        ("chat", chat, ["role.yaml"]),
        ("chat", chat, ["--resume", "role.yaml", "--no-memory"]),
        ("chat", chat, ["role.yaml", "--memory-mode", "local", "--user-id=ann"]),
    ],
)
def test_plain_words_mean_what_the_parser_makes_of_them(
    name: str, command: Any, words: list[str]
) -> None:
    parsed = parser(name).make_context(name, list(words)).params
    wanted = {
        OTHERWISE.get(option, option): str(value) if isinstance(value, Path) else value
        for option, value in parsed.items()
        if value not in (None, False, ())
    }
    given = understood(command, words)
    assert given is not None
    assert {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    } == {
        name: tuple(value) if isinstance(value, list) else value for name, value in wanted.items()
    }


@pytest.mark.parametrize("words", DOUBTFUL, ids=" ".join)
def test_what_is_not_plain_is_left_to_the_parser(words: list[str]) -> None:
    assert understood(recall, words) is None


@pytest.mark.parametrize("words", [[], ["--resume"], ["a.yaml", "b.yaml"], ["a.yaml", "--colour"]])
def test_a_chat_without_its_one_role_file_is_left_to_the_parser(words: list[str]) -> None:
    assert understood(chat, words) is None


@pytest.mark.parametrize(("name", "command"), [("recall", recall), ("chat", chat)])
def test_every_option_of_the_parser_is_known(name: str, command: Any) -> None:
    options = {OTHERWISE.get(option.name, option.name) for option in parser(name).params}
    assert options - {"help"} == set(command.__annotations__) - {"return"}


@pytest.mark.parametrize(("name", "command"), [("recall", recall), ("mcp", mcp), ("chat", chat)])
def test_every_short_option_of_the_parser_works_on_the_fast_path(name: str, command: Any) -> None:
    for option in parser(name).params:
        short = [word for word in option.opts if len(word) == 2 and word.startswith("-")]
        long = [word for word in option.opts if word.startswith("--")]
        for word in short:
            if option.name != "help":
                assert SHORT_OPTIONS[word] in long
                value = [] if option.is_flag else ["1"]
                assert understood(command, [word, *value]) is not None


def test_other_commands_are_not_answered() -> None:
    assert [answered(words) for words in ([], ["list"], ["--help"], ["recall", "--help"])] == [
        None
    ] * 4


def test_both_ways_find_and_fail_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "memory.db"), "--scope", "user:ann"]
    assert app_.run(["remember", "Drinks green tea", *store]) == 0
    for words in (
        ["green tea"],
        ["tea", "--json"],
        ["tea", "--since", "someday"],
        ["tea", "--kind", "nonsense"],
    ):
        capsys.readouterr()
        by_parser = app_.run(["recall", *words, *store]), capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["holdfast", "recall", *words, *store])
        with pytest.raises(SystemExit) as end:
            main()
        out = capsys.readouterr()
        assert (end.value.code, out.err) == (by_parser[0], by_parser[1].err)
        assert [line for line in out.out.splitlines() if "access" not in line] == [
            line for line in by_parser[1].out.splitlines() if "access" not in line
        ]


@pytest.mark.parametrize("words", [["chat"], ["agent", "chat"]], ids=" ".join)
def test_both_ways_to_a_chat_fail_alike_without_a_terminal(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    by_parser = app_.run([*words, "role.yaml"]), capsys.readouterr()
    assert (answered([*words, "role.yaml"]), capsys.readouterr()) == by_parser
    assert by_parser[0] == 2 and "holdfast agent run role.yaml -p '…'" in by_parser[1].err


def test_each_command_is_where_the_table_says() -> None:
    app_.load_commands()
    there = [*app_.app.registered_commands, *app_.app.registered_groups]
    assert {app_.name_of(one) for one in there} == set(" ".join(app_.COMMANDS.values()).split())
    for info in app_.app.registered_commands:
        assert info.callback is not None
        module = info.callback.__module__.rpartition(".")[2]
        assert app_.name_of(info) in app_.COMMANDS[module].split()


def test_help_shows_all_commands_in_order_whichever_was_loaded_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import subprocess

    show = "from holdfast.cli.app import run; run(['--help'])"
    first = (
        "from holdfast.cli.app import load_commands; load_commands('store'); "
        "load_commands('read'); "
    )
    usual, other = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for code in (show, first + show)
    )
    assert usual == other and "remember" in usual
