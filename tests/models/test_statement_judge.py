"""What the model that reads statements says of them."""

from __future__ import annotations

import pytest

from holdfast.models.statement_judge import STATEMENT_TOKENS, StatementJudge


@pytest.mark.parametrize(
    ("place", "clear", "unclear"),
    [
        ("assistant", "My sister Ines moved to Porto in May", "She gave it to him there"),
        ("assistant", "I am allergic to walnuts", "I think I'll go with the second one"),
        ("people", "I adopted a beagle named Pepper last week", "That one was even bigger"),
        ("people", "My husband teaches chemistry in Leeds", "Two of them, or three"),
    ],
)
def test_a_clear_statement_is_judged_better_than_one_that_points_elsewhere(place, clear, unclear):
    good, bad = StatementJudge().judge([clear, unclear], place)
    assert good.correct > 0 > bad.correct
    assert good.keep > bad.keep


def test_what_somebody_tells_of_themselves_is_worth_keeping_and_thanks_are_not():
    told, thanks = StatementJudge().judge(
        ["I started a new job as a nurse in Utrecht", "Thanks, that was really helpful"],
        "assistant",
    )
    assert told.keep > 0 > thanks.keep


def test_a_statement_is_judged_alone_whatever_is_judged_beside_it():
    judge = StatementJudge()
    statements = ["I play the cello", "We have two cats", "It was fine"]
    assert judge.judge(statements, "people") == [
        judge.judge([one], "people")[0] for one in statements
    ]


def test_a_long_statement_is_read_as_far_as_the_model_can():
    words = "I bought a boat and sailed it to Norway with my brother Piet " * 3
    start, longer = StatementJudge().judge([words, words + words * 50], "people")
    assert len(words.split()) < STATEMENT_TOKENS
    assert longer.keep > 0 < start.keep
