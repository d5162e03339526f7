"""Arcs: one for each session of substance, by a model or without one, in the user's language."""

from __future__ import annotations

import json

import pytest

from holdfast.errors import ModelFailed
from holdfast.extraction.rules import RuleExtractor
from holdfast.extraction.summaries import of_substance, summarise_session
from holdfast.extraction.titles import names_topic
from holdfast.extraction.vocabulary import vocabulary
from holdfast.types import Memory, Scope

WORDS = vocabulary("general")
ANN = Scope("user", "ann")


def turns(*texts):
    """Turns of the user, those that begin with "A: " of an agent."""
    return [
        Memory(
            f"ep_{place}",
            ANN,
            "turn",
            text.removeprefix("A: "),
            place,
            place,
            place,
            session="s",
            position=place,
            role="assistant" if text.startswith("A: ") else "user",
        )
        for place, text in enumerate(texts)
    ]


def made(*texts, complete=None):
    return summarise_session(turns(*texts), WORDS, complete)


def talk(*lines):
    """The arc of a conversation of `Name: text` lines; U is the user, A an agent."""
    said = []
    for place, line in enumerate(lines):
        name, _, text = line.partition(": ")
        role, author = ("assistant" if name == "A" else "user"), ("" if name in "UA" else name)
        [one] = turns(text)
        at = 1_773_100_800_000_000  # in March 2026
        said.append(
            one.with_(id=f"ep_{place}", position=place, role=role, author=author, event_time=at)
        )
    people = sorted({one.author for one in said if one.author})
    found = RuleExtractor().extract(said)
    return summarise_session(said, WORDS, None, statements=found, people=people)


WORK = (
    "I feel anxious. My boss shouted at me in the meeting.",
    "A: That sounds hard.",
    "The meeting with my boss was about the slides.",
    "A: What will you do?",
    "I will talk to my boss tomorrow and I feel calmer now.",
)


def test_without_a_model_it_is_made_of_what_was_said():
    found = made(*WORK)
    assert found.themes[:2] == ("boss", "meeting")
    assert "My boss shouted at me in the meeting." in found.summary
    assert (found.opened, found.closed) == ("anxious", "calmer")
    assert found == made(*WORK), "always the same for the same turns"


def test_a_question_that_nobody_answered_is_left_open():
    assert made(*WORK, "How do I begin the talk?").open_loops == ("How do I begin the talk?",)
    assert made(*WORK, "How do I begin the talk?", "A: With a question.").open_loops == ()


STUDIO = (
    "Gina: I moved to Porto last week!",
    "Jon: Wow, congrats! How did it go?",
    "Gina: It went great. I decided to offer free lessons in June.",
    "Jon: Nice. I prefer the evenings.",
    "Gina: Where will you practise now?",
)


def test_between_people_the_title_is_their_most_telling_statement():
    assert talk(*STUDIO).title == "Gina decided to offer free lessons in June"


def test_it_says_what_was_decided_what_is_open_and_who_took_part():
    found = talk(*STUDIO)
    assert found.decided == ("Gina decided to offer free lessons in June (2026-06)",)
    assert found.open_loops == ("Where will you practise now?",), "the other one was answered"
    assert found.people == ("Gina", "Jon")
    assert found.summary.endswith("Left open: Where will you practise now? With Gina, Jon.")


