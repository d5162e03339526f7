"""Text on a screen: short enough, in words, and with no power over the terminal that shows it."""

from __future__ import annotations

import unicodedata
from typing import Final

from .invisible import TURNS, is_format

REPLACED: Final = "\ufffd"


class _Harmless(dict[int, str | int]):
    """What a terminal is given in place of each character, worked out when one is first met.

    A control character becomes U+FFFD, all but tab and line feed: a carriage return would let a
    line be written over. The separators of Unicode are line ends to one reader and not to the next.
    What turns the direction of a text becomes U+FFFD as well, for it lets a line read otherwise
    than it is; formats that are not seen are left out.
    """

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        is_control = unicodedata.category(char) in ("Cc", "Cs")
        given: str | int = (
            REPLACED if is_control or char in TURNS else "" if is_format(char) else code
        )
        self[code] = given
        return given


_HARMLESS = _Harmless(
    {
        9: 9,
        10: 10,
        13: "",
        0x2028: "\n",
        0x2029: "\n",
    }
)


class _Escaped(dict[int, str | int]):
    """The same for JSON, where a character can be written as an escape and nothing is lost."""

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        is_raw = code in (9, 10) or not (
            unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or is_format(char)
        )
        self[code] = given = code if is_raw else _escape(code)
        return given


_ESCAPED = _Escaped()


def _escape(code: int) -> str:
    units = chr(code).encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def plain(text: str) -> str:
    """`text` without power over a terminal: where a control or a turn of direction was, U+FFFD
    stands.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_HARMLESS)


def escaped(document: str) -> str:
    """A JSON `document` in which such characters are escapes: the same to a parser, harmless to a
    terminal.
    """
    if document.isascii():
        return document
    return document.translate(_ESCAPED)


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    return line[: width - 1] + "…"


def counted(
    number: int,
    one: str,
    several: str = "",
) -> str:
    """How many of something, in words.

    >>> counted(1, "record"), counted(2, "memory"), counted(2, "thing was", "things were")
    ('1 record', '2 memories', '2 things were')
    """
    return f"{number:,} {one if number == 1 else several or _several(one)}"


def _several(one: str) -> str:
    """The plural of a regular noun: memory, memories; day, days."""
    if one.endswith("y") and one[-2:-1] not in "aeiou":
        return f"{one[:-1]}ies"
    return f"{one}s"
