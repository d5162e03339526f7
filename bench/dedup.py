"""How well the dedup ladder tells the same statement from another one.

    python bench/dedup.py [--half all|tuning|held-out] [--show]

The pairs are in `bench/data/dedup_pairs.jsonl`, labelled by hand. A hash of the first text divides
them: the ladder was tuned on one half only. Precision is the share of found duplicates that are
some, recall the share of duplicates that were found. Both are measured by words alone and with the
cosine of the quick local model as the fourth rung.

The bars: precision at least 0.98 at recall at least 0.6, on all pairs and on the held-out half,
both ways; and one statement compared with 1,000 known ones in less than 20 ms.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from common import finish, median, texts
from holdfast.extraction.similarity.dedup import duplicate, first_duplicate
from holdfast.models.embeddings.base import embedder_for
from holdfast.types import Triple

PAIRS = Path(__file__).parent / "data" / "dedup_pairs.jsonl"


@dataclass(frozen=True, slots=True)
class Text:
    """A statement that nobody has taken apart."""

    content: str
    triple: Triple | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, and whether they say the same."""

    a: str
    b: str
    same: bool
    kind: str
    lang: str

    @property
    def held_out(self) -> bool:
        """Whether the ladder was tuned without this pair."""
        return hashlib.blake2b(self.a.encode(), digest_size=1).digest()[0] % 2 == 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the ladder said of a pair."""

    pair: Pair
    rung: str


def judge(pairs: Iterable[Pair], similarity: Callable[[Pair], float | None]) -> list[Verdict]:
    """The ladder's word on every pair."""
    verdicts = []
    for pair in pairs:
        match = duplicate(Text(pair.a), Text(pair.b), similarity=similarity(pair))
        verdicts.append(Verdict(pair, match.rung if match else ""))
    return verdicts


def cosines(pairs: list[Pair]) -> Callable[[Pair], float | None]:
    """The similarity of each pair by the quick local model."""
    embedder = embedder_for("static", environ={})
    assert embedder is not None
    first = embedder.embed_documents([pair.a for pair in pairs])
    second = embedder.embed_documents([pair.b for pair in pairs])
    by_pair = dict(zip(pairs, (first * second).sum(axis=1).tolist(), strict=True))
    return lambda pair: by_pair[pair]


def seed_words(text: str) -> frozenset[str]:
    """A text as the ladders before this one compare it: the set of its words."""
    return frozenset(text.lower().split())


def seed_jaccard(pair: Pair, threshold: float, *, least: int) -> bool:
    """Word sets that overlap enough, where both have at least `least` words; or the same but for
    case.
    """
    first, second = seed_words(pair.a), seed_words(pair.b)
    if pair.a.lower().strip() == pair.b.lower().strip():
        return True
    return (
        min(len(first), len(second)) >= least
        and len(first & second) / len(first | second) >= threshold
    )


def seeds(pairs: list[Pair]) -> dict[str, list[Verdict]]:
    """What the ladders before this one say of every pair."""
    cosine = cosines(pairs)
    rules: dict[str, Callable[[Pair], bool]] = {
        "exact, or words alike to 0.75 (five words or more)": lambda pair: seed_jaccard(
            pair, 0.75, least=5
        ),
        "exact, or words alike to 0.85": lambda pair: seed_jaccard(pair, 0.85, least=1),
        "cosine of the quick model at least 0.92": lambda pair: (cosine(pair) or 0) >= 0.92,
    }
    return {
        name: [Verdict(pair, "seed" if rule(pair) else "") for pair in pairs]
        for name, rule in rules.items()
    }


def figures(verdicts: list[Verdict]) -> dict[str, float | int | None]:
    """Precision and recall; None where there is nothing to divide by."""
    found = [verdict for verdict in verdicts if verdict.rung]
    right = sum(verdict.pair.same for verdict in found)
    same = sum(verdict.pair.same for verdict in verdicts)
    return {
        "pairs": len(verdicts),
        "same": same,
        "found": len(found),
        "wrong": len(found) - right,
        "precision": round(right / len(found), 4) if found else None,
        "recall": round(right / same, 4) if same else None,
    }


def table(title: str, verdicts: list[Verdict]) -> None:
    """Prints the figures of all pairs, of each half, kind and language."""
    rows = {"all": verdicts}
    for half, held_out in (("tuning half", False), ("held-out half", True)):
        rows[half] = [verdict for verdict in verdicts if verdict.pair.held_out == held_out]
    for field in ("kind", "lang"):
        for value in sorted({getattr(verdict.pair, field) for verdict in verdicts}):
            rows[f"{field} {value}"] = [
                verdict for verdict in verdicts if getattr(verdict.pair, field) == value
            ]
    print(
        f"\n{title:<20} {'pairs':>6} {'same':>6} {'found':>6} {'wrong':>6} {'precision':>10} "
        f"{'recall':>8}"
    )
    for name, some in rows.items():
        row = figures(some)
        cells = [f"{row[key]:>6}" for key in ("pairs", "same", "found", "wrong")]
        shares = [
            f"{row[key]:.3f}" if row[key] is not None else "-" for key in ("precision", "recall")
        ]
        print(f"{name:<20} {' '.join(cells)} {shares[0]:>10} {shares[1]:>8}")


def speed(known: int = 1000, rounds: int = 20) -> float:
    """Milliseconds of computing that comparing a new statement with 1,000 known ones takes, once
    these were read.
    """
    old = [Text(text) for text in texts(known)]
    new = [
        Text(f"the spare key of house {number} needs a second review") for number in range(rounds)
    ]
    first_duplicate(new[0], old)
    times = []
    for text in new[1:]:
        start = time.process_time()
        first_duplicate(text, old)
        times.append((time.process_time() - start) * 1e3)
    return median(times)


def met(verdicts: list[Verdict]) -> bool:
    """Whether precision and recall reach the bars, on all pairs and on the held-out half."""
    halves = (verdicts, [verdict for verdict in verdicts if verdict.pair.held_out])
    return all(
        (row["precision"] or 0) >= 0.98 and (row["recall"] or 0) >= 0.6
        for row in map(figures, halves)
    )


def read() -> list[Pair]:
    """The labelled pairs."""
    return [Pair(**json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--half", choices=("all", "tuning", "held-out"), default="all", help="which pairs to judge"
    )
    parser.add_argument(
        "--show", action="store_true", help="print every pair that was judged wrongly"
    )
    options = parser.parse_args()
    pairs = read()
    if options.half != "all":
        pairs = [pair for pair in pairs if pair.held_out == (options.half == "held-out")]
    by_words = judge(pairs, lambda pair: None)
    by_vectors = judge(pairs, cosines(pairs))
    for title, verdicts in (("by words", by_words), ("with vectors", by_vectors)):
        table(title, verdicts)
        for verdict in verdicts if options.show else ():
            if bool(verdict.rung) != verdict.pair.same:
                print(
                    f"  {verdict.rung or 'missed'} {verdict.pair.kind}: {verdict.pair.a} | "
                    f"{verdict.pair.b}"
                )
    print()
    milliseconds = speed()
    finish(
        {
            "by_words": figures(by_words),
            "with_vectors": figures(by_vectors),
            "milliseconds_against_1000": round(milliseconds, 2),
            "met_by_words": met(by_words) if options.half == "all" else True,
            "met_with_vectors": met(by_vectors) if options.half == "all" else True,
            "met_20_ms": milliseconds < 20,
        }
    )


if __name__ == "__main__":
    main()
