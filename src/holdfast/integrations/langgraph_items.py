"""LangGraph items as memories: ids, searched texts, filters.

Pure functions that do not import LangGraph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from ..errors import InvalidInput
from ..ingest.commit import Draft
from ..ingest.sanitize import guard_data
from ..storage.store_types import ITEMS as SOURCE
from ..types import Micros

Namespace = tuple[str, ...]
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq,
    "$ne": ne,
    "$gt": gt,
    "$gte": ge,
    "$lt": lt,
    "$lte": le,
}


def id_of(namespace: Namespace, key: str) -> str:
    """Return an item's id, derived from its namespace and key."""
    # JSON keeps the labels apart: ("a", "b.c") and ("a.b", "c") must have different ids.
    identity = json.dumps([*namespace, key]).encode()
    return f"fact_{hashlib.sha256(identity).hexdigest()[:24]}"


def check_item(
    namespace: Namespace,
    key: Any,
    value: Any,
) -> None:
    """Raise InvalidInput for an item that could be stored but not read back."""
    if not isinstance(key, str):
        raise InvalidInput(f"The key of an item must be text, not {key!r}. Nothing was stored.")
    if guard_data([*namespace, key], name="namespace") != [*namespace, key]:
        raise InvalidInput(
            "A namespace or key contains a secret, a NUL or half a surrogate pair and "
            "would be stored under another name. Use one that can be stored, such as a "
            "hash of it. Nothing was stored."
        )
    if not isinstance(value, dict):
        raise InvalidInput(
            f"The value of an item must be a dictionary, not a {type(value).__name__}. "
            "Nothing was stored."
        )
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The value of an item must be JSON-serialisable: {error}. Convert it to text "
            "or a number, for example a time with value.isoformat(). Nothing was stored."
        ) from error


def category_of(namespace: Namespace) -> str:
    """Return the category of a namespace's items; a long namespace is hashed."""
    identity = ".".join(namespace)
    return (
        identity
        if len(identity) <= 100 and identity.isprintable()
        else hashlib.sha256(identity.encode()).hexdigest()
    )


def leaves(value: Any) -> Iterator[str]:
    """Yield every text and number in a value, in order."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one)
    # "True" and "None" are no words to search for.
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
    """Return the memory for an item, with the texts to search."""
    return Draft(
        # A memory needs text; `searched` below keeps this substitute out of search results.
        content="\n".join(texts) or f"{'.'.join(namespace)} {key}",
        category=category_of(namespace),
        source=SOURCE,
        valid_until=until,
        metadata={
            "namespace": list(namespace),
            "key": key,
            # A copy: the caller may change its dictionary after the put.
            "value": json.loads(json.dumps(value)),
            "ttl": ttl,
            "searched": bool(texts),
        },
    )


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value passes a filter: equality, or operators such as `$gte`."""
    return all(_agrees(_field(value, key), one) for key, one in (wanted or {}).items())


def check_filter(wanted: Any) -> None:
    """Raise InvalidInput for an invalid filter."""
    if not isinstance(wanted, Mapping):
        raise InvalidInput(
            f"A filter must be a dictionary such as {{'color': 'red'}}, not {wanted!r:.40}."
        )
    for key, one in wanted.items():
        if not isinstance(key, str):
            raise InvalidInput(f"A filter names fields by text, not by {key!r:.40}.")
        if key.startswith("$") and key not in OPERATORS:
            raise InvalidInput(f"Unsupported operator: {key}. Use one of: {', '.join(OPERATORS)}.")
        if isinstance(one, Mapping):
            check_filter(one)


def _field(value: Any, key: str) -> Any:
    """Return a field of a value; without a field of that name, read the name as a dotted path."""
    if not isinstance(value, Mapping):
        return None
    # A key that contains a dot takes precedence over a path.
    if key in value or "." not in key:
        return value.get(key)
    first, _, rest = key.partition(".")
    return _field(value.get(first), rest)


def _agrees(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(key.startswith("$") for key in wanted):
            return all(_compares(value, operator, one) for operator, one in wanted.items())
        return isinstance(value, Mapping) and all(
            _agrees(_field(value, key), one) for key, one in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(map(_agrees, value, wanted))
        )
    return bool(value == wanted)


def _compares(
    value: Any,
    operator: str,
    wanted: Any,
) -> bool:
    compare = OPERATORS.get(operator)
    if compare is None:
        raise InvalidInput(f"Unsupported operator: {operator}. Use one of: {', '.join(OPERATORS)}.")
    if operator in ("$eq", "$ne"):
        return compare(value, wanted)
    try:
        return compare(float(value), float(wanted))
    except (TypeError, ValueError, OverflowError):
        # Non-numeric texts, such as dates, compare lexically; values without an order do not
        # compare.
        return isinstance(value, str) and isinstance(wanted, str) and compare(value, wanted)
