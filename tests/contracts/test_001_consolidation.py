"""Seed 001, consolidation: an ended session becomes facts with quotes and sources, once, by rules
or by a model.
"""

from __future__ import annotations

import itertools
import json
from threading import Thread
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from living import done, facts, talk

from holdfast import Holdfast, Settings
from holdfast.extraction.job_types import Task, Worker
from holdfast.extraction.session_extraction import LEARN
from holdfast.integrations.agent_tools import Keeper
from holdfast.maintenance.job_runner import once
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage.store_types import Author

OFFLINE = Settings(embedding_models="none")
SAID = (
    "I love green tea.",
    "I really love green tea!",
    "I hate green tea.",
    "I live in Porto.",
    "I live in Lisbon now.",
    "My sister Ines lives in Lisbon.",
    "Please always answer in German.",
    "We moved the shop to Porto last week.",
    "The meeting is on Monday.",
    "Actually it's Tuesday, not Monday.",
    "What time is it?",
    "Remember that I'm vegan.",
    "Ich wohne in Wien.",
    "Если что, я живу в Москве.",
    "I might move to Rome one day.",
    "@bob is my manager.",
)


def test_each_fact_has_the_words_it_rests_on_and_the_turn_they_are_from(ann):
    turn, _ = talk(ann, "s1", "By the way, I love green tea.", "What time is it?")
    ann.sessions.end("s1")
    assert done(ann, "consolidate") == [("learn", "s1")]
    (fact,) = ann.list(kinds=["fact"])
    assert (fact.quote, fact.source, fact.decay_rate) == ("I love green tea", "consolidation", 0.1)
    assert fact.quote in turn.content
    assert ("derived_from", turn.id) in [
        (edge.relation, edge.target) for edge in ann.admin.links(fact.id)
    ]


def test_yo_10_a_session_without_facts_is_marked_too(ann, keeper):
    talk(ann, "s1", "hello", "What time is it?")
    ann.sessions.end("s1")
    ann.admin.maintain("consolidate")
    assert (facts(ann), keeper.get_pending_consolidations()) == (set(), [])


def test_an_open_session_is_never_consolidated_not_even_at_night(ann, tools):
    """D9."""
    talk(ann, "s1", "I love green tea.")
    assert ann.admin.maintain("consolidate") == []
    assert tools["is_session_consolidated"]("s1")["consolidated"] is False


def test_what_is_said_after_a_session_was_read_is_read_the_next_time(ann):
    talk(ann, "s1", "I love green tea.")
    ann.sessions.end("s1")
    ann.admin.maintain("consolidate")
    talk(ann, "s1", "I live in Porto.")
    ann.sessions.end("s1")
    ann.admin.maintain("consolidate")
    assert any("tea" in fact for fact in facts(ann))
    assert any("Porto" in fact for fact in facts(ann))


def test_a_reader_whose_clock_is_ahead_loses_no_turn(ann, clock):
    talk(ann, "s1", "I love green tea.")
    ann.sessions.end("s1")
    ahead = Worker(ann.store, Tiers([], environ={}), lambda: clock.now + 5_000_000, ann.scopes)
    assert once(ahead, ["consolidate"]) == 1
    talk(ann, "s1", "I live in Porto.")
    ann.sessions.end("s1")
    ann.admin.maintain("consolidate")
    assert any("Porto" in fact for fact in facts(ann))


def test_yo_08_a_new_home_takes_the_place_of_the_old_one(ann, clock):
    for session, text in (("s1", "I live in Porto."), ("s2", "I live in Lisbon now.")):
        talk(ann, session, text)
        ann.sessions.end(session)
        ann.admin.maintain("consolidate")
    (old,) = ann.list(kinds=["fact"], statuses=["superseded"])
    (new,) = ann.list(kinds=["fact"])
    assert ("Porto" in old.content, "Lisbon" in new.content) == (True, True)
    assert (old.confidence, old.decay_rate) == (0.3, 0.5)
    assert ("supersedes", old.id) in [
        (edge.relation, edge.target) for edge in ann.admin.links(new.id)
    ]
    ann.restore(old.id)
    clock.forward(days=4)
    ann.admin.decay()
    assert ann.get(old.id).status == "faded", (
        "a loser of a conflict that comes back is gone within days"
    )


