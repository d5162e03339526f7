"""`holdfast purge`, `audit` and `feedback`: what they print, what they leave, and their exit
codes.
"""

from __future__ import annotations

import json

import pytest

from holdfast.audit import open_audit
from holdfast.erasure.receipt import Receipt


@pytest.fixture
def js(cli):
    """Runs a command with --json and reads what it prints."""

    def call(*args):
        done = cli(*args, "--json")
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    return call


@pytest.fixture
def tea(js):
    return js("remember", "Prefers green tea")["id"]


def test_the_plan_of_a_purge_tells_everything_and_changes_nothing(cli, js, tea):
    js("capture", "I moved to Lisbon", "--session", "s1")
    before = cli("export").out
    planned = js("purge", "--session", "s1", "--plan")
    assert planned["would_erase"] == {"journal": 4, "memories": 1, "sessions": 1, "entities": 1}
    assert "Would be erased of user:" in cli("purge", tea, "--plan").out
    assert cli("export").out == before


def test_a_purge_writes_its_receipt(cli, js, tea, tmp_path):
    printed = js("purge", tea, "--yes", "--receipt", tmp_path / "receipt.json")
    filed = (tmp_path / "receipt.json").read_text()
    assert json.loads(filed) == printed
    assert "green tea" not in filed
    assert Receipt.from_json(filed).covers("Prefers green tea") and not Receipt.from_json(
        filed
    ).covers("coffee")
    assert (tmp_path / "receipt.json").stat().st_mode & 0o777 == 0o600


def test_purge_wants_to_know_what(cli, tea):
    assert (
        cli("purge").code
        == cli("purge", tea, "--session", "s1").code
        == cli("purge", tea, "--finish").code
        == 2
    )


def test_an_owner_is_purged_with_what_is_kept_apart(cli, js, tea, tmp_path):
    me = js("stats")["scopes"][0]
    cli("session", "feedback", "add", "s1", "negative")
    cli("session", "feedback", "add", "s1", "positive", "--scope", "user:else")
    log = open_audit(tmp_path / "memory.db")
    log.record(session="s1", level=2, path="rules", owner=me)
    done = js("purge", "--owner", me, "--yes")
    assert done["apart"] == {"feedback": 1, "safety events unlinked": 1}
    assert [one.owner for one in log.list()] == [None]
    assert [one["owner"] for one in js("session", "feedback", "list")] == ["user:else"]
    assert (js("list"), js("doctor")["findings"]) == ([], [])
    log.close()


def test_what_is_left_of_a_purge_is_finished(cli, tea):
    done = cli("purge", "--finish")
    assert (done.code, done.out) == (0, "full-text index: clean\nfree pages: clean\nlog: clean\n")


def test_the_log_of_safety_events_is_listed_extended_and_purged(cli, js, tmp_path):
    assert cli("session", "audit", "list").out == "Nothing is kept.\n"
    assert not (tmp_path / "audit.db").exists()
    log = open_audit(tmp_path / "memory.db")
    old = log.record(session="s1", level=1, path="model", owner="user:ann")
    log.close()
    assert js("session", "audit", "list", "--owner", "user:bob") == []
    assert js("session", "audit", "list")[0]["id"] == old.id
    assert js("session", "audit", "extend", old.id, "--days", 10)["keep_until"]
    assert js("session", "audit", "purge", "--days", 0) == {"purged": 0}
    assert cli("session", "audit", "extend", "safety_none", "--days", 10).code == 1


def test_feedback_is_given_listed_and_purged(cli, js, tmp_path):
    assert cli("session", "feedback", "add", "s1", "splendid").code == 2
    given = js("session", "feedback", "add", "s1", "negative")
    assert (given["owner"], given["source"], given["label"]) == ("user:ann", "cli", "negative")
    assert [one["id"] for one in js("session", "feedback", "list", "--limit", 1)] == [given["id"]]
    assert b"s1" not in (tmp_path / "feedback.db").read_bytes().replace(given["id"].encode(), b"")
    assert cli("session", "feedback", "purge", "--days", 0).out == "Erased 1.\n"
