"""CrewAI: its unified memory on Holdfast's storage, beside CrewAI's own storage."""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from datetime import datetime, timedelta
from importlib.util import find_spec

import pytest

if find_spec("crewai") is None:  # the variables below would switch off other tests' OpenTelemetry
    pytest.skip("`make integrations` installs CrewAI", allow_module_level=True)
os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_DISABLE_VERSION_CHECK"] = os.environ["CREWAI_TESTING"] = "true"

from crewai import Agent, Crew, Memory, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.storage.lancedb_storage import LanceDBStorage
from crewai.memory.types import MemoryRecord

from holdfast import InvalidInput
from holdfast.integrations.crewai import HoldfastStorage

NOON = datetime(2026, 3, 18, 12)
TEA, CAR, SEA = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.8]


def record(content, vector=TEA, *, hours=0, **fields):
    return MemoryRecord(
        content=content, embedding=vector, created_at=NOON + timedelta(hours=hours), **fields
    )


def texts(records):
    return [one.content for one in records]


@pytest.fixture(params=["holdfast", "lancedb"])
def storage(request, tmp_path):
    """Ours, and CrewAI's own: what a test says is true of both."""
    if request.param == "lancedb":
        return LanceDBStorage(path=tmp_path / "lance")
    return HoldfastStorage(request.getfixturevalue("hf"))


@pytest.fixture
def ours(hf):
    return HoldfastStorage(hf)


# The contract


def test_it_is_a_storage_backend(storage):
    assert isinstance(storage, StorageBackend)


def test_an_empty_storage_finds_nothing(storage):
    assert storage.search(TEA) == []
    assert storage.list_records() == []
    assert storage.get_record("unknown") is None
    assert storage.count() == 0
    assert storage.delete(record_ids=["unknown"]) == 0
    assert storage.list_scopes() == [] and storage.list_categories() == {}
    assert storage.get_scope_info("/").record_count == 0


def test_a_record_comes_back_as_it_was_saved(storage):
    saved = record(
        "Ann trinkt grünen Tee 緑茶",
        scope="/team/ann",
        categories=["drinks", "habits"],
        metadata={"source": "chat", "count": 3},
        importance=0.9,
        source="user-1",
        private=True,
    )
    storage.save([saved])
    back = storage.get_record(saved.id)
    assert back.model_dump(exclude={"last_accessed"}) == saved.model_dump(exclude={"last_accessed"})
    assert back.embedding == pytest.approx(saved.embedding)


def test_search_orders_by_similarity_and_honours_limit_and_score(storage):
    storage.save([record("car", CAR), record("tea", TEA), record("sea", SEA)])
    assert [one.content for one, _ in storage.search(CAR)] == ["car", "sea", "tea"]
    assert [one.content for one, _ in storage.search(CAR, limit=1)] == ["car"]
    scores = [score for _, score in storage.search(CAR)]
    assert scores == sorted(scores, reverse=True) and scores[0] == pytest.approx(1.0)
    assert [one.content for one, _ in storage.search(CAR, min_score=0.9)] == ["car"]


def test_search_filters_before_the_limit(storage):
    others = [record(f"other {n}", CAR, scope="/other") for n in range(30)]
    wanted = record("mine", SEA, scope="/team/ann", categories=["a"], metadata={"k": "v"})
    storage.save([*others, wanted])
    assert [one.content for one, _ in storage.search(CAR, "/team", limit=1)] == ["mine"]


def test_a_scope_ends_at_a_slash(ours):
    ours.save([record("mine", scope="/team/ann")])
    assert ours.search(TEA, "/tea") == [] and ours.count("/team/an") == 0
    assert ours.count("team/ann/") == 1


def test_search_filters_by_category_and_metadata(ours):
    many = [record(f"other {n}", CAR) for n in range(30)]
    ours.save([*many, record("mine", SEA, categories=["a", "b"], metadata={"k": "v", "n": 1})])
    assert [one.content for one, _ in ours.search(CAR, categories=["b", "c"], limit=1)] == ["mine"]
    assert [one.content for one, _ in ours.search(CAR, metadata_filter={"k": "v"}, limit=1)] == [
        "mine"
    ]
    assert ours.search(CAR, metadata_filter={"k": "v", "n": 2}) == []


def test_records_are_listed_newest_first_page_by_page(storage):
    storage.save([record(f"{n}", hours=n, scope="/a" if n % 2 else "/b") for n in range(5)])
    assert texts(storage.list_records()) == ["4", "3", "2", "1", "0"]
    assert texts(storage.list_records(limit=2, offset=1)) == ["3", "2"]
    assert texts(storage.list_records("/a")) == ["3", "1"]
    assert storage.list_records(limit=0) == []


