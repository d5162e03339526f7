"""Learn the weights of `extraction/similarity/changes.json` from labelled pairs of statements.

    python training/train_changes.py                       # measure on pairs of bench/changes.py
    python training/train_changes.py --read FILE --write   # and write the weights

Learned are two models: one of words alone, and one of words and of what the reranker reads in the
two statements. The second needs that reading for pairs the reranker was not trained on, which
`train_reranker.py --read-changes FILE` writes. `change_pairs_plain.jsonl` has pairs as extraction
words them, and pairs of labelled facts in which nothing replaces anything: without them the model
would see change everywhere, because a third of what people write down as pairs is change.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
from changes import TEST, Pair, pairs_of
from holdfast.extraction.similarity import changes
from holdfast.extraction.similarity.change_words import words_of
from holdfast.models.reranker import Reranker

HERE = Path(__file__).parent
PLAIN = "change_pairs_plain.jsonl"
LEARNED = ("change_pairs_written.jsonl", PLAIN)
# Extraction words statements plainly, and few pairs are plain: they count for more.
UNRELATED_WEIGHT = 2
PLAIN_WEIGHT = 12
RIDGE = 0.005
STEPS = 400


def learned(name: str) -> Iterator[Pair]:
    """The pairs of a file, with the weight that they have here."""
    with (HERE / name).open(encoding="utf-8") as lines:
        for pair in (Pair.of(json.loads(line)) for line in lines):
            times = UNRELATED_WEIGHT if pair.label == "unrelated" else PLAIN_WEIGHT
            yield replace(pair, weight=pair.weight * times) if name == PLAIN else pair


def fitted(rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Fit softmax weights by gradient descent; returns mean, spread and weights with the bias."""
    mean, spread = rows.mean(0), rows.std(0) + 0.05
    inputs = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    wanted = np.eye(len(changes.LABELS))[labels]
    learned = np.zeros((inputs.shape[1], wanted.shape[1]))
    velocity = learned.copy()
    ridge = np.full((inputs.shape[1], 1), RIDGE)
    ridge[-1] = 0
    for _ in range(STEPS):
        wrong = (chances(inputs @ learned) - wanted) * weights[:, None] / weights.sum()
        velocity = 0.9 * velocity - 0.09 * (inputs.T @ wrong + ridge * learned)
        learned = learned + velocity
    return mean, spread, learned


def chances(scores: np.ndarray) -> np.ndarray:
    """Softmax of each row."""
    parts = np.exp(scores - scores.max(1, keepdims=True))
    return parts / parts.sum(1, keepdims=True)


def predicted(model: tuple[np.ndarray, ...], rows: np.ndarray) -> np.ndarray:
    """The probability of each label for each row."""
    mean, spread, learned = model
    return chances(np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))]) @ learned)


def table(pairs: list[Pair]) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Features, labels and weights of pairs, and the names of the features."""
    found = [changes.features(words_of(one.earlier), words_of(one.later)) for one in pairs]
    names = list(found[0])
    rows = np.array([[one[name] for name in names] for one in found])
    labels = np.array([changes.LABELS.index(one.label) for one in pairs])
    return rows, labels, np.array([one.weight for one in pairs]), names


def report(pairs: list[Pair], found: np.ndarray) -> None:
    """Print precision and recall of each label at several thresholds."""
    barred = np.array(
        [
            one.barred or changes.rules_out(words_of(one.earlier), words_of(one.later))
            for one in pairs
        ]
    )
    for place, label in enumerate(changes.LABELS):
        right = np.array([one.label == label for one in pairs])
        for least in (0.5, 0.6, 0.7, 0.8, 0.9):
            said = (found[:, place] >= least) & ~barred
            hits = (said & right).sum()
            print(
                f"{label:10} {least}: precision {hits / max(1, said.sum()):.2f} of {said.sum():3} "
                f"recall {hits / right.sum():.2f}"
            )


def told(names: list[str], model: tuple[np.ndarray, ...]) -> dict[str, object]:
    """A fitted model as the package reads it."""
    mean, spread, learned = model
    scaled = learned[:-1] / spread[:, None]
    bias = learned[-1] - mean @ scaled
    return {
        "features": names,
        "weights": {
            label: [round(float(one), 4) for one in scaled[:, place]]
            for place, label in enumerate(changes.LABELS)
        },
        "bias": {label: round(float(bias[place]), 4) for place, label in enumerate(changes.LABELS)},
    }


def readings(pairs: list[Pair]) -> np.ndarray:
    """What the shipped reranker makes of pairs."""
    reranker = Reranker()
    return np.array([reranker.changes(one.earlier, one.later) for one in pairs])


def with_reading(rows: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Features with those of a reading."""
    return np.hstack([rows, [list(changes.reading(one).values()) for one in read]])


def main() -> None:
    """Measure, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--read", type=Path, help="what the reranker reads in pairs it never saw")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    pairs = [pair for name in LEARNED for pair in learned(name)]
    tested = [one for one in pairs_of(HERE) if one.source != TEST]
    rows, labels, weights, names = table(pairs)
    tested_rows = table(tested)[0]
    target = Path(changes.__file__).with_name("changes.json")
    found = json.loads(target.read_text("utf-8"))
    words = fitted(rows, labels, weights)
    print("words alone")
    report(tested, predicted(words, tested_rows))
    found["words"] = told(names, words)
    if asked.read:
        read = np.load(asked.read)
        both = fitted(with_reading(rows, read), labels, weights)
        print("words and reading")
        report(tested, predicted(both, with_reading(tested_rows, readings(tested))))
        found["read"] = told([*names, *changes.reading(read[0])], both)
    if asked.write:
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
