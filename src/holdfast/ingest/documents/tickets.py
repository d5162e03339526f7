"""Tickets and notes as searchable pieces: Markdown with frontmatter or a heading, JSON, plain text.

Every piece of a ticket carries the ticket's title, so that search finds it, and its status, type
and priority as tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ...errors import InvalidInput
from ...text import frontmatter
from ...text.terminal import shorten
from ...transcripts.json_fields import micros
from ...types import Micros
from ..sanitize import guard_lines
from .chunking import Chunk, chunks

TICKET = "ticket"
NOTE = "note"
LONGEST_TITLE = 200

# What tools call the same thing; the first that is there counts.
_TITLE = ("title", "summary", "subject")
_TEXT = ("description", "body", "content", "text")
_REMARKS = ("notes", "note", "comments")
_NAME = ("id", "key", "number")
_WHEN = (
    "updated",
    "updated_at",
    "updatedAt",
    "modified",
    "date",
    "created",
    "created_at",
    "createdAt",
)
_LABELS = ("labels", "tags", "keywords")
# Each becomes a tag such as `status:done`.
_FACETS = ("status", "type", "priority")
_LISTS = ("tickets", "issues", "items")

# The title of a ticket without front matter.
_TOP_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
# "**Status**: done" at the top of a ticket.
_FACET_LINE = re.compile(
    rf"^[\s*_>-]*({'|'.join(_FACETS)})[\s*_]*:[\s*_]*([\w][\w /-]{{0,40}})", re.IGNORECASE
)
# From the top: further down such a line is prose.
_FACET_LINES = 12


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a ticket or note, with everything it can be found by."""

    text: str
    title: str
    lines: tuple[int, int]
    category: str
    tags: tuple[str, ...] = ()
    at: Micros | None = None
    """When the ticket says it was last changed; None when it does not say."""


def markdown(text: str, *, name: str) -> list[Piece]:
    """Pieces of a Markdown or plain text; `name` is the title if the text has none."""
    fields, body, first = _frontmatter(guard_lines(text))
    facets = _facets(fields) | _written_facets(body)
    heading = _TOP_HEADING.search(body)
    title = _first(fields, _TITLE) or (heading[1] if heading else "") or name
    category = TICKET if facets else NOTE
    about = Piece(
        "",
        _named(fields, title),
        (0, 0),
        category,
        _tags(fields, facets),
        _when(fields),
    )
    found = chunks(body) or [Chunk(title, (), (1, max(1, text.count("\n"))))]
    return [_piece(about, chunk, skip=first) for chunk in found]


def tickets(text: str) -> list[Piece]:
    """Pieces of the ticket or list of tickets in a JSON text.

    Raises InvalidInput if it holds none or is not JSON.
    """
    pieces: list[Piece] = []
    for fields, lines in _objects(text):
        if _is_ticket(fields):
            pieces += _of_ticket(fields, lines)
    if not pieces:
        raise InvalidInput(
            "it is JSON, but neither a ticket (title, description, notes, status) nor a list "
            "of "
            "tickets"
        )
    return pieces


# Markdown


def _frontmatter(text: str) -> tuple[Mapping[str, Any], str, int]:
    """The frontmatter between two dashed lines, the text after it, and its number of lines."""
    try:
        document = frontmatter.split(text)
        fields = frontmatter.read(document)
    except frontmatter.Broken:
        # Whatever it is, its words can be found.
        return {}, text, 0
    return fields, document.body, text.count("\n", 0, len(text) - len(document.body))


def _written_facets(body: str) -> dict[str, str]:
    """Facets written as lines of the text, such as `**Status:** done` under the heading."""
    lines = (line for line in body.split("\n", _FACET_LINES)[:_FACET_LINES])
    found = filter(None, map(_FACET_LINE.match, lines))
    return {match[1].lower(): match[2].strip() for match in found}


def _piece(
    about: Piece,
    chunk: Chunk,
    *,
    skip: int = 0,
) -> Piece:
    under = [heading for heading in chunk.headings if heading not in about.title]
    title = shorten(" › ".join((about.title, *under)), LONGEST_TITLE)
    lines = (chunk.lines[0] + skip, chunk.lines[1] + skip)
    return Piece(
        chunk.text,
        title,
        lines,
        about.category,
        about.tags,
        about.at,
    )


# JSON


