"""Agno: its database of user memories, its memory manager and its agents."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("agno", reason="`make integrations` installs Agno")

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.db.schemas import UserMemory
from agno.memory import MemoryManager
from agno.models.base import Model
from agno.models.response import ModelResponse

from holdfast import InvalidInput
from holdfast.errors import StoreError
from holdfast.integrations.agno import HoldfastDb


def memory(text, id_=None, user="ann", **fields):
    return UserMemory(memory=text, memory_id=id_, user_id=user, **fields)


def texts(memories):
    return [one.memory for one in memories]


@pytest.fixture(params=["holdfast", "agno"])
def db(request):
    """Ours, and Agno's own: what a test says is true of both."""
    return InMemoryDb() if request.param == "agno" else HoldfastDb(request.getfixturevalue("hf"))


@pytest.fixture
def ours(hf):
    return HoldfastDb(hf)


# The contract


def test_an_empty_database_finds_nothing(db):
    assert db.get_user_memories() == [] and db.get_user_memories(deserialize=False) == ([], 0)
    assert db.get_user_memory("unknown") is None
    assert db.get_all_memory_topics() == [] and db.get_user_memory_stats() == ([], 0)
    db.delete_user_memory("unknown")
    db.clear_memories()


def test_a_memory_comes_back_as_it_was_stored(db):
    given = memory(
        "Ann trinkt grünen Tee 緑茶",
        "1",
        topics=["drinks", "tea"],
        input="I drink tea",
        agent_id="helper",
        team_id="team",
        feedback="good",
        created_at=1_700_000_000,
    )
    stored = db.upsert_user_memory(given)
    found = db.get_user_memory("1")
    assert found == stored and found.updated_at
    assert (found.memory, found.topics) == ("Ann trinkt grünen Tee 緑茶", ["drinks", "tea"])
    assert (found.input, found.agent_id, found.team_id, found.feedback) == (
        "I drink tea",
        "helper",
        "team",
        "good",
    )
    assert found.created_at == 1_700_000_000 and found.user_id == "ann"
    assert db.get_user_memory("1", deserialize=False)["memory"] == "Ann trinkt grünen Tee 緑茶"


def test_a_memory_without_an_id_gets_one(db):
    given = memory("tea")
    assert db.upsert_user_memory(given).memory_id == given.memory_id is not None
    assert db.upsert_user_memory(memory("car"), deserialize=False)["memory_id"]


def test_the_same_id_replaces(db):
    db.upsert_user_memory(memory("tea", "1", topics=["a"]))
    db.upsert_user_memory(memory("coffee", "1"))
    assert texts(db.get_user_memories()) == ["coffee"]
    db.upsert_user_memory(memory("coffee", "1", user="bob"))
    assert texts(db.get_user_memories("ann")) == []
    assert texts(db.get_user_memories("bob")) == ["coffee"]


@pytest.fixture
def filled(db):
    db.upsert_memories(
        [
            memory("Green tea", "1", topics=["tea"], agent_id="x", created_at=100),
            memory("Black TEA", "2", topics=["tea", "dark"], team_id="y", created_at=300),
            memory("Red car", "3", created_at=200),
            memory("Bob's tea", "4", user="bob", topics=["bobs"], created_at=400),
            memory("Nobody's tea", "5", user=None, created_at=500),
        ]
    )
    return db


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, "12345"),
        ({"user_id": "ann"}, "123"),
        ({"user_id": "eve"}, ""),
        ({"agent_id": "x"}, "1"),
        ({"team_id": "y"}, "2"),
        ({"topics": ["dark", "bobs"]}, "24"),
        ({"search_content": "tea"}, "1245"),
        ({"user_id": "ann", "search_content": "tea"}, "12"),
        ({"user_id": "ann", "sort_by": "created_at", "limit": 2}, "23"),
        ({"user_id": "ann", "sort_by": "created_at", "sort_order": "asc", "limit": 2}, "13"),
        (
            {"user_id": "ann", "sort_by": "created_at", "sort_order": "asc", "limit": 2, "page": 2},
            "2",
        ),
        ({"limit": 0}, ""),
    ],
)
def test_memories_are_filtered_sorted_and_paged(filled, filters, ids):
    found = [one.memory_id for one in filled.get_user_memories(**filters)]
    assert (found if "sort_by" in filters else sorted(found)) == list(ids)
    page, total = filled.get_user_memories(**filters, deserialize=False)
    assert [one["memory_id"] for one in page] == found
    assert total == (len(ids) if "limit" not in filters else 5 if filters == {"limit": 0} else 3)


