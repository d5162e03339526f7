"""The routes of the seed's API, their shapes and their words, on both backends."""

from __future__ import annotations

import pytest

from holdfast.client import Holdfast
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage import open_store
from holdfast.types import Scope, Triple
from live_server import serving
from patience import PATIENCE

ANN = {"thread_id": "t1", "user_id": "ann"}


@pytest.fixture(params=["sqlite", "postgres"])
def hf(request, tmp_path, clock, fake):
    """A memory on either backend; its own scope is nobody's of these tests."""
    place = (
        tmp_path / "memory.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_store_url")
    )
    with Holdfast(
        open_store(str(place), clock=clock),
        [Scope("user", "keeper")],
        tiers=Tiers.of(fake, clock=clock),
        clock=clock,
    ) as opened:
        yield opened


@pytest.fixture
def live(hf, tmp_path):
    with serving(hf, tmp_path / "keys.jsonl") as live:
        yield live


@pytest.fixture
def http(live):
    return live.client()


@pytest.fixture
def ann(hf):
    """Ann's memory: two facts, a session, a rule."""
    ann = hf.scoped("user:ann")
    ann.remember(
        "Worries about work",
        category="relationship",
        quote="my boss is terrible",
        triple=Triple("ann", "WORRIES_ABOUT", "work", "User", "Concern"),
    )
    ann.remember(
        "Takes fluoxetine daily", category="coping_strategy", quote="I take fluoxetine daily"
    )
    ann.remember(
        "Talked about her boss.",
        kind="episode",
        title="Trouble at work",
        session="s1",
        metadata={
            "primary_themes": ["work"],
            "mood_arc": {"opened": "tense", "closed": "calm"},
            "turn_count": 8,
        },
    )
    ann.remember("Be direct", kind="rule", quote="please be direct")
    return ann


def test_the_status_has_the_fields_of_the_contract(http, ann):
    assert http.get("/status", params=ANN).json() == {
        "memory_mode": "local",
        "owner_id": "ann",
        "counts": {"semantic": 2, "episodic": 1, "procedural": 1},
        "crisis_log_count": 0,
        "session_feedback_count": 0,
        "proactive_recall_enabled": False,
    }


def test_safety_events_and_feedback_are_counted_for_their_owner_alone(hf, live):
    serving = live.app.state.serving
    serving.audit.record(session="s1", level=2, path="rules", owner="user:ann")
    serving.feedback.add(session="s1", label="positive", owner="user:ann")

    def counted(name):
        status = live.client().get("/status", params={"user_id": name}).json()
        return status["crisis_log_count"], status["session_feedback_count"]

    assert (counted("ann"), counted("bob")) == ((1, 1), (0, 0))


def test_the_owner_is_the_user_else_the_thread_else_whom_the_server_was_started_for(http, ann):
    owners = [
        http.get("/status", params=params).json()["owner_id"]
        for params in (ANN, {"thread_id": "t1"}, {"user_id": "ann"}, {})
    ]
    assert owners == ["ann", "t1", "ann", "keeper"]
    assert http.get("/facts", params={"thread_id": "t1"}).json() == []


def test_recall_is_switched_on_and_off_in_the_words_of_the_contract(http):
    for enabled, word in ((True, "on"), (False, "off")):
        answer = http.patch("/recall", params=ANN, json={"enabled": enabled})
        assert answer.json()["detail"] == f"Proactive recall is now {word}."
        assert http.get("/status", params=ANN).json()["proactive_recall_enabled"] is enabled
    assert (
        http.get("/status", params={"user_id": "bob"}).json()["proactive_recall_enabled"] is False
    )


def test_the_switch_can_be_taken_back_like_any_change(http):
    run = http.patch("/recall", params=ANN, json={"enabled": True}).json()["run"]
    http.post("/undo", params=ANN, json={"run": run})
    assert http.get("/status", params=ANN).json()["proactive_recall_enabled"] is False


