"""Counts and their nouns agree: nothing prints "1 sessions", wherever it is printed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.text.terminal import counted

SOURCE = Path(__file__).parents[1] / "src" / "holdfast"
# What we count, as people read it. A value in an f-string before one of these is a count that is
# never singular.
NOUNS = (
    "memories|sessions|conversations|messages|turns|facts|rules|records|proposals|entities|mentions|vectors|rows|"
    "lines|entries|events|changes|projects|files|folders|jobs|episodes|questions|candidates|observations|relations|"
    "chunks|notes|tickets|documents|steps|things|words|days|hours|minutes|runs|scopes|owners|people|times|copies"
)
COUNT = re.compile(rf"^ (?:[a-z-]+ ){{0,2}}(?:{NOUNS})\b")
IN_JS = re.compile(rf"\$\{{[^{{}}]*\}} (?:[a-z]+ ){{0,2}}(?:{NOUNS})\b")
# What may stay: texts that are prescribed to the letter, and counts that are never 1.
ALLOWED = {
    "{done.created} semantic memories from episodic data.",  # InitRunner
    "{len(records)} memories to ",  # InitRunner
    "{len(found)} memories shown.",  # InitRunner
    "{count} messages.",  # InitRunner: Resumed session with N messages.
    # one is asked about by itself
    "{len(found)} memories. Which one shall I forget? Say its number, all, or no.",
    "{count} times",  # once has its own word
    "{support} turns",  # two at least
    "{transcript.skipped} of its lines could not be understood",
    "{schema['maxItems']} entries.",  # from 0 to so many
    "{days} days",  # two at least
}
# A value that is no count.
NAMES = re.compile(
    r"\b(?:name|path|file|role|kind|type_|category|where|location|scope|table|PROCEDURAL)\b"
)


def f_strings(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Each value of an f-string with the text behind it."""
    for string in ast.walk(tree):
        if isinstance(string, ast.JoinedStr):
            for value, behind in zip(string.values, string.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(behind, ast.Constant):
                    yield value.lineno, ast.unparse(value.value), str(behind.value)


def test_every_count_in_the_source_agrees_with_its_noun():
    wrong = [
        f"{path.relative_to(SOURCE)}:{line}: {{{value}}}{behind}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, value, behind in f_strings(ast.parse(path.read_text("utf-8")))
        if COUNT.match(behind) and not NAMES.search(value) and f"{{{value}}}{behind}" not in ALLOWED
    ]
    assert wrong == [], "use counted() of text/terminal.py"


def test_every_count_on_the_page_agrees_with_its_noun():
    wrong = [
        f"{file.name}: {found[0]}"
        for file in sorted((SOURCE / "server" / "web").rglob("*.js"))
        for found in IN_JS.finditer(file.read_text("utf-8"))
        if "plural(" not in found[0] and found[0].removeprefix("$") not in ALLOWED
    ]
    assert wrong == [], "use plural() of words.js"


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [
        (0, "session", "0 sessions"),
        (1, "session", "1 session"),
        (2, "session", "2 sessions"),
        (1, "memory", "1 memory"),
        (2, "memory", "2 memories"),
        (2, "day", "2 days"),
        (1000, "journal entry", "1,000 journal entries"),
    ],
)
def test_a_count_is_told_with_its_noun(number, noun, told):
    assert counted(number, noun) == told


ONE_OF_EACH = (
    ("capture", "--session", "monday", "My sister Ines lives in Lisbon"),
    ("remember", "The spare key is under the blue pot"),
    ("recall", "sister"),
    ("list",),
    ("session", "end", "monday"),
    ("export", "--output", "all.jsonl"),
    ("import", "all.jsonl", "--store", "two.db"),
    ("store", "copy", "two.db", "three.db"),
    ("store", "status"),
    ("store", "sync", "three.db"),
    ("stats",),
    ("worker", "jobs"),
    ("worker", "plan"),
    ("entity", "list"),
    ("project", "init"),
    ("record", "add", "Use pnpm", "--category", "decisions"),
    ("record", "list"),
    ("project", "status"),
    ("purge", "--session", "monday", "--plan"),
)


def test_no_command_prints_one_of_several(cli, tmp_path, monkeypatch):
    """One memory, one session, one of everything: no command gives a one a plural."""
    monkeypatch.chdir(tmp_path)
    for words in ONE_OF_EACH:
        done = cli(*words)
        assert done.code == 0, (words, done)
        assert not re.search(rf"(?<![\d.,-])1 (?:[a-z]+ )?(?:{NOUNS})\b", done.out + done.err), (
            words,
            done,
        )
