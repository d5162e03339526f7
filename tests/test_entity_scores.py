"""The scorer of entities: what counts as found, and which half is for testing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
sys.path.append(str(BENCH))  # behind everything else: nothing of ours may hide another's module

import entities  # noqa: E402
import fact_labels  # noqa: E402


def scores_of(monkeypatch, said, labels, *, speaker="Zdenka"):
    talk = fact_labels.Conversation(
        "conv-0|D1", fact_labels.UNDATED, {"D1:1": fact_labels.Said(speaker, said)}
    )
    row = {"turn": "conv-0|D1:1", "entities": labels}
    monkeypatch.setattr(entities, "labels", lambda half: {"conv-0|D1": [row]})
    scores = entities.scored({"people": {"conv-0|D1": talk}}, "dev", misses=False)
    return scores["people"].report()


def test_names_are_compared_without_case_article_and_possessive(monkeypatch):
    labels = [
        {"name": "the Blue Heron Fair", "type": "event"},
        {"name": "Lisbon", "type": "place"},
        {"name": "Quux", "type": "person"},
    ]
    said = "We saw Tom at the Blue Heron Fair in Lisbon."
    report = scores_of(monkeypatch, said, labels)
    assert (report["labelled"], report["named"]) == (3, 3)
    assert (report["precision"], report["recall"], report["right_type"]) == (0.667, 0.667, 1.0)
    assert report["found_by_type"] == {
        "event": "1 of 1",
        "place": "1 of 1",
        "person": "0 of 1",
    }


def test_who_speaks_is_not_counted(monkeypatch):
    report = scores_of(monkeypatch, "it was a good day", [])
    assert (report["named"], report["precision"], report["recall"]) == (0, None, None)


def test_every_label_is_in_one_half():
    rows = [
        row for half in ("dev", "test") for rows in entities.labels(half).values() for row in rows
    ]
    assert len(rows) == len({row["turn"] for row in rows}) == 300


@pytest.mark.parametrize("half", ["dev", "test"])
def test_a_conversation_is_in_one_half(half):
    assert {entities.half_of(name) for name in entities.labels(half)} == {half}
