"""Seed 001, context: facts of other sessions and the latest reflection, in the documented form."""

from __future__ import annotations

import pytest
from living import talk

from holdfast.text.fences import TAG
from holdfast.text.token_count import count_tokens


def inside(block):
    """What a fenced block says."""
    lines = block.split("\n")
    assert lines[0].startswith(f"<{TAG} ") and lines[-1] == f"</{TAG}>", block
    return "\n".join(line for line in lines if TAG not in line)


def test_relevant_memory_then_the_weekly_insight(ann, keeper):
    ann.remember("Ann rides a red bicycle")
    ann.remember("Her bicycle is from Porto")
    keeper.save_reflection("A week of cycling.")
    first, second = keeper.get_context("bicycle").split("\n\n")
    relevant, insight = inside(first), inside(second)
    assert relevant.split("\n")[0] == "## Relevant memory"
    assert set(relevant.split("\n")[1:]) == {
        "- Ann rides a red bicycle",
        "- Her bicycle is from Porto",
    }
    assert insight == "## Weekly insight\nA week of cycling."


def test_yo_18_nothing_at_all_is_none(keeper, ann):
    assert keeper.get_context("bicycle") is None
    assert (ann.context("bicycle").stable, ann.context("bicycle").turn) == ("", "")


def test_only_facts_and_at_most_five_of_them(ann, keeper):
    talk(ann, "s1", "My bicycle is red", "Your bicycle is blue")
    for number in range(9):
        ann.remember(f"Bicycle number {number} of the collection")
    assert inside(keeper.get_context("bicycle")).count("\n- ") == 5
    assert "My bicycle" not in keeper.get_context("bicycle")
    assert "My bicycle" in ann.context("bicycle").turn, "which has what was said too"


def test_yo_18_what_was_learned_from_a_session_is_not_told_to_it_again(ann, keeper):
    keeper.user_message("I love green tea.", "s1")
    ann.sessions.end("s1")
    ann.admin.maintain("consolidate")
    assert keeper.get_context("which tea?") is None
    assert "tea" not in ann.context("which tea?", session="s1").turn
    keeper.user_message("Good morning", "s2")
    assert "green tea" in keeper.get_context("which tea?")


def test_yo_18_however_much_was_learned_from_the_session_the_rest_is_found(ann, tools):
    for number in range(130):
        tools["save_facts_batch"]("s1", [{"content": f"Tea number {number} is on shelf {number}"}])
    ann.remember("Tea from last year, and much else that has nothing to do with it")
    assert "from last year" in ann.context("tea", session="s1", kinds=["fact"], limit=5).turn


def test_a_fact_that_was_told_to_the_tool_is_not_of_the_session(keeper, tools):
    keeper.user_message("Remember that I love tea", "s1")
    tools["remember_fact"]("Ann loves tea")
    assert "Ann loves tea" in keeper.get_context("which tea?")


def test_yo_18_a_reflection_is_in_the_very_next_context_of_any_session(ann, keeper, clock):
    keeper.user_message("Hello", "s1")
    before = ann.context("anything", session="s1")
    clock.forward(minutes=1)
    keeper.save_reflection("A week of cycling.")
    after = ann.context("anything", session="s1")
    assert after.stable == before.stable == "", "a provider's cache of the stable block still holds"
    assert inside(after.turn) == "## Weekly insight\nA week of cycling."
    assert "A week of cycling." in keeper.get_context("anything")
    clock.forward(minutes=1)
    keeper.user_message("Good morning", "s2")
    assert (
        inside(ann.context("anything", session="s2").stable)
        == "## Weekly insight\nA week of cycling."
    )
    assert ann.context("anything", session="s2").turn == ""


def test_yo_18_only_the_latest_reflection_counts_whoever_saved_it(keeper, open_memory, clock):
    keeper.save_reflection("A week of cycling.")
    assert keeper.get_latest_reflection() == "A week of cycling."
    assert "cycling" in keeper.get_context("anything")
    clock.forward(days=7)
    open_memory("user:ann").remember("A week of rain.", kind="reflection")  # another process
    assert keeper.get_latest_reflection() == "A week of rain."
    assert "cycling" not in keeper.get_context("anything")


def test_without_a_reflection_there_is_none(keeper):
    assert keeper.get_latest_reflection() is None


@pytest.mark.parametrize("tokens", [60, 200, 1000])
def test_both_blocks_keep_within_the_budget_and_a_new_reflection_comes_first(
    ann, keeper, clock, tokens
):
    keeper.user_message("Hello", "s1")
    clock.forward(minutes=1)
    for number in range(40):
        ann.remember(f"Bicycle number {number} of the collection stands in the cellar")
    keeper.save_reflection("A week of cycling.")
    found = ann.context("bicycle", session="s1", tokens=tokens)
    assert count_tokens(found.stable) + count_tokens(found.turn) <= tokens
    assert "A week of cycling." in found.turn


def test_the_command_narrows_it_too(cli, ann):
    ann.remember("Ann rides a red bicycle")
    talk(ann, "s1", "My bicycle is red")
    printed = cli(
        "context",
        "bicycle",
        "--kind",
        "fact",
        "-n",
        "1",
        "--store",
        ann.store.location,
        "--scope",
        "user:ann",
    ).out
    assert inside(printed.strip()) == "## Relevant memory\n- Ann rides a red bicycle"
