"""Text on a screen: short enough, in words, and with no power over the terminal that shows it."""

from __future__ import annotations

# All control characters but tab and line feed. A carriage return would let a line be written over; that and the
# separators of Unicode are line ends to one reader and not to the next.
_CONTROLS: dict[int, str | None] = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)], "�")
_CONTROLS |= {13: None, 0x2028: "\n", 0x2029: "\n"}


def plain(text: str) -> str:
    """`text` without control characters; where one was, U+FFFD stands."""
    return text.translate(_CONTROLS)


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def counted(number: int, one: str, several: str = "") -> str:
    """How many of something, in words.

    >>> counted(1, "record"), counted(2, "memory"), counted(2, "thing was", "things were")
    ('1 record', '2 memories', '2 things were')
    """
    return f"{number:,} {one if number == 1 else several or _several(one)}"


def _several(one: str) -> str:
    """The plural of a regular noun: memory, memories; day, days."""
    return f"{one[:-1]}ies" if one.endswith("y") and one[-2:-1] not in "aeiou" else f"{one}s"
