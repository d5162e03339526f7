"""The ids of mem0, made equal wherever they come in: in `add`, in filters, in a message, over HTTP.

An id that is stored in one form and looked for in another finds nothing and says nothing, so every
verb comes here. The rules are mem0's own: an id is text, anything else is turned into it (`5` and
`"5"` are one user), space around it goes, and what is blank or has space inside is refused. An
actor is named by whoever wrote the message: `Ann Lee` is a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InvalidInput

OWNERS = ("user_id", "agent_id", "run_id")
"""The ids of which at least one says whose an item is."""
ACTOR = "actor_id"
NAMED = (*OWNERS, ACTOR)
ANY = "*"
"""In a filter: whatever is there. It can therefore be nobody's id."""
JOINED = ("AND", "OR", "NOT")


def normalise_id(name: str, value: Any) -> str | None:
    """An id as it is stored and looked for; None for none; InvalidInput for one that can be
    nobody's.
    """
    if value is None:
        return None
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        raise InvalidInput(
            f"Invalid {name}: it is one id, not {value!r:.40}. In a filter, say {{'in': ['a', "
            f"'b']}}."
        )
    told = str(value).strip()
    if not told:
        raise InvalidInput(
            f"Invalid {name}: it cannot be empty or contain only whitespace. Leave it out, or "
            "name one."
        )
    if name != ACTOR and any(sign.isspace() for sign in told):
        raise InvalidInput(
            f"Invalid {name}: {told!r:.80} cannot contain whitespace. Use an id without spaces."
        )
    return told


def normalise_owner_id(name: str, value: Any) -> str | None:
    """The same for an id that names one owner: there it cannot stand for all of them."""
    told = normalise_id(name, value)
    if told == ANY:
        raise InvalidInput(
            f"Invalid {name}: {ANY!r} stands for anybody, in filters. Name one. Nothing was "
            "changed."
        )
    return told


def normalise_filters(filters: Any) -> dict[str, Any]:
    """Filters in which every id is as it is stored, also inside AND, OR and NOT and behind
    operators.
    """
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
    """What an operator compares an id with: one id, or a list of them."""
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return [normalise_id(name, one) for one in wanted]
    return normalise_id(name, wanted)


def without_ids(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without what would say whose an item is: only the ids themselves say that."""
    return {key: value for key, value in metadata.items() if key not in NAMED}