# Once and for all


def known(hf):
    """What is known, in every status, with what it rests on and how sure it is."""
    every = hf.list(
        kinds=["fact", "rule"],
        statuses=["active", "held", "proposed", "archived", "superseded", "faded"],
    )
    return sorted(
        (one.kind, one.content, one.quote, one.status, one.confidence, one.category)
        for one in every
    )


@pytest.fixture(scope="module")
def memory():
    """A memory in which every example has a scope of its own; its clock moves a second at each
    look.
    """
    ticks = itertools.count(1_773_835_200_000_000, 1_000_000)
    with Holdfast.open(
        ":memory:", scope="user:ann", settings=OFFLINE, clock=lambda: next(ticks), background=False
    ) as hf:
        yield hf


def worker(hf, name):
    return Worker(hf.store, Tiers([], environ={}), hf.clock, hf.scopes, name=name)


def by_two_workers_at_once(hf, session):
    """Both have read the session before either writes down what it found."""
    hf.store.jobs.enqueue(hf.scopes[0], "learn", session, watermark=hf.clock())
    job = hf.store.jobs.claim(
        ["learn"], keys=[session], scopes=hf.scopes, worker="one", now=hf.clock(), lease=10**12
    )
    outputs = [LEARN.run(Task(worker(hf, name), job)) for name in ("one", "two")]
    for number, output in enumerate(filter(None, outputs)):
        author = Author("test", f"run_{session}_{number}_{hf.clock()}", hf.clock(), "learn")
        hf.store.write(author, output)
    hf.store.jobs.release(job)


WAYS = {
    "a worker": lambda hf, session: once(worker(hf, "one"), ["consolidate"]),
    "another worker": lambda hf, session: once(worker(hf, "two"), ["consolidate"]),
    "two at once": by_two_workers_at_once,
    "by hand": lambda hf, session: hf.admin.maintain("consolidate"),
}
SESSION = st.lists(st.one_of(st.sampled_from(SAID), st.text(max_size=40)), min_size=1, max_size=6)


@given(
    parts=st.lists(SESSION, min_size=1, max_size=3),
    ways=st.lists(st.sampled_from(sorted(WAYS)), min_size=1, max_size=4),
)
def test_consolidating_any_session_any_number_of_times_gives_one_set_of_facts(memory, parts, ways):
    """Each part opens the session again."""
    often, just_once = (
        told_and_read(memory, parts, ways),
        told_and_read(memory, parts, ["a worker"]),
    )
    assert often == just_once
    assert len(often) == len(set(often))


def told_and_read(memory, parts, ways):
    hf = memory.scoped(f"user:{uuid4().hex}")
    for part in parts:
        for text in part:
            hf.capture("s1", "user", text)
        hf.sessions.end("s1")
        for way in ways:
            WAYS[way](hf, "s1")
        assert hf.store.sessions.unread(hf.scopes) == []
    return known(hf)


def test_yo_09_consolidating_again_changes_not_a_byte(ann):
    talk(ann, "s1", "I love green tea.", "My sister Ines lives in Lisbon.", "What time is it?")
    ann.sessions.end("s1")
    ann.admin.maintain("consolidate")
    before = list(ann.admin.export())
    for _ in range(3):
        assert ann.admin.maintain("consolidate") == []
    assert list(ann.admin.export()) == before


