"""Copies between stores: nothing lost, whatever is in them and wherever the copy is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_bundle import steps, take

from holdfast import Conflict, Holdfast, InvalidInput, NotFound, Refused, StoreError
from holdfast.replication import bundle, copy
from holdfast.replication.copy import NOUNS, copy_store
from holdfast.storage import SQLiteStore, Store
from holdfast.storage.postgres import PostgresStore
from holdfast.testing.scene import ANN, BOB, TEAM, fact, put, put_one, set_status, unit, write
from holdfast.types import Entity, Progress, Scope, Triple

Opener = Callable[[str], Store]
KINDS = ("sqlite", "postgres")


@pytest.fixture
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens a new, empty store of a kind; of "postgres" there is one."""
    opened, numbers = list[Store](), count()

    def open_one(kind: str) -> Store:
        if kind == "postgres":
            opened.append(
                PostgresStore(request.getfixturevalue("postgres_store_url"), clock=lambda: 0)
            )
        else:
            place = ":memory:" if kind == "memory" else tmp_path / f"empty{next(numbers)}.db"
            opened.append(SQLiteStore(place, clock=lambda: 0))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def source(open_memory: Any, clock: Any) -> Store:
    """A store in a file with two scopes and everything that can be in one."""
    for scope in ("user:ann", "user:bob"):
        live(open_memory(scope), clock)
    store: Store = open_memory("user:ann").store
    return store


def live(hf: Holdfast, clock: Any) -> None:
    """Every verb, every table, every kind of history."""
    tea = hf.remember(
        "Prefers green tea", tags=("drinks",), metadata={"n": [1, None, "é"]}, confidence=0.25
    )
    rule = hf.remember(
        "Ann drinks tea",
        kind="rule",
        title="Tea",
        quote="tea!",
        triple=Triple("Ann", "drinks", "tea"),
    )
    clock.forward(hours=1)
    hf.capture("s1", "user", 'Line one\nline "two" \u2028 🦊 \\ \t', author="Ann", event_time=0)
    hf.capture("s1", "assistant", "Noted")
    hf.capture("s0", "user", "Elsewhere")
    hf.correct(tea.id, "Prefers coffee", reason="changed")
    hf.undo()
    hf.correct(rule.id, "Ann drinks tea at noon")
    gone = hf.remember("A word to erase")
    hf.confirm(gone.id)
    hf.admin.purge(gone.id)
    clock.forward(hours=1)
    hf.archive(hf.remember("Old news", valid_from=5, valid_until=clock.now).id)
    scope = hf.scopes[0]

    def meet(tx: Any) -> None:
        tx.progress.put(Progress(scope, "s1", "facts", 2, clock.now))
        tx.entities.put(
            Entity("e1", scope, "Ann", "person", clock.now, ("Annie", "ann"), "a friend")
        )
        for memory in (tea, rule):
            tx.entities.mention(scope, entity="e1", memory=memory.id)

    write(hf.store, meet)
    write(
        hf.store,
        lambda tx: tx.restore_many("profile", scope, [{"settings": {"tone": "dry"}}]),
    )
    for text in ("Line one", "Noted"):
        write(
            hf.store,
            lambda tx, text=text: tx.sessions.add_messages(
                scope, "s1", [{"é": text, "parts": [1, {}]}]
            ),
        )
    hf.recall("tea")
    hf.store.vectors.add([scope], "second:model", {m.seq: unit(m.seq, 8) for m in hf.list(limit=2)})


def told(store: Store, *scopes: Scope) -> list[str]:
    """Everything a store has to say, as the lines of a bundle."""
    return list(bundle.export(store, scopes or (ANN, BOB), vectors=True))


def sound(store: Store) -> bool:
    return list(store.check()) == []


class Stopped(Exception):
    """What a test stops a copy with."""


def stop_after(calls: int) -> Callable[[int], None]:
    """A progress that raises when it is called once more than this."""
    numbers = count()

    def progress(rows: int) -> None:
        if next(numbers) >= calls:
            raise Stopped

    return progress


# All of it


