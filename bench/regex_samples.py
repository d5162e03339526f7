"""Strings that match a regular expression, drawn from a seed: keys for a pattern that has no
example.
"""

from __future__ import annotations

import random
import re
import re._constants as sre
import re._parser as parser
import string
from typing import Any

# RE2 writes these as Python does not.
_POSIX = {
    "[:alnum:]": "A-Za-z0-9",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:word:]": r"\w",
    "[:space:]": r"\s",
    "[:punct:]": "!-/:-@[-`{-~",
}
_CLASSES = {
    sre.CATEGORY_DIGIT: string.digits,
    sre.CATEGORY_WORD: string.ascii_letters + string.digits + "_",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: string.ascii_letters + string.digits,
    sre.CATEGORY_NOT_DIGIT: string.ascii_letters,
    sre.CATEGORY_NOT_WORD: " ",
}
_MORE = 12  # how many more than the least of an open repetition


def translated(pattern: str) -> str:
    """A pattern of Go's as Python reads it; a flag in its middle holds for what follows."""
    for name, characters in _POSIX.items():
        pattern = pattern.replace(name, characters)
    pattern = pattern.replace(r"\z", r"\Z")
    flag = re.search(r"(?<!\\)\(\?i\)", pattern)
    if flag and flag.start() > 0:
        pattern = pattern[: flag.start()] + "(?i:" + pattern[flag.end() :] + ")"
    return pattern


def sample(pattern: str, chance: random.Random) -> str:
    """A string that `pattern` matches."""
    return "".join(_drawn(part, chance) for part in parser.parse(translated(pattern)))


# One answer for each kind of part.
def _drawn(part: Any, chance: random.Random) -> str:  # noqa: PLR0911
    kind, value = part
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if kind is sre.ANY:
        return chance.choice(string.ascii_letters)
    if kind is sre.IN:
        return chance.choice(_members(value))
    if kind is sre.BRANCH:
        return "".join(_drawn(one, chance) for one in chance.choice(value[1]))
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, inner = value
        count = chance.randint(least, min(most, least + _MORE))
        return "".join(_drawn(one, chance) for _ in range(count) for one in inner)
    if kind is sre.SUBPATTERN:
        return "".join(_drawn(one, chance) for one in value[3])
    return ""  # places such as \b and $ take no room


def _members(items: Any) -> str:
    if items[0][0] is sre.NEGATE:
        banned = set(_members(items[1:]))
        return (
            "".join(char for char in string.ascii_letters + string.digits if char not in banned)
            or "~"
        )
    members = ""
    for kind, value in items:
        if kind is sre.LITERAL:
            members += chr(value)
        elif kind is sre.RANGE:
            members += "".join(chr(code) for code in range(value[0], min(value[1], 0x7E) + 1))
        elif kind is sre.CATEGORY:
            members += _CLASSES.get(value, "a")
    return members
