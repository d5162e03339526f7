"""What sentences ask of a memory, and look-alikes that ask for nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from holdfast.agents.utterance import heard_as
from holdfast.text.memory_requests import read_request
from holdfast.text.request_grammar import KINDS, LANGUAGES

DATA = Path(__file__).parents[2] / "bench" / "data"
UNSEEN = ("control_phrases_sixteenth.jsonl", "control_phrases_seventeenth.jsonl")
PHRASES = [
    json.loads(line)
    for name in sorted(path.name for path in DATA.glob("control_phrases*.jsonl"))
    if name not in UNSEEN
    for line in (DATA / name).read_text("utf-8").splitlines()
]


def shares(phrases, key):
    """How many of the phrases of each value of a key are read as they are labelled."""
    every = Counter(one[key] for one in phrases)
    right = Counter(one[key] for one in phrases if heard_as(one["text"])[0] == one["label"])
    return {name: right[name] / count for name, count in every.items()}


def test_nineteen_of_twenty_known_requests_of_every_kind_are_understood():
    found = shares([one for one in PHRASES if one["label"] != "none"], "label")
    assert set(found) == set(KINDS)
    assert {kind: share for kind, share in found.items() if share < 0.95} == {}


def test_nineteen_of_twenty_known_requests_in_every_language_are_understood():
    found = shares([one for one in PHRASES if one["label"] != "none"], "lang")
    assert set(found) <= set(LANGUAGES)
    assert {language: share for language, share in found.items() if share < 0.95} == {}


def test_known_look_alikes_have_no_effect_in_99_of_100():
    assert shares([one for one in PHRASES if one["label"] == "none"], "label")["none"] >= 0.99


def test_statements_about_people_and_their_things_ask_for_nothing():
    pairs = (DATA / "dedup_pairs.jsonl").read_text("utf-8").splitlines()
    statements = {json.loads(line)[name] for line in pairs for name in ("a", "b")}
    assert len(statements) > 1000
    assert {text for text in statements if heard_as(text)[0] != "none"} == set()


@pytest.mark.parametrize(
    "text",
    [
        "In all my projects I prefer long names.",
        "I'm stuck on exercise 4.",
        "My dentist moved to the second floor.",
        "Die Besprechung ist jetzt am Donnerstag.",
        "J'aimerais bien avoir un chat un jour.",
        "Could you switch on my heating, please?",
        "I have to know my bonus before June.",
        "Wir sind sicher, dass Anna morgen kommt.",
        "Le train de ce soir ne partira pas.",
        "Soy profesora de matemáticas.",
        "Puedo tenerlo listo para el jueves.",
        "Я живу на третьем этаже.",
        "来週の金曜日に新しい冷蔵庫が届きます。",
        "Меня зовут Артём.",
        "我住在杭州的一个小区里。",
    ],
)
def test_an_ordinary_message_asks_for_nothing(text):
    assert read_request(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Actually, do not save or remember any of that", "forget_session"),
        ("Please forget all of that", "forget_session"),
        ("Do not save any of that.", "forget_session"),
        ("please don't remember what I told you today", "forget_session"),
        ("No. Don't keep this. None of it, the whole chat.", "forget_session"),
        ("I told you to save nothing for a while. You can remember things again.", "resume"),
        ("I asked you not to save. That no longer applies.", "resume"),
        ("Ich hatte dich gebeten, nichts zu merken. Das gilt nicht mehr.", "resume"),
        ("Te dije que no anotaras nada. Eso ya no vale.", "resume"),
        ("Je t'avais demandé de ne rien noter. Ce n'est plus valable.", "resume"),
        ("Я просил ничего не записывать. Это больше не действует.", "resume"),
        ("之前我让你别记录。现在不用管了。", "resume"),
        ("記録しないでと言ったけど、もう大丈夫です。", "resume"),
        ("Pretend we never talked today, save nothing.", "forget_session"),
    ],
)
def test_a_request_is_read_by_its_meaning(text, kind):
    assert read_request(text).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "I don't remember the argument",
        'She told me: "forget everything I said". What now?',
        "Translate into German: don't save any of this conversation",
        "```\n# forget everything we said\n```\nWhy does this fail?",
        "// don't remember any of this conversation",
        "Don't forget to run the tests.",
        "There is a typo in my function. Remove it, please.",
        "Oh, forget it.",
        "Ach, vergiss es.",
        "I'll also keep in mind that pricing is not a one-time task.",
        "x" * 5_000,
        "",
    ],
)
def test_what_is_quoted_translated_coded_or_talk_asks_for_nothing(text):
    assert read_request(text) is None


@pytest.mark.parametrize(
    "text",
    ["again", "Try again!", "nothing", "delete", "remember", "start again", "otra vez", "再来"],
)
def test_a_word_or_two_ask_for_nothing(text):
    assert read_request(text) is None


def test_a_pronoun_stands_for_what_was_said_before():
    asked = read_request("My cat Tom died. Please forget what you know about him.")
    assert (asked.kind, asked.topic) == ("forget_topic", "My cat Tom")


def test_deleting_it_is_about_memory_only_where_memory_was_spoken_of():
    asked = read_request("It bothers me that you still know my weight. Delete it, please.")
    assert (asked.kind, asked.topic) == ("forget_topic", "my weight")
    assert read_request("The last line of my poem is weak. Delete it, please.") is None


def test_a_pause_that_was_taken_back_leaves_the_rest_of_the_message():
    asked = read_request(
        "Hello. I asked you not to save. That no longer applies. What is on today?"
    )
    assert asked.rest == "Hello. What is on today?"


def test_a_slip_of_the_finger_is_overlooked_but_no_other_word_is_changed():
    assert read_request("plese forgt evrything we talkd about").kind == "forget_session"
    assert read_request("I forgot everything we talked about") is None


def test_a_topic_keeps_its_accents_and_quotations():
    assert read_request("Olvida todo lo que sabes sobre mi tía Inés.").topic == "mi tía Inés"
    assert (
        read_request('Remember that my band is called "The Forgotten".').topic
        == 'my band is called "The Forgotten"'
    )


@pytest.mark.parametrize(
    ("text", "kind", "topic"),
    [
        ("Nothing about the lawsuit should stay in your head", "forget_topic", "the lawsuit"),
        ("Anything I ever mentioned about Bea can go.", "forget_topic", "Bea"),
        ("Was mit meiner Kur zu tun hat, aus dem Speicher werfen", "forget_topic", "meiner Kur"),
        ("Quisiera que olvidaras mi talla", "forget_topic", "mi talla"),
        ("Je ne veux plus que tu retiennes mon adresse", "forget_topic", "mon adresse"),
        ("всё что касается моей ипотеки удали из памяти", "forget_topic", "моей ипотеки"),
        ("引っ越したって話、もう覚えておかなくていいです", "forget_topic", "引っ越したって話"),
        ("Graag mijn leeftijd uit je geheugen halen", "forget_topic", "mijn leeftijd"),
        ("That bit just now stays out of your memory", "forget_last", ""),
        ("Die Info von eben brauchst du nicht zu behalten", "forget_last", ""),
        ("eso último no lo apuntes", "forget_last", ""),
        ("ce que je viens de dire, ne l'enregistre pas", "forget_last", ""),
        ("то что я щас написал не запоминай", "forget_last", ""),
        ("这个你就不要记了", "forget_last", ""),
        ("vergeet alles wat ik vandaag heb gezegd aub", "forget_session", ""),
    ],
)
def test_the_order_of_a_request_does_not_matter(text, kind, topic):
    asked = read_request(text)
    assert (asked.kind, asked.topic) == (kind, topic)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Oublie tout ce que je t'ai confié au sujet de mon voisin", "mon voisin"),
        ("Tout ce que je t'ai raconté à propos de mon prêt, tu peux l'effacer", "mon prêt"),
        ("хочу, чтобы ты больше не помнил про мои долги", "мои долги"),
        ("Du musst dir meinen Namenstag nicht mehr merken", "meinen Namenstag"),
    ],
)
def test_what_names_a_topic_forgets_neither_the_session_nor_what_follows(text, topic):
    asked = read_request(text)
    assert (asked.kind, asked.topic) == ("forget_topic", topic)


def test_what_is_announced_is_not_the_session():
    announced = "Es folgen erfundene Angaben. Nichts davon übernehmen."
    assert read_request(announced).kind == "pause"
    assert read_request("Nichts davon übernehmen.").kind == "forget_session"


@pytest.mark.parametrize(
    "text",
    [
        "please remove everything about logging from utils.py",
        "delete everything about Bob from the users table",
        "Lösch alles über der Zeile 40",
        "no guardes los cambios todavía",
        "supprime tout ce qui concerne les traces dans main.py",
        "удали всё про логирование из этого файла",
        "先别保存，我还要改",
        "このファイルからログに関するコードを全部消して",
        "verwijder alles over logging uit main.py",
        "clear the conversation history array on logout",
        "Keep in mind that the essay has a limit when you rewrite it.",
        "Three hundred dollars for a haircut? Forget it!",
        "Forget what I said about spelling, use American for the rest.",
        "You can forget about a raise, he said",
    ],
)
def test_what_is_asked_of_files_texts_and_others_has_no_effect(text):
    assert heard_as(text) == ("none", "")