def _objects(text: str) -> Iterator[tuple[Mapping[str, Any], tuple[int, int]]]:
    """Objects that may be tickets, each with its first and last line."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not valid JSON ({error})") from error
    every = (1, text.rstrip().count("\n") + 1)
    if isinstance(whole, list):
        yield from _elements(text)
    elif isinstance(whole, dict):
        several = next((whole[name] for name in _LISTS if isinstance(whole.get(name), list)), None)
        for one in [whole] if several is None or _is_ticket(whole) else several:
            if isinstance(one, dict):
                yield one, every


def _elements(text: str) -> Iterator[tuple[Mapping[str, Any], tuple[int, int]]]:
    """Objects of a valid JSON list, with their lines."""
    decoder = json.JSONDecoder()
    place = text.index("[") + 1
    line = 1
    counted = 0
    while (match := re.compile(r"[\s,]*").match(text, place)) and text[match.end()] != "]":
        element, place = decoder.raw_decode(text, match.end())
        first = line + text.count("\n", counted, match.end())
        line = first + text.count("\n", match.end(), place)
        counted = place
        if isinstance(element, dict):
            yield element, (first, line)


def _is_ticket(fields: Mapping[str, Any]) -> bool:
    has_more = any(name in fields for name in (*_TEXT, *_REMARKS, *_FACETS))
    return bool(_first(fields, _TITLE)) and has_more and "$schema" not in fields


def _of_ticket(fields: Mapping[str, Any], lines: tuple[int, int]) -> list[Piece]:
    title = _first(fields, _TITLE)
    facets = _facets(fields)
    about = Piece(
        "",
        _named(fields, title),
        lines,
        TICKET,
        _tags(fields, facets),
        _when(fields),
    )
    sections = [_first(fields, _TEXT), *(_section(name, fields.get(name)) for name in _REMARKS)]
    text = "\n\n".join(filter(None, sections)) or title
    pieces = [_piece(about, chunk) for chunk in chunks(guard_lines(text))]
    return [
        Piece(
            one.text,
            one.title,
            lines,
            TICKET,
            one.tags,
            one.at,
        )
        for one in pieces
    ]


def _section(name: str, remarks: Any) -> str:
    """Notes or comments under a heading: a text, or a list of texts or of objects with a text."""
    several = remarks if isinstance(remarks, list) else [remarks]
    texts = filter(None, map(_remark, several))
    told = "\n\n".join(texts)
    return f"## {name.capitalize()}\n\n{told}" if told else ""


def _remark(remark: Any) -> str:
    if not isinstance(remark, dict):
        if isinstance(remark, str | int | float):
            return str(remark).strip()
        return ""
    who = remark.get("author") or remark.get("user") or ""
    name = (
        who
        if isinstance(who, str)
        else _first(who, ("name", "login"))
        if isinstance(who, dict)
        else ""
    )
    said = _first(remark, (*_TEXT, *_REMARKS))
    if name and said:
        return f"{name}: {said}"
    return said


# Fields


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first non-empty field of these, as text."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str | int | float) and str(value).strip():
            return str(value).strip()
    return ""


def _named(fields: Mapping[str, Any], title: str) -> str:
    """A ticket's title with its id, since people search for either."""
    name = _first(fields, _NAME)
    return shorten(f"{name} {title}" if name and name not in title else title, LONGEST_TITLE)


def _facets(fields: Mapping[str, Any]) -> dict[str, str]:
    return {facet: value for facet in _FACETS if (value := _first(fields, (facet,)))}


def _tags(fields: Mapping[str, Any], facets: Mapping[str, str]) -> tuple[str, ...]:
    labels = next((fields[name] for name in _LABELS if fields.get(name)), ())
    several = (
        labels.split(",") if isinstance(labels, str) else labels if isinstance(labels, list) else ()
    )
    named = (
        _first(one, ("name",)) if isinstance(one, dict) else str(one).strip() for one in several
    )
    return tuple(
        shorten(tag, 100)
        for tag in (*(f"{k}:{v.lower()}" for k, v in facets.items()), *named)
        if tag
    )


def _when(fields: Mapping[str, Any]) -> Micros | None:
    """When a ticket was last changed, from its first readable timestamp."""
    values = (fields.get(name) for name in _WHEN)
    times = (micros(value.isoformat() if isinstance(value, date) else value) for value in values)
    return next((time for time in times if time is not None), None)
