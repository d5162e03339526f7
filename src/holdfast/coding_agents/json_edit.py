"""Entries added to and removed from JSON text, also with comments and trailing commas. Every other
byte stays: what people and tools wrote is theirs.

`remove` undoes `insert` to the byte. What is inserted into something empty is put between its
brackets without white space, so that `remove` can tell these brackets from those we wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
# Not a comma with nothing before it.
_TRAILING_COMMA = re.compile(rf"{_STRING}|[{{\[]\s*,|,(?=\s*[}}\]])", re.DOTALL)
# A comment that ends on its line belongs to what stands before it on that line.
_REMARK = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)(?=[ \t]*(?:\r?\n|$))")
_NOT_SPACE = re.compile(r"[^\s]")
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


class _Layers(NamedTuple):
    """A text, and the same text with blanks in place of what is not strict JSON.

    Every place in one layer is the same place in the others.
    """

    text: str
    # Without comments.
    uncommented: str
    # Without trailing commas either.
    strict: str


def _layers(text: str) -> _Layers:
    uncommented = _COMMENT.sub(_blank, text)
    return _Layers(text, uncommented, _TRAILING_COMMA.sub(_blank, uncommented))


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    return found if found[0] in '"{[' else _NOT_SPACE.sub(" ", found)


def strict(text: str) -> str:
    """The text with blanks in place of comments and trailing commas, as long as before."""
    return _layers(text).strict


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
    layers = _layers(text)
    at = layers.strict.index("{")
    for depth, key in enumerate(path[:-1], 1):
        inner = _member(layers.strict, at, key)
        if inner is None:
            return _add(layers, at, nested(path[depth:], value), key)
        at = inner
    return _add(layers, at, value, path[-1])


def nested(path: Sequence[str], value: Any) -> Any:
    """A value inside the objects and arrays of a path."""
    for key in reversed(path):
        value = [value] if key == APPEND else {key: value}
    return value


def remove(text: str, path: Path) -> str:
    """`text` without the entry of a path, and without what was around it and held nothing else.

    Of the objects and arrays that become empty only those go that we wrote; brackets that were
    somebody else's stay, which `is_compact` or a comment between them tells.
    """
    layers = _layers(text)
    places = [layers.strict.index("{")]
    for step in path[:-1]:
        number = _number(layers.strict, places[-1], step)
        places.append(entries(layers.strict, places[-1])[number].value)
    depth = len(path) - 1
    while depth > 0 and len(entries(layers.strict, places[depth])) == 1:
        if is_compact(text, places[depth]) or _has_comments(layers, places[depth]):
            break
        depth -= 1
    return _take_out(layers, places[depth], _number(layers.strict, places[depth], path[depth]))


def is_compact(text: str, at: int) -> bool:
    """Whether nothing stands between the opening bracket at `at` and what is in it."""
    return text[at + 1] not in " \t\r\n"


def _has_comments(layers: _Layers, at: int) -> bool:
    """Whether comments stand among the entries of the object or array at `at`."""
    there = entries(layers.strict, at)
    end = _skip(layers.strict, there[-1].end if there else at + 1)
    return layers.text[at:end] != layers.uncommented[at:end]


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
    layers: _Layers,
    at: int,
    value: Any,
    key: str,
) -> str:
    """The text with one more entry behind those of the object or array at `at`."""
    text = layers.text
    there = entries(layers.strict, at)
    around = _indent_of(layers.strict, at)
    name = "" if key == APPEND else f"{json.dumps(key)}: "
    if not there:
        return _put(text, at + 1, f"{name}{_shown(value, around, INDENT)}")
    last = there[-1]
    own_line = _begins_line(layers.strict, last.start)
    indent = _indent_of(layers.strict, last.start) if own_line else around
    step = indent.removeprefix(around) or INDENT
    space = f"\n{indent}" if own_line else " "
    new = f"{space}{name}{_shown(value, indent, step)}"
    comma = _comma_after(layers, last.end)
    behind = last.end if comma is None else comma + 1
    # A comment on the line of the last entry is about that one, so ours comes behind it.
    remark = _REMARK.match(text, behind) if own_line else None
    place = remark.end() if remark else behind
    if comma is not None:
        return _put(text, place, f"{new},")
    return _put(_put(text, place, new), last.end, ",")


def _put(
    text: str,
    place: int,
    new: str,
) -> str:
    if "\r\n" in text:
        new = new.replace("\n", "\r\n")
    return text[:place] + new + text[place:]


def _comma_after(layers: _Layers, place: int) -> int | None:
    """Where the comma behind an entry that ends at `place` stands."""
    comma = _skip(layers.uncommented, place)
    return comma if layers.uncommented[comma] == "," else None


def _take_out(
    layers: _Layers,
    at: int,
    number: int,
) -> str:
    """The text without one entry of the object or array at `at`; every comment stays."""
    text = layers.text
    there = entries(layers.strict, at)
    entry = there[number]
    after = _comma_after(layers, entry.end)
    end = entry.end if after is None else after + 1
    if number > 0:
        before = there[number - 1].end
        # Blanks in front of the entry go with it; a comment there does not.
        start = before + len(text[before : entry.start].rstrip())
        if after is not None:
            return text[:start] + text[entry.end : after] + text[end:]
        comma = _skip(layers.uncommented, before)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if len(there) > 1:
        return text[: entry.start] + text[_skip(text, end) :]
    if is_compact(text, at) or _has_comments(layers, at):
        return text[: entry.start] + text[end:]
    return text[: at + 1] + text[_skip(text, end) :]


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
