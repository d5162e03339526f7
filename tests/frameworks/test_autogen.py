"""Memory for AutoGen, in real agents with AutoGen's replay model."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("autogen_agentchat", reason="AutoGen is not installed: make integrations")

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import MultiModalMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_core.models import CreateResult, ModelInfo, RequestUsage, SystemMessage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient
from PIL import Image as Picture

from holdfast.errors import InvalidInput, StoreClosed
from holdfast.integrations.autogen import HoldfastMemory

BOAT = "My boat is called Heron, and she leaks."
ASKED = "What was wrong with the boat?"
CAPABLE = ModelInfo(
    vision=True, function_calling=True, json_output=True, family="x", structured_output=True
)


def replay(*lines):
    return ReplayChatCompletionClient([*lines, *["Aye."] * 5], model_info=CAPABLE)


def calls(name, arguments):
    return CreateResult(
        finish_reason="function_calls",
        content=[FunctionCall(id="1", name=name, arguments=arguments)],
        usage=RequestUsage(prompt_tokens=1, completion_tokens=1),
        cached=False,
    )


def agent_of(memory, model=None, **options):
    return AssistantAgent("helper", model or replay(), memory=[memory], **options)


def say(agent, task):
    return asyncio.run(agent.run(task=task))


def shown(model, call=-1):
    """The text of all that the model was given in a call."""
    return "\n".join(str(one.content) for one in model.create_calls[call]["messages"])


def kept(hf):
    return [(turn.role, turn.author, turn.content) for turn in reversed(hf.list(kinds=["turn"]))]


def add(memory, content, mime_type=MemoryMimeType.TEXT, **more):
    asyncio.run(memory.add(MemoryContent(content=content, mime_type=mime_type, **more)))


def found(memory, *question, **options):
    return [one.content for one in asyncio.run(memory.query(*question, **options)).results]


# An agent's runs


def test_what_is_said_in_one_session_is_known_in_the_next(hf):
    say(agent_of(HoldfastMemory(hf, session="monday")), BOAT)
    model = replay()
    result = say(agent_of(HoldfastMemory(hf, session="tuesday"), model), ASKED)
    assert f"- (user, 2026-03-18) {BOAT}" in shown(model)
    event = next(one for one in result.messages if one.type == "MemoryQueryEvent")
    assert event.content[0].content == BOAT


def test_another_user_knows_nothing_of_it(hf):
    say(agent_of(HoldfastMemory(hf, session="monday")), BOAT)
    model = replay()
    bob = HoldfastMemory(hf.scoped("user:bob"), session="tuesday")
    say(agent_of(bob, model), ASKED)
    assert "Heron" not in shown(model)
    assert found(bob) == [ASKED]


def test_both_sides_are_kept_once_and_the_last_answer_when_the_memory_is_closed(hf):
    memory = HoldfastMemory(hf, session="monday")
    agent = agent_of(memory, replay("Noted.", "She leaks."))
    say(agent, BOAT)
    say(agent, ASKED)
    three = [("user", "", BOAT), ("assistant", "", "Noted."), ("user", "", ASKED)]
    assert kept(hf) == three
    asyncio.run(memory.close())
    asyncio.run(memory.close())
    assert kept(hf) == [*three, ("assistant", "", "She leaks.")]


def test_the_stable_block_stands_once_in_a_context(hf):
    hf.remember("Answer in one sentence", kind="rule")
    model = replay()
    agent = agent_of(HoldfastMemory(hf, session="monday"), model)
    say(agent, BOAT)
    say(agent, ASKED)
    assert shown(model).count("Answer in one sentence") == 1


def test_a_short_context_gets_the_stable_block_again_and_loses_no_turn(hf):
    hf.remember("Answer in one sentence", kind="rule")
    model = replay("One.", "Two.", "Three.")
    memory = HoldfastMemory(hf, session="monday")
    agent = agent_of(memory, model, model_context=BufferedChatCompletionContext(2))
    for prompt in ("first", "second", "third"):
        say(agent, prompt)
        assert "Answer in one sentence" in shown(model)
    asyncio.run(memory.close())
    said = ["first", "One.", "second", "Two.", "third", "Three."]
    assert [text for _, _, text in kept(hf)] == said


def test_a_conversation_that_is_loaded_again_is_not_kept_twice(hf):
    memory = HoldfastMemory(hf, session="monday")
    agent = agent_of(memory)
    say(agent, BOAT)
    state = asyncio.run(agent.save_state())
    asyncio.run(memory.close())
    again = agent_of(HoldfastMemory(hf, session="monday"))
    asyncio.run(again.load_state(state))
    say(again, ASKED)
    assert [text for _, _, text in kept(hf)] == [BOAT, "Aye.", ASKED]


def test_the_agent_stores_and_finds_with_its_tools(hf):
    memory = HoldfastMemory(hf, session="monday")
    model = replay(calls("remember_fact", '{"content": "Анна пьёт улун"}'))
    say(agent_of(memory, model, tools=memory.tools), "Remember what Anna drinks.")
    (fact,) = hf.list(kinds=["fact"])
    assert fact.content == "Анна пьёт улун"
    assert {event.actor for event in hf.history(fact.id)} == {"agent:autogen"}
    model = replay(calls("search_memory", '{"query": "улун"}'))
    result = say(agent_of(memory, model, tools=memory.tools), "What does she drink?")
    assert '"content": "Анна пьёт улун"' in result.messages[-1].content


def test_of_a_team_one_agent_captures_and_agents_are_not_taken_for_people(hf):
    listens, recalls = HoldfastMemory(hf, session="monday"), HoldfastMemory(hf)
    first = AssistantAgent("first", replay("I found two."), memory=[recalls])
    second = AssistantAgent("second", replay("I agree."), memory=[listens])
    team = RoundRobinGroupChat([first, second], termination_condition=MaxMessageTermination(3))
    asyncio.run(team.run(task="How many boats?"))
    assert kept(hf) == [("user", "", "How many boats?"), ("assistant", "first", "I found two.")]


def test_of_a_message_with_a_picture_the_words_are_kept(hf):
    picture = Image(Picture.new("RGB", (2, 2)))
    message = MultiModalMessage(content=["Look at my boat", picture, "It is new"], source="user")
    say(agent_of(HoldfastMemory(hf, session="monday")), message)
    assert kept(hf) == [("user", "", "Look at my boat\nIt is new")]


def test_an_agent_answers_when_the_store_is_gone(hf, caplog):
    memory = HoldfastMemory(hf, session="monday")
    agent = agent_of(memory, replay("Still here."))
    hf.close()
    assert say(agent, BOAT).messages[-1].content == "Still here."
    asyncio.run(memory.close())
    assert "a turn was not captured" in caplog.text
    assert "recall failed for this prompt" in caplog.text


# The contract of autogen_core.memory.Memory


def test_it_is_a_memory_of_autogen(hf):
    assert isinstance(HoldfastMemory(hf), Memory)


def test_an_empty_memory_finds_nothing_and_leaves_the_context_alone(hf):
    memory = HoldfastMemory(hf)
    context = BufferedChatCompletionContext(5)
    assert asyncio.run(memory.update_context(context)).memories.results == []
    asyncio.run(context.add_message(UserMessage(content=ASKED, source="user")))
    assert asyncio.run(memory.update_context(context)).memories.results == []
    assert len(asyncio.run(context.get_messages())) == 1
    assert found(memory, "boat") == found(memory) == []


def test_what_is_added_is_found_with_its_metadata(hf):
    memory = HoldfastMemory(hf)
    add(memory, "Ann's boat is called Heron", metadata={"source": "form"})
    (one,) = asyncio.run(memory.query("boat")).results
    assert (one.content, one.mime_type) == ("Ann's boat is called Heron", "text/plain")
    assert one.metadata["source"] == "form"
    assert one.metadata["kind"] == "fact"
    assert 0 < one.metadata["score"] <= 1
    assert hf.get(one.metadata["id"]).content == one.content


def test_json_comes_back_as_json_and_markdown_as_markdown(hf):
    memory = HoldfastMemory(hf)
    add(memory, {"boat": "Цапля"}, MemoryMimeType.JSON)
    add(memory, "# Boats", "text/markdown")
    assert found(memory) == ["# Boats", {"boat": "Цапля"}]
    hf.correct(hf.list()[1].id, "The boat is called Heron")
    assert "The boat is called Heron" in found(memory)


@pytest.mark.parametrize("content", [b"\x00", Image(Picture.new("RGB", (2, 2)))])
def test_pictures_and_bytes_are_refused(hf, content):
    with pytest.raises(InvalidInput, match="text or JSON, not image/png"):
        add(HoldfastMemory(hf), content, "image/png")


def test_a_query_may_be_limited_and_filtered(hf):
    memory = HoldfastMemory(hf)
    for number in range(5):
        add(memory, f"Boat number {number}")
    hf.remember("Boats are blue", kind="rule", tags=["colour"])
    assert len(found(memory, "boat", limit=2)) == 2
    assert len(found(memory, limit=3)) == 3
    assert found(memory, "boat", tags=["colour"]) == ["Boats are blue"]
    assert found(memory, kinds=["rule"]) == ["Boats are blue"]
    as_content = MemoryContent(content="boat", mime_type="text/plain")
    assert len(found(memory, as_content, limit=1, unknown=True)) == 1
    with pytest.raises(InvalidInput, match="limit"):
        found(memory, "boat", limit=-1)


def test_clear_forgets_the_owners_memories_and_can_be_undone(hf):
    memory, bob = HoldfastMemory(hf), HoldfastMemory(hf.scoped("user:bob"))
    add(memory, "Ann has a boat")
    add(bob, "Bob has a car")
    asyncio.run(memory.clear())
    asyncio.run(memory.clear())
    assert found(memory) == []
    assert found(bob) == ["Bob has a car"]
    hf.undo()
    assert found(memory) == ["Ann has a boat"]


def test_a_cancelled_token_cancels(hf):
    token = CancellationToken()
    token.cancel()
    memory = HoldfastMemory(hf)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(memory.query("boat", token))
    with pytest.raises(asyncio.CancelledError):
        content = MemoryContent(content="Ann has a boat", mime_type="text/plain")
        asyncio.run(memory.add(content, token))
    assert hf.list() == []


def test_many_at_once(hf):
    memory = HoldfastMemory(hf)

    async def all_of_them():
        boats = [MemoryContent(content=f"Boat {n}", mime_type="text/plain") for n in range(20)]
        await asyncio.gather(*map(memory.add, boats))
        return await asyncio.gather(*(memory.query(f"Boat {n}", limit=1) for n in range(20)))

    assert len(asyncio.run(all_of_them())) == 20
    assert len(hf.list()) == 20


def test_a_store_that_is_gone_loses_an_addition_but_never_a_deletion(hf, caplog):
    memory = HoldfastMemory(hf)
    hf.close()
    add(memory, "Ann has a boat")
    assert found(memory, "boat") == found(memory) == []
    assert caplog.text.count("closed") >= 3
    with pytest.raises(StoreClosed):
        asyncio.run(memory.clear())


def test_an_agent_is_written_into_a_configuration_and_loaded_from_it(hf):
    say(agent_of(HoldfastMemory(hf, session="monday", people=["user", "ann"])), BOAT)
    agent = agent_of(HoldfastMemory(hf, session="tuesday", people=["user", "ann"]))
    loaded = AssistantAgent.load_component(agent.dump_component())
    (memory,) = loaded._memory
    context = BufferedChatCompletionContext(5)
    asyncio.run(context.add_message(UserMessage(content=ASKED, source="ann")))
    asyncio.run(memory.update_context(context))
    added = asyncio.run(context.get_messages())[-1]
    assert isinstance(added, SystemMessage)
    assert BOAT in added.content
    asyncio.run(memory.close())
    assert kept(hf)[-1] == ("user", "", ASKED)
    with pytest.raises(StoreClosed):
        asyncio.run(memory.clear())


def test_a_memory_without_a_file_is_in_no_configuration(open_memory):
    memory = HoldfastMemory(open_memory(path=":memory:"))
    with pytest.raises(InvalidInput, match="Open a file"):
        memory.dump_component()


def test_a_path_is_no_open_memory():
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastMemory("memory.db")
