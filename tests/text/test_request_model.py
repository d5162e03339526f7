"""The learned reader of memory requests, beside the grammar."""

from __future__ import annotations

import pytest

from holdfast.text import request_model
from holdfast.text.memory_requests import read_request
from holdfast.text.request_grammar import KINDS


def test_the_chances_of_all_kinds_and_of_none_are_a_whole():
    chances = request_model.kinds_of("Could you forget my old address?")
    assert set(chances) == {request_model.NONE, *KINDS}
    assert sum(chances.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "kind", "topic"),
    [
        ("I'd rather you had no record of my weight.", "forget_topic", "my weight"),
        ("Wipe whatever you hold on my landlord, will you", "forget_topic", "my landlord"),
        (
            "Je préfère que tu n'aies plus rien sur mon ancien patron",
            "forget_topic",
            "mon ancien patron",
        ),
        ("ok you may go back to writing things down", "resume", ""),
        ("please quit logging what I tell you for a bit", "pause", ""),
        ("Give me the full rundown of what you have stored on me", "list", ""),
        ("Before I clear things out, what of mine have you been holding on to?", "list", ""),
        ("Was hast du aus unseren alten Chats über mich behalten?", "list", ""),
        ("Add this to your knowledge of me: I keep bees", "remember", "I keep bees"),
        (
            "I answer to Zed, please hold on to that for our next chats",
            "remember",
            "I answer to Zed",
        ),
        ("今後のために記憶に保存して：職業は庭師です", "remember", "職業は庭師です"),
    ],
)
def test_a_wording_that_nobody_foresaw_is_understood(text, kind, topic):
    request = read_request(text)
    assert request is not None
    assert (request.kind, request.topic) == (kind, topic)


@pytest.mark.parametrize(
    "text",
    [
        "My grandmother is slowly losing her memory and it breaks my heart.",
        "How do I clear the memory of a TI-84 calculator?",
        "Wie lösche ich den Verlauf in Firefox?",
        "¿Cómo borro la caché del navegador?",
        "from now on be brief",
        "Do you remember the film in which a pig herds sheep?",
        "Can you recall what UDP stands for?",
        "remind me to water the plants at six",
        "list the files in the build folder",
        "My neighbour never remembers my name, is that rude?",
    ],
)
def test_talk_of_memory_that_asks_it_for_nothing_has_no_effect(text):
    assert read_request(text) is None


@pytest.mark.parametrize(
    ("text", "chance", "read"),
    [
        ("blue herons by the old river", 0.95, False),
        ("blue herons by the wide river", 0.99, True),
        ("blue herons in your memory of the river", 0.85, True),
        ("blue herons in your memory of the lake", 0.75, False),
    ],
)
def test_a_message_without_a_word_about_memory_is_read_with_more_certainty(
    monkeypatch, text, chance, read
):
    chances = dict.fromkeys((request_model.NONE, *KINDS), 0.0) | {"pause": chance}
    monkeypatch.setattr(request_model, "kinds_of", lambda text: chances)
    # A text of its own for each case: readings are remembered by their text.
    assert (read_request(text) is not None) is read


def test_other_sentences_are_the_rest_of_the_message():
    request = read_request("Wipe whatever you hold on my landlord. What is the capital of Peru?")
    assert request is not None
    assert (request.kind, request.rest) == ("forget_topic", "What is the capital of Peru?")


def test_a_text_that_is_handed_over_is_not_read_as_a_request():
    said = "please quit logging what I tell you for a bit"
    assert read_request(f"Translate into French: {said}") is None


def test_what_is_longer_than_the_model_learned_from_is_read_by_the_grammar_alone():
    said = "ok you may go back to writing things down. "
    assert read_request(said) is not None
    assert read_request(said + "The garden is large and green. " * 20) is None


def test_a_message_without_words_has_no_topic():
    assert request_model.topic_of("", "forget_topic") == ""


def test_what_is_usually_no_request_does_not_hide_one():
    frame = "it would be great if you could"
    assert read_request(f"{frame} book a table for four") is None
    request = read_request(f"{frame} remember that I go by Ted")
    assert request is not None
    assert (request.kind, request.topic) == ("remember", "I go by Ted")


def test_a_topic_rather_has_a_word_more_than_less():
    # Of three words the second is inside for sure, begins and ends; the last one may be inside.
    scores = [[-3.0, -3.0, -3.0], [3.0, 3.0, 1.0], [-0.5, -3.0, 0.5]]
    assert request_model.best_span(scores) == (1, 1)
    assert request_model.best_span(scores, 1.5) == (1, 2)


@pytest.mark.parametrize("kind", ["remember", "forget_topic"])
def test_a_statement_alone_asks_for_nothing(monkeypatch, kind):
    chances = dict.fromkeys((request_model.NONE, *KINDS), 0.0) | {kind: 1.0}
    monkeypatch.setattr(request_model, "kinds_of", lambda text: chances)
    monkeypatch.setattr(request_model, "topic_of", lambda text, kind: text.removeprefix("Note: "))
    # A text of its own for each case: readings are remembered by their text.
    assert read_request(f"Blue herons eat small fish ({kind}).") is None
    assert read_request(f"Note: Blue herons eat small frogs ({kind}).").kind == kind
