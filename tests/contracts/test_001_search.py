"""Seed 001, search: words, meaning and entities, fused; nothing is hidden by a limit or by a model
that is down.
"""

from __future__ import annotations

import pytest
from living import talk

from holdfast import Settings
from holdfast.models.fake import FakeEmbedder

RRF = Settings(fusion="rrf")


@pytest.fixture
def by_rank(open_memory):
    return open_memory("user:ann", settings=RRF)


def expected(hit, arms):
    """The seed's sum over the lists in which a memory is, as a share of the best that so many lists
    can give.
    """
    return sum(1 / (60 + rank) for rank in hit.why.arms.values()) / (arms / 61)


def test_yo_15_the_score_is_the_sum_of_one_over_sixty_plus_the_rank(by_rank):
    by_rank.remember("@bob shipped the green rocket")
    by_rank.remember("The rocket is green")
    by_rank.remember("A boat, blue")
    hits = by_rank.recall("what did @bob do with the green rocket?")
    arms = {name for hit in hits for name in hit.why.arms}
    assert {name.split()[0] for name in arms} == {"words", "meaning", "entities"}
    for hit in hits:
        assert hit.score == pytest.approx(expected(hit, len(arms)))


def test_yo_15_what_all_three_lists_have_beats_what_one_has(by_rank):
    everywhere = by_rank.remember("@rob shipped the green rocket")
    by_entity = by_rank.remember("@bob likes tea")
    by_words = by_rank.remember("The rocket is green")
    by_rank.entities.merge("bob", "rob")
    best, *others = by_rank.recall("@rob green rocket")
    assert (best.memory.id, len(best.why.arms)) == (everywhere.id, 3)
    assert {hit.memory.id for hit in others} == {by_entity.id, by_words.id}
    assert all(len(hit.why.arms) < 3 and hit.score < best.score for hit in others)


@pytest.mark.parametrize("settings", [RRF, Settings()], ids=["by rank", "learned"])
def test_yo_15_with_the_embedder_down_the_same_call_finds_by_words_and_entities(
    open_memory, fake, settings
):
    hf = open_memory("user:ann", settings=settings)
    fact = hf.remember("@bob shipped the green rocket")
    fake.fault = "down"
    (hit,) = hf.recall("@bob green rocket")
    assert hit.memory.id == fact.id
    assert set(hit.why.arms) == {"words", "entities"}
    assert "cannot be reached" in hf.stats()["problems"][fake.identity]


def test_yo_15_a_model_of_other_dimensions_turns_vectors_off_and_nothing_else(open_memory):
    """Seed: on a dimension mismatch vector search is disabled; ours only waits to be embedded
    anew.
    """
    hf = open_memory("user:ann", embedders=(FakeEmbedder(identity="fake:small", dimensions=8),))
    fact = hf.remember("Ann likes green tea")
    hf.recall("tea")
    other = open_memory("user:ann", embedders=(FakeEmbedder(identity="fake:large", dimensions=16),))
    assert [hit.memory.id for hit in other.recall("green tea")] == [fact.id]


def test_yo_16_a_question_in_plain_words_finds_a_fact_without_vectors(tools):
    tools["remember_fact"]("User prefers dark mode in the editor")
    for number in range(40):
        tools["remember_fact"](f"Note {number} about what to prefer")
    found = tools["search_memory"]("what theme do I prefer, dark mode?", kind="fact", limit=1)
    assert found["memories"][0]["content"] == "User prefers dark mode in the editor"


def test_yo_16_turns_with_the_same_words_do_not_hide_the_one_fact(ann, tools):
    talk(ann, "s1", *(f"tea tea tea {number}" for number in range(40)))
    tools["remember_fact"]("Ann likes tea, among much else")
    found = tools["search_memory"]("tea", kind="fact", limit=1)
    assert [one["kind"] for one in found["memories"]] == ["fact"]


def test_entities_find_what_the_words_do_not(ann):
    ann.remember_many(["@bob came by", "It rained"])
    ann.entities.rename("bob", "Robert Smith")
    (hit,) = ann.recall("what about Robert Smith?")
    assert (hit.memory.content, set(hit.why.arms)) == ("@bob came by", {"entities"})


def test_yo_25_what_is_put_away_is_gone_from_every_way_of_looking(open_memory):
    from holdfast.integrations.agent_tools import Keeper

    hf = open_memory("user:ann")
    tools = {function.__name__: function for function in Keeper(hf).get_tools()}
    fact = tools["remember_fact"]("@bob has a boat")["memory_id"]
    assert hf.recall("boat")
    hf.archive(fact)
    assert tools["search_memory"]("boat") == {"memories": [], "found": False}
    assert hf.recall("@bob") == []
    assert tools["get_entity_info"]("bob")["memories"] == []
    assert Keeper(hf).get_context("boat") is None
    assert tools["memory_stats"]()["counts"]["fact"] == 0
    assert hf.get(fact).content == "@bob has a boat", "the row is still there"
