"""Google ADK: its memory and session services, and runs of its agents with them."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("google.adk", reason="`make integrations` installs Google ADK")

from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools import load_memory
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai.types import Blob, Content, FunctionCall, Part

from holdfast import InvalidInput
from holdfast.errors import StoreClosed
from holdfast.integrations.google_adk import (
    HoldfastMemoryService,
    HoldfastSessionService,
    own_scope,
)

ANN = {"app_name": "helper", "user_id": "ann"}
BOB = {"app_name": "helper", "user_id": "bob"}


def said(text, author="user", *, at=1_700_000_000.0, **fields):
    role = "user" if author == "user" else "model"
    return Event(
        author=author,
        content=Content(role=role, parts=[Part(text=text)]),
        timestamp=at,
        invocation_id="run-1",
        **fields,
    )


def texts(entries):
    return [entry.content.parts[0].text for entry in entries]


def run(work):
    return asyncio.run(work)


# Memory service


@pytest.fixture(params=["holdfast", "adk"])
def any_memory(request):
    """Ours, and ADK's own: what a test says is true of both."""
    if request.param == "adk":
        return InMemoryMemoryService()
    return HoldfastMemoryService(request.getfixturevalue("hf"))


@pytest.fixture
def memory(hf):
    return HoldfastMemoryService(hf)


def session_of(*events, user="ann", id_="monday"):
    return Session(id=id_, app_name="helper", user_id=user, events=list(events))


async def found(service, query, **who):
    response = await service.search_memory(**{**ANN, **who}, query=query)
    return texts(response.memories)


def test_an_empty_memory_finds_nothing(any_memory):
    assert run(found(any_memory, "boat")) == []


def test_a_session_is_found_once_however_often_it_is_added(any_memory):
    async def go():
        first = said("My boat is called Heron")
        await any_memory.add_session_to_memory(session_of(first))
        answer = said("What a fine boat", "helper")
        await any_memory.add_session_to_memory(session_of(first, answer))
        return await found(any_memory, "boat")

    assert sorted(run(go())) == ["My boat is called Heron", "What a fine boat"]


def test_events_are_added_one_by_one_with_or_without_a_session(any_memory):
    async def go():
        one, two = said("My boat is called Heron"), said("Mein Boot heißt Reiher 鷺")
        await any_memory.add_events_to_memory(**ANN, events=[one], session_id="monday")
        await any_memory.add_events_to_memory(**ANN, events=[one, two], session_id="monday")
        await any_memory.add_events_to_memory(**ANN, events=[said("The car is red")])
        return [(await found(any_memory, query))[0] for query in ("boat", "Reiher", "car")]

    assert run(go()) == ["My boat is called Heron", "Mein Boot heißt Reiher 鷺", "The car is red"]


def test_users_and_apps_are_isolated(any_memory):
    async def go():
        await any_memory.add_session_to_memory(session_of(said("My boat is called Heron")))
        return [
            await found(any_memory, "boat", user_id="bob"),
            await found(any_memory, "boat", app_name="other"),
        ]

    assert run(go()) == [[], []]


def test_a_deleted_memory_is_gone_and_does_not_come_back(any_memory):
    async def go():
        session = session_of(said("My boat is called Heron"))
        await any_memory.add_session_to_memory(session)
        (entry,) = (await any_memory.search_memory(**ANN, query="boat")).memories
        await any_memory.delete_memory(**BOB, memory_id=entry.id)
        kept = await found(any_memory, "boat")
        await any_memory.delete_memory(**ANN, memory_id=entry.id)
        await any_memory.delete_memory(**ANN, memory_id=None)
        await any_memory.delete_memory(**ANN, memory_id="unknown")
        await any_memory.add_session_to_memory(session)
        return kept, await found(any_memory, "boat")

    assert run(go()) == (["My boat is called Heron"], [])


def test_a_search_returns_at_most_ten(any_memory):
    events = [said(f"Boat number {n} is in the harbour") for n in range(15)]
    run(any_memory.add_session_to_memory(session_of(*events)))
    assert len(run(found(any_memory, "Which boat is in the harbour?"))) == 10


