"""Seed 001, the twelve tools: six for the agent that talks, six for the one that reads; what each
answers, exactly.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from living import talk
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from scripted import calling

from holdfast import InvalidInput
from holdfast.integrations import agent_tools

SIX = {
    "search_memory",
    "remember_fact",
    "correct_fact",
    "confirm_fact",
    "memory_stats",
    "get_entity_info",
}
OTHER_SIX = {
    "get_episodes_for_consolidation",
    "save_facts_batch",
    "mark_session_consolidated",
    "is_session_consolidated",
    "detect_conflicts",
    "resolve_conflict",
}


def remembered(tools, content, **options):
    return tools["remember_fact"](content, **options)["memory_id"]


def saved(tools, session, content, **fields):
    (one,) = tools["save_facts_batch"](session, [{"content": content, **fields}])["saved"]
    return one["id"]


# The two sets


def test_the_tools_of_the_reader_are_not_among_those_of_the_talker(keeper):
    assert {function.__name__ for function in keeper.get_tools()} == SIX
    assert {function.__name__ for function in keeper.get_consolidator_tools()} == OTHER_SIX


@pytest.mark.parametrize("functions", [agent_tools.talking, agent_tools.consolidating])
def test_they_are_tools_of_a_pydantic_ai_agent_that_are_described(ann, functions):
    tools = agent_tools.toolset(functions(ann)).tools
    assert len(tools) == 6
    for tool in tools.values():
        assert tool.description
        parameters = tool.function_schema.json_schema["properties"].values()
        assert all(parameter.get("description") for parameter in parameters)


def test_an_agent_calls_them(ann):
    model = TestModel(call_tools=["memory_stats", "search_memory"])
    agent = Agent(model, toolsets=[agent_tools.toolset(agent_tools.talking(ann))])
    assert (
        "counts" in json.loads(asyncio.run(agent.run("what do you know?")).output)["memory_stats"]
    )


def test_a_model_that_gets_an_argument_wrong_is_told_and_may_try_again(ann):
    steps = [
        ("search_memory", {"query": "tea", "kind": "semantic"}),
        ("search_memory", {"query": "tea"}),
    ]
    agent = Agent(calling(*steps), toolsets=[agent_tools.toolset(agent_tools.talking(ann))])
    messages = asyncio.run(agent.run("what do I drink?")).all_messages()
    assert "Unknown kind 'semantic'" in str(messages[2].parts[0].content)
    assert messages[4].parts[0].content == {"memories": [], "found": False}


# Who talks


def test_search_answers_with_id_kind_and_content(ann, tools):
    fact = remembered(tools, "Ann likes green tea")
    (turn,) = talk(ann, "s1", "I bought green tea")
    answer = tools["search_memory"]("green tea")
    assert answer["found"] is True
    assert sorted(answer["memories"], key=lambda one: one["kind"]) == [
        {"id": turn.id, "kind": "episode", "content": "I bought green tea"},
        {"id": fact, "kind": "fact", "content": "Ann likes green tea"},
    ]
    assert tools["search_memory"]("submarine") == {"memories": [], "found": False}


def test_search_is_narrowed_by_kind_tag_and_limit(ann, tools):
    for number in range(60):
        ann.remember(f"Tea number {number}", tags=["drinks"] if number < 2 else [])
    ann.remember("Tea is her preference", category="preference")
    ann.remember("A week of tea", kind="reflection")
    search = tools["search_memory"]
    assert len(search("tea", limit=100)["memories"]) == 50
    assert len(search("tea", limit=0)["memories"]) == 1
    assert len(search("tea", tag="drinks")["memories"]) == 2
    assert [one["content"] for one in search("tea", kind="preference")["memories"]] == [
        "Tea is her preference"
    ]
    assert [one["kind"] for one in search("tea", kind="reflection")["memories"]] == ["reflection"]
    ann.remember("Tea before noon", kind="rule")
    talk(ann, "s1", "tea again")
    assert [one["kind"] for one in search("tea", kind="rule")["memories"]] == ["rule"], (
        "our own words will do"
    )
    assert [one["content"] for one in search("tea", kind="turn")["memories"]] == ["tea again"]
    with pytest.raises(InvalidInput, match="episode, fact, preference, reflection"):
        search("tea", kind="dream")


def test_a_remembered_fact_is_answered_with_its_beginning(ann, tools):
    answer = tools["remember_fact"]("x" * 100, confidence=0.7)
    assert answer == {
        "memory_id": answer["memory_id"],
        "content_preview": "x" * 80 + "...",
        "success": True,
    }
    fact = ann.get(answer["memory_id"])
    assert (fact.id[:5], fact.kind, fact.confidence, fact.decay_rate) == ("fact_", "fact", 0.7, 0.1)
    assert tools["remember_fact"]("  ")["success"] is False


def test_a_remembered_fact_is_linked_to_whom_it_mentions(ann, tools):
    remembered(tools, "Bob's sister Ines lives in Lisbon")
    assert {"Ines", "Lisbon"} <= {one.name for one in ann.entities.list()}


def test_yo_14_a_correction_keeps_the_line_from_old_to_new(ann, tools):
    old = remembered(tools, "Ann likes tea", confidence=0.9)
    answer = tools["correct_fact"](old, "Ann likes coffee")
    new = answer["new_memory_id"]
    assert answer == {
        "success": True,
        "new_memory_id": new,
        "message": f"Corrected. New memory id={new}",
    }
    assert (ann.get(old).status, ann.get(new).status, ann.get(new).confidence) == (
        "superseded",
        "active",
        0.9,
    )
    assert [(edge.relation, edge.target) for edge in ann.admin.links(new)] == [("supersedes", old)]


def test_yo_14_what_cannot_be_corrected_is_said_and_nothing_written(ann, tools):
    old = remembered(tools, "Ann likes tea")
    new = tools["correct_fact"](old, "Ann likes coffee")["new_memory_id"]
    before = ann.admin.log(limit=None)
    for ref in (old, "fact_nobody"):
        message = f"Memory {ref} not found or already superseded."
        assert tools["correct_fact"](ref, "x") == {
            "success": False,
            "new_memory_id": None,
            "message": message,
        }
    assert tools["correct_fact"](new, " ")["success"] is False
    assert ann.admin.log(limit=None) == before


def test_a_correction_says_what_it_says_as_surely_as_before_it_faded(ann, tools, clock):
    old = remembered(tools, "Ann likes tea", confidence=0.8)
    clock.forward(days=10)
    ann.admin.decay()
    assert ann.get(tools["correct_fact"](old, "Ann likes mate")["new_memory_id"]).confidence == 0.8


def test_yo_12_a_confirmation_is_answered_in_these_words(ann, tools):
    fact = remembered(tools, "Ann likes tea", confidence=0.5)
    message = f"Confirmed memory {fact} (protected, no decay)."
    assert tools["confirm_fact"](fact) == {"success": True, "memory_id": fact, "message": message}
    assert (ann.get(fact).confidence, ann.get(fact).decay_rate) == (1.0, 0.0)
    answer = {
        "success": False,
        "memory_id": "fact_nobody",
        "message": "Memory fact_nobody not found.",
    }
    assert tools["confirm_fact"]("fact_nobody") == answer


def test_yo_26_stats_count_what_is_active_with_an_offset_in_the_time(ann, tools):
    assert tools["memory_stats"]() == {
        "counts": {"episode": 0, "fact": 0, "reflection": 0},
        "latest_created_at": None,
    }
    talk(ann, "s1", "hello")
    remembered(tools, "Ann likes tea")
    ann.archive(remembered(tools, "Ann likes cake"))
    assert tools["memory_stats"]() == {
        "counts": {"episode": 1, "fact": 1, "reflection": 0},
        "latest_created_at": "2026-03-18T12:00:01+00:00",
    }


def test_yo_20_everything_about_somebody(ann, tools, clock):
    (first,) = talk(ann, "s1", "@bob shipped #apollo")
    clock.forward(days=1)
    fact = remembered(tools, "@bob likes tea")
    info = tools["get_entity_info"]("@bob")
    assert info["found"] is True
    assert {key: info["entity"][key] for key in ("name", "type", "aliases", "mention_count")} == {
        "name": "bob",
        "type": "person",
        "aliases": ["@bob"],
        "mention_count": 2,
    }
    assert (info["entity"]["first_mentioned"], info["entity"]["last_mentioned"]) == (
        "2026-03-18",
        "2026-03-19",
    )
    assert [one["id"] for one in info["memories"]] == [fact, first.id], "newest first"
    assert info["timeline"] == [
        {"day": "2026-03-18", "memories": [first.id]},
        {"day": "2026-03-19", "memories": [fact]},
    ]


def test_yo_20_the_memories_are_narrowed_and_who_is_not_known_is_not_found(ann, tools):
    talk(ann, "s1", "@joanna came", "@joanna left")
    assert tools["get_entity_info"]("joanna", kind="fact")["memories"] == []
    assert len(tools["get_entity_info"]("joanna", limit=1)["memories"]) == 1
    nobody = {"found": False, "entity": None, "memories": [], "timeline": []}
    assert tools["get_entity_info"]("@nobody") == nobody
    assert tools["get_entity_info"]("ann") == nobody, "Ann is not Joanna"


def test_yo_20_a_part_of_a_name_is_enough_where_nobody_is_called_just_that(ann, tools):
    remembered(tools, "Bob's sister Ines Ferreira lives in Lisbon")
    info = tools["get_entity_info"]
    assert info("ines")["entity"]["name"] == info("Ferreira")["entity"]["name"] == "Ines Ferreira"
    assert info("erre")["found"] is False, "whole words only"
    talk(ann, "s1", "@ines came by")
    assert info("Ines")["entity"]["name"] == "ines"
    assert info("  ")["found"] is False


# Who reads


def test_yo_05_a_conversation_is_read_in_pages_of_thirty(ann, tools):
    turns = talk(ann, "s1", *(f"turn {number}" for number in range(65)))
    offset, read, nexts = 0, [], []
    while offset is not None:
        page = tools["get_episodes_for_consolidation"]("s1", offset)
        read += page["episodes"]
        offset = page["next_offset"]
        nexts.append((len(page["episodes"]), offset))
        assert (page["session_id"], page["total"], page["has_more"]) == (
            "s1",
            65,
            offset is not None,
        )
    assert nexts == [(30, 30), (30, 60), (5, None)]
    assert read == [{"id": turn.id, "role": "user", "content": turn.content} for turn in turns]


def test_yo_06_equal_facts_of_a_batch_are_saved_once(tools):
    batch = [
        {"content": "Ann likes tea", "tags": ["drinks"]},
        {"content": "ann likes TEA "},
        {"x": 1},
    ]
    answer = tools["save_facts_batch"]("s1", batch)
    one = {"id": answer["saved"][0]["id"], "content_preview": "Ann likes tea", "confidence": 0.8}
    assert answer == {
        "session_id": "s1",
        "saved": [{**one, "duplicate": False}, {**one, "duplicate": True}],
        "saved_count": 1,
        "skipped_duplicates": 1,
        "errors": answer["errors"],
    }
    assert len(answer["errors"]) == 1
    assert answer["errors"][0].startswith("fact 2:")


def test_a_batch_is_compared_with_what_is_known_from_three_quarters_of_the_words_on(ann, tools):
    """Seed: Jaccard at least 0.75, inclusive; five words are needed, and a negation or a number
    makes another fact.
    """
    ann.remember("Ann drinks green tea every morning at home")
    save = tools["save_facts_batch"]
    assert (
        save("s1", [{"content": "Ann drinks green tea every morning at home really"}])[
            "skipped_duplicates"
        ]
        == 1
    )
    assert (
        save("s1", [{"content": "Ann drinks no green tea every morning at home"}])[
            "skipped_duplicates"
        ]
        == 0
    )
    assert (
        save("s1", [{"content": "Ann drinks 3 green teas every morning at home"}])[
            "skipped_duplicates"
        ]
        == 0
    )


def test_what_a_model_does_not_get_quite_right_is_not_stored_as_something_else(ann, tools):
    (turn,) = talk(ann, "s1", "I moved to Porto")
    answer = tools["save_facts_batch"](
        "s1", [{"content": None}, {"content": 7}, {"content": ["x"]}]
    )
    assert (answer["saved"], len(answer["errors"])) == ([], 3)
    fact = saved(
        tools, "s1", "Ann moved to Porto", tags="home", source_ids=turn.id, confidence="High"
    )
    assert (ann.get(fact).tags, ann.get(fact).confidence) == (("home",), 0.9)
    assert [edge.target for edge in ann.admin.links(fact)] == [turn.id]


def test_saved_facts_know_where_they_are_from(ann, tools):
    (turn,) = talk(ann, "s1", "I moved to Porto, says @bob")
    fact = saved(
        tools,
        "s1",
        "Ann moved to Porto",
        source_ids=[turn.id, "ep_nobody"],
        tags=["home"],
        confidence=0.6,
    )
    assert [(edge.relation, edge.target) for edge in ann.admin.links(fact)] == [
        ("derived_from", turn.id)
    ]
    assert (ann.get(fact).tags, ann.get(fact).confidence, ann.get(fact).decay_rate) == (
        ("home",),
        0.6,
        0.1,
    )


def test_yo_08_conflicts_leave_out_the_fact_and_its_own_session(ann, tools):
    old = saved(tools, "s1", "Ann lives in Porto near the river")
    twin = saved(tools, "s2", "Ann lives in a small flat")
    new = saved(tools, "s2", "Ann lives in Lisbon near the sea")
    answer = tools["detect_conflicts"](new)
    assert answer == {
        "candidates": [
            {"id": old, "content": "Ann lives in Porto near the river", "confidence": 0.8}
        ],
        "has_candidates": True,
    }
    assert (
        tools["detect_conflicts"](new, "Ann lives in Lisbon", session_id="s1")["candidates"][0][
            "id"
        ]
        == twin
    )
    assert tools["detect_conflicts"]("fact_nobody") == {"candidates": [], "has_candidates": False}


def test_yo_08_at_most_five_conflicts_however_many_facts_the_session_has(tools):
    for number in range(60):
        saved(tools, "s2", f"Ann lives in house {number}")
    for number in range(7):
        saved(tools, "s1", f"Ann lives on floor {number}")
    new = saved(tools, "s2", "Ann lives here and there")
    found = tools["detect_conflicts"](new)["candidates"]
    assert len(found) == 5
    assert all("floor" in one["content"] for one in found)


def test_yo_08_a_conflict_is_resolved_by_demotion(ann, tools):
    old, new = saved(tools, "s1", "Ann lives in Porto"), saved(tools, "s2", "Ann lives in Lisbon")
    assert tools["resolve_conflict"](new, old, "she moved") == {
        "success": True,
        "old_fact_id": old,
        "new_fact_id": new,
        "message": f"Resolved: {new} supersedes {old}.",
    }
    assert (ann.get(old).confidence, ann.get(old).decay_rate) == (0.3, 0.5)
    assert ann.get(new).metadata["supersedes"] == old
    assert ann.get(new).metadata["conflict_reason"] == "she moved"
    assert ("supersedes", old) in [(edge.relation, edge.target) for edge in ann.admin.links(new)]


def test_yo_08_what_is_not_there_or_was_confirmed_is_not_replaced(ann, tools):
    one, two = ann.remember("Ann lives in Porto"), ann.remember("Ann lives in Lisbon")
    tools["confirm_fact"](one.id)
    refused = tools["resolve_conflict"](two.id, one.id, "moved")
    assert (refused["success"], "only a person" in refused["message"]) == (False, True)
    assert ann.get(one.id).confidence == 1.0
    gone = tools["resolve_conflict"](two.id, "fact_nobody", "moved")
    assert gone["message"] == "Old fact fact_nobody not found or already superseded."
    assert tools["resolve_conflict"](two.id, two.id, "moved")["success"] is False


def test_yo_09_and_10_marking_twice_equals_once_and_a_session_without_facts_is_marked(ann, tools):
    talk(ann, "s1", "hello")
    mark, marked = tools["mark_session_consolidated"], tools["is_session_consolidated"]
    assert marked("unknown") == {"session_id": "unknown", "consolidated": False}
    assert mark("s1") == {"session_id": "s1", "success": False, "facts_saved": 0}, (
        "it is still going on"
    )
    ann.sessions.end("s1")
    assert mark("s1") == {"session_id": "s1", "success": True, "facts_saved": 0}
    assert marked("s1") == {"session_id": "s1", "consolidated": True}
    before = ann.sessions.list()
    assert mark("s1")["success"]
    assert ann.sessions.list() == before
    assert ann.admin.maintain("consolidate") == []


def test_marking_says_how_many_facts_the_session_gave(ann, tools):
    talk(ann, "s1", "hello")
    ann.sessions.end("s1")
    saved(tools, "s1", "Ann likes tea")
    assert tools["mark_session_consolidated"]("s1")["facts_saved"] == 1
