"""Conversion between a record file and its memory.

The file has precedence. Its text is screened like any other before it becomes a memory; the file
belongs to a person and is not changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import PurePosixPath
from typing import Any

from ..errors import HoldfastError, Nothing, meant
from ..ingest.commit import Draft, build
from ..text import frontmatter
from ..text.frontmatter import Broken, Document
from ..text.secrets import find_secrets
from ..types import (
    CROCKFORD,
    STATUSES,
    SURENESS,
    Memory,
    Micros,
    from_datetime,
    from_iso,
    to_datetime,
)
from .roots import CATEGORIES, RECORDS, SOURCE, RecordRoot, slug

ORDER = (
    "id",
    "scope",
    "category",
    "title",
    "created",
    "updated",
    "source",
    "aliases",
    "keywords",
    "status",
    "expires",
    "confidence",
    "protected",
    "evidence",
    "quote",
)
OWN_METADATA = ("file", "source", "evidence", "aliases", "redacted", "was")
# Times in files have whole seconds, for readability.
SECOND = 1_000_000
# Not only digits: a number refers to a memory by its sequence number.
_ID = re.compile(r"(?!\d+\Z)[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class Record:
    """A parsed file: its memory, and warnings for the reader."""

    memory: Memory
    named: bool
    """Whether the file states its id; otherwise the id is derived from its path."""
    warnings: tuple[tuple[int, str], ...] = ()
    """Line numbers with messages."""


def file_name(memory: Memory) -> str:
    """Return the path of a new record: its category's folder, its id and a slug of its title."""
    heading = (memory.title or memory.content.lstrip("# \n")).split("\n", 1)[0]
    words = slug(heading)
    return f"{RECORDS}/{memory.category}/{memory.id}{'-' if words else ''}{words}.md"


# From the file to the memory


def record_of(
    content: bytes,
    path: str,
    place: RecordRoot,
    *,
    at: Micros,
    max_bytes: int,
) -> Record:
    """Parse a file. `at` is its modification time, used if the file has no date.

    Raises Broken if the file has no text or a malformed value.
    """
    text = frontmatter.decode(content)
    document = frontmatter.split(text)
    values = frontmatter.read(document)
    fields = _fields(document, values, path, at)
    try:
        memory = build(Draft(**fields["draft"]), place.scope, at=at, max_bytes=max_bytes)
    except Nothing:
        raise Broken("there is no text in it") from None
    except HoldfastError as error:
        raise Broken(str(error)) from error
    made = memory.with_(**fields["memory"])
    hidden = _secrets(text) if _hides_something(memory) else ()
    return Record(made, "id" in values, (*_misspelt(document, values), *hidden))


