"""Two stores kept equal: each takes in what the journal of the other says since they last met.

A store reads the other's journal in steps from where it stopped. What a step brings and how far it
got are one transaction, so a sync that was cut off anywhere goes on from there, and one with
nothing new reads the end of two journals. What was erased goes ahead of all else: no word of it may
travel back. Rows, and who wins where both sides changed one, are the business of storage/merge.py;
what stays for this file is what rows mean:

    the same fact said on both sides            kept once: the older stands, the other is retired and linked
    two corrections of one fact                 both stand, linked as being in conflict
    a fact and one that cannot be true with it  both stand, linked as being in conflict

Vectors do not travel: they are made where they are needed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..erasure.cleanup import enqueue_cleanup, finish
from ..erasure.quotations import redact_quotations
from ..errors import InvalidInput, StoreError
from ..extraction.reconcile import contradiction
from ..extraction.similarity.known_memories import sharing_words
from ..ingest import commit
from ..ingest.commit import kept_once
from ..storage import open_store
from ..storage.connect import check_place, is_server, location_of, shown
from ..storage.duplicates import same_content
from ..storage.merge import Lineage
from ..storage.mtime import UNSURE
from ..storage.peer import SYNC, WHOLE_SCOPE, referents
from ..storage.protocol import BEHIND, Adopted, Author, Filter, Met, Store, T, Transaction
from ..storage.schema import to_json
from ..storage.sqlite.connection import status
from ..types import DAY, Clock, Edge, Memory, Message, Micros, Scope, new_id

log = logging.getLogger(__name__)

STEP = 500  # journal entries of one transaction
# memories that a fact which arrives is compared with: what contradicts it shares most words with it
NEAR = 10
# Messages leave no word in the journal, so sessions that were active since the last time are looked
# at; by so much earlier as the clocks of two machines may be apart.
SLACK: Micros = DAY
IN_CONFLICT = "changed in two places"
Progress = Callable[[int], None]


@dataclass(slots=True)
class Synced:
    """What a sync did, or would do: things that came, and things that went, by noun."""

    location: str
    scopes: tuple[Scope, ...]
    received: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    """Ids of memories that contradict each other and stand side by side from now on."""
    left_out: list[str] = field(default_factory=list)
    """What did not travel, because it cannot be read in the store that has it, or into which it was
    to come.
    """

    @property
    def nothing(self) -> bool:
        """Whether both were equal before."""
        return not (self.received or self.sent)


@dataclass(frozen=True, slots=True)
class _Step:
    """A piece of a journal: what it is about, and up to where it goes."""

    lineages: Sequence[Lineage]
    sessions: Sequence[str]
    sync_position: Met
    entries: int


@dataclass(slots=True)
class _Side:
    """One of the two stores, in one scope, and how the other calls it there."""

    store: Store
    scope: Scope
    name: str
    count: Counter[str]
    scrub: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Who syncs, by which clock, and who hears how far it is."""

    actor: str
    clock: Clock
    progress: Progress = lambda entries: None
    step: int = STEP

    def write(self, store: Store, work: Callable[[Transaction], T]) -> T:
        """One transaction."""
        return store.write(self.author(), work)

    def author(self) -> Author:
        """Who writes, in a run of its own."""
        at = self.clock()
        return Author(self.actor, new_id("run", at), at, SYNC)


def sync(ours: Store, theirs: Store, scopes: Sequence[Scope], run: Run) -> Synced:
    """Makes these scopes equal in both stores, whatever was written to either of them since they
    last met.

    It can be stopped anywhere and repeated. What either side writes meanwhile travels the next
    time.
    """
    done = Synced(theirs.location, tuple(scopes))
    for scope in scopes:
        here, there = _sides(ours, theirs, scope, done, run)
        _exchange_erasures(here, there, run)
        # What comes in makes the journal longer, which the other side has to read as well: until
        # there is no more.
        while _pull(there, here, done, run) + _pull(here, there, done, run):
            pass
        for side in (here, there):
            if side.scrub:
                finish(side.store, scope, run.author())
    _note_damage(ours, theirs, done)
    return done


