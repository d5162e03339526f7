"""The report of all benchmarks: plain rankings scored by hand, peers as processes, a quick run into
a page.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from holdfast.benchmark import locomo
from holdfast.models.fake import FakeEmbedder

BENCH = Path(__file__).parents[1] / "bench"
sys.path.append(str(BENCH))  # behind everything else: nothing of ours may hide another's module

import peer_runs  # noqa: E402
import rankings  # noqa: E402
import report  # noqa: E402
import report_page  # noqa: E402
import secret_scan  # noqa: E402
from dedup import Pair, seeds  # noqa: E402
from extraction import every_sentence  # noqa: E402
from vectors import Vectors, served  # noqa: E402

DOCUMENTS = ["the red boat", "a red car and a red bus", "the boat sails", "nothing here"]


def conversation(name):
    return {
        "sample_id": name,
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"dia_id": "D1:1", "speaker": "Ann", "text": "I adopted a greyhound"},
                {"dia_id": "D1:2", "speaker": "Bob", "text": "   "},
            ],
            "session_2_date_time": "10:37 am on 27 June, 2023",
            "session_2": [{"dia_id": "D2:1", "speaker": "Bob", "text": "My xylophone broke"}],
        },
        "qa": [
            {"question": "Ann adopted a greyhound", "category": 4, "evidence": ["D1:1"]},
            {"question": "Whose xylophone broke?", "category": 2, "evidence": ["D2:1"]},
        ],
    }


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "locomo10.json").write_text(json.dumps([conversation("one"), conversation("two")]))
    return folder


@pytest.fixture
def vectors(tmp_path):
    return Vectors(tmp_path / "vectors.db", FakeEmbedder())


# plain rankings


def test_fts5_left_alone_wants_every_word_of_the_question():
    rank = rankings.by_words(DOCUMENTS, any_of=False)
    assert rank("red boat") == [0]
    assert rank("which red boat?") == []
    assert rank("?!") == []


def test_fts5_with_any_word_puts_first_what_has_most_of_them():
    first, *others = rankings.by_words(DOCUMENTS, any_of=True)("which red boat?")
    assert (first, set(others)) == (0, {1, 2})


def test_fts5_at_its_best_stems_and_leaves_out_stop_words():
    rank = rankings.by_words(DOCUMENTS, any_of=True, tuned=True)
    assert rank("Who was sailing?") == [2]
    assert rank("the the") == []


def test_any_text_is_a_legal_question():
    assert rankings.by_words(DOCUMENTS, any_of=False)('AND "boat* NEAR(') == []


def test_vectors_rank_by_cosine():
    rows = {"near": [1.0, 0.0], "nearer": [0.8, 0.6], "far": [-1.0, 0.0], "question": [0.6, 0.8]}
    rank = rankings.by_meaning(
        ["near", "nearer", "far"], lambda texts: np.array([rows[text] for text in texts])
    )
    assert rank("question") == [1, 0, 2]


def test_reciprocal_rank_fusion_sums_one_over_sixty_and_the_rank():
    def one(question):
        return [7, 8, 9]

    def other(question):
        return [9, 5]

    # 9: 1/63 + 1/61, 7: 1/61, 8: 1/62 and 5: 1/62, the first found first
    assert rankings.fused([one, other])("anything") == [9, 7, 8, 5]


def test_rankings_are_scored_as_recall_is(data, vectors):
    pools = list(locomo(data / "locomo10.json"))
    found = rankings.answers(pools, {"words": vectors})
    assert found.keys() == {
        "FTS5, all words",
        "FTS5, any word",
        "FTS5, any word, stems, no stop words",
        "vectors of words",
        "RRF k=60: FTS5 all words + words",
        "RRF k=60: FTS5 stems + words",
    }
    every, any_ = found["FTS5, all words"], found["FTS5, any word"]
    assert [answer.ranked for answer in every] == [("D1:1",), (), ("D1:1",), ()]
    assert [answer.ranked[0] for answer in any_] == ["D1:1", "D2:1"] * 2
    assert any_[1].sessions[0] == "D2" and any_[1].gold_sessions == {"D2"}


# one model for all


class Counting(FakeEmbedder):
    def __init__(self):
        super().__init__()
        self.read = []

    def embed_documents(self, texts):
        self.read.extend(texts)
        return super().embed_documents(texts)

    def embed_query(self, text):
        self.read.append(f"? {text}")
        return FakeEmbedder.embed_documents(self, [f"asked {text}"])[0]


def test_a_text_is_embedded_once_and_a_question_as_a_question(tmp_path):
    model = Counting()
    vectors = Vectors(tmp_path / "vectors.db", model)
    vectors.expect(["who  is\nit?"])
    first = vectors.of(["tea", "who is it?", "tea"])
    again = Vectors(tmp_path / "vectors.db", model)
    again.expect(["who is it?"])
    assert np.array_equal(first, again.of(["tea", "who is it?", " tea\n"]))
    assert [text for text in model.read if not text.startswith("asked")] == ["tea", "? who is it?"]
    again.questions_anew = True
    again.of(["tea", "who is it?"])
    assert model.read.count("? who is it?") == 2


def test_the_endpoint_answers_as_openai_does(vectors):
    def ask(**body):
        with served(vectors) as url:
            request = urllib.request.Request(
                f"{url}/embeddings", json.dumps({"model": "m", **body}).encode()
            )
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)

    rows = vectors.of(["tea", "milk"])
    plain = ask(input=["tea", "milk"])
    assert [row["index"] for row in plain["data"]] == [0, 1]
    assert np.allclose([row["embedding"] for row in plain["data"]], rows)
    packed = ask(input="milk", encoding_format="base64")["data"][0]["embedding"]
    assert np.array_equal(np.frombuffer(base64.b64decode(packed), dtype="<f4"), rows[1])


# peers

PEER = """
from wire import embed, serve

