"""From sessions to records: what is written, what is known already, what is replaced, and what
never comes back.
"""

from __future__ import annotations

import json

import pytest
from shop import file_of

from holdfast.config import Settings
from holdfast.errors import InvalidInput, NotFound, Refused
from holdfast.records import session_notes as extracting

POSTGRES = "We'll use Postgres instead of SQLite because we need concurrent writers."
TOLD = "Decided: use Postgres instead of SQLite. Reason: we need concurrent writers."


@pytest.fixture
def hf(shop):
    return shop.open()


def talk(hf, session, *said, **about):
    """A session of the project that has ended; who says nothing of themselves is a person."""
    turns = [(one if isinstance(one, tuple) else ("user", one)) for one in said]
    hf.capture_many(
        [{"session": session, "role": role, "text": text, **about} for role, text in turns]
    )
    hf.sessions.end(session)


def fates(done):
    return [(one.decision, one.note.category) for one in done.notes]


# Written down


def test_a_note_becomes_a_record_with_its_source_its_quote_and_its_file(hf, shop):
    talk(hf, "s1", "hello", POSTGRES)
    (id_,) = hf.records.extract().records
    record = hf.get(id_)
    turn = hf.list(kinds=["turn"], limit=1)[0]
    assert (record.content, record.category, record.title) == (
        TOLD,
        "decisions",
        "Use Postgres instead of SQLite",
    )
    assert record.quote == POSTGRES.rstrip(".")
    assert record.metadata["source"] == {"session": "s1", "at": "2026-03-18T12:00:00+00:00"}
    assert [
        (edge.source, edge.target, edge.relation) for edge in hf.store.edges(record.scope, id_)
    ] == [(id_, turn.id, "derived_from")]
    assert file_of(hf, record).read_text("utf-8").endswith(f"---\n\n{TOLD}\n")


def test_the_source_names_file_and_lines_where_the_session_was_indexed(hf, shop, monkeypatch):
    monkeypatch.setenv("HOME", str(shop.folder.parent))
    line = {
        "type": "user",
        "uuid": "a",
        "parentUuid": None,
        "sessionId": "s1",
        "cwd": str(shop.folder),
        "timestamp": "2026-02-01T10:00:00Z",
        "message": {"role": "user", "content": POSTGRES},
    }
    path = shop.folder.parent / "logs" / "s1.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(line) + "\n")
    hf.projects.index([path])
    (record,) = map(hf.get, hf.records.extract().records)
    assert record.metadata["source"] == {
        "session": "s1",
        "path": "~/logs/s1.jsonl",
        "lines": [1, 1],
        "at": "2026-02-01T10:00:00+00:00",
    }


def test_what_holds_everywhere_goes_to_the_assistant(hf, shop):
    talk(hf, "s1", "In all my projects I prefer small commits.")
    (record,) = map(hf.get, hf.records.extract().records)
    assert record.scope == shop.own.scope
    assert file_of(hf, record).is_file()


def test_what_a_purged_session_taught_the_assistant_goes_with_it(hf, shop):
    talk(hf, "s1", "In all my projects I prefer small commits.", "I like tests.")
    talk(hf, "s2", "In all my projects I prefer long names.")
    of_first, of_second = map(hf.get, hf.records.extract().records)
    assert of_first.id in {one.memory.id for one in hf.admin.plan_purge(session="s1").going}
    hf.admin.purge(session="s1")
    assert [one.id for one in hf.records.list()] == [of_second.id]
    assert not any(
        b"small commits" in one.read_bytes() for one in shop.own.root.rglob("*") if one.is_file()
    )
    (turn,) = hf.list(kinds=["turn"])
    hf.admin.purge(turn.id)
    assert hf.records.list() == []


def test_a_plan_shows_the_same_and_writes_nothing(hf):
    talk(hf, "s1", POSTGRES)
    planned = hf.records.extract(plan=True)
    assert fates(planned) == [("add", "decisions")]
    assert (planned.records, hf.records.list()) == ([], [])
    assert [one.note for one in hf.records.extract().notes] == [one.note for one in planned.notes]


