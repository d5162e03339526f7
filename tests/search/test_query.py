"""How a question is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search.query import analyse

NOW = 1_689_768_000_000_000  # 19 July 2023
PEOPLE = ("Caroline", "Melanie Smith")


@given(st.text(alphabet=st.characters(), max_size=200), st.lists(st.text(max_size=12), max_size=4))
def test_any_text_is_a_legal_question_whoever_the_authors_are(text: str, authors: list[str]) -> None:
    assert analyse(text, NOW, authors=authors).text == text


def test_terms_and_times_come_from_the_text() -> None:
    query = analyse("Which paintings did we see in May 2023?", NOW)
    assert query.terms == ("paint", "see", "may", "2023")
    assert [span.text for span in query.spans] == ["May 2023"]


@pytest.mark.parametrize("question, embed", [
    ("What did Caroline research?", "What did I research?"),
    ("What is Caroline's job in her town?", "What is my job in my town?"),
    ("When did Melanie paint?", "When did I paint?"),
    ("Do Caroline and Melanie agree?", "Do I and I agree?"),
    ("What did Carol research?", "What did I research?"),
    ("What did Bob research?", "What did Bob research?"),
    ("What is her job?", "What is her job?"),
])  # fmt: skip
def test_a_named_author_becomes_the_first_person_in_what_is_embedded(question: str, embed: str) -> None:
    assert analyse(question, NOW, authors=PEOPLE).embed == embed


def test_the_authors_a_question_names_are_recognised_by_any_part_of_their_name() -> None:
    assert analyse("What does Smith say?", NOW, authors=PEOPLE).authors == {"melanie smith"}
    assert analyse("What does Mel say?", NOW, authors=PEOPLE).authors == {"melanie smith"}
    assert analyse("What does he say about carol singing?", NOW, authors=PEOPLE).authors == set()


@pytest.mark.parametrize("question, role", [
    ("Where did I buy my racket?", {"user"}),
    ("Wo habe ich meine Schuhe gekauft?", {"user"}),
    ("Что я купил?", {"user"}),
    ("What did you recommend to me?", {"assistant"}),
    ("Can you remind me of your suggestion?", {"assistant"}),
    ("Who won the race?", set()),
])  # fmt: skip
def test_the_person_of_a_question_tells_whose_words_are_wanted(question: str, role: set[str]) -> None:
    assert analyse(question, NOW).roles == role


def test_a_named_author_is_wanted_rather_than_a_role() -> None:
    query = analyse("What did Caroline tell me?", NOW, authors=PEOPLE)
    assert query.authors == {"caroline"}
    assert not query.roles


@pytest.mark.parametrize("question, telling, silent", [
    ("When did it start?", "yesterday", "seven"),
    ("How many dogs are there?", "seven", "yesterday"),
    ("Wann war das?", "gestern", "sieben"),
])  # fmt: skip
def test_a_question_for_a_time_or_a_number_knows_what_tells_one(question: str, telling: str, silent: str) -> None:
    found = analyse(question, NOW).telling
    assert analyse(telling, NOW).terms[0] in found
    assert analyse(silent, NOW).terms[0] not in found
