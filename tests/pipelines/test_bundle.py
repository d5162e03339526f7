"""Export and import: lossless, streaming, all or nothing."""

from __future__ import annotations

import hashlib
import json
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import Conflict, InvalidInput, NotFound, Refused
from holdfast.errors import StoreError
from holdfast.replication.bundle import import_bundle
from holdfast.storage.row_codec import to_json
from holdfast.storage.store_types import Author
from holdfast.types import Scope, Triple


@pytest.fixture
def fresh(open_memory, tmp_path):
    """Opens a memory on a new, empty file each time."""
    numbers = count()
    return lambda *scopes, **options: open_memory(
        *scopes, path=tmp_path / f"fresh{next(numbers)}.db", **options
    )


def lived_in(hf, clock):
    """A memory with everything that can happen in one."""
    tea = hf.remember(
        "Prefers green tea", tags=("drinks",), metadata={"n": [1, None, "é"]}, confidence=0.25
    )
    hf.remember(
        "Ann drinks tea",
        kind="rule",
        title="Tea",
        quote="tea!",
        triple=Triple("Ann", "drinks", "tea"),
    )
    clock.forward(hours=1)
    hf.capture("s1", "user", 'Line one\nline "two" \u2028 🦊 \t', author="Ann", event_time=0)
    hf.capture("s1", "assistant", "Noted")
    hf.correct(tea.id, "Prefers coffee", reason="changed")
    hf.undo()
    gone = hf.remember("A word to erase")
    hf.confirm(gone.id)
    hf.admin.purge(gone.id)
    clock.forward(hours=1)
    hf.archive(hf.remember("Old news", valid_from=5, valid_until=clock.now).id)
    log(
        hf,
        "s1",
        {"role": "user", "parts": [{"text": 'Line one "two" \u2028 🦊 \t'}]},
        {"role": "assistant", "n": 1.5},
    )
    log(hf, "s1", {})
    hf.recall("tea")
    return hf


def log(hf, session, *bodies):
    """Appends messages to a session."""
    author = Author("t", "run_log", hf.clock(), "log")
    return hf.store.write(
        author, lambda tx: tx.sessions.add_messages(hf.scopes[0], session, bodies)
    )


def again(hf, fresh, **options):
    """The export of a new memory that took in the export of `hf`."""
    scopes = [str(scope) for scope in hf.scopes]
    copy = fresh(*scopes)
    copy.admin.import_(hf.admin.export(**options))
    assert copy.admin.check() == []
    return list(copy.admin.export(**options))


# There and back


class LostOnce:
    """A store whose transaction is lost before it is committed, and is made again."""

    def __init__(self, store):
        self._store = store

    def write(self, author, work):
        def and_lose(tx):
            work(tx)
            raise ConnectionError

        with pytest.raises(ConnectionError):
            self._store.write(author, and_lose)
        return self._store.write(author, work)


def test_an_import_that_loses_its_server_says_so_and_imports_nothing(hf):
    hf.remember("tea")
    author, bob = Author("t", "run_x", 1, "import"), Scope("user", "bob")
    with pytest.raises(StoreError, match="import it again"):
        import_bundle(LostOnce(hf.store), author, hf.admin.export(), into=bob)
    assert hf.store.scopes() == list(hf.scopes)


@pytest.mark.parametrize("options", [{}, {"vectors": True}])
def test_export_import_export_gives_the_same_bytes(hf, clock, fresh, options):
    lived_in(hf, clock)
    assert again(hf, fresh, **options) == list(hf.admin.export(**options))


def test_the_contents_are_the_same_too(hf, clock, fresh):
    lived_in(hf, clock)
    copy = fresh("user:ann")
    copy.admin.import_(hf.admin.export())
    statuses = ("active", "archived", "superseded")
    assert [m.with_(seq=0) for m in copy.list(statuses=statuses)] == [
        m.with_(seq=0) for m in hf.list(statuses=statuses)
    ]
    assert copy.stats()["memories"] == hf.stats()["memories"]
    assert [(e.run, e.verb, e.target) for e in copy.admin.log(limit=None)] == [
        (e.run, e.verb, e.target) for e in hf.admin.log(limit=None)
    ]


def test_several_scopes_travel_together(hf, open_memory, clock, fresh):
    lived_in(hf, clock)
    lived_in(open_memory("user:bob"), clock)
    both = open_memory("user:ann", "user:bob")
    both.recall("tea")
    for options in ({}, {"vectors": True}):
        assert again(both, fresh, **options) == list(both.admin.export(**options))


def test_what_was_imported_is_recalled(hf, clock, fresh):
    lived_in(hf, clock)
    copy = fresh("user:ann")
    copy.admin.import_(hf.admin.export())
    assert [hit.memory.id for hit in copy.recall("green tea")] == [
        hit.memory.id for hit in hf.recall("green tea")
    ]


