"""Memory for smolagents, in real agents with a scripted model."""

from __future__ import annotations

import pytest

pytest.importorskip("smolagents", reason="smolagents is not installed: make integrations")

from smolagents import ChatMessage, CodeAgent, LogLevel, MessageRole, Model, ToolCallingAgent
from smolagents.memory import TaskStep
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from holdfast.errors import InvalidInput
from holdfast.integrations.smolagents import HoldfastMemory

BOAT = "My boat is called Heron, and she leaks."
ASKED = "What was wrong with the boat?"


class Scripted(Model):
    """A model that makes its calls one after the other, and remembers what it was shown."""

    def __init__(self, *calls):
        super().__init__(model_id="scripted")
        self.calls, self.shown = list(calls), []

    def generate(self, messages, **kwargs):
        self.shown.append([(one.role, "".join(map(text_of, one.content))) for one in messages])
        call = self.calls.pop(0) if self.calls else ("final_answer", {"answer": "Aye."})
        if isinstance(call, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=call)
        function = ChatMessageToolCallFunction(name=call[0], arguments=call[1])
        made = ChatMessageToolCall(id="1", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[made])

    def users(self, request=-1):
        return [text for role, text in self.shown[request] if role == MessageRole.USER]

    def system(self, request=-1):
        return self.shown[request][0][1]


def text_of(part):
    return part.get("text", "")


def answers(*lines):
    return Scripted(*(("final_answer", {"answer": line}) for line in lines))


def agent_of(memory, model=None, kind=ToolCallingAgent, **options):
    agent = kind(
        tools=memory.tools, model=model or Scripted(), verbosity_level=LogLevel.OFF, **options
    )
    return memory.attach(agent)


def kept(hf):
    return [(turn.role, turn.content) for turn in reversed(hf.list(kinds=["turn"]))]


def test_what_is_said_in_one_session_is_known_in_the_next(hf):
    hf.remember("Answer in one sentence", kind="rule")
    agent_of(HoldfastMemory(hf, session="monday"), answers("Noted.")).run(BOAT)
    model = answers("She leaks.")
    assert agent_of(HoldfastMemory(hf, session="tuesday"), model).run(ASKED) == "She leaks."
    block, task = model.users()
    assert f"- (user, 2026-03-18) {BOAT}" in block
    assert task == f"New task:\n{ASKED}"
    assert "Answer in one sentence" in model.system()
    said = [BOAT, "Noted.", ASKED, "She leaks."]
    assert kept(hf) == list(zip(["user", "assistant"] * 2, said, strict=True))


def test_a_code_agent_recalls_and_calls_the_tools_with_its_code(hf):
    agent_of(HoldfastMemory(hf, session="monday")).run(BOAT)
    code = "remember_fact('Анна пьёт улун')\nfinal_answer(search_memory('улун')['memories'])"
    model = Scripted(f"Thought: I store it.\n<code>\n{code}\n</code>")
    found = agent_of(HoldfastMemory(hf, session="tuesday"), model, CodeAgent).run(ASKED)
    assert BOAT in model.users()[0]
    assert found[0]["content"] == "Анна пьёт улун"
    (fact,) = hf.list(kinds=["fact"])
    assert {event.actor for event in hf.history(fact.id)} == {"agent:smolagents"}
    assert '"content":"Анна пьёт улун"' in kept(hf)[-1][1], "an answer that is no text is JSON"


def test_a_tool_calling_agent_uses_the_tools(hf):
    hf.remember("Ann's boat is called Heron")
    model = Scripted(("search_memory", {"query": "boat", "limit": 1}))
    agent_of(HoldfastMemory(hf, session="s1"), model).run("Look it up.")
    assert "Ann's boat is called Heron" in model.shown[1][-1][1]


def test_every_tool_says_what_its_arguments_are(hf):
    tools = {tool.name: tool for tool in HoldfastMemory(hf, session="s1").tools}
    assert len(tools) == 6
    for tool in tools.values():
        assert all(one["description"] for one in tool.inputs.values())
    assert "kind" in tools["search_memory"].to_code_prompt()
    assert tools["search_memory"].inputs["tag"]["nullable"] is True


