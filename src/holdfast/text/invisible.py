"""Characters that nobody sees: which there are, and whether a text has any other.

Some belong where they are. Joiners make Persian, Hindi and many emoji what they are, and a few
signs of Arabic and Indic scripts are only classed as formats. All others hide something, turn the
order of what is shown, or steer a terminal.
"""

from __future__ import annotations

import unicodedata

JOINERS = "\u200c\u200d"
# Signs that stand before numbers and are seen, though Unicode classes them as formats.
_SEEN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
# Seen as nothing though they are letters, marks or symbols: fillers of Hangul, the empty Braille
# cell, a note without a head, vowels of Khmer that are not shown, the joiner of graphemes, and the
# selectors of variants.
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
# What turns the direction of the text after it.
TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# What can stand inside a word without changing how it looks, among it the soft hyphen and the
# zero-width space.
HIDDEN = frozenset({*JOINERS, *TURNS, "\u00ad", "\u200b", "\u2060", "\ufeff"})


def is_format(char: str) -> bool:
    """Whether `char` is a format that is neither seen nor a joiner."""
    return unicodedata.category(char) == "Cf" and char not in JOINERS and char not in _SEEN


def is_blank(text: str) -> bool:
    """Whether nothing of `text` is seen: it is empty, or all of it is space, control, format or
    filler.

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
