"""What becomes of an earlier statement when the same person says a later one.

    python bench/changes.py [--pairs given|own|test|all] [--words]
    python bench/changes.py --conversations locomo10.json [--first 3]

The pairs are in `training/`: 129 that were given, 270 of our own and 260 of a test set, in seven
languages, among them talk between friends. Each is labelled with what should become of the first
statement: the second `replaces` it, `adds` to it, `repeats` it, `fulfils` it, `refines` it or is
`unrelated`. No weight was learned from any of them; word lists were made with half of the first two
sets in sight, and thresholds chosen by them. The test set is only counted.

The engine is asked as after a reply (`extraction/reconcile.py`): it supersedes, ends a plan as
done, renews the old memory, shows both as earlier and later, or just keeps both. Precision of
supersession is the share of superseded statements that were to be replaced; a refined one that is
superseded counts as right, because the vaguer text may go. The bars: precision at least 0.95 at
recall at least 0.6. With `--words` the engine does without the model that reads both statements, as
it does where the bundled encoder is not used.

In a pair something often changes, in a conversation almost nothing does. `--conversations` reads
whole ones session by session, as after an evening, and lists what was superseded, for a person to
judge; `bench/updates.py` looks up labelled changes in them.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import finish
from holdfast import Holdfast, benchmark
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.reconcile import Bump, Coexist, Decision, Supersede, decide
from holdfast.extraction.similarity.changes import Reader
from holdfast.models.reranker import Reranker
from holdfast.types import Memory, Micros, Scope

DATA = Path(__file__).parent.parent / "training"
TEST = "test"
FILES = {
    "given": "change_pairs.jsonl",
    "own": "change_pairs_own.jsonl",
    TEST: "change_pairs_test.jsonl",
}
LABELS = ("replaces", "fulfils", "refines", "repeats", "adds", "unrelated")
OUTCOMES = ("supersede", "fulfilled", "repeat", "earlier/later", "keep both")
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
    source: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any], source: str = "") -> Pair:
        """Read a pair; a speaker at the beginning of a text is taken off it."""
        first, second = _SPEAKER.match(row["a"]), _SPEAKER.match(row["b"])
        talk = first is not None and second is not None
        return cls(
            row["a"][first.end() :] if talk and first else row["a"],
            row["b"][second.end() :] if talk and second else row["b"],
            row["label"],
            (first[1], second[1]) if first and second else ("", ""),
            (row.get("a_date", "2024-01-01"), row.get("b_date", "2024-06-01")),
            row.get("weight", 1.0),
            source,
        )

    @property
    def barred(self) -> bool:
        """Whether two different people speak, so that neither changes what the other said."""
        return self.speakers[0] != self.speakers[1]


def pairs_of(folder: Path = DATA) -> Iterator[Pair]:
    """Every labelled pair."""
    for source, name in FILES.items():
        with (folder / name).open(encoding="utf-8") as lines:
            yield from (Pair.of(json.loads(line), source) for line in lines)


def _moment(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1_000_000)


def decided(pair: Pair, read: Reader | None) -> Decision:
    """What the engine decides about the second statement, given the first."""
    at = _moment(pair.dates[0])
    known = Memory(
        id="fact_1",
        scope=Scope("user", "ann"),
        kind="fact",
        content=pair.earlier,
        author=pair.speakers[0],
        trust="derived",
        created_at=at,
        updated_at=at,
        event_time=at,
    )
    said = Candidate(pair.later, pair.later, author=pair.speakers[1])
    return decide(said, [known], _moment(pair.dates[1]), read)


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


def measured(pairs: Iterable[Pair], read: Reader | None) -> dict[str, Any]:
    """Counts by label and outcome, and precision and recall of what ends an earlier statement."""
    found = Counter((pair.label, outcome(decided(pair, read))) for pair in pairs)
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


class Clock:
    """A clock that is set to the end of each session."""

    now: Micros = 0

    def __call__(self) -> Micros:
        return self.now


def learned(pool: benchmark.Pool) -> list[Memory]:
    """The facts that are learned from a conversation, those that were superseded among them."""
    sessions = defaultdict(list)
    for turn in pool.turns:
        if turn["text"].strip():
            sessions[turn["session"]].append(turn)
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Holdfast.open(
            Path(folder) / "memory.db", scope="project:talk", clock=clock, background=False
        ) as hf,
    ):
        for name, turns in sorted(sessions.items(), key=lambda one: one[1][0]["event_time"]):
            clock.now = max(turn["event_time"] for turn in turns) + 1
            hf.capture_many(
                [{key: value for key, value in turn.items() if key != "key"} for turn in turns]
            )
            hf.sessions.end(name)
            hf.sessions.learn(name)
        statuses = ["active", "superseded", "faded"]
        return hf.list(kinds=["fact"], statuses=statuses, limit=100_000)


def superseded(pool: benchmark.Pool) -> dict[str, Any]:
    """What is superseded in a conversation, each with the reason."""
    facts = learned(pool)
    return {
        "turns": len(pool.turns),
        "facts": len(facts),
        "superseded": [
            f"{one.content} | {one.status_reason}" for one in facts if one.status == "superseded"
        ],
    }


def main() -> None:
    """Print the figures; the exit status says whether the bars hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", choices=(*FILES, "all"), default="all")
    parser.add_argument("--words", action="store_true", help="without the model that reads both")
    parser.add_argument("--conversations", type=Path, help="list what LoCoMo's supersede")
    parser.add_argument("--first", type=int, default=3, help="of so many conversations")
    asked = parser.parse_args()
    if asked.conversations:
        pools = list(benchmark.DATASETS["locomo"](asked.conversations))[: asked.first]
        finish({pool.name: superseded(pool) for pool in pools})
        return
    pairs = [pair for pair in pairs_of() if asked.pairs in ("all", pair.source)]
    figures = measured(pairs, None if asked.words else Reranker().changes)
    ended = figures["supersede"]
    finish(
        {
            "pairs of": asked.pairs,
            "pairs": len(pairs),
            **figures,
            "met precision": ended["precision"] >= PRECISION,
            "met recall": ended["recall"] >= RECALL,
        }
    )


if __name__ == "__main__":
    main()