def test_scopes_and_categories_are_counted(storage):
    storage.save(
        [
            record("1", scope="/team/ann/drinks", categories=["x"]),
            record("2", scope="/team/bob", categories=["x", "y"], hours=2),
            record("3", scope="/other"),
        ]
    )
    assert storage.list_scopes("/") == ["/other", "/team"]
    assert storage.list_scopes("/team") == ["/team/ann", "/team/bob"]
    assert storage.list_categories() == {"x": 2, "y": 1}
    assert storage.list_categories("/team/ann") == {"x": 1}
    assert (storage.count(), storage.count("/team")) == (3, 2)
    info = storage.get_scope_info("/team")
    assert (info.path, info.record_count, info.categories) == ("/team", 2, ["x", "y"])
    assert info.child_scopes == ["/team/ann", "/team/bob"]
    assert (info.oldest_record, info.newest_record) == (NOON, NOON + timedelta(hours=2))


def test_update_replaces_the_record_with_the_same_id(storage):
    first = record("tea", TEA, metadata={"old": 1})
    storage.save([first])
    storage.update(first.model_copy(update={"content": "car", "embedding": CAR, "metadata": {}}))
    assert storage.count() == 1
    assert storage.get_record(first.id).content == "car"
    assert storage.get_record(first.id).metadata == {}
    assert storage.search(CAR)[0][1] == pytest.approx(1.0)


def test_an_update_without_a_vector_keeps_the_old_one(ours):
    first = record("tea", CAR)
    ours.save([first])
    ours.update(first.model_copy(update={"importance": 1.0, "embedding": None}))
    assert ours.search(CAR)[0][0].importance == 1.0


@pytest.mark.parametrize(
    ("criteria", "left"),
    [
        ({"categories": ["x"]}, ["2", "3"]),
        ({"older_than": NOON + timedelta(hours=1)}, ["2", "3"]),
        ({"metadata_filter": {"k": 2}}, ["1", "3"]),
    ],
)
def test_delete_removes_what_meets_the_criteria(storage, criteria, left):
    storage.save(
        [
            record("1", categories=["x"], metadata={"k": 1}),
            record("2", metadata={"k": 2}, hours=1),
            record("3", metadata={"k": 3}, hours=2),
        ]
    )
    assert storage.delete(**criteria) == 1
    assert sorted(texts(storage.list_records())) == left


def test_criteria_of_a_deletion_are_combined(ours):
    one, two = record("1", scope="/a", categories=["x"]), record("2", scope="/b", categories=["x"])
    ours.save([one, two])
    assert ours.delete(scope_prefix="/a", categories=["x"]) == 1
    assert ours.delete(scope_prefix="/a", record_ids=[two.id]) == 0
    assert ours.delete(record_ids=[]) == 0
    assert ours.delete(record_ids=[two.id]) == 1


def test_reset_clears_a_scope_or_everything(storage):
    storage.save([record("1", scope="/a/b"), record("2", scope="/c")])
    storage.reset("/a")
    assert texts(storage.list_records()) == ["2"]
    storage.reset()
    assert storage.count() == 0 and storage.search(TEA) == []
    storage.save([record("other model", [1.0, 0.0])])
    assert len(storage.search([1.0, 0.0])) == 1


def test_vectors_of_another_model_are_refused_as_crewai_does(storage):
    storage.save([record("tea")])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.search([1.0, 0.0])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.save([record("tea", [1.0, 0.0])])


def test_the_awaitable_calls_do_the_same(storage):
    async def run():
        await storage.asave([record("tea"), record("car", CAR)])
        found = await storage.asearch(CAR, limit=1)
        return found[0][0].content, await storage.adelete(record_ids=[found[0][0].id])

    assert asyncio.run(run()) == ("car", 1)
    assert texts(storage.list_records()) == ["tea"]


# What is ours


def test_records_are_memories_that_can_be_recalled_and_restored(ours, hf):
    ours.save([record("Ann prefers green tea")])
    assert hf.recall("which tea?")[0].memory.content == "Ann prefers green tea"
    assert hf.admin.log()[0].actor == "agent:crewai"
    ours.reset()
    assert hf.recall("which tea?") == []
    hf.undo()
    assert ours.count() == 1


