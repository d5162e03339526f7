"""Seed 001, the hot path: turns go in as they happen, and a new session ends the ones before."""

from __future__ import annotations

import json
import socket

import pytest
from living import talk

from holdfast import Holdfast, Settings
from holdfast.integrations.agent_tools import Keeper
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import SQLiteStore
from holdfast.types import Scope


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("the hot path opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_yo_01_two_turns_are_found_at_once_without_a_model_or_a_network(
    tmp_path, clock, no_network
):
    spy, settings = FakeEmbedder(), Settings(embedding_models="none")
    store = SQLiteStore(tmp_path / "m.db")
    with Holdfast(
        store, [Scope("user", "ann")], settings=settings, tiers=Tiers.of(spy), clock=clock
    ) as hf:
        one = hf.capture("s1", "user", "The spare key is under the blue pot")
        two = hf.capture("s1", "helper", "I will remember the blue pot")
        assert (one.id[:3], two.id[:3], one.role, two.role) == ("ep_", "ep_", "user", "helper")
        assert spy.calls == 0
    with Holdfast.open(tmp_path / "m.db", scope="user:ann", settings=settings) as hf:
        assert {hit.memory.id for hit in hf.recall("blue pot")} == {one.id, two.id}


def test_yo_01_the_events_of_a_host_are_turns_of_its_session(keeper, ann):
    said = keeper.user_message("Where is the key?", "s1")
    answers = [
        keeper.agent_response("Under the pot"),
        keeper.agent_response("In the blue one", agent_id="helper"),
    ]
    assert [turn.role for turn in (said, *answers)] == ["user", "orchestrator", "helper"]
    assert {turn.session for turn in ann.list(kinds=["turn"])} == {"s1"}


def test_yo_01_an_agent_may_have_any_name(keeper):
    keeper.user_message("Hello", "s1")
    assert len(keeper.agent_response("Hi", agent_id="a" * 300).role) == 200


def test_yo_01_an_answer_belongs_to_the_session_it_names(keeper):
    keeper.user_message("Hello", "s1")
    keeper.user_message("Hello again", "s2")
    assert keeper.agent_response("A late answer", session_id="s1").session == "s1"


def test_yo_02_a_blank_message_is_ignored_and_a_session_registered_once(ann):
    assert ann.capture("s1", "user", "  \n ") is None
    assert ann.sessions.list() == []
    talk(ann, "s1", "hello", "again")
    assert [session.id for session in ann.sessions.list()] == ["s1"]
    assert len(ann.list(kinds=["turn"])) == 2


def test_yo_02_a_blank_message_of_a_new_session_completes_the_one_before(ann):
    heard = []
    keeper = Keeper(ann, session_completed=heard.append)
    keeper.user_message("hello", "s1")
    for _ in range(2):
        assert keeper.user_message(" ", "s2") is None
    assert heard == ["s1"]
    assert {one.id: one.end_reason for one in ann.sessions.list()} == {
        "s1": "another session began",
        "s2": "",
    }
    assert keeper.user_message("so", "s2").position == 0
    assert len(ann.sessions.list()) == 2, "registered once"
    assert len(ann.list(kinds=["turn"])) == 2


def test_yo_03_a_second_session_completes_the_first_and_not_itself(ann, keeper):
    talk(ann, "s1", "hello")
    assert keeper.get_pending_consolidations() == []
    talk(ann, "s2", "hello")
    assert keeper.get_pending_consolidations(exclude_session_id="s2") == ["s1"]
    assert keeper.get_pending_consolidations(exclude_session_id="s1") == []
    assert [(one.id, one.end_reason) for one in ann.sessions.list() if one.ended_at] == [
        ("s1", "another session began")
    ]


def test_yo_03_a_consolidated_session_is_not_announced_again(ann, keeper):
    talk(ann, "s1", "hello")
    talk(ann, "s2", "hello")
    ann.admin.maintain("consolidate")
    talk(ann, "s3", "hello")
    assert keeper.get_pending_consolidations() == ["s2"]


def test_the_command_takes_one_turn_or_lines_of_json(cli, ann):
    assert (
        cli(
            "capture",
            "--session",
            "s1",
            "--role",
            "user",
            "@bob has the key",
            "--scope",
            "user:ann",
        ).code
        == 0
    )
    lines = [
        {"session": "s2", "role": role, "text": text}
        for role, text in (("user", "Hi"), ("helper", " "))
    ]
    piped = cli("capture", "--scope", "user:ann", stdin="\n".join(map(json.dumps, lines)))
    assert piped.out.startswith("Captured 1 of 2 turns.")
    assert [
        one["name"]
        for one in json.loads(cli("entity", "list", "--json", "--scope", "user:ann").out)
    ] == ["bob"]


def test_mentions_tags_and_addresses_are_linked_as_a_turn_comes_in(ann):
    talk(ann, "s1", "@bob wrote to ann@example.com about #apollo, see https://example.com/plan")
    assert {(one.name, one.type) for one in ann.entities.list()} == {
        ("bob", "person"),
        ("ann@example.com", "email"),
        ("apollo", "project"),
        ("https://example.com/plan", "url"),
    }


def test_a_very_long_role_and_session_are_refused_before_anything_is_stored(ann):
    from holdfast import InvalidInput

    with pytest.raises(InvalidInput):
        ann.capture("s" * 300, "user", "hello")
    assert ann.list() == []
