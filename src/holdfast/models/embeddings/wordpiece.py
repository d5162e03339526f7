"""BERT's word-piece tokenisation, for one text at a time.

The library `tokenizers` does the same for thousands of texts, but importing it takes longer than
ten queries take here. Both agree on every text, except for marks of rare scripts that are newer
than the library's tables.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

Lookup = Callable[[str], int | None]
"""Returns the number of a piece, or None if the vocabulary lacks it."""

# Characters; a longer word counts as unknown, as in BERT.
LONGEST_WORD = 100
_DROPPED = ("Cc", "Cf", "Cs", "Co")
# ASCII punctuation and symbols, as BERT defines them.
_PUNCTUATION = frozenset(
    map(chr, (*range(33, 48), *range(58, 65), *range(91, 97), *range(123, 127)))
)
# CJK ideographs: each one is a word of its own.
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
    """Return the numbers of the pieces of a text, in order; unknown words are skipped."""
    return [piece for word in words(text) for piece in _pieces_of(word, number)]


def words(text: str) -> Iterator[str]:
    """Yield the words of a text, lower-cased and without accents, and each punctuation mark.

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
    # Character by character, because `str.lower` of a whole word depends on context (Greek sigma).
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
    """Split a word greedily into the longest known pieces; empty if that fails."""
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
