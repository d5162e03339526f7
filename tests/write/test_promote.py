"""Promotion: what a session bears out of what was held, and what it does not."""

from __future__ import annotations

import pytest

from holdfast.extraction.promotion import Held, arc_score, clusters, promote
from holdfast.types import Triple

BELIEF = "one mistake means I'm incompetent"


def held(quote, *turns, key="a", kind="fact", object_=None, **fields):
    triple = Triple("user", "WORRIES_ABOUT", object_) if object_ else None
    return Held(key, quote, quote, kind, triple, frozenset(turns or ("t1",)), **fields)


def kept(*candidates, said=None, arc="", **options):
    """The keys and reasons of what is kept of candidates, of which each was said in its turns and
    nothing else was.
    """
    transcript = said or {turn: one.quote for one in candidates for turn in one.turns}
    promotions, _ = promote(candidates, transcript, arc, **options)
    return {one.kept.key: one.reason for one in promotions}


def test_what_two_turns_say_is_kept():
    assert kept(held("I fear Mondays", "t1", "t2")) == {"a": "said in 2 turns"}
    again = {"t1": "I fear Mondays", "t2": "these Mondays that I fear so much"}
    assert kept(held("I fear Mondays"), said=again) == {"a": "said in 2 turns"}


def test_a_turn_with_the_object_alone_speaks_for_it():
    said = {"t1": "My boss worries me", "t2": "And then the boss came in"}
    assert kept(held("My boss worries me", object_="boss"), said=said) == {"a": "said in 2 turns"}
    assert kept(held("My boss worries me"), said=said) == {}


def test_a_turn_that_denies_it_does_not_speak_for_it():
    said = {"t1": BELIEF, "t2": "one mistake does not mean that I'm incompetent"}
    assert kept(held(BELIEF, repetition=True), said=said) == {}


@pytest.mark.parametrize(
    ("arc", "prior", "reason"),
    [
        ("", (), None),
        ("Talked about fireworks.", (), None),
        ("Fireworks upset them.", (), "said once, and central to the session"),
        ("", ("Fireworks upset them last year too.",), "said once, and in an earlier session"),
        ("", ("Talked about the weather.",), None),
    ],
)
def test_what_is_said_once_needs_the_arc_or_an_earlier_session(arc, prior, reason):
    assert kept(held("Fireworks upset me", prior=prior), arc=arc).get("a") == reason


def test_no_summary_repeats_a_belief_for_somebody():
    assert kept(held(BELIEF, repetition=True), arc=f"They said that {BELIEF}.") == {}
    assert kept(held(BELIEF, repetition=True, prior=(f"They said {BELIEF}.",)))
    assert kept(held(BELIEF, "t1", "t2", repetition=True))


def test_what_rests_on_nothing_that_is_left_is_not_kept():
    _, refusals = promote([held("I fear Mondays")], {"t9": "I like tea"}, "I fear Mondays")
    assert [one.reason for one in refusals] == ["not kept: nothing that it rests on is left"]


def test_candidates_that_mean_the_same_are_kept_once_with_all_their_quotes():
    one, two = (
        held("I fear Mondays at work", "t1"),
        held("at work it's Mondays that I fear", "t2", key="b"),
    )
    ((promotion,), _) = promote([one, two], {"t1": one.quote, "t2": two.quote}, "")
    assert (promotion.kept.key, [other.key for other in promotion.others]) == ("a", ["b"])
    assert promotion.quotes == (one.quote, two.quote)
    assert promotion.support == {"t1", "t2"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (held("I like tea with milk"), held("I don't like tea with milk", key="b")),
        (held("call me Ann please", kind="rule"), held("call me Ann please", key="b")),
        (held("I fear Mondays"), held("I love my garden", key="b")),
    ],
)
def test_what_differs_stays_apart(one, other):
    assert len(clusters([one, other])) == 2


def test_a_rule_needs_two_turns_and_is_sure_with_three():
    assert kept(held("be gentle with me", kind="rule"), arc="be gentle with them") == {}
    ((twice,), _) = promote([held("be gentle", "t1", "t2", kind="rule")], {"t1": "", "t2": ""}, "")
    ((thrice,), _) = promote(
        [held("be gentle", "t1", "t2", "t3", kind="rule")], {"t1": "", "t2": "", "t3": ""}, ""
    )
    assert (twice.sure, thrice.sure) == (False, True)


def test_a_fact_that_only_says_how_to_answer_yields_to_the_rule():
    rule = held("keep your answers short and gentle", "t1", "t2", kind="rule")
    fact = held("I like short gentle answers", "t1", "t3", key="b")
    said = {"t1": "x", "t2": "y", "t3": "z"}
    assert set(kept(rule, fact, said=said, guides=lambda text: "answers" in text)) == {"a"}
    assert set(kept(rule, fact, said=said)) == {"a", "b"}


def test_an_arc_s_score_counts_the_object_twice_and_ends_at_four():
    one = held("my terrible boss shouts every single morning", object_="boss")
    assert arc_score(one, "The boss.") == 2
    assert arc_score(one, "The terrible boss.") == 3
    assert arc_score(one, one.quote) == 4
    assert arc_score(one, "") == 0
