"""Strands Agents: its memory store and session manager, and runs of its agents with them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("strands", reason="`make integrations` installs Strands Agents")

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model
from strands.multiagent import GraphBuilder
from strands.session import FileSessionManager
from strands.types.exceptions import AggregateMemoryError, SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from holdfast import InvalidInput
from holdfast.errors import StoreError
from holdfast.integrations.strands import HoldfastMemoryStore, HoldfastSessionManager


def run(work):
    return asyncio.run(work)


def user(text):
    return {"role": "user", "content": [{"text": text}]}


def assistant(text):
    return {"role": "assistant", "content": [{"text": text}]}


# Memory store


@pytest.fixture
def store(hf):
    return HoldfastMemoryStore(hf, session="monday")


async def contents(manager, query, **options):
    return [entry.content for entry in await manager.search(query, options)]


def test_an_empty_store_finds_nothing(store):
    assert run(store.search("boat")) == []


def test_what_is_added_is_found_with_its_metadata(store, hf):
    added = run(store.add("Ann's boat is called Heron", {"ticket": 12}))
    (entry,) = run(store.search("Which boat?"))
    assert entry.content == "Ann's boat is called Heron"
    assert entry.metadata["ticket"] == 12 and entry.metadata["id"] == added["id"]
    assert hf.admin.log()[0].actor == "agent:strands"


def test_messages_are_captured_without_tools_and_pictures(store, hf):
    messages = [
        user("Mein Boot heißt Reiher 鷺"),
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "1", "name": "x", "input": {}}}],
        },
        assistant("Noted"),
    ]
    assert run(store.add_messages(messages)) == 2
    turns = hf.list(kinds=("turn",), sessions=("monday",))
    assert [(turn.role, turn.content) for turn in turns] == [
        ("assistant", "Noted"),
        ("user", "Mein Boot heißt Reiher 鷺"),
    ]


def test_the_limit_is_the_callers_the_stores_or_strands_own(hf):
    for number in range(8):
        hf.remember(f"Boat number {number} lies in the harbour")
    manager = MemoryManager(stores=[HoldfastMemoryStore(hf)])
    limited = MemoryManager(stores=[HoldfastMemoryStore(hf, max_search_results=2)])
    question = "Which boat lies in the harbour?"
    assert len(run(contents(manager, question))) == 3
    assert len(run(contents(manager, question, max_search_results=5))) == 5
    assert len(run(contents(limited, question))) == 2


def test_two_users_are_isolated(store, open_memory):
    run(store.add("Ann's boat is called Heron"))
    assert run(HoldfastMemoryStore(open_memory("user:bob")).search("boat")) == []


def test_a_failing_store_is_the_managers_business(store, hf, caplog):
    manager = MemoryManager(stores=[store])
    hf.close()
    assert run(contents(manager, "boat")) == []
    assert "store search failed" in caplog.text
    with pytest.raises(AggregateMemoryError):
        run(manager.add("boat"))


def test_a_store_may_be_read_only_or_capture_nothing(hf):
    assert HoldfastMemoryStore(hf, writable=False).extraction is False
    assert HoldfastMemoryStore(hf, extraction=False).extraction is False
    with pytest.raises(ValueError, match="read-only"):
        manager = MemoryManager(stores=[HoldfastMemoryStore(hf, writable=False)])
        run(manager.add("x", {"stores": ["holdfast"]}))


def test_bad_input_says_what_to_give(hf, tmp_path):
    for make in (HoldfastMemoryStore, lambda given: HoldfastSessionManager(given, "monday")):
        with pytest.raises(InvalidInput, match="takes an open memory"):
            make(str(tmp_path))
    for options in ({"name": " "}, {"max_search_results": 0}, {"session": ""}):
        with pytest.raises(InvalidInput):
            HoldfastMemoryStore(hf, **options)
    with pytest.raises(InvalidInput, match="session id"):
        HoldfastSessionManager(hf, " ")


# Session manager


@pytest.fixture(params=["holdfast", "strands"])
def sessions(request, tmp_path):
    """Ours, and Strands' own: what a test says is true of both."""
    if request.param == "strands":
        return FileSessionManager("monday", storage_dir=str(tmp_path / "sessions"))
    return HoldfastSessionManager(request.getfixturevalue("hf"), "monday")


