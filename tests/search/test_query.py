"""How a question is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.retrieval.query import analyse

NOW = 1_689_768_000_000_000  # 19 July 2023
PEOPLE = ("Caroline", "Melanie Smith")


@given(st.text(alphabet=st.characters(), max_size=200), st.lists(st.text(max_size=12), max_size=4))
def test_any_text_is_a_legal_question_whoever_the_authors_are(
    text: str, authors: list[str]
) -> None:
    assert analyse(text, NOW, authors=authors).text == text


def test_terms_and_times_come_from_the_text() -> None:
    query = analyse("Which paintings did we see in May 2023?", NOW)
    assert query.terms == ("paint", "see", "may", "2023")
    assert [span.text for span in query.spans] == ["May 2023"]


@pytest.mark.parametrize(
    "question, embed",
    [
        ("What did Caroline research?", "What did I research?"),
        ("What is Caroline's job in her town?", "What is my job in my town?"),
        ("When did Melanie paint?", "When did I paint?"),
        ("Do Caroline and Melanie agree?", "Do I and I agree?"),
        ("Where does Melanie Smith's brother live?", "Where does my brother live?"),
        ("Did Melanie Smith meet a smith?", "Did I meet a smith?"),
        ("What did Carol research?", "What did I research?"),
        ("What did Bob research?", "What did Bob research?"),
        ("What is her job?", "What is her job?"),
        ("Wo wohnt Caroline?", "Wo wohnt Caroline?"),
    ],
)
def test_a_named_author_becomes_the_first_person_in_what_is_embedded(
    question: str, embed: str
) -> None:
    assert analyse(question, NOW, authors=PEOPLE).embed == embed


def test_the_authors_a_question_names_are_recognised_by_any_part_of_their_name() -> None:
    assert analyse("What does Smith say?", NOW, authors=PEOPLE).authors == {"melanie smith"}
    assert analyse("What does Mel say?", NOW, authors=PEOPLE).authors == {"melanie smith"}
    assert analyse("What does he say about carol singing?", NOW, authors=PEOPLE).authors == set()


@pytest.mark.parametrize(
    "question, role",
    [
        ("Where did I buy my racket?", {"user"}),
        ("Wo habe ich meine Schuhe gekauft?", {"user"}),
        ("Что я купил?", {"user"}),
        ("What did you recommend to me?", {"assistant"}),
        ("Can you remind me of your suggestion?", {"assistant"}),
        ("Who won the race?", set()),
    ],
)
def test_the_person_of_a_question_tells_whose_words_are_wanted(
    question: str, role: set[str]
) -> None:
    assert analyse(question, NOW).roles == role


@pytest.mark.parametrize(
    "question",
    [
        "what did you suggest for dinner?",
        "you told me about a hotel",
        "You recommended a book once",
        "which hotel had you mentioned?",
        "what have you already suggested?",
        "you've explained closures",
        "What was your recommendation for a hotel?",
        "I followed your advice on tea",
        "your last suggestion, please",
        "in our last conversation there was a hotel",
        "the book we discussed",
        "Did we talk about tea?",
        "Remind me which hotel it was",
        "Can you remind me of the hotel you recommended?",
        "Was hast du mir empfohlen?",
        "Welches Hotel hast du vorgeschlagen?",
        "Das Buch, das du erwähnt hast",
        "Qu'as-tu recommandé ?",
        "Tu m'as conseillé un livre",
        "¿Qué me recomendaste?",
        "¿Qué libro dijiste?",
        "Что ты посоветовал?",
        "Какую книгу вы мне рекомендовали?",
        "你上次推荐了什么？",
        "你推荐过哪本书？",
        "前におすすめしてくれた本は？",
    ],
)
def test_a_question_about_what_was_said_wants_the_assistants_words(question: str) -> None:
    assert analyse(question, NOW).roles == {"assistant"}


@pytest.mark.parametrize(
    "question",
    [
        "Can you suggest a hotel?",
        "Could you show me a recipe?",
        "would you recommend a book?",
        "Will you explain it?",
        "What would you recommend for dinner?",
        "Do you recommend this book?",
        "Can you tell jokes?",
        "Please list hotels",
        "Could you give tips for tea?",
        "Can you help with tea?",
        "Can you write a poem?",
        "Can you describe Rome?",
        "Have you got a tip?",
        "Have you heard of Oslo?",
        "Did you know that tea is old?",
        "What's your advice?",
        "Give your recommendation",
        "Can we talk about tea?",
        "Let's discuss tea",
        "Remind me to call Tom",
        "Hast du einen Tipp?",
        "Kannst du ein Hotel empfehlen?",
        "Was würdest du empfehlen?",
        "As-tu une idée ?",
        "Peux-tu recommander un livre ?",
        "¿Puedes recomendar un libro?",
        "¿Qué recomiendas?",
        "Можешь посоветовать книгу?",
        "Что ты посоветуешь?",
        "你推荐什么书？",
        "本をおすすめして",
    ],
)
def test_a_request_to_the_assistant_is_not_about_what_it_said(question: str) -> None:
    assert "assistant" not in analyse(question, NOW).roles


def test_a_request_about_oneself_wants_ones_own_words() -> None:
    assert analyse("Can you suggest accessories for my camera?", NOW).roles == {"user"}
    assert analyse("Remind me where I live", NOW).roles == {"user"}


PLAIN = [
    "What do I like?",
    "Who am I?",
    "Where am I from?",
    "what do I have",
    "Who is she?",
    "What am I?",
    "Who are we?",
    "Wer bin ich?",
    "Was habe ich?",
    "¿Quién soy?",
    "¿De dónde soy?",
    "Qui suis-je ?",
    "D'où suis-je ?",
    "Кто я?",
]


@pytest.mark.parametrize("question", PLAIN)
def test_a_question_of_stop_words_about_somebody_asks_something(question: str) -> None:
    query = analyse(question, NOW)
    assert query.plain
    assert query.terms
    assert query.embed == question


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "the of and",
        "what is the?",
        "Why not?",
        "and so on",
        "What should I do?",
        "Can I?",
        "do it again",
        "I",
        "me too",
        "Was ist das?",
    ],
)
def test_other_stop_words_ask_for_nothing(text: str) -> None:
    query = analyse(text, NOW)
    assert not query.plain
    assert query.terms == ()


def test_a_question_with_a_word_that_matters_is_not_plain() -> None:
    assert not analyse("Where do I live?", NOW).plain


def test_a_named_author_is_wanted_rather_than_a_role() -> None:
    query = analyse("What did Caroline tell me?", NOW, authors=PEOPLE)
    assert query.authors == {"caroline"}
    assert not query.roles


@pytest.mark.parametrize(
    "question, telling, silent",
    [
        ("When did it start?", "yesterday", "seven"),
        ("How many dogs are there?", "seven", "yesterday"),
        ("Wann war das?", "gestern", "sieben"),
    ],
)
def test_a_question_for_a_time_or_a_number_knows_what_tells_one(
    question: str, telling: str, silent: str
) -> None:
    found = analyse(question, NOW).telling
    assert analyse(telling, NOW).terms[0] in found
    assert analyse(silent, NOW).terms[0] not in found


@pytest.mark.parametrize(
    "text, asks_help",
    [
        ("Can you recommend a book?", True),
        ("I'm looking for a recipe", True),
        ("write a poem", True),
        ("What did you recommend last time? Remind me what you suggested", False),
        ("Where do I live?", False),
        ("Who wrote the poem?", False),
    ],
)
def test_a_request_for_work_or_advice_is_told_from_a_question(text: str, asks_help: bool) -> None:
    assert analyse(text, NOW).asks_help is asks_help
