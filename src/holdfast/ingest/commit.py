"""Verbs that change memories, each a function of a transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from operator import attrgetter
from typing import Any

from ..errors import InvalidInput, Nothing, TooLarge
from ..storage.duplicates import Claim, claim, same_content
from ..storage.protocol import Transaction, rests_on
from ..types import (
    ID_PREFIXES,
    OUTDATED_BY,
    Edge,
    Memory,
    Micros,
    Scope,
    Session,
    Triple,
    check_kind,
    new_id,
)
from .sanitize import Guarded, clean, guard, guard_data, one_line, without_secrets


@dataclass(slots=True, kw_only=True)
class Draft:
    """A caller's input for a new memory. Everything but the text is optional."""

    content: str
    kind: str = "fact"
    category: str = "general"
    title: str = ""
    author: str = ""
    role: str = ""
    session: str | None = None
    event_time: Micros | None = None
    valid_from: Micros | None = None
    valid_until: Micros | None = None
    confidence: float = 1.0
    decay_rate: float = 0.0
    source: str = ""
    trust: str = "user"
    quote: str = ""
    triple: Triple | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def _why_nothing(content: str, guarded: Guarded) -> str | None:
    if guarded.echoes:
        return "There is nothing to remember: the text is only what memory itself had injected."
    if content.strip():
        return (
            "There is nothing to remember: no character of the text is visible. Write it in words."
        )
    return None


def build(
    draft: Draft,
    scope: Scope,
    *,
    at: Micros,
    max_bytes: int,
) -> Memory:
    """Build a memory from a draft: sanitised, validated, with a new id.

    Raises Nothing if no text is left, InvalidInput for a bad field and TooLarge over the limit.
    """
    guarded = guard(draft.content, max_bytes=max_bytes)
    if not guarded.text:
        raise Nothing(_why_nothing(draft.content, guarded))
    _check_fields(draft)
    kind = check_kind(draft.kind)
    metadata = _metadata(draft.metadata, max_bytes=max_bytes)
    if guarded.secrets:
        metadata["redacted"] = list(guarded.secrets)
    return Memory.of(
        {
            "id": new_id(ID_PREFIXES[kind], at),
            "scope": scope,
            "kind": kind,
            "content": guarded.text,
            "seq": 0,
            "status": "active",
            "status_at": None,
            "status_reason": "",
            "created_at": at,
            "updated_at": at,
            "event_time": at if draft.event_time is None else draft.event_time,
            "category": one_line(draft.category, name="category") or "general",
            "title": one_line(draft.title, name="title", limit=500) if draft.title else "",
            "author": one_line(draft.author, name="author") if draft.author else "",
            "role": one_line(draft.role, name="role"),
            "session": draft.session,
            "position": None,
            "valid_from": draft.valid_from,
            "valid_until": draft.valid_until,
            "confidence": float(draft.confidence),
            "strength": None,
            "decay_rate": float(draft.decay_rate),
            "decayed_at": None,
            "protected": False,
            "consolidated_at": None,
            "outcome": "",
            "access_count": 0,
            "last_accessed": None,
            "source": without_secrets(draft.source),
            "trust": draft.trust,
            "quote": guard(draft.quote, max_bytes=max_bytes).text if draft.quote else "",
            "triple": _triple(draft.triple),
            "tags": tuple(dict.fromkeys(one_line(tag, name="tag") for tag in draft.tags)),
            "metadata": metadata,
        }
    )


def _triple(triple: Triple | None) -> Triple | None:
    if triple is None:
        return None
    return Triple(*map(without_secrets, astuple(triple)))


_TEXTS = ("category", "title", "author", "role", "source", "trust", "quote")
_TIMES = ("event_time", "valid_from", "valid_until")
_texts = attrgetter(*_TEXTS)
_times = attrgetter(*_TIMES)
_ONLY_TEXT = frozenset((str,))
_NO_TIMES = (None,) * len(_TIMES)
_NUMBER = (int, float)
_LONGEST_SESSION_ID = 255


def _check_fields(draft: Draft) -> None:
    """Raise InvalidInput for a field of the wrong type or range; `guard` checks the content."""
    if not _ONLY_TEXT.issuperset(map(type, _texts(draft))):
        _refuse_other_than_text(draft)
    if _times(draft) != _NO_TIMES:
        _check_times(draft)
    if not isinstance(draft.confidence, _NUMBER) or not 0.0 <= draft.confidence <= 1.0:
        raise InvalidInput(f"confidence must lie between 0 and 1, not {draft.confidence!r}.")
    if not isinstance(draft.decay_rate, _NUMBER) or not 0.0 <= draft.decay_rate <= 1.0:
        raise InvalidInput(f"decay_rate must lie between 0 and 1, not {draft.decay_rate!r}.")
    if isinstance(draft.tags, str) or (
        draft.tags and not all(isinstance(tag, str) for tag in draft.tags)
    ):
        raise InvalidInput(f"tags must be a list of texts, not {draft.tags!r}.")
    if draft.triple is not None and not isinstance(draft.triple, Triple):
        raise InvalidInput("triple must be a holdfast.types.Triple(subject, predicate, object).")
    if draft.session is not None:
        check_session(draft.session)