def _note_damage(ours: Store, theirs: Store, done: Synced) -> None:
    for store in (ours, theirs):
        done.left_out += [
            f"{damage} (in {shown(store.location)})" for damage in store.damaged(done.scopes)
        ]


def plan(ours: Store, theirs: Store, scopes: Sequence[Scope], run: Run) -> Synced:
    """What `sync` would do, found out without changing anything."""
    done = Synced(theirs.location, tuple(scopes))
    for scope in scopes:
        here, there = _sides(ours, theirs, scope, done, run)
        for source, target in ((there, here), (here, there)):
            met = _met(target, source, run)
            seen: set[tuple[str, str]] = set()
            while (step := _read(source, met, run)).entries:
                news = run.write(target.store, partial(_news, scope, step.lineages))
                target.count.update(noun for noun, _ in news - seen)
                seen |= news
                met = step.sync_position
                run.progress(step.entries)
    _note_damage(ours, theirs, done)
    return done


def _news(scope: Scope, lineages: Sequence[Lineage], tx: Transaction) -> set[tuple[str, str]]:
    return {(one.noun, one.target) for one in tx.replication.pending(scope, lineages)}


def _sides(ours: Store, theirs: Store, scope: Scope, done: Synced, run: Run) -> tuple[_Side, _Side]:
    here = _Side(ours, scope, _name(ours, scope, run), done.received)
    return here, _Side(theirs, scope, _name(theirs, scope, run), done.sent)


def _name(store: Store, scope: Scope, run: Run) -> str:
    return run.write(store, lambda tx: tx.replication.replica_id(scope)) or new_id(
        "store", run.clock()
    )


def _met(target: _Side, source: _Side, run: Run) -> Met:
    """How far the target has read the source's journal; from the beginning if that is not the
    journal it knew.

    A file may have been put back from a backup, or be a copy that went its own way under the same
    name.
    """
    met = run.write(target.store, lambda tx: tx.replication.position(target.scope, source.name))
    if not met.seq:
        return met
    last = run.write(
        source.store,
        lambda tx: tx.events([source.scope], after=met.seq - 1, limit=1, order="oldest"),
    )
    return met if [(event.seq, event.run) for event in last] == [(met.seq, met.run)] else Met()


# What was erased


def _exchange_erasures(here: _Side, there: _Side, run: Run) -> None:
    """Erases on both sides what was erased on either, before anything else is exchanged."""
    for source, target in ((there, here), (here, there)):
        found = run.write(
            source.store, partial(_erased, source.scope, _met(target, source, run).seq)
        )
        for start in range(0, len(found), run.step):
            some = found[start : start + run.step]
            done = run.write(target.store, partial(_adopt, target.scope, some, run.clock()))
            target.count.update(done.count)
            target.scrub = target.scrub or bool(done.count)


def _erased(scope: Scope, after: int, tx: Transaction) -> list[Lineage]:
    """What was erased behind an entry; whole owners first, for what is left of one is newer than
    its erasure.
    """
    found = tx.replication.lineages(scope, tx.replication.purges(scope, after=after))
    whole = [one for one in found if (one.noun, one.target) == WHOLE_SCOPE]
    return [*whole, *(one for one in found if one.purged and one not in whole)]


def _adopt(scope: Scope, lineages: Sequence[Lineage], at: Micros, tx: Transaction) -> Adopted:
    """Takes lineages in, and erases quotations of what goes by that."""
    done = tx.replication.apply(scope, lineages)
    if done.erased or done.sessions:
        redact_quotations(tx, scope, done.erased, done.sessions)
        enqueue_cleanup(tx, scope, at)
    _leave_files_behind(tx, scope, {target for noun, target in done.things if noun == "memory"})
    return done