def test_facts_sessions_and_rules_are_numbered_from_one_in_the_order_they_were_stored(http, ann):
    facts = http.get("/facts", params=ANN).json()
    assert [(one["index"], one["evidence_quote"]) for one in facts] == [
        (1, "my boss is terrible"),
        (2, "I take fluoxetine daily"),
    ]
    assert (
        facts[0]["category"],
        facts[0]["subject"],
        facts[0]["predicate"],
        facts[0]["object"],
    ) == ("relationship", "ann", "WORRIES_ABOUT", "work")
    (session,) = http.get("/sessions", params=ANN).json()
    assert (session["index"], session["title"], session["summary"], session["themes"]) == (
        1,
        "Trouble at work",
        "Talked about her boss.",
        ["work"],
    )
    assert (session["mood_opened"], session["mood_closed"], session["turn_count"]) == (
        "tense",
        "calm",
        8,
    )
    (rule,) = http.get("/rules", params=ANN).json()
    assert (rule["index"], rule["rule"], rule["evidence"]) == (1, "Be direct", "please be direct")


def test_one_is_deleted_by_its_number(http, ann):
    answer = http.delete("/facts/1", params=ANN).json()
    assert (answer["deleted"], answer["detail"]) == (True, "Deleted fact #1. 1 remaining.")
    assert [(one["index"], one["text"]) for one in http.get("/facts", params=ANN).json()] == [
        (1, "Takes fluoxetine daily")
    ]
    assert (
        http.delete("/sessions/1", params=ANN).json()["detail"]
        == "Deleted session #1. 0 remaining."
    )
    assert http.delete("/rules/1", params=ANN).json()["detail"] == "Deleted rule #1. 0 remaining."
    assert http.get("/status", params=ANN).json()["counts"] == {
        "semantic": 1,
        "episodic": 0,
        "procedural": 0,
    }


def test_one_is_deleted_by_its_id_which_no_concurrent_write_can_shift(http, ann):
    first, second = http.get("/facts", params=ANN).json()
    http.delete(f"/facts/{first['id']}", params=ANN)
    assert http.delete(f"/facts/{second['id']}", params=ANN).json()["deleted"] is True
    assert http.delete("/sessions/s1", params=ANN).json()["deleted"] is True
    assert http.delete(f"/facts/{first['id']}", params=ANN).status_code == 404
    assert http.delete(f"/rules/{second['id']}", params=ANN).status_code == 404


def test_a_number_that_is_not_there_is_told_in_the_words_of_the_contract(http, ann):
    answer = http.delete("/facts/9", params=ANN)
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "Fact #9 does not exist (only 2 fact(s)).",
    )
    for path in ("/facts/0", "/facts/-1", "/facts/99999999999999999999", "/sessions/2", "/rules/2"):
        assert http.delete(path, params=ANN).status_code == 404, path
    assert len(http.get("/facts", params=ANN).json()) == 2


def test_what_was_deleted_can_be_brought_back(http, ann):
    run = http.delete("/facts/1", params=ANN).json()["run"]
    http.post("/undo", params=ANN, json={"run": run})
    assert [one["index"] for one in http.get("/facts", params=ANN).json()] == [1, 2]


def test_superseded_facts_do_not_crowd_out_active_ones(http, ann):
    """A limit that is taken before the filter would leave nothing to list."""
    for one in http.get("/facts", params=ANN).json():
        http.patch(f"/memories/{one['id']}", params=ANN, json={"content": one["text"] + " still"})
    assert [one["index"] for one in http.get("/facts", params=ANN).json()] == [1, 2]


def test_there_is_no_way_to_wipe_an_owner(live):
    import httpx

    schema = httpx.get(live.url + "openapi.json", trust_env=False, timeout=PATIENCE).json()["paths"]
    whole = [path for path, methods in schema.items() if "delete" in methods and "{" not in path]
    # What mem0's callers know as delete_all forgets: it archives, and an undo brings all of it
    # back. A batch names what it forgets.
    assert whole == ["/api/memory/mem0/memories", "/v1/memories/", "/v1/batch/"]
    assert not any("purge" in path for path in schema)
