"""What becomes of an earlier statement when the same person says a later one.

    python bench/changes.py [--half development|kept|all] [--show]

The pairs are in `training/`: 129 that were given, 270 of our own, seven languages, among them talk
between friends. Each is labelled with what should become of the first statement: the second
`replaces` it, `adds` to it, `repeats` it, `fulfils` it, `refines` it or is `unrelated`. A hash of
the texts divides them; word lists and weights were made with the development half only.

The engine is asked as after a reply (`extraction/reconcile.py`): it supersedes, ends a plan as
done, renews the old memory, shows both as earlier and later, or just keeps both. Precision of
supersession is the share of superseded statements that were to be replaced; a refined one that is
superseded counts as right, because the vaguer text may go. The bars: precision at least 0.95 at
recall at least 0.6.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import finish
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.reconcile import Bump, Coexist, Decision, Supersede, decide
from holdfast.types import Memory, Scope

DATA = Path(__file__).parent.parent / "training"
FILES = ("change_pairs.jsonl", "change_pairs_own.jsonl")
LABELS = ("replaces", "fulfils", "refines", "repeats", "adds", "unrelated")
OUTCOMES = ("supersede", "fulfilled", "repeat", "earlier/later", "keep both")
# What the engine should do; anything else than these keeps too much, or loses something.
RIGHT = {
    "replaces": {"supersede"},
    "fulfils": {"fulfilled"},
    "repeats": {"repeat"},
}
PRECISION = 0.95
RECALL = 0.6
_SPEAKER = re.compile(r"^([^\s:：]{1,12})[:：]\s*")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements of one time after the other, and what the second does to the first."""

    earlier: str
    later: str
    label: str
    speakers: tuple[str, str] = ("", "")
    dates: tuple[str, str] = ("2024-01-01", "2024-06-01")
    weight: float = 1.0
    development: bool = True

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Pair:
        """Read a pair; a speaker at the beginning of a text is taken off it."""
        first, second = _SPEAKER.match(row["a"]), _SPEAKER.match(row["b"])
        digest = hashlib.sha256(f"{row['a']}\n{row['b']}".encode()).digest()
        talk = first is not None and second is not None
        return cls(
            row["a"][first.end() :] if talk and first else row["a"],
            row["b"][second.end() :] if talk and second else row["b"],
            row["label"],
            (first[1], second[1]) if first and second else ("", ""),
            (row.get("a_date", "2024-01-01"), row.get("b_date", "2024-06-01")),
            row.get("weight", 1.0),
            digest[0] % 2 == 0,
        )

    @property
    def barred(self) -> bool:
        """Whether two different people speak, so that neither changes what the other said."""
        return self.speakers[0] != self.speakers[1]


def pairs_of(folder: Path = DATA) -> Iterator[Pair]:
    """Every labelled pair."""
    for name in FILES:
        with (folder / name).open(encoding="utf-8") as lines:
            yield from (Pair.of(json.loads(line)) for line in lines)


def _moment(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1_000_000)


def decided(pair: Pair) -> Decision:
    """What the engine decides about the second statement, given the first."""
    at = _moment(pair.dates[0])
    known = Memory(
        id="fact_1",
        scope=Scope("user", "ann"),
        kind="fact",
        content=pair.earlier,
        author=pair.speakers[0],
        created_at=at,
        updated_at=at,
        event_time=at,
    )
    said = Candidate(pair.later, pair.later, author=pair.speakers[1])
    return decide(said, [known], _moment(pair.dates[1]))


def outcome(decision: Decision) -> str:
    """A decision by the name that the report uses."""
    match decision:
        case Supersede(fulfils=True):
            return "fulfilled"
        case Supersede():
            return "supersede"
        case Coexist():
            return "earlier/later"
        case Bump():
            return "repeat"
        case _:
            return "keep both"


def measured(pairs: Iterable[Pair]) -> dict[str, Any]:
    """Counts by label and outcome, and precision and recall of what ends an earlier statement."""
    found = Counter((pair.label, outcome(decided(pair))) for pair in pairs)
    figures: dict[str, Any] = {
        label: {name: found[label, name] for name in OUTCOMES} for label in LABELS
    }
    for name, label in (("supersede", "replaces"), ("fulfilled", "fulfils"), ("repeat", "repeats")):
        said = sum(found[one, name] for one in LABELS)
        fine = found[label, name] + (found["refines", name] if name == "supersede" else 0)
        wanted = sum(found[label, one] for one in OUTCOMES)
        figures[name] = {
            "precision": round(fine / said, 3) if said else 1.0,
            "recall": round(found[label, name] / wanted, 3) if wanted else 0.0,
            "said": said,
        }
    return figures


def main() -> None:
    """Print the figures; the exit status says whether the bars hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("development", "kept", "all"), default="kept")
    parser.add_argument("--show", action="store_true", help="what the development half gets wrong")
    asked = parser.parse_args()
    pairs = [
        pair
        for pair in pairs_of()
        if asked.half == "all" or pair.development == (asked.half == "development")
    ]
    if asked.show:
        for pair in pairs:
            said = outcome(decided(pair))
            if pair.development and said not in RIGHT.get(pair.label, {"keep both"}):
                print(f"{pair.label} -> {said}: {pair.earlier} || {pair.later}")
    figures = measured(pairs)
    ended = figures["supersede"]
    finish(
        {
            "half": asked.half,
            "pairs": len(pairs),
            **figures,
            "met precision": ended["precision"] >= PRECISION,
            "met recall": ended["recall"] >= RECALL,
        }
    )


if __name__ == "__main__":
    main()