def _leave_files_behind(tx: Transaction, scope: Scope, memories: Set[str]) -> None:
    """Notes that the files of these memories say what they said before: whoever follows them next
    writes to them.
    """
    for mark in tx.files.list(scope, "") if memories else ():
        files = [one for one in tx.files.list(scope, mark.path) if one.memory in memories]
        behind = [one for one in files if not one.hash.startswith(BEHIND)]
        if behind:
            tx.files.put(
                scope, [one._replace(mtime=UNSURE, hash=BEHIND + one.hash) for one in behind]
            )


# What was changed


def _pull(source: _Side, target: _Side, done: Synced, run: Run) -> int:
    """Lets the target take in what the source's journal says behind the last entry it has read; how
    many entries.
    """
    entries = 0
    compare = _knows_more(target, source, run)
    met = _met(target, source, run)
    recent = _recent(source, met)
    while True:
        step = _read(source, met, run)
        talks = _talks(source, target, {*step.sessions, *recent})
        if not step.entries and not talks:
            return entries
        twins = _contradicted(source, target, step.lineages) if compare else {}
        entries += step.entries + _take(source, target, step, talks, twins, done, run)
        met = step.sync_position
        recent = []
        run.progress(step.entries)


def _knows_more(side: _Side, other: _Side, run: Run) -> bool:
    """Whether a side may know something that the other has not read: only then can what arrives
    contradict it.
    """
    read = _met(other, side, run).seq
    return bool(
        run.write(
            side.store, lambda tx: tx.events([side.scope], after=read, limit=1, order="oldest")
        )
    )


def _read(source: _Side, met: Met, run: Run) -> _Step:
    """The next entries of a journal, and all that is known of what they are about, as of one
    moment.
    """
    now = run.clock()

    def work(tx: Transaction) -> _Step:
        tail = tx.events([source.scope], after=met.seq, limit=run.step, order="oldest")
        things = dict.fromkeys((event.noun, event.target) for event in tail)
        lineages = tx.replication.lineages(source.scope, things)
        ends = {thing for one in lineages for thing in referents(one)} - things.keys()
        lineages += tx.replication.lineages(source.scope, sorted(ends))
        sessions = [
            str(one.key[0]) for one in lineages if one.noun == "session" and one.row is not None
        ]
        last = Met(tail[-1].seq, tail[-1].run, now) if tail else Met(met.seq, met.run, now)
        return _Step(lineages, sessions, last, len(tail))

    return run.write(source.store, work)


def _recent(source: _Side, met: Met) -> list[str]:
    """Sessions that may have got messages since the last time; a new one is in the journal."""
    if met.at is None:
        return []
    return [
        one.id for one in source.store.sessions.list([source.scope], active_since=met.at - SLACK)
    ]


def _talks(source: _Side, target: _Side, sessions: set[str]) -> dict[str, Sequence[Message]]:
    """The messages of those of these sessions whose record is not the same on both sides."""
    ends = [_ends(side.store, side.scope, sorted(sessions)) for side in (source, target)]
    return {
        session: source.store.sessions.messages(source.scope, session)
        for session, end in ends[0].items()
        if ends[1].get(session) != end
    }


def _ends(
    store: Store, scope: Scope, sessions: Sequence[str]
) -> dict[str, tuple[int, Micros, object]]:
    """How many messages each session has, and the last of them: equal ends, equal records."""
    ends: dict[str, tuple[int, Micros, object]] = {}
    for session, count in store.sessions.message_counts(scope, sessions).items():
        for last in store.sessions.messages(scope, session, last=1):
            ends[session] = count, last.created_at, last.body
    return ends