def test_a_farewell_answers_no_question():
    assert talk(*STUDIO, "Jon: Bye!").open_loops == ("Where will you practise now?",)
    assert talk(*STUDIO, "Jon: At home, in the old garage.").open_loops == ()


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("I'm looking for gift ideas for my brother, can you help?", "Gift ideas for my brother"),
        ("Hi! Can you help me plan a trip to Peru?", "Plan a trip to Peru"),
        ("fix the failing tests in src/foo.py", "Fix the failing tests in src/foo.py"),
        (
            "Ich suche Ideen für ein Geschenk für meine Schwester.",
            "Ideen für ein Geschenk für meine Schwester",
        ),
        (
            "¿Puedes ayudarme a planear un viaje a Perú con mi hermana en mayo?",
            "Planear un viaje a Perú con mi hermana en mayo",
        ),
        ("Je cherche un appartement à Lyon.", "Un appartement à Lyon"),
        ("Помоги мне выбрать тему для отчёта.", "Выбрать тему для отчёта"),
        ("你能帮我写一封给房东的邮件吗？", "写一封给房东的邮件"),
        ("大家さんへのメールを書いてください。", "大家さんへのメールを書いてください"),
    ],
)
def test_with_an_assistant_the_title_is_what_was_asked_for_first(asked, title):
    assert talk(f"U: {asked}", "A: ok", f"U: {asked}", "A: ok", f"U: {asked}").title == title


@pytest.mark.parametrize(
    ("opening", "title"),
    [
        ("Hey Jon! A lot has happened since we talked.", "Jon opened a shoe shop in Leeds"),
        ("Wow, pretty cool stuff happened!", "Jon opened a shoe shop in Leeds"),
        ("Woohoo Jon! Thanks so much!", "Jon opened a shoe shop in Leeds"),
        ("Gina, your hard work really paid off at the bank.", "Jon opened a shoe shop in Leeds"),
    ],
)
def test_a_title_is_made_of_words_of_a_topic(opening, title):
    found = talk(
        f"Gina: {opening}",
        "Jon: Thanks, Gina! That means a lot to me.",
        "Jon: Wow, thanks! Jon opened a shoe shop in Leeds.",
        "Gina: Wow, awesome! Thanks for telling me, Jon.",
    )
    assert found.title == title


def test_themes_are_neither_thanks_nor_praise_nor_those_who_speak():
    found = talk(
        "Gina: Wow, thanks Jon! The studio looks awesome.",
        "Jon: Thanks Gina! The studio was so much work, wow.",
        "Gina: Wow, it's awesome. Thanks for the flowers too!",
    )
    assert found.themes[0] == "studio"
    assert not {"thanks", "wow", "awesome", "jon", "gina"} & {one.lower() for one in found.themes}


@pytest.mark.parametrize(
    ("text", "code", "topic"),
    [
        ("Thanks", "en", False),
        ("Wow, that's awesome", "en", False),
        ("Book recommendations", "en", True),
        ("Danke, super", "de", False),
        ("Ideen für ein Geschenk", "de", True),
        ("Muchas gracias, genial", "es", False),
        ("Un viaje a Perú", "es", True),
        ("Merci, c'est super", "fr", False),
        ("Un appartement à Lyon", "fr", True),
        ("Спасибо, отлично", "ru", False),
        ("Поездка в Казань", "ru", True),
        ("谢谢，太好了", "zh", False),
        ("杭州的旅行", "zh", True),
        ("ありがとう、すごい", "ja", False),
        ("京都への旅行", "ja", True),
        ("Dank je wel, leuk", "nl", False),
    ],
)
def test_greetings_thanks_and_praise_name_no_topic(text, code, topic):
    assert names_topic(text, code) is topic


def test_a_title_does_not_stop_between_two_words_for_one_thing():
    found = talk(
        "Ann: I'm passionate about creating a safe, inviting place for people to grow.",
        "Bo: Good for you, Ann.",
        "Ann: Thanks. I work with the town on it.",
    )
    assert not found.title.endswith("a safe")


def test_a_title_is_not_cut_within_a_phrase():
    place = "a quiet hotel with a view of the harbour"
    long = f"Can you recommend {place} for a week in the early autumn of next year?"
    title = talk(f"U: {long}", "A: ok", f"U: {long}", f"U: {long}").title
    assert title == "A quiet hotel with a view of the harbour for a week in the early autumn"


