"""A thread with memory for Semantic Kernel, in real agents with a scripted service."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("semantic_kernel", reason="it is not installed: make integrations")

from semantic_kernel import Kernel
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents import (
    AuthorRole,
    ChatHistory,
    ChatHistoryTruncationReducer,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
    ImageContent,
    StreamingChatMessageContent,
    TextContent,
)

from holdfast.errors import InvalidInput, StoreClosed
from holdfast.integrations.semantic_kernel import HoldfastThread, memory_plugin

BOAT = "My boat is called Heron, and she leaks."
ASKED = "What was wrong with the boat?"


class Scripted(ChatCompletionClientBase):
    """A service that says its lines one after the other, and remembers what it was shown."""

    SUPPORTS_FUNCTION_CALLING = True
    lines: list
    shown: list

    def __init__(self, *lines):
        super().__init__(ai_model_id="scripted", lines=list(lines), shown=[])

    def next(self, history):
        self.shown.append([(one.role.value, one.content) for one in history])
        return self.lines.pop(0) if self.lines else "Aye."

    async def _inner_get_chat_message_contents(self, chat_history, settings):
        line = self.next(chat_history)
        items = [TextContent(text=line) if isinstance(line, str) else line]
        answer = ChatMessageContent(role=AuthorRole.ASSISTANT, items=items, inner_content=object())
        return [answer]

    async def _inner_get_streaming_chat_message_contents(self, chat_history, settings, *rest):
        for word in self.next(chat_history).split(" "):
            yield [
                StreamingChatMessageContent(role=AuthorRole.ASSISTANT, content=word, choice_index=0)
            ]

    def get_prompt_execution_settings_class(self):
        return PromptExecutionSettings

    def _update_function_choice_settings_callback(self):
        return lambda *given: None

    def _reset_function_choice_settings(self, settings):
        return None


def calls(name, **arguments):
    return FunctionCallContent(id="1", name=f"memory-{name}", arguments=arguments)


def say(prompt, thread, service=None, **options):
    agent = ChatCompletionAgent(
        service=service or Scripted(), name="helper", instructions="You help.", **options
    )
    return asyncio.run(agent.get_response(prompt, thread=thread)).message


def history_of(thread):
    async def read():
        return [message async for message in thread.get_messages()]

    return asyncio.run(read())


def texts(thread):
    return [message.content for message in history_of(thread)]


def add(thread, *messages):
    async def work():
        for message in messages:
            await thread.on_new_message(message)

    asyncio.run(work())


def kept(hf):
    return [(turn.role, turn.content) for turn in reversed(hf.list(kinds=["turn"]))]


# An agent


def test_what_is_said_in_one_thread_is_known_in_the_next(hf):
    hf.remember("Answer in one sentence", kind="rule")
    say(BOAT, HoldfastThread(hf, thread_id="monday"), Scripted("Noted."))
    service = Scripted("She leaks.")
    assert say(ASKED, HoldfastThread(hf, thread_id="tuesday"), service).content == "She leaks."
    system, (role, block), prompt = service.shown[0]
    assert system == ("system", "You help.")
    assert role == "user"
    assert f"- (user, 2026-03-18) {BOAT}" in block
    assert "Answer in one sentence" in block
    assert prompt == ("user", ASKED)
    said = [BOAT, "Noted.", ASKED, "She leaks."]
    assert kept(hf) == list(zip(["user", "assistant"] * 2, said, strict=True))


def test_two_users_are_isolated_even_in_threads_of_one_name(hf):
    say(BOAT, HoldfastThread(hf, thread_id="monday"))
    service = Scripted()
    bob = HoldfastThread(hf.scoped("user:bob"), thread_id="monday")
    say(ASKED, bob, service)
    assert service.shown == [[("system", "You help."), ("user", ASKED)]]


def test_a_thread_goes_on_in_another_process_without_what_memory_added(hf, open_memory):
    hf.remember("Ann's boat is called Heron")
    say("The boat Heron?", HoldfastThread(hf, thread_id="monday"), Scripted("Noted."))
    again = HoldfastThread(open_memory(), thread_id="monday")
    assert texts(again) == ["The boat Heron?", "Noted."]
    assert len(again) == 2
    service = Scripted()
    say("And the boat Heron now?", again, service)
    assert str(service.shown).count("<holdfast-memory ") == 1
    assert kept(hf)[-1] == ("assistant", "Aye.")
    assert len(kept(hf)) == 4


def test_a_streamed_answer_is_kept(hf):
    thread = HoldfastThread(hf)

    async def stream():
        agent = ChatCompletionAgent(service=Scripted("She leaks."), name="helper")
        return [one async for one in agent.invoke_stream(ASKED, thread=thread)]

    assert asyncio.run(stream())
    assert [role for role, _ in kept(hf)] == ["user", "assistant"]
    assert len(texts(thread)) == 2


def test_the_agent_stores_and_finds_with_the_plugin(hf):
    plugins = [memory_plugin(hf)]
    service = Scripted(calls("remember_fact", content="Анна пьёт улун"), "Done.")
    say("Remember what Anna drinks.", HoldfastThread(hf), service, plugins=plugins)
    (fact,) = hf.list(kinds=["fact"])
    assert fact.content == "Анна пьёт улун"
    assert {event.actor for event in hf.history(fact.id)} == {"agent:semantic-kernel"}
    service = Scripted(calls("search_memory", query="улун", limit=1), "Tea.")
    thread = HoldfastThread(hf, thread_id="tuesday")
    assert say("What does she drink?", thread, service, plugins=plugins).content == "Tea."
    assert '"content": "Анна пьёт улун"' in str(history_of(thread)[2].items[0].result)
    assert kept(hf)[-2:] == [("user", "What does she drink?"), ("assistant", "Tea.")]
    again = history_of(HoldfastThread(hf, thread_id="tuesday"))
    kinds = [FunctionCallContent, FunctionResultContent]
    assert [type(message.items[0]) for message in again[1:3]] == kinds


def test_a_kernel_calls_the_plugin_by_hand(hf):
    hf.remember("Ann's boat is called Heron")
    kernel = Kernel()
    plugin = kernel.add_plugin(memory_plugin(hf))
    assert len(plugin.functions) == 6
    assert {one.name for one in plugin["search_memory"].parameters} >= {"query", "limit"}
    found = asyncio.run(kernel.invoke(plugin["search_memory"], query="boat"))
    assert "Ann's boat is called Heron" in str(found)


def test_threads_side_by_side(hf):
    async def all_of_them():
        agent = ChatCompletionAgent(service=Scripted(), name="helper")
        threads = [HoldfastThread(hf, thread_id=f"s{n}") for n in range(8)]
        await asyncio.gather(*(agent.get_response(f"I am {one.id}", thread=one) for one in threads))
        return threads

    threads = asyncio.run(all_of_them())
    assert [texts(one) for one in threads] == [[f"I am s{n}", "Aye."] for n in range(8)]
    assert len(kept(hf)) == 16


def test_an_agent_answers_when_the_store_is_gone(hf, caplog):
    thread = HoldfastThread(hf, thread_id="monday")
    service = Scripted(calls("search_memory", query="boat"), "Still here.")
    plugin = memory_plugin(hf)
    hf.close()
    assert say(BOAT, thread, service, plugins=[plugin]).content == "Still here."
    for what in ("a turn was not captured", "recall failed", "a message was not stored"):
        assert what in caplog.text
    assert len(texts(HoldfastThread(hf))) == 0
    assert "the history was not loaded" in caplog.text
    with pytest.raises(StoreClosed):
        asyncio.run(thread.delete())


# The contract of a thread


def test_it_is_a_thread_of_the_agent_with_an_id_of_its_own(hf):
    first, second = HoldfastThread(hf), HoldfastThread(hf)
    assert isinstance(first, ChatHistoryAgentThread)
    assert first.id != second.id
    assert asyncio.run(first.create()) == first.id
    assert texts(first) == []
    assert len(first) == 0
    with pytest.raises(InvalidInput, match="session id"):
        HoldfastThread(hf, thread_id="x" * 1000)


def test_messages_come_back_as_they_were(hf):
    items = [
        TextContent(text="Schau 🚤"),
        ImageContent(data_uri="data:image/png;base64,iVBORw0KGgo="),
        ImageContent(uri="https://example.com/boat.png"),
    ]
    call = FunctionCallContent(id="c1", name="memory-look", arguments='{"where": "東京"}')
    messages = [
        ChatMessageContent(role=AuthorRole.USER, items=items, name="ann"),
        ChatMessageContent(role=AuthorRole.ASSISTANT, items=[call], metadata={"thing": object()}),
    ]
    add(HoldfastThread(hf, thread_id="monday"), *messages)
    again = history_of(HoldfastThread(hf, thread_id="monday"))
    assert [one.to_dict() for one in again] == [one.to_dict() for one in messages]
    assert again[0].name == "ann"


def test_a_message_that_the_thread_has_already_is_not_added_again(hf):
    thread = HoldfastThread(hf, thread_id="monday")
    own = ChatMessageContent(
        role=AuthorRole.USER, content="Hello", metadata={"thread_id": "monday"}
    )
    add(thread, own, "A text is a prompt.")
    assert kept(hf) == [("user", "A text is a prompt.")]
    assert len(HoldfastThread(hf, thread_id="monday")) == 1


def test_deleting_a_thread_erases_its_history_and_no_other(hf):
    thread, other = HoldfastThread(hf, thread_id="monday"), HoldfastThread(hf, thread_id="tuesday")
    for one in (thread, other):
        say(BOAT, one)
    asyncio.run(thread.delete())
    asyncio.run(thread.delete())
    with pytest.raises(RuntimeError, match="deleted"):
        _ = thread.id
    assert texts(HoldfastThread(hf, thread_id="monday")) == []
    assert texts(HoldfastThread(hf, thread_id="tuesday")) == [BOAT, "Aye."]


def test_a_reduced_history_is_stored_reduced(hf):
    reducer = ChatHistoryTruncationReducer(target_count=2, threshold_count=0)
    thread = HoldfastThread(hf, thread_id="monday", chat_history=reducer)
    for number in range(3):
        say(f"Prompt {number}", thread)
    assert asyncio.run(thread.reduce()) is not None
    assert texts(thread) == ["Prompt 2", "Aye."]
    assert texts(HoldfastThread(hf, thread_id="monday")) == ["Prompt 2", "Aye."]
    assert len(kept(hf)) == 6, "memory keeps what was said"
    assert asyncio.run(HoldfastThread(hf).reduce()) is None


def test_a_history_that_has_messages_already_is_refused(hf):
    history = ChatHistory()
    history.add_user_message("Hello")
    with pytest.raises(InvalidInput, match="empty chat_history"):
        HoldfastThread(hf, chat_history=history)


def test_secrets_are_redacted_in_the_store(hf):
    token = "ghp_" + "a1B2" * 9
    add(HoldfastThread(hf, thread_id="monday"), f"My token is {token}")
    (stored,) = texts(HoldfastThread(hf, thread_id="monday"))[-1:]
    assert "[REDACTED" in stored
    assert token not in stored


def test_while_the_store_is_busy_messages_are_buffered(busy, hf, caplog):
    thread = HoldfastThread(hf, thread_id="monday")
    add(thread, "one")
    with busy():
        add(thread, "two")
    assert "buffered, not stored" in caplog.text
    add(thread, ChatMessageContent(role=AuthorRole.ASSISTANT, content="three"))
    assert texts(HoldfastThread(hf, thread_id="monday")) == ["one", "two", "three"]


def test_a_path_is_no_open_memory():
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastThread("memory.db")
    with pytest.raises(InvalidInput, match="takes an open memory"):
        memory_plugin("memory.db")
