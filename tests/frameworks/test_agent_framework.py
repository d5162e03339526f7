"""Memory and history for the Microsoft Agent Framework, in real agents with a scripted client."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("agent_framework", reason="it is not installed: make integrations")

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
)

from holdfast.errors import InvalidInput, StoreClosed
from holdfast.integrations.agent_framework import HoldfastHistory, HoldfastMemory

BOAT = "My boat is called Heron, and she leaks."
ASKED = "What was wrong with the boat?"


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """A client that says its lines one after the other, and remembers what it was shown."""

    def __init__(self, *lines):
        super().__init__()
        self.lines, self.shown, self.instructions = list(lines), [], []

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        self.shown.append([message.text for message in messages])
        self.instructions.append(options.get("instructions"))
        line = self.lines.pop(0) if self.lines else "Aye."
        if stream:
            return self._stream(line)
        return self._whole(line)

    async def _whole(self, line):
        return ChatResponse(messages=[Message("assistant", [line])])

    def _stream(self, line):
        async def updates():
            for word in line.split():
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(word)])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


def calls(name, **arguments):
    return Content.from_function_call("1", name, arguments=arguments)


def say(prompt, *providers, client=None, session="s1"):
    agent = Agent(client or Scripted(), instructions="You help.", context_providers=[*providers])
    given = session if isinstance(session, AgentSession) else AgentSession(session_id=session)
    return asyncio.run(agent.run(prompt, session=given))


def kept(hf):
    return [(turn.role, turn.content) for turn in reversed(hf.list(kinds=["turn"]))]


def texts(history, session="s1"):
    return [message.text for message in asyncio.run(history.get_messages(session))]


def save(history, *messages, session="s1"):
    asyncio.run(history.save_messages(session, messages))


def user(text, **more):
    return Message("user", [text], **more)


def assistant(text, **more):
    return Message("assistant", [text], **more)


# Memory


def test_what_is_said_in_one_session_is_known_in_the_next(hf):
    hf.remember("Answer in one sentence", kind="rule")
    memory = HoldfastMemory(hf)
    assert isinstance(memory, ContextProvider)
    say(BOAT, memory, client=Scripted("Noted."), session="monday")
    client = Scripted("She leaks.")
    say(ASKED, memory, client=client, session="tuesday")
    block, prompt = client.shown[0]
    assert f"- (user, 2026-03-18) {BOAT}" in block
    assert prompt == ASKED
    assert client.instructions[0].startswith("You help.\n<holdfast-memory ")
    assert "Answer in one sentence" in client.instructions[0]
    said = [BOAT, "Noted.", ASKED, "She leaks."]
    assert kept(hf) == list(zip(["user", "assistant"] * 2, said, strict=True))


def test_two_users_are_isolated(hf):
    say(BOAT, HoldfastMemory(hf), session="monday")
    client = Scripted()
    bob = hf.scoped("user:bob")
    say(ASKED, HoldfastHistory(bob), HoldfastMemory(bob), client=client, session="monday")
    assert client.shown == [[ASKED]]


def test_what_memory_adds_is_in_no_history_and_names_where_it_is_from(hf):
    hf.remember("Ann's boat is called Heron")
    say(BOAT, HoldfastMemory(hf), session="monday")
    seen = []

    class Observer(ContextProvider):
        async def before_run(self, *, context, **kwargs):
            seen.extend(context.context_messages["holdfast_memory"])

    session, client = AgentSession(session_id="tuesday"), Scripted()
    for _ in range(2):
        say(ASKED, HoldfastMemory(hf), Observer("o"), client=client, session=session)
    assert [len(shown) for shown in client.shown] == [2, 4], "history, and one block at a time"
    assert "holdfast-memory" not in str(session.to_dict()["state"])
    origin = seen[0].additional_properties["_attribution"]
    assert origin["origin_session_ids"] == ["monday"]


def test_one_session_may_serve_all_runs(hf):
    memory = HoldfastMemory(hf, session="always")
    say(BOAT, memory, session="a")
    say(ASKED, memory, session="b")
    assert {turn.session for turn in hf.list(kinds=["turn"])} == {"always"}
    with pytest.raises(InvalidInput):
        HoldfastMemory(hf, session="")


def test_a_streamed_answer_is_kept(hf):
    async def stream():
        agent = Agent(Scripted("She leaks."), context_providers=[HoldfastMemory(hf)])
        run = agent.run(ASKED, stream=True, session=AgentSession(session_id="s1"))
        assert [update async for update in run]
        await run.get_final_response()

    asyncio.run(stream())
    assert kept(hf)[0] == ("user", ASKED)
    assert kept(hf)[1][0] == "assistant"
    assert len(kept(hf)) == 2


def test_the_agent_stores_and_finds_with_its_tools(hf):
    client = Scripted(calls("remember_fact", content="Анна пьёт улун"), "Done.")
    say("Remember what Anna drinks.", HoldfastMemory(hf), client=client)
    (fact,) = hf.list(kinds=["fact"])
    assert fact.content == "Анна пьёт улун"
    assert {event.actor for event in hf.history(fact.id)} == {"agent:agent-framework"}
    client = Scripted(calls("search_memory", query="улун"), "Tea.")
    answer = say("What does she drink?", HoldfastMemory(hf), client=client, session="s2")
    result = next(
        c.result for m in answer.messages for c in m.contents if c.type.endswith("result")
    )
    assert '"content": "Анна пьёт улун"' in result
    assert kept(hf)[-2:] == [("user", "What does she drink?"), ("assistant", "Tea.")]


def test_an_agent_may_be_given_no_tools(hf):
    assert HoldfastMemory(hf, tools=False).tools == []


def test_an_empty_prompt_recalls_nothing(hf):
    hf.remember("Ann's boat is called Heron")
    client = Scripted()
    say("", HoldfastMemory(hf), client=client)
    assert "Heron" not in str(client.shown)


def test_many_sessions_at_once(hf):
    memory, history = HoldfastMemory(hf), HoldfastHistory(hf)
    agent = Agent(Scripted(), context_providers=[history, memory])

    async def all_of_them():
        sessions = [AgentSession(session_id=f"s{n}") for n in range(10)]
        await asyncio.gather(
            *(agent.run(f"I am number {s.session_id}", session=s) for s in sessions)
        )

    asyncio.run(all_of_them())
    assert [texts(history, f"s{n}") for n in range(10)] == [
        [f"I am number s{n}", "Aye."] for n in range(10)
    ]
    assert len(kept(hf)) == 20


def test_an_agent_answers_when_the_store_is_gone(hf, caplog):
    memory, history = HoldfastMemory(hf), HoldfastHistory(hf)
    hf.close()
    assert say(BOAT, history, memory, client=Scripted("Still here.")).text == "Still here."
    for what in ("a turn was not captured", "recall failed", "history was not loaded"):
        assert what in caplog.text
    assert "messages were not stored" in caplog.text
    with pytest.raises(StoreClosed):
        asyncio.run(history.clear("s1"))


# History


def test_a_conversation_goes_on_in_another_process(hf, open_memory):
    history = HoldfastHistory(hf)
    assert isinstance(history, HistoryProvider)
    say(BOAT, history, client=Scripted("Noted."))
    client = Scripted()
    say(ASKED, HoldfastHistory(open_memory()), client=client)
    assert client.shown == [[BOAT, "Noted.", ASKED]]


def test_a_message_comes_back_as_it_was(hf):
    history = HoldfastHistory(hf)
    picture = Content.from_uri("data:image/png;base64,iVBORw0KGgo=", media_type="image/png")
    call = Content.from_function_call("c1", "look", arguments='{"where": "東京"}')
    result = Content.from_function_result("c1", result={"seen": [1]})
    messages = [
        Message("user", ["Schau 🚤", picture], author_name="Ann", message_id="m1"),
        Message("assistant", [call]),
        Message("tool", [result], additional_properties={"note": 1}),
    ]
    save(history, *messages)
    again = asyncio.run(history.get_messages("s1"))
    assert [one.to_dict() for one in again] == [one.to_dict() for one in messages]


def test_an_empty_session_has_no_messages_and_sessions_are_apart(hf):
    history = HoldfastHistory(hf)
    assert texts(history) == []
    save(history)
    assert hf.sessions.list() == []
    save(history, user("one"), session="s1")
    save(history, user("two"), session=None)
    assert (texts(history, "s1"), texts(history, None)) == (["one"], ["two"])


def test_a_full_transcript_is_stored_once_and_a_repeated_prompt_twice(hf):
    history = HoldfastHistory(hf)
    first, second = user("Hello"), assistant("Aye.")
    save(history, first, second)
    save(history, first, second, user("More"), assistant("No."))
    assert texts(history) == ["Hello", "Aye.", "More", "No."]
    save(history, user("Yes"), session="s2")
    save(history, user("Yes"), session="s2")
    assert texts(history, "s2") == ["Yes", "Yes"]
    save(history, user("Yes", message_id="7"), session="s3")
    save(history, user("Yes", message_id="7"), assistant("Aye."), session="s3")
    assert texts(history, "s3") == ["Yes", "Aye."]


def test_what_is_stored_is_chosen_as_in_any_history_provider(hf):
    answers = HoldfastHistory(hf, source_id="answers", load_messages=False, store_inputs=False)
    say(BOAT, answers, client=Scripted("Noted."))
    assert texts(answers) == ["Noted."]
    hf.remember("Ann's boat is called Heron")
    everything = HoldfastHistory(hf, source_id="all", store_context_messages=True)
    say(ASKED, HoldfastMemory(hf), everything, session="s2")
    assert "holdfast-memory" in texts(everything, "s2")[0]


def test_secrets_are_redacted_and_ids_are_not(hf):
    history = HoldfastHistory(hf)
    token = "ghp_" + "a1B2" * 9
    call = Content.from_function_call(token, "login", arguments={"password": "hunter2-hunter2"})
    save(history, user(f"My token is {token}"), Message("assistant", [call]))
    first, second = asyncio.run(history.get_messages("s1"))
    assert "[REDACTED" in first.text
    assert token not in first.text
    assert "hunter2" not in str(second.to_dict())
    assert second.contents[0].call_id == token


def test_what_json_cannot_hold_is_stored_as_text(hf):
    history = HoldfastHistory(hf)
    save(history, user("Hello", additional_properties={"thing": {1, 2}, "object": object()}))
    assert texts(history) == ["Hello"]


def test_clear_erases_a_session_and_only_it(hf):
    history = HoldfastHistory(hf)
    save(history, user("one"), session="s1")
    save(history, user("two"), session="s2")
    asyncio.run(history.clear("s1"))
    asyncio.run(history.clear("s1"))
    assert (texts(history, "s1"), texts(history, "s2")) == ([], ["two"])


def test_while_the_store_is_busy_messages_are_buffered_in_order(busy, hf, caplog):
    history = HoldfastHistory(hf)
    save(history, user("one"))
    with busy():
        save(history, user("two"))
        assert texts(history) == ["one", "two"]
    assert "buffered, not stored" in caplog.text
    save(history, user("three"))
    assert texts(HoldfastHistory(hf)) == ["one", "two", "three"]


def test_it_stands_in_for_the_frameworks_own_history(hf):
    ours, theirs = Scripted("a", "b", "c"), Scripted("a", "b", "c")
    session = AgentSession(session_id="s1")
    for prompt in ("one", "two", "three"):
        say(prompt, HoldfastHistory(hf), client=ours)
        say(prompt, InMemoryHistoryProvider(), client=theirs, session=session)
    assert ours.shown == theirs.shown


def test_a_path_is_no_open_memory():
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastMemory("memory.db")
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastHistory("memory.db")
