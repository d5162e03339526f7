"""Seed 004: what a person does with a conversation by a slash: search it, sum it up, write it down,
begin another.
"""

from __future__ import annotations

import json

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from holdfast.agents.chat_transcript import NOTHING, TOO_LITTLE, USAGE
from holdfast.agents.conversation import Conversation
from holdfast.audit import open_audit
from holdfast.errors import InvalidInput

SAID = (
    "My sister Ines lives in Porto.",
    "I love green tea in the morning.",
    "My boss shouted at me again.",
)


def answering(text="The model answers."):
    return FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(text)]))


@pytest.fixture
def talk(write_role, agent_of):
    """A conversation in which three things were said."""
    conversation = Conversation(agent_of(write_role(), answering()))
    for text in SAID:
        conversation.say(text)
    return conversation


def test_search_looks_through_what_was_said_what_is_remembered_or_both(talk):
    talk.agent.memory.remember("semantic", "Green tea is in the left drawer")
    history, memory = (
        talk.command("search", f"{sort} green tea") for sort in ("history", "memory")
    )
    assert history == "Said:\n2026-03-18 12:00 user: I love green tea in the morning."
    assert memory == "Remembered:\n#1 [semantic:general] Green tea is in the left drawer"
    assert (
        talk.command("search", "green tea")
        == talk.command("search", "all green tea")
        == f"{history}\n\n{memory}"
    )
    assert talk.command("search", "quagga") == NOTHING
    assert talk.command("search", "") == talk.command("search", "history") == USAGE


def test_the_nearest_memory_is_not_found_by_words_that_it_has_nothing_to_do_with(
    write_role, agent_of
):
    talk = Conversation(agent_of(write_role("{}"), answering()))
    for text in SAID:
        talk.agent.memory.remember("semantic", text)
    assert talk.command("search", "quagga") == NOTHING
    assert talk.command("search", "memory Ines") == f"Remembered:\n#1 [semantic:general] {SAID[0]}"


def test_earlier_conversations_are_searched_and_those_of_other_agents_are_not(
    talk, write_role, agent_of
):
    talk.end()
    assert "green tea" in talk.following("new").command("search", "history tea")
    where = json.dumps(
        {"embeddings": {"provider": "none"}, "store_path": str(talk.agent.memory.place)}
    )
    role = write_role(where, name="other")
    other = Conversation(agent_of(role, answering()))
    assert other.command("search", "history tea") == NOTHING


def test_without_a_memory_what_was_said_here_is_searched(write_role, agent_of):
    guest = Conversation(agent_of(write_role(), answering(), use_memory=False))
    guest.say("I love green tea.")
    assert guest.command("search", "tea") == "Said:\nuser: I love green tea."


def test_a_summary_is_the_models_or_of_the_persons_own_words_and_is_not_stored(
    talk, write_role, agent_of
):
    def answer(messages, info):
        asked = str(messages[-1].parts[-1].content)
        told = {
            "summary": "A hard week.",
            "primary_themes": ["work"],
            "open_loops": ["the talk with the boss"],
        }
        return ModelResponse(parts=[TextPart(json.dumps(told) if "has ended" in asked else "ok")])

    scripted, before = talk, talk.agent.memory.listed()
    assert "Ines" in scripted.command("summary", "")
    role = write_role(model="{provider: openai, name: x}", file="other.yaml", name="other")
    told = Conversation(agent_of(role, FunctionModel(answer)))
    assert told.command("summary", "") == TOO_LITTLE
    for text in SAID:
        told.say(text)
    assert (
        told.command("summary", "")
        == "A hard week.\nThemes: work\nLeft open: the talk with the boss"
    )
    assert scripted.agent.memory.listed() == before


def test_an_export_has_both_sides_no_secret_and_never_takes_the_place_of_a_file(
    talk, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    key = "AKIA" + "Q3EGR7DKXU2LW5ZB"
    talk.say(f"Our key is {key}.")
    assert talk.command("export", "") == f"Wrote 8 messages to {talk.session}.md."
    file = tmp_path / f"{talk.session}.md"
    assert file.read_text().startswith(
        f"# A conversation with assistant\n\n**user**: {SAID[0]}\n\n**assistant**: The model "
        "answers.\n\n"
    )
    assert (key in file.read_text(), file.stat().st_mode & 0o777) == (False, 0o600)
    with pytest.raises(InvalidInput, match="already exists"):
        talk.command("export", "")
    with pytest.raises(InvalidInput, match="cannot be written"):
        talk.command("export", "nowhere/talk.md")
    with pytest.raises(InvalidInput, match="conversation is empty"):
        talk.following("new").command("export", "")


def test_a_new_session_has_an_id_of_ones_own_or_any_and_never_that_of_another(talk):
    assert talk.following("new second").session == "second"
    assert len(talk.following("new").session) == 12
    for id_ in (talk.session, "x" * (2_000)):
        with pytest.raises(InvalidInput):
            talk.following(f"new {id_}")


def test_in_the_terminal(write_role, cli, memory_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    role = write_role()
    lines = (
        "I love green tea.",
        "/search history tea",
        "/export talk.md",
        "/end now",
        "/end new",
        "/end new second",
        "Hello there.",
        "/export talk.md",
        "/summary",
    )
    done = cli("run", role, "-i", stdin="\n".join(lines) + "\n")
    assert done.code == 0
    for told in (
        "user: I love green tea.\n",
        "Wrote 2 messages to talk.md.\n",
        "A new session begins: second.\n",
        TOO_LITTLE,
    ):
        assert told in done.out
    assert "talk.md already exists" in done.err and "Nothing was ended" in done.err
    sessions = memory_of(role).hf.sessions.list()
    assert {session.end_reason for session in sessions} == {"ended"}
    assert "second" in {session.id for session in sessions}


# Safety events


def noted(talk, clock, *, days):
    with_log = open_audit(talk.agent.memory.place, clock=clock)
    with_log.record(session="s", level=1, path="rules", owner="user:ann")
    with_log.close()
    clock.forward(days=days)


@pytest.mark.parametrize(("days", "rest"), [(90, ""), (10, " 7")])
def test_safety_events_that_are_old_enough_go_when_the_word_is_typed(talk, clock, days, rest):
    noted(talk, clock, days=days)
    for said, reply in (
        ("y", "Cancelled."),
        ("PURGE", "Cancelled."),
        ("clear", "Cancelled."),
        ("purge", "Erased 1 "),
    ):
        assert "1 safety event older than" in talk.slash(f"purge-crisis{rest}")
        assert talk.say(said).text.startswith(reply)
    assert talk.slash(f"purge-crisis{rest}").startswith("There are no safety events older than")


def test_events_that_are_kept_for_longer_and_recent_ones_stay(talk, clock):
    assert talk.slash("purge-crisis") == "There are no safety events older than 90 days."
    noted(talk, clock, days=89)
    assert not talk.waiting
    assert talk.slash("purge-crisis").startswith("There are no")
    assert talk.slash("purge-crisis soon") == talk.slash("forget"), "which says how"
    log = open_audit(talk.agent.memory.place, clock=clock)
    log.extend(log.list()[0].id, days=30)
    clock.forward(days=20)
    assert talk.slash("purge-crisis").startswith("There are no")
    log.close()


def test_a_guest_has_no_events(write_role, agent_of):
    assert "guest mode" in Conversation(
        agent_of(write_role(), answering(), use_memory=False)
    ).slash("purge-crisis")
