"""Trains the judge of what is worth keeping, and writes its weights into the package.

    python training/train_judge.py --data data/ --friends FriendsQA/ --read FOLDER [--write]

Reads the first half of the labelled conversations (`bench/fact_labels.py`); the other half is for
`bench/learning.py`. A clause is worth keeping when it holds at least half of the words of a
labelled quote. Scenes of FriendsQA are only for testing: with them among the examples, less is
found in every other source, and nothing in scenes. Of chats (`bench/chats.py`) only statements were
labelled: a useful one is worth keeping, garbage is not; with trivial ones as examples as well, less
is found between people. Prints precision and recall of clauses, each
judged by models that did not see its conversation; FOLDER has what the model that reads them whole
says (`train_judge_model.py --fold`). Logistic regression by Newton's method, a minute on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BENCH = Path(__file__).parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import holdfast.extraction.judge as judges  # noqa: E402
from extraction import share_of  # noqa: E402
from fact_labels import CORRECT, Labelled, read, read_chats, statement_labels  # noqa: E402
from holdfast.extraction.clauses import Clause, clauses_of  # noqa: E402
from holdfast.extraction.patterns import language  # noqa: E402
from holdfast.extraction.speech import own_words  # noqa: E402
from holdfast.models.embeddings.onnx import OnnxEmbedder  # noqa: E402
from vectors import Vectors  # noqa: E402

OUT = Path(judges.__file__).with_suffix(".json")
FOLDS = 5
PENALTY = 6.0
# Of the clauses that nobody labelled as worth keeping, most are still correct and can be understood
# alone (`stored.jsonl`), so these are lower than the precision that is wanted of what is stored.
PRECISION = {"assistant": 0.86, "people": 0.83, "languages": 0.9}
# A statement that a pattern fits as well needs less.
PATTERN_PRECISION = 0.8

# Where something was said, as the models are told.
PLACES = {
    "assistant": "assistant",
    "people": "people",
    "scenes": "people",
    "chats": "people",
    "languages": "languages",
}

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Example:
    """A clause and the facts that were labelled in it."""

    source: str
    conversation: str
    clause: Clause
    facts: list[dict[str, Any]]

    @property
    def worth(self) -> bool:
        return bool(self.facts)

    @property
    def must(self) -> bool:
        return any(fact["weight"] == 2 for fact in self.facts)

    @property
    def fold(self) -> int:
        return hashlib.sha256(self.conversation.encode()).digest()[1] % FOLDS


def examples(labelled: list[Labelled]) -> Iterator[Example]:
    """Every clause of the labelled turns."""
    for each in labelled:
        for turn, facts in each.facts.items():
            said = each.talk.turns[turn]
            words = own_words(said.text, role=said.role)
            for clause in clauses_of(language(each.language), words):
                held = [fact for fact in facts if share_of(fact["quote"], clause.text) >= 0.5]
                yield Example(each.source, each.talk.name, clause, held)


def chat_examples(chats: list[Labelled]) -> Iterator[Example]:
    """The clauses of chats whose statement was labelled as useful or as garbage."""
    for each in chats:
        for one in statement_labels(each):
            if one.label not in ("useful", "garbage") or not one.words:
                continue
            facts = [{"kind": "", "weight": 1}] if one.label == "useful" else []
            words = own_words(each.talk.turns[one.turn].text, role="user")
            for clause in clauses_of(language("en"), words):
                if share_of(one.words, clause.text) >= 0.5:
                    yield Example("chats", each.talk.name, clause, facts)


def fitted(rows: Array, wanted: Array, penalty: float = PENALTY) -> Array:
    """Weights of a logistic regression; `penalty` keeps them small."""
    weights = np.zeros(rows.shape[1], dtype=rows.dtype)
    for _ in range(8):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (likely - wanted) + penalty * weights
        step = _solved(rows, likely * (1 - likely), slope, penalty)
        weights -= step
        if np.abs(step).max() < 1e-3:
            break
    return weights


def _solved(rows: Array, bends: Array, slope: Array, penalty: float) -> Array:
    """The step of Newton's method, by conjugate gradients: the matrix itself would be large."""
    step = np.zeros_like(slope)
    rest = slope.copy()
    way = rest.copy()
    for _ in range(30):
        bent = rows.T @ (bends * (rows @ way)) + penalty * way
        length = (rest @ rest) / (way @ bent)
        step += length * way
        following = rest - length * bent
        if following @ following < 1e-6 * (slope @ slope):
            break
        way = following + (following @ following) / (rest @ rest) * way
        rest = following
    return step


def unseen(rows: Array, wanted: Array, folds: NDArray[np.int64]) -> Array:
    """The score of each row, by weights that did not see its conversation."""
    scores = np.zeros(len(wanted), dtype=np.float32)
    for fold in range(FOLDS):
        rest = folds != fold
        scores[~rest] = rows[~rest] @ fitted(rows[rest], wanted[rest])
    return scores