def test_an_entry_says_who_said_it_and_when(memory):
    answer = said("Your boat is Heron", "helper", at=1_700_000_000.0)
    run(memory.add_session_to_memory(session_of(answer)))
    (entry,) = run(memory.search_memory(**ANN, query="boat")).memories
    assert (entry.author, entry.content.role) == ("helper", "model")
    assert entry.timestamp == "2023-11-14T22:13:20+00:00"


def test_memories_can_be_added_directly(memory):
    def entry(text, **fields):
        return MemoryEntry(content=Content(parts=[Part(text=text)]), **fields)

    async def go():
        await memory.add_memory(
            **ANN,
            memories=[
                entry(" "),
                entry("bad time", timestamp="yesterday"),
                entry("Ann prefers tea", author="ann", timestamp="2026-01-02T03:04:05Z"),
            ],
            custom_metadata={"ticket": 12},
        )
        return (await memory.search_memory(**ANN, query="tea")).memories

    (tea,) = run(go())
    assert texts([tea]) == ["Ann prefers tea"] and tea.author == "ann"
    assert tea.timestamp == "2026-01-02T03:04:05+00:00" and tea.custom_metadata["ticket"] == 12


def test_events_without_text_are_left_out(memory, hf):
    call = Part(function_call=FunctionCall(name="add", args={"a": 1}))
    thought = Part(text="hidden boat", thought=True)
    event = Event(author="helper", content=Content(parts=[call, thought]))
    run(memory.add_session_to_memory(session_of(event, Event(author="helper"))))
    assert run(found(memory, "boat")) == []


def test_memory_never_fails_a_run_but_says_what_was_not_deleted(memory, hf, caplog):
    hf.close()
    run(memory.add_session_to_memory(session_of(said("boat"))))
    entries = [MemoryEntry(content=Content(parts=[Part(text="x")]))]
    run(memory.add_memory(**ANN, memories=entries))
    run(memory.add_memory(app_name="helper", user_id="a" * 300, memories=entries))
    assert run(found(memory, "boat")) == []
    assert "not captured" in caplog.text and "recall failed" in caplog.text
    with pytest.raises(StoreClosed):
        run(memory.delete_memory(**ANN, memory_id="fact_1"))


def test_apps_may_share_the_memory_of_a_user(hf, open_memory):
    shared = HoldfastMemoryService(hf, scope=lambda app, user: f"user:{user}")
    open_memory("user:ann").remember("Ann's boat is called Heron")
    assert run(found(shared, "boat", app_name="any")) == ["Ann's boat is called Heron"]


def test_scopes_of_apps_and_users_cannot_be_confused():
    assert own_scope("a", "b/c") != own_scope("a/b", "c")
    assert own_scope("a", "b%2Fc") != own_scope("a", "b/c")


# Session service


@pytest.fixture(params=["holdfast", "adk"])
def any_sessions(request):
    """Ours, and ADK's own: what a test says is true of both."""
    if request.param == "adk":
        return InMemorySessionService()
    return HoldfastSessionService(request.getfixturevalue("hf"))


@pytest.fixture
def sessions(hf):
    return HoldfastSessionService(hf)


def delta(**state):
    return EventActions(state_delta=state)


def test_a_session_is_created_read_and_deleted(any_sessions):
    async def go():
        created = await any_sessions.create_session(**ANN, session_id=" monday ", state={"a": 1})
        assert (created.id, created.state, created.events) == ("monday", {"a": 1}, [])
        again = await any_sessions.get_session(**ANN, session_id="monday")
        assert again == created
        with pytest.raises(AlreadyExistsError):
            await any_sessions.create_session(**ANN, session_id="monday")
        await any_sessions.delete_session(**ANN, session_id="monday")
        await any_sessions.delete_session(**ANN, session_id="monday")
        return await any_sessions.get_session(**ANN, session_id="monday")

    assert run(go()) is None
    assert run(any_sessions.create_session(**ANN)).id


