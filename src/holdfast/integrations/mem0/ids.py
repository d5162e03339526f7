"""Normalisation of mem0 ids, everywhere they enter: `add`, filters, messages, HTTP.

An id that is stored in one form and searched in another would silently find nothing, so every
method normalises here. The rules are mem0's: an id is text, other types are converted (`5` and
`"5"` are one user), surrounding space is stripped, and a blank id or one with inner space is
refused. Actors are exempt: `Ann Lee` is a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InvalidInput

OWNERS = ("user_id", "agent_id", "run_id")
"""Ids of which at least one names the owner of an item."""
ACTOR = "actor_id"
NAMED = (*OWNERS, ACTOR)
ANY = "*"
"""Wildcard in a filter. It can therefore be nobody's id."""
JOINED = ("AND", "OR", "NOT")


def normalise_id(name: str, value: Any) -> str | None:
    """Return an id in its stored form; None for none; InvalidInput for an invalid one."""
    if value is None:
        return None
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        raise InvalidInput(
            f"Invalid {name}: it must be one id, not {value!r:.40}. In a filter, write "
            f"{{'in': ['a', 'b']}}."
        )
    id_ = str(value).strip()
    if not id_:
        raise InvalidInput(
            f"Invalid {name}: it cannot be empty or contain only whitespace. Leave it out, "
            "or pass one."
        )
    if name != ACTOR and any(sign.isspace() for sign in id_):
        raise InvalidInput(
            f"Invalid {name}: {id_!r:.80} cannot contain whitespace. Use an id without spaces."
        )
    return id_


def normalise_owner_id(name: str, value: Any) -> str | None:
    """Return the same for an id of one owner, where a wildcard is invalid."""
    id_ = normalise_id(name, value)
    if id_ == ANY:
        raise InvalidInput(
            f"Invalid {name}: {ANY!r} is a wildcard for filters. Pass one id. Nothing was changed."
        )
    return id_


def normalise_filters(filters: Any) -> dict[str, Any]:
    """Normalise every id in filters, also inside AND, OR and NOT and with operators."""
    if not isinstance(filters, Mapping):
        raise InvalidInput(
            f"filters must be a mapping such as {{'user_id': 'u1'}}, not {filters!r:.40}."
        )
    return {name: _normalised(name, wanted) for name, wanted in filters.items()}


def _normalised(name: str, wanted: Any) -> Any:
    if name in JOINED and isinstance(wanted, list):
        return [normalise_filters(one) if isinstance(one, Mapping) else one for one in wanted]
    if name not in NAMED:
        return wanted
    if isinstance(wanted, Mapping):
        return {operator: _operand(name, one) for operator, one in wanted.items()}
    return normalise_id(name, wanted)


def _operand(name: str, wanted: Any) -> Any:
    """Normalise the operand of an operator: one id, or a list."""
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return [normalise_id(name, one) for one in wanted]
    return normalise_id(name, wanted)


def without_ids(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without keys that would claim an owner: only the ids themselves do that."""
    return {key: value for key, value in metadata.items() if key not in NAMED}