def _misspelt(document: Document, values: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield warnings for keys that nearly match a known one; any other key is allowed."""
    for key in values:
        hint = "" if key in ORDER else meant(str(key), ORDER, likeness=0.8)
        if hint:
            line = frontmatter.line_of(document, str(key))
            yield (
                line,
                (
                    f"{key!r} says nothing to Holdfast.{hint.rstrip('?')} (any other key of your "
                    "own "
                    "is fine)"
                ),
            )


def _fields(
    document: Document,
    values: Mapping[str, Any],
    path: str,
    at: Micros,
) -> dict[str, dict[str, Any]]:
    def value(
        key: str,
        reader: Callable[[Any], Any],
        missing: Any,
    ) -> Any:
        try:
            return missing if values.get(key) is None else reader(values[key])
        except ValueError as error:
            raise Broken(f"{key}: {error}", frontmatter.line_of(document, key)) from None

    created = value("created", _moment, at)
    aliases = value("aliases", _words, [])
    title = value("title", _line, "")
    category = PurePosixPath(path).parent.name.casefold()
    metadata = {
        "file": path,
        "source": value("source", frontmatter.plain, None),
        "evidence": value("evidence", _evidence, None),
        "aliases": aliases or None,
    }
    draft = {
        "content": body_text(document) or title,
        "kind": CATEGORIES[category],
        "category": category,
        "title": title,
        "event_time": created,
        "valid_until": value("expires", _expiry, None),
        "confidence": value("confidence", _confidence, 1.0),
        "source": SOURCE,
        "quote": value("quote", str, ""),
        "tags": tuple(dict.fromkeys((*value("keywords", _words, []), *aliases))),
        "metadata": {key: one for key, one in metadata.items() if one is not None},
    }
    memory = {
        "id": value("id", _id, derived_id(path)),
        "created_at": created,
        "updated_at": max(
            created, value("updated", _moment, at if "created" not in values else created)
        ),
        "status": value("status", _status, "active"),
        "protected": value("protected", _truth, False),
    }
    return {"draft": draft, "memory": memory}


def derived_id(path: str) -> str:
    """Return the id of a file that states none: the same for the same path in every clone."""
    # 96 bits, of which 18 base-32 digits keep 90: short, and collisions stay improbable.
    number = int.from_bytes(hashlib.sha256(path.encode()).digest()[:12], "big")
    return "rec_" + "".join(CROCKFORD[number >> shift & 31] for shift in range(85, -1, -5))


def body_text(document: Document) -> str:
    """Return the text below the frontmatter, as a memory stores it."""
    return document.body.removeprefix("\ufeff").replace("\r\n", "\n").strip()


def _hides_something(memory: Memory) -> bool:
    return (
        "redacted" in memory.metadata
        or "[REDACTED:" in f"{memory.title}{memory.tags}{memory.metadata}"
    )


def _secrets(text: str) -> Sequence[tuple[int, str]]:
    return [
        (
            text.count("\n", 0, secret.start) + 1,
            f"there is a secret here ({secret.kind}): it is "
            "not remembered, but it "
            "is still in the file. Take it out, and out of git's history",
        )
        for secret in find_secrets(text)
    ]


def _id(value: Any) -> str:
    if not _ID.fullmatch(str(value)):
        raise ValueError(
            f"{value!r} cannot be an id: use letters, digits, dots, hyphens and underscores"
        )
    return str(value)


def _line(value: Any) -> str:
    if isinstance(value, Mapping | list):
        raise ValueError("must be text")
    return " ".join(str(value).split())


def _words(value: Any) -> list[str]:
    several = value if isinstance(value, list) else str(value).split(",")
    return list(dict.fromkeys(word for one in several if one is not None and (word := _line(one))))


def _evidence(value: Any) -> list[Any]:
    return [frontmatter.plain(one) for one in (value if isinstance(value, list) else [value])]


def _moment(value: Any) -> Micros:
    match value:
        case datetime():
            return from_datetime(value)
        case date():
            return from_datetime(datetime.combine(value, time(), UTC))
        case str():
            try:
                return from_iso(value.strip())
            except ValueError:
                pass
    raise ValueError(
        f"{value!r} is not a time: write it like 2026-03-31 or 2026-03-31T18:00:00+00:00"
    )


def _expiry(value: Any) -> Micros:
    """Parse the end of validity; a date without a time means the end of that day."""
    # A datetime is a date too, so both must be tested.
    day = isinstance(value, date) and not isinstance(value, datetime)
    if isinstance(value, str) and len(value.strip()) == len("2026-03-31"):
        day = True
    return _moment(value) + (timedelta(days=1) // timedelta(microseconds=1) if day else 0)


def _confidence(value: Any) -> float:
    if isinstance(value, str) and value.strip().casefold() in SURENESS:
        return SURENESS[value.strip().casefold()]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{value!r} is no number from 0 to 1")
    return float(value)


def _status(value: Any) -> str:
    status = str(value).strip().casefold()
    if status not in STATUSES:
        raise ValueError(f"{value!r} is none of {', '.join(STATUSES)}")
    return status


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


# From the memory to the file


def document_of(memory: Memory, place: RecordRoot) -> Document:
    """Return a new file for a record."""
    said = {"id": memory.id, "scope": place.name, **entries(memory)}
    return frontmatter.write(
        {key: said[key] for key in ORDER if said[key] is not None}, f"\n{memory.content}\n"
    )


def entries(memory: Memory) -> dict[str, Any]:
    """Return the frontmatter of a record, in order; None for defaults, which are not written."""
    aliases = list(memory.metadata.get("aliases") or ())
    return {
        "category": memory.category,
        "title": memory.title or None,
        "created": _second(memory.created_at),
        "updated": _second(memory.updated_at),
        "source": memory.metadata.get("source"),
        "aliases": aliases or None,
        "keywords": [tag for tag in memory.tags if tag not in aliases] or None,
        "status": memory.status,
        "expires": None if memory.valid_until is None else _second(memory.valid_until),
        "confidence": None if memory.confidence == 1.0 else memory.confidence,
        "protected": memory.protected or None,
        "evidence": memory.metadata.get("evidence"),
        "quote": memory.quote or None,
    }


def patched(
    document: Document,
    before: Memory,
    after: Memory,
    place: RecordRoot,
) -> Document:
    """Apply the changes of a memory to its file, and correct scope, category and id."""
    values = frontmatter.read(document)
    now = entries(after)
    was = entries(before)
    changes = {key: now[key] for key in now if now[key] != was[key]}
    right = {"scope": place.name, "category": after.category}
    changes |= {key: value for key, value in right.items() if values.get(key, value) != value}
    if "id" not in values:
        changes["id"] = after.id
    result = frontmatter.patch(document, changes, order=ORDER) if changes else document
    return result if before.content == after.content else with_body(result, after.content)


def with_body(document: Document, text: str) -> Document:
    """Replace the text of a file; keep its line ends and the blank lines around the text."""
    body = document.body
    lead = (
        body[: len(body) - len(body.lstrip())]
        if body.strip()
        else document.eol
        if document.opening
        else ""
    )
    trail = body[len(body.rstrip()) :] if body.strip() else ""
    new = (
        lead
        + text.strip().replace("\r\n", "\n").replace("\n", document.eol)
        + (trail or document.eol)
    )
    return Document(document.opening, document.yaml, document.closing, new)


def _second(micros: Micros) -> datetime:
    return to_datetime(micros - micros % SECOND)
