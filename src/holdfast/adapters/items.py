"""LangGraph's items as memories: what they are called and what of them is searched. Pure, and without LangGraph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import InvalidInput
from ..types import Micros
from ..write.commit import Draft

SOURCE = "langgraph"
Namespace = tuple[str, ...]


def id_of(namespace: Namespace, key: str) -> str:
    """An item's id, which follows from its namespace and key."""
    told = json.dumps([*namespace, key]).encode()
    return f"fact_{hashlib.sha256(told).hexdigest()[:24]}"


def check_item(key: Any, value: Any) -> None:
    """InvalidInput for what cannot be an item: it would be found, and could not be read."""
    if not isinstance(key, str):
        raise InvalidInput(f"The key of an item is text, not {key!r}. Nothing was stored.")
    if not isinstance(value, dict):
        raise InvalidInput(f"The value of an item is a dictionary, not a {type(value).__name__}. Nothing was stored.")
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The value of an item must be what JSON can hold: {error}. Nothing was stored.") from error


def category_of(namespace: Namespace) -> str:
    """The category of the items of a namespace; one that is too long is told by its hash."""
    told = ".".join(namespace)
    return told if len(told) <= 100 and told.isprintable() else hashlib.sha256(told.encode()).hexdigest()


def leaves(value: Any) -> Iterator[str]:
    """Every text and number in a value, in order: what a person would read of it."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def item_draft(
    namespace: Namespace,
    key: str,
    value: Mapping[str, Any],
    *,
    texts: Sequence[str],
    ttl: float | None,
    until: Micros | None,
) -> Draft:
    """The memory that is to hold an item, of which these texts are searched."""
    return Draft(
        content="\n".join(texts) or f"{'.'.join(namespace)} {key}",
        category=category_of(namespace),
        source=SOURCE,
        valid_until=until,
        metadata={
            "namespace": list(namespace), "key": key, "value": json.loads(json.dumps(value)), "ttl": ttl,
            "searched": bool(texts),
        },
    )  # fmt: skip