def test_unknown_sessions_and_those_of_others_are_not_found(any_sessions):
    async def go():
        mine = await any_sessions.create_session(**ANN, session_id="monday")
        assert await any_sessions.get_session(**BOB, session_id="monday") is None
        assert await any_sessions.get_session(**ANN, session_id="unknown") is None
        other = {"app_name": "other", "user_id": "ann"}
        assert await any_sessions.get_session(**other, session_id="monday") is None
        await any_sessions.delete_session(**ANN, session_id="monday")
        with pytest.raises(SessionNotFoundError):
            await any_sessions.append_event(mine, said("too late", actions=delta(**{"app:x": 1})))
        assert (await any_sessions.create_session(**ANN)).state == {}

    run(go())


def test_events_come_back_in_order_and_as_they_were(any_sessions):
    async def go():
        session = await any_sessions.create_session(**ANN, session_id="monday")
        parts = [
            Part(text="Grüße 鷺"),
            Part(inline_data=Blob(data=b"\x00\xffpicture", mime_type="image/png")),
            Part(function_call=FunctionCall(name="add", args={"a": [1, 2]})),
            Part(text="signed", thought_signature=b"\x01\x02\xfe"),
        ]
        whole = Event(
            author="helper", invocation_id="1", content=Content(role="model", parts=parts)
        )
        for event in (said("one"), whole, said("two")):
            assert await any_sessions.append_event(session, event) == event
        await any_sessions.append_event(session, said("…", partial=True))
        again = await any_sessions.get_session(**ANN, session_id="monday")
        assert again.events == session.events and len(again.events) == 3
        assert again.events[1] == whole
        assert again.last_update_time == session.last_update_time

    run(go())


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, ["0", "1", "2", "3"]),
        ({"num_recent_events": 2}, ["2", "3"]),
        ({"num_recent_events": 0}, []),
        ({"num_recent_events": 9}, ["0", "1", "2", "3"]),
        ({"after_timestamp": 1_700_000_002.0}, ["2", "3"]),
        ({"after_timestamp": 1_700_000_001.0, "num_recent_events": 1}, ["3"]),
        ({"after_timestamp": 1_800_000_000.0}, []),
    ],
)
def test_a_session_is_read_in_part(any_sessions, config, expected):
    async def go():
        session = await any_sessions.create_session(**ANN, session_id="monday")
        for n in range(4):
            await any_sessions.append_event(session, said(f"{n}", at=1_700_000_000.0 + n))
        wanted = GetSessionConfig(**config)
        return await any_sessions.get_session(**ANN, session_id="monday", config=wanted)

    assert [event.content.parts[0].text for event in run(go()).events] == expected


def test_state_belongs_to_the_session_the_user_or_the_app(any_sessions):
    async def go():
        first = await any_sessions.create_session(
            **ANN, session_id="1", state={"s": 1, "user:u": 1, "app:a": 1, "temp:t": 1}
        )
        actions = delta(**{"s": 2, "user:u": 2, "app:b": {"deep": [1]}, "temp:t": 2})
        event = await any_sessions.append_event(first, said("x", actions=actions))
        assert event.actions.state_delta == {"s": 2, "user:u": 2, "app:b": {"deep": [1]}}
        assert first.state["temp:t"] == 2 and first.state["s"] == 2
        stored = await any_sessions.get_session(**ANN, session_id="1")
        second = await any_sessions.create_session(**ANN, session_id="2")
        bobs = await any_sessions.create_session(**BOB, session_id="1")
        return stored.state, second.state, bobs.state, await any_sessions.get_user_state(**ANN)

    app = {"app:a": 1, "app:b": {"deep": [1]}}
    assert run(go()) == ({"s": 2, "user:u": 2, **app}, {"user:u": 2, **app}, app, {"u": 2})
    assert run(any_sessions.get_user_state(app_name="none", user_id="none")) == {}


