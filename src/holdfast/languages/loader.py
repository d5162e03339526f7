"""LanguageData files: found by listing the folder, and read one section at a time.

A file begins with a head (`name`, `script`, `rank`, `stemmer`); sections follow, in any order. All
tables of a section stand together: `[requests]`, then `[requests.parts]`.

A command needs few sections, and parsing all of `en.toml` takes 20 ms. So a section is cut out of
the text by its headers, and only that part is parsed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

# Not a pathlib.Path: importing pathlib takes 5 ms, a tenth of what a question takes to analyse.
FOLDER = os.path.dirname(__file__)  # noqa: PTH120
SUFFIX = ".toml"
LAST_RANK = 99
"""Rank of a language whose file does not say one."""


class LanguageData(NamedTuple):
    """One language: its code, and the head of its file."""

    code: str
    name: str
    script: str
    """Writing system, one of `scripts.py`."""
    stemmer: str
    """Snowball stemmer for its words; empty where the script alone tells it, or there is none."""
    rank: int
    """Languages are tried in this order; where two fit a text equally well, the lower one wins."""

    @property
    def spaced(self) -> bool:
        """Whether words are written apart."""
        return self.script not in ("han", "kana")

    def section(self, name: str) -> Mapping[str, Any]:
        """The tables of a section; empty where the file has none of that name."""
        return _section(self.code, name)

    def words(self, section: str, key: str) -> frozenset[str]:
        """The words of a list that is written with spaces between them."""
        return frozenset(str(self.section(section).get(key, "")).split())


@cache
def languages() -> tuple[LanguageData, ...]:
    """Every language that has a file, by rank."""
    files = os.listdir(FOLDER)  # noqa: PTH208
    found = [_head(file.removesuffix(SUFFIX)) for file in files if file.endswith(SUFFIX)]
    return tuple(sorted(found, key=lambda each: (each.rank, each.code)))


@cache
def language(code: str) -> LanguageData:
    """The language of this code. Raises KeyError if it has no file."""
    return {each.code: each for each in languages()}[code]


def in_every_language(section: str) -> Iterator[tuple[LanguageData, Mapping[str, Any]]]:
    """Each language that has this section, by rank, with its tables."""
    for each in languages():
        if table := each.section(section):
            yield each, table


def words_of_all(section: str, key: str) -> frozenset[str]:
    """The words that any language lists under this key."""
    return frozenset().union(*(each.words(section, key) for each in languages()))


def patterns_of_all(section: str, key: str) -> str:
    """One pattern for what the patterns of any language under this key fit, broken lines joined."""
    found = []
    for _, table in in_every_language(section):
        pattern = "".join(table.get(key, "").splitlines())
        if pattern:
            found.append(pattern)
    # Without any, a pattern that fits nothing.
    return "|".join(found) or "(?!)"


def _head(code: str) -> LanguageData:
    source = _source(code)
    end, _ = next(_headers(source, 0), (len(source), ""))
    head = _parsed(source[:end], "")
    return LanguageData(
        code=code,
        name=head["name"],
        script=head["script"],
        stemmer=head.get("stemmer", ""),
        rank=head.get("rank", LAST_RANK),
    )


@cache
def _section(code: str, name: str) -> Mapping[str, Any]:
    source = _source(code)
    # Plain searches, because a look at every header of the longest file takes a millisecond.
    marks = (f"\n[{name}]", f"\n[{name}.", f"\n[[{name}.")
    places = [source.find(mark.encode()) for mark in marks]
    begins = [place for place in places if place >= 0]
    if not begins:
        return {}
    start = min(begins)
    # It ends where the first table of another section begins.
    end = len(source)
    for place, section in _headers(source, start):
        if section != name:
            end = place
            break
    return _parsed(source[start:end], name)


@cache
def _source(code: str) -> bytes:
    with open(f"{FOLDER}/{code}{SUFFIX}", "rb") as file:  # noqa: PTH123
        return b"\n" + file.read()


def _headers(source: bytes, start: int) -> Iterator[tuple[int, str]]:
    """The headers of tables from a place on: where each begins, and the section it belongs to."""
    place = source.find(b"\n[", start)
    while place >= 0:
        line = source[place + 1 : source.find(b"\n", place + 1)].rstrip()
        name = line.strip(b"[]").replace(b".", b"").replace(b"_", b"")
        # A line of a pattern may begin with a bracket, too; a header is a name and nothing else.
        if line.endswith(b"]") and name.isalpha():
            yield place, line.strip(b"[]").partition(b".")[0].decode()
        place = source.find(b"\n[", place + 1)


def _parsed(part: bytes, name: str) -> dict[str, Any]:
    """The values of a head or of a section."""
    text = part.decode()
    plain = _plain(text.removeprefix(f"\n[{name}]"))
    if plain is not None:
        return plain
    import tomllib  # noqa: PLC0415

    tables: dict[str, Any] = tomllib.loads(text)
    if not name:
        return tables
    section: dict[str, Any] = tables[name]
    return section


def _plain(text: str) -> dict[str, Any] | None:
    """The values of a text that has numbers and strings without escapes only; None of any other.

    Such are the sections that every recall needs. Without this it had to import tomllib, which
    takes as long as the rest of the language files together.
    """
    values: dict[str, Any] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line or line[0] == "#":
            continue
        key, _, value = line.partition(" = ")
        if value.isdecimal():
            values[key] = int(value)
        elif value in ('"""', "'''"):
            values[key] = "".join(f"{each}\n" for each in iter(lines.__next__, value))
        elif value[:1] == value[-1:] == '"' and value.count('"') == 2:
            values[key] = value[1:-1]
        elif value[:3] == value[-3:] == "'''" and len(value) >= 6:
            values[key] = value[3:-3]
        else:
            return None
        if value[:1] == '"' and "\\" in values[key]:
            return None
    return values