def _check_times(draft: Draft) -> None:
    for name, time in zip(_TIMES, _times(draft), strict=True):
        if time is not None and not (isinstance(time, int) and abs(time) < 1 << 63):
            raise InvalidInput(
                f"{name} must be a datetime or microseconds since 1970, not {time!r}."
            )
    if (
        draft.valid_from is not None
        and draft.valid_until is not None
        and draft.valid_from >= draft.valid_until
    ):
        raise InvalidInput("valid_from must come before valid_until.")


def _refuse_other_than_text(draft: Draft) -> None:
    for name, text in zip(_TEXTS, _texts(draft), strict=True):
        if not isinstance(text, str):
            raise InvalidInput(f"{name} must be text, not {text!r}.")


def check_session(session: Any) -> str:
    """Return `session` if it is a valid session id; raise InvalidInput otherwise."""
    if not isinstance(session, str) or not session.strip() or len(session) > _LONGEST_SESSION_ID:
        raise InvalidInput(f"A session id is text of 1 to {_LONGEST_SESSION_ID} characters.")
    if clean(session) != session:
        raise InvalidInput("A session id may not hold NUL or half a surrogate pair.")
    return session


def _metadata(metadata: Mapping[str, Any], *, max_bytes: int) -> dict[str, Any]:
    if metadata == {}:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInput(
            f"metadata must be a mapping such as {{'ticket': 12}}, not {type(metadata).__name__}."
        )
    guarded: dict[str, Any] = guard_data(metadata, name="metadata")
    if len(json.dumps(guarded)) > max_bytes:
        raise TooLarge(
            f"The metadata is over the limit of {max_bytes:,} bytes. Nothing was stored."
        )
    return guarded


def remember(tx: Transaction, memories: Sequence[Memory]) -> list[Memory]:
    """Store memories in order. A fact or rule with identical words is stored once and renewed."""
    known = same_content(tx, [memory for memory in memories if kept_once(memory)])
    said = {claim(memory): memory for memory in known.values()}
    stored: list[Memory] = []
    # New ones go in together, which is much quicker.
    waiting: list[tuple[Claim | None, Memory]] = []

    def put_in() -> None:
        added = tx.add_many(_placed(tx, [memory for _, memory in waiting]))
        stored.extend(added)
        for (says, _), memory in zip(waiting, added, strict=True):
            if says is not None:
                said[says] = memory
        waiting.clear()

    for memory in memories:
        says = claim(memory) if kept_once(memory) else None
        if says is None or says not in said:
            waiting.append((says, memory))
            if says is not None:
                said[says] = memory
            continue
        put_in()
        said[says] = again = _bump(tx, said[says], memory)
        stored.append(again)
    put_in()
    return stored


def kept_once(memory: Memory) -> bool:
    """Whether a memory is deduplicated: facts and rules outside sessions are."""
    return memory.kind in ("fact", "rule") and memory.session is None


def _placed(tx: Transaction, memories: Sequence[Memory]) -> list[Memory]:
    """Assign session positions to memories; create the sessions and record their activity."""
    places: dict[tuple[Scope, str], int] = {}
    placed = []
    for memory in memories:
        if memory.session is None:
            placed.append(memory)
            continue
        key = (memory.scope, memory.session)
        if key not in places:
            places[key] = take_place(tx, memory)
        placed.append(memory.with_(position=places[key]))
        places[key] += 1
    return placed


def _bump(
    tx: Transaction,
    known: Memory,
    again: Memory,
) -> Memory:
    return tx.change(
        known,
        **_renewed_validity(known, again),
        confidence=max(said(known), again.confidence),
        strength=None,
        last_accessed=again.created_at,
        tags=tuple(dict.fromkeys((*known.tags, *again.tags))),
        metadata={**known.metadata, **again.metadata},
        updated_at=again.updated_at,
    )


def renew(
    tx: Transaction,
    memory: Memory,
    *,
    confidence: float,
    at: Micros,
) -> Memory:
    """Record that a memory was said again: restore its confidence and mark it as used."""
    sure = max(said(memory), confidence)
    return tx.change(
        memory,
        confidence=sure,
        strength=None,
        last_accessed=at,
        updated_at=at,
    )


def said(memory: Memory) -> float:
    """A memory's confidence when it was last said, before any decay."""
    if memory.strength is None:
        return memory.confidence
    return memory.strength