def test_two_processes_at_once_learn_each_session_once(ann, clock):
    for number in range(6):
        talk(
            ann,
            f"s{number}",
            f"My friend number {number} is called Ines{number}.",
            "I love green tea.",
        )
        ann.sessions.end(f"s{number}")
    jobs: list[str] = []

    def work():
        with Holdfast.open(
            ann.store.location, scope="user:ann", settings=OFFLINE, clock=clock
        ) as hf:
            jobs.extend(job.key for job in hf.admin.maintain("consolidate") if job.status == "done")

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(jobs) == [f"s{number}" for number in range(6)]
    assert len([fact for fact in facts(ann) if "tea" in fact]) == 1


@pytest.mark.parametrize(
    ("confidence", "left", "relation"), [(0.7, 0.9, "conflicts_with"), (0.8, 0.3, "supersedes")]
)
def test_what_was_only_hinted_at_takes_the_place_of_nothing(ann, confidence, left, relation):
    """Contract: conflicts are resolved from a confidence of 0.8 on; below, both stand and are
    marked.
    """

    def learn(place, confidence):
        quote = f"we live in {place} these days"
        found = {
            "turn": 1,
            "quote": quote,
            "content": f"Ann lives in {place}",
            "category": "home",
            "subject": "Ann",
            "predicate": "LIVES_IN",
            "object": place,
            "confidence": confidence,
            "action": "commit_now",
        }
        talk(ann, place, f"By the way, {quote}.")
        ann.sessions.end(place)
        ann.admin.maintain(
            "consolidate",
            complete=lambda prompt: json.dumps([found] if "copied exactly" in prompt else []),
        )
        return next(fact for fact in ann.list(kinds=["fact"]) if place in fact.content)

    old, new = learn("Porto", 0.9), learn("Lisbon", confidence)
    assert ann.get(old.id).confidence == left
    assert relation in {edge.relation for edge in ann.admin.links(new.id)}


# For a host


def test_yo_03_a_host_hears_of_each_session_that_was_completed(ann):
    heard = []
    keeper = Keeper(ann, session_completed=heard.append)
    keeper.user_message("I love green tea.", "s1")
    keeper.agent_response("So do I.")
    keeper.user_message("And white tea.", "s1")
    assert heard == []
    keeper.user_message("Good morning", "s2")
    assert heard == ["s1"], "and not the one that begins"
    keeper.consolidate("s1")
    keeper.user_message("Hello again", "s3")
    assert heard == ["s1", "s2"], "what was read is not announced again"


def test_yo_09_a_host_consolidates_a_session_and_the_second_time_it_is_skipped(ann, keeper):
    keeper.user_message("I live in Porto.", "s1")
    keeper.user_message("I live in Lisbon now.", "s2")
    assert keeper.consolidate("s2")["skipped"], "it still goes on"
    first = keeper.consolidate("s1")
    assert (
        first["session_id"],
        first["success"],
        first["skipped"],
        first["conflicts_resolved"],
    ) == (
        "s1",
        True,
        False,
        0,
    )
    ann.sessions.end("s2")
    ann.clock.forward(days=1)
    second = keeper.consolidate("s2")
    assert second == {
        "session_id": "s2",
        "success": True,
        "facts_extracted": 1,
        "conflicts_resolved": 1,
        "skipped": False,
        "summary": "Learned: 1. Took the place of what was known: 1.",
    }
    before = facts(ann)
    again = keeper.consolidate("s2")
    assert (again["skipped"], again["success"], again["facts_extracted"]) == (True, True, 0)
    assert keeper.consolidate("unknown")["skipped"]
    assert facts(ann) == before


def test_a_model_that_fails_a_host_s_consolidation_is_told_and_not_raised(ann):
    def fail(prompt):
        raise RuntimeError("out of order")

    keeper = Keeper(ann, complete=fail)
    keeper.user_message("I live in Porto.", "s1")
    ann.sessions.end("s1")
    done = keeper.consolidate("s1")
    assert (done["success"], done["skipped"]) == (False, False)
    assert "out of order" in done["summary"]
    assert keeper.get_pending_consolidations() == ["s1"]


# With a model


