"""Deep recall: the best candidates are read together with the question and ordered anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.models.embeddings import onnx, packs
from holdfast.models.reranker import Pair, Reranker
from holdfast.retrieval.fusion import deep_weights, deepened
from holdfast.retrieval.reranking import READ, Pairs, shown, turns_of

TURNS = (
    ("Ana", "Did you take anything along on the trip?"),
    ("Ben", "Only the small tent and my grandfather's compass."),
    ("Ana", "How did you sleep, with all that rain on the roof?"),
    ("Ben", "Badly. The gutter leaked right beside my bed."),
    ("Ana", "My landlord has promised a new roof since March."),
    ("Ben", "Mine raised the rent instead, by eighty euros a month."),
    ("Ana", "And the cat? Who looked after her while you were away?"),
    ("Ben", "The neighbour's daughter did, for a jar of honey."),
    ("Ana", "I would have done it for two."),
    ("Ben", "Then you are next, in August I go to the Dolomites."),
)
QUESTION = "Who looked after Ben's cat?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation and thirty facts, embedded by both models that ship."""
    path = tmp_path_factory.mktemp("deep") / "memory.db"
    with Holdfast.open(path, scope="user:ana") as hf:
        for author, text in TURNS:
            hf.capture("visit", "user", text, author=author)
        hf.remember_many(
            f"The inventory number of crate {number} is {number * 7}" for number in range(30)
        )
        hf.admin.reembed()
    return path


@pytest.fixture
def ana(store: Path) -> Iterator[Holdfast]:
    with Holdfast.open(store, scope="user:ana") as hf:
        yield hf


def test_the_answer_comes_first_and_says_what_the_reranker_added(ana: Holdfast) -> None:
    hit = ana.recall(QUESTION, deep=True)[0]
    assert hit.memory.content == TURNS[7][1]
    (signal,) = [one for one in hit.why.signals if one.name == "reranker"]
    assert signal.weight > 0
    assert all(one.name != "reranker" for one in ana.recall(QUESTION)[0].why.signals)


def test_scores_fall_and_nothing_is_lost(ana: Holdfast) -> None:
    fast = ana.recall(QUESTION, limit=40, min_score=0)
    deep = ana.recall(QUESTION, limit=40, min_score=0, deep=True)
    assert {hit.memory.id for hit in deep} == {hit.memory.id for hit in fast}
    scores = [hit.score for hit in deep]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_only_the_best_candidates_are_read(ana: Holdfast) -> None:
    hits = ana.recall("crate inventory number", limit=40, min_score=0, deep=True)
    read = [any(one.name == "reranker" for one in hit.why.signals) for hit in hits]
    assert read == [True] * READ + [False] * (len(hits) - READ)


def test_an_off_topic_prompt_finds_nothing_in_depth_either(ana: Holdfast) -> None:
    assert ana.recall("write a haiku about autumn", deep=True) == []


def test_a_question_without_words_finds_nothing(ana: Holdfast) -> None:
    assert ana.recall("…", deep=True) == []


def test_context_reads_the_best_candidates_on_request(ana: Holdfast) -> None:
    block = ana.context(QUESTION, deep=True, limit=1).turn
    assert "The neighbour's daughter did" in block


def test_the_command_line_has_it(store: Path, cli) -> None:
    place = ("--store", str(store), "--scope", "user:ana")
    done = cli("recall", QUESTION, "--deep", "--json", "-n", "1", *place)
    (hit,) = json.loads(done.out)
    assert hit["content"] == TURNS[7][1]
    assert "reranker" in hit["why"]["signals"]
    assert "The neighbour's daughter" in cli("context", QUESTION, "--deep", *place).out


def test_a_turn_is_read_with_its_speaker_and_the_turn_before(ana: Holdfast) -> None:
    turns = ana.list(kinds=["turn"], limit=20)
    honey = next(one for one in turns if "honey" in one.content)
    pair = Pairs(QUESTION, turns_of(turns)).pair(honey)
    assert pair == Pair(QUESTION, f"Ben: {TURNS[7][1]}", f"Ana: {TURNS[6][1]}")
    first = next(one for one in turns if one.position == 0)
    assert Pairs(QUESTION, turns_of(turns)).pair(first).before == ""


def test_a_record_is_read_with_its_title(ana: Holdfast) -> None:
    memory = ana.list(kinds=["fact"], limit=1)[0].with_(title="Crates")
    assert shown(memory) == f"Crates: {memory.content}"


def test_a_text_of_any_length_is_scored() -> None:
    long = Pair("tea?" * 500, "word " * 5000, "before " * 5000)
    assert len(Reranker().scores([Pair("", ""), Pair("tea?", "She drinks tea."), long])) == 3


def test_without_its_pack_recall_ranks_as_usual_and_says_what_to_do(
    ana: Holdfast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in (packs.STATIC, packs.ENCODER):
        (tmp_path / name).symlink_to(packs.find(name))
    monkeypatch.setattr(packs, "FOLDER", tmp_path)
    onnx._load_once.cache_clear()
    usual = ana.recall(QUESTION)
    assert usual
    found = ana.recall(QUESTION, deep=True)
    assert [hit.memory.id for hit in found] == [hit.memory.id for hit in usual]
    assert "Install Holdfast again" in caplog.text


def test_equal_scores_keep_the_order_of_the_reranker() -> None:
    low, high = deepened([0.5, 0.5], [-1.0, 2.0], deep_weights())
    assert low < high
    assert deepened([], [], deep_weights()) == []
