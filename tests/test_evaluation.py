"""The built-in benchmark: made-up data sets of a few turns, whose figures can be worked out by
hand.
"""

from __future__ import annotations

import json

import pytest

from holdfast import InvalidInput, Settings
from holdfast.benchmark import evaluate, locomo, longmemeval, per_question, report
from holdfast.types import iso

OFFLINE = Settings(embedding_models="none")
FIRST, SECOND = "1:56 pm on 8 May, 2023", "10:37 am on 27 June, 2023"


def turn(id_, speaker, text, **more):
    return {"dia_id": id_, "speaker": speaker, "text": text, **more}


def question(text, category, *evidence):
    return {"question": text, "category": category, "evidence": list(evidence), "answer": "x"}


def conversation(*qa):
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "session_1_date_time": FIRST,
            "session_1": [
                turn("D1:1", "Ann", "I adopted a greyhound"),
                turn("D1:2", "Bob", "", blip_caption="a harbour at night"),
                turn("D1:3", "Bob", "   "),
            ],
            "session_2_date_time": SECOND,
            "session_2": [
                turn("D2:1", "Ann", "My xylophone broke"),
                turn("D2:2", "Bob", "What a pity"),
            ],
        },
        "qa": list(qa),
    }


@pytest.fixture
def file(tmp_path):
    def write(data):
        path = tmp_path / "data.json"
        path.write_text(json.dumps(data))
        return path

    return write


def answers(pools, tmp_path):
    return evaluate(pools, tmp_path / "bench.db", OFFLINE)


def test_a_locomo_file_becomes_turns_with_speaker_caption_and_time(file):
    (pool,) = locomo(file([conversation(question("Which dog did Ann adopt?", 4, "D1:1"))]))
    assert [turn["key"] for turn in pool.turns] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2"]
    assert pool.turns[1]["text"] == " [photo: a harbour at night]"
    assert iso(pool.turns[3]["event_time"]) == "2023-06-27T10:37:00+00:00"
    (asked,) = pool.questions
    assert (asked.category, asked.gold, asked.now) == (
        "single-hop",
        {"D1:1"},
        pool.turns[4]["event_time"],
    )


def test_malformed_evidence_is_read_as_far_as_it_can_be(file):
    qa = [
        question("two in one cell", 1, "D1:1; D2:1"),
        question("a stray colon", 1, "D:2:2"),
        question("leading zeros", 1, "D02:01"),
        question("words around it", 1, "see D1:2."),
        question("partly unknown", 1, "D1:1", "D9:9"),
        question("all unknown", 1, "D9:9"),
        question("nothing", 1),
        {"question": "no evidence", "category": 1},
    ]
    (pool,) = locomo(file([conversation(*qa)]))
    assert [sorted(asked.gold) for asked in pool.questions] == [
        ["D1:1", "D2:1"],
        ["D2:2"],
        ["D2:1"],
        ["D1:2"],
        ["D1:1"],
    ]


def test_the_figures_of_a_tiny_locomo_file_are_right(file, tmp_path):
    qa = [
        question("Which greyhound did Ann adopt?", 4, "D1:1"),
        question("greyhound and xylophone", 1, "D1:1", "D2:1"),
        question("Tell me about quantum chromodynamics", 5, "D2:2"),
    ]
    result = report(answers(locomo(file([conversation(*qa)])), tmp_path))
    assert result["questions"] == 3
    assert [result["turns"]["single-hop"][f"R@{depth}"] for depth in (1, 5, 10, 20)] == [1, 1, 1, 1]
    assert [result["turns"]["multi-hop"][f"R@{depth}"] for depth in (1, 5)] == [0.5, 1]
    assert result["turns"]["adversarial"]["R@20"] == 0
    assert result["turns"]["all"]["R@1"] == pytest.approx(0.5)
    assert (
        result["turns"]["answerable"] | {"questions": 2, "R@1": 0.75, "R@5": 1}
        == result["turns"]["answerable"]
    )
    assert (
        result["sessions"]["multi-hop"] | {"R@1": 0.5, "any@1": 1, "all@1": 0, "all@5": 1}
        == result["sessions"]["multi-hop"]
    )


def test_each_conversation_is_searched_on_its_own(file, tmp_path):
    asked = question("Which greyhound did Ann adopt?", 4, "D1:1")
    found = answers(locomo(file([conversation(asked), conversation(asked)])), tmp_path)
    assert [answer.ranked.count("D1:1") for answer in found] == [1, 1]


def test_each_question_can_be_written_as_a_line(file, tmp_path):
    found = answers(
        locomo(file([conversation(question("Which greyhound did Ann adopt?", 4, "D1:1"))])),
        tmp_path,
    )
    (line,) = map(json.loads, per_question(found))
    assert (line["question"], line["gold"], line["ranked"][0], line["R@1"]) == (
        "Which greyhound did Ann adopt?",
        ["D1:1"],
        "D1:1",
        1.0,
    )


def entry(id_, text, sessions, **more):
    return {
        "question_id": id_,
        "question": text,
        "question_type": "single-session-user",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": list(sessions),
        "haystack_dates": ["2023/05/20 (Sat) 02:21" for _ in sessions],
        "haystack_sessions": list(sessions.values()),
        **more,
    }


SAID = {
    "s1": [
        {"role": "user", "content": "My greyhound is called Otto", "has_answer": True},
        {"role": "assistant", "content": "Nice"},
    ],
    "s2": [{"role": "user", "content": "I play the xylophone"}],
}


def test_the_figures_of_a_tiny_longmemeval_file_are_right(file, tmp_path):
    entries = [
        entry("q1", "What is my greyhound called?", SAID),
        entry("q2", "nothing to find", {"s2": SAID["s2"]}),
        entry("q3", "greyhound again", {"s1": SAID["s1"]}, question_type="knowledge-update"),
    ]
    (pool,) = longmemeval(file(entries))
    assert [turn["key"] for turn in pool.turns] == ["s1#0", "s1#1", "s2#0"]
    assert [(asked.id, sorted(asked.gold)) for asked in pool.questions] == [
        ("q1", ["s1#0"]),
        ("q3", ["s1#0"]),
    ]
    result = report(answers([pool], tmp_path))
    assert (result["turns"]["all"]["R@1"], result["sessions"]["all"]["R@1"]) == (1, 1)
    assert result["turns"].keys() == {"all", "single-session-user", "knowledge-update"}


@pytest.mark.parametrize("read", [locomo, longmemeval])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"{}", "does not hold a list"),
        (b"nope", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[17]", "this data set"),
        (b"[{}]", "this data set"),
    ],
)
def test_a_file_that_is_no_such_data_set_is_an_error_that_names_it(
    tmp_path, read, content, complaint
):
    path = tmp_path / "data.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=complaint) as caught:
        list(read(path))
    assert "data.json" in str(caught.value)


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path):
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(InvalidInput, match=path.name):
            list(locomo(path))


def test_an_empty_data_set_has_no_questions_and_figures_of_zero(file, tmp_path):
    for read in (locomo, longmemeval):
        result = report(answers(read(file([])), tmp_path))
        assert (result["questions"], result["turns"]["all"]["R@1"]) == (0, 0)
