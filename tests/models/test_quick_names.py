"""Names that are linked on capture: whom everyday sentences name, and what in them is nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.entities.name_rules import LIKELY
from holdfast.models.entities.names import NameRecogniser
from holdfast.models.entities.quick import MOST, QuickNameRecogniser

QUICK = QuickNameRecogniser()


def people(text: str) -> list[str]:
    return [one.name for one in QUICK.recognise(text) if one.type == "person"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # A relation says that it is somebody, however rare the name.
        ("My sister Ines lives in Lisbon.", ["Ines"]),
        ("I talked to my boss Priya about the raise.", ["Priya"]),
        ("my neighbour Zdenka has a new dog", ["Zdenka"]),
        ("We are staying with our friends Tom and Anna.", ["Tom", "Anna"]),
        ("My husband, Olumide, is a nurse.", ["Olumide"]),
        # So does a title.
        ("Dr. Chen moved my appointment to Monday.", ["Chen"]),
        ("I have to call Mrs. Okonkwo back.", ["Okonkwo"]),
        ("The appointment is with Prof. Alvarez. Bring the papers.", ["Alvarez"]),
        # Common names do it themselves, also where a sentence begins.
        ("met with Tom and Anna yesterday", ["Tom", "Anna"]),
        ("Priya called this morning.", ["Priya"]),
        ("It was late. Maria drove me home.", ["Maria"]),
        ("Thanks, John! That helps.", ["John"]),
        ("I’m having dinner at Rachel’s place.", ["Rachel"]),
        ("James Parker sold me the print.", ["James Parker"]),
        ("- Emily brings the salad\n- Jackson brings bread", ["Emily", "Jackson"]),
        # Other languages have their own way with capitals, so all of the text is read.
        ("Meine Schwester Ines wohnt in Lissabon und ist Ärztin.", ["Ines"]),
        ("Mi hermana Inés vive en Lisboa.", ["Inés"]),
        ("Ich habe mit Anna über den Vertrag gesprochen.", ["Anna"]),
    ],
)
def test_people_are_found_in_everyday_sentences(text, names):
    assert people(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "Speaking of which, do you have any ideas?",
        "Great! Definitely. Absolutely. Awesome. Thanks a lot.",
        "Running late again. Traffic was bad.",
        "Can you help me? Could you show me more? Please explain.",
        "See you on Monday, or in April or August.",
        "On Sunday we celebrate Easter, then Christmas.",
        "I am learning French, German and Japanese.",
        "We cook Korean and Indian dishes.",
        "I use Python, Docker and Kubernetes every day.",
        "My iPhone and my MacBook do not sync with Windows.",
        "I bought a Nikon and a Fitbit on Amazon.",
        "He said I should ask the CEO of NASA about the NFL.",
        "The API returns JSON over HTTP.",
        'I loved reading "Charlotte\'s Web" as a kid.',
        "I've watched “The Marvelous Mrs. Maisel” twice.",
        "Das Auto steht vor dem Haus und der Hund schläft im Garten.",
        "I WILL BE THERE AT NOON",
        "the quick brown fox jumps over the lazy dog",
        "",
    ],
)
def test_what_is_no_person_is_not_taken_for_one(text):
    assert people(text) == []


def test_who_is_quoted_is_named():
    assert people('She said "Tom is here already" and left.') == ["Tom"]


def test_places_and_companies_are_found_as_such():
    found = {
        one.name: one.type for one in QUICK.recognise("I moved to Porto and work at Acme GmbH now.")
    }
    assert found == {"Porto": "location", "Acme GmbH": "organization"}


def test_what_two_capitals_are_is_left_to_the_second_look():
    assert QUICK.recognise("We went to see Zorblat Quux in concert.") == []
    assert NameRecogniser().recognise("We went to see Zorblat Quux in concert.")


def test_a_long_text_is_looked_at_in_its_beginning():
    padding = "it rained all day and nothing else happened. " * (MOST // 40)
    assert people(f"My sister Ines called. {padding}") == ["Ines"]
    assert people(f"{padding} My sister Ines called.") == []


@given(st.text())
def test_any_text_is_a_legal_one(text):
    for one in QUICK.recognise(text):
        assert text[one.start : one.end] == one.raw
        assert one.confidence >= LIKELY
