"""Lists of names and indicator words, read on first use: `names.txt`, and the sections `entities`
of the language files, whose entries extend the list of the same name (`works_at`: "works at").
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ...languages import in_every_language


@dataclass(frozen=True, slots=True)
class Listed:
    """Entries of one list, lower-cased; `unsure` ones are also ordinary words."""

    sure: frozenset[str]
    unsure: frozenset[str]

    def __contains__(self, key: str) -> bool:
        return key in self.sure or key in self.unsure


def entries(section: str) -> list[str]:
    """Return the entries of a section as written."""
    return _sections().get(section, [])


@cache
def listed(section: str) -> Listed:
    """Return the list of a section; empty if no file has it."""
    keys = [key_of(entry) for entry in entries(section)]
    sure = frozenset(key for key in keys if not key.endswith("?"))
    unsure = frozenset(key[:-1] for key in keys if key.endswith("?"))
    return Listed(sure, unsure)


@cache
def lengths(section: str) -> dict[str, tuple[int, ...]]:
    """Map the first word of each sure entry to the word counts of such entries, longest first."""
    found: dict[str, set[int]] = {}
    for entry in listed(section).sure:
        words = entry.split(" ")
        found.setdefault(words[0], set()).add(len(words))
    # Longest first, because the longest entry that matches is the intended one.
    longest_first: dict[str, tuple[int, ...]] = {}
    for first, counts in found.items():
        longest_first[first] = tuple(sorted(counts, reverse=True))
    return longest_first


@cache
def last_words(section: str) -> frozenset[str]:
    """Return the last word of each sure entry."""
    return frozenset(entry.rpartition(" ")[2] for entry in listed(section).sure)


@cache
def longest(section: str) -> int:
    """Return the word count of the longest entry of a section."""
    return max(entry.count(" ") + 1 for entry in _sections()[section])


def key_of(text: str) -> str:
    """Normalise a word for comparison: lower case, Latin letters without accents, plain
    apostrophe.
    """
    key = text.lower()
    # Only Latin: й without its breve is a different letter.
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
        # Entries may continue on the next line.
        plain = " ".join(entry.split())
        if plain:
            entries.append(plain)
    return entries