@pytest.mark.parametrize("there", ["sqlite", "memory", "postgres"])
def test_there_and_back_gives_the_same_bytes(source: Store, empty: Opener, there: str) -> None:
    middle, end = empty(there), empty("sqlite")
    out, back = copy_store(source, middle), copy_store(middle, end)
    assert told(source) == told(middle) == told(end)
    assert sound(middle)
    assert sound(end)
    assert (out.digest, out.copied) == (back.digest, back.copied)
    assert out.scopes == back.scopes == [ANN, BOB]


def test_it_says_how_many_rows_of_each_noun_it_copied(source: Store, empty: Opener) -> None:
    done = copy_store(source, empty("sqlite"))
    assert done.copied == {
        noun: sum(len(list(source.rows(noun, scope))) for scope in (ANN, BOB)) for noun in NOUNS
    }
    assert all(done.copied.values())
    assert done.vectors == done.copied["vector"]
    assert set(done.already_there.values()) == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_progress_adds_up_to_all_rows(source: Store, empty: Opener, kind: str) -> None:
    steps: list[int] = []
    target = empty(kind)
    done = copy_store(source, target, progress=steps.append)
    assert sum(steps) == sum(done.copied.values())
    steps.clear()
    copy_store(source, target, progress=steps.append)
    assert sum(steps) == sum(done.copied.values())


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_recalls_and_undoes_like_the_original(
    open_memory: Any, clock: Any, fake: Any, empty: Opener, kind: str
) -> None:
    hf = open_memory("user:ann")
    live(hf, clock)
    archived = hf.remember("The kettle whistles")
    hf.recall("kettle")
    hf.archive(archived.id)
    target = empty(kind)
    copy_store(hf.store, target)
    twin = Holdfast(target, hf.scopes, tiers=hf.tiers, clock=clock)
    calls = fake.calls
    assert [hit.memory.id for hit in twin.recall("green tea")] == [
        hit.memory.id for hit in hf.recall("green tea")
    ]
    assert fake.calls <= calls + 2, "a copied memory was embedded again"
    assert target.vectors.models([ANN]) == hf.store.vectors.models([ANN])
    assert target.counts([ANN]) == hf.store.counts([ANN])
    twin.undo(hf.last_run)
    assert twin.get(archived.id).status == "active"
    twin.remember("The copy goes on")
    assert sound(target)


@pytest.mark.parametrize("kind", KINDS)
def test_copying_twice_copies_nothing(source: Store, empty: Opener, kind: str) -> None:
    target = empty(kind)
    first = copy_store(source, target)
    before = told(target)
    again = copy_store(source, target)
    assert set(again.copied.values()) == {0}
    assert (again.already_there, again.digest) == (first.copied, first.digest)
    assert told(target) == before


def test_only_the_scopes_asked_for_are_copied(source: Store, empty: Opener) -> None:
    target = empty("sqlite")
    assert copy_store(source, target, scopes=[BOB, BOB]).scopes == [BOB]
    assert target.scopes() == [BOB]
    assert told(target, BOB) == told(source, BOB)


def test_a_scope_without_anything_is_an_error_and_nothing_is_copied(
    source: Store, empty: Opener
) -> None:
    target = empty("sqlite")
    with pytest.raises(NotFound, match="shared:team"):
        copy_store(source, target, scopes=[ANN, TEAM])
    assert target.scopes() == []


def test_an_empty_store_gives_an_empty_copy(empty: Opener) -> None:
    done = copy_store(empty("sqlite"), empty("memory"))
    assert (done.scopes, set(done.copied.values())) == ([], {0})


def test_two_stores_may_be_copied_into_one(empty: Opener) -> None:
    ours, theirs, target = empty("sqlite"), empty("sqlite"), empty("sqlite")
    put(ours, fact("tea"))
    put(theirs, fact("coffee", scope=BOB))
    copy_store(ours, target)
    copy_store(theirs, target)
    assert told(target, ANN) == told(ours, ANN)
    assert told(target, BOB) == told(theirs, BOB)
    assert sound(target)


# One moment


