"""LlamaIndex: its memory contract, its agents and its own `Memory` with our block."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("llama_index.core", reason="`make integrations` installs LlamaIndex")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ImageBlock, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from llama_index.core.memory.memory import BaseMemoryBlock

from holdfast import AsyncHoldfast, InvalidInput
from holdfast.errors import StoreClosed
from holdfast.integrations.llama_index import HoldfastMemory, HoldfastMemoryBlock


def user(text):
    return ChatMessage(role="user", content=text)


def assistant(text):
    return ChatMessage(role="assistant", content=text)


def texts(messages):
    return [message.content for message in messages]


@pytest.fixture(params=["holdfast", "llama-index"])
def any_memory(request):
    """Ours, and LlamaIndex's own buffer: what a test says is true of both."""
    if request.param == "llama-index":
        return ChatMemoryBuffer.from_defaults(token_limit=1000)
    return HoldfastMemory(request.getfixturevalue("hf"), session="monday")


@pytest.fixture
def memory(hf):
    return HoldfastMemory(hf, session="monday")


# The contract of BaseMemory


def test_it_is_a_memory_and_starts_empty(any_memory):
    assert isinstance(any_memory, BaseMemory)
    assert any_memory.get() == any_memory.get_all() == []


def test_messages_come_back_in_order(any_memory):
    any_memory.put(user("Grüße 緑茶"))
    any_memory.put_messages([assistant("Hello"), user("Bye")])
    assert texts(any_memory.get_all()) == ["Grüße 緑茶", "Hello", "Bye"]
    assert texts(any_memory.get()) == ["Grüße 緑茶", "Hello", "Bye"]
    assert [one.role.value for one in any_memory.get_all()] == ["user", "assistant", "user"]


def test_set_replaces_and_reset_clears(any_memory):
    any_memory.put(user("one"))
    any_memory.set([user("two"), assistant("three")])
    assert texts(any_memory.get_all()) == ["two", "three"]
    any_memory.set([])
    assert any_memory.get_all() == []
    any_memory.put(user("four"))
    any_memory.reset()
    any_memory.reset()
    assert any_memory.get_all() == []


def test_the_awaitable_calls_do_the_same(any_memory):
    async def run():
        await any_memory.aput(user("one"))
        await any_memory.aput_messages([assistant("two")])
        got = texts(await any_memory.aget()), texts(await any_memory.aget_all())
        await any_memory.aset([user("three")])
        after = texts(await any_memory.aget_all())
        await any_memory.areset()
        return *got, after, await any_memory.aget_all()

    assert asyncio.run(run()) == (["one", "two"], ["one", "two"], ["three"], [])


def test_tool_calls_and_pictures_survive(memory):
    call = ToolCallBlock(tool_call_id="call_1", tool_name="add", tool_kwargs={"a": 1})
    image = ImageBlock(image=b"\x89PNG\r\n\x1a\n0123", image_mimetype="image/png")
    said = [
        ChatMessage(role="user", blocks=[image]),
        ChatMessage(role="assistant", blocks=[call]),
        ChatMessage(role="tool", content="2", additional_kwargs={"tool_call_id": "call_1"}),
    ]
    memory.put_messages(said)
    assert memory.get_all() == said


def test_get_keeps_whole_turns_within_the_limit(hf):
    memory = HoldfastMemory(hf, session="monday", token_limit=120)
    memory.put(ChatMessage(role="system", content="Be brief."))
    for number in range(6):
        memory.put_messages([user(f"question {number}"), assistant(f"answer {number}")])
    kept = texts(memory.get())
    assert kept[0] == "Be brief." and kept[-1] == "answer 5"
    assert kept[1].startswith("question") and len(kept) < 13
    assert len(memory.get_all()) == 13
    tiny = HoldfastMemory(hf, session="monday", token_limit=1)
    assert texts(tiny.get()) == ["Be brief.", "question 5", "answer 5"]


def test_the_history_is_there_in_the_next_process(memory, open_memory):
    memory.put_messages([user("My boat is Heron"), assistant("Noted")])
    again = HoldfastMemory.from_defaults(open_memory("user:ann"), "monday")
    assert texts(again.get_all()) == ["My boat is Heron", "Noted"]
    fresh = HoldfastMemory.from_defaults(open_memory("user:ann"), "monday", chat_history=[])
    assert fresh.get_all() == []


# Long-term memory


def test_another_session_recalls_what_was_said(memory, hf):
    memory.put_messages([user("My boat is called Heron"), assistant("Nice name")])
    hf.remember("Always answer briefly", kind="rule")
    tuesday = HoldfastMemory(hf, session="tuesday")
    tuesday.put(user("What is my boat called?"))
    system, block, prompt = tuesday.get()
    assert "Always answer briefly" in system.content and system.role == "system"
    assert "called Heron" in block.content and prompt.content == "What is my boat called?"
    assert texts(tuesday.get_all()) == ["What is my boat called?"]
    asked_before_it_is_put = HoldfastMemory(hf, session="wednesday").get("What is my boat called?")
    assert "called Heron" in asked_before_it_is_put[-1].content


def test_a_system_message_of_the_history_gets_the_stable_block(memory, hf):
    hf.remember("Always answer briefly", kind="rule")
    memory.set([ChatMessage(role="system", content="You help."), user("Hello")])
    first = memory.get()[0]
    assert first.content.startswith("You help.") and "Always answer briefly" in first.content
    assert memory.get_all()[0].content == "You help."