def test_with_vectors_nothing_is_embedded_again(hf, fresh, fake):
    hf.remember_many(["green tea", "black tea"])
    hf.recall("tea")
    copy = fresh("user:ann")
    assert copy.admin.import_(hf.admin.export(vectors=True)).vectors == 2
    assert copy.stats()["vectors"] == {fake.identity: 2}
    calls = fake.calls
    copy.recall("tea")
    assert fake.calls == calls + 1


def test_an_imported_history_can_still_be_undone(hf, fresh):
    tea = hf.remember("green tea")
    hf.archive(tea.id)
    copy = fresh("user:ann")
    copy.admin.import_(hf.admin.export())
    copy.undo(hf.last_run)
    assert copy.get(tea.id).status == "active"
    assert [event.verb for event in copy.history(tea.id)] == ["remember", "archive", "undo"]


texts = st.text(min_size=1, max_size=60)
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("remember"),
            texts,
            st.sampled_from(["fact", "rule", "episode"]),
            st.lists(texts, max_size=2),
        ),
        st.tuples(st.just("capture"), st.sampled_from(["s1", "s2"]), texts),
        st.tuples(st.sampled_from(["archive", "confirm", "purge", "restore"]), st.integers(1, 8)),
        st.tuples(st.just("correct"), st.integers(1, 8), texts),
        st.tuples(
            st.just("log"), st.sampled_from(["s1", "s2"]), st.dictionaries(texts, texts, max_size=2)
        ),
        st.tuples(st.just("undo")),
    ),
    max_size=12,
)


def take(hf, step):
    match step:
        case "remember", text, kind, tags:
            hf.remember(text, kind=kind, tags=tags, metadata={"tags": tags})
        case "capture", session, text:
            hf.capture(session, "user", text)
        case "log", session, body:
            log(hf, session, body)
        case "correct", number, text:
            hf.correct(number, text)
        case ("undo",):
            hf.undo()
        case "purge", number:
            hf.admin.purge(number)
        case verb, number:
            getattr(hf, verb)(number)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps)
def test_whatever_happened_the_round_trip_gives_the_same_bytes(open_memory, clock, steps):
    hf, copy = (open_memory("user:ann", path=":memory:") for _ in range(2))
    for step in steps:
        clock.forward(seconds=1)
        try:
            take(hf, step)
        except (NotFound, InvalidInput, Conflict, Refused):
            continue
    lines = list(hf.admin.export())
    copy.admin.import_(lines)
    assert list(copy.admin.export()) == lines
    assert copy.admin.check() == []


# Streaming


def test_an_export_is_made_line_by_line(hf):
    hf.remember_many([f"fact number {number}" for number in range(2000)])
    lines = hf.admin.export()
    first = [next(lines), next(lines)]
    assert '"bundle":"holdfast"' in first[0]
    assert "fact number 0" in first[1]
    assert sum(1 for _ in lines) > 2000


def test_an_import_asks_for_each_line_when_the_one_before_is_stored(hf, fresh):
    hf.remember_many([f"fact number {number}" for number in range(300)])
    taken, ahead = [], []

    def lines():
        for number, line in enumerate(hf.admin.export(history=False)):
            ahead.append(number - len(taken))
            yield line

    fresh("user:ann").admin.import_(lines(), progress=taken.append)
    assert (len(ahead), max(ahead)) == (302, 1)


def test_every_line_of_an_export_shows_the_same_moment(hf, open_memory):
    hf.remember_many([f"fact {number}" for number in range(5)])
    lines = hf.admin.export()
    first = next(lines) + next(lines)
    open_memory("user:ann").remember("written meanwhile")
    assert "written meanwhile" not in first + "".join(lines)
    assert "written meanwhile" in "".join(hf.admin.export())


# What is wrong with a bundle