def test_undo_takes_back_the_records_of_a_session_and_their_files(hf):
    talk(hf, "s1", POSTGRES)
    (record,) = map(hf.get, hf.records.extract().records)
    file = file_of(hf, record)
    hf.undo()
    assert (hf.records.list(), file.exists()) == ([], False)


def test_where_a_person_approves_records_wait(shop):
    hf = shop.open(settings=Settings(approval="all"))
    talk(hf, "s1", POSTGRES)
    (id_,) = hf.records.extract().records
    assert hf.get(id_).status == "proposed"
    assert hf.records.list() == []
    assert fates(shop.open(settings=Settings(approval="all")).records.extract()) == []


# Read once


def test_a_session_is_read_once_and_again_when_it_goes_on(hf):
    talk(hf, "s1", POSTGRES)
    assert hf.records.extract().sessions == 1
    again = hf.records.extract()
    assert (again.sessions, again.skipped, again.notes) == (0, 1, [])
    hf.clock.forward(hours=1)
    talk(hf, "s1", "Every migration must be reversible.")
    assert fates(hf.records.extract("s1")) == [("add", "principles")]


@pytest.mark.parametrize("change", ["edit", "delete", "archive", "reclassify"])
def test_what_a_person_did_to_a_record_is_not_undone_by_reading_the_session_again(hf, change):
    talk(hf, "s1", POSTGRES)
    (id_,) = hf.records.extract().records
    match change:
        case "edit":
            hf.records.update(id_, body="Postgres it is, see the wiki.")
        case "delete":
            hf.records.delete(id_)
        case "archive":
            hf.archive(id_)
        case "reclassify":
            hf.records.reclassify(id_, "principles")
    hf.clock.forward(hours=1)
    talk(hf, "s1", "thanks!")
    assert (hf.records.extract().sessions, hf.records.extract().notes) == (1, [])


def test_turns_that_are_not_to_be_remembered_are_not_read(hf):
    talk(hf, "s1", POSTGRES, "don't remember that", "Every migration must be reversible.")
    assert fates(hf.records.extract()) == [("add", "principles")]


# Compared


def test_what_another_session_says_again_is_known_and_the_file_stays_as_it_is(hf):
    talk(hf, "s1", POSTGRES)
    (record,) = map(hf.get, hf.records.extract().records)
    before = file_of(hf, record).read_bytes()
    hf.clock.forward(days=1)
    talk(hf, "s2", "ok so we'll use Postgres instead of SQLite because we need concurrent writers!")
    done = hf.records.extract()
    assert fates(done) == [("known", "decisions")]
    assert done.notes[0].other == record.id
    assert file_of(hf, record).read_bytes() == before
    assert len(hf.store.edges(record.scope, record.id)) == 2


def test_an_archived_record_does_not_come_back_from_another_session(hf):
    talk(hf, "s1", POSTGRES)
    (id_,) = hf.records.extract().records
    hf.archive(id_)
    talk(hf, "s2", POSTGRES)
    assert fates(hf.records.extract()) == [("known", "decisions")]
    assert hf.get(id_).status == "archived"


def test_a_later_decision_against_an_earlier_one_takes_its_place_and_the_old_is_kept(hf):
    talk(hf, "s1", "Let's go with Redis instead of Memcached because we need sorted sets.")
    (old,) = map(hf.get, hf.records.extract().records)
    hf.clock.forward(days=1)
    talk(hf, "s2", "We'll use Valkey instead of Redis because of the licence.")
    done = hf.records.extract()
    assert fates(done) == [("supersedes", "decisions")]
    assert [one.id for one in hf.records.list()] == done.records
    assert hf.get(old.id).status == "superseded"
    assert "status: superseded" in file_of(hf, old).read_text("utf-8")


def test_a_record_that_a_person_wrote_is_never_replaced(hf):
    mine = hf.records.add("Use Redis instead of Memcached", category="decisions")
    hf.clock.forward(days=1)
    talk(hf, "s1", "We'll use Valkey instead of Redis because of the licence.")
    done = hf.records.extract()
    assert fates(done) == [("conflicts", "decisions")]
    assert {one.id for one in hf.records.list()} == {mine.id, *done.records}
    assert [edge.relation for edge in hf.store.edges(mine.scope, mine.id)] == ["conflicts_with"]


