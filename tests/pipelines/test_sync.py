"""Two stores and more, kept equal: nothing lost, nothing erased comes back, whoever meets whom
first.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import Holdfast, HoldfastError, InvalidInput, Settings, StoreError
from holdfast.errors import StoreCorrupt, StoreTooNew
from holdfast.models.embeddings.tiers import Tiers
from holdfast.replication.sync import Run, Synced, sync
from holdfast.storage import SQLiteStore, Store
from holdfast.storage.merge import is_purged
from holdfast.storage.postgres import PostgresStore
from holdfast.storage.schema import TABLES, promised
from holdfast.testing.scene import ANN, BOB
from holdfast.types import Triple

Memory = Holdfast
CANARY = "the password of the summer house is heliotrope"


@pytest.fixture
def open_at(tmp_path: Path, clock: Any) -> Iterator[Callable[..., Memory]]:
    """Opens Ann's memory on a machine of its own: a file with that name, or a store."""
    opened: list[Memory] = []

    def open_(name: str | Store, *scopes: Any, options: Settings | None = None) -> Memory:
        store = SQLiteStore(tmp_path / f"{name}.db", clock=clock) if isinstance(name, str) else name
        opened.append(
            Holdfast(
                store, scopes or (ANN,), tiers=Tiers.of(clock=clock), clock=clock, settings=options
            )
        )
        return opened[-1]

    yield open_
    for hf in opened:
        hf.close()


@pytest.fixture
def laptop(open_at: Callable[..., Memory]) -> Memory:
    return open_at("laptop")


@pytest.fixture
def desktop(open_at: Callable[..., Memory]) -> Memory:
    return open_at("desktop")


@pytest.fixture(params=["sqlite", "postgres"])
def other(request: pytest.FixtureRequest, open_at: Callable[..., Memory], clock: Any) -> Memory:
    """The memory on the other machine, of each kind."""
    if request.param == "sqlite":
        return open_at("other")
    return open_at(PostgresStore(request.getfixturevalue("postgres_store_url"), clock=clock))


def meet(one: Memory, two: Memory, **options: Any) -> Synced:
    return sync(one.store, two.store, one.scopes, Run("tester", one.clock, **options))


def truth(hf: Memory) -> dict[str, list[str]]:
    """All rows but what is counted by reading, and the journal as a set."""
    return {noun: sorted(map(repr, _told(hf, noun))) for noun in TABLES}


def _told(hf: Memory, noun: str) -> Iterator[Mapping[str, Any]]:
    for scope in hf.scopes:
        for row in hf.store.rows(noun, scope):
            told = promised(noun, row)
            if noun == "event":
                # Which columns an entry is about. Their words may have been erased on one side
                # only: a removed memory that says the same as a purged one is no concern of a store
                # that never had the purged one.
                told |= {
                    image: sorted(told[image]) for image in ("before", "after") if image in told
                }
            yield told


def contents(hf: Memory) -> list[str]:
    return sorted(one.content for one in hf.list())


def sound(hf: Memory) -> bool:
    return list(hf.store.check()) == []


# All of it


def test_what_either_side_knows_both_know(laptop: Memory, other: Memory, clock: Any) -> None:
    tea = laptop.remember("Prefers green tea", tags=("drinks",), metadata={"n": [1, None, "é"]})
    laptop.correct(laptop.remember("Plays chess with @bob").id, "Plays go with @bob")
    laptop.capture("s1", "user", "Hello from the laptop")
    laptop.sessions.append("m1", [{"say": "é"}, {"say": "b"}], agent="helper")
    laptop.sessions.set_profile(proactive_recall=True)
    clock.forward(minutes=1)
    other.remember("Lives in Lisbon")
    other.capture("s2", "user", "Hello from elsewhere, @bob")
    other.sessions.end("s2")
    done = meet(laptop, other)
    assert truth(laptop) == truth(other)
    assert sound(laptop)
    assert sound(other)
    assert not done.nothing
    assert done.received["memory"] == 2
    assert other.get(tea.id).tags == ("drinks",)
    assert [one.body for one in other.sessions.messages("m1")] == [{"say": "é"}, {"say": "b"}]
    assert other.sessions.profile()["proactive_recall"]
    assert [(one.name, one.mentions) for one in laptop.entities.list()] == [
        ("bob", 2),
        ("Lisbon", 1),
    ]
    assert [hit.memory.content for hit in other.recall("which tea?")] == ["Prefers green tea"]