def broken(lines):
    first_memory = next(number for number, line in enumerate(lines) if '"type":"memory"' in line)
    row = json.loads(lines[first_memory])

    def with_row(**changes):
        line = json.dumps(row | changes) + "\n"
        return [*lines[:first_memory], line, *lines[first_memory + 1 :]]

    return {
        "empty": ([], "not a Holdfast bundle"),
        "a blank line": (["\n"], "not a Holdfast bundle"),
        "without its last line": (lines[:-1], "cut off"),
        "without a line in the middle": (
            lines[:first_memory] + lines[first_memory + 1 :],
            "checksum",
        ),
        "with a line cut in half": ([*lines[:-2], lines[-2][:20]], "not JSON"),
        "with a changed text": (with_row(content="another"), "checksum"),
        "with lines swapped": ([*lines[:2], *lines[2:4][::-1], *lines[4:]], "checksum"),
        "with a line twice": ([*lines[:2], *lines[1:]], "checksum"),
        "of another program": (['{"bundle":"other"}\n', *lines[1:]], "not a Holdfast bundle"),
        "that is not JSON at all": (["hello\n"], "not a Holdfast bundle"),
        "that is a list": (["[1,2]\n"], "not a Holdfast bundle"),
        "of a newer version": (
            ['{"bundle":"holdfast","version":99,"history":true}\n', *lines[1:]],
            "version 99",
        ),
        "with garbage inside": (
            [*lines[:2], "\x00\x01 garbage\n", *lines[2:]],
            "Line 3 is not JSON",
        ),
        "with a number as a line": (
            [*lines[:2], "17\n", *lines[2:]],
            "Line 3 is not a JSON object",
        ),
        "nested too deeply": ([*lines[:2], "[" * 100_000 + "\n", *lines[2:]], "Line 3"),
        "of an unknown type": (
            [*lines[:2], '{"type":"ghost"}\n', *lines[2:]],
            "unknown type 'ghost'",
        ),
        "without a scope": ([lines[0], '{"type":"memory"}\n'], "Line 2: this memory is incomplete"),
        "with a scope of no kind": (with_row(scope="planet:earth"), "Unknown scope kind"),
        "with a number for a text": (with_row(content=17), "Line"),
        "with a text for a time": (with_row(created_at="now"), "Line"),
        "with half a surrogate pair": (with_row(content="\ud800"), "Line"),
        "with half a surrogate pair unescaped": ([*lines[:2], '"\ud800"\n', *lines[2:]], "Line 3"),
    }


BROKEN = sorted(broken(['{"bundle":"holdfast"}\n', '{"type":"memory"}\n', '{"type":"end"}\n']))


@pytest.mark.parametrize("how", BROKEN)
def test_a_bundle_that_is_wrong_is_refused_and_nothing_is_imported(hf, clock, fresh, how):
    lines, complaint = broken(list(lived_in(hf, clock).admin.export()))[how]
    target = fresh("user:ann")
    target.remember("was here before")
    before = list(target.admin.export())
    with pytest.raises(InvalidInput, match=complaint):
        target.admin.import_(lines)
    assert list(target.admin.export()) == before
    assert target.admin.check() == []


@pytest.mark.parametrize(
    "line",
    [
        "garbage\n",
        '{"type":"vector"}\n',
        '{"type":"vector","scope":"user:ann","memory":"m","model":"x","vector":"!"}\n',
        '{"type":"memory","scope":"user:ann"}\n',
    ],
)
def test_a_bad_vector_line_is_refused_and_the_message_says_what_is_in(hf, fresh, line):
    hf.remember("green tea")
    target = fresh("user:ann")
    with pytest.raises(InvalidInput, match=r"memories were imported.*reembed") as caught:
        target.admin.import_([*hf.admin.export(), line])
    assert "Nothing was imported" not in str(caught.value)
    assert [memory.content for memory in target.list()] == ["green tea"]
    assert target.admin.check() == []


# Twice, conflicts, other scopes, without history


def test_importing_twice_equals_once(hf, clock, fresh):
    lived_in(hf, clock)
    copy = fresh("user:ann")
    once = copy.admin.import_(hf.admin.export(vectors=True))
    twice = copy.admin.import_(hf.admin.export(vectors=True))
    assert (sum(twice.added.values()), twice.skipped) == (0, sum(once.added.values()))
    assert list(copy.admin.export(vectors=True)) == list(hf.admin.export(vectors=True))


def test_importing_into_the_memory_it_came_from_changes_nothing(hf, clock):
    before = list(lived_in(hf, clock).admin.export())
    assert sum(hf.admin.import_(before).added.values()) == 0
    assert list(hf.admin.export()) == before


def test_a_newer_export_adds_only_what_is_new(hf, fresh):
    hf.remember("one")
    copy = fresh("user:ann")
    copy.admin.import_(hf.admin.export())
    hf.remember("two")
    assert copy.admin.import_(hf.admin.export()).added["memory"] == 1
    assert list(copy.admin.export()) == list(hf.admin.export())


def test_a_row_that_is_already_there_but_different_is_refused_whole(hf, fresh):
    tea = hf.remember("green tea")
    lines = list(hf.admin.export())
    copy = fresh("user:ann")
    copy.admin.import_(lines)
    copy.archive(tea.id)
    hf.remember("new")
    with pytest.raises(Conflict, match="already here with another"):
        copy.admin.import_(hf.admin.export())
    assert len(copy.list(statuses=["active", "archived"])) == 1


