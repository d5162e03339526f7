"""Trains the judge of what users say in coding sessions, and writes its weights into the package.

    python training/train_note_judge.py SESSIONS [--write]

SESSIONS is the folder that `bench/coding_sessions.py fetch` fills. Reads the labelled sentences of
`coding_statements.jsonl`: real ones by their hash, of the dev half only, and some of our own with
their text. Prints how many of the sentences over a threshold are useful, each judged by weights
that did not see its project. Logistic regression, half a minute.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BENCH = Path(__file__).parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import train_judge  # noqa: E402

import holdfast.extraction.coding.note_judge as judges  # noqa: E402
from coding_notes import sessions  # noqa: E402
from holdfast.extraction import judge  # noqa: E402
from holdfast.extraction.coding.coding_session import read  # noqa: E402
from holdfast.extraction.coding.note import TOPICS  # noqa: E402
from holdfast.extraction.coding.statements import may_stand  # noqa: E402
from holdfast.extraction.speech import Sentence  # noqa: E402
from holdfast.models.embeddings.onnx import OnnxEmbedder  # noqa: E402

LABELS = Path(__file__).parent / "coding_statements.jsonl"
OUT = Path(judges.__file__).with_suffix(".json")
OWN = "own"
# Fewer labels than the judge of conversations has, and more features.
fitted = partial(train_judge.fitted, penalty=10.0)
# Likelihoods: chosen on the scores by project below.
THRESHOLDS = {"alone": 0.6, "pattern": 0.2, "again": 0.4}


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled sentence of a project."""

    project: str
    sentence: Sentence
    label: str
    topic: str

    @property
    def useful(self) -> bool:
        return self.label == "useful"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def examples(folder: Path) -> Iterator[Example]:
    """Labelled sentences, each once."""
    waiting = {}
    for line in LABELS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if "text" in row:
            yield Example(OWN, Sentence(row["text"]), row["label"], row["topic"])
        else:
            waiting[row["sha256"]] = row
    for session in sessions(folder, "dev"):
        for said in read(session.turns).said:
            for sentence in said.sentences if said.by_user else ():
                row = waiting.pop(digest(sentence.text), None)
                if row is not None:
                    yield Example(session.project, sentence, row["label"], row["topic"])
    if waiting:
        sys.exit(f"{len(waiting)} labelled sentences are not in {folder}.")


def unseen(
    rows: NDArray[np.float32],
    wanted: NDArray[np.float32],
    projects: NDArray[np.str_],
) -> NDArray[np.float32]:
    """How likely each sentence is, by weights that did not see its project."""
    likely = np.zeros(len(wanted), dtype=np.float32)
    for project in set(projects) - {OWN}:
        rest = projects != project
        likely[~rest] = 1 / (1 + np.exp(-rows[~rest] @ fitted(rows[rest], wanted[rest])))
    return likely


def report(found: list[Example], likely: NDArray[np.float32]) -> None:
    """Prints the labels of sentences over each threshold."""
    stands = np.array([each.project != OWN and may_stand(each.sentence) for each in found])
    labels = np.array([each.label for each in found])
    for name, lowest in THRESHOLDS.items():
        chosen = labels[stands & (likely >= lowest)]
        bad = np.isin(chosen, ("wrong", "garbage")).mean()
        useful = (chosen == "useful").mean()
        print(
            f"{name:8} {len(chosen):4} sentences, useful {useful:.2f}, wrong or garbage {bad:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sessions", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = list(examples(options.sessions))
    said = [each.sentence for each in found]
    rows = judges.with_hints(judge.features(judges.as_clauses(said), OnnxEmbedder()), said)
    wanted = np.array([each.useful for each in found], dtype=np.float32)
    projects = np.array([each.project for each in found])
    print(f"{len(found)} sentences, {int(wanted.sum())} useful")
    report(found, unseen(rows, wanted, projects))
    weights = {judges.KEEP: fitted(rows, wanted)}
    useful = wanted == 1
    topics = np.array([each.topic for each in found])[useful]
    scores = np.array(
        [
            unseen(rows[useful], (topics == name).astype(np.float32), projects[useful])
            for name in TOPICS
        ]
    )
    real = projects[useful] != OWN
    right = np.array(TOPICS)[scores.argmax(axis=0)] == topics
    print(f"topic right in {right[real].mean():.2f}")
    for name in TOPICS:
        weights[name] = fitted(rows[useful], (topics == name).astype(np.float32))
    if options.write:
        write(weights, len(found))


def write(weights: dict[str, NDArray[np.float32]], count: int) -> None:
    """Writes the file that ships."""
    told = {
        "provenance": {
            "encoder": judge.IDENTITY,
            "program": "training/train_note_judge.py",
            "labels": "training/coding_statements.jsonl",
            "sentences": count,
        },
        "thresholds": THRESHOLDS,
        "weights": {name: [round(float(one), 4) for one in row] for name, row in weights.items()},
    }
    OUT.write_text(json.dumps(told) + "\n", "utf-8")
    print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