def _take(
    source: _Side,
    target: _Side,
    step: _Step,
    talks: Mapping[str, Sequence[Message]],
    twins: Mapping[str, Sequence[str]],
    done: Synced,
    run: Run,
) -> int:
    """Puts one step into the target, all of it or nothing; how many sessions got messages by it."""

    def work(tx: Transaction) -> tuple[Adopted, list[tuple[str, str]]]:
        adopted = _adopt(target.scope, step.lineages, run.clock(), tx)
        _release(tx, target.scope, adopted, at=run.clock())
        for session, messages in talks.items():
            # Messages alone leave no word in the journal, and a third store follows nothing else.
            unsaid = ("session", to_json([session])) not in adopted.things
            adopted.count["message"] += tx.replication.take_messages(
                target.scope, session, messages, journal=unsaid
            )
        at = run.clock()
        _keep_once(tx, target.scope, adopted.memories, at=at)
        pairs = [
            *_two_corrections(tx, target.scope, adopted.edges),
            *_active(tx, target.scope, twins),
        ]
        conflicts = [pair for pair in pairs if _link(tx, target.scope, *pair, at=at)]
        tx.replication.set_position(target.scope, source.name, step.sync_position, own=target.name)
        return adopted, conflicts

    adopted, conflicts = run.write(target.store, work)
    target.count.update(+adopted.count)
    target.scrub = target.scrub or bool(adopted.erased)
    done.conflicts += conflicts
    return adopted.count["message"]


# What rows mean


def _release(tx: Transaction, scope: Scope, adopted: Adopted, *, at: Micros) -> None:
    """Gives memories that were damaged elsewhere, and are sound here, the status back that they
    had.

    The entry that says so travels back with the sound row, and so the damaged one is healed.
    """
    for lineage in tx.replication.lineages(
        scope, sorted(one for one in adopted.things if one[0] == "memory")
    ):
        memory = tx.memory(scope, lineage.target) if lineage.aside else None
        if memory is None or not tx.replication.is_sound(memory):
            continue
        put_aside = next(
            event for event in reversed(lineage.events) if "status" in (event.after or ())
        )
        before = {"status": "active", "status_reason": ""} | dict(put_aside.before or {})
        tx.change(
            memory,
            status=before["status"],
            status_reason=before["status_reason"],
            status_at=at,
            updated_at=at,
        )


def _keep_once(tx: Transaction, scope: Scope, ids: Sequence[str], *, at: Micros) -> None:
    """Retires what says the same as another memory word for word: the younger, unless a person
    confirmed it.
    """
    arrived = [
        memory for id_ in ids if (memory := tx.memory(scope, id_)) and memory.status == "active"
    ]
    twins = same_content(tx, [memory for memory in arrived if kept_once(memory)])
    for memory in arrived:
        twin = twins.get(memory.id)
        if twin is None or twin.id == memory.id:
            continue
        first, second = sorted(
            (memory, twin), key=lambda one: (not one.protected, one.created_at, one.id)
        )
        commit.set_status(tx, second, "superseded", at=at, reason=f"says the same as {first.id}")
        tx.link(Edge(scope, first.id, second.id, "supersedes", at))


def _two_corrections(
    tx: Transaction, scope: Scope, edges: Sequence[tuple[str, str, str]]
) -> Iterator[tuple[str, str]]:
    """Pairs of active memories that both took the place of one."""
    for source, target, relation in edges:
        if relation != "supersedes":
            continue
        for other in tx.edges(scope, target):
            if other.relation == relation and other.target == target and other.source != source:
                yield from _active(tx, scope, {source: [other.source]})


