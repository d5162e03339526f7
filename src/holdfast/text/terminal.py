"""Text for a terminal: short, readable, and without control over the terminal."""

from __future__ import annotations

import unicodedata
from typing import Final

from .invisible import TURNS, is_format

REPLACED: Final = "\ufffd"


class _Harmless(dict[int, str | int]):
    """Replacement of each character for a terminal, computed on first use.

    A control character becomes U+FFFD, except tab and line feed; a carriage return, which could
    overwrite a line, is removed. Unicode line separators become line feeds, because readers
    disagree about them. A direction mark becomes U+FFFD, because it can make a line read
    differently; invisible formats are removed.
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
    """The same for JSON, where escapes preserve every character."""

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
    """Make `text` safe for a terminal: control characters and direction marks become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_HARMLESS)


def escaped(document: str) -> str:
    """Escape such characters in a JSON `document`: the same for a parser, safe for a terminal."""
    if document.isascii():
        return document
    return document.translate(_ESCAPED)


def shorten(text: str, width: int) -> str:
    """Return one line of at most `width` characters."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    return line[: width - 1] + "…"


def counted(
    number: int,
    one: str,
    several: str = "",
) -> str:
    """Return a count with its noun.

    >>> counted(1, "record"), counted(2, "memory"), counted(2, "thing was", "things were")
    ('1 record', '2 memories', '2 things were')
    """
    return f"{number:,} {one if number == 1 else several or _several(one)}"


def _several(one: str) -> str:
    """Return the plural of a regular noun: memory, memories; day, days."""
    if one.endswith("y") and one[-2:-1] not in "aeiou":
        return f"{one[:-1]}ies"
    return f"{one}s"
