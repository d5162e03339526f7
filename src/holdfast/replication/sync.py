"""Two-way sync of two stores: each applies the journal entries of the other since their last sync.

A store reads the other's journal in steps from its last position. The changes of a step and the new
position are one transaction, so an interrupted sync resumes there, and a sync without news reads
only the end of two journals. Erasures go first: no erased text may travel back. storage/merge.py
decides which side of a changed row wins, and conflicts.py what two changed rows mean together.

Vectors are not transferred: each store computes its own.
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
from ..storage import open_store
from ..storage.connect import check_place, is_server, location_of, shown
from ..storage.merge import Lineage
from ..storage.mtime import UNSURE
from ..storage.peer import SYNC, WHOLE_SCOPE, referents
from ..storage.protocol import Store, T, Transaction
from ..storage.row_codec import to_json
from ..storage.sqlite.connection import form_of, status
from ..storage.sqlite.encryption import read_key
from ..storage.store_types import BEHIND, Adopted, Author, Met
from ..types import DAY, Clock, Message, Micros, Scope, new_id
from .conflicts import contradicted, keep_once, link_conflicts

log = logging.getLogger(__name__)

# Journal entries per transaction.
STEP = 500
# Messages are not in the journal, so sessions active since the last sync are compared; the margin
# allows for clock differences between two machines.
SLACK: Micros = DAY
Progress = Callable[[int, int], None]
"""Called with the journal entries read so far, and about how many there are to read."""


@dataclass(slots=True)
class Synced:
    """Result or plan of a sync: items received and sent, by type."""

    location: str
    scopes: tuple[Scope, ...]
    received: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    """Ids of memories that contradict each other and are now linked as conflicts."""
    left_out: list[str] = field(default_factory=list)
    """Rows that were not transferred because they are unreadable in one of the stores."""

    @property
    def nothing(self) -> bool:
        """Whether both stores were equal before."""
        return not (self.received or self.sent)


@dataclass(frozen=True, slots=True)
class _Step:
    """A slice of a journal: its changes, and the position of its end."""

    lineages: Sequence[Lineage]
    sessions: Sequence[str]
    sync_position: Met
    entries: int


@dataclass(slots=True)
class _Side:
    """One of the two stores, in one scope, with the other's replica id."""

    store: Store
    scope: Scope
    name: str
    count: Counter[str]
    scrub: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Actor, clock and progress callback of a sync, and the key of the other store if it is a
    file.
    """

    actor: str
    clock: Clock
    progress: Progress = lambda read, total: None
    step: int = STEP
    key_file: str = ""
    counted: Counter[str] = field(default_factory=Counter)
    """Entries that were read, and that are to be read."""

    def expect(self, entries: int) -> None:
        """Count entries that are to be read."""
        self.counted["total"] += entries

    def read(self, entries: int) -> None:
        """Report entries that were read."""
        self.counted["read"] += entries
        # Others may have written meanwhile.
        self.counted["total"] = max(self.counted["total"], self.counted["read"])
        self.progress(self.counted["read"], self.counted["total"])

    def write(self, store: Store, work: Callable[[Transaction], T]) -> T:
        """Run work in one transaction."""
        return store.write(self.author(), work)

    def author(self) -> Author:
        """Author for a new run."""
        at = self.clock()
        return Author(self.actor, new_id("run", at), at, SYNC)


def sync(
    ours: Store,
    theirs: Store,
    scopes: Sequence[Scope],
    run: Run,
) -> Synced:
    """Sync these scopes of both stores.

    Idempotent, and safe to interrupt. Writes that happen meanwhile travel with the next sync.
    """
    done = Synced(theirs.location, tuple(scopes))
    sides = [_sides(ours, theirs, scope, done, run) for scope in scopes]
    for here, there in sides:
        # An entry is read once by the other side, and once more on its way back.
        run.expect(2 * (_ahead(there, here, run) + _ahead(here, there, run)))
    for here, there in sides:
        _exchange_erasures(here, there, run)
        # Applied changes extend the journal that the other side reads: repeat until nothing is new.
        while _pull(there, here, done, run) + _pull(here, there, done, run):
            pass
        for side in (here, there):
            if side.scrub:
                finish(side.store, side.scope, run.author())
    _note_damage(ours, theirs, done)
    return done


def _note_damage(
    ours: Store,
    theirs: Store,
    done: Synced,
) -> None:
    for store in (ours, theirs):
        done.left_out += [
            f"{damage} (in {shown(store.location)})" for damage in store.damaged(done.scopes)
        ]


def plan(
    ours: Store,
    theirs: Store,
    scopes: Sequence[Scope],
    run: Run,
) -> Synced:
    """Return what `sync` would do. Read-only."""
    done = Synced(theirs.location, tuple(scopes))
    sides = [_sides(ours, theirs, scope, done, run) for scope in scopes]
    for here, there in sides:
        run.expect(_ahead(there, here, run) + _ahead(here, there, run))
    for here, there in sides:
        for source, target in ((there, here), (here, there)):
            met = _met(target, source, run)
            seen: set[tuple[str, str]] = set()
            while (step := _read(source, met, run)).entries:
                news = run.write(target.store, partial(_news, source.scope, step.lineages))
                # A row may change in several steps; count it once.
                target.count.update(noun for noun, _ in news - seen)
                seen |= news
                met = step.sync_position
                run.read(step.entries)
    _note_damage(ours, theirs, done)
    return done


def _news(
    scope: Scope,
    lineages: Sequence[Lineage],
    tx: Transaction,
) -> set[tuple[str, str]]:
    return {(one.noun, one.target) for one in tx.replication.pending(scope, lineages)}


def _sides(
    ours: Store,
    theirs: Store,
    scope: Scope,
    done: Synced,
    run: Run,
) -> tuple[_Side, _Side]:
    here = _Side(ours, scope, _name(ours, scope, run), done.received)
    return here, _Side(theirs, scope, _name(theirs, scope, run), done.sent)


def _name(
    store: Store,
    scope: Scope,
    run: Run,
) -> str:
    return run.write(store, lambda tx: tx.replication.replica_id(scope)) or new_id(
        "store", run.clock()
    )


def _met(
    target: _Side,
    source: _Side,
    run: Run,
) -> Met:
    """Position up to which the target has read the source's journal; 0 if that is another journal.

    A file may have been restored from a backup, or be a copy that diverged under the same name.
    """
    met = run.write(target.store, lambda tx: tx.replication.position(target.scope, source.name))
    if not met.seq:
        return met
    last = run.write(
        source.store,
        lambda tx: tx.events([source.scope], after=met.seq - 1, limit=1, order="oldest"),
    )
    same_journal = [(event.seq, event.run) for event in last] == [(met.seq, met.run)]
    return met if same_journal else Met()


# Erasures


def _exchange_erasures(
    here: _Side,
    there: _Side,
    run: Run,
) -> None:
    """Apply the erasures of each side to the other, before anything else is exchanged."""
    for source, target in ((there, here), (here, there)):
        after = _met(target, source, run).seq
        found = run.write(source.store, partial(_erased, source.scope, after))
        for start in range(0, len(found), run.step):
            some = found[start : start + run.step]
            done = run.write(target.store, partial(_adopt, target.scope, some, run.clock()))
            target.count.update(done.count)
            target.scrub = target.scrub or bool(done.count)


def _erased(
    scope: Scope,
    after: int,
    tx: Transaction,
) -> list[Lineage]:
    """Erasures after a position. Whole owners go first: what remains of an owner is newer than the
    erasure.
    """
    found = tx.replication.lineages(scope, tx.replication.purges(scope, after=after))
    whole = [one for one in found if (one.noun, one.target) == WHOLE_SCOPE]
    others = [one for one in found if one.purged and one not in whole]
    return whole + others


def _adopt(
    scope: Scope,
    lineages: Sequence[Lineage],
    at: Micros,
    tx: Transaction,
) -> Adopted:
    """Apply lineages and erase quotations of what they remove."""
    done = tx.replication.apply(scope, lineages)
    if done.erased or done.sessions:
        redact_quotations(tx, scope, done.erased, done.sessions)
        enqueue_cleanup(tx, scope, at)
    _leave_files_behind(tx, scope, {target for noun, target in done.things if noun == "memory"})
    return done


def _leave_files_behind(
    tx: Transaction,
    scope: Scope,
    memories: Set[str],
) -> None:
    """Mark the files of these memories as outdated, so that the next file sync rewrites them."""
    if not memories:
        return
    for mark in tx.files.list(scope, ""):
        files = [one for one in tx.files.list(scope, mark.path) if one.memory in memories]
        behind = []
        for one in files:
            if not one.hash.startswith(BEHIND):
                behind.append(one._replace(mtime=UNSURE, hash=BEHIND + one.hash))
        if behind:
            tx.files.put(scope, behind)


# Changes


def _pull(
    source: _Side,
    target: _Side,
    done: Synced,
    run: Run,
) -> int:
    """Apply the source's journal entries after the last position to the target; return their
    number.
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
        twins = (
            contradicted(source.store, target.store, source.scope, step.lineages) if compare else {}
        )
        entries += step.entries + _take(source, target, step, talks, twins, done, run)
        met = step.sync_position
        recent = []
        run.read(step.entries)