def test_topics_and_statistics(filled):
    assert sorted(filled.get_all_memory_topics()) == ["bobs", "dark", "tea"]
    assert sorted(filled.get_all_memory_topics("ann")) == ["dark", "tea"]
    stats, total = filled.get_user_memory_stats()
    assert total == 2 and {one["user_id"]: one["total_memories"] for one in stats} == {
        "ann": 3,
        "bob": 1,
    }
    assert all(one["last_memory_updated_at"] for one in stats)
    assert len(filled.get_user_memory_stats(limit=1)[0]) == 1
    assert filled.get_user_memory_stats(user_id="bob")[1] == 1


def test_a_memory_of_somebody_else_is_neither_read_nor_deleted(filled):
    assert filled.get_user_memory("1", user_id="bob") is None
    filled.delete_user_memory("1", user_id="bob")
    filled.delete_user_memories(["1", "4"], user_id="ann")
    assert sorted(one.memory_id for one in filled.get_user_memories()) == ["2", "3", "4", "5"]
    filled.delete_user_memories(["2", "4"])
    assert sorted(one.memory_id for one in filled.get_user_memories()) == ["3", "5"]
    filled.clear_memories()
    assert filled.get_user_memories() == []


# What is ours


def test_memories_are_in_the_scope_of_their_user(ours, open_memory, hf):
    ours.upsert_user_memory(memory("Bob prefers green tea", "1", user="bob"))
    ours.upsert_user_memory(memory("Somebody prefers coffee", "2", user=None))
    bob = open_memory("user:bob")
    assert [hit.memory.content for hit in bob.recall("tea")] == ["Bob prefers green tea"]
    assert [one.content for one in hf.list()] == ["Somebody prefers coffee"]
    assert bob.admin.log()[0].actor == "agent:agno"
    ours.delete_user_memory("1")
    assert bob.recall("tea") == []
    bob.undo()
    assert texts(ours.get_user_memories("bob")) == ["Bob prefers green tea"]


def test_what_others_remember_is_not_touched(ours, hf):
    hf.remember("Ann has a dog")
    ours.upsert_user_memory(memory("Ann has a cat", "1"))
    assert texts(ours.get_user_memories("ann")) == ["Ann has a cat"]
    ours.clear_memories()
    assert [one.content for one in hf.list()] == ["Ann has a dog"]


def test_the_next_process_finds_them(ours, open_memory):
    ours.upsert_user_memory(memory("tea", "1"))
    assert texts(HoldfastDb(open_memory("user:any")).get_user_memories("ann")) == ["tea"]


def test_one_bad_memory_stops_no_other_and_secrets_are_redacted(ours, caplog):
    key = "sk-ant-api03-" + "a1B2" * 20
    stored = ours.upsert_memories([memory(" ", "1"), memory(f"the key is {key}", "2", input=key)])
    assert [one.memory_id for one in stored] == ["2"] and "not stored" in caplog.text
    assert key not in str(ours.get_user_memories())


def test_an_updated_at_can_be_kept(ours, clock):
    ours.upsert_memories([memory("tea", "1", updated_at=1_600_000_000)], preserve_updated_at=True)
    assert ours.get_user_memory("1").updated_at == 1_600_000_000
    ours.upsert_user_memory(memory("tea", "1", updated_at=1_600_000_000))
    assert ours.get_user_memory("1").updated_at == clock() // 1_000_000


