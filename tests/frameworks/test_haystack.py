"""Memory for Haystack, in real agents and pipelines with Haystack's mock generator."""

from __future__ import annotations

import asyncio
import os

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # it is read when Haystack is imported

pytest.importorskip("haystack", reason="Haystack is not installed: make integrations")

from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.core.serialization_security import allow_deserialization_module
from haystack.dataclasses import ChatMessage, ImageContent, ToolCall

from holdfast.errors import InvalidInput
from holdfast.integrations.haystack import HoldfastMemory, HoldfastRetriever, HoldfastWriter

BOAT = "My boat is called Heron, and she leaks."
ASKED = "What was wrong with the boat?"


class Scripted(MockChatGenerator):
    """A generator that says its lines one after the other, and remembers what it was shown."""

    def __init__(self, *lines):
        self.lines, self.shown = list(lines), []
        super().__init__(response_fn=self.answer)

    def answer(self, messages):
        self.shown.append([(one.role.value, one.text) for one in messages])
        return self.lines.pop(0) if self.lines else "Aye."


def calls(name, **arguments):
    return ChatMessage.from_assistant(tool_calls=[ToolCall(name, arguments)])


def agent_of(memory, generator=None, **options):
    return Agent(
        chat_generator=generator or Scripted(), hooks=memory.hooks, tools=memory.tools, **options
    )


def say(agent, text, history=(), **options):
    return agent.run([*history, ChatMessage.from_user(text)], **options)


def kept(hf):
    return [(turn.role, turn.content) for turn in reversed(hf.list(kinds=["turn"]))]


# An agent


def test_what_is_said_in_one_session_is_known_in_the_next(hf):
    hf.remember("Answer in one sentence", kind="rule")
    say(agent_of(HoldfastMemory(hf, session="monday"), Scripted("Noted.")), BOAT)
    generator = Scripted("She leaks.")
    agent = agent_of(HoldfastMemory(hf, session="tuesday"), generator, system_prompt="You help.")
    assert say(agent, ASKED)["last_message"].text == "She leaks."
    (role, system), (_, block), prompt = generator.shown[0]
    assert role == "system"
    assert system.startswith("You help.\n\n<holdfast-memory ")
    assert "Answer in one sentence" in system
    assert f"- (user, 2026-03-18) {BOAT}" in block
    assert prompt == ("user", ASKED)
    said = [BOAT, "Noted.", ASKED, "She leaks."]
    assert kept(hf) == list(zip(["user", "assistant"] * 2, said, strict=True))


@pytest.mark.parametrize("system_prompt", ["You help.", None])
def test_what_a_run_returns_can_be_the_history_of_the_next(hf, system_prompt):
    hf.remember("Answer in one sentence", kind="rule")
    hf.remember("Ann's boat is called Heron")
    generator = Scripted()
    memory = HoldfastMemory(hf, session="monday")
    first = say(agent_of(memory, generator, system_prompt=system_prompt), "The boat Heron?")
    texts = [message.text for message in first["messages"]]
    assert texts == [*([system_prompt] if system_prompt else []), "The boat Heron?", "Aye."]
    assert all(not message.meta.get("holdfast_original") for message in first["messages"])
    say(agent_of(memory, generator), "And the boat Heron now?", first["messages"])
    assert str(generator.shown[1]).count("memory for this prompt") == 1
    assert str(generator.shown[1]).count("Answer in one sentence") == 1


def test_an_awaited_agent_remembers_too(hf):
    agent = agent_of(HoldfastMemory(hf, session="monday"))
    asyncio.run(agent.run_async([ChatMessage.from_user(BOAT)]))
    assert kept(hf) == [("user", BOAT), ("assistant", "Aye.")]


def test_the_agent_stores_and_finds_with_its_tools(hf):
    memory = HoldfastMemory(hf, session="monday")
    generator = Scripted(calls("remember_fact", content="Анна пьёт улун"), "Done.")
    say(agent_of(memory, generator), "Remember what Anna drinks.")
    (fact,) = hf.list(kinds=["fact"])
    assert fact.content == "Анна пьёт улун"
    assert {event.actor for event in hf.history(fact.id)} == {"agent:haystack"}
    generator = Scripted(calls("search_memory", query="улун", limit=1), "Tea.")
    messages = say(agent_of(memory, generator), "What does she drink?")["messages"]
    results = [one.tool_call_result.result for one in messages if one.tool_call_result]
    assert '"content": "Анна пьёт улун"' in results[0]
    assert kept(hf)[-1] == ("assistant", "Tea.")


