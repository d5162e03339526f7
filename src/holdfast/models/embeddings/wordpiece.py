"""BERT's way to cut a text into pieces of words, for one text at a time.

The library `tokenizers` does the same for thousands, and loading it takes longer than ten questions
take here. The two agree on every text but for marks of rare scripts that are younger than the
library's tables.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

Lookup = Callable[[str], int | None]
"""The number of a piece, or None where the vocabulary does not have it."""

# Characters: a longer one counts as unknown.
LONGEST_WORD = 100
_DROPPED = ("Cc", "Cf", "Cs", "Co")
# Of ASCII.
_PUNCTUATION = frozenset(
    map(chr, (*range(33, 48), *range(58, 65), *range(91, 97), *range(123, 127)))
)
# Scripts without spaces, in which every character is a word.
_IDEOGRAPHS = (
    range(0x4E00, 0xA000),
    range(0x3400, 0x4DC0),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0xF900, 0xFB00),
    range(0x2F800, 0x2FA20),
)


def pieces(text: str, number: Lookup) -> list[int]:
    """The numbers of the pieces of a text, in order, without words that are unknown."""
    return [piece for word in words(text) for piece in _pieces_of(word, number)]


def words(text: str) -> Iterator[str]:
    """The words of a text in small letters without accents, and its punctuation marks, each by
    itself.

    >>> list(words("Ça va, Zoë?"))
    ['ca', 'va', ',', 'zoe', '?']
    """
    word = ""
    for character in _plain(text):
        alone = character in _PUNCTUATION or unicodedata.category(character).startswith("P")
        if alone or character.isspace():
            if word:
                yield word
            if alone:
                yield character
            word = ""
        else:
            word += character
    if word:
        yield word


def _plain(text: str) -> str:
    spaced = "".join(map(_spaced, text))
    if not spaced.isascii():
        apart = unicodedata.normalize("NFD", spaced)
        spaced = "".join(
            character for character in apart if unicodedata.category(character) != "Mn"
        )
    # One by one: what a letter becomes must not depend on where in a word it stands.
    return "".join(character.lower() for character in spaced)


def _spaced(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character in "\x00\ufffd" or unicodedata.category(character) in _DROPPED:
        return ""
    if any(ord(character) in script for script in _IDEOGRAPHS):
        return f" {character} "
    return character


def _pieces_of(word: str, number: Lookup) -> list[int]:
    """The longest known beginning, then the longest known one of the rest, and so on; nothing if
    that fails.
    """
    found: list[int] = []
    start = 0 if len(word) <= LONGEST_WORD else len(word) + 1
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = number(word[start:end] if start == 0 else f"##{word[start:end]}")
            if piece is not None:
                found.append(piece)
                start = end
                break
        else:
            return []
    return found
