"""Learn the weights of `extraction/similarity/changes.json` from labelled pairs of statements.

    python training/train_changes.py            # measure by ten folds
    python training/train_changes.py --write    # and write the weights of all of it

Only the development half of the pairs is read (`development` in `bench/changes.py`); the other half
is for the figures that are published. `change_pairs_plain.jsonl` has pairs as extraction words
them, and pairs of labelled facts in which nothing replaces anything: without them the model would
see change everywhere, because a third of what people wrote down as pairs is change.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
from changes import Pair, pairs_of
from holdfast.extraction.similarity import changes
from holdfast.extraction.similarity.change_words import words_of

HERE = Path(__file__).parent
PLAIN = "change_pairs_plain.jsonl"
RIDGE = 0.015
STEPS = 400
FOLDS = 10
# Probability from which a wrong replacement is printed.
SHOWN = 0.5


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


def cross_validated(own: list[Pair], plain: list[Pair]) -> np.ndarray:
    """Probabilities of the development pairs, each by a model that did not see it."""
    rows, labels, weights, _ = table(own + plain)
    found = np.zeros((len(own), len(changes.LABELS)))
    order = np.random.RandomState(7).permutation(len(own))
    for fold in range(FOLDS):
        left_out = order[fold::FOLDS]
        seen = np.setdiff1d(np.arange(len(rows)), left_out)
        model = fitted(rows[seen], labels[seen], weights[seen])
        found[left_out] = predicted(model, rows[left_out])
    return found


def report(own: list[Pair], found: np.ndarray) -> None:
    """Print precision and recall of each label at several thresholds."""
    barred = np.array(
        [one.barred or changes.rules_out(words_of(one.earlier), words_of(one.later)) for one in own]
    )
    found = found.copy()
    for row, one in zip(found, own, strict=True):
        row[0] *= changes.shows_change(words_of(one.earlier), words_of(one.later))
    wrong = (found[:, 0] >= SHOWN) & ~barred & (found.argmax(1) == 0)
    for one, chance, is_wrong in zip(own, found[:, 0], wrong, strict=True):
        if is_wrong and one.label != "replaces":
            print(f"{chance:.2f} {one.label}: {one.earlier} || {one.later}")
    for place, label in enumerate(changes.LABELS):
        right = np.array([one.label == label for one in own])
        for least in (0.4, 0.5, 0.6, 0.7, 0.8):
            said = (found[:, place] >= least) & (found.argmax(1) == place) & ~barred
            hits = (said & right).sum()
            print(
                f"{label:10} {least}: precision {hits / max(1, said.sum()):.2f} of {said.sum():3} "
                f"recall {hits / right.sum():.2f}"
            )


def main() -> None:
    """Measure, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    own = [one for one in pairs_of(HERE) if one.development]
    plain = [Pair.of(json.loads(line)) for line in (HERE / PLAIN).open(encoding="utf-8")]
    report(own, cross_validated(own, plain))
    if not asked.write:
        return
    rows, labels, weights, names = table(own + plain)
    mean, spread, learned = fitted(rows, labels, weights)
    scaled = learned[:-1] / spread[:, None]
    bias = learned[-1] - mean @ scaled
    told = {
        "features": names,
        "weights": {
            label: [round(float(one), 4) for one in scaled[:, place]]
            for place, label in enumerate(changes.LABELS)
        },
        "bias": {label: round(float(bias[place]), 4) for place, label in enumerate(changes.LABELS)},
    }
    target = Path(changes.__file__).with_name("changes.json")
    target.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
