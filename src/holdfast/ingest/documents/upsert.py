"""Store the chunks of one file under content-derived ids, replacing older chunks.

Because ids are deterministic, an index can be rebuilt, or built on two machines, and every link
still holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...storage.protocol import Transaction
from ...text.reference import BRANCH
from ...types import ID_PREFIXES, Kind, Memories, Memory, Micros, Scope
from .. import commit, entity_linking

# What the `source` of every indexed memory says.
SOURCE = "index"
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Changed:
    """What storing a file's chunks did: how many were added and removed, and affected sessions."""

    added: int = 0
    removed: int = 0
    sessions: tuple[str, ...] = field(default=())

    def __add__(self, other: Changed) -> Changed:
        sessions = (*self.sessions, *other.sessions)
        return Changed(self.added + other.added, self.removed + other.removed, sessions)


def fixed_id(kind: Kind, *identity: object) -> str:
    """A deterministic id: the same item gets the same id from every indexer."""
    told = "\0".join(map(str, identity)).encode("utf-8", "replace")
    return f"{ID_PREFIXES[kind]}_{hashlib.blake2b(told, digest_size=9).hexdigest()}"


def key_of(name: str) -> str:
    """The session key of a file's chunks: its name, shortened if it is too long."""
    if len(name) <= _LONGEST_KEY:
        return name
    return f"{hashlib.sha256(name.encode()).hexdigest()[:32]}:{name[-200:]}"


def replace(
    tx: Transaction,
    scope: Scope,
    session: str,
    wanted: Sequence[Memory],
    *,
    kind: Kind,
    at: Micros,
) -> Changed:
    """Make `wanted` the complete index of a file or session; unchanged chunks keep their ids."""
    there = {one.id: one for one in _indexed(tx, scope, session, kind)}
    ids = {one.id for one in wanted}
    gone = [one for one in there.values() if one.id not in ids]
    for one in gone:
        tx.remove(one)
    for one in wanted:
        if one.id in there:
            _refresh(tx, there[one.id], one, at=at)
    added = add(tx, [one for one in wanted if one.id not in there], at=at)
    return Changed(len(added), len(gone))


def add(
    tx: Transaction,
    new: Sequence[Memory],
    *,
    at: Micros,
) -> Memories:
    """Add memories that are not stored yet: a resumed session repeats the turns before it."""
    stored = tx.add_many([one for one in new if tx.memory(one.scope, one.id) is None])
    entity_linking.note(tx, stored, at=at)
    return stored


def drop(
    tx: Transaction,
    scope: Scope,
    session: str,
    *,
    kind: Kind,
) -> Changed:
    """Remove everything indexed of a file or session."""
    gone = _indexed(tx, scope, session, kind)
    for one in gone:
        tx.remove(one)
    return Changed(removed=len(gone))


def _indexed(
    tx: Transaction,
    scope: Scope,
    session: str,
    kind: Kind,
) -> Memories:
    every = tx.sessions.memories(scope, session)
    return [one for one in every if one.kind == kind and one.source == SOURCE]


def _refresh(
    tx: Transaction,
    old: Memory,
    new: Memory,
    *,
    at: Micros,
) -> None:
    """Update position and title of a chunk whose words did not change."""
    metadata = {key: value for key, value in old.metadata.items() if key != BRANCH}
    metadata |= {key: value for key, value in new.metadata.items() if key in ("at", BRANCH)}
    if (old.title, old.tags, old.category) != (new.title, new.tags, new.category):
        # What it is found by has changed, and with it its vector.
        titled = old.with_(
            title=new.title,
            tags=new.tags,
            category=new.category,
        )
        moved = titled.with_(
            position=new.position,
            metadata=metadata,
            updated_at=at,
        )
        entity_linking.note(tx, [commit.rewrite(tx, old, moved)], at=at)
    elif (old.position, old.metadata) != (new.position, metadata):
        tx.change(
            old,
            position=new.position,
            metadata=metadata,
            updated_at=at,
        )
