"""A question that has nothing to do with what is remembered finds nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import InvalidInput
from holdfast.types import Hit, Reasons

FACTS = (
    "Allergic to penicillin",
    "Lives in Bergen since 2019",
    "Works as a nurse at the Haukeland hospital",
    "Her sister Ingrid is a violinist",
    "Drinks oat milk, never cow's milk",
    "Is learning to sail on weekends",
    "Drives a grey Skoda Octavia",
    "Takes the 7:40 ferry to work",
    "Has two cats, Olive and Fig",
    "Prefers window seats on long flights",
    "Runs the half marathon every year",
    "Her landlord is called Mr. Halvorsen",
)
OFF_TOPIC = (
    "write a haiku about autumn",
    "translate this page into Portuguese",
    "Explain the difference between a mutex and a semaphore, with an example in C.",
    "Can you give me ideas for a sourdough bread?",
    "What is the capital of Mongolia, and can you suggest a guide book?",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve facts, embedded by both models that ship."""
    path = tmp_path_factory.mktemp("facts") / "memory.db"
    with Holdfast.open(path, scope="user:ana") as hf:
        hf.remember_many(FACTS)
        hf.admin.reembed()
    return path


@pytest.fixture
def ana(store: Path) -> Iterator[Holdfast]:
    with Holdfast.open(store, scope="user:ana") as hf:
        yield hf


@pytest.mark.parametrize("prompt", OFF_TOPIC)
def test_an_off_topic_prompt_recalls_nothing(ana: Holdfast, prompt: str) -> None:
    assert ana.recall(prompt) == []
    assert ana.context(prompt).turn == ""


def test_a_question_in_other_words_is_answered_with_a_score_that_says_so(ana: Holdfast) -> None:
    first = ana.recall("which medicine must I avoid?")[0]
    assert first.memory.content == "Allergic to penicillin"
    assert first.strength in ("likely", "strong")


def test_a_fact_scores_as_much_in_a_store_ten_times_as_large(tmp_path: Path) -> None:
    """What nothing else in a store resembles answers its question no worse there."""
    question = "What is my sister Ingrid?"

    def shelves(first: int, last: int) -> list[str]:
        return [
            f"Shelf {row} in hall {row % 7} holds {row * 3} boxes" for row in range(first, last)
        ]

    fast = Settings(embedding_models="static")
    with Holdfast.open(tmp_path / "memory.db", scope="user:ana", settings=fast) as hf:
        hf.remember_many([*FACTS, *shelves(0, 300)])
        hf.admin.reembed()
        before = hf.recall(question)[0]
        hf.remember_many(shelves(300, 3_000))
        hf.admin.reembed()
        after = hf.recall(question)[0]
    assert before.memory.content == after.memory.content == "Her sister Ingrid is a violinist"
    assert before.why.arms.keys() == after.why.arms.keys()
    assert abs(after.score - before.score) < 0.05


@pytest.mark.parametrize(
    "question, answer",
    [
        ("what car do I have?", "Drives a grey Skoda Octavia"),
        ("what are my pets called?", "Has two cats, Olive and Fig"),
        ("who do I pay the rent to?", "Her landlord is called Mr. Halvorsen"),
        ("which town do I live in?", "Lives in Bergen since 2019"),
    ],
)
def test_questions_with_an_answer_keep_it(ana: Holdfast, question: str, answer: str) -> None:
    assert answer in [hit.memory.content for hit in ana.recall(question, limit=3)]


@pytest.mark.parametrize(
    "question, answer",
    [
        ("Can you suggest a milk for my coffee?", "Drinks oat milk, never cow's milk"),
        ("I need a training plan for the half marathon", "Runs the half marathon every year"),
        ("Recommend a toy for Olive and Fig", "Has two cats, Olive and Fig"),
        ("I'd like to book a flight, which seat?", "Prefers window seats on long flights"),
    ],
)
def test_a_request_for_advice_finds_what_it_is_about(
    ana: Holdfast, question: str, answer: str
) -> None:
    assert answer in [hit.memory.content for hit in ana.recall(question, limit=3)]


