"""Seed 004: what a person may do to their memory by talking, on a file and on a server."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from holdfast.agents.conversation import Conversation

FILE = "{embeddings: {provider: none}, scope: 'user:%s'}"
SERVER = "{embeddings: {provider: none}, store_path: '%s', scope: 'user:%s'}"


@pytest.fixture(params=["sqlite", "postgres"])
def begin(request, write_role, agent_of):
    """Begins a conversation of somebody; the same store each time. The model answers everything
    alike.
    """
    url = request.getfixturevalue("postgres_store_url") if request.param == "postgres" else None
    model = FunctionModel(
        lambda messages, info: ModelResponse(parts=[TextPart("The model answers.")])
    )

    def begin_(who="ann"):
        memory = SERVER % (url, who) if url else FILE % who
        return Conversation(agent_of(write_role(memory, file=f"{who}.yaml"), model))

    return begin_


@pytest.fixture
def talk(begin):
    return begin()


@pytest.fixture
def hf(talk):
    return talk.agent.memory.hf


def say(talk, text):
    return talk.say(text).text


def contents(hf):
    return sorted(memory.content for memory in hf.list())


def test_list_status_and_the_words_for_nothing(talk, hf):
    nothing = "I don't have any saved facts, session summaries, or style rules for you right now."
    assert say(talk, "What do you know about me?") == nothing
    hf.remember("Likes tea")
    assert "1. Likes tea" in say(talk, "What do you know about me?")
    assert say(talk, "memory status").startswith(
        "I have 1 fact, 0 session summaries and 0 style rules saved for you."
    )


def test_a_guest_is_told_so(begin, write_role, agent_of):
    guest = Conversation(agent_of(write_role(FILE % "guest"), None, use_memory=False))
    assert say(guest, "What do you remember about me?") == (
        "You're in guest mode, so I don't have persistent memory to show or edit for this session."
    )


def test_deleting_needs_a_yes_in_the_next_turn_and_is_kept_with_the_session(begin, talk, hf):
    hf.remember("Likes green tea")
    hf.remember("Plays chess")
    assert say(talk, "forget about football") == "I couldn't find a saved memory matching that."
    say(talk, "forget about tea")
    (session,) = hf.sessions.list()
    assert session.metadata["pending_action"]["type"] == "delete"
    restarted = begin()
    restarted.resume()
    assert say(restarted, "yes").startswith("Forgotten: Likes green tea")
    assert contents(hf) == ["Plays chess"]


def test_several_matches_are_numbered_and_a_bad_number_keeps_the_options(talk, hf):
    hf.remember("Likes green tea")
    hf.remember("Drinks tea at noon")
    say(talk, "forget about tea")
    (session,) = hf.sessions.list()
    assert session.metadata["pending_action"]["type"] == "delete_options"
    assert "1 to 2" in say(talk, "9")
    say(talk, "1")
    assert len(contents(hf)) == 2  # a choice is confirmed before anything is forgotten
    say(talk, "yes")
    assert len(contents(hf)) == 1


def test_forget_by_number_and_what_does_not_exist(talk, hf):
    hf.remember("Likes tea")
    hf.remember("Plays chess")
    assert say(talk, "forget fact #9") == "Fact #9 does not exist (only 2 fact(s))."
    say(talk, "forget fact #2")
    say(talk, "yes")
    assert contents(hf) == ["Likes tea"]


def test_a_preference_is_remembered_and_the_reply_is_about_that_one(talk, hf):
    """Also when it was known: the reply never tells of another memory."""
    hf.remember("The user prefers tea over coffee")
    hf.remember("Answer briefly", kind="rule")
    said = say(talk, "Remember that I prefer tea over coffee")
    assert said == "I knew that already: The user prefers tea over coffee"
    assert (
        say(talk, "Remember to always answer in German")
        == "Okay, I'll remember: Always answer in German"
    )


def test_oc_24_recall_off_volunteers_nothing_while_rules_apply_and_clearing_rules_keeps_it(
    talk, hf
):
    hf.remember("Answer in German", kind="rule")
    hf.remember("Ann likes green tea")
    assert say(talk, "turn recall on") == "Proactive recall is now on."
    assert say(talk, "turn recall off") == "Proactive recall is now off."
    loaded = hf.sessions.working_memory("Which green tea?")
    assert loaded.diagnostics["proactive_recall"] is False
    assert "Answer in German" in talk.agent.memory.procedures()
    say(talk, "turn recall on")
    talk.control.slash("clear rules")
    say(talk, "clear")
    assert (contents(hf), hf.sessions.profile()["proactive_recall"]) == (
        ["Ann likes green tea"],
        True,
    )


@pytest.mark.parametrize("word", ["y", "yes", "CLEAR"])
def test_oc_27_only_the_literal_word_wipes(begin, talk, hf, word):
    hf.remember("Ann likes tea")
    begin("bob").agent.memory.hf.remember("Bob likes coffee")
    say(talk, "Forget everything")
    assert say(talk, word).startswith("Cancelled.")
    assert contents(hf) == ["Ann likes tea"]
    say(talk, "Forget everything")
    say(talk, "clear")
    assert contents(hf) == []
    assert contents(begin("bob").agent.memory.hf) == ["Bob likes coffee"]


def test_the_slash_forms(talk, hf):
    hf.remember("Likes tea")
    assert "Likes tea" in talk.control.slash("list facts")
    assert "[y/N]" in talk.control.slash("forget fact 1")
    say(talk, "")
    assert contents(hf) == ["Likes tea"]
    talk.control.slash("forget fact 1")
    say(talk, "y")
    assert contents(hf) == []


def test_one_prompt_controls_as_well_and_is_answered_by_resuming(write_role, memory_of, cli):
    role = write_role()
    memory_of(role).hf.remember("Likes green tea")
    assert "1. Likes green tea" in cli("run", role, "-p", "What do you know about me?").out
    asked = cli("run", role, "-p", "forget about tea")
    assert "[y/N]" in asked.out
    assert "--resume -p" in asked.err
    assert cli("run", role, "--resume", "-p", "yes").out.startswith("Forgotten: Likes green tea")


def test_a_conversation_in_the_terminal_controls_and_says_what_waits(write_role, memory_of, cli):
    role = write_role()
    memory_of(role).hf.remember("Likes green tea")
    memory_of(role).hf.reviews.propose("Plays chess")
    done = cli(
        "run",
        role,
        "-i",
        stdin="/memory list facts\n/memory forget fact 1\n\n/memory forget fact 1\ny\n/memory\n",
    )
    assert "1 memory waits for you: holdfast review --store" in done.err
    assert "1. Likes green tea" in done.out
    assert done.out.index("Okay, nothing was forgotten.") < done.out.index(
        "Forgotten: Likes green tea"
    )
    assert "0 semantic" in done.out
