"""Invisible characters.

Some are legitimate: joiners shape Persian, Hindi and many emoji, and a few visible Arabic and Indic
signs are classified as formats. All others hide something, change the direction of text, or control
a terminal.
"""

from __future__ import annotations

import unicodedata

JOINERS = "\u200c\u200d"
# Visible signs before numbers, which Unicode classifies as formats.
_SEEN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
# Letters, marks or symbols that look empty: Hangul fillers, the blank Braille cell, a note without
# head, invisible Khmer vowels, the grapheme joiner, and variation selectors.
_EMPTY = frozenset(
    [
        "\u034f",
        "\u115f",
        "\u1160",
        "\u17b4",
        "\u17b5",
        "\u2800",
        "\u3164",
        "\uffa0",
        "\U0001d159",
        *map(chr, range(0x180B, 0x1810)),
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0100, 0xE01F0)),
    ]
)
# Direction marks: they change the direction of the text after them.
TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Characters that can be inside a word without changing how it looks, such as the soft hyphen and
# the zero-width space.
HIDDEN = frozenset({*JOINERS, *TURNS, "\u00ad", "\u200b", "\u2060", "\ufeff"})


def is_format(char: str) -> bool:
    """Whether `char` is an invisible format character other than a joiner."""
    return unicodedata.category(char) == "Cf" and char not in JOINERS and char not in _SEEN


def is_blank(text: str) -> bool:
    """Whether `text` shows nothing: it is empty, or only space, control, format or filler
    characters.

    >>> is_blank("\\u200b\\u2060 \\ufeff")
    True
    >>> is_blank("\\u0645\\u06cc\\u200c\\u062e\\u0648\\u0627\\u0647\\u0645")
    False
    """
    return text.isspace() or not any(map(_is_seen, text))


def _is_seen(char: str) -> bool:
    if char.isalnum():
        return char not in _EMPTY
    return (
        unicodedata.category(char) not in ("Cc", "Cf", "Zs", "Zl", "Zp") and char not in _EMPTY
    ) or char in _SEEN