def test_an_agent_that_ends_with_a_tool_keeps_its_last_words(hf):
    generator = Scripted(
        ChatMessage.from_assistant("I count.", tool_calls=[ToolCall("memory_stats", {})])
    )
    memory = HoldfastMemory(hf)
    say(agent_of(memory, generator, exit_conditions=["memory_stats"]), "How many?")
    assert kept(hf) == [("user", "How many?"), ("assistant", "I count.")]


def test_an_agent_that_says_nothing_keeps_the_prompt(hf):
    generator = Scripted(calls("memory_stats"))
    history = [ChatMessage.from_user("Hello"), ChatMessage.from_assistant("Old answer.")]
    say(agent_of(HoldfastMemory(hf), generator, max_agent_steps=1), "How many?", history)
    assert kept(hf) == [("user", "How many?")]


def test_one_agent_serves_two_people_who_know_nothing_of_each_other(hf):
    generator = Scripted()
    agent = agent_of(HoldfastMemory(hf, session="monday"), generator)
    say(agent, BOAT)
    bob = hf.scoped("user:bob")
    memory = HoldfastMemory(bob, session="bobs-first")
    say(agent, ASKED, hook_context={"holdfast": memory}, tools=memory.tools)
    assert generator.shown[1] == [("user", ASKED)]
    assert kept(bob) == [("user", ASKED), ("assistant", "Aye.")]
    assert len(kept(hf)) == 2


def test_runs_side_by_side(hf):
    agent = agent_of(HoldfastMemory(hf))

    async def all_of_them():
        memories = [HoldfastMemory(hf, session=f"s{n}") for n in range(8)]
        runs = [
            agent.run_async(
                [ChatMessage.from_user(f"I am {one.session}")], hook_context={"holdfast": one}
            )
            for one in memories
        ]
        await asyncio.gather(*runs)

    asyncio.run(all_of_them())
    turns = hf.list(kinds=["turn"])
    assert len(turns) == 16
    assert all(turn.content in (f"I am {turn.session}", "Aye.") for turn in turns)


def test_of_a_message_with_a_picture_the_words_are_kept(hf):
    picture = ImageContent(base64_image="iVBORw0KGgo=", mime_type="image/png", validation=False)
    message = ChatMessage.from_user(content_parts=["Look at my boat", picture, "It is new"])
    agent_of(HoldfastMemory(hf)).run([message])
    assert kept(hf)[0] == ("user", "Look at my boat\nIt is new")


def test_an_agent_without_a_prompt_is_left_alone(hf):
    agent_of(HoldfastMemory(hf)).run([ChatMessage.from_system("You help.")])
    assert kept(hf) == [("assistant", "Aye.")]


def test_an_agent_answers_when_the_store_is_gone(hf, caplog):
    generator = Scripted(calls("search_memory", query="boat"), "Still here.")
    agent = agent_of(HoldfastMemory(hf), generator)
    hf.close()
    assert say(agent, BOAT)["last_message"].text == "Still here."
    for what in ("a turn was not captured", "recall failed for this prompt"):
        assert what in caplog.text


def test_a_hook_stands_only_where_it_belongs(hf):
    hooks = HoldfastMemory(hf).hooks
    with pytest.raises(ValueError, match="RecallHook"):
        Agent(chat_generator=Scripted(), hooks={"after_run": hooks["before_run"]})


def test_a_session_needs_a_name(hf):
    with pytest.raises(InvalidInput, match="session id"):
        HoldfastMemory(hf, session="")


# A pipeline


def pipeline_of(memory):
    pipeline = Pipeline()
    pipeline.add_component("memory", HoldfastRetriever(memory, top_k=3))
    template = [
        ChatMessage.from_user("{% for one in known %}{{one.content}}\n{% endfor %}{{asked}}")
    ]
    pipeline.add_component("prompt", ChatPromptBuilder(template, required_variables=["asked"]))
    pipeline.add_component("model", MockChatGenerator("Noted."))
    pipeline.add_component("writer", HoldfastWriter(memory))
    pipeline.connect("memory.documents", "prompt.known")
    pipeline.connect("prompt.prompt", "model.messages")
    pipeline.connect("model.replies", "writer.messages")
    return pipeline