@pytest.fixture
def model(monkeypatch, provider):
    monkeypatch.setenv("HOLDFAST_MODEL", "openai:some-model")
    monkeypatch.setenv("HOLDFAST_MODEL_URL", provider.url)
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    return provider


def maintained(cli, hf):
    return cli("worker", "once", "consolidate", "--store", hf.store.location, "--scope", "user:ann")


def test_a_model_reads_conversations_over_http_and_is_believed_only_what_was_said(ann, cli, model):
    talk(ann, "s1", "By the way, we moved the shop to Porto.")
    ann.sessions.end("s1")
    found = {
        "turn": 1,
        "quote": "we moved the shop to Porto",
        "content": "The shop is in Porto",
        "category": "Project",
    }
    invented = {"turn": 1, "quote": "we sold the shop", "content": "The shop was sold"}
    model.script = [f"Here you are:\n{json.dumps([found, invented])}"]
    assert maintained(cli, ann).out.startswith("Done: learn s1")
    assert (
        "[1] user: By the way, we moved the shop to Porto."
        in model.chats[0]["messages"][-1]["content"]
    )
    (fact,) = ann.list(kinds=["fact"])
    assert (fact.content, fact.quote) == ("The shop is in Porto", found["quote"])


def test_a_model_is_asked_once_for_thirty_turns(ann):
    prompts = []
    talk(ann, "s1", *(f"turn number {number}" for number in range(65)))
    ann.sessions.end("s1")
    ann.admin.maintain("consolidate", complete=lambda prompt: prompts.append(prompt) or "[]")
    pages = [prompt for prompt in prompts if "[1] user: turn number" in prompt]
    assert [prompt.count(" user: turn number") for prompt in pages] == [30, 30, 5]


def test_a_model_that_is_down_leaves_the_session_for_later_and_says_why(ann, cli, model, keeper):
    talk(ann, "s1", "We moved the shop to Porto.")
    ann.sessions.end("s1")
    model.status = 400
    done = maintained(cli, ann)
    assert "out of order" in done.out + done.err
    assert keeper.get_pending_consolidations() == ["s1"]


def test_an_agent_with_the_six_tools_reads_a_session_step_by_step(ann, tools):
    """The loop of the seed: look whether it was read, read it, save, compare, resolve, mark."""
    home = tools["save_facts_batch"]("s0", [{"content": "Ann lives in Porto"}])["saved"][0]["id"]
    talk(ann, "s1", "I live in Lisbon now.")
    ann.sessions.end("s1")
    assert not tools["is_session_consolidated"]("s1")["consolidated"]
    (episode,) = tools["get_episodes_for_consolidation"]("s1")["episodes"]
    batch = [{"content": "Ann lives in Lisbon", "source_ids": [episode["id"]]}]
    (saved,) = tools["save_facts_batch"]("s1", batch)["saved"]
    (conflict,) = tools["detect_conflicts"](saved["id"], "Ann lives in Lisbon")["candidates"]
    assert conflict["id"] == home
    assert tools["resolve_conflict"](saved["id"], home, "she moved")["success"]
    assert tools["mark_session_consolidated"]("s1")["facts_saved"] == 1
    assert ann.admin.maintain("consolidate") == [], "nothing is left for a worker"


def test_a_rule_that_is_said_again_is_proposed_once_and_never_after_it_was_approved(ann):
    said = "Please always answer in German."
    for session in ("s1", "s2", "s3"):
        talk(ann, session, said, "My sister Ines lives in Lisbon.")
        ann.sessions.end(session)
        ann.admin.maintain("consolidate")
        if session == "s2":
            (proposed,) = ann.list(kinds=["rule"], statuses=["proposed"])
            ann.reviews.approve(proposed.id)
    assert ann.list(kinds=["rule"], statuses=["proposed"]) == []
    (rule,) = ann.list(kinds=["rule"])
    assert rule.content == "Please always answer in German"