def test_a_second_time_there_is_nothing_to_do_or_to_read(laptop: Memory, other: Memory) -> None:
    for number in range(20):
        laptop.remember(f"Fact {number}")
        other.remember(f"Other fact {number}")
    meet(laptop, other)
    before = truth(laptop), truth(other)
    told: list[tuple[int, int]] = []
    assert meet(laptop, other, progress=lambda *some: told.append(some)).nothing
    assert told == []
    assert (truth(laptop), truth(other)) == before
    laptop.remember("One more")
    meet(laptop, other, progress=lambda *some: told.append(some))
    assert told[-1] == (2, 2)  # the entry, and the same entry on its way back


def test_how_much_is_to_be_read_is_known_from_the_start(laptop: Memory, other: Memory) -> None:
    for number in range(7):
        laptop.remember(f"Fact {number}")
    for number in range(3):
        other.remember(f"Other fact {number}")
    told: list[tuple[int, int]] = []
    meet(laptop, other, step=2, progress=lambda *some: told.append(some))
    read = [one for one, _ in told]
    assert read == sorted(read)
    assert len({total for _, total in told}) == 1
    assert told[-1][0] == told[-1][1]


def test_each_store_numbers_memories_by_itself_and_keeps_their_ids(
    laptop: Memory, desktop: Memory
) -> None:
    desktop.remember("First on the desktop")
    tea = laptop.remember("First on the laptop")
    meet(laptop, desktop)
    assert (laptop.get(tea.id).seq, desktop.get(tea.id).seq) == (1, 2)


def test_only_the_chosen_scopes_travel(open_at: Callable[..., Memory]) -> None:
    both, other = open_at("both", ANN, BOB), open_at("only")
    both.remember("Ann's")
    both.scoped("user:bob").remember("Bob's")
    sync(both.store, other.store, [ANN], Run("tester", both.clock))
    assert other.store.scopes() == [ANN]


def test_a_third_machine_gets_everything_from_either(open_at: Callable[..., Memory]) -> None:
    a, b, c = (open_at(name) for name in "abc")
    a.remember("From a")
    b.sessions.append("talk", [{"say": "from b"}])
    meet(a, b)
    b.sessions.append("talk", [{"say": "more from b"}])  # which leaves no word in the journal
    meet(a, b)
    meet(a, c)
    assert truth(a) == truth(b) == truth(c)
    assert [one.body["say"] for one in c.sessions.messages("talk")] == ["from b", "more from b"]


# Both sides changed something


def test_changes_of_different_fields_of_a_memory_all_stand(
    laptop: Memory, other: Memory, clock: Any
) -> None:
    tea = laptop.remember("Prefers green tea", confidence=0.5)
    meet(laptop, other)
    clock.forward(minutes=1)
    laptop.forget(tea.id)
    clock.forward(minutes=1)
    other.confirm(tea.id)
    meet(laptop, other)
    for hf in (laptop, other):
        assert (hf.get(tea.id).status, hf.get(tea.id).protected) == ("archived", True)
    assert truth(laptop) == truth(other)


def test_of_two_changes_of_one_field_the_later_stands(
    laptop: Memory, desktop: Memory, clock: Any
) -> None:
    tea = laptop.remember("Prefers green tea")
    meet(laptop, desktop)
    clock.forward(minutes=1)
    desktop.archive(tea.id, reason="from the desktop")
    clock.forward(minutes=1)
    laptop.archive(tea.id, reason="from the laptop")
    meet(desktop, laptop)
    assert (
        desktop.get(tea.id).status_reason == laptop.get(tea.id).status_reason == "from the laptop"
    )


