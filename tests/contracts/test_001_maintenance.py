"""Seed 001, upkeep: decay by the formula, a reflection a week, four schedules that several workers
share.
"""

from __future__ import annotations

import json
import math

import pytest
from living import done, facts, talk

from holdfast import Holdfast, InvalidInput, Settings
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.job_runner import plan, work_once
from holdfast.maintenance.schedule import Entry, schedule
from holdfast.models.embeddings.tiers import Tiers

OFFLINE = Settings(embedding_models="none")


# Decay


def test_yo_11_decay_by_the_formula_and_the_row_stays(ann, tools, clock):
    fact = tools["remember_fact"]("Ann likes tea", confidence=0.8)["memory_id"]
    clock.forward(days=10)
    assert (ann.admin.decay().decayed, ann.admin.decay().decayed) == (1, 0), (
        "again on the same day it changes nothing"
    )
    assert ann.get(fact).confidence == pytest.approx(0.8 * math.exp(-1), abs=1e-6)
    clock.forward(days=30)
    assert ann.admin.decay().faded == 1
    assert ann.recall("tea") == []
    assert ann.get(fact).status == "faded"


def test_yo_11_a_host_hears_what_decayed_and_what_was_pruned(ann, keeper, tools, clock):
    tools["remember_fact"]("Ann likes tea", confidence=0.8)
    tools["remember_fact"]("Ann likes cake", confidence=0.1)
    clock.forward(days=10)
    assert keeper.run_decay_and_prune(0.05) == {"decayed": 2, "pruned": 1, "errors": 0}
    assert keeper.run_decay_and_prune() == {"decayed": 0, "pruned": 0, "errors": 0}
    assert keeper.run_decay_and_prune(threshold=0.5)["pruned"] == 1


def test_yo_11_the_threshold_of_the_nightly_task_can_be_set(tmp_path, clock, cli, monkeypatch):
    with Holdfast.open(tmp_path / "m.db", scope="user:ann", settings=OFFLINE, clock=clock) as hf:
        hf.remember("Ann likes tea", decay_rate=0.1, confidence=0.9)
        clock.forward(days=1)
        assert done(hf, "decay") == [("decay", "daily")]
        assert facts(hf) == {"Ann likes tea"}
    settings = Settings(embedding_models="none", decay_threshold=0.85)
    with Holdfast.open(tmp_path / "m.db", scope="user:ann", settings=settings, clock=clock) as hf:
        clock.forward(days=1)
        assert done(hf, "decay") == [("decay", "daily")]
        assert facts(hf) == set()
    monkeypatch.setenv("HOLDFAST_DECAY_THRESHOLD", "2")
    assert "from 0 to 1" in cli("settings").err


def test_use_keeps_a_fact_alive_however_little_it_is_used(ann, tools, clock):
    """D8. At the seed, every fact died at day 30."""
    fact = tools["remember_fact"]("Ann likes tea")["memory_id"]
    for _ in range(6):
        clock.forward(days=25)
        assert ann.context("tea").ids == (fact,)
        ann.admin.maintain("decay")
    assert ann.get(fact).status == "active"


def test_yo_12_a_confirmed_fact_reflections_and_episodes_never_decay(ann, tools, keeper, clock):
    fact = tools["remember_fact"]("Ann likes tea", confidence=0.5)["memory_id"]
    tools["confirm_fact"](fact)
    (turn,) = talk(ann, "s1", "I had tea")
    reflection = keeper.save_reflection("A week of tea.")
    clock.forward(days=365)
    ann.admin.decay()
    assert [ann.get(one).confidence for one in (fact, turn.id, reflection.id)] == [1.0, 1.0, 1.0]
    assert (reflection.id[:4], reflection.decay_rate) == ("ref_", 0.0)


def test_what_would_fade_is_shown_before_and_a_curve_drawn(ann, tools, clock, cli):
    fact = tools["remember_fact"]("Ann likes tea")["memory_id"]
    where = ("--store", ann.store.location, "--scope", "user:ann")
    (planned,) = json.loads(cli("worker", "decay", "--plan", "--json", *where).out)
    assert (planned["id"], planned["content"]) == (fact, "Ann likes tea")
    assert ann.get(fact).confidence == 1.0, "a plan changes nothing"
    drawn = json.loads(cli("show", fact, "--forecast", "--days", "30", "--json", *where).out)
    assert drawn["curve"][0][0] == 0 and drawn["curve"][-1][0] == 30
    assert "fades on" in cli("show", fact, "--forecast", *where).out


