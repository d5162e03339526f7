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
    """Entities that a transaction has looked up, by any of their names, and those it has added.

    The same few names come again and again, and many are looked up or stored by one statement.
    """

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._entities: dict[tuple[Scope, str], Entity] = {}
        # Ids by each name of an entity, and the names whose entities are all here.
        self._ids: dict[tuple[Scope, str], list[str]] = {}
        self._asked: set[tuple[Scope, str]] = set()
        # Derived ids that no entity has.
        self._free: set[tuple[Scope, str]] = set()
        self._stored: set[tuple[Scope, str]] = set()
        self._unsaved: dict[tuple[Scope, str], Entity] = {}

    def prepare(self, scope: Scope, found: Iterable[EntityMatch]) -> None:
        """Look up all these names at once, and the ids of those that are new."""
        wanted = {(fold(_written(one.name)), one.type) for one in found if _registered(one)}
        names = {name for name, _ in wanted if (scope, name) not in self._asked}
        self._look_up(scope, sorted(names))
        new = {_derived_id(*one) for one in wanted if self.known(scope, *one) is None}
        self._free_of(scope, sorted(new))

    def known(
        self,
        scope: Scope,
        folded: str,
        type: str,
    ) -> Entity | None:
        """The entity with this name and type, or the one of a known and an unknown type."""
        types = (type, *_NAMED_TYPES) if type == "other" else (type, "other")
        return next((one for each in types if (one := self.named(scope, folded, each))), None)

    def named(
        self,
        scope: Scope,
        folded: str,
        type: str,
    ) -> Entity | None:
        """The entity of this type with this name. Its own name wins over an alias, then the oldest
        entity wins.
        """
        if (scope, folded) not in self._asked:
            self._look_up(scope, [folded])
        ids = self._ids.get((scope, folded), ())
        found = (self._entities[scope, id_] for id_ in ids)
        return min(
            (one for one in found if one.type == type),
            key=lambda one: (fold(one.name) != folded, one.created_at, one.id),
            default=None,
        )

    def is_free(self, scope: Scope, id: str) -> bool:
        """Whether no entity has this id."""
        if (scope, id) in self._entities:
            return False
        if (scope, id) not in self._free:
            self._free_of(scope, [id])
        return (scope, id) in self._free

    def keep(self, entity: Entity) -> None:
        """Add or change an entity; `save` stores it."""
        self._learn(entity)
        self._unsaved[entity.scope, entity.id] = entity

    def save(self) -> None:
        """Store what was added or changed."""
        new: dict[Scope, list[Entity]] = {}
        for place, entity in self._unsaved.items():
            if place in self._stored:
                self._tx.entities.put(entity)
            else:
                new.setdefault(entity.scope, []).append(entity)
        for scope, entities in new.items():
            self._tx.entities.add_many(scope, entities)
        self._stored.update(self._unsaved)
        self._unsaved.clear()

    def _look_up(self, scope: Scope, names: Sequence[str]) -> None:
        for entity in self._tx.entities.with_names(scope, names) if names else ():
            # One that was changed meanwhile stays as it is here.
            if (scope, entity.id) not in self._entities:
                self._learn(entity)
                self._stored.add((scope, entity.id))
        self._asked.update((scope, name) for name in names)

    def _free_of(self, scope: Scope, ids: Sequence[str]) -> None:
        if ids:
            taken = self._tx.entities.existing(scope, ids)
            self._free.update((scope, id_) for id_ in ids if id_ not in taken)

    def _learn(self, entity: Entity) -> None:
        self._entities[entity.scope, entity.id] = entity
        for folded in entity_names(entity):
            ids = self._ids.setdefault((entity.scope, folded), [])
            if entity.id not in ids:
                ids.append(entity.id)


