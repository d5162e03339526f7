"""A program that was written against mem0: the same calls, the same shapes."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from holdfast.errors import InvalidInput
from holdfast.integrations.mem0 import AsyncMem0, AsyncMemory, Mem0, Memory
from holdfast.integrations.mem0.mem0_filters import matches, names_owner, users_in
from holdfast.types import Scope, iso

ANN = {"user_id": "ann"}


@pytest.fixture
def memory(hf):
    return Memory(hf)


def keep(memory, text, **given):
    """The id of a text that is kept as it is."""
    return memory.add(text, infer=False, **(given or ANN))["results"][0]["id"]


def texts(found):
    return sorted(item["memory"] for item in found["results"])


# Adding


def test_messages_are_kept_as_they_are(memory):
    said = [
        {"role": "system", "content": "Be kind"},
        {"role": "user", "content": "I am a vegetarian", "name": "Ann"},
        {"role": "assistant", "content": [{"type": "text", "text": "Noted"}]},
    ]
    added = memory.add(said, infer=False, **ANN)["results"]
    assert [(one["memory"], one["event"], one["role"], one["actor_id"]) for one in added] == [
        ("I am a vegetarian", "ADD", "user", "Ann"),
        ("Noted", "ADD", "assistant", None),
    ]


def test_an_item_has_the_shape_that_mem0_gives_it(memory, clock):
    id_ = keep(
        memory, "Likes oolong", user_id="ann", agent_id="tea", run_id="r1", metadata={"cups": 3}
    )
    now = iso(clock())
    assert memory.get(id_) == {
        "id": id_,
        "memory": "Likes oolong",
        "hash": "8a7146c205b7af502e3031236f86b029",
        "metadata": {"cups": 3},
        "created_at": now,
        "updated_at": now,
        "user_id": "ann",
        "agent_id": "tea",
        "run_id": "r1",
        "role": "user",
        "score": None,
    }


def test_what_messages_say_is_learned_at_once(memory, hf):
    added = memory.add(
        [{"role": "user", "content": "My name is Ann and I live in Lisbon."}], **ANN
    )["results"]
    assert {one["event"] for one in added} == {"ADD"}
    assert any("Lisbon" in one["memory"] for one in added)
    assert texts(memory.get_all(filters=ANN)) == sorted(one["memory"] for one in added)
    assert [turn.content for turn in hf.list(kinds=["turn"])] == [
        "My name is Ann and I live in Lisbon."
    ]


def test_what_is_said_again_is_nothing_new_and_what_changed_is_an_update(memory):
    memory.add("I live in Lisbon.", **ANN)
    again = memory.add("I live in Lisbon.", **ANN)["results"]
    assert [one["event"] for one in again] == ["NONE"]
    moved = memory.add("I moved to Porto, I live in Porto now.", **ANN)["results"]
    assert any(one["event"] == "UPDATE" and "Lisbon" in one["previous_memory"] for one in moved)


def test_small_talk_teaches_nothing(memory):
    assert memory.add("Thanks, bye!", **ANN) == {"results": []}
    assert memory.get_all(filters=ANN) == {"results": []}


def test_what_is_learned_belongs_to_the_agent_and_run_it_came_from(memory):
    memory.add(
        "I live in Lisbon.", user_id="ann", agent_id="travel", run_id="r1", metadata={"trip": 1}
    )
    (item,) = memory.get_all(filters={"run_id": "r1"})["results"]
    assert (item["user_id"], item["agent_id"], item["metadata"]) == ("ann", "travel", {"trip": 1})


def test_a_procedure_is_one_memory(memory, hf):
    said = [
        {"role": "user", "content": "Deploy"},
        {"role": "assistant", "content": "Ran make release"},
    ]
    memory.add(said, agent_id="ops", memory_type="procedural_memory")
    (item,) = memory.get_all(filters={"agent_id": "ops"})["results"]
    assert item["memory"] == "user: Deploy\nassistant: Ran make release"
    assert item["metadata"] == {"memory_type": "procedural_memory"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "At least one of"),
        ({"user_id": " "}, "Invalid user_id"),
        ({"user_id": "a b"}, "Invalid user_id"),
        ({"user_id": "ann", "memory_type": "odd"}, "memory_type"),
        ({"user_id": "ann", "expiration_date": "soon"}, "expiration_date"),
        ({"user_id": "ann", "timestamp": "soon"}, "not a time"),
    ],
)
def test_what_cannot_be_added_is_refused_as_mem0_does(memory, hf, given, told):
    with pytest.raises(ValueError, match=told):
        memory.add("text", **given)
    assert hf.admin.log() == []


def test_neither_can_messages_of_no_kind(memory):
    with pytest.raises(InvalidInput, match="messages must be"):
        memory.add(12, **ANN)


# Owners


def test_users_do_not_see_each_other(memory):
    keep(memory, "The treasure is under the oak", user_id="ann")
    keep(memory, "The garden has an oak", user_id="bob")
    assert texts(memory.search("where is the oak?", filters={"user_id": "bob"})) == [
        "The garden has an oak"
    ]
    assert texts(memory.get_all(filters={"user_id": "bob"})) == ["The garden has an oak"]
    assert memory.get_all(filters={"user_id": "nobody"}) == {"results": []}


def test_ids_narrow_together(memory):
    keep(memory, "with both", user_id="ann", agent_id="tea")
    keep(memory, "of the user", user_id="ann")
    keep(memory, "of the agent", agent_id="tea")
    keep(memory, "of a run", run_id="r1")
    assert texts(memory.get_all(filters={"user_id": "ann"})) == ["of the user", "with both"]
    assert texts(memory.get_all(filters={"agent_id": "tea"})) == ["of the agent", "with both"]
    assert texts(memory.get_all(filters={"user_id": "ann", "agent_id": "tea"})) == ["with both"]
    assert texts(memory.get_all(filters={"run_id": "r1"})) == ["of a run"]
    assert texts(memory.get_all(user_id="ann", limit=1)) == ["of the user"]


def test_memories_from_elsewhere_are_items_too(memory, hf):
    hf.remember("Plays the cello", metadata={"heard": "radio"})
    hf.scoped("project:shop").remember("Uses Postgres")
    (item,) = memory.search("cello", filters=ANN)["results"]
    assert (item["memory"], item["metadata"]) == ("Plays the cello", {"heard": "radio"})
    memory.reset()
    assert [one.content for one in hf.scoped("project:shop").list()] == ["Uses Postgres"]


# Searching


def test_a_search_is_scored_and_cut_at_the_threshold(memory):
    keep(memory, "Drinks green tea in the morning")
    keep(memory, "Drives a red car")
    found = memory.search("green tea in the morning", filters=ANN, explain=True)["results"]
    assert found[0]["memory"] == "Drinks green tea in the morning"
    assert 0.1 <= found[0]["score"] <= 1
    assert "words" in found[0]["score_details"]
    assert memory.search("green tea", filters=ANN, threshold=1.0) == {"results": []}
    assert len(memory.search("green tea car", filters=ANN, top_k=1, threshold=0)["results"]) == 1


def test_what_has_little_to_do_with_the_query_scores_little(memory):
    keep(memory, "Drinks green tea in the morning")
    keep(memory, "Drives a red car")
    best, other = memory.search("green tea in the morning", filters=ANN, threshold=0)["results"]
    assert other["score"] < best["score"] / 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "at least one of"),
        ({"filters": {"OR": [{"user_id": "a"}, {"trip": 1}]}}, "at least one of"),
        ({"filters": ANN, "threshold": 2}, "threshold"),
        ({"filters": ANN, "top_k": -1}, "top_k"),
        ({"filters": {**ANN, "cups": {"near": 3}}}, "operator: near"),
        ({"filters": {**ANN, "NOT": []}}, "NOT operator"),
        ({"filters": ANN, "reference_date": "2026-01-01"}, "reference_date"),
        ({"filters": ANN, "colour": "red"}, "colour"),
    ],
)
def test_a_search_that_cannot_be_is_refused(memory, given, told):
    keep(memory, "Drinks tea")
    with pytest.raises(ValueError, match=told):
        memory.search("tea", **given)


def test_an_empty_query_is_refused(memory):
    keep(memory, "Drinks tea")
    with pytest.raises(ValueError, match="Invalid query"):
        memory.search(" ", filters=ANN)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"n": 2}, ["b"]),
        ({"n": {"gte": 2}}, ["b", "c"]),
        ({"n": {"gt": 1, "lt": 3}}, ["b"]),
        ({"n": {"lte": 1}}, ["a"]),
        ({"n": {"ne": 2}}, ["a", "c", "d"]),
        ({"n": {"in": [1, 3]}}, ["a", "c"]),
        ({"n": {"nin": [1, 3]}}, ["b", "d"]),
        ({"city": {"contains": "Lis"}}, ["a"]),
        ({"city": {"icontains": "LIS"}}, ["a"]),
        ({"tags": {"contains": "x"}}, ["b"]),
        ({"city": "*"}, ["a", "d"]),
        ({"AND": [{"n": {"gte": 1}}, {"NOT": [{"n": 2}]}]}, ["a", "c"]),
        ({"OR": [{"n": 1}, {"n": 3}]}, ["a", "c"]),
        ({"memory": {"in": ["b", "d"]}}, ["b", "d"]),
        ({"n": {"gt": "text"}}, []),
    ],
)
def test_filters(memory, wanted, found):
    for text, metadata in {
        "a": {"n": 1, "city": "Lisbon"},
        "b": {"n": 2, "tags": ["x"]},
        "c": {"n": 3},
        "d": {"city": "Porto"},
    }.items():
        keep(memory, text, **ANN, metadata=metadata)
    assert texts(memory.get_all(filters={**ANN, **wanted})) == found


def test_a_filter_says_whose_memories_are_looked_through():
    assert users_in({"AND": [{"user_id": "a"}, {"n": 1}]}) == {"a"}
    assert users_in({"OR": [{"user_id": "a"}, {"agent_id": "b"}]}) is None
    assert users_in({"user_id": "*"}) is None
    assert names_owner({"user_id": "*"}) and not names_owner({"NOT": [{"user_id": "a"}]})
    assert matches({"user_id": "a", "metadata": None}, {"user_id": "*"})


# Changing


def test_an_update_keeps_the_id_and_when_it_was_created(memory, clock, hf):
    id_ = keep(memory, "Likes oolong", **ANN, metadata={"cups": 3, "hot": True})
    created = memory.get(id_)["created_at"]
    clock.forward(hours=1)
    assert memory.update(id_, "Likes sencha", metadata={"cups": 4, "user_id": "eve"})["message"]
    item = memory.get(id_)
    assert (item["memory"], item["metadata"]["cups"], item["metadata"]["hot"]) == (
        "Likes sencha",
        4,
        True,
    )
    assert (item["user_id"], item["created_at"], item["updated_at"]) == (
        "ann",
        created,
        iso(clock()),
    )
    assert texts(memory.search("sencha", filters=ANN)) == ["Likes sencha"]
    hf.undo()
    assert memory.get(id_)["memory"] == "Likes oolong"


def test_what_is_deleted_is_gone_and_can_be_undone(memory, hf):
    id_ = keep(memory, "Likes oolong")
    memory.delete(id_)
    assert memory.get(id_) is None
    assert memory.search("oolong", filters=ANN) == {"results": []}
    for refused in (memory.delete, lambda id_: memory.update(id_, "x")):
        with pytest.raises(ValueError, match="not found"):
            refused(id_)
    hf.undo()
    assert memory.get(id_)["memory"] == "Likes oolong"


def test_all_of_an_agent_is_deleted_with_what_was_said_to_it(memory, hf):
    memory.add("I live in Lisbon.", user_id="ann", agent_id="travel")
    keep(memory, "of the user", user_id="ann")
    memory.delete_all(agent_id="travel")
    assert [one.content for one in hf.list()] == ["of the user"]
    with pytest.raises(ValueError, match="At least one of"):
        memory.delete_all()


def test_history_tells_each_change(memory, clock):
    id_ = keep(memory, "Likes oolong")
    clock.forward(hours=1)
    memory.update(id_, "Likes sencha")
    clock.forward(hours=1)
    memory.update(id_, metadata={"cups": 2})
    memory.delete(id_)
    told = [
        (one["event"], one["old_memory"], one["new_memory"], one["is_deleted"])
        for one in memory.history(id_)
    ]
    assert told == [
        ("ADD", None, "Likes oolong", False),
        ("UPDATE", "Likes oolong", "Likes sencha", False),
        ("UPDATE", "Likes sencha", "Likes sencha", False),
        ("DELETE", "Likes sencha", None, True),
    ]
    assert {one["memory_id"] for one in memory.history(id_)} == {id_}
    assert memory.history("never") == []


def test_what_has_expired_is_shown_only_when_asked_for(memory, clock):
    id_ = keep(memory, "The ticket is valid", **ANN, expiration_date="2026-03-18")
    assert memory.get(id_)["expiration_date"] == "2026-03-18"
    assert texts(memory.get_all(filters=ANN)) == ["The ticket is valid"], "the day itself counts"
    clock.forward(days=1)
    assert memory.get_all(filters=ANN) == memory.search("ticket", filters=ANN) == {"results": []}
    assert texts(memory.get_all(filters=ANN, show_expired=True)) == ["The ticket is valid"]
    assert texts(memory.search("ticket", filters=ANN, show_expired=True)) == ["The ticket is valid"]
    memory.update(id_, expiration_date=None)
    assert texts(memory.search("ticket", filters=ANN)) == ["The ticket is valid"]
    with pytest.raises(ValueError, match="At least one of text"):
        memory.update(id_)


def test_reset_forgets_everybody_in_one_run(memory, hf):
    keep(memory, "one", user_id="ann")
    keep(memory, "two", agent_id="tea")
    memory.reset()
    memory.reset()
    assert (
        memory.get_all(filters={"user_id": "*"})
        == memory.get_all(filters={"agent_id": "*"})
        == {"results": []}
    )


def test_reset_leaves_what_did_not_come_through_mem0(memory, hf):
    hf.scoped("user:ann").remember("Told at the command line")
    keep(memory, "Told to mem0", user_id="ann")
    memory.add("I live in Lisbon.", user_id="bob")
    memory.reset()
    assert [one.content for one in hf.scoped("user:ann", "user:bob").list()] == [
        "Told at the command line"
    ]


def test_reset_of_one_owner_forgets_all_of_that_owner_and_nobody_else(hf):
    keep(Memory(hf), "one", user_id="ann")
    keep(Memory(hf), "two", user_id="bob")
    hf.scoped("user:ann").remember("three")
    Memory(hf, only=Scope("user", "ann")).reset()
    assert [one.content for one in hf.scoped("user:ann", "user:bob").list()] == ["two"]


def test_a_store_of_its_own(tmp_path, caplog):
    with Memory.from_config(
        {"store": str(tmp_path / "m.db"), "llm": {"provider": "openai"}}
    ) as memory:
        keep(memory, "kept")
    assert "ignored keys of the config: llm" in caplog.text
    with Memory.from_config({"store": str(tmp_path / "m.db")}) as memory:
        assert texts(memory.get_all(filters=ANN)) == ["kept"]


# Awaitable


# What mem0's servers offer beyond the library


def test_only_what_a_narrower_filter_names_is_deleted(memory):
    keep(memory, "Rome", user_id="ann", metadata={"trip": 1})
    keep(memory, "Oslo")
    memory.delete_all(user_id="ann", filters={"trip": 1})
    assert texts(memory.get_all(filters=ANN)) == ["Oslo"]
    with pytest.raises(InvalidInput, match="operator"):
        memory.delete_all(user_id="ann", filters={"trip": {"near": 1}})


def test_users_agents_and_runs_are_known_from_their_items(memory, clock):
    keep(memory, "of ann", user_id="ann", agent_id="tea", run_id="r1")
    first = iso(clock())
    last = iso(clock.forward(days=1))
    keep(memory, "of the agent", agent_id="tea")
    found = [(one["type"], one["id"], one["total_memories"]) for one in memory.entities()]
    assert found == [("user", "ann", 1), ("agent", "tea", 2), ("run", "r1", 1)]
    agent = memory.entities()[1]
    assert (agent["created_at"], agent["updated_at"]) == (first, last)


def test_feedback_is_shown_and_withdrawn_and_changes_nothing_else(memory, hf):
    id_ = keep(memory, "Likes oolong", user_id="ann", metadata={"cups": 3})
    before = memory.get(id_)
    memory.feedback(id_, "NEGATIVE", "the password is hunter2hunter2")
    after = memory.get(id_)
    assert after["feedback"] == "NEGATIVE" and "hunter2" not in after["feedback_reason"]
    memory.update(id_, "Likes sencha")
    assert memory.get(id_)["feedback"] == "NEGATIVE"
    memory.update(id_, "Likes oolong")
    memory.feedback(id_)
    assert memory.get(id_) == before
    with pytest.raises(InvalidInput, match="POSITIVE, NEGATIVE, VERY_NEGATIVE"):
        memory.feedback(id_, "GREAT")


def test_feedback_on_a_memory_from_elsewhere_leaves_its_metadata(memory, hf):
    id_ = hf.remember("Keeps bees", metadata={"hives": 2}).id
    memory.feedback(id_, "POSITIVE")
    assert (memory.get(id_)["metadata"], memory.get(id_)["feedback"]) == ({"hives": 2}, "POSITIVE")


def test_the_messages_an_item_came_from(memory):
    (learned,) = memory.add("I live in Lisbon.", **ANN)["results"]
    assert memory.sources(learned["id"]) == [{"role": "user", "content": "I live in Lisbon."}]
    assert memory.sources(keep(memory, "Likes oolong")) == memory.sources("fact_missing") == []


def test_the_best_are_read_again_on_request(memory):
    keep(memory, "Drinks oolong tea in the morning")
    question = "what does she drink, tea?"
    (quick,) = memory.search(question, filters=ANN, explain=True)["results"]
    (read,) = memory.search(question, filters=ANN, rerank=True, explain=True)["results"]
    assert read["id"] == quick["id"] and read["score_details"] != quick["score_details"]


def test_the_time_of_an_item_can_be_set(memory, hf):
    id_ = keep(memory, "Was in Rome")
    memory.update(id_, timestamp="2024-05-01T10:00:00Z")
    assert iso(hf.get(id_).event_time) == "2024-05-01T10:00:00+00:00"


def test_every_verb_is_awaitable(hf):
    async def talk():
        memory = AsyncMemory(hf)
        id_ = (await memory.add("Likes oolong", infer=False, **ANN))["results"][0]["id"]
        await memory.update(id_, "Likes sencha")
        found = await memory.search("sencha", filters=ANN)
        listed = await memory.get_all(filters=ANN)
        history = await memory.history(id_)
        await memory.feedback(id_, "POSITIVE")
        known = [one["id"] for one in await memory.entities()], await memory.sources(id_)
        await memory.delete(id_)
        gone = await memory.get(id_)
        await memory.delete_all(user_id="ann")
        await memory.reset()
        memory.close()
        return texts(found), texts(listed), len(history), known, gone

    known = (["ann"], [])
    assert asyncio.run(talk()) == (["Likes sencha"], ["Likes sencha"], 2, known, None)
    verbs = {name for name, _ in inspect.getmembers(Mem0, callable) if not name.startswith("_")}
    assert verbs == {
        name for name, _ in inspect.getmembers(AsyncMem0, callable) if not name.startswith("_")
    }


def test_words_find_where_no_model_answers(words):
    memory = Memory(words)
    keep(memory, "The treasure is under the oak")
    assert texts(memory.search("where is the oak?", filters=ANN)) == [
        "The treasure is under the oak"
    ]
    assert memory.search("quantum physics", filters=ANN) == {"results": []}


def test_the_same_on_a_server(postgres_store_url):
    with Memory.from_config({"store": postgres_store_url}) as memory:
        id_ = keep(memory, "Likes oolong", user_id="ann", agent_id="tea", metadata={"cups": 3})
        keep(memory, "Likes coffee", user_id="bob")
        memory.update(id_, "Likes sencha")
        assert texts(memory.search("sencha", filters={"agent_id": "tea", "cups": {"gt": 2}})) == [
            "Likes sencha"
        ]
        assert [one["event"] for one in memory.history(id_)] == ["ADD", "UPDATE"]
        assert [one["event"] for one in memory.add("I live in Lisbon.", **ANN)["results"]] == [
            "ADD"
        ]
        memory.delete_all(user_id="ann")
        assert texts(memory.get_all(filters={"user_id": "*"})) == ["Likes coffee"]


@pytest.mark.parametrize("metadata", ["trip", ["trip"], {"trip": object()}])
@pytest.mark.parametrize("infer", [True, False])
def test_metadata_that_cannot_be_kept_leaves_nothing_behind(memory, hf, metadata, infer):
    with pytest.raises(InvalidInput, match="metadata must be"):
        memory.add("I moved to Lisbon.", user_id="alice", metadata=metadata, infer=infer)
    with pytest.raises(InvalidInput, match="metadata must be"):
        memory.update(keep(memory, "Prefers window seats"), metadata=metadata)
    assert [one.content for one in hf.scoped("user:alice").list()] in ([], ["Prefers window seats"])


@pytest.mark.parametrize("config", ["memory.db", None])
def test_a_configuration_is_a_mapping(config):
    with pytest.raises(InvalidInput, match="A configuration is a mapping"):
        Memory.from_config(config)


def test_a_secret_in_metadata_is_not_kept_however_it_comes(memory, hf):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    said = {"user_id": "ann", "metadata": {"login": token}}
    id_ = keep(memory, "Prefers window seats", **said)
    memory.update(id_, metadata={"second": f"use {token}"})
    memory.add("I live in Lisbon.", **said)
    memory.add("I live in Lisbon.", **said)  # known already: what is noted with it is added to
    assert token not in str([(one.metadata, one.content) for one in hf.scoped("user:ann").list()])
    assert "REDACTED" in str(memory.get(id_)["metadata"]["second"])