def test_a_person_whom_both_stores_know_is_the_same_person(hf, clock, fresh):
    hf.capture("s1", "user", "My sister Ines moved to Porto.")
    lines = [*hf.admin.export()]
    clock.forward(days=3)
    other = fresh("user:ann")
    other.capture("s2", "user", "My sister Ines called.")
    other.admin.import_(lines)
    (ines,) = (one for one in other.entities.list() if one.name == "Ines")
    assert len(other.entities.get("Ines").memories) == 2, ines


def test_a_bundle_can_be_put_into_another_scope(hf, clock, fresh):
    lived_in(hf, clock)
    copy = fresh("project:acme")
    copy.admin.import_(hf.admin.export(vectors=True), into="project:acme")
    renamed = [
        line.replace('"user:ann"', '"project:acme"') for line in hf.admin.export(vectors=True)
    ]
    ours = list(copy.admin.export(vectors=True))
    assert [line for line in ours if "sha256" not in line] == [
        line for line in renamed if "sha256" not in line
    ]
    assert copy.scoped("user:ann").list() == []


def test_a_copy_in_another_scope_of_the_same_store_keeps_its_vectors_apart(hf, open_memory, fresh):
    hf.remember_many(["green tea", "black tea"])
    hf.recall("tea")
    hf.admin.import_(hf.admin.export(vectors=True), into="user:bob")
    both = open_memory("user:ann", "user:bob")
    assert set(both.stats()["vectors"].values()) == {4}
    assert again(both, fresh, vectors=True) == list(both.admin.export(vectors=True))


def test_an_import_without_history_is_one_run_that_can_be_undone(hf, clock, fresh):
    lived_in(hf, clock)
    copy = fresh("user:ann")
    # As a bundle from before there were messages: with them the session it brings cannot be undone.
    lines = without_messages(hf.admin.export(history=False))
    copy.admin.import_(lines)
    assert {event.verb for event in copy.admin.log(limit=None)} == {"import"}
    assert list(copy.admin.export(history=False)) == lines
    copy.undo()
    assert (copy.list(statuses=["active", "archived", "superseded"]), copy.sessions.list()) == (
        [],
        [],
    )
    assert copy.admin.check() == []


# Messages


def without_messages(lines):
    """A bundle as it was before there were messages."""
    *rows, _ = (line for line in lines if '"type":"message"' not in line)
    seal = {
        "type": "end",
        "rows": len(rows) - 1,
        "sha256": hashlib.sha256("".join(rows).encode()).hexdigest(),
    }
    return [*rows, to_json(seal) + "\n"]


def test_messages_travel_behind_their_session(hf, clock, fresh):
    lines = list(lived_in(hf, clock).admin.export())
    nouns = [json.loads(line).get("type") for line in lines]
    assert nouns[1:6] == ["session", "message", "message", "message", "memory"]
    copy = fresh("user:ann")
    added = copy.admin.import_(lines).added
    assert (added["session"], added["message"]) == (1, 3)
    assert copy.store.sessions.messages(copy.scopes[0], "s1") == hf.store.sessions.messages(
        hf.scopes[0], "s1"
    )
    assert log(copy, "s1", {"more": True}) == 4


def test_a_bundle_from_before_there_were_messages_is_imported(hf, clock, fresh):
    lines = without_messages(lived_in(hf, clock).admin.export())
    copy = fresh("user:ann")
    assert copy.admin.import_(lines).added["message"] == 0
    assert list(copy.admin.export()) == lines
    assert copy.admin.check() == []


def test_an_import_without_history_that_brought_messages_stays(hf, clock, fresh):
    copy = fresh("user:ann")
    copy.admin.import_(lived_in(hf, clock).admin.export(history=False))
    lines = list(copy.admin.export())
    with pytest.raises(Conflict, match="s1 has messages"):
        copy.undo()
    assert list(copy.admin.export()) == lines


@pytest.mark.parametrize(
    "changed", [{"session": "s2"}, {"body": [1]}, {"body": None}, {"position": "one"}]
)
def test_a_bundle_with_a_message_that_is_none_is_refused(hf, clock, fresh, changed):
    lines = list(lived_in(hf, clock).admin.export())
    lines[2] = to_json(json.loads(lines[2]) | changed) + "\n"
    copy = fresh("user:ann")
    with pytest.raises(InvalidInput, match="Line 3: This message cannot be stored"):
        copy.admin.import_(lines)
    assert copy.store.scopes() == []


def test_progress_is_told_for_every_row(hf, fresh):
    hf.remember_many(["one", "two"])
    told = []
    fresh("user:ann").admin.import_(hf.admin.export(), progress=told.append)
    assert sum(told) == 4


def test_there_may_be_nothing_to_export(hf):
    assert len(list(hf.admin.export())) == 2
