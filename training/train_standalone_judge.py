"""Trains the judge of what can be understood alone, and writes its weights into the package.

    python training/train_standalone_judge.py --data data/ --friends FriendsQA/ --read FOLDER \
        [--write]

Two kinds of examples: statements that were stored of labelled conversations, each labelled by hand
(`alone.jsonl`, `stored.jsonl`), and written ones (`alone_written.jsonl`). Only the first half of
the conversations is learned from (`bench/fact_labels.py`), and of the chats (`bench/chats.py`)
three people of four; scenes are for testing. Prints how well statements of unseen sessions are told
apart, by weights that did not see them and by the model that reads them whole and did not see them
either: FOLDER has what it says (`train_judge_model.py --fold`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TRAINING = Path(__file__).parent
sys.path.insert(0, str(TRAINING.parent / "bench"))

from train_judge import FOLDS, PLACES, Read, fitted, unseen  # noqa: E402

from fact_labels import (  # noqa: E402
    CORRECT,
    Labelled,
    alone_labels,
    read,
    read_chats,
    statement_labels,
)
from holdfast.extraction import standalone_judge  # noqa: E402
from holdfast.extraction.judge import IDENTITY, together  # noqa: E402
from holdfast.extraction.patterns import language  # noqa: E402
from holdfast.models.embeddings.onnx import OnnxEmbedder  # noqa: E402
from vectors import Vectors  # noqa: E402

OUT = Path(standalone_judge.__file__).with_suffix(".json")
# Of the statements that can be understood alone, so many may be lost. English ones were told so
# that few others are left; in other languages every second one cannot be understood, so more may be
# lost there.
LOST = {"people": 0.14, "assistant": 0.06, "languages": 0.25}

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Example:
    """A statement, where it is from, and whether it can be understood alone."""

    text: str
    language: str
    session: str
    alone: bool
    source: str = ""
    """Where it was labelled; empty if it was written."""
    held_out: bool = False

    @property
    def fold(self) -> int:
        return hashlib.sha256(self.session.encode()).digest()[1] % FOLDS

    @property
    def place(self) -> str:
        """Where it was said, as the models are told."""
        written = "assistant" if self.language == "en" else "languages"
        return PLACES.get(self.source, written)


def by_hand(labelled: Sequence[Labelled]) -> Iterator[Example]:
    """The statements that were labelled one by one."""
    for each in labelled:
        labels = {(turn, words): alone for turn, words, alone in alone_labels(each)}
        for one in statement_labels(each):
            # What was not said may still be understood.
            if one.words and one.label != "wrong":
                labels[one.turn, one.words] = one.label in CORRECT
        for (_, words), alone in labels.items():
            yield Example(words, each.language, each.talk.name, alone, each.source, each.held_out)


def written() -> Iterator[Example]:
    """The written ones; so many make one session."""
    lines = (TRAINING / "alone_written.jsonl").read_text("utf-8").splitlines()
    for number, row in enumerate(map(json.loads, lines)):
        yield Example(row["text"], row["language"], f"written-{number % 29}", row["alone"])


def rows_of(examples: Sequence[Example], vectors: Vectors) -> Array:
    return np.concatenate(
        [
            standalone_judge.rows_of(language(one.language), [one.text], vectors.of([one.text]))
            for one in examples
        ]
    )


def area(scores: Array, alone: NDArray[np.bool_]) -> float:
    """How often one that can be understood alone scores above one that cannot."""
    above = scores[alone][:, None] > scores[~alone][None, :]
    same = scores[alone][:, None] == scores[~alone][None, :]
    return float(above.mean() + same.mean() / 2)


def report(name: str, scores: Array, alone: NDArray[np.bool_], threshold: float) -> None:
    kept = scores >= threshold
    print(
        f"{name:26} {len(alone):4} statements, {alone.mean():.3f} alone, "
        f"area {area(scores, alone):.3f}; at {threshold:.2f}: {alone[kept].mean():.3f} of the kept "
        f"alone, {kept[alone].mean():.3f} of those kept, "
        f"{(~kept)[~alone].mean():.3f} of the others dropped"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--friends", type=Path)
    parser.add_argument("--read", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, default=Path("standalone-vectors.db"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    talks = [each for each in read(options.data, options.friends) if each.source != "scenes"]
    labelled = [*talks, *read_chats(options.data)]
    examples = [one for one in (*by_hand(labelled), *written()) if not one.held_out]
    rows = rows_of(examples, Vectors(options.vectors, OnnxEmbedder()))
    alone = np.array([one.alone for one in examples])
    wanted = alone.astype(np.float32)
    sources = np.array([one.source for one in examples])
    folds = np.array([one.fold for one in examples])
    told = Read(options.read)
    correct = [told.correct(one.session, one.text, one.place) for one in examples]
    scores = together(unseen(rows, wanted, folds), correct)
    thresholds = {
        name: float(np.quantile(scores[alone & (sources == name)], lost))
        for name, lost in LOST.items()
    }
    print(f"{len(examples)} examples")
    for source in sorted(set(sources) - {""}):
        chosen = sources == source
        threshold = thresholds.get(source, thresholds["people"])
        report(f"unseen sessions, {source}", scores[chosen], alone[chosen], threshold)
    if options.write:
        write(fitted(rows, wanted), thresholds, len(examples))


def write(weights: Array, thresholds: dict[str, float], count: int) -> None:
    """Writes the file that ships."""
    told = {
        "provenance": {
            "encoder": IDENTITY,
            "program": "training/train_standalone_judge.py",
            "labels": "alone.jsonl, stored.jsonl (first half) and alone_written.jsonl",
            "examples": count,
        },
        "thresholds": {name: round(value, 4) for name, value in thresholds.items()},
        "weights": [round(float(one), 4) for one in weights],
    }
    OUT.write_text(json.dumps(told) + "\n", "utf-8")
    print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
