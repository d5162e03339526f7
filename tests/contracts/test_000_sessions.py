"""Seed 000, short-term memory: conversations are saved after every turn, resumed, trimmed, pruned,
and never raise.
"""

from __future__ import annotations

import json
import logging

import pytest
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
from pydantic_ai.models.function import FunctionModel
from scripted import calling, seen_by

from holdfast.agents import message_history
from holdfast.agents.conversation import Conversation
from holdfast.errors import ModelFailed


def echo():
    """A model that repeats what it was asked."""

    def respond(messages, info):
        asked = next(
            p.content for m in reversed(messages) for p in m.parts if isinstance(p, UserPromptPart)
        )
        return ModelResponse(parts=[TextPart(f"you said {asked}")])

    return FunctionModel(respond)


def said(history):
    return [
        part.content
        for message in history
        for part in message.parts
        if isinstance(part, UserPromptPart | TextPart)
    ]


def bodies(*messages):
    return ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", exclude_none=True)


def talk(agent, *prompts):
    conversation = Conversation(agent)
    for prompt in prompts:
        conversation.say(prompt)
    return conversation


def test_a_conversation_is_saved_after_every_turn_and_read_back_as_it_was(write_role, agent_of):
    """IR-02."""
    path = write_role()
    first = talk(agent_of(path, echo()), "hello")
    again = Conversation(agent_of(path, echo()))
    assert again.resume() == 2
    assert [type(message) for message in again.history] == [ModelRequest, ModelResponse]
    assert said(again.history) == said(first.history) == ["hello", "you said hello"]


def test_a_session_id_is_twelve_hex_digits_and_resuming_begins_a_new_one(
    write_role, agent_of, clock
):
    path = write_role()
    first = talk(agent_of(path, echo()), "hello")
    assert len(first.session) == 12
    int(first.session, 16)
    clock.forward(seconds=1)
    second = Conversation(agent_of(path, echo()))
    second.resume()
    second.say("again")
    assert second.session != first.session
    third = Conversation(agent_of(path, echo()))
    third.resume()
    assert said(third.history) == ["hello", "you said hello", "again", "you said again"]


def test_system_prompts_are_not_kept(write_role, memory_of):
    """IR-03: only what a person said stays of a request, and a request with nothing else
    disappears.
    """
    memory = memory_of(write_role())
    both = ModelRequest(
        parts=[SystemPromptPart("be old-fashioned"), UserPromptPart("hello")], instructions="be new"
    )
    alone = ModelRequest(parts=[SystemPromptPart("be old-fashioned")])
    assert memory.save("s1", bodies(alone, both, ModelResponse(parts=[TextPart("hi")])))
    loaded = memory.latest()
    assert [[part["part_kind"] for part in message["parts"]] for message in loaded] == [
        ["user-prompt"],
        ["text"],
    ]
    assert "old-fashioned" not in json.dumps(loaded)
    assert "be new" not in json.dumps(loaded)


def test_the_role_as_it_is_now_is_used_when_a_conversation_is_resumed(write_role, agent_of):
    path = write_role()
    talk(agent_of(path, echo()), "hello")
    path.write_text(path.read_text().replace("You are a helpful assistant.", "You are a pirate."))
    infos = []
    resumed = Conversation(agent_of(path, seen_by(infos)))
    resumed.resume()
    resumed.say("who are you?")
    assert "You are a pirate." in infos[0].instructions
    assert "helpful" not in infos[0].instructions


