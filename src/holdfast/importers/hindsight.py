"""Hindsight: an exported bank, a zip archive with the facts of each document, and observations
where they were asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ingest.commit import Draft
from ..transcripts.json_fields import as_dict, as_list, as_text, micros, parsed
from ..types import Micros
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in, text_in

# What its types of facts are here; any other is a fact.
KINDS = {"experience": "episode", "observation": "reflection"}
TIMES = ("occurred_start", "mentioned_at", "event_date")


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The facts in a document of the archive, or its observations."""
    whole = as_dict(parsed(text))
    document = as_text(whole.get("id"))
    return each(text, lambda one: [_fact(one, document)], lists=("facts", "observations"))


def _fact(one: Value, document: str) -> ImportedItem:
    fact = object_in(one.value)
    type_ = as_text(fact.get("fact_type")) or "observation"
    times = (micros(fact.get(name)) for name in TIMES)
    happened = next((time for time in times if time is not None), None)
    draft = Draft(
        content=text_in(fact, "text"),
        kind=KINDS.get(type_, "fact"),
        source="hindsight",
        event_time=happened,
        tags=_texts(fact.get("tags")),
        metadata=_metadata(fact, type_, document),
    )
    created: Micros | None = micros(fact.get("created_at")) or happened
    return ImportedItem(one.line, draft, (document, type_, draft.content), created_at=created)


def _metadata(
    fact: dict[str, Any],
    type_: str,
    document: str,
) -> dict[str, Any]:
    told = {
        "type": type_,
        "document": document,
        "context": as_text(fact.get("context")),
        "entities": list(_texts(fact.get("entities"))),
        **as_dict(fact.get("metadata")),
    }
    return {"hindsight": {name: value for name, value in told.items() if value}}


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(filter(None, map(as_text, as_list(value))))


HINDSIGHT = MemoryFile(
    "hindsight",
    "an exported bank of Hindsight",
    parse,
    marks=(("facts", "original_text"), ("fact_type", "mentioned_at"), ("proof_count", "sources")),
    members=r"documents/\d+\.json|observations\.json",
)