def _ahead(
    source: _Side,
    target: _Side,
    run: Run,
) -> int:
    """Number of journal entries of the source that the target has not read."""
    met = _met(target, source, run)
    return run.write(source.store, lambda tx: tx.replication.entries(source.scope, after=met.seq))


def _knows_more(
    side: _Side,
    other: _Side,
    run: Run,
) -> bool:
    """Whether a side may have changes that the other has not read: only then can a contradiction
    arise.
    """
    read = _met(other, side, run).seq
    return bool(
        run.write(
            side.store, lambda tx: tx.events([side.scope], after=read, limit=1, order="oldest")
        )
    )


def _read(
    source: _Side,
    met: Met,
    run: Run,
) -> _Step:
    """Next journal entries and the rows they are about, from one snapshot."""
    now = run.clock()

    def work(tx: Transaction) -> _Step:
        tail = tx.events([source.scope], after=met.seq, limit=run.step, order="oldest")
        things = dict.fromkeys((event.noun, event.target) for event in tail)
        lineages = tx.replication.lineages(source.scope, things)
        # A link needs both of its ends, even if only one of them changed.
        ends: set[tuple[str, str]] = set()
        for one in lineages:
            ends.update(referents(one))
        ends -= things.keys()
        lineages += tx.replication.lineages(source.scope, sorted(ends))
        sessions = []
        for one in lineages:
            if one.noun == "session" and one.row is not None:
                sessions.append(str(one.key[0]))
        last = tail[-1] if tail else met
        return _Step(lineages, sessions, Met(last.seq, last.run, now), len(tail))

    return run.write(source.store, work)