def agent_row(state=None):
    return SessionAgent(agent_id="a", state=state or {}, conversation_manager_state={})


def test_a_session_exists_once_and_can_be_deleted(sessions):
    assert sessions.read_session("monday").session_id == "monday"
    assert sessions.read_session("unknown") is None
    with pytest.raises(SessionException):
        sessions.create_session(Session("monday", SessionType.AGENT))
    sessions.create_session(Session("other", SessionType.AGENT))
    sessions.delete_session("other")
    assert sessions.read_session("other") is None
    with pytest.raises(SessionException):
        sessions.delete_session("other")
    assert sessions.read_session("monday") is not None


def test_agents_keep_their_state(sessions):
    assert sessions.read_agent("monday", "a") is None
    with pytest.raises(SessionException):
        sessions.update_agent("monday", agent_row())
    first = agent_row({"n": 1})
    sessions.create_agent("monday", first)
    sessions.update_agent("monday", agent_row({"n": 2, "grüße": ["鷺"]}))
    found = sessions.read_agent("monday", "a")
    assert found.state == {"n": 2, "grüße": ["鷺"]} and found.created_at == first.created_at


def test_messages_are_listed_in_order_page_by_page(sessions):
    with pytest.raises(SessionException):
        sessions.list_messages("monday", "a")
    sessions.create_agent("monday", agent_row())
    for number in range(12):
        sessions.create_message(
            "monday", "a", SessionMessage.from_message(user(f"{number}"), number)
        )

    def numbers(**page):
        return [one.message_id for one in sessions.list_messages("monday", "a", **page)]

    assert numbers() == list(range(12))
    assert numbers(limit=2, offset=9) == [9, 10] and numbers(offset=10) == [10, 11]
    assert numbers(limit=0) == [] and numbers(offset=99) == []
    assert sessions.read_message("monday", "a", 3).message == user("3")
    assert sessions.read_message("monday", "a", 99) is None


def test_a_message_can_be_replaced(sessions):
    sessions.create_agent("monday", agent_row())
    message = SessionMessage.from_message(user("bad"), 0)
    with pytest.raises(SessionException):
        sessions.update_message("monday", "a", message)
    sessions.create_message("monday", "a", message)
    message.redact_message = user("[redacted]")
    sessions.update_message("monday", "a", message)
    (found,) = sessions.list_messages("monday", "a")
    assert found.to_message() == user("[redacted]")


def test_pictures_survive(sessions):
    sessions.create_agent("monday", agent_row())
    picture = {"format": "png", "source": {"bytes": b"\x89PNG\x00\xff"}}
    message = {"role": "user", "content": [{"image": picture}]}
    sessions.create_message("monday", "a", SessionMessage.from_message(message, 0))
    assert sessions.read_message("monday", "a", 0).message == message


def test_secrets_are_redacted_but_not_in_state(hf):
    sessions = HoldfastSessionManager(hf, "monday")
    key = "sk-ant-api03-" + "a1B2" * 20
    call = {"toolUse": {"toolUseId": "1", "name": "login", "input": {"api_key": key}}}
    message = {"role": "assistant", "content": [{"text": f"the key is {key}"}, call]}
    sessions.create_agent("monday", agent_row({"token": key}))
    sessions.create_message("monday", "a", SessionMessage.from_message(message, 0))
    assert key not in str(sessions.list_messages("monday", "a"))
    assert sessions.read_agent("monday", "a").state == {"token": key}


def test_two_users_have_sessions_of_their_own(hf, open_memory):
    HoldfastSessionManager(hf, "monday").create_agent("monday", agent_row())
    bobs = HoldfastSessionManager(open_memory("user:bob"), "monday")
    assert bobs.read_agent("monday", "a") is None


