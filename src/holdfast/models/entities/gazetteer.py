"""Lists of names and telling words, read on first use: `names.txt`, and the sections `entities` of
the language files, whose entries are added to the list of the same name (`works_at`: "works at").
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ...languages import in_every_language


@dataclass(frozen=True, slots=True)
class Listed:
    """The entries of one list, lower-cased; `unsure` ones are ordinary words too."""

    sure: frozenset[str]
    unsure: frozenset[str]

    def __contains__(self, key: str) -> bool:
        return key in self.sure or key in self.unsure


def entries(section: str) -> list[str]:
    """The entries of a section as they are written."""
    return _sections().get(section, [])


@cache
def listed(section: str) -> Listed:
    """The list of a section; empty if no file has it."""
    keys = [key_of(entry) for entry in entries(section)]
    sure = frozenset(key for key in keys if not key.endswith("?"))
    unsure = frozenset(key[:-1] for key in keys if key.endswith("?"))
    return Listed(sure, unsure)


@cache
def lengths(section: str) -> dict[str, tuple[int, ...]]:
    """How many words the sure entries of a section have that begin with a word, the longest
    first.
    """
    found: dict[str, set[int]] = {}
    for entry in listed(section).sure:
        words = entry.split(" ")
        found.setdefault(words[0], set()).add(len(words))
    # The longest entry that fits is the one that is meant.
    longest_first: dict[str, tuple[int, ...]] = {}
    for first, counts in found.items():
        longest_first[first] = tuple(sorted(counts, reverse=True))
    return longest_first


@cache
def longest(section: str) -> int:
    """How many words the longest entry of a section has."""
    return max(entry.count(" ") + 1 for entry in _sections()[section])


def key_of(text: str) -> str:
    """A name or word for comparison: lower-cased, Latin letters without accents, a plain
    apostrophe.
    """
    key = text.lower()
    # Latin only: й without its breve is another letter.
    if key.isascii() or key[0] >= "Ͱ":
        return key
    letters = unicodedata.normalize("NFD", key.replace("’", "'"))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _sections() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    source = (files(__package__) / "names.txt").read_text("utf-8")
    for part in f"\n{source}".split("\n[")[1:]:
        title, _, body = part.partition("]\n")
        text = " ".join("," if line.startswith("#") else line for line in body.splitlines())
        sections[title] = _entries(text)
    for _, lists in in_every_language("entities"):
        for key, text in lists.items():
            sections.setdefault(key.replace("_", " "), []).extend(_entries(text))
    return sections


def _entries(text: str) -> list[str]:
    entries = []
    for entry in text.split(","):
        # Entries may be broken over lines.
        plain = " ".join(entry.split())
        if plain:
            entries.append(plain)
    return entries