def _recent(source: _Side, met: Met) -> list[str]:
    """Sessions that may have new messages since the last sync; new sessions are in the journal."""
    if met.at is None:
        return []
    return [
        one.id for one in source.store.sessions.list([source.scope], active_since=met.at - SLACK)
    ]


def _talks(
    source: _Side,
    target: _Side,
    sessions: set[str],
) -> dict[str, Sequence[Message]]:
    """Messages of those sessions whose logs differ between the sides."""
    names = sorted(sessions)
    source_ends = _ends(source.store, source.scope, names)
    target_ends = _ends(target.store, target.scope, names)
    differing: dict[str, Sequence[Message]] = {}
    for session, end in source_ends.items():
        if target_ends.get(session) != end:
            differing[session] = source.store.sessions.messages(source.scope, session)
    return differing


def _ends(
    store: Store,
    scope: Scope,
    sessions: Sequence[str],
) -> dict[str, tuple[int, Micros, object]]:
    """Number of messages of each session and the last one: equal ends mean equal logs."""
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
    """Apply one step to the target atomically; return the number of sessions with new messages."""

    def work(tx: Transaction) -> tuple[Adopted, list[tuple[str, str]]]:
        adopted = _adopt(target.scope, step.lineages, run.clock(), tx)
        _release(tx, target.scope, adopted, at=run.clock())
        for session, messages in talks.items():
            # Messages alone leave no journal entry, and a third store follows only the journal.
            unsaid = ("session", to_json([session])) not in adopted.things
            adopted.count["message"] += tx.replication.take_messages(
                target.scope, session, messages, journal=unsaid
            )
        at = run.clock()
        keep_once(tx, target.scope, adopted.memories, at=at)
        conflicts = link_conflicts(tx, target.scope, adopted.edges, twins, at=at)
        tx.replication.set_position(target.scope, source.name, step.sync_position, own=target.name)
        return adopted, conflicts

    adopted, conflicts = run.write(target.store, work)
    target.count.update(+adopted.count)
    target.scrub = target.scrub or bool(adopted.erased)
    done.conflicts += conflicts
    return adopted.count["message"]


