"""Filters and items as mem0's hosted API writes them: pure conversion to and from those of `Mem0`.

The hosted API knows a fourth id, `app_id`, and names metadata, ids and text in filters by words of
its own. An app is no owner here: its id is stored in the metadata of an item.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import InvalidInput
from ...types import DAY, Micros, from_iso
from .add import Item, parse_timestamp
from .ids import JOINED, OWNERS
from .mem0_filters import OWN

APP = "app_id"
ENTITIES = (*OWNERS, APP)
RENAMED = {"memory_ids": "id", "keywords": "memory", "text": "memory"}
"""Fields of a filter that an item has under another name."""
UNSUPPORTED = ("categories", "timestamp", "keywords_search")


def read_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Convert filters of the hosted API.

    >>> read_filters({"user_id": "ann", "NOT": {"metadata": {"trip": 1}}})
    {'user_id': 'ann', 'NOT': [{'AND': [{'trip': 1}]}]}
    """
    read: dict[str, Any] = {}
    about_metadata: list[dict[str, Any]] = []
    for name, wanted in filters.items():
        if name in UNSUPPORTED:
            raise InvalidInput(f"Filters by {name} are not supported. Filter by metadata instead.")
        if name in JOINED:
            read[name] = [read_filters(one) for one in _conditions(name, wanted)]
        elif name == "metadata":
            about_metadata.append(_metadata(wanted))
        elif name == "memory_ids" and isinstance(wanted, list):
            read["id"] = {"in": wanted}
        else:
            read[RENAMED.get(name, name)] = wanted
    return {**read, "AND": [*read.get("AND", []), *about_metadata]} if about_metadata else read


def _conditions(name: str, wanted: Any) -> list[Mapping[str, Any]]:
    listed = wanted if isinstance(wanted, list) else [wanted]
    return [_mapping(name, one) for one in listed]


def _metadata(wanted: Any) -> dict[str, Any]:
    found = _mapping("metadata", wanted)
    if taken := sorted({*OWN, *JOINED} & set(found)):
        raise InvalidInput(
            f"Cannot filter by metadata named like a field of an item: {', '.join(taken)}."
        )
    return found


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} takes a mapping such as {{'key': 'value'}}, not {value!r:.40}.")
    return dict(value)


def read_text_mapping(name: str, text: str) -> dict[str, Any]:
    """Parse a mapping from the query of a URL, where mem0's client writes it as Python does."""
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, Mapping):
            return dict(found)
    raise InvalidInput(f"{name} is not a mapping: {text!r:.60}. Nothing was changed.")


def split_ids(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split ids into those of an owner and the rest, which is metadata."""
    owner = {name: given[name] for name in OWNERS if given.get(name) is not None}
    return owner, {APP: given[APP]} if given.get(APP) is not None else {}


def only_ids(filters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return filters that name an owner and nothing else."""
    if unknown := set(filters) - set(ENTITIES):
        raise InvalidInput(
            f"Here filters name the owner ({', '.join(ENTITIES)}), not "
            f"{', '.join(sorted(map(str, unknown)))}. Nothing was changed."
        )
    return filters


def hosted_item(item: Item, fields: Sequence[str] | None = None) -> Item:
    """Return an item as the hosted API shows it, or only some of its fields."""
    metadata = dict(item.get("metadata") or {})
    shown = {
        "user_id": None,
        "agent_id": None,
        "run_id": None,
        **item,
        APP: metadata.pop(APP, None),
        # The hosted API has two names for the same id.
        "session_id": item.get("run_id"),
        "metadata": metadata or None,
        "categories": None,
        "expiration_date": item.get("expiration_date"),
    }
    return shown if fields is None else {name: shown[name] for name in fields if name in shown}


def added(result: Item) -> Item:
    """Return one result of `add` as the hosted API shows it, with its text in `data`."""
    return {**result, "data": {"memory": result["memory"]}}


def created_between(items: Iterable[Item], start: str | None, end: str | None) -> list[Item]:
    """Return the items that were created from one time until another; a date is a whole day."""
    first = parse_timestamp(start) or 0
    last = _end(end)
    return [
        one
        for one in items
        if first <= (at := from_iso(one["created_at"])) and (last is None or at <= last)
    ]


def _end(end: str | None) -> Micros | None:
    parsed = parse_timestamp(end)
    if parsed is None or end is None:
        return None
    return parsed + DAY - 1 if len(end) == len("2026-03-18") else parsed
