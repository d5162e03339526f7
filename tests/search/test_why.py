"""Why: each stage that can drop a memory is named, with what would keep it."""

from __future__ import annotations

import pytest

from holdfast import NotFound, Settings
from holdfast.retrieval.candidates import DEPTH


def test_a_recalled_memory_has_its_rank_and_reasons(hf):
    hf.remember("black tea")
    green = hf.remember("green tea")
    why = hf.explain(green.id, "green tea")
    assert (why.memory, why.recalled, why.rank, why.dropped_by) == (green.id, True, 1, None)
    assert "recalled at rank 1" in why.explanation
    assert [stage.name for stage in why.stages] == [
        "scope",
        "status",
        "validity",
        "question",
        "arms",
        "order",
        "budget",
    ]
    assert all(stage.passed for stage in why.stages)
    assert "words #1, meaning (static) #1" in why.stages[4].detail


def test_the_rank_is_the_one_recall_gives(words):
    words.remember_many(["tea", "tea and a much longer sentence about something else", "tea time"])
    hits = words.recall("tea time")
    assert [words.explain(hit.memory.seq, "tea time").rank for hit in hits] == [1, 2, 3]


def test_a_memory_of_another_scope_is_not_found(hf, open_memory):
    theirs = open_memory("user:bob").remember("green tea")
    with pytest.raises(NotFound, match="user:ann"):
        hf.explain(theirs.id, "green tea")


def dropped(hf, question, memory, **options):
    why = hf.explain(memory.id, question, **options)
    assert (why.recalled, why.rank) == (False, None)
    assert why.explanation.startswith(
        f"{memory.id} was not recalled. Stage {why.dropped_by!r} dropped it: "
    )
    assert memory.id not in {hit.memory.id for hit in hf.recall(question, **options)}
    assert why.stages[-1].detail in why.explanation
    return why.dropped_by, why.stages[-1].detail


def test_a_status_that_is_not_recalled_is_named_with_its_reason(hf):
    tea = hf.remember("green tea")
    hf.archive(tea.id, reason="old taste")
    stage, detail = dropped(hf, "tea", tea)
    assert stage == "status"
    assert "archived (old taste)" in detail
    assert "restore" in detail


def test_what_does_not_hold_now_is_named_with_the_date(hf, clock):
    over = hf.remember("green tea", valid_until=clock.now)
    to_come = hf.remember("black tea", valid_from=clock.now + 1)
    assert dropped(hf, "tea", over) == (
        "validity",
        "it does not hold now: its validity ended 2026-03-18T12:00:00+00:00.",
    )
    stage, detail = dropped(hf, "tea", to_come)
    assert stage == "validity"
    assert "begins 2026-03-18" in detail


def test_a_bounded_memory_that_is_not_yet_valid_names_its_beginning(hf, clock):
    later = hf.remember(
        "green tea", valid_from=clock.now + 86_400_000_000, valid_until=clock.now + 10**13
    )
    assert "begins 2026-03-19" in dropped(hf, "tea", later)[1]


@pytest.mark.parametrize("question", ["what is the?", "", "?!"])
def test_a_question_of_stop_words_is_named(hf, question):
    stage, detail = dropped(hf, question, hf.remember("what is the tea"))
    assert stage == "question"
    assert "Add a word that matters" in detail


def test_a_memory_that_no_arm_found_is_named_with_what_would_help(words):
    tea = words.remember("green tea")
    words.remember("a lamp")
    stage, detail = dropped(words, "lamp", tea)
    assert stage == "arms"
    assert "shares no word" in detail
    assert "reembed" in detail


def test_a_memory_that_shares_words_but_is_crowded_out_is_told_so(words):
    words.remember_many([f"tea tea tea {number}" for number in range(2 * DEPTH + 20)])
    last = words.remember("tea " + " ".join(f"word{number}" for number in range(80)))
    stage, detail = dropped(words, "tea", last)
    assert stage == "arms"
    assert f"{DEPTH} others match better" in detail


def test_a_memory_beyond_the_limit_is_told_which_limit_would_do(words):
    words.remember("tea")
    second = words.remember("tea and a much longer sentence about something else")
    stage, detail = dropped(words, "tea", second, limit=1)
    assert stage == "order"
    assert "A limit of 2 would include it" in detail


def test_a_near_copy_is_told_which_memory_stands_above_it(words):
    text = (
        "Since spring our weekly planning meeting takes place upstairs in that large corner "
        "room with two old windows"
    )
    first = words.remember(f"{text} now")
    copy = words.remember(f"{text} today")
    words.remember("A corner room")
    stage, detail = dropped(words, "planning meeting in the corner room upstairs", copy, limit=2)
    assert stage == "order"
    assert f"nearly the same as {first.id}" in detail


def test_the_neighbour_of_a_match_is_explained_whatever_the_fusion(open_memory):
    for fusion in ("learned", "rrf"):
        hf = open_memory("user:ann", embedders=(), settings=Settings(fusion=fusion))
        before = hf.capture(fusion, "user", "Where do we eat tonight?")
        hf.capture(fusion, "user", "The ramen place")
        why = hf.explain(before.id, "ramen")
        assert why.recalled == (before.id in {hit.memory.id for hit in hf.recall("ramen")})


def test_why_can_be_given_to_scripts(hf):
    why = hf.explain(hf.remember("green tea").id, "tea").as_dict()
    assert (why["recalled"], why["rank"], why["stages"][0]["name"]) == (True, 1, "scope")