def _release(
    tx: Transaction,
    scope: Scope,
    adopted: Adopted,
    *,
    at: Micros,
) -> None:
    """Restore the status of memories that are damaged elsewhere and intact here.

    The entry travels back with the intact row and repairs the damaged one.
    """
    memories = sorted(one for one in adopted.things if one[0] == "memory")
    for lineage in tx.replication.lineages(scope, memories):
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


# The other store


def sync_with(
    ours: Store,
    place: str | Path,
    scopes: Sequence[Scope],
    run: Run,
    *,
    only_plan: bool = False,
) -> Synced:
    """Sync, or plan a sync, with the store at a path or URL."""
    if not str(place):
        raise InvalidInput(
            "Name the store to sync with: a path or a postgresql:// URL, or set sync_with."
        )
    with other_store(place, ours, run, only_look=only_plan) as theirs:
        if only_plan:
            done = plan(ours, theirs, scopes, run)
            # For a plan, a missing store is represented by an empty one in memory.
            done.location = location_of(place)
            return done
        done = sync(ours, theirs, scopes, run)
        _note(ours, place, scopes, "", run)
        return done


def sync_ignoring_errors(
    ours: Store,
    place: str,
    scopes: Sequence[Scope],
    run: Run,
) -> Synced | None:
    """Sync without raising: errors are logged and stored for `failures`."""
    try:
        return sync_with(ours, place, scopes, run)
    except Exception as error:
        # Closing a memory must not fail because another machine is unreachable.
        log.warning("sync with %s failed: %s", shown(place), error)
        with suppress(Exception):
            _note(ours, place, scopes, f"{error}" or type(error).__name__, run)
        return None


def failures(store: Store, scopes: Sequence[Scope]) -> dict[str, str]:
    """Stores with which the last sync failed, and why."""
    failed = [job for job in store.jobs.list(scopes) if job.kind == SYNC and job.error]
    return {f"{SYNC} {job.key}": job.error for job in failed}


def _note(
    store: Store,
    place: str | Path,
    scopes: Sequence[Scope],
    error: str,
    run: Run,
) -> None:
    name = shown(place)
    noted = {job.scope for job in store.jobs.list(scopes) if (job.kind, job.key) == (SYNC, name)}
    # Success is recorded only where a failure was: a sync without news writes nothing.
    changed = scopes if error else noted

    def work(tx: Transaction) -> None:
        for scope in changed:
            tx.replication.note_error(scope, name, error)

    if changed:
        run.write(store, work)


@contextmanager
def other_store(
    place: str | Path,
    ours: Store,
    run: Run,
    *,
    only_look: bool = False,
) -> Iterator[Store]:
    """Open the store to sync with. Raises InvalidInput if it is ours or unusable, StoreError if its
    schema is older.

    Creates a missing file unless `only_look`.
    """
    check_place(place)
    if not is_server(place):
        file = Path(place).expanduser().absolute()
        if str(file.resolve()) == str(Path(ours.location).resolve()):
            raise InvalidInput(f"{file} is the store itself. Name another store to sync with.")
        if not run.key_file and form_of(Path(ours.location)) == "encrypted":
            raise InvalidInput(
                f"{ours.location} is encrypted, and the setting key_file does not say whether "
                f"{file} is to be. Set it to a key file, or to none for plain text."
            )
        _refuse_older(file, run.key_file)
        place = ":memory:" if only_look and not file.exists() else file
    store = open_store(place, key_file=run.key_file, clock=run.clock)
    try:
        if store.location == ours.location != ":memory:":
            raise InvalidInput(
                f"{shown(store.location)} is the store itself. Name another store to sync with."
            )
        yield store
    finally:
        store.close()


def _refuse_older(file: Path, key_file: str) -> None:
    """Never migrate the other file: an older version may still use it."""
    if not file.is_file() or not file.stat().st_size:
        return
    found = status(file, key=read_key(key_file))
    if found.pending and found.version:
        raise StoreError(
            f"{file} has the schema of an older Holdfast (version {found.version}). Nothing was "
            f"synced. Migrate it with `holdfast store migrate {file}`."
        )