def test_many_threads_may_store(ours):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ours.upsert_user_memory(memory(f"{n}", f"{n}")), range(24)))
    assert len(ours.get_user_memories("ann")) == 24


def test_a_path_is_no_open_memory(tmp_path):
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastDb(str(tmp_path))


def test_a_failing_store_lists_nothing_and_raises_otherwise(ours, hf, caplog):
    hf.close()
    assert ours.get_user_memories("ann") == [] and "not listed" in caplog.text
    for change in (
        lambda: ours.upsert_user_memory(memory("tea")),
        lambda: ours.delete_user_memory("1", user_id="ann"),
        ours.clear_memories,
    ):
        with pytest.raises(StoreError):
            change()


# Agents


class Scripted(Model):
    """Remembers with Agno's tool when it is asked to; keeps what it was told."""

    def __init__(self):
        super().__init__(id="scripted", provider="scripted")
        self.told = []

    def invoke(self, messages, tools=None, **kwargs):
        system = "\n".join(str(one.content) for one in messages if one.role == "system")
        managing = any(tool["function"]["name"] == "add_memory" for tool in tools or [])
        if not managing:
            self.told.append(system)
            return ModelResponse(role="assistant", content="Noted.")
        if messages[-1].role == "tool":
            return ModelResponse(role="assistant", content="Done.")
        arguments = json.dumps({"memory": "The boat is called Heron", "topics": ["boat"]})
        call = {"name": "add_memory", "arguments": arguments}
        calls = [{"id": "1", "type": "function", "function": call}]
        return ModelResponse(role="assistant", tool_calls=calls)

    async def ainvoke(self, *args, **kwargs):
        return self.invoke(*args, **kwargs)

    def invoke_stream(self, *args, **kwargs):
        yield self.invoke(*args, **kwargs)

    async def ainvoke_stream(self, *args, **kwargs):
        yield self.invoke(*args, **kwargs)

    def _parse_provider_response(self, response, **kwargs):
        return response

    def _parse_provider_response_delta(self, response):
        return response


def agent(hf, **options):
    model = Scripted()
    manager = MemoryManager(db=HoldfastDb(hf), model=model)
    return Agent(model=model, memory_manager=manager, telemetry=False, **options)


def test_an_agent_remembers_and_another_one_recalls(hf):
    first = agent(hf, update_memory_on_run=True)
    assert first.run("My boat is called Heron", user_id="ann", session_id="1").content == "Noted."
    assert texts(HoldfastDb(hf).get_user_memories("ann")) == ["The boat is called Heron"]
    second = agent(hf, add_memories_to_context=True)
    second.run("What is my boat called?", user_id="ann", session_id="2")
    assert "The boat is called Heron" in second.model.told[-1]
    second.run("What is my boat called?", user_id="bob", session_id="3")
    assert "Heron" not in second.model.told[-1]


def test_an_agent_does_the_same_in_an_event_loop(hf):
    async def go():
        first = agent(hf, update_memory_on_run=True)
        await first.arun("My boat is called Heron", user_id="ann", session_id="1")
        second = agent(hf, add_memories_to_context=True)
        await second.arun("What is my boat called?", user_id="ann", session_id="2")
        return second.model.told[-1]

    assert "The boat is called Heron" in asyncio.run(go())


def test_an_agent_goes_on_when_the_store_fails(busy, open_memory):
    hf = open_memory("user:any")
    options = {"update_memory_on_run": True, "add_memories_to_context": True}
    with busy():
        answer = agent(hf, **options).run("Hello", user_id="ann", session_id="1")
    assert answer.content == "Noted."
    assert HoldfastDb(hf).get_user_memories("ann") == []
    hf.close()
    answer = agent(hf, **options).run("Hello", user_id="ann", session_id="1")
    assert answer.content == "Noted."
