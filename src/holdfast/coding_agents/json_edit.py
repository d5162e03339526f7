"""Entries added to and removed from JSON text. Every other byte stays: what people and tools wrote
is theirs.

`remove` undoes `insert` to the byte. What is inserted into something empty is put between its
brackets without white space, so that `remove` can tell these brackets from those we wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
# Where there is nothing to imitate.
INDENT = "  "
# The last step of a path that ends in an array: behind its elements.
APPEND = ""
Path = tuple[str | int, ...]
"""Keys of objects and numbers of array elements, from the outermost object to an entry."""


class Insertion(NamedTuple):
    """A value and its place: keys of objects, the last one new, or APPEND for an array."""

    path: tuple[str, ...]
    value: Any


class Entry(NamedTuple):
    """A member of an object or an element of an array, and where it stands in the text."""

    key: str
    # Of the key, or of the element.
    start: int
    # Where the value begins.
    value: int
    end: int


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
            # Over the colon.
            place = _skip(text, _skip(text, place) + 1)
        value, (_, end) = place, _DECODER.raw_decode(text, place)
        found.append(Entry(key, start, value, end))
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place
    return found


def insert(text: str, insertion: Insertion) -> str:
    """`text` with one more entry. Objects and arrays of its path that are missing are created."""
    path, value = insertion
    if not text.strip():
        return json.dumps(nested(path, value), indent=INDENT, ensure_ascii=False) + "\n"
    at = text.index("{")
    for depth, key in enumerate(path[:-1], 1):
        inner = _member(text, at, key)
        if inner is None:
            return _add(text, at, nested(path[depth:], value), key)
        at = inner
    return _add(text, at, value, path[-1])


def nested(path: Sequence[str], value: Any) -> Any:
    """A value inside the objects and arrays of a path."""
    for key in reversed(path):
        value = [value] if key == APPEND else {key: value}
    return value


def remove(text: str, path: Path) -> str:
    """`text` without the entry of a path, and without what was around it and held nothing else.

    Of the objects and arrays that become empty only those go that we wrote; brackets that were
    somebody else's stay, which `is_compact` tells.
    """
    places = [text.index("{")]
    for step in path[:-1]:
        places.append(entries(text, places[-1])[_number(text, places[-1], step)].value)
    depth = len(path) - 1
    while depth > 0 and len(entries(text, places[depth])) == 1:
        if is_compact(text, places[depth]):
            break
        depth -= 1
    return _take_out(text, places[depth], _number(text, places[depth], path[depth]))


def is_compact(text: str, at: int) -> bool:
    """Whether nothing stands between the opening bracket at `at` and what is in it."""
    return text[at + 1] not in " \t\r\n"


def _number(
    text: str,
    at: int,
    step: str | int,
) -> int:
    """Which entry of the object or array at `at` a step of a path means."""
    if isinstance(step, int):
        return step
    keys = [entry.key for entry in entries(text, at)]
    # Of equal keys the last one counts, as it does for every reader.
    return len(keys) - 1 - keys[::-1].index(step)


def _member(
    text: str,
    at: int,
    key: str,
) -> int | None:
    """Where the value of `key` begins in the object at `at`; of equal keys the last one counts."""
    found = [entry.value for entry in entries(text, at) if entry.key == key]
    return found[-1] if found else None


def _add(
    text: str,
    at: int,
    value: Any,
    key: str,
) -> str:
    """`text` with one more entry behind those of the object or array at `at`."""
    there = entries(text, at)
    around = _indent_of(text, at)
    name = "" if key == APPEND else f"{json.dumps(key)}: "
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
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    return text[:place] + new + text[place:]


def _take_out(
    text: str,
    at: int,
    number: int,
) -> str:
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
        end = there[0].end if is_compact(text, at) else _skip(text, there[0].end)
    return text[:start] + text[end:]


def _shown(
    value: Any,
    indent: str,
    step: str,
) -> str:
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
