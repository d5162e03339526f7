"""Entities that memories mention: link, merge, split and rename them in a transaction."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..errors import Conflict, InvalidInput, NotFound
from ..models.entities.base import NOWHERE, TYPES, EntityMatch, resolve, whole
from ..models.entities.entity_patterns import PatternRecogniser
from ..models.entities.quick import QuickNameRecogniser
from ..storage.protocol import Transaction
from ..storage.row_codec import entity_names
from ..text.normal_forms import fold, fold_text
from ..types import Entity, Memory, Micros, Scope, new_id
from .sanitize import clean, one_line

PATTERNS = PatternRecogniser()
NAMES = QuickNameRecogniser()
# A text without one of these holds no handle, tag or address, so the patterns need not be tried.
_SIGN = re.compile(r"[@#＠＃]|://|www\.")
LONGEST_NAME = (
    200  # folded characters: a longer one, such as a tracking link, is a name nobody asks for
)
# A date is when, not whom: recall reads it itself.
REGISTERED = tuple(type_ for type_ in TYPES if type_ != "date")
# Types that a name of unknown type may turn out to have.
_NAMED_TYPES = ("person", "organization", "location", "project")
# Turns of a session in which a new speaker is looked up at once. Later turns, one at a time, leave
# that to the second pass, because it would cost each of them something.
_EARLY = 4
# What stands in place of a speaker's name.
_NO_SPEAKERS = frozenset(
    ("user", "assistant", "system", "tool", "human", "ai", "bot", "me", "unknown")
)


class Met:
    """Entities that a batch has looked up so far: the same few names come again and again."""

    def __init__(self) -> None:
        self._ids: dict[tuple[Scope, str, str], str] = {}
        self._entities: dict[tuple[Scope, str], Entity] = {}

    def get(
        self,
        scope: Scope,
        folded: str,
        type: str,
    ) -> Entity | None:
        """Return the entity of a name and a type, with every name that the batch has added."""
        return self._entities.get((scope, self._ids.get((scope, folded, type), "")))

    def keep(self, entity: Entity, folded: str) -> None:
        """Remember an entity by a name that finds it."""
        self._ids[entity.scope, folded, entity.type] = entity.id
        self._entities[entity.scope, entity.id] = entity


def link(
    tx: Transaction,
    memory: Memory,
    found: Iterable[EntityMatch],
    *,
    at: Micros,
    met: Met | None = None,
) -> list[Entity]:
    """Link a stored memory to the entities it mentions; return them in order, each once.

    An entity is identified by folded name and type, or by an alias. New entities and spellings are
    added. `met` has the entities that the same transaction has met before.
    """
    linked = _entities(tx, memory, found, at=at, met=met or Met())
    for entity in linked:
        tx.entities.mention(memory.scope, entity=entity.id, memory=memory.id)
    return linked


def _entities(
    tx: Transaction,
    memory: Memory,
    found: Iterable[EntityMatch],
    *,
    at: Micros,
    met: Met,
) -> list[Entity]:
    """The entities that were found in a memory, each once; new ones are created."""
    entities: dict[str, Entity] = {}
    for one in found:
        if one.type in REGISTERED and _storable(one.name):
            entity = _create_or_get(tx, memory, one, at=at, met=met)
            entities[entity.id] = entity
    return list(entities.values())


def note(
    tx: Transaction,
    memories: Sequence[Memory],
    *,
    at: Micros,
) -> None:
    """Link entities that are cheap to find: @ann and #apollo by form, and names the rules are sure
    of.

    Fast enough for every turn. Assistant turns are long and name much that is irrelevant, so names
    in them are left to the second pass.
    """
    met = Met()
    mentions: dict[Scope, list[tuple[str, str]]] = {}
    for memory in memories:
        if ((memory.position or 0) < _EARLY or len(memories) > 1) and is_spoken(memory):
            _meet(tx, memory, at=at, met=met)
        # Dates are not registered, and without one of these there is nothing else: most texts are
        # done here.
        found = PATTERNS.recognise(memory.content) if _SIGN.search(memory.content) else []
        if memory.role != "assistant":
            names = NAMES.recognise(memory.content)
            found = resolve([*found, *names]) if found and names else found or names
        for entity in _entities(tx, memory, found, at=at, met=met) if found else ():
            mentions.setdefault(memory.scope, []).append((entity.id, memory.id))
    for scope, pairs in mentions.items():
        tx.entities.mention_many(scope, pairs)


def is_spoken(memory: Memory) -> bool:
    """Whether a memory is a turn of somebody with a name."""
    return (
        memory.kind == "turn"
        and bool(memory.author)
        and memory.role != "assistant"
        and memory.author.casefold() not in _NO_SPEAKERS
    )


def link_speaker(
    tx: Transaction,
    memory: Memory,
    *,
    at: Micros,
    met: Met | None = None,
) -> None:
    """Link a turn to the person who said it."""
    author = memory.author
    speaker = EntityMatch(author, "person", NOWHERE, NOWHERE, 1.0, author)
    link(tx, memory, [speaker], at=at, met=met)


def _meet(
    tx: Transaction,
    memory: Memory,
    *,
    at: Micros,
    met: Met,
) -> None:
    """Make a speaker known by one of their first turns; the second pass links them in every
    session.
    """
    folded = fold(memory.author)
    if met.get(memory.scope, folded, "person") is None:
        known = tx.entities.named(memory.scope, folded, "person")
        if known is None:
            link_speaker(tx, memory, at=at, met=met)
        else:
            met.keep(known, folded)


def _create_or_get(
    tx: Transaction,
    memory: Memory,
    found: EntityMatch,
    *,
    at: Micros,
    met: Met,
) -> Entity:
    name = _written(found.name)
    folded = fold(name)
    known = met.get(memory.scope, folded, found.type) or _known(
        tx, memory.scope, folded, found.type
    )
    entity = _typed(known, found.type) or _new_entity(
        tx,
        memory.scope,
        name,
        found.type,
        at=at,
    )
    if _storable(found.raw):
        entity = _also_called(entity, [_written(found.raw)])
    if entity is not known:
        tx.entities.put(entity)
    met.keep(entity, folded)
    return entity


def _known(
    tx: Transaction,
    scope: Scope,
    folded: str,
    type: str,
) -> Entity | None:
    """The entity with this name and type, or the one of a known and an unknown type."""
    types = (type, *_NAMED_TYPES) if type == "other" else (type, "other")
    return next((one for each in types if (one := tx.entities.named(scope, folded, each))), None)


def _typed(entity: Entity | None, type: str) -> Entity | None:
    """The entity with a type that was not known before."""
    if entity is not None and entity.type == "other":
        return replace(entity, type=type)
    return entity


def _new_entity(
    tx: Transaction,
    scope: Scope,
    name: str,
    type: str,
    *,
    at: Micros,
) -> Entity:
    """A new entity with an id derived from its name, so that synchronised stores agree on it.

    A renamed entity keeps its id; the next entity with the old name then gets a random one.
    """
    told = hashlib.blake2b(f"{type}\n{fold(name)}".encode(), digest_size=10).hexdigest()
    taken = tx.entities.get(scope, f"ent_{told}") is not None
    return Entity(new_id("ent", at) if taken else f"ent_{told}", scope, name, type, at)


def _storable(name: str) -> bool:
    return 0 < len(fold(name)) <= LONGEST_NAME


def _written(name: str) -> str:
    """A name for storage: on one line, without characters no database can hold."""
    return " ".join(clean(name).split())


def _also_called(entity: Entity, names: Iterable[str]) -> Entity:
    """The entity with more aliases; unchanged if it has all of these names."""
    known = entity_names(entity)
    new = {fold(name): name for name in names if fold(name) not in known}
    if new:
        return replace(entity, aliases=(*entity.aliases, *new.values()))
    return entity


def merge(
    tx: Transaction,
    keep: Entity,
    others: Sequence[Entity],
) -> Entity:
    """Merge entities into `keep`: names and mentions move there, and the others are removed.

    Raises InvalidInput for entities of different scopes.
    """
    for other in others:
        if other.scope != keep.scope:
            raise InvalidInput(
                f"{other.name} and {keep.name} belong to different scopes and cannot become one."
            )
    kept = _current(tx, keep)
    gone = [
        _current(tx, other)
        for other in {other.id: other for other in others}.values()
        if other.id != kept.id
    ]
    for other in gone:
        kept = _also_called(kept, (other.name, *other.aliases))
        kept = replace(kept, summary=kept.summary or other.summary)
    tx.entities.put(kept)
    for other in gone:
        for memory in reversed(tx.entities.mentioning(kept.scope, other.id, statuses=None)):
            tx.entities.mention(kept.scope, entity=kept.id, memory=memory.id)
        tx.entities.remove(other)
    return _current(tx, kept)


def split(
    tx: Transaction,
    entity: Entity,
    names: Sequence[str],
    *,
    at: Micros,
) -> Entity:
    """Split some aliases off an entity into a new one, named by the first of them.

    The new entity gets the mentions of memories that contain one of these names as whole words. The
    old one loses those that contain none of its own names. Raises InvalidInput, NotFound or
    Conflict for names that cannot be split off.
    """
    old = _current(tx, entity)
    aliases = {fold(alias): alias for alias in old.aliases}
    asked = list(dict.fromkeys(map(fold, names)))
    # Who goes by robert goes by @robert too.
    wanted = [
        *asked,
        *(alias for alias in aliases if alias not in asked and alias.lstrip("@#") in asked),
    ]
    if not wanted:
        raise InvalidInput(f"Say which names of {old.name} belong to somebody else.")
    if fold(old.name) in wanted:
        raise InvalidInput(
            f"{old.name} keeps its own name. Rename it first, or split off its other names."
        )
    for name in wanted:
        if name not in aliases:
            raise NotFound(f"{old.name} does not go by the name {name!r}.")
    first, *rest = (aliases[name] for name in wanted)
    _refuse_a_second(tx, replace(old, name=first), besides=old)
    new = Entity(
        new_id("ent", at),
        old.scope,
        first,
        old.type,
        at,
        tuple(rest),
    )
    old = replace(
        old, aliases=tuple(alias for folded, alias in aliases.items() if folded not in wanted)
    )
    tx.entities.put(old)
    tx.entities.put(new)
    _share_mentions(tx, old, new)
    return _current(tx, new)


def _share_mentions(
    tx: Transaction,
    old: Entity,
    new: Entity,
) -> None:
    """Assign each memory that mentions `old` to the entities its text names."""
    owners = dict.fromkeys(entity_names(old), old.id) | dict.fromkeys(entity_names(new), new.id)
    # The longest first, so that Ann in 'Ann Lee' is the one of the longer name.
    named = re.compile("|".join(whole(name) for name in sorted(owners, key=len, reverse=True)))
    for memory in reversed(tx.entities.mentioning(old.scope, old.id, statuses=None)):
        text = fold_text(f"{memory.title} {memory.content}")
        ids = {owners[match] for match in named.findall(text)}
        if new.id in ids:
            tx.entities.mention(new.scope, entity=new.id, memory=memory.id)
            if old.id not in ids:
                tx.entities.unmention(old.scope, entity=old.id, memory=memory.id)


def rename(
    tx: Transaction,
    entity: Entity,
    name: str,
    type: str | None = None,
) -> Entity:
    """Rename an entity, and optionally change its type; the old name stays as an alias.

    Raises InvalidInput for a bad name or type, Conflict if the new name is taken.
    """
    old = _current(tx, entity)
    written = one_line(name, name="name", limit=LONGEST_NAME)
    if not _storable(written):
        raise InvalidInput(f"A name has 1 to {LONGEST_NAME} characters.")
    if type is not None and type not in REGISTERED:
        raise InvalidInput(f"Unknown type {type!r}. Use one of: {', '.join(REGISTERED)}.")
    new = _also_called(replace(old, name=written, type=type or old.type), [old.name])
    _refuse_a_second(tx, new, besides=old)
    tx.entities.put(new)
    return _current(tx, new)


def _refuse_a_second(
    tx: Transaction,
    wanted: Entity,
    *,
    besides: Entity,
) -> None:
    """Raise Conflict if another entity of the same type has this name."""
    other = tx.entities.named(wanted.scope, fold(wanted.name), wanted.type)
    if other is not None and other.id != besides.id and fold(other.name) == fold(wanted.name):
        raise Conflict(
            f"There is another {wanted.type} called {other.name} ({other.id}). Merge the two "
            "instead."
        )


def _current(tx: Transaction, entity: Entity) -> Entity:
    """The entity as this transaction sees it. Raises NotFound if it is gone."""
    current = tx.entities.get(entity.scope, entity.id)
    if current is None:
        raise NotFound(f"No entity {entity.id!r} in scope '{entity.scope}'.", id=entity.id)
    return current