def test_sessions_are_compared_by_when_they_were_held_not_by_when_they_are_read(hf):
    talk(hf, "late", "We'll never deploy on Fridays.", "Never deploy on Fridays in this repo.")
    hf.records.extract("late")
    hf.clock.forward(days=-30)
    talk(hf, "early", "Always deploy on Fridays in this repo.")
    done = hf.records.extract("early")
    assert [one.decision for one in done.notes] == ["ignored"]
    assert done.records == []


def test_new_steps_for_the_same_goal_replace_the_old_ones(hf):
    talk(hf, "s1", "To deploy to staging:\n1. run `make image`\n2. run `make push`")
    hf.records.extract()
    hf.clock.forward(days=1)
    talk(
        hf,
        "s2",
        "To deploy to staging:\n1. run `make image`\n2. run `make push`\n3. tell the channel",
    )
    assert fates(hf.records.extract()) == [("supersedes", "procedures")]


# What goes wrong


def test_a_model_that_does_not_answer_fails_its_session_only_and_is_asked_again(hf):
    talk(hf, "s1", POSTGRES)
    talk(hf, "s2", "Every migration must be reversible.")

    def flaky(prompt):
        if "Postgres" in prompt:
            raise TimeoutError("no answer")
        return "[]"

    done = hf.records.extract(complete=flaky)
    assert (done.sessions, list(done.failures)) == (1, ["s1"])
    assert "no answer" in done.failures["s1"]
    assert fates(hf.records.extract()) == [("add", "decisions")]


def test_a_fault_in_one_session_does_not_keep_others_from_being_read(hf, monkeypatch, caplog):
    talk(hf, "s1", POSTGRES)
    talk(hf, "s2", "Every migration must be reversible.")
    usual = extracting.find_notes

    def faulty(turns, judge):
        if "Postgres" in turns[0].content:
            raise RuntimeError("a fault")
        return usual(turns, judge)

    monkeypatch.setattr(extracting, "find_notes", faulty)
    done = hf.records.extract()
    assert (fates(done), done.failures) == (
        [("add", "principles")],
        {"s1": "RuntimeError: a fault"},
    )
    assert "could not be extracted" in caplog.text


def test_a_session_that_goes_on_while_it_is_read_is_read_the_next_time(hf):
    talk(hf, "s1", POSTGRES)

    def busy(prompt):
        hf.clock.forward(minutes=1)
        talk(hf, "s1", "one more thing")
        return "[]"

    assert "went on while it was read" in hf.records.extract(complete=busy).failures["s1"]
    assert fates(hf.records.extract()) == [("add", "decisions")]


def test_a_models_notes_are_reconciled_like_any(hf):
    talk(hf, "s1", POSTGRES)
    note = {
        "category": "decisions",
        "text": "Postgres replaces SQLite.",
        "turn": 1,
        "quote": "use Postgres",
    }
    (record,) = map(hf.get, hf.records.extract(complete=lambda prompt: json.dumps([note])).records)
    assert (record.content, record.quote) == ("Postgres replaces SQLite.", "use Postgres")


def test_only_sessions_of_an_open_project_that_is_switched_on_are_read(hf, shop):
    with pytest.raises(NotFound, match="No session 'nosuch'"):
        hf.records.extract("nosuch")
    with pytest.raises(InvalidInput, match="project init"):
        shop.open(shop.own).records.extract()
    hf.scoped(shop.place.scope).sessions.set_profile(enabled=False)
    with pytest.raises(Refused, match="is off"):
        hf.records.extract()


def test_a_session_is_found_by_the_beginning_of_its_id(hf):
    talk(hf, "0b5d-1", POSTGRES)
    talk(hf, "7c11-2", "hello there")
    done = hf.records.extract("0b5d")
    assert (done.sessions, len(done.records)) == (1, 1)
    with pytest.raises(InvalidInput, match="may be 2 sessions"):
        hf.records.extract("")
