"""mem0's filters as a predicate on one item: `AND`, `OR`, `NOT`, operators, and `*`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

from ...errors import InvalidInput
from .ids import ANY, JOINED, NAMED, OWNERS

Filters = Mapping[str, Any]
OWN = (*NAMED, "role", "id", "memory", "hash", "created_at", "updated_at", "expiration_date")
"""Fields of an item; every other name refers to its metadata."""


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison that is false for values without an order and for None."""

    def holds(value: Any, wanted: Any) -> bool:
        try:
            return value is not None and compare(value, wanted)
        except TypeError:
            return False

    return holds


def _contains(value: Any, wanted: Any) -> bool:
    return (
        wanted in value
        if isinstance(value, list)
        else isinstance(value, str) and str(wanted) in value
    )


def _contains_in_any_case(value: Any, wanted: Any) -> bool:
    return isinstance(value, str) and str(wanted).casefold() in value.casefold()


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, wanted: bool(value == wanted),
    "ne": lambda value, wanted: bool(value != wanted),
    "gt": _ordered(gt),
    "gte": _ordered(ge),
    "lt": _ordered(lt),
    "lte": _ordered(le),
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "contains": _contains,
    "icontains": _contains_in_any_case,
}


def matches(item: Mapping[str, Any], filters: Filters) -> bool:
    """Whether an item, in mem0's format, matches."""
    return all(_holds(item, name, wanted) for name, wanted in filters.items())


def _holds(
    item: Mapping[str, Any],
    name: str,
    wanted: Any,
) -> bool:
    match name:
        case "AND":
            return all(matches(item, one) for one in _conditions(name, wanted))
        case "OR":
            return any(matches(item, one) for one in _conditions(name, wanted))
        case "NOT":
            return not any(matches(item, one) for one in _conditions(name, wanted))
    value = item.get(name) if name in OWN else (item.get("metadata") or {}).get(name)
    if wanted == ANY:
        return value is not None
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    return all(_operator(operator)(value, one) for operator, one in wanted.items())


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in OPERATORS:
        raise InvalidInput(
            f"Unsupported metadata filter operator: {name}. Use one of: {', '.join(OPERATORS)}."
        )
    return OPERATORS[name]


def _conditions(name: str, wanted: Any) -> Sequence[Filters]:
    if (
        not isinstance(wanted, list)
        or not wanted
        or not all(isinstance(one, Mapping) for one in wanted)
    ):
        raise InvalidInput(f"{name} operator requires a non-empty list of conditions.")
    return wanted


def check(filters: Filters) -> None:
    """Raise InvalidInput for invalid filters."""
    for name, wanted in filters.items():
        if name in JOINED:
            for one in _conditions(name, wanted):
                check(one)
        elif isinstance(wanted, Mapping):
            for operator, one in wanted.items():
                _operator(operator)
                if operator in ("in", "nin") and not isinstance(one, list):
                    raise InvalidInput(f"{operator} takes a list, not {one!r:.40}.")


def names_owner(filters: Filters) -> bool:
    """Whether every match must have a given user_id, agent_id or run_id."""
    return (
        any(filters.get(name) is not None for name in OWNERS)
        or ("AND" in filters and any(map(names_owner, _conditions("AND", filters["AND"]))))
        or ("OR" in filters and all(map(names_owner, _conditions("OR", filters["OR"]))))
    )


def users_in(filters: Filters) -> frozenset[str] | None:
    """Return the users to which every match belongs; None if it may be anybody.

    >>> sorted(users_in({"OR": [{"user_id": "ann"}, {"user_id": {"in": ["bob", "cy"]}}]}))
    ['ann', 'bob', 'cy']
    """
    named = [_users_named(filters["user_id"])] if "user_id" in filters else []
    if "AND" in filters:
        named += [users_in(one) for one in _conditions("AND", filters["AND"])]
    if "OR" in filters:
        named.append(_either([users_in(one) for one in _conditions("OR", filters["OR"])]))
    restrictions = [users for users in named if users is not None]
    return frozenset.intersection(*restrictions) if restrictions else None


def _users_named(wanted: Any) -> frozenset[str] | None:
    match wanted:
        case str() if wanted != ANY:
            return frozenset((wanted,))
        case {"eq": str(user)}:
            return frozenset((user,))
        case {"in": [*users]}:
            return frozenset(user for user in users if isinstance(user, str))
    return None


def _either(parts: Sequence[frozenset[str] | None]) -> frozenset[str] | None:
    users: set[str] = set()
    for one in parts:
        if one is None:
            return None
        users |= one
    return frozenset(users)