def test_sessions_are_listed_oldest_update_first_without_events(any_sessions):
    async def go():
        for who, id_, at in ((ANN, "1", 3.0), (ANN, "2", 1.0), (BOB, "3", 2.0)):
            session = await any_sessions.create_session(**who, session_id=id_, state={"id": id_})
            await any_sessions.append_event(session, said("x", at=1_900_000_000.0 + at))
        await any_sessions.create_session(app_name="other", user_id="ann")
        anns = (await any_sessions.list_sessions(**ANN)).sessions
        every = (await any_sessions.list_sessions(app_name="helper")).sessions
        nobody = (await any_sessions.list_sessions(app_name="helper", user_id="eve")).sessions
        return anns, every, nobody

    anns, every, nobody = run(go())
    assert [one.id for one in anns] == ["2", "1"] and [one.id for one in every] == ["2", "3", "1"]
    assert anns[0].state == {"id": "2"} and all(one.events == [] for one in every)
    assert nobody == []


def test_an_event_that_is_delivered_twice_is_stored_once(any_sessions):
    async def go():
        session = await any_sessions.create_session(**ANN, session_id="monday")
        event = said("one", actions=delta(n=1))
        await any_sessions.append_event(session, event)
        await any_sessions.append_event(session, event.model_copy(deep=True))
        return session, await any_sessions.get_session(**ANN, session_id="monday")

    held, stored = run(go())
    assert len(held.events) == len(stored.events) == 1


def test_many_tasks_may_append(sessions):
    async def go():
        await sessions.create_session(**ANN, session_id="monday")

        async def one(n):
            session = await sessions.get_session(**ANN, session_id="monday")
            await sessions.append_event(session, said(f"{n}", actions=delta(**{f"k{n}": n})))

        await asyncio.gather(*(one(n) for n in range(16)))
        return await sessions.get_session(**ANN, session_id="monday")

    session = run(go())
    assert len(session.events) == 16 and session.state == {f"k{n}": n for n in range(16)}


def test_sessions_are_there_in_the_next_process(sessions, open_memory):
    async def go():
        session = await sessions.create_session(**ANN, session_id="monday", state={"app:x": 1})
        await sessions.append_event(session, said("one"))
        again = HoldfastSessionService(open_memory("user:any"))
        return session, await again.get_session(**ANN, session_id="monday")

    session, again = run(go())
    assert again == session


def test_secrets_are_redacted_but_not_in_state(sessions):
    key = "sk-ant-api03-" + "a1B2" * 20

    async def go():
        session = await sessions.create_session(**ANN, session_id="monday")
        call = Part(function_call=FunctionCall(name="login", args={"api_key": key}))
        parts = [Part(text=f"the key is {key}"), call]
        event = Event(author="helper", content=Content(role="model", parts=parts))
        await sessions.append_event(session, event)
        await sessions.append_event(session, said("x", actions=delta(token=key)))
        return await sessions.get_session(**ANN, session_id="monday")

    session = run(go())
    assert key not in str(session.events[0]) and session.state == {"token": key}


def test_a_busy_store_delays_events_and_loses_nothing(busy, open_memory, caplog):
    service = HoldfastSessionService(open_memory("user:any"))

    async def go():
        session = await service.create_session(**ANN, session_id="monday")
        with busy():
            await service.append_event(session, said("one", actions=delta(a=1, **{"user:u": 1})))
            meanwhile = await service.get_session(**ANN, session_id="monday")
        await service.append_event(session, said("two", actions=delta(b=2)))
        again = HoldfastSessionService(open_memory("user:any"))
        return meanwhile, await again.get_session(**ANN, session_id="monday")

    meanwhile, stored = run(go())
    assert len(meanwhile.events) == 1 and meanwhile.state == {"a": 1, "user:u": 1}
    assert len(stored.events) == 2 and stored.state == {"a": 1, "b": 2, "user:u": 1}
    assert "buffered, not stored" in caplog.text