@pytest.mark.parametrize(
    ("kind", "to"), [("sqlite", "postgres"), ("postgres", "sqlite"), ("memory", "memory")]
)
def test_what_is_written_meanwhile_is_not_copied(empty: Opener, kind: str, to: str) -> None:
    source, target = empty(kind), empty(to)
    put(source, fact("tea"), fact("theirs", scope=BOB))
    before = told(source)

    def meanwhile(rows: int) -> None:
        put(source, fact("later"), fact("later too", scope=BOB), fact("new scope", scope=TEAM))

    copy_store(source, target, progress=meanwhile)
    assert told(target) == before


# Stopped and resumed


@pytest.mark.parametrize("kind", KINDS)
def test_stopped_after_every_single_step_it_still_arrives(
    source: Store, empty: Opener, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    step = 3 if kind == "sqlite" else 10  # on a server each step takes far longer, and is the same
    monkeypatch.setattr(copy, "STEP", step)
    target, attempts = empty(kind), 0
    while True:
        before = {
            noun: len(list(target.rows(noun, ANN))) + len(list(target.rows(noun, BOB)))
            for noun in NOUNS
        }
        try:
            done = copy_store(
                source, target, progress=stop_after(1 if not before["session"] else 2)
            )
            break
        except Stopped:
            attempts += 1
        after = {
            noun: len(list(target.rows(noun, ANN))) + len(list(target.rows(noun, BOB)))
            for noun in NOUNS
        }
        assert sum(after.values()) > sum(before.values()) or attempts == 1
    assert attempts > 60 / step
    assert told(target) == told(source)
    assert sum(done.already_there.values()) > 100
    assert sound(target)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_killed_in_the_middle_goes_on(
    source: Store, empty: Opener, request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    put(source, *(fact(f"note {number} of many") for number in range(3000)))
    target = empty(kind)
    place = target.location if kind == "sqlite" else request.getfixturevalue("postgres_store_url")
    script = (
        "import sys\n"
        "from holdfast.replication.copy import copy_store\n"
        "from holdfast.storage import open_store\n"
        "source, target = map(open_store, sys.argv[1:])\n"
        "copy_store(source, target, progress=lambda rows: print(rows, flush=True))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, source.location, place], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for _ in range(5):  # into the memories; it is not asked to wait, so wherever it is by now
        assert child.stdout.readline()
    child.kill()
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    there = sum(len(list(target.rows(noun, scope))) for noun in NOUNS for scope in (ANN, BOB))
    done = copy_store(source, target)
    assert sum(done.already_there.values()) == there > 500
    assert sum(done.copied.values()) > 500
    assert told(target) == told(source)
    assert sound(target)


def test_reading_the_source_does_not_keep_a_copy_from_going_on(
    source: Store, empty: Opener
) -> None:
    target = empty("sqlite")
    with pytest.raises(Stopped):
        copy_store(source, target, progress=stop_after(4))
    source.touch([ANN], {memory.seq: 3 for memory in source.get([ANN], [1, 2])}, 77)
    assert sum(copy_store(source, target).already_there.values()) > 0
    assert sound(target)


def test_a_source_that_changed_since_is_refused(source: Store, empty: Opener) -> None:
    target = empty("sqlite")
    with pytest.raises(Stopped):
        copy_store(source, target, progress=stop_after(4))
    before = told(target)
    set_status(source, source.get([ANN], [1])[0], "archived")
    with pytest.raises(Conflict, match="other data in scope 'user:ann'"):
        copy_store(source, target)
    assert told(target) == before


# Other data in the target


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_with_other_data_is_refused_and_stays_as_it_is(
    source: Store, empty: Opener, kind: str
) -> None:
    target = empty(kind)
    put(target, fact("somebody else's"))
    before = told(target)
    with pytest.raises(Conflict, match="holds other data in scope 'user:ann'"):
        copy_store(source, target)
    assert told(target) == before


def test_data_only_the_target_has_is_refused(source: Store, empty: Opener) -> None:
    target = empty("sqlite")
    copy_store(source, target)
    extra = put_one(target, fact("written after the copy"))
    before = told(target)
    with pytest.raises(Conflict, match=extra.id):
        copy_store(source, target)
    assert told(target) == before


def test_other_data_in_a_late_table_is_found_before_anything_is_written(
    source: Store, empty: Opener
) -> None:
    target = empty("sqlite")
    event = {"run": "r", "at": 1, "actor": "a", "verb": "v", "noun": "memory", "target": "t"}
    write(target, lambda tx: tx.restore_many("event", ANN, [event]))
    with pytest.raises(Conflict, match="its event t r"):
        copy_store(source, target)
    assert list(target.rows("memory", ANN)) == []


def test_vectors_that_differ_are_refused(source: Store, empty: Opener) -> None:
    target = empty("sqlite")
    copy_store(source, target)
    one = target.get([ANN], [1])[0]
    target.vectors.add([ANN], "second:model", {one.seq: unit(99, 8)})
    with pytest.raises(Conflict, match="its vector"):
        copy_store(source, target)


# Verification


def tamper(store: Store, url: str, sql: str) -> None:
    """Changes a store behind its back."""
    if isinstance(store, SQLiteStore):
        apsw.Connection(store.location).execute(sql)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = holdfast, public")
        connection.execute(sql.encode())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("sql", "what"),
    [
        (
            (
                "UPDATE memories SET content = content || '!' WHERE id = (SELECT min(id) FROM "
                "memories)"
            ),
            "memory",
        ),
        ("DELETE FROM events WHERE seq = (SELECT min(seq) FROM events)", "event"),
        ("UPDATE edges SET reason = 'x'", "edge"),
        ("DELETE FROM vectors WHERE seq = (SELECT max(seq) FROM vectors)", "vectors of"),
        ("DELETE FROM profiles", "profile: 1 row,.* in the source, 0 rows"),
    ],
)
def test_a_target_that_was_tampered_with_is_found_out(
    source: Store, empty: Opener, request: pytest.FixtureRequest, kind: str, sql: str, what: str
) -> None:
    target = empty(kind)
    url = request.getfixturevalue("postgres_store_url") if kind == "postgres" else ""
    total, seen = sum(len(list(source.rows(noun, ANN))) for noun in NOUNS), [0]

    def progress(rows: int) -> None:
        seen[0] += rows
        if seen[0] == total:  # all is written, nothing is compared yet
            tamper(target, url, sql)

    with pytest.raises(StoreError, match=what):
        copy_store(source, target, scopes=[ANN], progress=progress)


@pytest.mark.parametrize("kind", KINDS)
def test_the_very_bits_of_vectors_arrive(empty: Opener, kind: str) -> None:
    source, target = empty("memory"), empty(kind)
    (one,) = put(source, fact("tea"))
    odd = np.array([-0.0, 1e-42, 0.1, -0.9949874], np.float32)
    source.vectors.add([ANN], "m", {one.seq: odd})
    copy_store(source, target)
    (there,) = target.vectors.get(
        [ANN], "m", [memory.seq for memory in target.get([ANN], [one.id])]
    ).values()
    assert there.tobytes() == odd.tobytes()


def test_a_negative_zero_is_a_zero(empty: Opener) -> None:
    source, target = empty("postgres"), empty("sqlite")
    put(source, fact("never sure", confidence=-0.0))
    copy_store(source, target)
    assert [row["confidence"] for row in target.rows("memory", ANN)] == [0.0]


# Any history, any size


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps, st.integers(0, 20), st.integers(1, 5))
def test_whatever_happened_and_wherever_it_stops_the_copy_is_the_same(
    open_memory: Any, clock: Any, monkeypatch: pytest.MonkeyPatch, steps: Any, calls: int, step: int
) -> None:
    hf = open_memory("user:ann", path=":memory:")
    for one in steps:
        clock.forward(seconds=1)
        try:
            take(hf, one)
        except (NotFound, InvalidInput, Conflict, Refused):
            continue
    hf.recall("tea")
    monkeypatch.setattr(copy, "STEP", step)
    target = SQLiteStore(":memory:")
    try:
        copy_store(hf.store, target, progress=stop_after(calls))
    except Stopped:
        copy_store(hf.store, target)
    assert told(target, ANN) == told(hf.store, ANN)
    assert sound(target)
    target.close()


def test_memory_stays_small_however_much_is_copied(
    empty: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "STEP", 50)
    source, target = empty("sqlite"), empty("sqlite")
    # 9 MB.
    put(source, *(fact(f"note {number}", metadata={"long": "x" * 6000}) for number in range(1500)))
    tracemalloc.start()
    try:
        copy_store(source, target)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