def test_what_is_set_or_said_by_tools_is_not_captured(memory, hf):
    memory.set([user("My car is red")])
    memory.put(ChatMessage(role="tool", content="The car is blue"))
    assert hf.list(kinds=("turn",)) == []


def test_two_users_and_two_sessions_are_isolated(memory, open_memory):
    memory.put(user("My boat is called Heron"))
    bob = HoldfastMemory(open_memory("user:bob"), session="monday")
    assert bob.get("What is my boat called?") == []
    assert HoldfastMemory(open_memory("user:ann"), session="other").get_all() == []


def test_secrets_are_redacted(memory):
    key = "sk-ant-api03-" + "a1B2" * 20
    memory.put(user(f"the key is {key}"))
    call = ToolCallBlock(tool_name="login", tool_kwargs={"api_key": key})
    memory.put(ChatMessage(role="assistant", blocks=[call]))
    assert key not in str(memory.get_all())


def test_many_threads_may_put(memory):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: memory.put(user(f"message {number}")), range(24)))
    assert sorted(texts(memory.get_all())) == sorted(f"message {number}" for number in range(24))


def test_a_busy_store_delays_the_history_and_loses_nothing(busy, open_memory):
    memory = HoldfastMemory(open_memory("user:ann"), session="monday")
    with busy():
        memory.put(user("one"))
        assert texts(memory.get()) == ["one"]
    memory.put(user("two"))
    assert texts(HoldfastMemory(open_memory("user:ann"), session="monday").get_all()) == [
        "one",
        "two",
    ]


def test_bad_input_says_what_to_give(hf, tmp_path):
    for make in (lambda given: HoldfastMemory(given, session="x"), HoldfastMemoryBlock):
        with pytest.raises(InvalidInput, match="takes an open memory"):
            make(str(tmp_path / "memory.db"))
        with pytest.raises(InvalidInput, match="Give the `blocking`"):
            make(AsyncHoldfast(hf))
    with pytest.raises(InvalidInput, match="session id"):
        HoldfastMemory(hf, session=" ")
    with pytest.raises(InvalidInput, match="token_limit"):
        HoldfastMemory(hf, session="x", token_limit=0)


def test_a_closed_store_says_so(memory, hf):
    hf.close()
    with pytest.raises(StoreClosed):
        memory.put(user("one"))


# Agents


@pytest.fixture
def model():
    """A model that answers, and keeps what it was asked."""
    asked = []

    def answer(messages, **_):
        asked.append(list(messages))
        return assistant("Noted.")

    llm = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
    object.__setattr__(llm, "asked", asked)
    return llm


def test_an_agent_remembers_and_recalls_in_another_session(model, hf):
    def run(session, prompt):
        agent = FunctionAgent(llm=model, system_prompt="You help.", streaming=False)

        async def go():
            return await agent.run(prompt, memory=HoldfastMemory(hf, session=session))

        return str(asyncio.run(go()))

    assert run("monday", "My boat is called Heron") == "Noted."
    run("tuesday", "What is my boat called?")
    told = "\n".join(message.content for message in model.asked[-1])
    assert "My boat is called Heron" in told and told.endswith("What is my boat called?")
    run("tuesday", "And what else?")
    assert "What is my boat called?" in texts(model.asked[-1])
    assert [one.content for one in hf.list(kinds=("turn",), sessions=("monday",))] == [
        "Noted.",
        "My boat is called Heron",
    ]


def test_a_chat_engine_remembers_and_recalls(model, hf):
    def engine(session):
        memory = HoldfastMemory(hf, session=session)
        return SimpleChatEngine.from_defaults(llm=model, memory=memory)

    engine("monday").chat("My boat is called Heron")
    engine("tuesday").chat("What is my boat called?")
    told = texts(model.asked[-1])
    assert told[-1] == "What is my boat called?" and any("called Heron" in one for one in told[:-1])


def test_a_block_captures_what_leaves_the_short_term_memory(hf, open_memory):
    def memory(session, hf=hf):
        return Memory.from_defaults(
            session_id=session,
            token_limit=60,
            token_flush_size=10,
            memory_blocks=[HoldfastMemoryBlock(hf, priority=0)],
        )

    async def run():
        monday = memory("monday")
        for number in range(8):
            await monday.aput(user(f"My boat number {number} is called Heron {number}"))
            await monday.aput(assistant("Noted, thank you very much for telling me."))
        await memory("tuesday").aput(user("Hello"))
        asking = await memory("tuesday").aget("What is my boat number 0 called?")
        bobs = await memory("tuesday", open_memory("user:bob")).aget("Which boat?")
        return "\n".join(texts(asking)), bobs

    told, bobs = asyncio.run(run())
    assert "called Heron 0" in told and "<holdfast>" in told
    assert bobs == []
    assert isinstance(HoldfastMemoryBlock(hf), BaseMemoryBlock)


def test_a_block_never_fails_a_run(hf, caplog):
    block = HoldfastMemoryBlock(hf)
    assert asyncio.run(block.aget([])) == ""
    hf.close()
    asyncio.run(block.aput([user("My boat is Heron")], session_id="monday"))
    assert asyncio.run(block.aget([user("Which boat?")])) == ""
    assert "not captured" in caplog.text and "recall failed" in caplog.text