class Words:
    def __init__(self, start):
        self.start, self.kept = start, {}
        print("libraries chatter")

    def add(self, owner, turns):
        assert len(embed(self.start, [turn["text"] for turn in turns])) == len(turns)
        self.kept[owner] = turns

    def ask(self, owner, asked):
        if FAILS:
            raise ValueError("no idea")
        words = set(asked["text"].lower().strip("?").split())
        shared = lambda turn: len(words & set(turn["text"].lower().split()))
        ranked = sorted(self.kept[owner], key=shared, reverse=True)
        return [turn["key"] for turn in ranked][: asked["limit"]]

serve(Words, "numpy")
"""


def peer(tmp_path, name, *, fails=False):
    file = tmp_path / f"{name}.py"
    told = f"import sys\nsys.path.append({str(BENCH / 'peers')!r})\nFAILS = {fails}\n"
    file.write_text(told + PEER)
    return peer_runs.Listed(name, str(file), note="for this test")


def test_peers_are_processes_that_are_scored_alike(tmp_path, data, vectors):
    pools = list(locomo(data / "locomo10.json"))
    listed = [
        peer(tmp_path, "good"),
        peer(tmp_path, "bad", fails=True),
        peer_runs.Listed("gone", "no_such_file.py"),
    ]
    found = peer_runs.compare(
        pools,
        vectors,
        dimensions=64,
        model="fake",
        envs=tmp_path,
        folder=tmp_path / "run",
        peers=listed,
    )
    good = found["peers"]["good"]
    assert found["texts"] == 4
    assert good["report"]["turns"]["all"]["R@1"] == 1
    assert good["versions"] == {"numpy": np.__version__}
    assert (good["adding_ratio"], good["asking_ratio"], good["searching_ratio"]) == (1, 1, 1)
    assert found["failed"] == {"gone": "the process ended", "bad": "ValueError: no idea"}


def test_one_peer_can_be_measured_again():
    before = {
        "texts": 4,
        "peers": {"ours": {"n": 1}, "bad": {"n": 1, "note": "x"}},
        "failed": {"bad": "no idea"},
    }
    found = {"texts": 4, "peers": {"ours": {"n": 2}, "bad": {"n": 2, "note": "x"}}, "failed": {}}
    later = {"n": 2, "note": "x; measured in a later run, beside Holdfast alone"}
    assert peer_runs.replaced(before, found, "bad") == {
        "texts": 4,
        "peers": {"ours": {"n": 1}, "bad": later},
        "failed": {},
    }
    again = peer_runs.replaced(
        before, {"texts": 4, "peers": {}, "failed": {"bad": "still not"}}, "bad"
    )
    assert again["failed"] == {"bad": "still not"}


# the methods before ours


def test_earlier_ladders_compare_word_sets_and_cosines():
    pairs = [
        Pair("Tea is nice", "  tea is NICE ", True, "formatting", "en"),
        Pair("a b c d e", "a b c d e f", True, "superset", "en"),  # 5 of 6 words: 0.83
        Pair("a b", "a b c", False, "superset", "en"),
    ]
    loose, strict, cosine = (
        [bool(verdict.rung) for verdict in verdicts] for verdicts in seeds(pairs).values()
    )
    assert (loose, strict) == ([True, True, False], [True, False, False])
    assert cosine[0]


def test_three_patterns_hide_prefixed_names_and_miss_passwords():
    hide = secret_scan.seed_redact
    assert hide("use sk-abcdefghijklmnop now") == ("use [REDACTED:seed] now", [(4, 23, "seed")])
    assert hide("task_management_module")[1]
    assert not hide("password=hunter2")[1]
    figures = secret_scan.measure(lambda text: (text, []))
    assert (figures["recall"], figures["precision"]) == (0, 1)


def test_every_sentence_of_a_person_can_be_kept():
    said = {"role": "user", "text": "I like tea. Do you?\nYes!"}
    assert [sentence.quote for sentence in every_sentence(said)] == [
        "I like tea.",
        "Do you?",
        "Yes!",
    ]
    assert every_sentence({"role": "assistant", "text": "I like tea."}) == []


# the page


@pytest.fixture
def options(tmp_path, data):
    return report.Options(data, tmp_path / "work", quick=True)


QUICK = (
    "recall-locomo-none",
    "rankings-locomo",
    "latency-1000",
    "ingest",
    "capture",
    "extraction",
    "dedup",
)


def test_a_quick_run_becomes_a_page(options):
    options.work.mkdir()
    for name in QUICK:
        report.run_part(name, options)
    page = report_page.page(
        report.kept_figures(options), {"notes": "there was no time"}, quick=True
    )
    for part in QUICK:
        assert f"| {part} |" in page
    assert "| **Holdfast**, words only | 1.000 | 1.000 |" in page
    assert "| FTS5, all words | 0.500 | 0.500 |" in page
    assert "Not measured: notes: there was no time." in page
    assert "Its figures mean nothing" in page
    assert str(options.work) not in page and str(options.data) not in page


def test_parts_run_in_processes_and_are_kept(tmp_path, data, capfd):
    given = [
        "--quick",
        "--data",
        str(data),
        "--work",
        str(tmp_path / "work"),
        "--write",
        str(tmp_path / "page.md"),
    ]
    asked = [*given, "--only", "recall-locomo-none", "--only", "recall-longmemeval-none"]
    assert report.main(asked) == 0
    assert "[1/2] recall-locomo-none" in capfd.readouterr().err
    first = (tmp_path / "page.md").read_text()
    assert "Not measured: recall-longmemeval-none: no file of longmemeval was given." in first
    assert report.main(asked) == 0
    assert "recall-locomo-none\n" not in capfd.readouterr().err
    assert (tmp_path / "page.md").read_text() == first


def test_peers_stand_beside_us_in_the_page(tmp_path, data, vectors):
    listed = [peer(tmp_path, "good"), peer(tmp_path, "bad", fails=True)]
    figures = peer_runs.compare(
        list(locomo(data / "locomo10.json")),
        vectors,
        dimensions=64,
        model="fake",
        envs=tmp_path,
        folder=tmp_path / "run",
        peers=listed,
    )
    kept = {
        "figures": figures,
        "date": "2026-01-01",
        "seconds": 1,
        "load": 0.1,
        "machine": {"system": "x"},
    }
    page = report_page.page({"peers-locomo": kept}, {})
    assert "| good | 1.000 | 1.000 |" in page
    assert "bad could not be measured: ValueError: no idea" in page
    assert f"- good (numpy {np.__version__}): for this test." in page
