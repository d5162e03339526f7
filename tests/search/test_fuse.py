"""How signals become one score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.retrieval.features import CONSTANT, ENCODER, NAMES, STATIC, Passage
from holdfast.retrieval.fusion import (
    LEXICAL,
    Weights,
    linear,
    reciprocal_rank,
    signals,
    situation,
    weights,
)
from holdfast.retrieval.query import analyse
from holdfast.types import Memory, Scope

BOTH = f"{ENCODER}+{STATIC}"
SITUATIONS = (LEXICAL, STATIC, ENCODER, BOTH)
ROW = st.lists(st.floats(-3, 3), min_size=len(NAMES), max_size=len(NAMES))
MEMORY = Memory("m", Scope("user", "alice"), "fact", "x", 0, 0, 0)


@pytest.mark.parametrize("name", SITUATIONS)
def test_shipped_weights_know_every_feature_and_have_the_signs_that_reason_demands(
    name: str,
) -> None:
    found = dict(zip(NAMES, weights(name).values, strict=True))
    assert found["words"] > 0
    assert found["speaker"] > 0
    assert found["date"] > 0
    ranking = [feature for feature in NAMES if feature not in ("question", *CONSTANT)]
    assert all(found[feature] >= 0 for feature in ranking)
    assert max(map(abs, found.values())) < 15
    assert weights(name).slope > 0


def test_vectors_carry_weight_only_where_there_are_vectors() -> None:
    found = {name: dict(zip(NAMES, weights(name).values, strict=True)) for name in SITUATIONS}
    assert found[LEXICAL]["meaning"] == 0.0
    assert found[STATIC]["meaning"] > 0
    assert found[ENCODER]["meaning"] > 0
    assert found[BOTH]["meaning"] > 0


@given(ROW, st.sampled_from(SITUATIONS))
def test_a_score_lies_between_zero_and_one(row: list[float], name: str) -> None:
    (score,) = linear([row], weights(name))
    assert 0.0 <= score <= 1.0


RANKING = len(NAMES) - len(CONSTANT)


@given(ROW, st.sampled_from(SITUATIONS), st.integers(0, RANKING - 1), st.floats(0.1, 2))
def test_more_of_a_good_thing_never_lowers_a_score(
    row: list[float], name: str, place: int, more: float
) -> None:
    better = list(row)
    better[place] += more if weights(name).values[place] >= 0 else -more
    low, high = linear([row, better], weights(name))
    assert high >= low


@given(ROW, st.sampled_from(SITUATIONS), st.integers(2, 5))
def test_a_passage_with_equal_rivals_scores_less_than_one_that_stands_alone(
    row: list[float], name: str, rivals: int
) -> None:
    (alone,) = linear([row], weights(name))
    assert max(linear([row] * rivals, weights(name))) <= alone


def test_sums_beyond_all_bounds_are_still_scores() -> None:
    heavy = Weights((1e300,) * len(NAMES), 0.0, 1.0)
    ones = [1.0] * len(NAMES)
    assert linear([ones, [-one for one in ones]], heavy) == [1.0, 0.0]


def test_signals_of_what_ranks_add_up_to_the_order() -> None:
    chosen = weights(STATIC)
    rows = [[0.5] * len(NAMES), [0.7, 0.1] + [0.5] * (len(NAMES) - 2)]
    sums = [sum(signal.share for signal in signals(row, chosen)) for row in rows]
    low, high = linear(rows, chosen)
    assert (sums[0] < sums[1]) == (low < high)


def test_signals_of_a_row_that_lacks_a_feature_are_an_error_and_not_a_guess() -> None:
    with pytest.raises(ValueError):
        signals([0.5] * (len(NAMES) - 1), weights(STATIC))


def test_the_tiers_that_cover_the_passages_choose_the_weights() -> None:
    asked = analyse("Where does she live now?", 0)
    for similarity, name in (
        ({}, LEXICAL),
        ({STATIC: 0.1}, STATIC),
        ({STATIC: 0.1, ENCODER: 0.3}, BOTH),
        ({ENCODER: 0.3}, ENCODER),
    ):
        assert situation(asked, [Passage(MEMORY, [], similarity)], bundled=True) == name


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Wo wohnt sie jetzt?", "encoder (other Latin)"),
        ("¿Dónde vive ahora?", "encoder (other Latin)"),
        ("Где она живёт?", "encoder (other script)"),
        ("彼女はどこに住んでいますか", "encoder (other script)"),
        ("penicillin", "encoder"),
        ("42", "encoder"),
    ],
)
def test_a_question_that_is_not_english_has_weights_of_its_own(question: str, name: str) -> None:
    asked, found = analyse(question, 0), [Passage(MEMORY, [], {ENCODER: 0.3})]
    assert situation(asked, found, bundled=True) == name
    assert situation(asked, found, bundled=False) == ENCODER
    assert weights(name).slope > 0


def test_reciprocal_rank_adds_one_over_sixty_plus_the_rank() -> None:
    fused = reciprocal_rank({"words": ["a", "b"], "meaning": ["b", "c"]})
    assert list(fused) == ["b", "a", "c"]
    assert fused["b"] == pytest.approx(1 / 62 + 1 / 61)


@given(st.lists(st.permutations(list("abcde")), min_size=1, max_size=4))
def test_what_leads_every_ranking_leads_the_fusion(rankings: list[list[str]]) -> None:
    led = {str(number): ["z", *ranking] for number, ranking in enumerate(rankings)}
    fused = reciprocal_rank(led)
    assert next(iter(fused)) == "z"
    assert set(fused) == set("abcdez")
