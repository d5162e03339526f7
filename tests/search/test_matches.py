"""What a hit has in common with its question: the words, names, speakers and times of both."""

from __future__ import annotations

import pytest

from holdfast.ingest.entity_linking import link
from holdfast.models.entities.select import standard
from holdfast.retrieval.matches import Match, matches
from holdfast.text.tokens import query_terms, words_with
from holdfast.types import DAY


def common(hf, question, **options):
    hits = hf.recall(question, min_score=0.0, **options)
    found = matches(hf.store, hf.scopes, question, hits, now=hf.clock())
    return {hit.memory.content: match for hit, match in zip(hits, found, strict=True)}


def test_words_are_told_as_the_memory_writes_them_without_stop_words(words):
    words.remember("The dogs of Ana were barking at the postman")
    (match,) = common(words, "what did the dog bark at?").values()
    assert match == Match(words=("dogs", "barking"))


def test_a_word_of_the_kind_that_is_asked_for_is_told(words):
    words.remember("There is a Toyota at the gate")
    (match,) = common(words, "whose car is it?").values()
    assert match.words == ("Toyota",)


def test_an_entity_that_both_name_is_told(words):
    fact = words.remember("Tomasz cannot have peanuts")
    other = words.remember("Peanuts grow under the ground")
    recognised = standard().recognise(fact.content, "local")
    words.admin.write("enrich", lambda tx: link(tx, fact, recognised, at=words.clock()))
    found = common(words, "Tomasz and peanuts")
    assert found[fact.content].names == ("Tomasz",)
    assert found[other.content].names == ()


def test_a_speaker_that_the_question_asks_about_is_told(words):
    words.capture("s", "user", "I went to the harbour", author="Caroline")
    words.capture("s", "user", "The harbour was closed", author="Melanie")
    found = common(words, "When did Caroline go to the harbour?")
    assert found["I went to the harbour"].speaker == "Caroline"
    assert found["The harbour was closed"].speaker == ""


def test_the_words_that_name_its_time_are_told(words):
    words.remember("The harbour was closed", event_time=words.clock() - DAY)
    words.remember("The harbour is open", event_time=words.clock() - 30 * DAY)
    found = common(words, "the harbour yesterday")
    assert found["The harbour was closed"].time == "yesterday"
    assert found["The harbour is open"].time == ""


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("Ihre Hunde bellten laut", "Wo ist der Hund?", ["Hunde"]),
        ("Живёт в Москве с кошкой", "кто живёт в Москве", ["Живёт", "Москве"]),
        ("我喜欢喝绿茶", "绿茶", ["绿茶"]),
        ("Vive à Lyon avec sa sœur", "qui vit à Lyon ?", ["Lyon"]),
        ("nothing of it", "elephant", []),
    ],
)
def test_words_of_every_language_are_told_as_written(text, question, expected):
    assert words_with(text, query_terms(question)) == expected


def test_a_list_as_of_a_time_shows_what_was_known_then(hf, clock):
    old = hf.remember("The desk stands at the north wall")
    then = hf.clock()
    clock.now += DAY
    hf.correct(old.id, "The desk stands at the east wall")
    hf.remember("The lamp is new")
    assert [one.content for one in hf.list(as_of=then)] == ["The desk stands at the north wall"]
    assert {one.content for one in hf.list()} == {
        "The desk stands at the east wall",
        "The lamp is new",
    }
