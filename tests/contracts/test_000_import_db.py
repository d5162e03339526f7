"""Seed 000, an existing InitRunner database: everything in it comes along, and the file itself
stays as it was.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import apsw
import numpy as np
import pytest
from initrunner_files import EARLY, MODEL, OldDatabase
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from holdfast.errors import Conflict, InvalidInput, StoreBusy, TooLarge
from holdfast.importers.initrunner import ImportedDatabase, detect, import_database, write_memories
from holdfast.storage import SQLiteStore
from holdfast.types import STATUSES, from_datetime

JUNE = datetime(2025, 6, 1, 10, tzinfo=UTC)


@pytest.fixture
def old(tmp_path):
    """An empty database of the newer kind."""
    database = OldDatabase(tmp_path / "old.db")
    yield database
    database.close()


@pytest.fixture
def memory(write_role, memory_of):
    return memory_of(write_role())


def held(memory):
    """What the memories are, oldest number first."""
    return sorted(memory.hf.list(statuses=STATUSES), key=lambda one: one.seq)


def turns(first, last):
    """A conversation from one turn to another, as JSON; each turn is a prompt and an answer."""
    messages = []
    for number in range(first, last + 1):
        at = JUNE + timedelta(minutes=number)
        messages.append(
            ModelRequest([UserPromptPart("yes" if number % 2 else "go on", timestamp=at)])
        )
        messages.append(ModelResponse([TextPart("ok")], timestamp=at))
    return dumped(messages)


def dumped(messages):
    return ModelMessagesTypeAdapter.dump_python(messages, mode="json")


def bodies(memory, session):
    return [message.body for message in memory.hf.sessions.messages(session)]


def with_warning(done, *words):
    return any(all(word in line for word in words) for line in done.warnings)


# Memories


def test_memories_come_with_ids_types_times_categories_and_metadata(old, memory):
    old.memory("Likes tea", id=7, category="My Notes", metadata={"n": [1, "é"]})
    old.memory(
        "Deployed v2",
        id=3,
        type_="episodic",
        created_at="2025-06-02T10:00:00",
        consolidated_at=EARLY,
    )
    old.memory("Test first", id=12, type_="procedural", created_at="2025-06-01T12:00:00+02:00")
    done = import_database(old.close(), memory)
    assert done == ImportedDatabase(3, 0, 0, 0, 0, True, MODEL, ())
    deploy, tea, test = held(memory)
    assert [one.seq for one in (deploy, tea, test)] == [3, 7, 12]
    assert (tea.kind, tea.content, tea.category, tea.metadata) == (
        "fact",
        "Likes tea",
        "My Notes",
        {"n": [1, "é"]},
    )
    assert (
        tea.created_at == tea.updated_at == tea.event_time == test.created_at == from_datetime(JUNE)
    )
    assert (tea.source, tea.consolidated_at, tea.outcome) == ("initrunner", None, "")
    assert (deploy.kind, deploy.created_at) == ("episode", from_datetime(JUNE + timedelta(days=1)))
    assert (deploy.consolidated_at, deploy.outcome) == (from_datetime(JUNE), "extracted")
    assert test.kind == "rule"
    assert memory.hf.admin.check() == []


def test_the_next_memory_has_a_number_behind_the_imported_ones(old, memory):
    old.memory("Likes tea", id=40)
    import_database(old.close(), memory)
    assert memory.remember("semantic", "Likes coffee").seq == 41


def test_an_older_file_has_facts_only(tmp_path, memory):
    old = OldDatabase(tmp_path / "v0.db", version=0, model=None, dimensions=None, vectors=False)
    old.memory("Likes tea", category="drinks")
    done = import_database(old.close(), memory)
    assert (done.memories, done.kept_ids, done.model, done.warnings) == (1, True, "", ())
    (tea,) = held(memory)
    assert (tea.kind, tea.category, tea.metadata, tea.consolidated_at) == (
        "fact",
        "drinks",
        {},
        None,
    )


def test_importing_twice_equals_once(old, memory, clock):
    old.memory("Likes tea", vector=[1, 0, 0, 0])
    old.memory("A time nobody can read", created_at="last week")
    old.session("s1", turns(1, 2))
    path = old.close()
    first = import_database(path, memory)
    before = list(memory.hf.admin.export(vectors=True))
    clock.forward(days=1)
    second = import_database(path, memory)
    assert (first.memories, first.sessions, first.messages, first.vectors) == (2, 1, 4, 1)
    assert (second.memories, second.skipped, second.sessions, second.messages, second.vectors) == (
        0,
        2,
        0,
        0,
        0,
    )
    assert second.kept_ids
    assert list(memory.hf.admin.export(vectors=True)) == before


def test_a_memory_that_has_changed_here_since_is_left_as_it_is(old, memory):
    number = old.memory("Likes tea")
    path = old.close()
    import_database(path, memory)
    memory.hf.archive(number)
    assert import_database(path, memory).skipped == 1
    assert held(memory)[0].status == "archived"


def test_numbers_that_are_taken_give_way_to_new_ones_for_all(old, memory):
    for number in (1, 2, 3):
        old.memory(f"Old {number}", id=number, created_at=f"2025-06-0{4 - number}T10:00:00")
    memory.remember("semantic", "First")
    person = memory.hf.scoped(memory.scope)
    person.actor = "cli:ann"
    person.admin.purge(memory.remember("semantic", "Gone").seq)
    done = import_database(old.close(), memory)
    assert (done.memories, done.kept_ids) == (3, False)
    assert with_warning(done, "other ids")
    assert [(one.seq, one.content) for one in held(memory)] == [
        (1, "First"),
        (3, "Old 3"),
        (4, "Old 2"),
        (5, "Old 1"),
    ]
    assert memory.hf.admin.check() == []


def test_a_number_that_another_scope_of_the_file_has_is_taken_too(old, memory):
    memory.hf.scoped("user:ann").remember("Somebody else's")
    old.memory("Mine", id=1)
    assert not import_database(old.close(), memory).kept_ids


@pytest.mark.parametrize("number", [0, -5, 2**53])
def test_a_number_no_memory_can_have_gives_way_to_a_new_one(old, memory, number):
    old.memory("Likes tea", id=number)
    done = import_database(old.close(), memory)
    assert (done.memories, done.kept_ids) == (1, False)


def test_blank_memories_are_skipped_and_counted(old, memory):
    for content in ("", " \n", None, "Likes tea"):
        old.memory(content)
    done = import_database(old.close(), memory)
    assert (done.memories, done.skipped) == (1, 3)
    assert with_warning(done, "without text", "1, 2, 3")


@pytest.mark.parametrize(
    "metadata", ["{broken", '"text"', "[1]", '{"a": NaN}', '{"a": 1e999}', "[" * 5000]
)
def test_metadata_that_cannot_be_read_is_left_out(old, memory, metadata):
    number = old.memory("Likes tea", metadata=metadata)
    done = import_database(old.close(), memory)
    assert with_warning(done, "Metadata", str(number))
    assert held(memory)[0].metadata == {}


def test_deep_metadata_is_left_out(old, memory):
    old.memory("Likes tea", metadata='{"a":' * 900 + "1" + "}" * 900)
    assert with_warning(import_database(old.close(), memory), "Metadata")


@pytest.mark.parametrize("metadata", [None, "", "null", "{}"])
def test_no_metadata_is_no_oddity(old, memory, metadata):
    old.memory("Likes tea", metadata=metadata)
    assert import_database(old.close(), memory).warnings == ()


def test_an_unknown_type_becomes_a_fact(old, memory):
    old.memory("Likes tea", type_="prophetic")
    assert with_warning(import_database(old.close(), memory), "unknown type", "1 (prophetic)")
    assert held(memory)[0].kind == "fact"


def test_times_that_cannot_be_read_become_the_time_of_the_import(old, memory, clock):
    for _ in range(12):
        old.memory("Likes tea", created_at="last week", consolidated_at=None)
    old.memory("Likes tea", type_="episodic", consolidated_at="yes")
    done = import_database(old.close(), memory)
    assert with_warning(done, "Times", "memory 1, memory 2", "13 in all")
    assert {one.created_at for one in held(memory)[:12]} == {clock.now}
    assert held(memory)[12].consolidated_at == clock.now


def test_secrets_and_bytes_that_are_no_text_do_not_come_along(old, memory):
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    old.memory(f"The token is {secret}", category=f"x\n{'y' * 300}", vector=[1, 0, 0, 0])
    old.connection.execute("UPDATE memories SET created_at = CAST(x'ff' AS TEXT)")
    number = old.memory("broken")
    old.connection.execute(
        "UPDATE memories SET content = CAST(x'6f6bff' AS TEXT) WHERE id = ?", (number,)
    )
    old.session("s1", dumped([ModelRequest([UserPromptPart(f"use {secret}")])]))
    done = import_database(old.close(), memory)
    token, broken = sorted(held(memory), key=lambda one: one.seq)
    assert secret not in token.content
    assert secret not in json.dumps(bodies(memory, "s1"))
    assert token.category == f"x {'y' * 198}"
    assert broken.content == "ok\ufffd"
    assert done.vectors == 0  # it would still say what the text no longer does
    assert with_warning(done, "Secrets", "1")
    assert with_warning(done, "cut to 200", "1")


def test_metadata_that_speaks_of_redaction_is_no_secret(old, memory):
    old.memory("Likes tea", metadata={"redacted": True})
    assert import_database(old.close(), memory).warnings == ()
    assert held(memory)[0].metadata == {"redacted": True}


def test_a_text_over_the_limit_stops_everything_and_says_which(old, memory):
    old.memory("Likes tea")
    old.session("s1", turns(1, 1))
    old.memory("x" * 200_000)
    with pytest.raises(TooLarge, match=r"Memory 2 .* HOLDFAST_MAX_CONTENT_BYTES"):
        import_database(old.close(), memory)
    assert held(memory) == [] == memory.hf.sessions.list()


def test_undo_takes_back_the_memories_and_importing_again_brings_them_back(old, memory):
    memory.remember("semantic", "Mine")
    old.memory("Likes tea", id=5, vector=[1, 0, 0, 0])
    old.session("s1", turns(1, 1))
    path = old.close()
    import_database(path, memory)
    events = memory.hf.undo()
    assert {event.verb for event in events} == {"import-db"}
    assert {event.actor for event in events} == {"agent:assistant"}
    assert [one.content for one in held(memory)] == ["Mine"]
    assert len(bodies(memory, "s1")) == 2
    again = import_database(path, memory)
    assert (again.memories, again.sessions, again.vectors, again.kept_ids) == (1, 0, 1, True)
    memory.hf.undo(memory.hf.last_run)
    assert memory.hf.admin.check() == []


def test_nothing_is_evicted_before_the_next_write(old, write_role, memory_of):
    memory = memory_of(write_role("{max_memories: 2, embeddings: {provider: none}}"))
    for number in range(4):
        old.memory(f"Fact {number}", created_at=f"2025-06-0{number + 1}T10:00:00")
    import_database(old.close(), memory)
    assert len(memory.listed()) == 4
    memory.remember("semantic", "One more")
    assert [one.content for one in memory.listed()] == ["One more", "Fact 3"]


def test_progress_is_told_of_every_row(old, memory):
    for _ in range(3):
        old.memory("Likes tea")
    old.session("s1", turns(1, 1))
    old.session("s1", "broken")
    steps = []
    import_database(old.close(), memory, progress=steps.append)
    assert sum(steps) == 5


# Conversations


def test_snapshots_become_one_conversation_without_doubles(old, memory, clock):
    for last in range(
        1, 7
    ):  # only the last four turns are in each, and what is said repeats itself
        at = (JUNE + timedelta(minutes=last)).isoformat()
        old.session("s1", turns(max(1, last - 3), last), at=at)
        old.session("s2", turns(last + 10, last + 10), agent="other", at=at)
    done = import_database(old.close(), memory)
    assert (done.sessions, done.messages, done.warnings) == (2, 24, ())
    assert bodies(memory, "s1") == turns(1, 6)
    assert bodies(memory, "s2") == turns(11, 16)
    one = memory.hf.store.sessions.get(memory.scope, "s1")
    assert (one.agent, one.end_reason, one.metadata) == (
        "assistant",
        "imported",
        {"mode": "interactive"},
    )
    assert one.started_at == from_datetime(JUNE + timedelta(minutes=1))
    assert one.last_activity == one.ended_at == from_datetime(JUNE + timedelta(minutes=6))
    stored = memory.hf.sessions.messages("s1")
    assert [message.created_at for message in stored[:4:2]] == [
        one.started_at,
        one.started_at + 60_000_000,
    ]
    assert memory.hf.admin.check() == []


def test_a_message_that_a_newer_version_passed_on_is_still_the_same(old, memory):
    early, late = turns(1, 2), turns(1, 3)
    for message in early:
        for name in ("run_id", "metadata", "conversation_id", "state"):
            message.pop(name, None)
    for message in late:
        message["added_later"] = True
    old.session("s1", early)
    old.session("s1", late)
    assert import_database(old.close(), memory).messages == 6


def test_snapshots_without_overlap_are_put_one_after_another(old, memory):
    old.session("s1", turns(1, 2))
    old.session("s1", turns(8, 9))
    old.session("s1", turns(9, 9))
    import_database(old.close(), memory)
    assert bodies(memory, "s1") == turns(1, 2) + turns(8, 9)


def test_system_prompts_are_stripped_and_a_history_with_tools_can_be_resumed(old, memory):
    said = [
        ModelRequest(
            [SystemPromptPart("Be kind."), UserPromptPart("Is it open?", timestamp=JUNE)],
            instructions="x",
        ),
        ModelResponse([ToolCallPart("door", {"n": 1}, tool_call_id="c1")], timestamp=JUNE),
        ModelRequest(
            [ToolReturnPart("door", {"open": True}, tool_call_id="c1", timestamp=JUNE)],
            instructions="x",
        ),
        ModelResponse([TextPart("It is 🚪")], timestamp=JUNE),
    ]
    old.session("s1", dumped(said[:2]))
    old.session("s1", dumped(said))
    done = import_database(old.close(), memory)
    assert done.messages == 4
    assert "Be kind." not in json.dumps(bodies(memory, "s1"))
    resumed = ModelMessagesTypeAdapter.validate_json(json.dumps(memory.latest()))
    assert [type(message) for message in resumed] == [type(message) for message in said]
    assert resumed[0].parts == said[0].parts[1:]
    assert resumed[1:] == [
        said[1],
        *(ModelRequest(one.parts) if one.kind == "request" else one for one in said[2:]),
    ]


@pytest.mark.parametrize(
    "messages",
    [
        "{broken",
        "{}",
        "[1]",
        '[{"kind": "request"}]',
        '[{"kind": "request", "parts": [{}]}]',
        '[{"parts": [{"part_kind": "text", "content": "of no kind"}]}]',
        '[{"kind": "request", "parts": [{"part_kind": "user-prompt"}]}]',
        "[" * 5000,
    ],
)
def test_a_history_that_cannot_be_read_is_skipped(old, memory, messages):
    old.session("s1", turns(1, 1))
    old.session("s1", messages)
    old.session("s1", turns(1, 2))
    done = import_database(old.close(), memory)
    assert (done.sessions, done.messages) == (1, 4)
    assert with_warning(done, "Saved histories", "rows: 2")


@pytest.mark.parametrize("depth", [250, 600, *range(900, 1000, 10)])
def test_a_history_too_deep_to_be_stored_or_resumed_is_skipped(old, memory, depth):
    deep = "[" * depth + "]" * depth
    old.session(
        "s1",
        '[{"kind": "request", "parts": [{"part_kind": "tool-return", "timestamp": ' + deep + "}]}]",
    )
    done = import_database(old.close(), memory)
    assert done.sessions == 0
    assert with_warning(done, "Saved histories", "rows: 1")


def test_a_session_without_messages_or_with_no_name_is_left_out(old, memory):
    old.session("s1", [])
    old.session(" ", turns(1, 1))
    old.session("x" * 256, turns(1, 1))
    done = import_database(old.close(), memory)
    assert done.sessions == 0
    assert with_warning(done, "rows: 2, 3")
    assert memory.hf.sessions.list() == []


def test_half_a_surrogate_pair_does_not_stop_a_conversation(old, memory):
    history = turns(1, 1)
    history[1]["model_name"] = "\ud83d"
    old.session("s1", history)
    assert import_database(old.close(), memory).messages == 2
    assert bodies(memory, "s1")[1]["model_name"] == "\ufffd"


def test_two_agents_may_have_a_session_of_the_same_id(old, memory):
    old.session("s1", turns(1, 1))
    old.session("s1", turns(5, 6), agent="other")
    path = old.close()
    assert import_database(path, memory).sessions == 2
    assert bodies(memory, "s1@other") == turns(5, 6)
    again = import_database(path, memory)
    assert (again.sessions, again.warnings) == (0, ())


def test_a_session_that_has_grown_since_is_left_as_it_is_and_named(old, memory):
    old.session("s1", turns(1, 1))
    import_database(old.path, memory)
    old.session("s1", turns(1, 2))
    done = import_database(old.close(), memory)
    assert done.sessions == 0
    assert with_warning(done, "left as they are", "s1")
    assert bodies(memory, "s1") == turns(1, 1)


# Vectors


def test_vectors_come_along_with_length_one_under_their_model(old, memory):
    first = old.memory("Likes tea", id=9, vector=[3, 0, 4, 0])
    second = old.memory("Tiny and huge", vector=[1e-30, 0, 0, 0])
    old.memory("Has none")
    done = import_database(old.close(), memory)
    assert (done.vectors, done.model) == (2, MODEL)
    found = memory.hf.store.vectors.get([memory.scope], MODEL, [first, second])
    assert found[first] == pytest.approx([0.6, 0, 0.8, 0])
    assert found[second] == pytest.approx([1, 0, 0, 0])
    assert memory.hf.admin.check() == []


def test_vectors_follow_memories_that_got_new_numbers(old, memory):
    memory.remember("semantic", "First")
    old.memory("Likes tea", id=1, vector=[0, 1, 0, 0])
    import_database(old.close(), memory)
    assert list(memory.hf.store.vectors.get([memory.scope], MODEL, [1, 2])) == [2]


def test_vectors_that_are_none_are_dropped_and_named(old, memory):
    for vector in ([0, 0, 0, 0], [np.inf, 0, 0, 0], [np.nan, 0, 0, 0], [1, 0, 0, 0]):
        old.memory("Likes tea", vector=vector)
    done = import_database(old.close(), memory)
    assert (done.memories, done.vectors) == (4, 1)
    assert with_warning(done, "Vectors", "1, 2, 3.")


def test_vectors_of_another_length_than_the_file_says_are_dropped(old, memory):
    old.memory("Likes tea", vector=[1, 0, 0, 0])
    old.connection.execute("UPDATE store_meta SET value = '8' WHERE key = 'dimensions'")
    done = import_database(old.close(), memory)
    assert (done.memories, done.vectors) == (1, 0)
    assert with_warning(done, "Vectors of another length")


def test_without_a_word_on_their_length_vectors_have_1536_numbers(tmp_path, memory):
    old = OldDatabase(tmp_path / "old.db", dimensions=None)
    old.memory("Likes tea", vector=[1.0] * 1536)
    assert import_database(old.close(), memory).vectors == 1
    assert memory.hf.store.vectors.dimensions([memory.scope]) == {MODEL: 1536}


def test_vectors_of_an_unknown_model_stay_behind(tmp_path, memory):
    old = OldDatabase(tmp_path / "old.db", model=None)
    old.memory("Likes tea", vector=[1, 0, 0, 0])
    done = import_database(old.close(), memory)
    assert (done.memories, done.vectors, done.model) == (1, 0, "")
    assert with_warning(done, "which model", "holdfast memory reembed")


def test_vectors_that_do_not_fit_those_of_the_store_stay_behind(old, memory):
    mine = memory.remember("semantic", "Mine")
    memory.hf.store.vectors.add([memory.scope], MODEL, {mine.seq: np.array([1, 0], np.float32)})
    old.memory("Likes tea", vector=[1, 0, 0, 0])
    done = import_database(old.close(), memory)
    assert (done.memories, done.vectors) == (1, 0)
    assert with_warning(done, "Not all vectors", "holdfast memory reembed")


def test_a_vector_table_that_cannot_be_read_costs_only_vectors(old, memory):
    old.memory("Likes tea", vector=[1, 0, 0, 0])
    old.connection.execute("DROP TABLE memories_vec_vector_chunks00")
    done = import_database(old.close(), memory)
    assert (done.memories, done.vectors) == (1, 0)
    assert with_warning(done, "Not all vectors")


def test_a_store_that_is_busy_by_then_costs_only_vectors(old, memory, monkeypatch):
    old.memory("Likes tea", vector=[1, 0, 0, 0])
    path = old.close()

    def busy(*args):
        raise StoreBusy

    with monkeypatch.context() as broken:
        broken.setattr(memory.hf.store.vectors, "add", busy)
        done = import_database(path, memory)
    assert (done.memories, done.vectors) == (1, 0)
    assert with_warning(done, "Not all vectors", "holdfast memory reembed")
    assert import_database(path, memory).vectors == 1


# The file


def everything_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def apart(tmp_path):
    """A folder with nothing else in it."""
    folder = tmp_path / "apart"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("log", [False, True])
def test_a_closed_file_is_untouched_and_nothing_is_left_beside_it(apart, memory, log):
    old = OldDatabase(apart / "old.db", log=log)
    old.memory("Likes tea", vector=[1, 0, 0, 0])
    path = old.close()
    before = everything_in(apart)
    assert import_database(path, memory).memories == 1
    assert everything_in(apart) == before
    assert list(before) == ["old.db"]


def test_what_is_still_in_the_log_of_a_file_in_use_is_read_too(apart, memory):
    old = OldDatabase(apart / "old.db", log=True)
    old.memory("Only in the log", vector=[1, 0, 0, 0])
    before = everything_in(apart)
    assert before["old.db-wal"]
    done = import_database(old.path, memory)
    assert (done.memories, done.vectors) == (1, 1)
    assert everything_in(apart) == before
    old.close()


def test_a_change_that_broke_off_is_not_read(apart, memory):
    old = OldDatabase(apart / "old.db")
    old.memory("Likes tea")
    old.connection.execute("PRAGMA cache_size = 1; BEGIN")
    for number in range(200):
        old.memory(f"Never committed {number} " + "x" * 500)
    torn = apart / "torn.db"
    for ending in ("", "-journal"):
        torn.with_name(torn.name + ending).write_bytes(
            old.path.with_name(old.path.name + ending).read_bytes()
        )
    old.connection.execute("ROLLBACK")
    old.close()
    before = everything_in(apart)
    assert import_database(torn, memory).memories == 1
    assert everything_in(apart) == before


def test_a_file_that_never_stops_changing_is_not_read(old, memory, monkeypatch):
    looks = iter(range(10_000))
    monkeypatch.setattr(detect, "_PAUSE", 0)
    monkeypatch.setattr(detect, "_looks", lambda path: [(next(looks), 0)])
    with pytest.raises(StoreBusy, match="Stop the agent"):
        import_database(old.path, memory)
    assert not memory.exists


def test_a_file_that_changes_while_it_is_copied_is_copied_again(old, memory, monkeypatch):
    copyfile, late = detect.shutil.copyfile, [lambda: old.memory("At the last moment")]

    def slowly(source, target):
        copyfile(source, target)
        if late:
            late.pop()()

    monkeypatch.setattr(detect, "_PAUSE", 0)
    monkeypatch.setattr(detect.shutil, "copyfile", slowly)
    assert import_database(old.path, memory).memories == 1


def test_a_change_right_after_another_is_seen_where_times_go_in_steps(old, memory, monkeypatch):
    old.memory("Before")
    step, now, changed = 0.01, [0.0], [0]
    copyfile, late = detect.shutil.copyfile, ["Behind"]

    def sleep(seconds):
        now[0] += seconds

    def slowly(source, target):
        copyfile(source, target)
        if late:
            # Which leaves the size as it was.
            old.connection.execute("UPDATE memories SET content = ?", (late.pop(),))
            changed[0] = int(now[0] / step)

    monkeypatch.setattr(detect, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(detect, "_look", lambda file: (4096, changed[0]))
    monkeypatch.setattr(detect.shutil, "copyfile", slowly)
    import_database(old.path, memory)
    assert [one.content for one in held(memory)] == ["Behind"]


def test_what_is_no_such_database_is_refused_and_no_store_is_made(tmp_path, memory):
    text, empty, foreign, other = (
        tmp_path / name for name in ("text", "empty", "foreign.db", "other.db")
    )
    text.write_text("Not a database, but long enough to look like one. " * 100)
    empty.touch()
    with apsw.Connection(str(foreign)) as connection:
        connection.execute("CREATE TABLE cats (name)")
    connection.close()
    with apsw.Connection(str(other)) as connection:
        connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, body TEXT)")
    connection.close()
    SQLiteStore(tmp_path / "own.db").close()
    for name, message in {
        "missing.db": "There is no file",
        "": "is a folder",
        "text": "no SQLite file",
        "empty": "neither a table memories",
        "foreign.db": "neither a table memories",
        "other.db": "no column content",
        "own.db": "is a Holdfast store",
    }.items():
        with pytest.raises(InvalidInput, match=message):
            import_database(tmp_path / name, memory)
    assert not memory.exists


def test_a_damaged_file_is_refused(old, memory):
    for number in range(200):
        old.memory(f"Fact {number} " + "x" * 500)
    path = old.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"\x07" * (len(data) - len(data) // 2)
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="damaged"):
        import_database(path, memory)
    assert not memory.exists


def test_a_file_that_may_not_be_read_is_refused(old, memory, monkeypatch):
    def refuse(source, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(detect.shutil, "copyfile", refuse)
    with pytest.raises(InvalidInput, match=r"Cannot read .*: Permission denied"):
        import_database(old.close(), memory)


def test_the_store_of_the_role_itself_is_refused(old, write_role, memory_of):
    path = old.close()
    memory = memory_of(write_role(f"{{store_path: {path}, embeddings: {{provider: none}}}}"))
    with pytest.raises(InvalidInput, match="store of assistant itself"):
        import_database(path, memory)


def test_an_import_that_broke_off_between_its_halves_is_completed_by_the_next(
    old, memory, monkeypatch
):
    old.memory("Likes tea")
    old.session("s1", turns(1, 1))
    path = old.close()

    def fail(*args, **options):
        raise Conflict("no")

    with monkeypatch.context() as broken, pytest.raises(Conflict):
        broken.setattr(write_memories, "_restored", fail)
        import_database(path, memory)
    assert held(memory) == []
    done = import_database(path, memory)
    assert (done.memories, done.sessions) == (1, 0)


# A server


def test_on_a_server_everything_comes_along_under_new_numbers(
    old, write_role, memory_of, postgres_url
):
    memory = memory_of(
        write_role(f"{{store_path: '{postgres_url}', embeddings: {{provider: none}}}}")
    )
    for number in (500, 400):
        old.memory(
            f"Fact {number}",
            id=number,
            created_at=f"2025-06-0{number // 100}T10:00:00",
            vector=[0, 0, 2, 0],
        )
    old.session("s1", turns(1, 2))
    old.session("s1", turns(2, 3))
    path = old.close()
    done = import_database(path, memory)
    assert (done.memories, done.sessions, done.messages, done.vectors) == (2, 1, 6, 2)
    assert not done.kept_ids
    assert with_warning(done, "other ids")
    assert [one.content for one in held(memory)] == ["Fact 400", "Fact 500"]
    assert max(one.seq for one in held(memory)) < 400
    seqs = [one.seq for one in held(memory)]
    assert all(
        one == pytest.approx([0, 0, 1, 0])
        for one in memory.hf.store.vectors.get([memory.scope], MODEL, seqs).values()
    )
    assert bodies(memory, "s1") == turns(1, 3)
    again = import_database(path, memory)
    assert (again.memories, again.skipped, again.sessions, again.vectors) == (0, 2, 0, 0)
    memory.hf.undo()
    assert held(memory) == []
