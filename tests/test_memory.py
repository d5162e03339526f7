"""Every verb of the library, on a real file."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import Conflict, Holdfast, InvalidInput, NotFound, Refused, Settings
from holdfast.errors import Nothing, ScopeError, StoreClosed, StoreError, TooLarge
from holdfast.types import Triple, from_datetime

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def contents(memories):
    return [memory.content for memory in memories]


def found(hf, question, **options):
    return [hit.memory.content for hit in hf.recall(question, **options)]


def bytes_on_disk(folder):
    return b"".join(file.read_bytes() for file in folder.glob("memory.db*"))


# Open


def test_a_forgotten_argument_is_told_of_what_was_called():
    with pytest.raises(TypeError, match=r"^Holdfast\.open\(\) missing .* 'scope'"):
        Holdfast.open(":memory:")
    with pytest.raises(TypeError, match=r"^Holdfast\.__init__\(\) missing .* 'scopes'"):
        Holdfast("memory.db")


def test_only_the_folder_of_the_per_user_file_is_made(tmp_path, monkeypatch):
    file = tmp_path / "typo" / "memory.db"
    with pytest.raises(StoreError, match=re.escape(f"there is no folder {tmp_path / 'typo'}.")):
        Holdfast.open(file, scope="user:ann")
    assert not file.parent.exists()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("HOLDFAST_STORE", raising=False)
    settings = Settings(embedding_models="none")
    Holdfast.open(scope="user:ann", settings=settings, background=False).close()
    assert (tmp_path / "share" / "holdfast" / "memory.db").exists()
    assert (tmp_path / "share" / "holdfast").stat().st_mode & 0o777 == 0o700


# Remember


def test_remember_gives_the_memory_back_with_its_defaults(hf, clock):
    tea = hf.remember("Prefers green tea")
    assert (tea.content, str(tea.scope), tea.kind, tea.category) == (
        "Prefers green tea",
        "user:ann",
        "fact",
        "general",
    )
    assert (tea.status, tea.confidence, tea.layer, tea.seq) == ("active", 1.0, "semantic", 1)
    assert tea.created_at == tea.updated_at == tea.event_time == clock.now
    assert tea.id.startswith("fact_")


def test_what_was_remembered_is_there_after_reopening(hf, open_memory):
    tea = hf.remember("Prefers green tea")
    hf.close()
    assert open_memory("user:ann").get(tea.id) == tea


def test_every_field_is_kept(hf):
    fields = {
        "title": "Tea",
        "author": "Ann",
        "role": "user",
        "confidence": 0.5,
        "decay_rate": 0.1,
        "source": "mail",
        "quote": "green, please",
        "triple": Triple("Ann", "drinks", "tea"),
        "tags": ("drinks", "home"),
        "metadata": {"ticket": 12, "nested": {"deep": [1, None, "ü"]}},
    }
    kept = hf.get(hf.remember("Prefers green tea", kind="rule", category="taste", **fields).id)
    assert {name: getattr(kept, name) for name in fields} == fields
    assert (kept.kind, kept.category) == ("rule", "taste")


def test_times_may_be_datetimes_or_microseconds(hf):
    day = datetime(2025, 1, 2, tzinfo=UTC)
    one = hf.remember(
        "New year", event_time=day, valid_from=day, valid_until=from_datetime(day) + 1
    )
    assert (one.event_time, one.valid_from, one.valid_until) == (from_datetime(day),) * 2 + (
        from_datetime(day) + 1,
    )


def test_a_fact_that_is_already_there_word_for_word_is_kept_once(hf, clock):
    first = hf.remember("Prefers green tea", confidence=0.4, tags=("a",))
    clock.forward(days=1)
    again = hf.remember("  prefers GREEN tea. ", confidence=0.9, tags=("b",))
    assert again.id == first.id
    assert (again.confidence, again.tags, again.updated_at) == (0.9, ("a", "b"), clock.now)
    assert len(hf.list()) == 1


def test_the_same_words_of_another_author_category_or_kind_are_another_memory(hf):
    hf.remember("Likes tea")
    hf.remember("Likes tea", author="Bob")
    hf.remember("Likes tea", category="taste")
    hf.remember("Likes tea", kind="rule")
    assert len(hf.list()) == 4


def test_each_author_and_category_keeps_its_own_words_once(hf):
    for author, category in (("", "general"), ("Bob", "general"), ("", "taste")) * 3:
        hf.remember("Likes tea", author=author, category=category)
    assert len(hf.list()) == 3


def test_a_fact_that_stands_twice_in_a_batch_is_kept_once(hf):
    one, other, again = hf.remember_many(
        ["Likes tea", "Plays chess", {"content": "likes tea.", "tags": ("x",)}]
    )
    assert (again.id, again.tags) == (one.id, ("x",))
    assert contents(hf.list()) == ["Plays chess", "Likes tea"]
    assert other.id != one.id


def test_episodes_with_the_same_words_happened_twice(hf):
    hf.remember("Deployed the API", kind="episode")
    hf.remember("Deployed the API", kind="episode")
    assert len(hf.list()) == 2


def test_a_forgotten_fact_can_be_learned_again(hf):
    old = hf.remember("Likes tea")
    hf.forget(old.id)
    assert hf.remember("Likes tea").id != old.id
    assert found(hf, "tea") == ["Likes tea"]


def test_a_fact_said_again_after_it_had_expired_holds_again(hf, clock):
    hf.remember("The office is in Berlin", valid_until=clock.now + 1)
    clock.forward(days=1)
    hf.remember("The office is in Berlin")
    assert found(hf, "office") == ["The office is in Berlin"]
    assert len(hf.list()) == 1


def test_what_is_no_longer_valid_is_found_by_who_asks_for_it(hf, clock):
    hf.remember("The office is in Berlin", valid_until=clock.now + 1)
    clock.forward(days=1)
    assert (found(hf, "office"), found(hf, "office", expired=True)) == (
        [],
        ["The office is in Berlin"],
    )


def test_past_sessions_in_a_file_are_taken_in_once(hf):
    chats = Path(__file__).parent / "transcripts" / "data" / "chatgpt" / "conversations.json"
    assert hf.projects.import_sessions(chats, into="user:bob").sessions
    assert [
        session.scope.key for session in hf.scoped("user:bob").sessions.list()
    ] and hf.sessions.list() == []
    again = hf.projects.import_sessions(str(chats), into="user:bob")
    assert (again.sessions, again.unchanged) == ([], 1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"content": "x", "kind": "thought"}, "Unknown kind 'thought'.*fact"),
        ({"content": "x", "colour": "red"}, "colour"),
        ({"content": "x", "confidence": 1.5}, "between 0 and 1"),
        ({"content": "x", "confidence": float("nan")}, "between 0 and 1"),
        ({"content": "x", "confidence": "high"}, "between 0 and 1"),
        ({"content": "x", "valid_from": 2, "valid_until": 1}, "valid_from must come before"),
        ({"content": "x", "event_time": "yesterday"}, "event_time"),
        ({"content": "x", "tags": "home"}, "tags"),
        ({"content": "x", "metadata": {"when": datetime(2026, 1, 1)}}, "metadata"),
        ({"content": "x", "metadata": ["a"]}, "metadata"),
        ({"content": "x", "triple": ("Ann", "likes", "tea")}, "triple"),
        ({"content": "x", "session": " "}, "session"),
        ({"content": "x", "title": "t" * 501}, "title is 501 characters"),
        ({"content": "x", "author": 7}, "author must be text"),
        ({"content": "x", "event_time": 1 << 70}, "event_time"),
        ({"content": "x", "metadata": {"x": float("inf")}}, "metadata"),
        ({"content": "x", "metadata": {"x": "y" * 100_001}}, "metadata is over the limit"),
        ({"content": ""}, "empty"),
        ({"content": " \n\t "}, "empty"),
        ({"content": None}, "not NoneType"),
        ({"content": b"bytes"}, "not bytes"),
    ],
)
def test_what_cannot_be_remembered_is_refused_and_nothing_is_written(hf, arguments, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        hf.remember(**arguments)
    assert (hf.list(), hf.admin.log()) == ([], [])


def test_a_text_over_the_limit_is_refused_whole_never_cut(open_memory):
    hf = open_memory("user:ann", settings=Settings(max_content_bytes=10))
    assert hf.remember("é" * 5).content == "é" * 5
    with pytest.raises(TooLarge, match=r"12 bytes.*limit is 10"):
        hf.remember("é" * 6)
    assert len(hf.list()) == 1


def test_nul_and_lone_surrogates_become_replacement_characters(hf):
    assert hf.remember("a\x00b\ud800c").content == "a\ufffdb\ufffdc"


def test_remember_many_takes_texts_and_mappings_in_order(hf):
    stored = hf.remember_many(
        ["one", {"content": "two", "kind": "rule", "event_time": datetime(2026, 1, 1, tzinfo=UTC)}]
    )
    assert [(memory.content, memory.kind) for memory in stored] == [
        ("one", "fact"),
        ("two", "rule"),
    ]
    assert len({event.run for event in hf.admin.log()}) == 1


def test_remember_many_is_all_or_nothing(hf):
    with pytest.raises(InvalidInput):
        hf.remember_many(["fine", {"content": "bad", "kind": "thought"}])
    assert hf.list() == []


# Capture


def test_sessions_are_listed_by_when_they_were_held_not_by_when_they_were_stored(hf, clock):
    def capture(session, at):
        hf.capture(session, "user", "hello", event_time=at)
        clock.now += 1

    for session, day in (("may", 7), ("march", 3), ("june", 8)):
        capture(session, datetime(2024, day, 1, tzinfo=UTC))
    hf.sessions.append("agent", [{"text": "hello"}])
    assert [one.id for one in hf.sessions.list()] == ["agent", "june", "may", "march"]
    capture("march", datetime(2024, 12, 1, tzinfo=UTC))
    assert [one.id for one in hf.sessions.list()] == ["agent", "march", "june", "may"]


def test_captured_turns_have_positions_in_their_session(hf):
    places = [
        hf.capture(session, "user", text).position
        for session, text in [("s1", "a"), ("s2", "b"), ("s1", "c")]
    ]
    assert places == [0, 0, 1]


def test_a_captured_turn_is_kept_verbatim_with_who_and_when(hf):
    then = datetime(2026, 1, 1, tzinfo=UTC)
    turn = hf.capture("s1", "assistant", "Hello,  Ann!", author="Bot", event_time=then)
    assert (turn.kind, turn.role, turn.author, turn.session) == ("turn", "assistant", "Bot", "s1")
    assert (turn.content, turn.event_time) == ("Hello,  Ann!", from_datetime(then))


def test_the_same_words_said_twice_are_two_turns(hf):
    hf.capture("s1", "user", "yes")
    hf.capture("s1", "user", "yes")
    assert len(hf.list(kinds=["turn"])) == 2


def test_a_blank_turn_is_nothing_and_writes_nothing(hf):
    assert hf.capture("s1", "user", "  \n ") is None
    assert (hf.admin.log(), hf.sessions.list()) == ([], [])


def test_capture_many_leaves_blank_turns_out(hf):
    turns = [{"session": "s", "role": "user", "text": text} for text in ("one", " ", "two")]
    assert contents(hf.capture_many(turns)) == ["one", "two"]


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ({"role": "user", "text": "x"}, "session is missing"),
        ({"session": "s", "role": "user", "text": "x", "mood": "good"}, "no mood"),
        ({"session": "", "role": "user", "text": "x"}, "1 to 255"),
        ({"session": 7, "role": "user", "text": "x"}, "session id is text"),
        ({"session": "s", "role": "user", "text": 7}, "not int"),
    ],
)
def test_a_turn_that_cannot_be_captured_stops_the_whole_batch(hf, turn, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        hf.capture_many([{"session": "s", "role": "user", "text": "fine"}, turn])
    assert hf.list() == []


def test_capture_never_calls_an_embedder(hf, fake):
    hf.capture("s1", "user", "I moved to Lisbon")
    hf.capture_many([{"session": "s1", "role": "user", "text": "and I like it"}])
    assert fake.calls == 0
    hf.recall("Lisbon")
    assert fake.calls > 0


def test_sessions_are_listed_with_the_latest_activity_first(hf, clock):
    hf.capture("s1", "user", "a")
    clock.forward(hours=1)
    hf.capture("s2", "user", "b")
    assert [session.id for session in hf.sessions.list()] == ["s2", "s1"]
    clock.forward(hours=1)
    hf.capture("s1", "user", "c")
    assert next(
        (session.id, session.last_activity) for session in hf.sessions.list(open_only=True)
    ) == (
        "s1",
        clock.now,
    )


# Correct, confirm, archive, restore, forget


def test_correct_puts_a_new_memory_in_the_place_of_the_old_one(hf):
    old = hf.remember("Lives in Berlin", category="home", tags=("city",), author="Ann")
    new = hf.correct(old.id, "Lives in Lisbon", reason="moved")
    assert (new.category, new.tags, new.author, new.source) == (
        "home",
        ("city",),
        "Ann",
        "correction",
    )
    assert hf.get(old.id).status == "superseded"
    assert found(hf, "lives in") == ["Lives in Lisbon"]


def test_links_show_a_correction_from_both_sides(hf):
    old = hf.remember("Lives in Berlin")
    new = hf.correct(old.id, "Lives in Lisbon", reason="moved")
    (edge,) = hf.admin.links(old.id)
    assert hf.admin.links(new.id) == [edge]
    assert (edge.source, edge.relation, edge.target, edge.reason) == (
        new.id,
        "supersedes",
        old.id,
        "moved",
    )


def test_correct_can_change_other_fields_too(hf, clock):
    old = hf.remember("Lives in Berlin")
    ends = datetime(2027, 1, 1, tzinfo=UTC)
    new = hf.correct(old.id, "Lives in Lisbon", category="home", valid_until=ends)
    assert (new.category, new.valid_until) == ("home", from_datetime(ends))


def test_a_correction_that_cannot_be_kept_changes_nothing(hf):
    old = hf.remember("Lives in Berlin")
    with pytest.raises(Nothing):
        hf.correct(old.id, " ")
    assert hf.get(old.id) == old


def test_confirm_protects_and_ends_doubt_and_decay(hf):
    doubtful = hf.remember("Is allergic to nuts", confidence=0.3, decay_rate=0.2)
    sure = hf.confirm(doubtful.id)
    assert (sure.protected, sure.confidence, sure.decay_rate) == (True, 1.0, 0.0)


def test_an_archived_memory_is_listed_on_request_but_not_recalled(hf, clock):
    tea = hf.remember("Prefers green tea")
    put_away = hf.archive(tea.id, reason="old taste")
    assert (put_away.status, put_away.status_reason, put_away.status_at) == (
        "archived",
        "old taste",
        clock.now,
    )
    assert (found(hf, "tea"), hf.list()) == ([], [])
    assert contents(hf.list(statuses=["archived"])) == ["Prefers green tea"]


def test_restore_brings_back_what_was_archived_forgotten_or_superseded(words):
    one, two, three = (words.remember(text) for text in ("tea one", "tea two", "tea three"))
    words.archive(one.id)
    words.forget(two.id)
    words.correct(three.id, "coffee")
    for memory in (one, two, three):
        assert words.restore(memory.id).status == "active"
    assert sorted(found(words, "tea")) == ["tea one", "tea three", "tea two"]


def test_forget_takes_several_and_recalls_none_of_them(hf):
    one, two = hf.remember("tea one"), hf.remember("tea two")
    forgotten = hf.forget(one.id, two.seq)
    assert {(memory.status, memory.status_reason) for memory in forgotten} == {
        ("archived", "forgotten")
    }
    assert found(hf, "tea") == []


def test_forgetting_one_that_does_not_exist_forgets_none(hf):
    one = hf.remember("tea one")
    with pytest.raises(NotFound):
        hf.forget(one.id, "fact_missing")
    assert hf.get(one.id).status == "active"


def test_archiving_twice_equals_once(hf):
    tea = hf.remember("tea")
    hf.archive(tea.id)
    before = hf.admin.log()
    assert hf.archive(tea.id).status == "archived"
    assert hf.admin.log() == before


# Purge


def test_purge_leaves_no_byte_of_the_text(hf, tmp_path):
    note = hf.remember("Xylophonist quarrel", title="Zugzwang", metadata={"word": "Quixotry"})
    hf.capture("s1", "user", "Marzipan it is")
    hf.recall("xylophonist marzipan")
    new = hf.correct(note.id, "Xylophonist peace")
    assert hf.admin.purge(note.id, new.id, hf.list(kinds=["turn"])[0].seq).memories == 3
    hf.close()
    left = bytes_on_disk(tmp_path).lower()
    assert [
        word for word in (b"xylophonist", b"zugzwang", b"quixotry", b"marzipan") if word in left
    ] == []


def test_a_purged_memory_is_gone_for_every_verb(hf):
    tea = hf.remember("Prefers green tea")
    hf.admin.purge(tea.id)
    for verb in (hf.get, hf.history, hf.admin.links, hf.restore, hf.admin.purge):
        with pytest.raises(NotFound):
            verb(tea.id)
    assert (hf.recall("green tea"), hf.list()) == ([], [])


def test_what_was_purged_cannot_come_back(hf):
    tea = hf.remember("Prefers green tea")
    hf.admin.purge(tea.id)
    with pytest.raises(Refused, match="purged"):
        hf.undo(hf.last_run)
    assert hf.admin.check() == []


# Undo


def snapshot(hf):
    statuses = ("active", "archived", "superseded")
    return [
        (m.id, m.seq, m.content, m.status, m.confidence, m.protected, m.tags)
        for m in hf.list(statuses=statuses)
    ]


@pytest.mark.parametrize(
    "verb", ["remember", "again", "capture", "correct", "confirm", "archive", "forget", "many"]
)
def test_undo_takes_back_exactly_what_a_run_did_and_undo_again_redoes_it(hf, verb):
    tea = hf.remember("Prefers green tea", confidence=0.5)
    verbs = {
        "remember": lambda: hf.remember("Plays chess"),
        "again": lambda: hf.remember("Prefers green tea", tags=("x",), confidence=0.7),
        "capture": lambda: hf.capture("s1", "user", "hello"),
        "correct": lambda: hf.correct(tea.id, "Prefers coffee"),
        "confirm": lambda: hf.confirm(tea.id),
        "archive": lambda: hf.archive(tea.id),
        "forget": lambda: hf.forget(tea.id),
        "many": lambda: hf.remember_many(["one", "two"]),
    }
    before = snapshot(hf)
    verbs[verb]()
    after = snapshot(hf)
    assert after != before
    hf.undo()
    assert snapshot(hf) == before
    hf.undo(hf.last_run)
    assert snapshot(hf) == after
    assert hf.admin.check() == []


def test_undo_again_takes_back_the_change_before(hf):
    """A second undo is not a redo, and what was done after an undo comes first."""
    hf.remember("one")
    hf.remember("two")
    for left in (["one"], []):
        hf.undo()
        assert contents(hf.list()) == left
    last = hf.last_run
    with pytest.raises(NotFound, match=f"nothing left to undo.*: holdfast undo {last}"):
        hf.undo()
    hf.undo(last)
    assert contents(hf.list()) == ["one"]
    hf.remember("three")
    for left in (["one"], []):
        hf.undo()
        assert contents(hf.list()) == left


def test_undo_again_after_more_than_is_read_at_once(hf):
    """The runs that were undone may be longer than a page of the journal."""
    hf.remember("first")
    hf.remember_many([f"number {number}" for number in range(600)])
    assert len(hf.undo()) == 600
    assert contents(hf.list()) == ["first"]
    hf.undo()
    assert hf.list() == []


VERBS = {
    "remember": lambda hf, number: hf.remember(f"Ben met Ann in Faro on day {number}"),
    "correct": lambda hf, number: hf.correct(hf.list()[0].id, f"Ann drinks tea at {number}"),
    "archive": lambda hf, _: hf.archive(1),
    "restore": lambda hf, _: hf.restore(1),
    "rename": lambda hf, number: hf.entities.rename("Ann", f"Anna {number}"),
}


def names_and_all(hf):
    return snapshot(hf), sorted(entity.name for entity in hf.entities.list())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.sampled_from([*VERBS, "undo", "undo", "redo"]), max_size=12))
def test_undo_and_redo_are_a_stack(open_memory, clock, steps):
    """Undo walks back through what stands, redo by its run brings one back, whatever the verbs."""
    hf = open_memory("user:ann", path=":memory:")
    hf.remember("Ann drinks tea in Porto", tags=["tea"])
    standing = [names_and_all(hf)]
    undone = []
    for number, step in enumerate(steps):
        clock.forward(seconds=1)
        if step == "undo" and len(standing) > 1:
            hf.undo()
            undone.append((hf.last_run, standing.pop()))
        elif step == "redo" and undone:
            run, after = undone.pop()
            hf.undo(run)
            standing.append(after)
        elif step in VERBS:
            with suppress(NotFound, Conflict, Refused, InvalidInput, IndexError):
                VERBS[step](hf, number)
            if names_and_all(hf) != standing[-1]:
                standing.append(names_and_all(hf))
                undone.clear()
        assert names_and_all(hf) == standing[-1]


def test_undo_takes_a_run_by_name_even_if_it_is_not_the_latest(hf):
    hf.remember("one")
    run = hf.last_run
    hf.remember("two")
    undone = hf.undo(run)
    assert {event.run for event in undone} == {run}
    assert contents(hf.list()) == ["two"]


def test_undo_refuses_when_a_later_run_changed_the_same_thing(hf):
    tea = hf.remember("tea")
    run = hf.last_run
    hf.archive(tea.id)
    with pytest.raises(Conflict, match=hf.last_run):
        hf.undo(run)
    assert hf.get(tea.id).status == "archived"


def test_undoing_the_first_turn_of_a_session_leaves_a_sound_store(hf):
    hf.capture("s1", "user", "first")
    run = hf.last_run
    hf.capture("s1", "user", "second")
    try:
        hf.undo(run)
    except Conflict:
        assert contents(hf.list()) == ["second", "first"]
    assert hf.admin.check() == []
    assert [session.id for session in hf.sessions.list()] == ["s1"]


def test_there_may_be_nothing_to_undo(hf):
    with pytest.raises(NotFound, match="nothing to undo"):
        hf.undo()
    with pytest.raises(NotFound, match="run_unknown"):
        hf.undo("run_unknown")


# Get, list, history, log, stats


def test_a_memory_is_found_by_id_by_number_and_by_number_as_text(hf):
    tea = hf.remember("tea")
    assert hf.get(tea.id) == hf.get(tea.seq) == hf.get(str(tea.seq)) == tea


@pytest.mark.parametrize(
    "ref", ["fact_unknown", "", 0, -1, "99", "9" * 30, "tea", "é", "1; DROP TABLE memories"]
)
def test_a_reference_to_nothing_is_not_found(hf, ref):
    hf.remember("tea")
    with pytest.raises(NotFound, match="user:ann"):
        hf.get(ref)


def test_list_is_newest_first_and_pages_by_number(hf):
    hf.remember_many(["one", "two", "three", "four", "five"])
    first = hf.list(limit=2)
    second = hf.list(limit=2, after=first[-1].seq)
    assert (contents(first), contents(second)) == (["five", "four"], ["three", "two"])
    assert contents(hf.list(limit=2, after=second[-1].seq)) == ["one"]


def test_list_filters_by_kind_category_tag_and_status(hf):
    hf.remember("a fact", tags=("x", "y"))
    hf.remember("a rule", kind="rule", category="work", tags=("x",))
    hf.archive(hf.remember("put away").id)
    assert contents(hf.list(kinds=["rule"])) == ["a rule"]
    assert contents(hf.list(categories=["work"])) == ["a rule"]
    assert contents(hf.list(tags=["x", "y"])) == ["a fact"]
    assert contents(hf.list(statuses=["archived", "active"])) == ["put away", "a rule", "a fact"]


def test_list_refuses_kinds_and_statuses_that_do_not_exist(hf):
    with pytest.raises(InvalidInput, match="Unknown kind"):
        hf.list(kinds=["thought"])
    with pytest.raises(InvalidInput, match="Unknown status"):
        hf.list(statuses=["lost"])


def test_list_shows_memories_whose_validity_has_ended(hf, clock):
    hf.remember("On holiday", valid_until=clock.now)
    assert contents(hf.list()) == ["On holiday"]


def test_history_tells_everything_that_happened_oldest_first(hf, clock):
    tea = hf.remember("tea")
    clock.forward(hours=1)
    hf.archive(tea.id)
    hf.restore(tea.seq)
    events = hf.history(tea.id)
    assert [event.verb for event in events] == ["remember", "archive", "restore"]
    assert events[1].at == clock.now
    assert (events[1].before["status"], events[1].after["status"]) == ("active", "archived")
    assert {event.actor for event in events} == {"library"}


def test_the_log_is_newest_first_and_limited(hf):
    for text in ("one", "two", "three"):
        hf.remember(text)
    assert [event.target for event in hf.admin.log(limit=2)] == [hf.get(3).id, hf.get(2).id]
    assert len(hf.admin.log(limit=None)) == 3


def test_stats_count_what_is_kept_and_name_the_models(hf, fake, tmp_path):
    hf.remember("tea")
    hf.archive(hf.remember("coffee").id)
    hf.capture("s1", "user", "hello")
    hf.recall("tea")
    stats = hf.stats()
    assert stats["memories"] == {"fact": {"active": 1, "archived": 1}, "turn": {"active": 1}}
    assert (stats["active"], stats["sessions"], stats["scopes"]) == (2, 1, ["user:ann"])
    assert stats["vectors"] == {fake.identity: 2}
    assert (stats["models"], stats["problems"], stats["store"]) == (
        [fake.identity],
        {},
        str(tmp_path / "memory.db"),
    )


# Scopes


@pytest.mark.parametrize(
    "scope", [None, "", [], "ann", "user:", "planet:earth", "user:a\nb", "user:" + "x" * 201]
)
def test_there_is_no_unscoped_memory(tmp_path, scope):
    with pytest.raises(ScopeError):
        Holdfast.open(tmp_path / "memory.db", scope=scope)
    assert list(tmp_path.iterdir()) == []


def test_reads_cover_several_scopes_and_writes_go_to_the_first(open_memory):
    open_memory("shared:team").remember("The team drinks tea")
    both = open_memory("user:ann", "shared:team")
    assert str(both.remember("Ann drinks tea too").scope) == "user:ann"
    assert sorted(found(both, "tea")) == ["Ann drinks tea too", "The team drinks tea"]
    assert contents(both.list()) == ["Ann drinks tea too", "The team drinks tea"]
    assert open_memory("shared:team").stats()["active"] == 1


def test_a_correction_stays_in_the_scope_of_what_it_corrects(open_memory):
    team = open_memory("shared:team").remember("We meet on Monday")
    corrected = open_memory("user:ann", "shared:team").correct(team.id, "We meet on Tuesday")
    assert str(corrected.scope) == "shared:team"


VERBS_ON_ONE = {
    "get": lambda hf, ref: hf.get(ref),
    "history": lambda hf, ref: hf.history(ref),
    "links": lambda hf, ref: hf.admin.links(ref),
    "why": lambda hf, ref: hf.explain(ref, "secret garden"),
    "correct": lambda hf, ref: hf.correct(ref, "changed"),
    "confirm": lambda hf, ref: hf.confirm(ref),
    "archive": lambda hf, ref: hf.archive(ref),
    "restore": lambda hf, ref: hf.restore(ref),
    "forget": lambda hf, ref: hf.forget(ref),
    "purge": lambda hf, ref: hf.admin.purge(ref),
}


@pytest.mark.parametrize("verb", VERBS_ON_ONE)
@pytest.mark.parametrize("by", ["id", "seq"])
def test_another_scopes_memory_is_not_found_by_any_verb(hf, open_memory, verb, by):
    theirs = open_memory("user:bob").remember("The secret garden")
    with pytest.raises(NotFound) as caught:
        VERBS_ON_ONE[verb](hf, getattr(theirs, by))
    assert "user:ann" in str(caught.value)
    assert "bob" not in str(caught.value)
    assert open_memory("user:bob").get(theirs.id) == theirs


def test_nothing_of_another_scope_shows_in_any_listing(hf, open_memory):
    bob = open_memory("user:bob")
    bob.remember("The secret garden", kind="rule", author="Bob")
    bob.capture("s1", "user", "secret")
    bob.recall("secret")
    assert (hf.recall("the secret garden"), hf.list(), hf.admin.log(), hf.sessions.list()) == (
        [],
        [],
        [],
        [],
    )
    assert (hf.context("secret garden").stable, hf.context("secret garden").turn) == ("", "")
    stats = hf.stats()
    assert (stats["active"], stats["memories"], stats["sessions"], stats["vectors"]) == (
        0,
        {},
        0,
        {},
    )
    assert "secret" not in "".join(hf.admin.export())


def test_another_scopes_run_cannot_be_undone(hf, open_memory):
    bob = open_memory("user:bob")
    bob.remember("The secret garden")
    with pytest.raises(NotFound, match="user:ann"):
        hf.undo(bob.last_run)
    with pytest.raises(NotFound):
        hf.undo()
    assert len(bob.list()) == 1


def test_two_scopes_may_use_the_same_session_name(hf, open_memory):
    bob = open_memory("user:bob")
    assert [who.capture("s1", "user", "hi").position for who in (hf, bob, hf)] == [0, 0, 1]


def test_a_scoped_view_shares_the_store_and_sees_only_its_scopes(hf):
    hf.remember("Ann's tea")
    bob = hf.scoped("user:bob")
    bob.remember("Bob's tea")
    assert (found(bob, "tea"), found(hf, "tea")) == (["Bob's tea"], ["Ann's tea"])
    with pytest.raises(ScopeError):
        hf.scoped()


# Reinforcement


def test_recall_counts_as_use_without_being_journalled(words, open_memory, clock):
    tea, chess = words.remember("Prefers green tea"), words.remember("Plays chess")
    events = words.admin.log()
    words.recall("tea")
    words.recall("green tea")
    words.close()
    again = open_memory("user:ann")
    assert (again.get(tea.id).access_count, again.get(tea.id).last_accessed) == (2, clock.now)
    assert (again.get(chess.id).access_count, again.admin.log()) == (0, events)


def test_uses_through_a_scoped_view_are_counted_too(hf, open_memory):
    tea = hf.scoped("user:bob").remember("Prefers green tea")
    hf.scoped("user:bob").recall("tea")
    hf.close()
    assert open_memory("user:bob").get(tea.id).access_count == 1


def test_what_goes_into_a_context_counts_as_used_and_asking_why_does_not(hf, open_memory):
    tea = hf.remember("Prefers green tea")
    hf.explain(tea.id, "tea")
    hf.context("tea")
    hf.close()
    assert open_memory("user:ann").get(tea.id).access_count == 1


# Time


def test_only_what_holds_now_is_recalled(hf, clock):
    hf.remember("Tea is on sale from tomorrow", valid_from=clock.now + 1)
    hf.remember("Tea was on sale", valid_until=clock.now)
    hf.remember("Tea is on the shelf", valid_from=clock.now, valid_until=clock.now + 1)
    assert found(hf, "tea") == ["Tea is on the shelf"]


def test_as_of_answers_with_what_was_known_and_active_then(hf, clock):
    old = hf.remember("Lives in Berlin")
    then = clock.now
    clock.forward(days=10)
    hf.correct(old.id, "Lives in Lisbon")
    assert found(hf, "where lives", as_of=then) == ["Lives in Berlin"]
    assert found(hf, "where lives", as_of=then - 1) == []
    assert found(hf, "where lives", as_of=datetime(2026, 3, 20, tzinfo=UTC)) == ["Lives in Berlin"]
    assert found(hf, "where lives") == ["Lives in Lisbon"]


def test_as_of_asks_whether_it_held_then(hf, clock):
    hf.remember("Tea is on sale", valid_until=clock.now + 10)
    then = clock.now
    clock.forward(days=1)
    assert (found(hf, "tea"), found(hf, "tea", as_of=then)) == ([], ["Tea is on sale"])


def test_since_and_until_are_about_when_it_happened(hf, clock):
    day = timedelta(days=1) // timedelta(microseconds=1)
    for ago in (3, 2, 1):
        hf.remember(f"Tea number {ago}", event_time=clock.now - ago * day)
    between = found(hf, "tea", since=clock.now - 2 * day, until=clock.now - day)
    assert between == ["Tea number 2"]


# Guard


SECRET_PLACES = {
    "content": lambda hf, text: hf.remember(f"The key is {text}"),
    "title": lambda hf, text: hf.remember("x", title=f"key {text}"),
    "category": lambda hf, text: hf.remember("x", category=text),
    "author": lambda hf, text: hf.remember("x", author=text),
    "tag": lambda hf, text: hf.remember("x", tags=(text,)),
    "quote": lambda hf, text: hf.remember("x", quote=f"the key is {text}"),
    "source": lambda hf, text: hf.remember("x", source=f"https://x.example/?key={text}"),
    "metadata": lambda hf, text: hf.remember("x", metadata={"env": [{"deep": f"KEY={text}"}]}),
    "metadata under a telling key": lambda hf, text: hf.remember("x", metadata={"password": text}),
    "metadata key": lambda hf, text: hf.remember("x", metadata={text: 1}),
    "triple": lambda hf, text: hf.remember("x", triple=Triple("Ann", "has key", text)),
    "turn": lambda hf, text: hf.capture("s1", "user", f"use {text}"),
    "correction": lambda hf, text: hf.correct(hf.remember("x").id, f"the key is {text}"),
    "reason of a correction": lambda hf, text: hf.correct(
        hf.remember("x").id, "y", reason=f"was {text}"
    ),
    "reason of archiving": lambda hf, text: hf.archive(hf.remember("x").id, reason=f"was {text}"),
}


@pytest.mark.parametrize("place", SECRET_PLACES)
def test_a_secret_never_reaches_the_disk(hf, tmp_path, place):
    SECRET_PLACES[place](hf, TOKEN)
    hf.recall("key")
    hf.close()
    on_disk = bytes_on_disk(tmp_path)
    assert b"[REDACTED:" in on_disk
    assert TOKEN.encode() not in on_disk
    assert TOKEN[4:].encode() not in on_disk


def test_what_was_redacted_is_noted_by_kind(hf):
    note = hf.remember(f"token {TOKEN}")
    assert "[REDACTED:github-token]" in note.content
    assert note.metadata["redacted"] == ["github-token"]


def test_ordinary_identifiers_are_left_alone(hf):
    text = "See task_management_module in commit 3f2a9c1 of ticket ABC-1234"
    assert hf.remember(text).content == text


def test_what_memory_injected_is_stripped_when_it_comes_back(hf):
    hf.remember("Prefers green tea")
    block = hf.context("which tea?").turn
    assert "Prefers green tea" in block
    turn = hf.capture("s1", "user", f"{block}\n\nWhich tea should I buy?")
    assert turn.content == "Which tea should I buy?"


def test_a_turn_of_nothing_but_injected_text_is_ignored(hf):
    hf.remember("Prefers green tea")
    before = len(hf.admin.log())
    assert hf.capture("s1", "user", hf.context("which tea?").turn) is None
    assert len(hf.admin.log()) == before
    with pytest.raises(Nothing, match="injected"):
        hf.remember(hf.context("which tea?").turn)


# Opening and closing


def test_closing_twice_equals_once(hf):
    hf.remember("tea")
    hf.recall("tea")
    hf.close()
    hf.close()


def test_the_context_manager_closes(tmp_path):
    with Holdfast.open(
        tmp_path / "m.db", scope="user:ann", settings=Settings(embedding_models="none")
    ) as hf:
        hf.remember("tea")
    with pytest.raises(StoreClosed, match="Open it again"):
        hf.list()


@pytest.mark.parametrize(
    "verb",
    [
        lambda hf: hf.remember("x"),
        lambda hf: hf.capture("s", "user", "x"),
        lambda hf: hf.recall("x"),
        lambda hf: hf.get(1),
        lambda hf: hf.list(),
        lambda hf: hf.undo(),
        lambda hf: hf.stats(),
        lambda hf: hf.admin.log(),
        lambda hf: list(hf.admin.export()),
        lambda hf: hf.admin.check(),
        lambda hf: hf.context("x"),
        lambda hf: hf.sessions.list(),
    ],
)
def test_a_closed_memory_says_so(hf, verb):
    hf.close()
    with pytest.raises(StoreClosed):
        verb(hf)


def test_without_a_path_memories_go_to_the_users_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with Holdfast.open(scope="user:ann", settings=Settings(embedding_models="none")) as hf:
        hf.remember("tea")
    file = tmp_path / "holdfast" / "memory.db"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_settings_come_from_the_environment_when_none_are_given(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "elsewhere.db"))
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("HOLDFAST_RECALL_LIMIT", "1")
    with Holdfast.open(scope="user:ann") as hf:
        hf.remember_many(["tea one", "tea two"])
        assert (hf.store.location, len(hf.recall("tea"))) == (str(tmp_path / "elsewhere.db"), 1)


def test_a_memory_in_memory_leaves_nothing_on_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Holdfast.open(
        ":memory:", scope="user:ann", settings=Settings(embedding_models="none")
    ) as hf:
        hf.remember("tea")
        assert found(hf, "tea") == ["tea"]
    assert list(tmp_path.iterdir()) == []


def test_the_actor_is_in_the_journal(tmp_path):
    settings = Settings(embedding_models="none")
    with Holdfast.open(
        tmp_path / "m.db", scope="user:ann", settings=settings, actor="nightly"
    ) as hf:
        hf.remember("tea")
        assert hf.admin.log()[0].actor == "nightly"


def test_the_url_of_another_database_is_refused_and_no_file_is_made_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InvalidInput, match=r"path of a file, or a URL that starts with postgresql://"
    ):
        Holdfast.open("mysql://localhost/memory", scope="user:ann")
    with pytest.raises(InvalidInput) as told:
        Holdfast.open("postgresq://ann:hunter2@localhost/memory", scope="user:ann")
    assert "hunter2" not in str(told.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "read",
    [
        lambda hf, text: hf.get(text),
        lambda hf, text: hf.list(categories=[text]),
        lambda hf, text: hf.recall("tea", tags=[text]),
        lambda hf, text: hf.entities.get(text),
        lambda hf, text: hf.context("tea", session=text),
        lambda hf, text: hf.sessions.messages(text),
    ],
)
def test_half_a_surrogate_pair_is_refused_in_plain_words(hf, read):
    hf.remember("Likes tea")
    with pytest.raises(InvalidInput, match="surrogate"):
        read(hf, "\ud800")


def test_what_is_used_is_written_down_within_the_hour_for_others_to_see(hf, open_memory, clock):
    fact = hf.remember("Likes tea")
    hf.recall("tea")
    assert open_memory("user:ann").get(fact.id).access_count == 0
    clock.forward(hours=1)
    hf.recall("tea")
    assert open_memory("user:ann").get(fact.id).access_count == 2


def test_a_correction_mentions_whom_its_words_name_and_is_looked_at_anew(hf):
    old = hf.remember("@bob has it", metadata={"enriched_at": "2026-01-01", "ticket": 7})
    new = hf.correct(old.id, "@carol has it")
    assert [memory.id for memory in hf.entities.get("carol").memories] == [new.id]
    assert new.metadata == {"ticket": 7}


def test_maintenance_is_done_at_once_by_name_or_all_of_it(words, clock):
    words.capture("s1", "user", "I love green tea.")
    words.sessions.end("s1")
    (job,) = words.admin.maintain("consolidate")
    assert (job.kind, job.key, job.status) == ("learn", "s1", "done")
    assert "tea" in words.list(kinds=["fact"])[0].content
    clock.forward(days=1)
    assert {job.kind for job in words.admin.maintain()} == {"enrich", "decay"}
    with pytest.raises(InvalidInput, match="enrich, consolidate, decay, reflect"):
        words.admin.maintain("sleep")
