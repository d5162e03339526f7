"""Everyday kinds, several things in one question, and answers that need the turn before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import Holdfast
from holdfast.context.brief import fitting
from holdfast.languages import language
from holdfast.retrieval.query import analyse, members_of
from holdfast.text.tokens import query_terms

SMALL_TALK = (
    "It rained all morning and the bus was late again.",
    "We should repaint the fence before summer.",
    "The bakery on the corner closed last month.",
    "I watched a documentary about volcanoes.",
    "The printer is out of toner.",
    "The soup needed more salt.",
    "I lost my umbrella on the tram.",
    "Our team won the quiz on Friday.",
    "The museum is free on the first Sunday.",
    "He keeps forgetting his keys.",
    "The new lamp is too bright.",
    "The kids built a den in the garden.",
    "Someone left a scarf in the hallway.",
    "The meeting was moved to Tuesday.",
)
TALK = (
    ("Anna", "The hospital promoted me to head nurse last week!"),
    ("Ben", "Congratulations! I finally unpacked everything in the new flat in Leeds."),
    ("Anna", "Did you like the neighbourhood?"),
    ("Ben", "Very much, it is quiet."),
    ("Anna", "My brother Carl got a puppy called Biscuit."),
    ("Ben", "Nice, I still take the old Prius to see him."),
)
SHORT_ANSWERS = (
    ("Mia", "Did you move in the end?"),
    ("Leo", "Yes, to Porto."),
    ("Mia", "Who is looking after your cat?"),
    ("Leo", "My aunt."),
    ("Mia", "What did the doctor say about your knee?"),
    ("Leo", "No running for six weeks."),
    ("Mia", "Which of the two offers did you take?"),
    ("Leo", "The second one."),
    ("Mia", "I met Sofia in Lyon. She is a translator."),
    ("Leo", "And she still swims every day?"),
    ("Mia", "She does."),
)


def _capture(hf: Holdfast) -> None:
    spoken = (
        ("hall", [("Tom", text) for text in SMALL_TALK]),
        ("dinner", TALK),
        ("phone", SHORT_ANSWERS),
    )
    for session, turns in spoken:
        hf.capture_many(
            {"session": session, "role": "user", "author": author, "text": text}
            for author, text in turns
        )


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    """Three conversations, embedded by both models that ship."""
    path = tmp_path_factory.mktemp("talk") / "memory.db"
    with Holdfast.open(path, scope="user:ana", background=False) as hf:
        _capture(hf)
        hf.admin.reembed()
        yield hf


@pytest.fixture
def talk(request: pytest.FixtureRequest) -> Holdfast:
    """The conversations, by words alone or with both models."""
    hf: Holdfast
    if request.param == "models":
        hf = request.getfixturevalue("embedded")
    else:
        hf = request.getfixturevalue("words")
        _capture(hf)
    return hf


by_words_and_by_models = pytest.mark.parametrize("talk", ["words", "models"], indirect=True)


# Kinds


@by_words_and_by_models
@pytest.mark.parametrize(
    "question, answer",
    [("What car does Ben have?", "Prius"), ("Which pet did Carl get?", "puppy called Biscuit")],
)
def test_who_asks_for_a_kind_finds_what_belongs_to_it(
    talk: Holdfast, question: str, answer: str
) -> None:
    assert answer in talk.recall(question)[0].memory.content


def test_a_hit_says_that_it_is_of_the_kind(words: Holdfast) -> None:
    words.remember_many(["Our cello needs new strings", *SMALL_TALK])
    hit = words.recall("which instrument is there?")[0]
    assert hit.memory.content == "Our cello needs new strings"
    assert set(hit.why.arms) == {"kinds"}


def test_the_word_that_is_asked_for_counts_more_than_one_of_its_kind(words: Holdfast) -> None:
    words.remember_many(
        ["There is a Toyota in the yard", "There is a car in the yard", *SMALL_TALK]
    )
    found = [hit.memory.content for hit in words.recall("whose car is this?")]
    assert found[:2] == ["There is a car in the yard", "There is a Toyota in the yard"]


def test_a_memory_with_the_word_itself_gains_nothing_by_one_of_its_kind(words: Holdfast) -> None:
    words.remember_many(["A car and a van at the gate", "A car and a hat at the gate", *SMALL_TALK])
    first, second = words.recall("car")[:2]
    assert first.score == second.score


def test_a_list_is_found_by_its_kind(words: Holdfast) -> None:
    played = ("I practised the cello", "Dad sold his trumpet", "My harp came by boat")
    words.remember_many([*SMALL_TALK, *played])
    found = {hit.memory.content for hit in words.recall("list all instruments", limit=3)}
    assert found == set(played)


def test_a_kind_alone_puts_nothing_into_the_prompt_of_an_agent(words: Holdfast) -> None:
    words.remember_many(["We moved the reports to Postgres", *SMALL_TALK])
    hits = words.recall("write about any database")
    assert [hit.memory.content for hit in hits] == ["We moved the reports to Postgres"]
    assert fitting(hits) == []


def test_members_count_for_their_kind_and_words_of_the_question_for_themselves() -> None:
    found = members_of(query_terms("which cars, and is the Prius a car?"))
    assert found["tesla"] == "car"
    assert "prius" not in found


def test_a_question_without_a_kind_looks_for_nothing_else() -> None:
    assert not analyse("When does the ferry leave?", 0).members


def test_each_kind_of_the_language_files_has_members_and_no_line_is_broken() -> None:
    lines = str(language("en").section("kinds")["members"]).replace("\n    ", " ").split("\n")
    for line in filter(None, lines):
        kinds, colon, members = line.partition(":")
        assert colon, line
        assert kinds.split(), line
        assert len(members.split()) >= 3, line


# Two things in one question


@by_words_and_by_models
@pytest.mark.parametrize(
    "question, answers",
    [
        ("What is Anna's job and where does Ben live?", ("head nurse", "Leeds")),
        ("Where does Ben live and what is Carl's dog called?", ("Leeds", "Biscuit")),
        ("What car does Ben have and what pet does Carl have?", ("Prius", "Biscuit")),
        ("Which day is the meeting and where did Leo move?", ("Tuesday", "Porto")),
    ],
)
def test_both_answers_of_a_double_question_are_among_the_first_five(
    talk: Holdfast, question: str, answers: tuple[str, ...]
) -> None:
    found = " ".join(hit.memory.content for hit in talk.recall(question, limit=5))
    assert all(answer in found for answer in answers)


# Short answers and pronouns


@by_words_and_by_models
@pytest.mark.parametrize(
    "question, answer",
    [
        ("Where did Leo move?", "Yes, to Porto."),
        ("Who takes care of Leo's cat?", "My aunt."),
        ("What may Leo not do because of his knee?", "No running for six weeks."),
        ("Which offer did Leo accept?", "The second one."),
        ("What does Sofia do for a living?", "I met Sofia in Lyon. She is a translator."),
        ("Does Sofia swim?", "She does."),
    ],
)
def test_a_short_answer_is_found_by_the_turn_before(
    talk: Holdfast, question: str, answer: str
) -> None:
    found = [hit.memory.content for hit in talk.recall(question, limit=3)]
    assert answer in found