def test_of_two_equally_good_memories_both_are_shown_as_good(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path / "two.db", scope="user:ana", background=False) as hf:
        hf.remember_many(["Priya is vegetarian", "Tomasz cannot have peanuts"])
        hf.admin.reembed()
        hits = hf.recall("What should I mind when I cook for the team?")
    assert len(hits) == 2
    assert all(hit.strength in ("likely", "strong") for hit in hits)


def test_min_score_zero_shows_what_comes_nearest(ana: Holdfast) -> None:
    assert len(ana.recall(OFF_TOPIC[0], min_score=0, limit=5)) == 5


def test_min_score_keeps_only_hits_that_reach_it(ana: Holdfast) -> None:
    question = "which medicine must I avoid?"
    every = ana.recall(question, min_score=0, limit=12)
    between = (every[0].score + every[1].score) / 2
    assert [hit.memory for hit in ana.recall(question, min_score=between)] == [every[0].memory]


@pytest.mark.parametrize("wrong", [-0.1, 1.5, "high", float("nan")])
def test_min_score_is_a_number_from_0_to_1(ana: Holdfast, wrong: object) -> None:
    with pytest.raises(InvalidInput, match="min_score must be a number from 0 to 1"):
        ana.recall("tea?", min_score=wrong)  # type: ignore[arg-type]


def test_explain_says_that_nothing_was_likely(ana: Holdfast) -> None:
    penicillin = ana.recall("which medicine must I avoid?")[0].memory
    answer = ana.explain(penicillin.id, OFF_TOPIC[1])
    assert not answer.recalled
    assert answer.dropped_by == "order"
    assert "even the best memory is unlikely to answer this" in answer.explanation


def test_a_score_has_a_word(ana: Holdfast) -> None:
    memory = ana.recall("my car?", min_score=0)[0].memory
    words = [
        Hit(memory, score, Reasons({})).strength for score in (0.0, 0.34, 0.35, 0.59, 0.6, 1.0)
    ]
    assert words == ["weak", "weak", "likely", "likely", "strong", "strong"]


def test_the_command_line_says_that_nothing_relevant_is_known(cli, store: Path) -> None:
    asked = ("--store", store, "--scope", "user:ana")
    done = cli("recall", OFF_TOPIC[0], *asked)
    assert (done.code, done.out) == (0, "Nothing relevant is known.\n")
    assert json.loads(cli("recall", OFF_TOPIC[0], "--json", *asked).out) == []
    every = json.loads(cli("recall", OFF_TOPIC[0], "--min-score", "0", "--json", *asked).out)
    assert every
    assert cli("recall", "tea", "--min-score", "1.5", *asked).code == 2


def test_a_prompt_that_only_mentions_a_time_recalls_nothing(ana: Holdfast) -> None:
    prompt = "I need tips for organizing my messy garage shelves and power tools this weekend."
    assert ana.recall(prompt) == []


def test_a_question_about_a_time_finds_what_comes_nearest(ana: Holdfast) -> None:
    assert ana.recall("What did she do this weekend?")


CHINESE = (
    "我先把数据库的路径改成绝对路径",
    "测试已经全部通过，可以合并了",
    "请不要把密钥提交到仓库",
    "我们决定用 Docker 部署这个服务",
)


@pytest.mark.parametrize("prompt", OFF_TOPIC)
def test_a_memory_in_another_script_is_no_answer_by_itself(tmp_path: Path, prompt: str) -> None:
    with Holdfast.open(tmp_path / "memory.db", scope="user:ana") as hf:
        hf.remember_many([*FACTS, *CHINESE])
        hf.admin.reembed()
        assert hf.recall(prompt) == []


def test_a_memory_in_another_script_is_found_by_a_word_it_shares(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path / "memory.db", scope="user:ana") as hf:
        hf.remember_many([*FACTS, *CHINESE])
        hf.admin.reembed()
        assert hf.recall("did we say Docker?")[0].memory.content == CHINESE[3]
        assert hf.recall("我们用什么部署服务？")[0].memory.content == CHINESE[3]


def test_where_all_memories_are_in_another_script_nobody_can_tell(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path / "memory.db", scope="user:ana") as hf:
        hf.remember_many([f"{text}（{number}）" for number in range(4) for text in CHINESE])
        hf.admin.reembed()
        assert hf.recall("how do we deploy the service?")
