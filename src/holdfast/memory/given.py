"""What callers give, as the engine wants it: moments, scopes, references, drafts, turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .. import write
from ..errors import InvalidInput, NotFound, ScopeError
from ..store import Writer
from ..types import (
    Memory,
    Micros,
    Scope,
    from_datetime,
)

if TYPE_CHECKING:
    from ..write.commit import Draft

Moment = datetime | Micros | None
ScopeLike = str | Scope
Ref = str | int


def scopes_of(scope: ScopeLike | Sequence[ScopeLike]) -> tuple[Scope, ...]:
    several = (scope,) if isinstance(scope, str | Scope) or scope is None else tuple(scope)
    if not several:
        raise ScopeError()
    return tuple(dict.fromkeys(Scope.parse(one) for one in several))


def micros(moment: Moment) -> Micros | None:
    return from_datetime(moment) if isinstance(moment, datetime) else moment


def ref_of(ref: Ref) -> Ref:
    """A number written as text is a number: '12' and 12 name the same memory."""
    return int(ref) if isinstance(ref, str) and ref.isascii() and ref.isdigit() and len(ref) < 19 else ref


def draft_of(**fields: Any) -> Draft:
    times: dict[str, Any] = {
        name: micros(fields[name]) for name in ("event_time", "valid_from", "valid_until") if name in fields
    }
    try:
        return write.commit.Draft(**{**fields, **times})
    except TypeError as error:
        raise InvalidInput(f"A memory has no field {str(error).rsplit(' ', 1)[-1]}.") from error


def as_draft(draft: str | Mapping[str, Any] | Draft) -> Draft:
    if isinstance(draft, write.commit.Draft):
        return draft
    return draft_of(content=draft) if isinstance(draft, str) else draft_of(**draft)


def turn_of(turn: Mapping[str, Any]) -> Draft:
    known = {"session", "role", "text", "author", "event_time"}
    if missing := {"session", "role", "text"} - set(turn):
        raise InvalidInput(f"A turn needs session, role and text; {', '.join(sorted(missing))} is missing.")
    if unknown := set(turn) - known:
        raise InvalidInput(f"A turn has no {', '.join(sorted(unknown))}. It may have: {', '.join(sorted(known))}.")
    write.commit.check_session(turn["session"])
    optional = {"author": turn.get("author") or "", "event_time": micros(turn.get("event_time"))}
    return write.capture.turn(**{**turn, **optional})


def as_it_is(writer: Writer, memory: Memory) -> Memory:
    """The memory as it is inside this transaction: another process may have changed it since it was read."""
    fresh = writer.memory(memory.scope, memory.id)
    if fresh is None:
        raise NotFound(f"{memory.id} was removed while you were looking at it.", id=memory.id)
    return fresh
