"""What callers give, as the engine wants it: moments, scopes, references, drafts, turns."""

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
    """What may be said of a memory beside its text, kind, category and times."""

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
    """The same, with the times."""

    event_time: Moment
    valid_from: Moment
    valid_until: Moment


class AllFields(DatedFields, total=False):
    """All that may be said of a memory beside its text."""

    kind: str
    category: str


def scopes_of(scope: ScopeLike | Sequence[ScopeLike]) -> tuple[Scope, ...]:
    several = (scope,) if isinstance(scope, str | Scope) or scope is None else tuple(scope)
    if not several:
        raise ScopeError()
    return tuple(dict.fromkeys(Scope.parse(one) for one in several))


def micros(moment: Moment) -> Micros | None:
    return from_datetime(moment) if isinstance(moment, datetime) else moment


def moment_of(moment: Moment, name: str) -> Micros | None:
    """The same for what narrows a question, where a time that is none would only find nothing."""
    at = micros(moment)
    if at is None or (isinstance(at, int) and abs(at) <= _LARGEST):
        return at
    raise InvalidInput(f"{name} must be a datetime or microseconds since 1970, not {moment!r}.")


def ref_of(ref: Ref) -> Ref:
    """A number written as text is a number: '12' and 12 name the same memory."""
    if isinstance(ref, str):
        return int(ref) if ref.isascii() and ref.isdigit() and len(ref) < 19 else ref
    if not isinstance(ref, int):
        raise InvalidInput(
            f"A memory is named by its id or number, not by {_kind(ref)}. Give several as *ids."
        )
    return ref if abs(ref) <= _LARGEST else str(ref)


def text_of(text: str, name: str) -> str:
    """`text` itself, when it is one."""
    if not isinstance(text, str):
        raise InvalidInput(f"A {name} is text, not {_kind(text)}.")
    return text


def check_limit(limit: int, name: str = "limit") -> int:
    """How many there may be, as far as a database can count."""
    if not isinstance(limit, int) or limit < 0:
        raise InvalidInput(f"{name} must be a whole number, 0 or more, not {limit!r}.")
    return min(limit, _LARGEST)


def most_of(limit: int | None, name: str = "limit") -> int | None:
    """The same where None is no limit."""
    return None if limit is None else check_limit(limit, name)


def str_tuple(names: Iterable[str], what: str) -> tuple[str, ...]:
    """Several names. One text would be taken for a name a letter, and a name that is no text finds
    nothing.
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
    """`given` itself, unless it is a single thing, which Python would take apart."""
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
    """What is wrong with fields of which no draft can be made."""
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
    """The memory as it is inside this transaction: another process may have changed it since it was
    read.
    """
    fresh = tx.memory(memory.scope, memory.id)
    if fresh is None:
        raise NotFound(f"{memory.id} was removed while you were looking at it.", id=memory.id)
    return fresh
