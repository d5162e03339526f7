"""Erasing for good: a memory, a session or an owner, from every place there is, with a receipt.

Truth goes in one transaction: the rows, what was made of them, and each word of theirs in the
journal. The same transaction leaves a job, so that a crash right after it is made good by any
worker. Then the files are scrubbed, which can be repeated at any time. A plan is that very
transaction, taken back before its end, so it cannot differ.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..errors import HoldfastError, InvalidInput, NotFound, StoreBusy, StoreError
from ..extraction.job_types import LEASE, Kind, Output, Task, worker_name
from ..storage.protocol import WAIT, Author, ErasureTarget, Filter, Places, Store, Writer, rests_on
from ..storage.schema import entity_names, fold_text
from ..storage.scrub import session_entry
from ..text.tokens import query_terms
from ..types import STATUSES, SUMMARY, Entity, Memories, Memory, Scope, Session, new_id
from .derived import ALONE, NAMED, Fallout, Going, Kept, fallout
from .receipt import Item, Receipt, seal

SCRUB_KIND = "scrub"
SCRUB_KEY = "files"
ERASED = "(erased)"
LONG_ENOUGH = (
    12  # bytes: a shorter text, such as 'tea', is looked for only where it is all that is said
)
# Of the memories that go, for which others with the same words are looked for.
LOOKED_AT = 50
SAME_WORDS = "says the same words"
IN_SESSION = "said in the session"
NAME_STAYS = (
    "The name {scope} stays with one entry of the journal that says all of it was erased, so that "
    "a store that is kept "
    "equal to this one erases it as well."
)
RETRY = 60_000_000

ROWS = (
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
class Target:
    """What is to be erased: memories by id, one session, or everything of one owner. Exactly one of
    them.
    """

    refs: tuple[str | int, ...] = ()
    session: str | None = None
    owner: bool = False
    sources: bool = False
    """Whether what the named memories were made of, the words they rest on, goes as well."""

    def __post_init__(self) -> None:
        if (bool(self.refs), self.session is not None, self.owner).count(True) != 1:
            raise InvalidInput(
                "Say what to erase: ids of memories, or a session, or the owner. Nothing was "
                "erased."
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """What an erasure takes away, what is made again, and what stays near it. Nothing was
    changed.
    """

    scope: Scope
    counts: Mapping[str, int]
    going: tuple[Going, ...] = ()
    again: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()


@dataclass(frozen=True, slots=True)
class _Erased:
    """What one transaction took away."""

    scope: Scope
    counts: Mapping[str, int]
    items: tuple[Item, ...]
    fallout: Fallout
    again: tuple[str, ...]


class _Rehearsed(Exception):
    """The end of a rehearsal: whatever was done is taken back."""

    def __init__(self, erased: _Erased) -> None:
        super().__init__()
        self.erased = erased


def plan(store: Store, scopes: Sequence[Scope], target: Target, author: Author) -> Plan:
    """What `erase` would do now."""

    def rehearse(writer: Writer) -> None:
        raise _Rehearsed(_work(writer, scopes, target, author, nonce=""))

    try:
        store.write(author, rehearse)
    except _Rehearsed as rehearsed:
        done = rehearsed.erased
        kept = (*done.fallout.kept, *_same_words(store, done.fallout))
        return Plan(done.scope, done.counts, done.fallout.going, done.again, kept)
    raise AssertionError("a rehearsal always ends by an exception")


def erase(
    store: Store, scopes: Sequence[Scope], target: Target, author: Author, *, wait: float = WAIT
) -> Receipt:
    """Erases, cleans up behind it, and says what was done. NotFound when there is nothing of that
    name.
    """
    nonce = secrets.token_hex(16)
    done = store.write(author, lambda writer: _work(writer, scopes, target, author, nonce=nonce))
    kept = (*done.fallout.kept, *_same_words(store, done.fallout))
    places = [
        *(ErasureTarget(name, "clean") for name in ROWS),
        *finish(store, done.scope, author, wait=wait),
    ]
    if target.owner:
        places.append(ErasureTarget("owner's name", "beyond", NAME_STAYS.format(scope=done.scope)))
    return Receipt(
        id=new_id("receipt", author.at),
        at=author.at,
        actor=author.actor,
        run=author.run,
        store=store.location,
        scope=str(done.scope),
        nonce=nonce,
        counts=done.counts,
        items=done.items,
        places=tuple(places),
        again=done.again,
        kept={one.memory.id: one.why for one in kept},
    )


def finish(store: Store, scope: Scope, author: Author, *, wait: float = WAIT) -> Places:
    """Cleans up what erasing left behind in files; the job that stands for it is done when
    everything is clean.
    """
    job = store.claim(
        [SCRUB_KIND],
        keys=[SCRUB_KEY],
        scopes=[scope],
        worker=worker_name(),
        now=author.at,
        lease=LEASE,
    )
    try:
        places = store.scrub(wait=wait)
    except StoreError as error:
        # The rows are gone; that cleaning up failed must not look as if they were not.
        places = [ErasureTarget("files", "pending", f"{error} Run `holdfast purge --finish`.")]
    waiting = [place for place in places if place.state == "pending"]
    if job is not None:
        # The receipt says it, and whoever works next tries again.
        with suppress(HoldfastError):
            if waiting:
                store.fail(job, error=waiting[0].detail, retry_at=author.at + RETRY)
            else:
                store.write(author, lambda writer: writer.finish(job))
    return places


# One transaction


def _work(
    writer: Writer, scopes: Sequence[Scope], target: Target, author: Author, *, nonce: str
) -> _Erased:
    if target.owner:
        return _everything(writer, scopes[0], author, nonce)
    of_session = target.session is not None
    named = list(
        _of_session(writer, scopes[0], target) if of_session else _by_ref(writer, scopes, target)
    )
    scope = named[0].memory.scope if named else scopes[0]
    found = fallout(writer, named)
    if elsewhere := list(
        _made_elsewhere(writer, scopes, [one.memory for one in found.going], target.session)
    ):
        found = fallout(writer, [*named, *elsewhere])
    going = [one.memory for one in found.going]
    going += [left for one in going for left in _left_behind(writer, scopes, one)]
    items = [Item("memory", one.id, seal(nonce, one.content)) for one in going]
    again = _read_again(writer, found)
    _purge_memories(writer, going)
    if target.session is not None:
        items += _purge_session(writer, scope, target.session, nonce)
    for place in dict.fromkeys(one.scope for one in going):
        writer.redact(place, instead([one for one in going if one.scope == place]))
    writer.enqueue(scope, SCRUB_KIND, SCRUB_KEY, watermark=author.at)
    return _Erased(scope, _told(writer), tuple(items), found, again)


def _everything(writer: Writer, scope: Scope, author: Author, nonce: str) -> _Erased:
    items = tuple(Item(noun, id_, seal(nonce, text)) for noun, id_, text in writer.contents(scope))
    writer.purge_scope(scope)
    if not +writer.erased:
        raise NotFound(f"There is nothing of {scope} here.", id=str(scope))
    writer.enqueue(scope, SCRUB_KIND, SCRUB_KEY, watermark=author.at)
    return _Erased(scope, _told(writer), items, Fallout((), (), ()), ())


def _told(writer: Writer) -> dict[str, int]:
    return {name: count for name, count in sorted(writer.erased.items()) if count}


def _by_ref(writer: Writer, scopes: Sequence[Scope], target: Target) -> Iterator[Going]:
    seen: set[str] = set()
    for ref in target.refs:
        memory = _found(writer, scopes, ref)
        for one in (memory, *(_all_sources(writer, memory) if target.sources else ())):
            if one.id not in seen:
                seen.add(one.id)
                yield Going(one, NAMED)


def _found(writer: Writer, scopes: Sequence[Scope], ref: str | int) -> Memory:
    for scope in scopes:
        memory = writer.memory(scope, ref) or (
            writer.removed(scope, ref) if isinstance(ref, str) else None
        )
        if memory is not None:
            return memory
    raise NotFound(
        f"No memory {ref!r} in {', '.join(map(str, scopes))}. Nothing was erased.", id=ref
    )


def _left_behind(writer: Writer, scopes: Sequence[Scope], memory: Memory) -> Iterator[Memory]:
    """What the journals of other scopes keep of a memory that was moved from there."""
    for scope in scopes:
        if scope != memory.scope and writer.memory(scope, memory.id) is None:
            left = writer.removed(scope, memory.id)
            if left is not None:
                yield left


def _all_sources(writer: Writer, memory: Memory) -> Iterator[Memory]:
    for id_ in rests_on(writer, memory):
        source = writer.memory(memory.scope, id_)
        if source is not None:
            yield source
            yield from _all_sources(writer, source)


def _of_session(writer: Writer, scope: Scope, target: Target) -> Iterator[Going]:
    assert target.session is not None
    members = writer.of_session(scope, target.session)
    if not members and writer.session(scope, target.session) is None:
        raise NotFound(
            f"No session {target.session!r} in {scope}. Nothing was erased.", id=target.session
        )
    for memory in members:
        if memory.session == target.session:
            yield Going(memory, IN_SESSION)
        elif not any(edge.source == memory.id for edge in writer.edges(scope, memory.id)):
            # It names the session and nothing else that it could rest on.
            yield Going(memory, ALONE)


def _made_elsewhere(
    writer: Writer, scopes: Sequence[Scope], going: Memories, session: str | None
) -> Iterator[Going]:
    """Records in other scopes that were made of what goes: no link leads there, but they name the
    session and quote it.

    So a preference that a project's session taught, and that is kept for all projects, goes with
    the session.
    """
    said: dict[tuple[Scope, str], str] = {}
    for one in going:
        if one.session:
            said[one.scope, one.session] = (
                said.get((one.scope, one.session), "") + f"\n{fold_text(one.content)}"
            )
    for (home, name), words in said.items():
        for scope in scopes:
            for record in writer.of_session(scope, name) if scope != home else ():
                quoted = bool(record.quote) and fold_text(record.quote) in words
                if record.session != name and (quoted or name == session):
                    yield Going(record, ALONE)


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
    writer.redact(scope, {session_entry(session): session_entry(ERASED)})
    return items


def instead(memories: Sequence[Memory]) -> dict[str, str]:
    """What to write where words of these memories are quoted; short ones count only where nothing
    else is said.
    """
    found: dict[str, str] = {}
    for memory in memories:
        for text in filter(None, (memory.content, memory.quote, memory.title)):
            written = json.dumps(text, ensure_ascii=False)
            if len(text.encode("utf-8", "surrogatepass")) >= LONG_ENOUGH:
                found[written[1:-1]] = ERASED
            else:
                found[written] = f'"{ERASED}"'
    return found


def _is_read(writer: Writer, session: Session) -> bool:
    return writer.progress(session.scope, session.id, SUMMARY) is not None


def _read_again(writer: Writer, found: Fallout) -> tuple[str, ...]:
    """Marks what is left of the sources of a summary that goes as unread, so that its pipeline
    makes a new one.
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


# What stays and says the same


def _same_words(store: Store, found: Fallout) -> Iterator[Kept]:
    """Other memories that contain the text of one that goes, whoever said it."""
    known = {one.memory.id for one in found.going} | {one.memory.id for one in found.kept}
    for going in found.going[:LOOKED_AT]:
        text = fold_text(going.memory.content)
        where = Filter((going.memory.scope,), statuses=STATUSES)
        ranked = store.by_text(where, query_terms(going.memory.content), 20)
        for memory in store.get((going.memory.scope,), [seq for seq, _ in ranked]):
            if memory.id not in known and text in fold_text(memory.content):
                known.add(memory.id)
                yield Kept(memory, SAME_WORDS)


# The job


def _run(task: Task) -> Output | None:
    waiting = [place for place in task.worker.store.scrub() if place.state == "pending"]
    if waiting:
        raise StoreBusy(waiting[0].detail)
    return None


SCRUB = Kind(SCRUB_KIND, due=lambda worker: (), run=_run)
"""One job for each scope in which something was erased and files may still hold it; the erasure
itself leaves it.
"""