# Reflection


def test_yo_23_two_facts_are_too_few_three_are_enough_and_six_days_must_pass(ann, clock):
    ann.remember_many(["Ann read a book", "Ann read another"])
    assert done(ann, "reflect") == []
    ann.remember("Ann read a third one")
    assert done(ann, "reflect") == [("reflect", "weekly")]
    (reflection,) = ann.list(kinds=["reflection"])
    assert (reflection.tags, reflection.decay_rate) == (("weekly",), 0.0)
    assert {edge.relation for edge in ann.admin.links(reflection.id)} == {"derived_from"}
    clock.forward(days=5, hours=23)
    ann.remember_many([f"Ann wrote page {number}" for number in range(3)])
    assert done(ann, "reflect") == []
    clock.forward(days=1, hours=1)
    assert done(ann, "reflect") == [("reflect", "weekly")]


def test_a_model_is_told_facts_and_episodes_and_one_that_fails_leaves_nothing(ann):
    talk(ann, "s1", "I was in the library")
    ann.remember_many([f"Ann read book {number}" for number in range(3)])
    (failed,) = ann.admin.maintain("reflect", complete=lambda prompt: " ")
    assert (failed.status, ann.list(kinds=["reflection"])) == ("error", [])
    prompts = []
    ann.clock.forward(days=1)
    ann.admin.maintain(
        "reflect", complete=lambda prompt: prompts.append(prompt) or "A week of reading."
    )
    assert [memory.content for memory in ann.list(kinds=["reflection"])] == ["A week of reading."]
    assert "1. [fact] Ann read book 2" in prompts[0]
    assert "[turn] I was in the library" in prompts[0]


def test_a_host_saves_a_reflection_with_what_it_was_made_of(ann, keeper):
    fact = ann.remember("Ann reads")
    reflection = keeper.save_reflection("She reads a lot.", [fact.id], tags=["weekly", "books"])
    assert reflection.tags == ("weekly", "books")
    assert [edge.target for edge in ann.admin.links(reflection.id)] == [fact.id]


# Schedules


def test_the_four_schedules_are_those_of_the_document_and_can_be_set(monkeypatch):
    assert schedule(Settings().maintenance) == [
        Entry("enrich", "0 2 * * *"),
        Entry("consolidate", "0 3 * * *"),
        Entry("decay", "0 4 * * *"),
        Entry("reflect", "0 3 * * 0"),
    ]
    assert schedule("decay */5 * * * *") == [Entry("decay", "*/5 * * * *")]
    with pytest.raises(InvalidInput, match="five cron fields"):
        schedule("decay every day")


def test_the_second_look_comes_first_so_that_learning_sees_what_it_found(ann):
    talk(ann, "s1", "I love green tea, says Ines.")
    ann.sessions.end("s1")
    assert [job.kind for job in ann.admin.maintain()][:2] == ["enrich", "learn"]


def test_several_workers_share_the_jobs_and_each_is_done_once(ann, clock):
    for number in range(4):
        talk(ann, f"s{number}", "I love green tea.")
        ann.sessions.end(f"s{number}")
    workers = [
        Worker(ann.store, Tiers([], environ={}), clock, ann.scopes, name=name)
        for name in ("one", "two")
    ]
    for one in workers:
        plan(one, ["learn"])
    jobs = [work_once(workers[turn % 2], ["learn"]) for turn in range(5)]
    assert [job.key for job in jobs[:4]] == ["s0", "s1", "s2", "s3"]
    assert [job.worker for job in jobs[:4]] == ["one", "two", "one", "two"]
    assert jobs[4] is None


@pytest.mark.parametrize("task", ["enrich", "consolidate", "decay", "reflect"])
def test_each_task_can_be_done_at_once_by_hand(cli, tmp_path, task):
    where = ("--store", tmp_path / "m.db", "--scope", "user:ann")
    for number in range(3):
        cli("remember", f"Ann's friend Ines read book {number} in Lisbon", *where)
    cli("capture", "--session", "s1", "I love green tea.", *where)
    cli("capture", "--session", "s2", "Hello.", *where)
    kinds = {"enrich": "enrich", "consolidate": "learn", "decay": None, "reflect": "reflect"}
    printed = cli("worker", "once", task, "--json", *where)
    assert printed.code == 0
    assert [json.loads(line)["kind"] for line in printed.out.splitlines()] == (
        [kinds[task]] if kinds[task] else []
    )
    assert cli("worker", "once", task, *where).out == "Nothing is due.\n"