def test_an_event_that_is_delivered_twice_to_a_busy_store_is_stored_once(busy, open_memory):
    service = HoldfastSessionService(open_memory("user:any"))

    async def go():
        session = await service.create_session(**ANN, session_id="monday")
        event = said("one")
        with busy():
            await service.append_event(session, event)
            await service.append_event(session, event.model_copy(deep=True))
        await service.append_event(session, event.model_copy(deep=True))
        await service.append_event(session, said("two"))
        return session, await service.get_session(**ANN, session_id="monday")

    shown, stored = run(go())
    assert len(shown.events) == len(stored.events) == 2


def test_bad_input_says_what_to_give(tmp_path, hf):
    for service in (HoldfastMemoryService, HoldfastSessionService):
        with pytest.raises(InvalidInput, match="takes an open memory"):
            service(str(tmp_path))
    with pytest.raises(InvalidInput, match="session id"):
        run(HoldfastSessionService(hf).create_session(**ANN, session_id="x" * 300))


# Agents


class Scripted(BaseLlm):
    """Answers with the next text or call, and keeps what it was asked."""

    script: list
    asked: list

    async def generate_content_async(self, llm_request, stream=False):
        self.asked.append(llm_request)
        part = self.script.pop(0) if self.script else "Noted."
        part = Part(text=part) if isinstance(part, str) else part
        yield LlmResponse(content=Content(role="model", parts=[part]))

    def told(self):
        return "\n".join(one.model_dump_json() for one in self.asked[-1].contents)


async def save(callback_context):
    await callback_context.add_session_to_memory()


def chat(hf, *script, session, prompt, tools, user="ann", service=None):
    """One run of an agent in a session of its own; what the model was told at last."""
    model = Scripted(model="scripted", script=list(script), asked=[])
    agent = LlmAgent(name="helper", model=model, tools=tools, after_agent_callback=save)
    runner = Runner(
        app_name="helper",
        agent=agent,
        session_service=service or HoldfastSessionService(hf),
        memory_service=HoldfastMemoryService(hf),
        auto_create_session=True,
    )

    async def go():
        message = Content(role="user", parts=[Part(text=prompt)])
        events = runner.run_async(user_id=user, session_id=session, new_message=message)
        return [event async for event in events]

    events = run(go())
    return events[-1].content.parts[0].text, model.told()


def test_an_agent_remembers_and_recalls_in_another_session(hf):
    preload = [PreloadMemoryTool()]
    chat(hf, session="monday", prompt="My boat is called Heron", tools=preload)
    _, told = chat(hf, session="tuesday", prompt="What is my boat called?", tools=preload)
    assert "My boat is called Heron" in told
    _, told = chat(hf, session="tuesday", prompt="And what else?", tools=preload)
    assert "What is my boat called?" in told  # the history of this session
    _, told = chat(hf, session="tuesday", prompt="My boat?", tools=preload, user="bob")
    assert "Heron" not in told


def test_an_agent_searches_with_a_tool(hf):
    chat(hf, session="monday", prompt="My boat is called Heron", tools=[])
    call = Part(function_call=FunctionCall(name="load_memory", args={"query": "boat"}))
    answer, told = chat(
        hf, call, "Heron!", session="tuesday", prompt="My boat?", tools=[load_memory]
    )
    assert answer == "Heron!" and "My boat is called Heron" in told


def test_an_agent_goes_on_when_memory_fails(open_memory, busy):
    hf = open_memory("user:any")
    service = HoldfastSessionService(hf)
    preload = [PreloadMemoryTool()]
    chat(hf, session="monday", prompt="Hello", tools=preload, service=service)
    with busy():
        answer, _ = chat(hf, session="monday", prompt="Bye", tools=preload, service=service)
    assert answer == "Noted."
    hf.close()
    call = Part(function_call=FunctionCall(name="load_memory", args={"query": "boat"}))
    answer, _ = chat(
        hf,
        call,
        session="monday",
        prompt="Bye",
        tools=[load_memory],
        service=InMemorySessionService(),
    )
    assert answer == "Noted."