def test_who_has_seen_a_change_may_take_it_back_whatever_the_clocks_say(
    laptop: Memory, desktop: Memory, clock: Any
) -> None:
    tea = laptop.remember("Prefers green tea")
    meet(laptop, desktop)
    desktop.forget(tea.id)
    meet(laptop, desktop)
    clock.forward(hours=-1)
    laptop.restore(tea.id)
    meet(laptop, desktop)
    assert desktop.get(tea.id).status == "active"


def test_two_corrections_of_one_fact_stand_side_by_side(
    laptop: Memory, other: Memory, clock: Any
) -> None:
    tea = laptop.remember("Prefers green tea")
    meet(laptop, other)
    clock.forward(minutes=1)
    mine = laptop.correct(tea.id, "Prefers coffee")
    clock.forward(minutes=1)
    theirs = other.correct(tea.id, "Prefers cocoa")
    done = meet(laptop, other)
    assert done.conflicts == [(theirs.id, mine.id)]
    for hf in (laptop, other):
        assert contents(hf) == ["Prefers cocoa", "Prefers coffee"]
        assert [
            (e.source, e.target) for e in hf.admin.links(mine.id) if e.relation == "conflicts_with"
        ] == done.conflicts
    assert truth(laptop) == truth(other)


def test_claims_that_cannot_both_be_true_stand_side_by_side(
    laptop: Memory, desktop: Memory, clock: Any
) -> None:
    mine = laptop.remember("Ann works at Acme", triple=Triple("Ann", "WORKS_AT", "Acme"))
    clock.forward(minutes=1)
    theirs = desktop.remember("Ann works at Globex", triple=Triple("Ann", "WORKS_AT", "Globex"))
    assert meet(laptop, desktop).conflicts == [(theirs.id, mine.id)]
    assert contents(laptop) == contents(desktop) == ["Ann works at Acme", "Ann works at Globex"]


def test_the_same_fact_said_on_both_sides_is_kept_once(
    laptop: Memory, desktop: Memory, clock: Any
) -> None:
    first = laptop.remember("Prefers green tea")
    clock.forward(minutes=1)
    second = desktop.remember("prefers green tea.")
    meet(laptop, desktop)
    assert [one.id for one in laptop.list()] == [one.id for one in desktop.list()] == [first.id]
    assert desktop.get(second.id).status == "superseded"
    assert truth(laptop) == truth(desktop)


def test_a_conversation_that_went_on_in_two_places_loses_no_message(
    laptop: Memory, other: Memory, clock: Any
) -> None:
    laptop.sessions.append("talk", [{"say": "hello"}])
    meet(laptop, other)
    clock.forward(minutes=1)
    laptop.sessions.append("talk", [{"say": "from here"}, {"say": "and here"}])
    clock.forward(minutes=1)
    other.sessions.append("talk", [{"say": "from there"}])
    meet(laptop, other)
    said = ["hello", "from here", "and here", "from there"]
    assert [one.body["say"] for one in laptop.sessions.messages("talk")] == said
    assert [one.body["say"] for one in other.sessions.messages("talk")] == said
    assert sound(laptop)
    assert sound(other)


def test_a_run_of_the_other_machine_can_be_undone_here(laptop: Memory, desktop: Memory) -> None:
    tea = laptop.remember("Prefers green tea")
    run = laptop.last_run
    meet(laptop, desktop)
    desktop.undo(run)
    assert desktop.list() == []
    meet(laptop, desktop)
    assert laptop.list() == []
    laptop.undo(desktop.last_run)
    meet(laptop, desktop)
    assert [one.id for one in desktop.list()] == [tea.id]


def test_an_entity_that_one_side_dropped_stays_while_the_other_speaks_of_it(
    laptop: Memory, desktop: Memory
) -> None:
    note = laptop.remember("Met @bob")
    meet(laptop, desktop)
    desktop.remember("Called @bob")
    laptop.admin.purge(note.id)
    meet(laptop, desktop)
    assert [(one.name, one.mentions) for one in laptop.entities.list()] == [("bob", 1)]
    assert truth(laptop) == truth(desktop)


