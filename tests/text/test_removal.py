"""Requests to remove a topic from memory, in whatever order the words come."""

from __future__ import annotations

import pytest

from holdfast.text.memory_requests import read_request


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("There's an entry about my back pain in there. I want it gone.", "my back pain"),
        ("Whatever you recorded on my taxes: delete.", "my taxes"),
        ("Die Notizen zu meiner Kur dürfen aus deinem Gedächtnis verschwinden.", "meiner Kur"),
        ("Todo cuanto sepas de mi mudanza, a la basura.", "mi mudanza"),
        ("Tout ce que tu as retenu de mes cousins, à la corbeille.", "mes cousins"),
        ("вычисти всё про мою собаку, что ты запомнил", "мою собаку"),
        ("关于我表弟的事,你那边的记录都清一清", "我表弟"),
        ("釣り旅行の件、記憶から抜いといて", "釣り旅行"),
    ],
)
def test_a_topic_is_removed_in_whatever_order_the_words_come(text, topic):
    asked = read_request(text)
    assert asked is not None
    assert asked.kind == "forget_topic"
    assert topic in asked.topic


def test_a_topic_keeps_its_accents():
    asked = read_request("Was du über meine Prüfung gespeichert hast, darf weg.")
    assert asked is not None
    assert "Prüfung" in asked.topic


@pytest.mark.parametrize(
    "text",
    [
        "Remove all references to the old API from the docs.",
        "I can't get rid of the memory of that night.",
        "My boss told me to delete what we know about the client.",
        "Suppose you knew my address. Would you delete it?",
        "Du hast vergessen, die Adresse einzusetzen.",
        "Borra el segundo punto de la lista.",
        "Vous avez oublié de répondre à ma question.",
        "Забудь про цикл, перепиши через рекурсию.",
        "忘掉刚才那个思路,改用循环。",
        "洗濯物を取り込むのを忘れて濡れた。",
    ],
)
def test_words_of_removing_alone_have_no_effect(text):
    assert read_request(text) is None