def _renewed_validity(known: Memory, again: Memory) -> dict[str, Micros | None]:
    """New validity bounds of a repeated memory, which holds now.

    Given bounds replace the old ones; old bounds that exclude now are removed.
    """
    now = again.created_at
    bounds = dict[str, Micros | None]()
    if again.valid_from is not None or (known.valid_from is not None and known.valid_from > now):
        bounds["valid_from"] = again.valid_from
    if again.valid_until is not None or (
        known.valid_until is not None and known.valid_until <= now
    ):
        bounds["valid_until"] = again.valid_until
    return bounds


def take_place(tx: Transaction, memory: Memory) -> int:
    """Create the session if needed, record its activity and return its next position."""
    assert memory.session is not None
    place = tx.sessions.go_on(memory.scope, memory.session, at=memory.created_at)
    if place is not None:
        return place
    session = tx.sessions.get(memory.scope, memory.session)
    if session is None:
        session = Session(memory.session, memory.scope, memory.event_time, memory.created_at)
    # Who speaks in a session that had ended goes on with it.
    active = replace(
        session,
        last_activity=max(memory.created_at, session.last_activity),
        ended_at=None,
        end_reason="",
    )
    tx.sessions.put(active)
    return tx.sessions.next_position(memory.scope, memory.session)


def correct(
    tx: Transaction,
    old: Memory,
    new: Memory,
    *,
    reason: str = "",
) -> Memory:
    """Replace `old` with `new`: the old memory stays as superseded, and the two are linked."""
    added = tx.add(new)
    supersede(
        tx,
        old,
        added,
        at=new.created_at,
        reason=reason,
        told=f"corrected by {added.id}",
    )
    return added


def supersede(
    tx: Transaction,
    old: Memory,
    new: Memory,
    *,
    at: Micros,
    reason: str,
    told: str,
    status: str = "superseded",
) -> Memory:
    """Retire a memory in favour of a stored one and link the two; return the retired memory.

    `reason` is kept on the link, `told` as the old memory's status reason.
    """
    gone = set_status(
        tx,
        old,
        status,
        at=at,
        reason=told,
    )
    tx.link(
        Edge(
            new.scope,
            new.id,
            old.id,
            "supersedes",
            at,
            without_secrets(reason),
        )
    )
    _outdate_turns(tx, old, new)
    return gone


def _outdate_turns(
    tx: Transaction,
    old: Memory,
    new: Memory,
) -> None:
    """Mark turns that support only `old` as outdated, so that recall ranks `new` above them."""
    instead = [new.id, *rests_on(tx, new)]
    for source in rests_on(tx, old):
        turn = tx.memory(old.scope, source)
        if turn is None or turn.kind != "turn" or turn.id in instead:
            continue
        others = [
            tx.memory(edge.scope, edge.source)
            for edge in tx.edges(turn.scope, turn.id)
            if edge.target == turn.id and edge.relation == "derived_from" and edge.source != old.id
        ]
        # A summary of the session tells what was said, not what holds.
        if not any(one and one.kind == "fact" and one.status == "active" for one in others):
            tx.change(turn, metadata={**turn.metadata, OUTDATED_BY: instead})


def rewrite(
    tx: Transaction,
    old: Memory,
    new: Memory,
) -> Memory:
    """Store `new` under the id of `old`, for a text that is kept elsewhere and changed there.

    Links and usage counts of `old` are kept. Mentions are not, because they depend on the words.
    """
    edges = tx.edges(old.scope, old.id)
    tx.remove(old)
    uses = {"access_count": old.access_count, "last_accessed": old.last_accessed}
    added = tx.add(new.with_(id=old.id, scope=old.scope, **uses))
    for edge in edges:
        tx.link(edge)
    return added


def confirm(
    tx: Transaction,
    memory: Memory,
    *,
    at: Micros,
) -> Memory:
    """Mark a memory as certain: it does not decay and only a person may replace it. Idempotent."""
    if (memory.protected, memory.confidence, memory.strength, memory.decay_rate) == (
        True,
        1.0,
        None,
        0.0,
    ):
        return memory
    return tx.change(
        memory, protected=True, confidence=1.0, strength=None, decay_rate=0.0, updated_at=at
    )


def set_status(
    tx: Transaction,
    memory: Memory,
    status: str,
    *,
    at: Micros,
    reason: str,
) -> Memory:
    """Change a memory's status: archive, forget, restore. Idempotent."""
    if memory.status == status:
        return memory
    told = without_secrets(reason)
    # Whoever brings a memory back is using it: it does not fade again at once.
    awake = (
        {
            "confidence": said(memory),
            "strength": None,
            "last_accessed": at,
        }
        if status == "active"
        else {}
    )
    return tx.change(
        memory, status=status, status_at=at, status_reason=told, updated_at=at, **awake
    )