def link(
    tx: Transaction,
    memory: Memory,
    found: Iterable[EntityMatch],
    *,
    at: Micros,
) -> list[Entity]:
    """Link a stored memory to the entities it mentions; return them in order, each once.

    An entity is identified by folded name and type, or by an alias. New entities and spellings are
    added.
    """
    matches = list(found)
    met = Met(tx)
    met.prepare(memory.scope, matches)
    linked = _entities(met, memory, matches, at=at)
    met.save()
    for entity in linked:
        tx.entities.mention(memory.scope, entity=entity.id, memory=memory.id)
    return linked


def _entities(
    met: Met,
    memory: Memory,
    found: Iterable[EntityMatch],
    *,
    at: Micros,
) -> list[Entity]:
    """The entities that were found in a memory, each once; new ones are created."""
    entities: dict[str, Entity] = {}
    for one in found:
        if _registered(one):
            entity = _create_or_get(met, memory, one, at=at)
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
    met = Met(tx)
    heard: list[tuple[Memory, list[EntityMatch], list[EntityMatch]]] = []
    wanted: dict[Scope, list[EntityMatch]] = {}
    for memory in memories:
        early = (memory.position or 0) < _EARLY or len(memories) > 1
        speaker = [_speaker(memory)] if early and is_spoken(memory) else []
        # Dates are not registered, and without one of these there is nothing else: most texts are
        # done here.
        found = PATTERNS.recognise(memory.content) if _SIGN.search(memory.content) else []
        if memory.role != "assistant":
            names = NAMES.recognise(memory.content)
            found = resolve([*found, *names]) if found and names else found or names
        if speaker or found:
            heard.append((memory, speaker, found))
            wanted.setdefault(memory.scope, []).extend((*speaker, *found))
    for scope, matches in wanted.items():
        met.prepare(scope, matches)
    mentions: dict[Scope, list[tuple[str, str]]] = {}
    for memory, speaker, found in heard:
        # A new speaker is linked to the first turn; the second pass links them in every session.
        is_new = speaker and met.named(memory.scope, fold(memory.author), "person") is None
        for entity in _entities(met, memory, (*speaker, *found) if is_new else found, at=at):
            mentions.setdefault(memory.scope, []).append((entity.id, memory.id))
    met.save()
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
) -> None:
    """Link a turn to the person who said it."""
    link(tx, memory, [_speaker(memory)], at=at)


def _speaker(memory: Memory) -> EntityMatch:
    return EntityMatch(memory.author, "person", NOWHERE, NOWHERE, 1.0, memory.author)


def _create_or_get(
    met: Met,
    memory: Memory,
    found: EntityMatch,
    *,
    at: Micros,
) -> Entity:
    name = _written(found.name)
    known = met.known(memory.scope, fold(name), found.type)
    entity = _typed(known, found.type) or _new_entity(
        met,
        memory.scope,
        name,
        found.type,
        at=at,
    )
    if _storable(found.raw):
        entity = _also_called(entity, [_written(found.raw)])
    if entity is not known:
        met.keep(entity)
    return entity


def _typed(entity: Entity | None, type: str) -> Entity | None:
    """The entity with a type that was not known before."""
    if entity is not None and entity.type == "other":
        return replace(entity, type=type)
    return entity


def _new_entity(
    met: Met,
    scope: Scope,
    name: str,
    type: str,
    *,
    at: Micros,
) -> Entity:
    """A new entity with an id derived from its name, so that synchronised stores agree on it.

    A renamed entity keeps its id; the next entity with the old name then gets a random one.
    """
    derived = _derived_id(fold(name), type)
    id_ = derived if met.is_free(scope, derived) else new_id("ent", at)
    return Entity(id_, scope, name, type, at)


def _derived_id(folded: str, type: str) -> str:
    told = hashlib.blake2b(f"{type}\n{folded}".encode(), digest_size=10).hexdigest()
    return f"ent_{told}"


def _registered(found: EntityMatch) -> bool:
    return found.type in REGISTERED and _storable(found.name)


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
    longest_first = sorted(owners, key=len, reverse=True)
    named = re.compile("|".join(map(whole, longest_first)))
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