# What was erased


@pytest.mark.parametrize("asks", ["who erased", "who did not"])
def test_what_was_purged_is_gone_everywhere_and_never_comes_back(
    laptop: Memory, desktop: Memory, tmp_path: Path, asks: str, clock: Any
) -> None:
    secret = laptop.remember(CANARY)
    laptop.sessions.append("talk", [{"say": f"I noted that {CANARY}"}])
    meet(laptop, desktop)
    clock.forward(minutes=1)
    desktop.archive(secret.id, reason="put away")
    desktop.remember("Something else")
    laptop.admin.purge(secret.id)
    meet(*((laptop, desktop) if asks == "who erased" else (desktop, laptop)))
    assert contents(laptop) == contents(desktop) == ["Something else"]
    assert truth(laptop) == truth(desktop)
    for name in ("laptop", "desktop"):
        written = b"".join(file.read_bytes() for file in tmp_path.glob(f"{name}.db*"))
        assert b"heliotrope" not in written


def test_a_purged_session_is_purged_on_the_other_side(laptop: Memory, other: Memory) -> None:
    laptop.sessions.append("talk", [{"say": CANARY}])
    meet(laptop, other)
    laptop.sessions.purge("talk")
    meet(other, laptop)
    for hf in (laptop, other):
        assert hf.sessions.messages("talk") == []
        assert hf.sessions.list() == []
    assert truth(laptop) == truth(other)


def test_an_owner_who_was_erased_is_erased_on_the_other_side_but_for_what_is_newer(
    laptop: Memory, desktop: Memory, clock: Any
) -> None:
    laptop.remember(CANARY)
    desktop.remember("Lives in Lisbon")
    meet(laptop, desktop)
    clock.forward(minutes=1)
    laptop.admin.write("purge", lambda tx: tx.erasure.scope(ANN))
    clock.forward(minutes=1)
    desktop.remember("A new beginning")
    meet(desktop, laptop)
    assert contents(laptop) == contents(desktop) == ["A new beginning"]


# Any order


WORDS = ("tea", "coffee", "likes rain", "hates rain", "met @bob", "called @eve and @bob")
VERBS = (
    "remember",
    "remember",
    "capture",
    "say",
    "correct",
    "forget",
    "confirm",
    "restore",
    "purge",
    "undo",
    "meet",
)


def live(stores: list[Memory], chance: Random, clock: Any) -> None:
    """One random step of one of several memories."""
    clock.forward(seconds=chance.choice((0, 1, 60)))
    hf, verb = chance.choice(stores), chance.choice(VERBS)
    known = hf.list(statuses=("active", "archived", "superseded"))
    one = chance.choice(known).id if known else ""
    steps: dict[str, Callable[[], object]] = {
        "remember": lambda: hf.remember(chance.choice(WORDS)),
        "capture": lambda: hf.capture(
            chance.choice(("s1", "s2")), "user", f"Hello {chance.random()}"
        ),
        "say": lambda: hf.sessions.append(
            chance.choice(("m1", "m2")), [{"n": chance.random()}], agent="helper"
        ),
        "correct": lambda: hf.correct(one, f"No, {chance.choice(WORDS)}"),
        "forget": lambda: hf.forget(one),
        "confirm": lambda: hf.confirm(one),
        "restore": lambda: hf.restore(one),
        "purge": lambda: hf.admin.purge(one),
        "undo": lambda: hf.undo(chance.choice(hf.admin.log(limit=None)).run),
        "meet": lambda: meet(*chance.sample(stores, 2), step=chance.choice((3, 500))),
    }
    with suppress(HoldfastError, IndexError):
        steps[verb]()