def _active(
    tx: Transaction, scope: Scope, pairs: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Those of these pairs of memories of which both are recalled."""
    for one, others in pairs.items():
        for other in others:
            both = [memory for id_ in (one, other) if (memory := tx.memory(scope, id_))]
            if [memory.status for memory in both] == ["active", "active"]:
                later, earlier = sorted(
                    both, key=lambda memory: (memory.created_at, memory.id), reverse=True
                )
                yield later.id, earlier.id


def _link(tx: Transaction, scope: Scope, later: str, earlier: str, *, at: Micros) -> bool:
    """Marks two memories as contradicting each other; whether they were not."""
    if any({edge.source, edge.target} == {later, earlier} for edge in tx.edges(scope, later)):
        return False
    tx.link(Edge(scope, later, earlier, "conflicts_with", at, IN_CONFLICT))
    return True


def _contradicted(
    source: _Side, target: _Side, lineages: Sequence[Lineage]
) -> dict[str, list[str]]:
    """The facts that arrive, each with those here that cannot be true with it and of which the
    source knows nothing.
    """
    arriving = [
        one.target
        for one in lineages
        if one.noun == "memory" and one.row and one.row["kind"] == "fact"
    ]
    known = {memory.id for memory in target.store.get([target.scope], arriving)}
    facts = source.store.get([source.scope], [id_ for id_ in arriving if id_ not in known])
    found = {}
    for fact in facts:
        near = _near(target, fact)
        shared = {
            memory.id for memory in source.store.get([source.scope], [old.id for old in near])
        }
        others = [old.id for old in near if old.id not in shared and contradiction(fact, old)]
        if others:
            found[fact.id] = sorted(others)
    return found


def _near(side: _Side, fact: Memory) -> list[Memory]:
    where = Filter((side.scope,), kinds=("fact",))
    return sharing_words(side.store, where, fact.content, limit=NEAR)


# The other store


def sync_with(
    ours: Store, place: str | Path, scopes: Sequence[Scope], run: Run, *, only_plan: bool = False
) -> Synced:
    """Syncs, or plans to, with the store at a path or a URL."""
    if not str(place):
        raise InvalidInput(
            "Say with which store to sync: a path or a postgresql:// URL, or set sync_with to one."
        )
    with other_store(place, ours, clock=run.clock, only_look=only_plan) as theirs:
        done = (plan if only_plan else sync)(ours, theirs, scopes, run)
        if only_plan:
            # Of one that is not there yet, an empty one in memory stood for it.
            done.location = location_of(place)
        else:
            _note(ours, place, scopes, "", run)
        return done


def sync_ignoring_errors(
    ours: Store, place: str, scopes: Sequence[Scope], run: Run
) -> Synced | None:
    """Syncs, and never raises: what went wrong is logged, and kept where `failures` finds it."""
    try:
        return sync_with(ours, place, scopes, run)
    except (
        Exception
    ) as error:  # a host that closes its memory must not fail because another machine is away
        log.warning("not synced with %s: %s", shown(place), error)
        with suppress(Exception):
            _note(ours, place, scopes, f"{error}" or type(error).__name__, run)
        return None


def failures(store: Store, scopes: Sequence[Scope]) -> dict[str, str]:
    """Places that scopes could not be kept equal with the last time it was tried, and why."""
    return {
        f"{SYNC} {job.key}": job.error
        for job in store.jobs.list(scopes)
        if job.kind == SYNC and job.error
    }


def _note(store: Store, place: str | Path, scopes: Sequence[Scope], error: str, run: Run) -> None:
    noted = {
        job.scope for job in store.jobs.list(scopes) if (job.kind, job.key) == (SYNC, shown(place))
    }

    def work(tx: Transaction) -> None:
        for scope in scopes if error else noted:
            tx.replication.note_error(scope, shown(place), error)

    if error or noted:
        run.write(store, work)


@contextmanager
def other_store(
    place: str | Path, ours: Store, *, clock: Clock, only_look: bool = False
) -> Iterator[Store]:
    """The store to sync with, open. InvalidInput when it is none, or our own; StoreError when its
    tables are older.

    A file that is not there is made, unless one `only_look`s.
    """
    check_place(place)
    if not is_server(place):
        file = Path(place).expanduser().absolute()
        if str(file.resolve()) == str(Path(ours.location).resolve()):
            raise InvalidInput(f"{file} is the store itself. Name another one to sync with.")
        _refuse_older(file)
        place = ":memory:" if only_look and not file.exists() else file
    store = open_store(place, clock=clock)
    try:
        if store.location == ours.location != ":memory:":
            raise InvalidInput(
                f"{shown(store.location)} is the store itself. Name another one to sync with."
            )
        yield store
    finally:
        store.close()


def _refuse_older(file: Path) -> None:
    """A file that an older version still uses must not change its tables because somebody else
    syncs with it.
    """
    if not file.is_file() or not file.stat().st_size:
        return
    found = status(file)
    if found.pending and found.version:
        raise StoreError(
            f"{file} has the tables of an older Holdfast (schema {found.version}). Nothing was "
            "synced. Bring it up to "
            f"date with `holdfast store migrate {file}`."
        )
