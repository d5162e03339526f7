"""What is remembered and why, from the shell: explain, session, profile."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def ask(cli, tmp_path, monkeypatch):
    """Runs a command on one store; what it printed comes back, as JSON where it is asked for."""
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")

    def run(*args, fails=False):
        done = cli(*args, "--store", tmp_path / "memory.db", "--scope", "user:ann")
        assert (done.code != 0) == fails, done
        return json.loads(done.out) if "--json" in args else done.err if fails else done.out

    return run


@pytest.fixture
def said(ask):
    ask("capture", "--session", "s1", "My sister Ines lives in Lisbon.")
    ask("capture", "--session", "s1", "Don't ask if I'm safe, ever again.")


def test_what_is_considered_is_shown_with_its_reason_and_what_is_dropped_without_its_words(
    ask, said
):
    told = ask("session", "extract", "s1", "--json")
    assert [(one["action"], one["quote"]) for one in told["decisions"]] == [
        ("commit_now", "My sister Ines lives in Lisbon"),
        ("drop", ""),
    ]
    assert told["problem"] is None
    assert ask("session", "extract", "s1") == "Nothing new to remember.\n"


def test_why_a_memory_is_stored_is_told_with_its_quote_and_its_turn(ask, said):
    ask("session", "extract", "s1")
    told = ask("explain", "3")
    for line in (
        "action       commit_now",
        "policy       rules_v1",
        "“My sister Ines lives in Lisbon”",
        "rests on",
    ):
        assert line in told
    whole = ask("explain", "3", "--json")
    assert whole["decision"]["timing"] == "immediate"
    assert [turn["content"] for turn in whole["sources"]] == ["My sister Ines lives in Lisbon."]


def test_why_a_turn_taught_nothing_is_told_too(ask, said):
    ask("session", "extract", "s1")
    assert "not stored" in ask("explain", "2")
    (dropped,) = ask("explain", "2", "--json")["dropped"]
    assert (dropped["action"], dropped["kind"]) == ("drop", "rule")
    assert ask("explain", "2", "--json")["decision"] is None


def test_a_session_is_listed_shown_and_ended_once(ask, said):
    (one,) = ask("session", "list", "--json")
    assert (one["id"], one["learned"], one["ended_at"]) == ("s1", False, None)
    assert "open" in ask("session", "show", "s1")
    assert ask("session", "end", "s1", "--json") == {
        "ended": True,
        "new": 1,
        "refused": 0,
        "arcs": 0,
    }
    assert "had ended before" in ask("session", "end", "s1")
    assert "learned from" in ask("session", "list")
    kinds = [one["kind"] for one in ask("session", "show", "s1", "--json")["memories"]]
    assert kinds == ["turn", "turn", "fact"]


@pytest.mark.parametrize(
    "command", [("session", "show"), ("session", "end"), ("session", "extract")]
)
def test_a_session_that_is_not_there_is_said(ask, said, command):
    assert "No session 'nowhere'" in ask(*command, "nowhere", fails=True)


def test_what_is_set_for_an_owner_is_shown_and_changed(ask):
    assert ask("settings", "profile", "--json") == {"proactive_recall": False, "enabled": True}
    assert (
        ask("settings", "profile", "--recall", "on", "--memory", "off")
        == "recall       on\nmemory       off\n"
    )
    assert ask("settings", "profile", "--json") == {"proactive_recall": True, "enabled": False}


def test_a_vocabulary_that_is_not_there_is_said(ask, said, monkeypatch):
    monkeypatch.setenv("HOLDFAST_VOCABULARY", "sofa")
    assert "There is no vocabulary 'sofa'. Use one of: couch, general" in ask(
        "session", "extract", "s1", fails=True
    )


def test_a_plan_tells_what_a_model_would_cost_and_asks_nobody(ask, said, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MODEL", "openai:gpt-5-mini")
    planned = ask("session", "extract", "s1", "--plan", "--json")
    assert (planned["model"], planned["calls"], planned["answer_tokens"]) == (
        "openai:gpt-5-mini",
        1,
        500,
    )
    assert 500 < planned["prompt_tokens"] < 1_000
    assert 0 < planned["dollars"] < 0.01
    assert f"${planned['dollars']:.4f}" in ask("session", "extract", "s1", "--plan")
    learned = ask("session", "show", "s1", "--json")["memories"]
    assert {one["kind"] for one in learned} == {"turn"}


@pytest.mark.parametrize(
    ("model", "url"),
    [("ollama:llama", ""), ("openai:gpt-5-mini", "http://127.0.0.1:9/v1"), ("openai:own-one", "")],
)
def test_a_model_without_a_list_price_is_planned_without_one(ask, said, monkeypatch, model, url):
    monkeypatch.setenv("HOLDFAST_MODEL", model)
    monkeypatch.setenv("HOLDFAST_MODEL_URL", url)
    assert ask("session", "extract", "s1", "--plan", "--json")["dollars"] is None
    told = ask("session", "extract", "s1", "--plan")
    assert told.startswith("The language model would be asked once, about ")
    assert "$" not in told


def test_without_a_model_a_plan_says_so_and_an_unknown_session_is_an_error(ask, said):
    assert ask("session", "extract", "s1", "--plan") == "No language model would be asked.\n"
    assert "No session 's9'" in ask("session", "extract", "s9", "--plan", fails=True)
