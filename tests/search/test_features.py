"""What speaks for a passage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from holdfast.retrieval.features import ENCODER, NAMES, STATIC, Passage, features, tiers
from holdfast.retrieval.fusion import linear, weights
from holdfast.retrieval.query import analyse
from holdfast.storage.store_types import Corpus
from holdfast.text.tokens import index_terms
from holdfast.types import Memory, Scope

DAY = 86_400_000_000
NOW = 19_557 * DAY  # 19 July 2023
CORPUS = Corpus(size=100, mean_length=8, frequency={})


def passage(content: str, similarity: Mapping[str, float] | None = None, **fields: Any) -> Passage:
    kind, at = fields.pop("kind", "turn"), fields.pop("event_time", NOW)
    memory = Memory("m", Scope("user", "alice"), kind, content, NOW, NOW, at, **fields)
    return Passage(memory, index_terms(content), similarity or {})


def column(
    name: str, question: str, *passages: Passage, authors: tuple[str, ...] = ()
) -> list[float]:
    matrix = features(analyse(question, NOW, authors=authors), CORPUS, passages)
    return [row[NAMES.index(name)] for row in matrix]


def test_no_passages_give_an_empty_matrix() -> None:
    assert features(analyse("tea?", NOW), CORPUS, []) == []


@given(
    st.text(max_size=40),
    st.lists(
        st.tuples(
            st.text(max_size=60), st.none() | st.integers(0, 5), st.none() | st.floats(-1, 1)
        ),
        min_size=1,
    ),
)
def test_every_feature_is_finite_for_any_passage(
    question: str, rows: list[tuple[str, int | None, float | None]]
) -> None:
    passages = [
        passage(
            text,
            {} if near is None else {STATIC: near},
            session=None if at is None else "s",
            position=at,
        )
        for text, at, near in rows
    ]
    matrix = features(analyse(question, NOW), CORPUS, passages)
    assert all(len(row) == len(NAMES) and all(map(math.isfinite, row)) for row in matrix)


def test_the_passage_with_the_rarer_words_of_the_question_has_the_best_words() -> None:
    both, one, none = column(
        "words", "green tea", passage("green tea"), passage("green car"), passage("a dog")
    )
    assert both == 1.0 > one > none == 0.0


def test_a_short_answer_is_helped_by_the_words_of_the_turn_before() -> None:
    asked = passage("Which tea do you drink?", session="s", position=1)
    answer = passage("Mostly sencha.", session="s", position=2)
    alone = passage("Mostly sencha.", session="t", position=2)
    _, helped, unhelped = column("words", "tea", asked, answer, alone)
    assert helped > unhelped == 0.0


def test_a_long_passage_needs_no_help() -> None:
    before = passage("green tea", session="s", position=1)
    long = passage("word " * 100, session="s", position=2)
    assert column("words", "tea", before, long)[1] == 0.0


def test_all_turns_of_a_session_share_what_the_session_covers() -> None:
    turns = [
        passage(text, session="s", position=at)
        for at, text in enumerate(["tea", "x", "y", "green", "z"])
    ]
    values = column("session words", "green tea", *turns, passage("tea", session="t", position=0))
    assert values[:5] == [1.0] * 5
    assert values[5] < 1.0


def test_meaning_is_one_for_the_nearest_and_zero_for_the_mean() -> None:
    near, middle, far = (passage("x", {STATIC: value}) for value in (0.9, 0.5, 0.1))
    assert column("meaning", "q", near, middle, far) == [1.0, 0.0, -1.0]


def test_two_that_are_equally_near_are_equally_meant() -> None:
    near, nearly = (passage("x", {ENCODER: value}) for value in (0.61, 0.6))
    first, second = column("meaning", "q", near, nearly)
    assert 0 < first - second < 0.1
    far = passage("x", {ENCODER: 0.1})
    assert column("meaning", "q", near, far) == [1.0, -1.0]


def test_among_many_the_nearest_is_one_however_close_they_are() -> None:
    rows = [passage("x", {ENCODER: 0.5 + 0.001 * at}) for at in range(12)]
    assert column("meaning", "q", *rows)[-1] == 1.0
    assert column("meaning", "q", *rows[1:])[-1] < 0.1


def test_a_memory_without_a_vector_is_neutral_in_meaning() -> None:
    rows = [passage("x", {ENCODER: 0.9}), passage("x", {ENCODER: 0.2}), passage("x")]
    assert column("meaning", "q", *rows)[2] == 0.0


def test_a_tier_counts_only_when_it_covers_most_passages() -> None:
    most = [passage("x", {STATIC: 0.1 * at}) for at in range(3)]
    assert list(tiers([*most, passage("x", {STATIC: 0.5, ENCODER: 0.99})])) == [STATIC]
    assert list(tiers([passage("x", {STATIC: 0.5, ENCODER: 0.99})])) == [ENCODER, STATIC]
    assert list(tiers([])) == []


def test_the_words_of_the_named_person_count_and_an_authorless_fact_about_them_too() -> None:
    hers, his = passage("I paint", author="Caroline"), passage("I paint", author="Bob")
    about, other = passage("Caroline paints"), passage("Somebody paints")
    found = column(
        "speaker", "What does Caroline paint?", hers, his, about, other, authors=("Caroline", "Bob")
    )
    assert found == [1.0, 0.0, 1.0, 0.5]


def test_the_role_counts_when_the_asker_speaks_of_themselves() -> None:
    rows = [passage("x", role="user"), passage("x", role="assistant"), passage("x")]
    assert column("speaker", "Where did I buy it?", *rows) == [1.0, 0.0, 0.5]
    assert column("speaker", "Where was it bought?", *rows) == [0.0, 0.0, 0.0]


def test_a_date_fades_more_slowly_after_than_before_what_it_names() -> None:
    days = (-1, 0, 2, -4)  # from 7 May 2023
    at = [passage("x", event_time=(19_484 + day) * DAY) for day in days]
    before, inside, after, long_before = column("date", "What happened on 7 May 2023?", *at)
    assert inside == 1.0 > after > before > long_before > 0.0


def test_time_plays_no_part_when_the_question_names_none() -> None:
    assert column(
        "date", "What happened?", passage("x", event_time=0), passage("x", event_time=NOW)
    ) == [0.0, 0.0]


def test_a_passage_that_tells_a_time_answers_when() -> None:
    rows = [passage("It was last week"), passage("It was nice")]
    assert column("answer type", "When was it?", *rows) == [1.0, 0.0]
    assert column("answer type", "Was it nice?", *rows) == [0.0, 0.0]


def test_a_short_turn_says_little_but_a_short_fact_is_whole() -> None:
    rows = passage("Thanks!"), passage("Tea is out", kind="fact"), passage("a " * 40)
    thanks, fact, long = column("length", "q", *rows)
    assert thanks < fact == long == 1.0


def test_a_fact_outranks_a_turn_that_says_the_same_to_somebody_else() -> None:
    fact = passage("Caroline drinks sencha", {STATIC: 0.6}, kind="fact")
    turn = passage(
        "Do you know who drinks sencha?", {STATIC: 0.6}, author="Bob", session="s", position=0
    )
    matrix = features(
        analyse("What does Caroline drink?", NOW, authors=("Caroline", "Bob")), CORPUS, [fact, turn]
    )
    first, second = linear(matrix, weights(STATIC))
    assert first > second


def test_how_good_the_best_passage_is_is_told_to_all() -> None:
    assert len(set(column("covered", "green tea", passage("green tea"), passage("dog")))) == 1
    assert column("covered", "green tea", passage("dog"))[0] == 0.0
    assert column("near", "q", passage("x", {STATIC: 0.4}), passage("x", {STATIC: 0.7})) == [
        0.7,
        0.7,
    ]