@pytest.mark.parametrize("machines", [2, 3])
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whoever_meets_whom_in_any_order_ends_equal(
    clock: Any, machines: int, seed: int, steps: int
) -> None:
    chance = Random(seed)
    stores = [
        Holdfast(
            SQLiteStore(":memory:", clock=clock), (ANN,), tiers=Tiers.of(clock=clock), clock=clock
        )
        for _ in range(machines)
    ]
    for _ in range(steps):
        live(stores, chance, clock)
    pairs = list(combinations(stores, 2))
    for _ in range(3):
        chance.shuffle(pairs)
        done = [meet(one, two) for one, two in pairs]
    told = [truth(hf) for hf in stores]
    assert all(one.nothing for one in done)
    assert all(one == told[0] for one in told[1:])
    assert all(map(sound, stores))
    for hf in stores:
        hf.close()


# Cut off


CUT_OFF = """
import os, signal, sys
from holdfast.replication.sync import Run, sync
from holdfast.storage import SQLiteStore
from holdfast.types import Scope, system_clock

left = int(sys.argv[3])

def progress(read, total):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

ours, theirs = map(SQLiteStore, sys.argv[1:3])
sync(ours, theirs, [Scope("user", "ann")], Run("tester", system_clock, progress, step=7))
"""


@pytest.mark.parametrize("after", [1, 3, 6, 10])
def test_a_sync_that_was_killed_goes_on_where_it_stopped(
    laptop: Memory, desktop: Memory, tmp_path: Path, after: int
) -> None:
    for number in range(15):
        laptop.remember(f"Fact {number} of @bob")
        desktop.sessions.append(f"talk {number}", [{"n": number}])
    places = [str(tmp_path / "laptop.db"), str(tmp_path / "desktop.db")]
    killed = subprocess.run([sys.executable, "-c", CUT_OFF, *places, str(after)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert sound(laptop)
    assert sound(desktop)
    meet(laptop, desktop)
    assert truth(laptop) == truth(desktop)
    assert len(laptop.list()) == len(laptop.sessions.list()) == 15
    assert meet(laptop, desktop).nothing


def test_a_step_that_fails_leaves_nothing_behind(
    laptop: Memory, desktop: Memory, tmp_path: Path
) -> None:
    laptop.remember("Met @bob")
    before = truth(desktop)
    with apsw.Connection(str(tmp_path / "desktop.db")) as broken:
        broken.execute(
            "CREATE TRIGGER no BEFORE INSERT ON mentions BEGIN SELECT raise(ABORT, 'no'); END"
        )
    with pytest.raises(StoreError):
        meet(laptop, desktop)
    assert truth(desktop) == before


# Files that go their own way


def test_a_copy_of_a_file_is_a_store_of_its_own(
    open_at: Callable[..., Memory], tmp_path: Path
) -> None:
    first, hub = open_at("first"), open_at("hub")
    first.remember("Before the copy")
    meet(first, hub)
    first.store.scrub()
    (tmp_path / "copy.db").write_bytes((tmp_path / "first.db").read_bytes())
    copy = open_at("copy")
    first.remember("Only in the first")
    copy.remember("Only in the copy")
    for one, two in ((first, hub), (copy, hub), (first, hub), (first, copy)):
        meet(one, two)
    assert truth(first) == truth(copy) == truth(hub)
    assert len(hub.list()) == 3


def test_a_backup_that_was_put_back_gets_what_it_has_lost(
    open_at: Callable[..., Memory], tmp_path: Path
) -> None:
    file, other = open_at("file"), open_at("other")
    file.remember("In the backup")
    meet(file, other)
    file.store.scrub()
    backup = (tmp_path / "file.db").read_bytes()
    file.remember("After the backup")
    meet(file, other)
    file.close()
    (tmp_path / "file.db").write_bytes(backup)
    again = open_at("file")
    again.remember("After it was put back")
    meet(again, other)
    assert (
        contents(again)
        == contents(other)
        == ["After it was put back", "After the backup", "In the backup"]
    )


# Through the front door


def test_a_plan_says_what_would_be_done_and_does_nothing(
    laptop: Memory, desktop: Memory, tmp_path: Path
) -> None:
    laptop.remember("Prefers green tea")
    desktop.remember("Lives in Lisbon")
    before = truth(laptop), truth(desktop)
    planned = laptop.admin.sync(tmp_path / "desktop.db", plan=True)
    assert (planned.received["memory"], planned.sent["memory"]) == (1, 1)
    assert (truth(laptop), truth(desktop)) == before
    nowhere = laptop.admin.sync(tmp_path / "nowhere.db", plan=True)
    assert nowhere.sent["memory"] == 1
    assert not (tmp_path / "nowhere.db").exists()
    done = laptop.admin.sync(tmp_path / "desktop.db")
    assert (done.received, done.sent) == (planned.received, planned.sent)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("laptop.db", InvalidInput),
        ("ftp://somewhere/else", InvalidInput),
        ("", InvalidInput),
        ("text.db", StoreCorrupt),
    ],
)
def test_a_place_that_cannot_be_synced_with_is_refused(
    laptop: Memory, tmp_path: Path, place: str, error: type[HoldfastError]
) -> None:
    (tmp_path / "text.db").write_text("Dear diary, this is no database at all. " * 100)
    with pytest.raises(error):
        laptop.admin.sync(place if "/" in place or not place else tmp_path / place)


