"""Validation and conversion of arguments: times, scopes, references, drafts, turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from . import ingest
from .errors import InvalidInput, NotFound, ScopeError, meant
from .storage import Transaction
from .types import Memory, Micros, Scope, Triple, from_datetime

if TYPE_CHECKING:
    from .ingest.commit import Draft

Moment = datetime | Micros | None
ScopeLike = str | Scope
Ref = str | int

# That a database can count to.
_LARGEST = (1 << 63) - 1


class Fields(TypedDict, total=False):
    """Optional fields of a memory beside text, kind, category and times."""

    title: str
    author: str
    role: str
    session: str | None
    confidence: float
    decay_rate: float
    source: str
    trust: str
    quote: str
    triple: Triple | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]


class DatedFields(Fields, total=False):
    """The same with times."""

    event_time: Moment
    valid_from: Moment
    valid_until: Moment


class AllFields(DatedFields, total=False):
    """All fields of a memory except its text."""

    kind: str
    category: str


def scopes_of(scope: ScopeLike | Sequence[ScopeLike]) -> tuple[Scope, ...]:
    several = (scope,) if isinstance(scope, str | Scope) or scope is None else tuple(scope)
    if not several:
        raise ScopeError()
    # Removes duplicates and keeps the order: writes go to the first scope.
    return tuple(dict.fromkeys(Scope.parse(one) for one in several))


def micros(moment: Moment) -> Micros | None:
    return from_datetime(moment) if isinstance(moment, datetime) else moment


def moment_of(moment: Moment, name: str) -> Micros | None:
    """Convert a time filter to microseconds; raises InvalidInput, because an invalid time would
    silently match nothing.
    """
    at = micros(moment)
    if at is None or (isinstance(at, int) and abs(at) <= _LARGEST):
        return at
    raise InvalidInput(f"{name} must be a datetime or microseconds since 1970, not {moment!r}.")


def ref_of(ref: Ref) -> Ref:
    """Normalise a reference: '12' and 12 name the same memory. Raises InvalidInput."""
    if isinstance(ref, str):
        # Up to 18 digits always fit into 64 bits; a longer number can only be an id.
        return int(ref) if ref.isascii() and ref.isdigit() and len(ref) < 19 else ref
    if not isinstance(ref, int):
        raise InvalidInput(
            f"A memory is named by its id or number, not by {_kind(ref)}. Give several as *ids."
        )
    # A number beyond 64 bits would make the database driver raise; as a text it is just not found.
    return ref if abs(ref) <= _LARGEST else str(ref)


def text_of(text: str, name: str) -> str:
    """Return `text` if it is a string; raises InvalidInput."""
    if not isinstance(text, str):
        raise InvalidInput(f"A {name} is text, not {_kind(text)}.")
    return text


def check_limit(limit: int, name: str = "limit") -> int:
    """Return a valid limit, capped at 64 bits; raises InvalidInput."""
    if not isinstance(limit, int) or limit < 0:
        raise InvalidInput(f"{name} must be a whole number, 0 or more, not {limit!r}.")
    return min(limit, _LARGEST)


def most_of(limit: int | None, name: str = "limit") -> int | None:
    """Return a valid limit; None means no limit."""
    return None if limit is None else check_limit(limit, name)


def check_score(score: float | None, name: str) -> float | None:
    """Return a score from 0 to 1, or None; raises InvalidInput for anything else."""
    if score is not None and not (isinstance(score, int | float) and 0 <= score <= 1):
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {score!r}.")
    return score


def str_tuple(names: Iterable[str], what: str) -> tuple[str, ...]:
    """Return names as a tuple; raises InvalidInput for a single string or for names that are not
    strings.
    """
    if isinstance(names, str):
        raise InvalidInput(f"{what} must be a list of names, not {names!r}. Write [{names!r}].")
    several = tuple(names)
    if wrong := [name for name in several if not isinstance(name, str)]:
        raise InvalidInput(f"{what} must be a list of names, and {wrong[0]!r} is no name.")
    return several


def ensure_list(
    given: Iterable[Any],
    what: str,
    one: str,
) -> Iterable[Any]:
    """Return `given` unless it is a single item; raises InvalidInput, because Python would iterate
    over its parts.
    """
    if isinstance(given, str | bytes | Mapping):
        raise InvalidInput(
            f"Give a list of {what}, not {_kind(given)}. For a single one there is {one}."
        )
    return given


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def draft_of(**fields: Any) -> Draft:
    times: dict[str, Any] = {
        name: micros(fields[name])
        for name in ("event_time", "valid_from", "valid_until")
        if name in fields
    }
    try:
        return ingest.commit.Draft(**{**fields, **times})
    except TypeError as error:
        raise InvalidInput(_misfit(fields)) from error


def _misfit(fields: Mapping[str, Any]) -> str:
    """Describe why these fields make no draft."""
    known = ingest.commit.Draft.__slots__
    if unknown := next((name for name in fields if name not in known), None):
        return (
            f"A memory has no field {unknown!r}.{meant(str(unknown), known)} It may have: "
            f"{', '.join(known)}."
        )
    return "A memory needs its text, as content."


def as_draft(draft: str | Mapping[str, Any] | Draft) -> Draft:
    if isinstance(draft, str):
        return draft_of(content=draft)
    if isinstance(draft, ingest.commit.Draft):
        return draft
    # Anything else becomes content, so that the check of the content reports its type.
    return draft_of(**draft) if isinstance(draft, Mapping) else draft_of(content=draft)


def turn_of(turn: Mapping[str, Any]) -> Draft:
    known = {"session", "role", "text", "author", "event_time"}
    if not isinstance(turn, Mapping):
        raise InvalidInput(f"A turn is a mapping with session, role and text, not {_kind(turn)}.")
    if missing := {"session", "role", "text"} - set(turn):
        raise InvalidInput(
            f"A turn needs session, role and text; {', '.join(sorted(missing))} is missing."
        )
    if unknown := set(turn) - known:
        raise InvalidInput(
            f"A turn has no {', '.join(sorted(unknown))}. It may have: {', '.join(sorted(known))}."
        )
    ingest.commit.check_session(turn["session"])
    optional = {"author": turn.get("author") or "", "event_time": micros(turn.get("event_time"))}
    return ingest.capture.turn(**{**turn, **optional})


def reload(tx: Transaction, memory: Memory) -> Memory:
    """Return the memory as it is inside this transaction; another process may have changed it.

    Raises NotFound if it was removed.
    """
    fresh = tx.memory(memory.scope, memory.id)
    if fresh is None:
        raise NotFound(f"{memory.id} was removed while you were looking at it.", id=memory.id)
    return fresh
