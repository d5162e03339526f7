"""Trains the judge of what can be understood alone, and writes its weights into the package.

    python training/train_standalone_judge.py --data data/ --friends FriendsQA/ [--write]

Three kinds of examples: statements that were stored of labelled conversations, each labelled by
hand (`alone.jsonl`); written ones (`alone_written.jsonl`); and clauses of labelled turns, where the
self-contained text of their fact tells: if the clause has three quarters of its words, it can be
understood alone, if it has at most two fifths, it cannot. Only the first half of the conversations
is learned from (`bench/fact_labels.py`). Prints how well statements of unseen sessions are told
apart: the share of a fifth of the sessions, by weights that did not see them, and the other half.
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

from train_judge import FOLDS, fitted, unseen  # noqa: E402

from extraction import share_of  # noqa: E402
from fact_labels import Labelled, alone_labels, read  # noqa: E402
from holdfast.extraction import standalone_judge  # noqa: E402
from holdfast.extraction.clauses import clauses_of  # noqa: E402
from holdfast.extraction.judge import IDENTITY  # noqa: E402
from holdfast.extraction.patterns import language  # noqa: E402
from holdfast.extraction.speech import own_words  # noqa: E402
from holdfast.models.embeddings.onnx import OnnxEmbedder  # noqa: E402
from holdfast.text.tokens import index_terms, query_terms  # noqa: E402
from vectors import Vectors  # noqa: E402

OUT = Path(standalone_judge.__file__).with_suffix(".json")
# Shares of the words of a self-contained text that its clause has.
ALONE = 0.75
NOT_ALONE = 0.4
# Of the statements that can be understood alone, so many may be lost. English ones were told so
# that few others are left; in other languages every second one cannot be understood.
LOST = {"en": 0.01, "languages": 0.2}
# Words that a label adds to any statement: months, and who is spoken of.
ADDED = "user january february march april may june july august september october november december"

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Example:
    """A statement, where it is from, and whether it can be understood alone."""

    text: str
    language: str
    session: str
    alone: bool
    labelled: bool = False
    held_out: bool = False

    @property
    def fold(self) -> int:
        return hashlib.sha256(self.session.encode()).digest()[1] % FOLDS


def by_hand(labelled: Sequence[Labelled]) -> Iterator[Example]:
    """The statements that were labelled one by one."""
    for each in labelled:
        for _, quote, alone in alone_labels(each):
            yield Example(quote, each.language, each.talk.name, alone, True, each.held_out)


def written() -> Iterator[Example]:
    """The written ones; so many make one session."""
    lines = (TRAINING / "alone_written.jsonl").read_text("utf-8").splitlines()
    for number, row in enumerate(map(json.loads, lines)):
        yield Example(row["text"], row["language"], f"written-{number % 29}", row["alone"])


def derived(labelled: Sequence[Labelled], known: set[str]) -> Iterator[Example]:
    """Clauses of the first half whose fact says how much they lack."""
    for each in labelled:
        for turn, facts in each.facts.items():
            if each.held_out:
                continue
            said = each.talk.turns[turn]
            for clause in clauses_of(language(each.language), own_words(said.text, role=said.role)):
                texts = [one["text"] for one in facts if share_of(one["quote"], clause.text) >= 0.5]
                shares = [_share(text, clause.text, said.speaker) for text in texts]
                if clause.asks or not shares or clause.text in known:
                    continue
                if max(shares) >= ALONE or max(shares) <= NOT_ALONE:
                    alone = max(shares) >= ALONE
                    yield Example(clause.text, each.language, each.talk.name, alone)


def _share(text: str, clause: str, speaker: str) -> float:
    """Which share of the content words of a text its clause has; dates are added to every text."""
    words = set(query_terms(text)) - set(query_terms(f"{speaker} {ADDED}"))
    words = {word for word in words if not word.isdigit()}
    return len(words & set(index_terms(clause))) / len(words) if words else 1.0


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
    parser.add_argument("--vectors", type=Path, default=Path("standalone-vectors.db"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    labelled = read(options.data, options.friends)
    hand = list(by_hand(labelled))
    examples = [*hand, *written(), *derived(labelled, {one.text for one in hand})]
    rows = rows_of(examples, Vectors(options.vectors, OnnxEmbedder()))
    alone = np.array([one.alone for one in examples])
    wanted = alone.astype(np.float32)
    held_out = np.array([one.held_out for one in examples])
    own = np.array([one.labelled for one in examples])
    english = np.array([one.language == "en" for one in examples])
    folds = np.array([one.fold for one in examples])
    weights = fitted(rows[~held_out], wanted[~held_out])
    scores = 1 / (1 + np.exp(-rows @ weights))
    scores[~held_out] = unseen(rows[~held_out], wanted[~held_out], folds[~held_out])
    first = own & ~held_out
    thresholds = {
        name: float(np.quantile(scores[first & spoken & alone], LOST[name]))
        for name, spoken in (("en", english), ("languages", ~english))
    }
    print(f"{len(examples)} examples: {own.sum()} by hand, {int((~held_out).sum())} learned from")
    for half, chosen in (("unseen sessions", first), ("the other half", own & held_out)):
        for name, spoken in (("en", english), ("languages", ~english)):
            rows_ = chosen & spoken
            report(f"{half}, {name}", scores[rows_], alone[rows_], thresholds[name])
    if options.write:
        write(weights, thresholds, examples)


def write(weights: Array, thresholds: dict[str, float], examples: Sequence[Example]) -> None:
    """Writes the file that ships."""
    told = {
        "provenance": {
            "encoder": IDENTITY,
            "program": "training/train_standalone_judge.py",
            "labels": "alone.jsonl, alone_written.jsonl and facts*.jsonl, first half",
            "examples": sum(not one.held_out for one in examples),
        },
        "thresholds": {name: round(value, 4) for name, value in thresholds.items()},
        "weights": [round(float(one), 4) for one in weights],
    }
    OUT.write_text(json.dumps(told) + "\n", "utf-8")
    print(f"{OUT}: {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