def test_a_pipeline_recalls_and_captures(hf):
    memory = HoldfastMemory(hf, session="monday")
    HoldfastWriter(memory).run([ChatMessage.from_user(BOAT)])
    pipeline = pipeline_of(HoldfastMemory(hf, session="tuesday"))
    inputs = {"memory": {"query": ASKED}, "prompt": {"asked": ASKED}}
    result = pipeline.run(inputs, include_outputs_from={"prompt", "memory"})
    assert result["prompt"]["prompt"][0].text == f"{BOAT}\n{ASKED}"
    assert BOAT in result["memory"]["messages"][0].text
    assert result["writer"] == {"messages_written": 1}
    assert kept(hf) == [("user", BOAT), ("assistant", "Noted.")]


def test_documents_carry_id_score_and_metadata_and_can_be_filtered(hf):
    stored = hf.remember("The boat is called Heron", metadata={"source": "form"}, tags=["boat"])
    hf.remember_many([f"Boat number {number}" for number in range(4)])
    retriever = HoldfastRetriever(HoldfastMemory(hf))
    (one,) = retriever.run("boat", tags=["boat"])["documents"]
    assert (one.id, one.content) == (stored.id, "The boat is called Heron")
    assert 0 < one.score <= 1
    assert one.meta == {
        "source": "form",
        "kind": "fact",
        "created_at": "2026-03-18T12:00:00+00:00",
    }
    assert len(retriever.run("boat", top_k=2)["documents"]) == 2
    assert retriever.run("boat", kinds=["rule"])["documents"] == []
    with pytest.raises(InvalidInput, match="limit"):
        retriever.run("boat", top_k=-1)


def test_an_empty_memory_gives_no_documents_and_no_message(hf):
    retriever = HoldfastRetriever(HoldfastMemory(hf))
    assert asyncio.run(retriever.run_async("boat")) == {"documents": [], "messages": []}


def test_the_writer_leaves_out_what_people_and_models_did_not_say(hf):
    messages = [
        ChatMessage.from_system("You help."),
        ChatMessage.from_user("Schönen Tag 🚤"),
        calls("look"),
        ChatMessage.from_tool("seen", origin=ToolCall("look", {})),
        ChatMessage.from_assistant("お元気で"),
    ]
    writer = HoldfastWriter(HoldfastMemory(hf))
    assert asyncio.run(writer.run_async(messages, session="s1")) == {"messages_written": 2}
    assert kept(hf) == [("user", "Schönen Tag 🚤"), ("assistant", "お元気で")]
    assert {turn.session for turn in hf.list()} == {"s1"}
    assert writer.run([]) == {"messages_written": 0}


def test_a_pipeline_goes_on_when_the_store_is_gone(hf, caplog):
    pipeline = pipeline_of(HoldfastMemory(hf))
    hf.close()
    result = pipeline.run({"memory": {"query": ASKED}, "prompt": {"asked": ASKED}})
    assert result["writer"] == {"messages_written": 1}
    assert "recall failed for this question" in caplog.text


# Files of agents and pipelines


@pytest.fixture
def allowed():
    allow_deserialization_module("holdfast.*")


def test_an_agent_is_saved_and_loaded_with_its_memory(hf, allowed):
    say(agent_of(HoldfastMemory(hf, session="monday")), BOAT)
    agent = agent_of(HoldfastMemory(hf, session="tuesday"), MockChatGenerator("She leaks."))
    loaded = Agent.from_dict(agent.to_dict())
    assert {tool.name for tool in loaded.tools} >= {"search_memory", "remember_fact"}
    say(loaded, ASKED)
    loaded.close()
    assert kept(hf)[-2:] == [("user", ASKED), ("assistant", "She leaks.")]
    assert hf.list(), "the memory that was given stays open"


def test_a_pipeline_is_saved_and_loaded_with_its_memory(hf, allowed):
    hf.remember(BOAT)
    loaded = Pipeline.loads(pipeline_of(HoldfastMemory(hf, session="tuesday")).dumps())
    result = loaded.run(
        {"memory": {"query": ASKED}, "prompt": {"asked": ASKED}}, include_outputs_from={"memory"}
    )
    assert [one.content for one in result["memory"]["documents"]] == [BOAT]
    for name in ("memory", "writer"):
        loaded.get_component(name).close()


def test_a_memory_without_a_file_is_in_no_file(open_memory):
    with pytest.raises(InvalidInput, match="Open a file"):
        HoldfastMemory(open_memory(path=":memory:")).to_dict()


def test_a_path_is_no_open_memory():
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastMemory("memory.db")
