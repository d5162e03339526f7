"""Trains the judge of what users say in coding sessions, and writes its weights into the package.

    python training/train_note_judge.py SESSIONS [--write]

SESSIONS is the folder that `bench/coding_sessions.py fetch` fills. Reads the labelled sentences of
`coding_statements.jsonl`: real ones by their hash, of both halves, and some of our own with their
text. Prints how many of the sentences over a
threshold are useful, each judged by weights that did not see its project. Logistic regression,
half a minute after the sentences are read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BENCH = Path(__file__).parent.parent / "bench"
sys.path.insert(0, str(BENCH))

import train_judge  # noqa: E402

import holdfast.extraction.coding.note_judge as judges  # noqa: E402
from coding_notes import sessions  # noqa: E402
from coding_sessions import READ  # noqa: E402
from holdfast.extraction import judge  # noqa: E402
from holdfast.extraction.coding.coding_session import read  # noqa: E402
from holdfast.extraction.coding.note import TOPICS  # noqa: E402
from holdfast.extraction.coding.statements import is_clear, may_stand  # noqa: E402
from holdfast.extraction.speech import Sentence  # noqa: E402
from holdfast.models.embeddings.onnx import OnnxEmbedder  # noqa: E402

LABELS = Path(__file__).parent / "coding_statements.jsonl"
OUT = Path(judges.__file__).with_suffix(".json")
OWN = "own"
# Fewer labels than the judge of conversations has, and more features.
fitted = partial(train_judge.fitted, penalty=20.0)
# Likelihoods: chosen on the scores by project below.
THRESHOLDS = {
    "alone": 0.95,
    "lasting": 0.18,
    "pattern": 0.12,
    "choice": 0.05,
    "plain": 0.3,
    "approved": 0.24,
    "again": 0.42,
}


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence of a project, with the label of each who read it."""

    project: str
    sentence: Sentence
    labels: tuple[str, ...]
    topic: str

    def share(self, *labels: str) -> float:
        """The share of readers who gave one of these labels."""
        return sum(label in labels for label in self.labels) / len(self.labels)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def said(folder: Path) -> Iterator[tuple[str, Sentence]]:
    """Every sentence of a user, with its project."""
    for session in chain.from_iterable(sessions(folder, half) for half in READ):
        for turn in read(session.turns).said:
            for sentence in turn.sentences if turn.by_user else ():
                yield session.project, sentence


def examples(sentences: Iterable[tuple[str, Sentence]]) -> Iterator[Example]:
    """Labelled sentences, each once; our own come without a session."""
    waiting = {}
    for line in LABELS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if "text" in row:
            yield Example(OWN, Sentence(row["text"]), (row["label"],), row["topic"])
        else:
            waiting[row["sha256"]] = row
    for project, sentence in sentences:
        row = waiting.pop(digest(sentence.text), None)
        if row is not None:
            labels = tuple(row[name] for name in ("label", "second") if name in row)
            yield Example(project, sentence, labels, row["topic"])
    if waiting:
        print(f"left out: {len(waiting)} labelled sentences that no session has", file=sys.stderr)


def unseen(
    rows: NDArray[np.float32],
    wanted: NDArray[np.float32],
    projects: NDArray[np.str_],
) -> NDArray[np.float32]:
    """How likely each sentence is, by weights that did not see its project."""
    likely = np.zeros(len(wanted), dtype=np.float32)
    for project in set(projects) - {OWN}:
        own = projects == project
        likely[own] = 1 / (1 + np.exp(-rows[own] @ fitted(rows[~own], wanted[~own])))
    return likely


def report(found: list[Example], likely: NDArray[np.float32]) -> None:
    """Prints how many of the sentences over each threshold are useful, and of those that would be
    notes. A sentence that only one of two readers finds useful counts half.
    """
    stands = np.array([each.project != OWN and may_stand(each.sentence) for each in found])
    clear = np.array(
        [is_clear(each.sentence.text, keep) for each, keep in zip(found, likely, strict=True)]
    )
    useful = np.array([each.share("useful") for each in found])
    bad = np.array([each.share("wrong", "garbage") for each in found])
    groups = {name: stands & (likely >= lowest) for name, lowest in THRESHOLDS.items()}
    groups["notes"] = stands & clear
    for name, chosen in groups.items():
        told = f"{useful[chosen].sum():.1f} useful, {bad[chosen].sum():.1f} wrong or garbage"
        print(f"{name:8} {chosen.sum():4} sentences, {told}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sessions", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = list(examples(said(options.sessions)))
    labelled = [each.sentence for each in found]
    vectors = judge.features(judges.as_clauses(labelled), OnnxEmbedder())
    rows = judges.with_hints(vectors, labelled)
    wanted = np.array([each.share("useful") for each in found], dtype=np.float32)
    projects = np.array([each.project for each in found])
    print(f"{len(found)} sentences, {wanted.sum():.1f} useful")
    report(found, unseen(rows, wanted, projects))
    weights = {judges.KEEP: fitted(rows, wanted)}
    useful = wanted > 0
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