def test_a_conversation_that_goes_on_shows_only_the_latest_block(hf):
    hf.remember("Ann's boat is called Heron")
    model = answers("One.", "Two.")
    agent = agent_of(HoldfastMemory(hf, session="s1"), model)
    agent.run("The boat Heron?")
    agent.run("And the boat Heron now?", reset=False)
    shown = "\n".join(model.users())
    assert shown.count("<holdfast-memory ") == 1
    assert shown.index("The boat Heron?") < shown.index("<holdfast-memory ")
    hf.forget(hf.list(kinds=["fact"])[0].id)
    agent.run("And again, the boat Heron?", reset=False)
    assert "called Heron" not in "\n".join(model.users())


def test_the_steps_are_an_ordinary_memory_of_the_agent(hf):
    agent = agent_of(HoldfastMemory(hf, session="s1"), planning_interval=2)
    agent.model.calls = ["1. Answer.", ("final_answer", {"answer": "Aye."})]
    agent.run(BOAT)
    assert len(agent.model.shown[0]) == 1, "a first plan, not the update of one"
    assert isinstance(agent.memory.steps[0], TaskStep)
    assert agent.memory.get_full_steps()[0]["task"] == BOAT
    agent.memory.replay(agent.logger)
    agent.memory.reset()
    assert agent.memory.steps == []


def test_a_streamed_run_is_kept_too(hf):
    agent = agent_of(HoldfastMemory(hf, session="s1"), answers("Streamed."))
    assert list(agent.run(BOAT, stream=True))
    assert kept(hf) == [("user", BOAT), ("assistant", "Streamed.")]


def test_an_answer_after_too_many_steps_is_kept(hf):
    model = Scripted(("memory_stats", {}), "I give up.")
    agent_of(HoldfastMemory(hf, session="s1"), model, max_steps=1).run(BOAT)
    assert kept(hf) == [("user", BOAT), ("assistant", "I give up.")]


def test_two_users_are_isolated_when_one_agent_serves_both(hf):
    model = Scripted()
    agent = agent_of(HoldfastMemory(hf, session="monday"), model)
    agent.run(BOAT)
    bob = hf.scoped("user:bob")
    HoldfastMemory(bob, session="bobs-first").attach(agent)
    agent.run(ASKED)
    assert model.users() == [f"New task:\n{ASKED}"]
    assert [text for _, text in kept(bob)] == [ASKED, "Aye."]
    assert [text for _, text in kept(hf)] == [BOAT, "Aye."]


def test_a_memory_may_be_attached_twice(hf):
    hf.remember("Answer in one sentence", kind="rule")
    model = Scripted()
    memory = HoldfastMemory(hf, session="monday")
    agent = memory.attach(memory.attach(agent_of(memory, model)))
    agent.run(BOAT)
    assert kept(hf) == [("user", BOAT), ("assistant", "Aye.")]
    assert model.system().count("Answer in one sentence") == 1


def test_the_manager_of_other_agents_remembers_what_people_say(hf):
    worker = ToolCallingAgent(
        tools=[], model=answers("Two."), name="counter", description="Counts.", verbosity_level=0
    )
    model = Scripted(("counter", {"task": "Count the boats"}))
    agent_of(HoldfastMemory(hf, session="s1"), model, managed_agents=[worker]).run("How many?")
    assert kept(hf) == [("user", "How many?"), ("assistant", "Aye.")]


def test_an_agent_answers_when_the_store_is_gone(hf, caplog):
    model = Scripted(("search_memory", {"query": "boat"}), ("final_answer", {"answer": "Here."}))
    agent = agent_of(HoldfastMemory(hf, session="s1"), model)
    hf.close()
    assert agent.run(BOAT) == "Here."
    assert "'success': False" in str(model.shown[1])
    for what in ("a turn was not captured", "recall failed for this prompt"):
        assert what in caplog.text


def test_a_session_needs_a_name(hf):
    with pytest.raises(InvalidInput, match="session id"):
        HoldfastMemory(hf, session="")


def test_a_path_is_no_open_memory():
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastMemory("memory.db", session="s1")