class Read:
    """What models that did not see a conversation read in its clauses and statements."""

    def __init__(self, folder: Path) -> None:
        self._odds: dict[tuple[str, str, str], tuple[float, float]] = {}
        for path in sorted(folder.glob("*.jsonl")):
            for row in map(json.loads, path.read_text("utf-8").splitlines()):
                keep, worth = row["keep"][1], sum(row["statement"][: len(CORRECT)])
                self._odds[row["session"], row["text"], row["place"]] = odds(keep), odds(worth)

    def keep(self, session: str, text: str, place: str) -> float:
        return self._odds[session, text, place][0]

    def correct(self, session: str, text: str, place: str) -> float:
        return self._odds[session, text, place][1]


def odds(likely: float) -> float:
    """A likelihood as the logarithm of its odds; one that was rounded to 0 or 1 is nearly that."""
    inside = min(max(likely, 1e-4), 1 - 1e-4)
    return math.log(inside / (1 - inside))


def lowest(scores: Array, wanted: Array, precision: float) -> float:
    """The lowest threshold above which this share is right."""
    order = np.argsort(-scores)
    right = np.cumsum(wanted[order]) / np.arange(1, len(order) + 1)
    return float(scores[order][np.flatnonzero(right >= precision)[-1]])


def report(name: str, scores: Array, found: list[Example], threshold: float) -> None:
    """Prints precision and recall of the clauses over a threshold."""
    kept = scores >= threshold
    worth = np.array([each.worth for each in found])
    must = np.array([each.must for each in found])
    print(
        f"{name:10} {kept.sum():5} kept, precision {worth[kept].mean():.3f}, "
        f"recall {kept[worth].mean():.3f}, of must-keep {kept[must].mean():.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--friends", type=Path)
    parser.add_argument("--read", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, default=Path("judge-vectors.db"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    labelled = read(options.data, options.friends)
    found = list(
        examples([each for each in labelled if not each.held_out and each.source != "scenes"])
    )
    chats = [each for each in read_chats(options.data) if not each.held_out]
    found += chat_examples(chats)
    rows = features(found, options.vectors)
    wanted = np.array([each.worth for each in found], dtype=np.float32)
    folds = np.array([each.fold for each in found])
    told = Read(options.read)
    keep = [told.keep(one.conversation, one.clause.text, PLACES[one.source]) for one in found]
    scores = judges.together(unseen(rows, wanted, folds), keep)
    sources = np.array([each.source for each in found])
    whole = sources != "chats"
    thresholds = {"pattern": lowest(scores[whole], wanted[whole], PATTERN_PRECISION)}
    print(f"{len(found)} clauses, {int(wanted.sum())} worth keeping")
    for source, precision in PRECISION.items():
        own = [each for each in found if each.source == source]
        chosen = sources == source
        thresholds[source] = lowest(scores[chosen], wanted[chosen], precision)
        report(source, scores[chosen], own, thresholds[source])
    print(f"thresholds {thresholds}")
    weights = {judges.KEEP: fitted(rows, wanted), **kinds(rows, found, folds)}
    if options.write:
        write(weights, thresholds, len(found))


def kinds(rows: Array, found: list[Example], folds: NDArray[np.int64]) -> dict[str, Array]:
    """Weights for each kind of statement, learned on the clauses that are worth keeping."""
    labels = np.array([each.facts[0]["kind"] if each.facts else "" for each in found])
    kept = np.isin(labels, list(judges.KINDS))
    named = {name: (labels[kept] == name).astype(np.float32) for name in judges.KINDS}
    scores = np.array([unseen(rows[kept], wanted, folds[kept]) for wanted in named.values()])
    chosen = np.array(list(named))[scores.argmax(axis=0)]
    print(f"kind right in {(chosen == labels[kept]).mean():.3f}")
    return {name: fitted(rows[kept], wanted) for name, wanted in named.items()}


def features(found: list[Example], vectors: Path) -> Array:
    """The rows of all clauses; vectors take minutes, so they are kept."""
    bare = judges.features([each.clause for each in found], Vectors(vectors, OnnxEmbedder()))
    places = [PLACES[each.source] for each in found]
    return np.concatenate(
        [judges.with_place(row[None], place) for row, place in zip(bare, places, strict=True)]
    )


def write(weights: dict[str, Array], thresholds: dict[str, float], count: int) -> None:
    """Writes the file that ships."""
    told = {
        "provenance": {
            "encoder": judges.IDENTITY,
            "program": "training/train_judge.py",
            "labels": "first half of training/facts*.jsonl",
            "talk": "LongMemEval (MIT), LoCoMo 1-3 (CC BY-NC 4.0), FriendsQA (Apache-2.0), "
            "LUFY and Synthetic-Persona-Chat (CC BY 4.0), our own",
            "clauses": count,
        },
        "thresholds": {name: round(value, 4) for name, value in thresholds.items()},
        "weights": {name: [round(float(one), 4) for one in row] for name, row in weights.items()},
    }
    OUT.write_text(json.dumps(told) + "\n", "utf-8")
    print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