@pytest.mark.parametrize(
    ("count", "most", "loaded"), [(20, 4, 4), (6, 3, 2), (4, 20, 4), (2, 1, 0)]
)
def test_only_the_last_messages_are_loaded_and_a_request_comes_first(
    write_role, memory_of, count, most, loaded
):
    """IR-04: a window that would begin with an answer begins one later."""
    memory = memory_of(
        write_role(f"{{max_resume_messages: {most}, embeddings: {{provider: none}}}}")
    )
    for number in range(count // 2):
        memory.save(
            "s1",
            bodies(
                ModelRequest(parts=[UserPromptPart(f"q{number}")]),
                ModelResponse(parts=[TextPart(f"a{number}")]),
            ),
        )
    found = memory.latest()
    assert len(found or ()) == loaded
    if found:
        assert found[0]["kind"] == "request"
        assert found[-1]["parts"][0]["content"] == f"a{count // 2 - 1}"


def test_a_history_never_begins_with_the_result_of_a_tool_that_was_cut_off(write_role, memory_of):
    memory = memory_of(write_role("{max_resume_messages: 4, embeddings: {provider: none}}"))
    memory.save(
        "s1",
        bodies(
            ModelRequest(parts=[UserPromptPart("q0")]),
            ModelResponse(parts=[ToolCallPart("recall", {"query": "x"}, "call-1")]),
            ModelRequest(parts=[ToolReturnPart("recall", "nothing", "call-1")]),
            ModelResponse(parts=[TextPart("a0")]),
            ModelRequest(parts=[UserPromptPart("q1")]),
            ModelResponse(parts=[TextPart("a1")]),
        ),
    )
    assert [message["parts"][0]["content"] for message in memory.latest()] == ["q1", "a1"]


def test_an_unknown_agent_has_no_session_and_agents_in_one_store_never_see_each_other_s(
    write_role, agent_of, tmp_path
):
    """IR-05."""
    shared = f"{{store_path: {tmp_path}/shared.db, embeddings: {{provider: none}}}}"
    talk(agent_of(write_role(shared, name="alice", file="a.yaml"), echo()), "a secret of alice")
    bob = Conversation(agent_of(write_role(shared, name="bob", file="b.yaml"), echo()))
    assert bob.resume() == 0
    assert bob.history == []


def test_a_store_that_cannot_be_written_does_not_end_the_conversation(write_role, agent_of, caplog):
    """IR-07."""
    agent = agent_of(write_role(), echo())
    conversation = talk(agent, "hello")
    agent.memory.hf.store.close()
    with caplog.at_level(logging.WARNING):
        turn = conversation.say("still there?")
    assert turn.text == "you said still there?"
    assert not conversation.saved
    assert "Failed to save session - conversation will not be resumable" in caplog.text
    assert said(conversation.history)[-1] == "you said still there?"


def test_what_could_not_be_saved_is_saved_with_the_next_turn(write_role, agent_of):
    agent = agent_of(write_role(), echo())
    conversation = talk(agent, "one")
    agent.memory.hf.store.close()
    conversation.say("two")
    agent.memory.close()
    conversation.say("three")
    assert conversation.saved
    assert list(message_history.prompts(agent.memory.latest())) == ["one", "two", "three"]


def test_the_history_in_use_is_kept_to_twice_what_is_resumed_and_begins_with_a_request(
    write_role, agent_of
):
    agent = agent_of(write_role("{max_resume_messages: 3, embeddings: {provider: none}}"), echo())
    conversation = talk(agent, *(f"q{number}" for number in range(9)))
    assert len(conversation.history) <= 6
    assert isinstance(conversation.history[0], ModelRequest)
    assert said(conversation.history)[-1] == "you said q8"
    assert len(agent.memory.hf.sessions.messages(conversation.session)) == 18, (
        "nothing is dropped from the record"
    )


def test_a_conversation_is_stored_once_however_long_it_gets(write_role, agent_of):
    """D4 and weakness 1: each turn adds its own messages, not the history again."""
    agent = agent_of(write_role(), echo())
    conversation = Conversation(agent)
    sizes = []
    for number in range(40):
        conversation.say(f"prompt {number:02}")
        stored = agent.memory.hf.store.read(
            None, "SELECT count(*), sum(length(body)) FROM messages"
        )
        sizes.append(stored[0])
    counts, lengths = zip(*sizes, strict=True)
    assert list(counts) == [2 * turn for turn in range(1, 41)]
    assert lengths[39] - lengths[29] < 1.2 * (lengths[9] * 10 / 9), (
        "the last ten turns cost what the first ten did"
    )


def test_max_sessions_counts_sessions_not_turns(write_role, agent_of, clock):
    """D4: a chat of twelve turns does not push out the one before it."""
    path = write_role("{max_sessions: 2, embeddings: {provider: none}}")
    kept = []
    for prompts in (["old"], ["first"], [f"turn {number}" for number in range(12)]):
        clock.forward(seconds=1)
        agent = agent_of(path, echo())
        conversation = talk(agent, *prompts)
        conversation.end()
        kept.append(conversation.session)
    hf = agent.memory.hf
    assert {session.id for session in hf.sessions.list()} == set(kept[1:])
    assert len(hf.sessions.messages(kept[2])) == 24
    assert hf.sessions.messages(kept[0]) == []


def test_a_conversation_that_is_still_going_on_is_never_pruned(write_role, agent_of, clock):
    path = write_role("{max_sessions: 1, embeddings: {provider: none}}")
    open_ = talk(agent_of(path, echo()), "I am still here")
    clock.forward(minutes=5)
    talk(agent_of(path, echo()), "another window").end()
    assert len(open_.agent.memory.hf.sessions.messages(open_.session)) == 2
    clock.forward(days=2)
    talk(agent_of(path, echo()), "much later").end()
    assert open_.agent.memory.hf.sessions.messages(open_.session) == []


def test_ending_twice_equals_once(write_role, agent_of):
    agent = agent_of(write_role(), echo())
    conversation = talk(agent, "hello")
    conversation.end(reason="ended")
    conversation.end(reason="again")
    assert [session.end_reason for session in agent.memory.hf.sessions.list()] == ["ended"]


def test_a_turn_that_fails_leaves_no_trace(write_role, agent_of):
    def fail(messages, info):
        raise RuntimeError("the provider is down")

    agent = agent_of(write_role(), FunctionModel(fail))
    conversation = Conversation(agent)
    with pytest.raises(ModelFailed, match="the provider is down"):
        conversation.say("hello")
    assert conversation.history == []
    assert agent.memory.latest() is None


def test_a_secret_in_a_conversation_does_not_reach_the_disk(write_role, agent_of):
    agent = agent_of(write_role(), echo())
    key = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5oQ7sU9wY1bD3f"
    talk(agent, f"my key is {key}")
    agent.close()
    assert key.encode() not in agent.memory.place.read_bytes()


def test_resuming_reminds_the_agent_of_what_long_term_memory_knows(write_role, agent_of):
    path = write_role()
    agent = agent_of(path, echo())
    agent.memory.remember("semantic", "Ines moved to Lisbon", category="people")
    talk(agent, "tell me about Ines")
    infos = []
    resumed = Conversation(agent_of(path, seen_by(infos)))
    resumed.resume()
    resumed.say("and now?")
    assert (
        "## Recalled Memories (from previous sessions)\n- [people] Ines moved to Lisbon"
        in infos[0].instructions
    )


def busy_turn(calls):
    """The messages of one turn with this many tool calls."""
    messages = [ModelRequest(parts=[UserPromptPart("do it all")])]
    for number in range(calls):
        messages.append(
            ModelResponse(parts=[ToolCallPart("recall", {"query": "x"}, f"call-{number}")])
        )
        messages.append(ModelRequest(parts=[ToolReturnPart("recall", "nothing", f"call-{number}")]))
    return [*messages, ModelResponse(parts=[TextPart("all done")])]


def test_a_turn_longer_than_the_window_keeps_its_prompt_and_its_end(write_role, memory_of):
    memory = memory_of(write_role("{max_resume_messages: 6, embeddings: {provider: none}}"))
    memory.save("s1", bodies(*busy_turn(20)))
    found = memory.latest()
    assert len(found) <= 6
    assert found[0]["parts"][0]["content"] == "do it all"
    assert [message["kind"] for message in found[:2]] == ["request", "response"], (
        "no result without its call"
    )
    assert found[-1]["parts"][0]["content"] == "all done"


def test_an_agent_does_not_forget_the_long_turn_it_has_just_finished(write_role, agent_of):
    steps = [("recall", {"query": "x"})] * 12
    agent = agent_of(
        write_role("{max_resume_messages: 4, embeddings: {provider: none}}"), calling(*steps)
    )
    conversation = talk(agent, "do it all")
    assert said(conversation.history)[0] == "do it all"
    assert len(conversation.history) <= 8


def test_a_rejected_argument_is_judged_by_its_name_before_it_is_kept(write_role, memory_of):
    memory = memory_of(write_role())
    complaint = {"type": "extra", "loc": ["password"], "msg": "no", "input": "hunter2secret"}
    part = {"part_kind": "retry-prompt", "content": [complaint]}
    memory.save(
        "s1", [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}, part]}]
    )
    assert "hunter2secret" not in json.dumps(memory.latest())