def test_two_users_are_isolated(open_memory):
    ann, bob = (HoldfastStorage(open_memory(f"user:{name}")) for name in ("ann", "bob"))
    same = record("tea")
    ann.save([same])
    assert bob.count() == 0 and bob.search(TEA) == [] and bob.get_record(same.id) is None
    bob.save([same.model_copy(update={"content": "coffee"})])
    bob.reset()
    assert texts(ann.list_records()) == ["tea"]


def test_a_record_without_text_is_left_out_and_secrets_are_redacted(ours):
    ours.save([record(" "), record("the key is sk-ant-api03-" + "a1B2" * 20)])
    (kept,) = ours.list_records()
    assert "a1B2" not in kept.content


def test_a_recalled_record_notes_it(ours, clock):
    saved = record("tea", last_accessed=NOON)
    ours.save([saved])
    clock.forward(hours=5)
    ours.touch_records([saved.id, "unknown"])
    assert ours.get_record(saved.id).last_accessed == NOON + timedelta(hours=5)


def test_many_threads_may_save_and_search(ours):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: (ours.save([record(f"{n}")]), ours.search(TEA)), range(24)))
    assert ours.count() == 24


def test_the_embedder_is_holdfasts_own(ours, words):
    assert len(ours.embed(["tea", "car"])) == 2
    with pytest.raises(InvalidInput, match="no embedding model"):
        HoldfastStorage(words).embed(["tea"])


# Crews


class Scripted(BaseLLM):
    """Answers a task; remembers the words of the task; shows what it was told."""

    def call(self, messages, *args, **kwargs):
        said = messages if isinstance(messages, str) else "\n".join(m["content"] for m in messages)
        self._told.append(said)
        if "extract" in said.lower() and "memories" in said.lower():
            return json.dumps({"memories": ["Ann's boat is called Heron"]})
        if "Suggested" in said or "suggested_scope" in said:
            return json.dumps(
                {"suggested_scope": "/boats", "categories": ["boat"], "importance": 0.8}
            )
        return "Thought: I now can give a great answer\nFinal Answer: Her boat is Heron."

    def supports_function_calling(self):
        return False


@pytest.fixture
def run_crew():
    """Runs a crew of one agent with a task; says what the model was told."""

    def run(storage, task):
        model = Scripted(model="scripted")
        object.__setattr__(model, "_told", [])
        memory = Memory(storage=storage, embedder=storage.embed, llm=model)
        agent = Agent(role="Helper", goal="Help", backstory="Helps.", llm=model)
        work = Task(description=task, expected_output="an answer", agent=agent)
        crew = Crew(agents=[agent], tasks=[work], memory=memory, verbose=False)
        answer = crew.kickoff().raw
        memory.drain_writes()
        return answer, model._told

    return run


def test_a_crew_remembers_and_the_next_one_recalls(run_crew, ours, open_memory):
    run_crew(ours, "Ann says that her boat is called Heron")
    (kept,) = ours.list_records()
    assert kept.content == "Ann's boat is called Heron"
    assert kept.scope.endswith("/boats") and kept.categories == ["boat"]
    _, told = run_crew(HoldfastStorage(open_memory("user:ann")), "What is Ann's boat called?")
    assert any("Relevant memories" in one and "is called Heron" in one for one in told)
    _, told = run_crew(HoldfastStorage(open_memory("user:bob")), "What is Ann's boat called?")
    assert not any("Relevant memories" in one for one in told)


def test_a_crew_goes_on_when_the_store_fails(busy, open_memory, run_crew):
    storage = HoldfastStorage(hf := open_memory("user:ann"))
    with busy():
        assert run_crew(storage, "Remember the boat")[0] == "Her boat is Heron."
    assert storage.count() == 0
    hf.close()
    assert run_crew(storage, "Remember the boat")[0] == "Her boat is Heron."


def test_a_copied_crew_shares_the_storage(ours):
    assert deepcopy({"storage": ours})["storage"] is ours


def test_the_memory_itself_works_without_a_language_model(ours):
    memory = Memory(storage=ours, embedder=ours.embed, llm="none")
    memory.remember("Ann drinks green tea", scope="/ann", categories=["a"], importance=0.5)
    memory.remember("The car is red", scope="/car", categories=["b"], importance=0.5)
    (first, *_) = memory.recall("green tea", depth="shallow")
    assert first.record.content == "Ann drinks green tea"
    memory.update(first.record.id, content="Ann drinks black tea")
    assert texts(memory.list_records("/ann")) == ["Ann drinks black tea"]
    assert "/ann (1 records)" in memory.tree()
    assert memory.forget(categories=["a"]) == 1
    memory.close()
