"""mem0: the items that its `get_all` or its REST service returns, as an object with `results`, an
array, or lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..errors import InvalidInput
from ..ingest.commit import Draft
from ..integrations.mem0.ids import ACTOR, OWNERS, normalise_id
from ..integrations.mem0.mem0_items import KEY, KINDS, SOURCE, Owner, is_seen, item_of, until
from ..transcripts.json_fields import as_dict, micros
from ..types import Memories, Memory, Triple
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in, text_in

OURS = "holdfast"
"""The key of an item's metadata under which stands what mem0 has no name for."""
# Told otherwise, or by where it came from.
_LEFT = (
    "content",
    "metadata",
    "source",
    "session",
    "trust",
    "role",
)
DEFAULTS = {
    field.name: field.default
    for field in fields(Draft)
    if field.default is not MISSING and field.name not in _LEFT
}


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The items in a file."""
    return each(text, _items, lists=("results", "memories"))


def _items(one: Value) -> Iterable[ImportedItem]:
    item = object_in(one.value)
    owner = _owner(item)
    metadata = dict(as_dict(item.get("metadata")))
    more = _more(metadata.pop(OURS, {}))
    note = _note(item, owner)
    given: dict[str, Any] = {"valid_until": until(item.get("expiration_date")), **more}
    draft = Draft(
        content=text_in(item, "memory", "text", "data"),
        source=SOURCE,
        **given,
        metadata={KEY: {**note, "metadata": metadata}},
    )
    id_ = str(item["id"]) if item.get("id") else None
    yield ImportedItem(
        one.line,
        draft,
        (id_ or "", draft.content, *(owner.filters.values() if owner else ())),
        id_,
        scope=owner.scope if owner else None,
        created_at=micros(item.get("created_at")),
        updated_at=micros(item.get("updated_at")),
    )


def _owner(item: Mapping[str, Any]) -> Owner | None:
    ids = [None if item.get(name) == "" else item.get(name) for name in OWNERS]
    return Owner.of(*ids) if any(one is not None for one in ids) else None


def _note(item: Mapping[str, Any], owner: Owner | None) -> dict[str, Any]:
    """Whose an item is and who said it, as the same item would have been added."""
    told: dict[str, Any] = {
        **(owner.filters if owner else {}),
        ACTOR: normalise_id(ACTOR, item.get(ACTOR) or None),
    }
    told["role"] = str(item["role"]) if item.get("role") else None
    return {name: value for name, value in told.items() if value and name != "user_id"}


def _more(given: Any) -> dict[str, Any]:
    """What was written by us beside an item; InvalidInput for what no memory has."""
    told = as_dict(given)
    if unknown := set(told) - set(DEFAULTS):
        raise InvalidInput(
            f"its metadata.{OURS} holds {', '.join(sorted(unknown))}, which no memory has"
        )
    try:
        triple = {"triple": Triple(*told["triple"])} if told.get("triple") else {}
        return {**told, **triple, **({"tags": tuple(told["tags"])} if "tags" in told else {})}
    except TypeError as error:
        raise InvalidInput(f"its metadata.{OURS} is malformed ({error})") from error


def write(memories: Memories) -> Iterator[str]:
    """An object with `results`, a line for each item. What is neither a user's, an agent's nor a
    run's is left out.
    """
    items = [_written(one) for one in memories if one.kind in KINDS and is_seen(one.scope)]
    yield '{"results": [\n'
    for place, item in enumerate(items, start=1):
        yield json.dumps(item, ensure_ascii=False) + (",\n" if place < len(items) else "\n")
    yield "]}\n"


def _written(memory: Memory) -> dict[str, Any]:
    item = item_of(memory)
    more = _beyond(memory)
    return {**item, "metadata": {**(item["metadata"] or {}), OURS: more}} if more else item


def _beyond(memory: Memory) -> dict[str, Any]:
    """What a memory has and an item has no name for."""
    told = {name: getattr(memory, name) for name in DEFAULTS}
    if told["event_time"] == memory.created_at:
        told["event_time"] = None
    if (
        told["valid_until"] is not None
        and until(item_of(memory)["expiration_date"]) == told["valid_until"]
    ):
        told["valid_until"] = None
    if (triple := memory.triple) is not None:
        told["triple"] = [
            triple.subject,
            triple.predicate,
            triple.object,
            triple.subject_type,
            triple.object_type,
        ]
    return {name: value for name, value in told.items() if value != DEFAULTS[name]}


MEM0 = MemoryFile(
    "mem0",
    "items of mem0, as get_all returns them",
    parse,
    marks=(
        ("results", "memory"),
        ("memory", "hash"),
        ("memory", "user_id"),
        ("memory", "agent_id"),
        ("memory", "run_id"),
    ),
    write=write,
)
