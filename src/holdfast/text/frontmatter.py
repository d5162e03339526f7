"""Markdown files with YAML front matter: split, parsed, and patched with minimal changes.

A patch replaces only the bytes of the changed values. Every other byte belongs to a person and
stays: comments, order, quotes, unknown keys, line ends, and the byte order mark of some editors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

from .. import text as texts
from ..errors import InvalidInput, Refused
from ..values import dataclass, replace
from . import plain_yaml
from .plain_yaml import NotPlain

if TYPE_CHECKING:
    from .full_yaml import Entry

_OPENING = re.compile(r"\ufeff?---[ \t]*(\r?\n)")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?: .*)?\r?$", re.MULTILINE)


class Broken(InvalidInput):
    """A file that is not a valid record; `line` tells where."""

    line: int

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason, line=line)


@dataclass(frozen=True)
class Document:
    """A file in four pieces, which together are the file character by character."""

    opening: str
    yaml: str
    closing: str
    body: str

    @property
    def text(self) -> str:
        """The whole file."""
        return self.opening + self.yaml + self.closing + self.body

    @property
    def eol(self) -> str:
        """Its line ending."""
        if "\r\n" in (self.opening or self.body):
            return "\r\n"
        return "\n"


def decode(content: bytes) -> str:
    """Decode a file; raises Broken if it is not UTF-8 or contains a git conflict."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Broken("is not UTF-8 text. Save it as UTF-8", line) from None
    marks = list(_CONFLICT.finditer(text))
    if len({mark[0][0] for mark in marks}) == 2:
        raise Broken(
            "git left a conflict here. Decide it and save the file", _line(text, marks[0].start())
        )
    return text


def split(text: str) -> Document:
    """Split a file; without front matter it is all body. Raises Broken if the front matter does not
    end.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return Document("", "", "", text)
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise Broken("the frontmatter that begins here does not end: a line '---' is missing")
    start, end = closing.span()
    return Document(opening[0], text[opening.end() : start], text[start:end], text[end:])


def read(document: Document) -> dict[str, Any]:
    """Parse the front matter; raises Broken, with the line in the file, if it is not valid YAML."""
    try:
        return plain_yaml.read(document.yaml)
    except NotPlain:
        return _load(document.yaml)


def write(
    values: Mapping[str, Any],
    body: str,
    *,
    eol: str = "\n",
) -> Document:
    """Build a new file with this front matter, in this order, and this body."""
    yaml = "".join(plain_yaml.write(key, value, eol=eol) for key, value in values.items())
    return Document(f"---{eol}", yaml, f"---{eol}", body)


def line_of(document: Document, key: str) -> int:
    """Return the line of a front matter key in the file; 1 if it is missing."""
    found = re.search(rf"^[\"']?{re.escape(key)}[\"']?\s*:", document.yaml, re.MULTILINE)
    if found:
        return _line(document.text, len(document.opening) + found.start())
    return 1


def patch(
    document: Document,
    changes: Mapping[str, Any],
    *,
    order: Sequence[str] = (),
) -> Document:
    """Change the values of some keys; None removes a key. No other byte changes.

    A new key goes after those that precede it in `order`, else at the end. Raises Refused if the
    change cannot be made safely.
    """
    wanted = {
        key: value for key, value in read(document).items() if changes.get(key, "") is not None
    }
    wanted |= {key: value for key, value in changes.items() if value is not None}
    if not document.opening:
        eol = document.eol
        if wanted:
            return replace(write(wanted, "", eol=eol), body=document.body)
        return document
    for attempt in (_cut_and_paste, _round_trip):
        patched = attempt(document, changes, order)
        if patched is not None and _says(patched, wanted):
            return replace(document, yaml=patched)
    raise Refused(
        "Its frontmatter is written in a way that cannot be changed without touching more than "
        "was asked for. Nothing "
        "was changed; edit the file yourself."
    )


def plain(value: Any) -> Any:
    """Convert a YAML value to JSON types: times become ISO 8601 text, keys become text."""
    match value:
        case datetime():
            return (
                (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
            )
        case date():
            return datetime.combine(value, time(), UTC).isoformat()
        case Mapping():
            return {str(key): plain(one) for key, one in value.items()}
        case list() | tuple() | set():
            return [plain(one) for one in value]
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _says(yaml: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return bool(plain(_load(yaml)) == plain(wanted))
    except Broken:
        return False


def _load(yaml: str) -> dict[str, Any]:
    try:
        return texts.full_yaml.load(yaml)
    except texts.full_yaml.NotYAML as error:
        # The front matter starts on the second line of the file.
        raise Broken(f"this is not valid YAML: {error}", 1 + error.line) from error


# Changing it


def _cut_and_paste(
    document: Document,
    changes: Mapping[str, Any],
    order: Sequence[str],
) -> str | None:
    """Replace the values in place; None if the YAML is too complex for that."""
    entries = texts.full_yaml.entries(document.yaml)
    if entries is None:
        return None
    edits = [
        _edit(
            document,
            entries,
            key,
            value,
            order,
        )
        for key, value in changes.items()
    ]
    text = document.yaml
    # From the end to the beginning, so that positions stay valid; of several insertions at one
    # position, the last is applied first.
    for start, end, new in sorted(
        filter(None, reversed(edits)), key=lambda edit: edit[:2], reverse=True
    ):
        text = text[:start] + new + text[end:]
    return text


Edit = tuple[int, int, str]


def _edit(
    document: Document,
    entries: Mapping[str, Entry],
    key: str,
    value: Any,
    order: Sequence[str],
) -> Edit | None:
    yaml = document.yaml
    known = entries.get(key)
    if known is None:
        if value is not None:
            return _added(
                document,
                entries,
                key,
                value,
                order,
            )
        return None
    if value is None:
        return yaml.rfind("\n", 0, known.start) + 1, _line_end(yaml, known.end), ""
    written = plain_yaml.write(key, value, eol=document.eol, indent=" " * known.column)
    return known.colon, known.end, written[written.index(":") + 1 :].rstrip("\r\n")


def _added(
    document: Document,
    entries: Mapping[str, Entry],
    key: str,
    value: Any,
    order: Sequence[str],
) -> Edit:
    yaml = document.yaml
    every = list(entries.values())
    before = set(order[: order.index(key)]) if key in order else set(entries)
    above = [entry for name, entry in entries.items() if name in before]
    if above or not every:
        place = _line_end(yaml, max(entry.end for entry in above)) if above else len(yaml)
    else:
        place = yaml.rfind("\n", 0, every[0].start) + 1
    written = plain_yaml.write(
        key, value, eol=document.eol, indent=" " * (every[0].column if every else 0)
    )
    return place, place, written


def _line_end(yaml: str, place: int) -> int:
    """Return the start of the line after a position."""
    end = yaml.find("\n", place)
    if end < 0:
        return len(yaml)
    return end + 1


def _round_trip(
    document: Document,
    changes: Mapping[str, Any],
    _: Sequence[str],
) -> str | None:
    """Rewrite the YAML with the library: the second choice, because it may change spaces."""
    plain_changes = {key: plain(value) for key, value in changes.items()}
    again = texts.full_yaml.written_again(document.yaml, plain_changes)
    if again is None:
        return None
    return again.replace("\n", document.eol)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