def test_many_threads_may_append(hf):
    sessions = HoldfastSessionManager(hf, "monday")
    sessions.create_agent("monday", agent_row())

    def put(number):
        message = SessionMessage.from_message(user(f"{number}"), number)
        sessions.create_message("monday", "a", message)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(24)))
    assert len(sessions.list_messages("monday", "a")) == 24


# Agents


class Scripted(Model):
    """Answers with the next text or call of a tool, and keeps what it was asked."""

    def __init__(self, *script):
        self.script, self.asked = list(script), []

    def update_config(self, **config): ...

    def get_config(self):
        return {}

    async def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        yield {}

    async def stream(self, messages, *args, **kwargs):
        self.asked.append(str(messages))
        part = self.script.pop(0) if self.script else "Noted."
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(part, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": part}}}
        else:
            name, arguments = part
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": "1"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(part, str) else "tool_use"}}


def agent(hf, session, *script, **options):
    store = HoldfastMemoryStore(hf, session=session)
    return Agent(
        model=Scripted(*script),
        memory_manager=MemoryManager(stores=[store], add_tool_config=True),
        session_manager=HoldfastSessionManager(hf, session),
        callback_handler=None,
        agent_id="helper",
        **options,
    )


def test_an_agent_remembers_and_recalls_in_another_session(hf, open_memory):
    agent(hf, "monday")("My boat is called Heron")
    tuesday = agent(hf, "tuesday")
    assert str(tuesday("What is my boat called?")).strip() == "Noted."
    assert "My boat is called Heron" in tuesday.model.asked[-1]
    bobs = agent(open_memory("user:bob"), "tuesday")
    bobs("What is my boat called?")
    assert "Heron" not in bobs.model.asked[-1]


def test_an_agent_goes_on_with_its_session(hf):
    first = agent(hf, "monday", state={"n": 1})
    first("My boat is called Heron")
    first.state.set("n", 2)
    first("And she leaks")
    again = agent(hf, "monday")
    assert [message["role"] for message in again.messages] == ["user", "assistant"] * 2
    assert again.state.get("n") == 2
    again("What else?")
    assert "And she leaks" in again.model.asked[-1]
    assert again.messages[0]["content"] == [{"text": "My boat is called Heron"}]


def test_an_agent_writes_and_searches_with_tools(hf):
    say = agent(hf, "monday", ("add_memory", '{"entries": ["The boat is called Heron"]}'), "Kept.")
    say("Remember my boat")
    assert [one.content for one in hf.list(kinds=("fact",))] == ["The boat is called Heron"]
    ask = agent(hf, "tuesday", ("search_memory", '{"query": "boat"}'), "Heron!")
    assert str(ask("Hm?")).strip() == "Heron!"
    assert "The boat is called Heron" in ask.model.asked[-1]


def test_an_agent_goes_on_when_the_store_is_busy(busy, open_memory):
    hf = open_memory("user:ann")
    helper = agent(hf, "monday", "One.", ("add_memory", '{"entries": ["x"]}'), "Two.")
    helper("First")
    with busy():
        assert str(helper("Second")).strip() == "Two."
    helper("Third")
    again = agent(open_memory("user:ann"), "monday")
    assert [one["content"][0]["text"] for one in again.messages if "text" in one["content"][0]] == [
        "First",
        "One.",
        "Second",
        "Two.",
        "Third",
        "Noted.",
    ]


def test_a_closed_store_says_so_before_a_run(hf):
    hf.close()
    with pytest.raises(StoreError):
        HoldfastSessionManager(hf, "monday")


def test_a_graph_of_agents_keeps_its_state(hf):
    def graph():
        builder = GraphBuilder()
        builder.add_node(Agent(model=Scripted("Done."), callback_handler=None), "only")
        builder.set_session_manager(HoldfastSessionManager(hf, "monday"))
        builder.set_graph_id("team")
        return builder.build()

    graph()("Work")
    kept = HoldfastSessionManager(hf, "monday").read_multi_agent("monday", "team")
    assert kept["status"] == "completed"
    with pytest.raises(SessionException):
        team = graph()
        team.id = "unknown"
        HoldfastSessionManager(hf, "other").update_multi_agent("other", team)
