"""A fact whose place another has taken: out of every prompt at once, and still there for whoever
asks for the past.
"""

from __future__ import annotations

import asyncio

import pytest

from holdfast.async_client import AsyncHoldfast
from holdfast.client import Holdfast
from holdfast.models.embeddings.tiers import Tiers
from holdfast.server.mcp.dispatch import Methods
from holdfast.storage import open_store

ASKED = "Where do I live?"
OLD = "The user lives in Lisbon"


@pytest.fixture(params=["sqlite", "postgres"])
def ann(request, clock, tmp_path):
    """Ann's memory in a file, and the same on a server."""
    place = (
        tmp_path / "memory.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_store_url")
    )
    with Holdfast(
        open_store(place, clock=clock), "user:ann", tiers=Tiers([], environ={}), clock=clock
    ) as hf:
        yield hf


def said(hf, text):
    hf.capture("s1", "user", text)
    hf.capture("s1", "assistant", "Noted.")
    hf.sessions.extract("s1")


@pytest.fixture
def moved(ann, clock):
    """Somebody who said where they live, and then that they had moved."""
    for text in ("I live in Lisbon.", "I moved, I live in Porto now."):
        said(ann, text)
        clock.forward(minutes=5)
    return ann


def old_of(hf):
    return next(one for one in hf.list(statuses=["superseded"]) if one.content == OLD)


def test_the_place_that_was_left_is_not_recalled_as_a_fact(moved):
    facts = [hit.memory.content for hit in moved.recall(ASKED, kinds=["fact"])]
    assert facts == ["The user lives in Porto now"]


def test_what_holds_now_comes_before_what_was_said_once(moved):
    first, *others = [hit.memory.content for hit in moved.recall(ASKED)]
    assert "Porto" in first
    assert OLD not in others


def test_what_holds_now_comes_first_even_if_its_turn_says_much_else(ann, clock):
    said(ann, "I live in Lisbon.")
    clock.forward(minutes=5)
    said(ann, "I moved, I live in Porto now. " + "We talked about trains and boats. " * 20)
    told = [hit.memory.content for hit in ann.recall("Do I live in Lisbon?", min_score=0)]
    now = next(place for place, one in enumerate(told) if "Porto" in one)
    assert now < told.index("I live in Lisbon.")


def test_hits_stay_in_the_order_of_their_scores(moved):
    scores = [hit.score for hit in moved.recall(ASKED, kinds=["turn", "fact"])]
    assert scores == sorted(scores, reverse=True)


def test_a_summary_of_the_session_does_not_keep_the_old_words_up(ann, clock):
    for session, place in enumerate(("I live in Lisbon.", "I moved, I live in Porto now.")):
        for text in (place, "My sister Ines is a nurse.", "I am allergic to walnuts."):
            ann.capture(f"s{session}", "user", text)
            ann.capture(f"s{session}", "assistant", "Noted.")
        ann.sessions.end(f"s{session}")
        ann.sessions.learn(f"s{session}")
        clock.forward(days=2)
    assert any("Lisbon" in one.content for one in ann.list(kinds=["episode"]))
    turns = [hit.memory.content for hit in ann.recall(ASKED, kinds=["turn"])]
    assert turns.index("I moved, I live in Porto now.") < turns.index("I live in Lisbon.")


def test_a_context_tells_that_the_old_words_were_replaced(moved):
    block = moved.context(ASKED).turn
    assert OLD not in block
    assert block.index("Porto") < block.index("Lisbon")
    assert "replaced since) I live in Lisbon." in block


def test_no_tool_of_an_agent_tells_it_as_a_fact(moved):
    call = {"name": "memory_recall", "arguments": {"query": ASKED}}
    told = Methods(lambda: moved).answer("tools/call", call, client="test")
    assert OLD not in str(told)


def test_the_awaitable_verbs_leave_it_out_too(moved):
    found = asyncio.run(AsyncHoldfast(moved).recall(ASKED, kinds=["fact"]))
    assert [hit.memory.content for hit in found] == ["The user lives in Porto now"]


def test_the_list_of_superseded_facts_and_its_history_still_show_it(moved):
    old = old_of(moved)
    assert any((event.after or {}).get("status") == "superseded" for event in moved.history(old.id))
    assert old.status_reason.startswith("replaced by ")


def test_what_was_known_before_is_recalled_as_of_then(moved, clock):
    then = moved.recall(ASKED, as_of=clock() - 6 * 60_000_000, kinds=["fact"])
    assert [hit.memory.content for hit in then] == [OLD]


def test_being_recalled_as_of_a_day_does_not_refresh_it(moved, clock):
    before = old_of(moved)
    moved.recall(ASKED, as_of=clock() - 6 * 60_000_000, kinds=["fact"])
    moved.admin.maintain("decay")
    after = old_of(moved)
    assert (after.access_count, after.last_accessed) == (before.access_count, before.last_accessed)


def test_undoing_the_move_brings_back_the_order_of_before(moved):
    run = next(event.run for event in moved.admin.log() if event.target == old_of(moved).id)
    moved.undo(run)
    facts = [hit.memory.content for hit in moved.recall(ASKED, kinds=["fact"])]
    assert facts == [OLD]
    assert "replaced since" not in moved.context(ASKED).turn


def test_a_turn_that_taught_something_else_as_well_is_not_outdated(ann):
    for text in ("I live in Lisbon. My sister is called Ines.", "I live in Porto now."):
        said(ann, text)
    assert "replaced since" not in ann.context("Ines Lisbon").turn


def test_a_correction_comes_before_the_words_that_it_corrects(ann):
    said(ann, "I live in Lisbon.")
    ann.correct(ann.list(kinds=["fact"])[0].id, "The user lives in Porto")
    assert "Porto" in ann.recall(ASKED)[0].memory.content
