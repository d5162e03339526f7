"""Rows: the one transaction of an erasure, from selection to the job that cleans up behind it.

Rows, what was derived from them, and each word of theirs in the journal go together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import NotFound
from ..storage.protocol import Author, Writer
from ..storage.schema import entity_names, fold_text
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


@dataclass(frozen=True, slots=True)
class ErasedRows:
    """What one transaction took away."""

    scope: Scope
    counts: Mapping[str, int]
    items: tuple[Item, ...]
    fallout: Fallout
    again: tuple[str, ...]


def erase_rows(
    writer: Writer, scopes: Sequence[Scope], target: Target, author: Author, *, nonce: str
) -> ErasedRows:
    """Erase a target's rows. The order matters: what is to be sealed or read again is looked at
    while it is still there, and quotations are replaced when the quoted rows are gone.
    """
    if target.owner:
        return _erase_scope(writer, scopes[0], author, nonce)
    found = select(writer, scopes, target)
    going = [one.memory for one in found.going]
    scope = going[0].scope if going else scopes[0]
    going += [left for one in going for left in left_behind(writer, scopes, one)]
    items = [Item("memory", one.id, seal(nonce, one.content)) for one in going]
    again = _read_again(writer, found)
    _purge_memories(writer, going)
    if target.session is not None:
        items += _purge_session(writer, scope, target.session, nonce)
    for place in dict.fromkeys(one.scope for one in going):
        redact_quotations(writer, place, [one for one in going if one.scope == place])
    enqueue_cleanup(writer, scope, author.at)
    return ErasedRows(scope, _counts(writer), tuple(items), found, again)


def _erase_scope(writer: Writer, scope: Scope, author: Author, nonce: str) -> ErasedRows:
    items = tuple(Item(noun, id_, seal(nonce, text)) for noun, id_, text in writer.contents(scope))
    writer.purge_scope(scope)
    if not +writer.erased:
        raise NotFound(f"There is nothing of {scope} here.", id=str(scope))
    enqueue_cleanup(writer, scope, author.at)
    return ErasedRows(scope, _counts(writer), items, Fallout((), (), ()), ())


def _counts(writer: Writer) -> dict[str, int]:
    return {name: count for name, count in sorted(writer.erased.items()) if count}


def _purge_memories(writer: Writer, going: Memories) -> None:
    mentioned: dict[str, list[Memory]] = {}
    entities: dict[str, Entity] = {}
    for memory in going:
        for entity in writer.entities_of(memory.scope, memory.id):
            entities[entity.id] = entity
            mentioned.setdefault(entity.id, []).append(memory)
    for memory in going:
        writer.purge(memory)
    for id_, entity in entities.items():
        if writer.entity(entity.scope, id_) is not None:
            names = _only_in(mentioned[id_], writer.mentioning(entity.scope, id_), entity)
            if names:
                writer.purge_entity(entity, names)


def _only_in(gone: Sequence[Memory], left: Sequence[Memory], entity: Entity) -> list[str]:
    """The names of an entity that occur in what goes and in nothing that is left."""
    told = _text_of(gone)
    remaining = _text_of(left)
    return [name for name in entity_names(entity) if name in told and name not in remaining]


def _text_of(memories: Sequence[Memory]) -> str:
    return fold_text("\n".join(f"{one.title}\n{one.content}\n{one.author}" for one in memories))


def _purge_session(writer: Writer, scope: Scope, session: str, nonce: str) -> list[Item]:
    items = [Item("session", "", seal(nonce, session))]
    items += [
        Item("message", "", seal(nonce, body)) for body in writer.message_bodies(scope, session)
    ]
    if writer.session(scope, session) is not None:
        writer.purge_session(scope, session)
    redact_quotations(writer, scope, sessions=(session,))
    return items


def _is_read(writer: Writer, session: Session) -> bool:
    """Whether the session was extracted after its end."""
    return writer.progress(session.scope, session.id, SUMMARY) is not None


def _read_again(writer: Writer, found: Fallout) -> tuple[str, ...]:
    """Mark what is left of the sources of a summary that goes as unread, so that a new one is made
    of it.
    """
    again: dict[str, None] = {}
    for memory in found.unread:
        session = writer.session(memory.scope, memory.session) if memory.session else None
        if memory.kind == "turn" and session is not None and _is_read(writer, session):
            writer.drop_progress(session.scope, session.id, SUMMARY)
            again["A conversation is read again without what goes: `holdfast maintain`."] = None
        elif memory.kind == "episode" and memory.consolidated_at is not None:
            writer.change(memory, consolidated_at=None, outcome="")
            again["Episodes are consolidated again without what goes, when that is next done."] = (
                None
            )
    if any(one.memory.kind == "reflection" for one in found.going):
        again[
            "A reflection is made again when the week is next looked back on: `holdfast maintain`."
        ] = None
    return tuple(again)