@pytest.mark.parametrize(
    ("texts", "begins"),
    [
        (
            (
                "Mein Chef hat mich angeschrien.",
                "Mein Chef ist laut.",
                "Ich habe Angst vor dem Chef.",
            ),
            "Gesprochen wurde",
        ),
        (
            ("Mi jefe me gritó ayer.", "Mi jefe siempre grita mucho.", "Tengo miedo de mi jefe."),
            "Se habló de",
        ),
        (
            ("Mon chef a crié sur moi.", "Mon chef est dur.", "J'ai peur de mon chef."),
            "On a parlé de",
        ),
        (
            ("Начальник кричал на меня.", "Мой начальник строгий.", "Я боюсь начальника."),
            "Говорили о",
        ),
        (("老板昨天骂了我。", "老板总是很凶。", "我很害怕老板。"), "谈到了"),
        (("上司に怒鳴られました。", "上司はいつも厳しいです。", "上司が怖いです。"), "上司"),
    ],
)
def test_it_is_told_in_the_user_s_language(texts, begins):
    found = made(*texts)
    assert found.summary.startswith(begins)
    assert any(text in found.summary for text in texts)


@pytest.mark.parametrize(
    "texts",
    [
        ("Hi!", "How are you?", "Thanks, bye!", "Good night"),
        ("My boss shouted at me.", "A: I see.", "The meeting was bad."),
        ("My boss shouted.", "The meeting was bad.", "Don't remember this"),
        (),
    ],
)
def test_without_three_turns_of_substance_there_is_none(texts):
    assert made(*texts, complete=lambda prompt: pytest.fail("nobody is to be asked")) is None


def test_what_is_only_for_this_moment_is_no_part_of_it():
    found = made(
        "My boss shouted at me.",
        "For this reply keep the boss short.",
        "The meeting with my boss was bad.",
    )
    assert "keep the boss short" not in found.summary


def test_an_agent_s_turns_and_empty_ones_are_not_of_substance():
    assert [
        of_substance(one, WORDS) for one in turns("A: My boss shouted at me.", "ok", "I am so sad")
    ] == [
        False,
        False,
        True,
    ]


def test_a_model_is_shown_the_conversation_and_its_answer_is_cut_to_size():
    prompts = []
    answer = {
        "arc": {
            "summary": "x" * 700,
            "primary_themes": ["a", "", "b", "c", "d"],
            "mood_arc": "none",
        }
    }
    found = made(
        *WORK, complete=lambda prompt: prompts.append(prompt) or f"Here:\n{json.dumps(answer)}"
    )
    assert "assistant: What will you do?" in prompts[0]
    assert (len(found.summary), found.themes, found.opened) == (600, ("a", "b", "c"), "")


def test_a_model_may_say_that_it_was_small_talk():
    assert made(*WORK, complete=lambda prompt: '{"arc": null}') is None


@pytest.mark.parametrize(
    "answer", ["", "I cannot do that.", '{"arc": {"summary": ""}}', '{"arc": [1]}', "[" * 9999]
)
def test_an_answer_that_says_nothing_is_a_failure_and_no_arc(answer):
    with pytest.raises(ModelFailed):
        made(*WORK, complete=lambda prompt: answer)


@pytest.mark.parametrize(
    "request_",
    [
        "What do you know about me?",
        "You can take notes again from here on.",
        "I asked you not to save. That no longer applies.",
        "memory status",
        "Zeig mir alles, was du über mich gespeichert hast.",
    ],
)
def test_a_request_to_the_memory_is_no_part_of_the_summary(request_):
    seen = []

    def complete(text):
        seen.append(text)
        return json.dumps({"summary": "Work."})

    assert made(*WORK, request_) == made(*WORK)
    made(*WORK, request_, complete=complete)
    assert request_ not in seen[0]


def test_what_else_a_turn_says_beside_its_request_is_summed_up():
    found = made(*WORK, "You can take notes again. How do I begin the talk?")
    assert found.open_loops == ("How do I begin the talk?",)