def test_a_store_with_other_tables_is_not_touched(
    laptop: Memory, desktop: Memory, tmp_path: Path
) -> None:
    desktop.close()
    for version, error, words in (
        (2, StoreError, "holdfast store migrate"),
        (99, StoreTooNew, "newer Holdfast"),
    ):
        with apsw.Connection(str(tmp_path / "desktop.db")) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(error, match=words):
            laptop.admin.sync(tmp_path / "desktop.db")


def test_a_synced_memory_is_synced_when_it_is_closed(
    open_at: Callable[..., Memory], tmp_path: Path
) -> None:
    synced = Settings(memory_mode="synced", sync_with=str(tmp_path / "desktop.db"))
    laptop = open_at("laptop", options=synced)
    laptop.remember("Prefers green tea")
    laptop.close()
    assert contents(open_at("desktop")) == ["Prefers green tea"]


def test_a_sync_at_the_end_that_fails_is_seen_the_next_time_and_goes_once_it_works(
    open_at: Callable[..., Memory], tmp_path: Path
) -> None:
    (tmp_path / "away").write_text("a file where a folder should be")
    synced = Settings(memory_mode="synced", sync_with=str(tmp_path / "away" / "desktop.db"))
    with open_at("laptop", options=synced) as laptop:
        laptop.remember("Prefers green tea")
    again = open_at("laptop", options=synced)
    problems = again.stats()["problems"]
    assert [name for name in problems if name.startswith("sync")] == [f"sync {synced.sync_with}"]
    (tmp_path / "away").unlink()
    (tmp_path / "away").mkdir()
    assert again.admin.sync().sent["memory"] == 1
    assert again.stats()["problems"] == {}


def test_the_command_syncs_plans_and_says_what_it_did(cli: Any, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    cli("remember", "Prefers green tea", "--store", ours)
    planned = cli("store", "sync", theirs, "--plan", "--store", ours)
    assert f"Would receive nothing from {theirs}, send 1 memory" in planned.out
    assert f"There was no store at {theirs}; it would be made." in planned.out
    made = cli("store", "sync", theirs, "--store", ours).out
    assert "sent 1 memory" in made
    assert f"There was no store at {theirs}; it was made for this." in made
    again = cli("store", "sync", theirs, "--store", ours).out
    assert "Nothing to do" in again and "There was no store" not in again
    assert '"sent": {}' in cli("store", "sync", theirs, "--store", ours, "--json").out
    missing = cli("store", "sync", "--store", ours)
    assert missing.code == 2
    assert "sync_with" in missing.err


def test_no_entry_that_was_purged_carries_a_word(laptop: Memory, desktop: Memory) -> None:
    note = laptop.remember(CANARY)
    meet(laptop, desktop)
    laptop.confirm(note.id)
    desktop.forget(note.id)
    laptop.admin.purge(note.id)
    meet(laptop, desktop)
    for hf in (laptop, desktop):
        events = hf.store.events([ANN], target=note.id)
        assert all(event.before is None or is_purged(event) for event in events)
        assert len(events) >= 4
