"""Entries added to and taken out of JSON text. Every other byte stays: what people and tools wrote
is theirs.

Adding is undone by taking out, to the byte. What is added to something empty is put between its
brackets without white space, so that taking it out again leaves the brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import InvalidInput

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
# Where there is nothing to imitate.
INDENT = "  "


class Entry(NamedTuple):
    """A member of an object or an element of an array, and where it stands in the text."""

    key: str
    # Of the key, or of the element.
    start: int
    value: int  # where the value begins
    end: int


def parse(text: str, what: str) -> Any:
    """The value of a whole text; InvalidInput with the line and the reason when it is no JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{what} is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}. "
            "Nothing was changed. Correct that line and try again."
        ) from error


def entries(text: str, at: int) -> list[Entry]:
    """The entries of the object or array that begins at `at` in valid JSON."""
    named = text[at] == "{"
    found = list[Entry]()
    place = _skip(text, at + 1)
    while text[place] not in "]}":
        start = place
        key = ""
        if named:
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)  # over the colon
        value, (_, end) = place, _DECODER.raw_decode(text, place)
        found.append(Entry(key, start, value, end))
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place
    return found


def member(text: str, at: int, key: str) -> int | None:
    """Where the value of `key` begins in the object at `at`; the last one counts, as it does for
    every reader.
    """
    return next((entry.value for entry in reversed(entries(text, at)) if entry.key == key), None)


def add(text: str, at: int, value: Any, key: str = "") -> str:
    """`text` with one more entry behind those of the object or array at `at`."""
    there = entries(text, at)
    around = _indent_of(text, at)
    name = f"{json.dumps(key)}: " if key else ""
    if not there:
        place = at + 1
        new = f"{name}{_shown(value, around, INDENT)}"
    elif _begins_line(text, there[-1].start):
        place = there[-1].end
        indent = _indent_of(text, there[-1].start)
        new = f",\n{indent}{name}{_shown(value, indent, indent.removeprefix(around) or INDENT)}"
    else:
        place = there[-1].end
        new = f", {name}{_shown(value, around, INDENT)}"
    return text[:place] + (new.replace("\n", "\r\n") if "\r\n" in text else new) + text[place:]


def take_out(text: str, at: int, number: int) -> str:
    """`text` without one entry of the object or array at `at`."""
    there = entries(text, at)
    if number > 0:
        start = there[number - 1].end
        end = there[number].end
    elif len(there) > 1:
        start = there[0].start
        end = there[1].start
    else:
        start = at + 1
        end = there[0].end if compact(text, at) else _skip(text, there[0].end)
    return text[:start] + text[end:]


def prune(text: str, path: Sequence[tuple[int, str | int]], *, ours_from: int) -> str:
    """`text` without the last of a path of entries, and without those before it that hold nothing
    else.

    A step of the path is where an object or array begins, and the key or number of an entry in it.
    What is empty because we filled it goes; brackets that were somebody's stay, which is what
    `compact` tells. From the step `ours_from` on everything is ours.
    """
    *steps, (at, name) = path
    while (
        steps and len(entries(text, at)) == 1 and not (len(steps) < ours_from and compact(text, at))
    ):
        at, name = steps.pop()
    keys = [entry.key for entry in entries(text, at)]
    return take_out(
        text, at, name if isinstance(name, int) else len(keys) - 1 - keys[::-1].index(name)
    )


def compact(text: str, at: int) -> bool:
    """Whether nothing stands between the opening bracket at `at` and what is in it."""
    return text[at + 1] not in " \t\r\n"


def _shown(value: Any, indent: str, step: str) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _begins_line(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place) + 1
    return line > 0 and not text[line:place].strip()


def _indent_of(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]
