"""Rows: the one transaction of an erasure, from selection to the cleanup job.

Rows, what was derived from them, and their text in the journal are erased atomically.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import NotFound
from ..storage.protocol import Transaction
from ..storage.row_codec import entity_names
from ..storage.store_types import Author
from ..text.normal_forms import fold_text
from ..types import SUMMARY, Entity, Memories, Memory, Scope, Session
from .cleanup import enqueue_cleanup
from .derived import Fallout
from .quotations import redact_quotations
from .receipt import Item, seal
from .selection import left_behind, select
from .target import Target

PLACES = (
    "memories",
    "journal",
    "messages",
    "progress",
    "sessions",
    "entities",
    "names",
    "links",
    "vectors",
    "jobs",
    "profiles",
    "files",
    "spend",
)
# Places whose rows a receipt of a whole scope seals.
_SEALED = ("memories", "sessions", "messages", "entities")


@dataclass(frozen=True, slots=True)
class ErasedRows:
    """What one transaction erased."""

    scope: Scope
    counts: Mapping[str, int]
    items: tuple[Item, ...]
    fallout: Fallout
    again: tuple[str, ...]


def erase_rows(
    tx: Transaction,
    scopes: Sequence[Scope],
    target: Target,
    author: Author,
    *,
    nonce: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ErasedRows:
    """Erase a target's rows. The order matters: seals and sources are read while the rows exist,
    and quotations are replaced once the quoted rows are gone.
    """
    if target.owner:
        return _erase_scope(tx, scopes[0], author, nonce, progress)
    found = select(tx, scopes, target)
    going = [one.memory for one in found.going]
    scope = going[0].scope if going else scopes[0]
    # A moved memory left its text in the journal of its former scope.
    for one in list(going):
        going += left_behind(tx, scopes, one)
    items = [Item("memory", one.id, seal(nonce, one.content)) for one in going]
    again = _read_again(tx, found)
    _purge_memories(tx, going, progress)
    if target.session is not None:
        items += _purge_session(tx, scope, target.session, nonce)
    for place in dict.fromkeys(one.scope for one in going):
        erased_there = [one for one in going if one.scope == place]
        redact_quotations(tx, place, erased_there)
    enqueue_cleanup(tx, scope, author.at)
    return ErasedRows(scope, _counts(tx), tuple(items), found, again)


def _erase_scope(
    tx: Transaction,
    scope: Scope,
    author: Author,
    nonce: str,
    progress: Callable[[int, int], None],
) -> ErasedRows:
    sizes = tx.erasure.sizes(scope)
    # What is sealed is read first, and erased with all else.
    sealed = sum(sizes.get(place, 0) for place in _SEALED)
    total = sealed + sum(sizes.values())
    items = list[Item]()
    for number, (noun, id_, text) in enumerate(tx.erasure.contents(scope), start=1):
        items.append(Item(noun, id_, seal(nonce, text)))
        progress(number, total)
    tx.erasure.scope(scope, progress=lambda rows: progress(sealed + rows, total))
    if not +tx.erasure.erased:
        raise NotFound(f"Nothing is stored in {scope}.", id=str(scope))
    enqueue_cleanup(tx, scope, author.at)
    return ErasedRows(scope, _counts(tx), tuple(items), Fallout((), (), ()), ())


def _counts(tx: Transaction) -> dict[str, int]:
    return {name: count for name, count in sorted(tx.erasure.erased.items()) if count}


def _purge_memories(
    tx: Transaction,
    going: Memories,
    progress: Callable[[int, int], None],
) -> None:
    mentioned: dict[str, list[Memory]] = {}
    entities: dict[str, Entity] = {}
    for memory in going:
        for entity in tx.erasure.entities_of(memory.scope, memory.id):
            entities[entity.id] = entity
            mentioned.setdefault(entity.id, []).append(memory)
    for number, memory in enumerate(going, start=1):
        tx.erasure.memory(memory)
        progress(number, len(going))
    for id_, entity in entities.items():
        # An entity without other mentions went with the last memory.
        if tx.entities.get(entity.scope, id_) is None:
            continue
        remaining = tx.entities.mentioning(entity.scope, id_, statuses=None)
        names = _only_in(mentioned[id_], remaining, entity)
        if names:
            tx.erasure.entity(entity, names)


def _only_in(
    gone: Sequence[Memory],
    left: Sequence[Memory],
    entity: Entity,
) -> list[str]:
    """Names of an entity that occur only in erased memories."""
    erased = _text_of(gone)
    remaining = _text_of(left)
    return [name for name in entity_names(entity) if name in erased and name not in remaining]


def _text_of(memories: Sequence[Memory]) -> str:
    return fold_text("\n".join(f"{one.title}\n{one.content}\n{one.author}" for one in memories))


def _purge_session(
    tx: Transaction,
    scope: Scope,
    session: str,
    nonce: str,
) -> list[Item]:
    items = [Item("session", "", seal(nonce, session))]
    items += [
        Item(noun, id_, seal(nonce, body))
        for noun, id_, body in tx.erasure.contents(scope, session)
    ]
    if tx.sessions.get(scope, session) is not None:
        erase_session_rows(tx, scope, [session])
    else:
        # Memories may name a session that was never opened here.
        redact_quotations(tx, scope, sessions=(session,))
    return items


def erase_session_rows(
    tx: Transaction,
    scope: Scope,
    sessions: Sequence[str],
) -> int:
    """Erase sessions with their messages, and their names in rows that stay. Turns stay.

    Returns the number of messages. Raises NotFound.
    """
    messages = sum(tx.erasure.session(scope, session) for session in sessions)
    redact_quotations(tx, scope, sessions=sessions)
    return messages


def _is_read(tx: Transaction, session: Session) -> bool:
    """Whether the session was extracted after its end."""
    return tx.progress.get(session.scope, session.id, SUMMARY) is not None


def _read_again(tx: Transaction, found: Fallout) -> tuple[str, ...]:
    """Mark the remaining sources of an erased summary as unread, so that a new one is written."""
    again: dict[str, None] = {}
    for memory in found.unread:
        session = tx.sessions.get(memory.scope, memory.session) if memory.session else None
        if memory.kind == "turn" and session is not None and _is_read(tx, session):
            tx.progress.drop(session.scope, session.id, SUMMARY)
            again["A session is extracted again: `holdfast worker run`."] = None
        elif memory.kind == "episode" and memory.consolidated_at is not None:
            tx.change(memory, consolidated_at=None, outcome="")
            again["Episodes are consolidated again by the next consolidation."] = None
    if any(one.memory.kind == "reflection" for one in found.going):
        again["The reflection is written again on its schedule: `holdfast worker run`."] = None
    return tuple(again)
