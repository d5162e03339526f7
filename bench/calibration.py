"""Whether a score means the same in every store: the same questions, asked of more and more talk.

    python bench/calibration.py locomo10.json [--models static,encoder] [--together 1,3,10]

A score is the chance that a memory answers the question. Conversations of LoCoMo are put together
in one scope, each is asked its own questions, and the mean score of the hits is compared with the
share of them that are evidence. LoCoMo names one turn of several that say the same, so scores a
little above the share are expected; a distance that grows with the store is not.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import finish
from holdfast import Holdfast, Settings, benchmark
from holdfast.types import Micros

HITS = 5
BINS = (0.1, 0.2, 0.35, 0.5, 0.65, 1.0)
SIZES = "1,3,10"


class Clock:
    """A clock that is set to the time of each question."""

    now: Micros = 0

    def __call__(self) -> Micros:
        return self.now


def groups(pools: Sequence[benchmark.Pool], together: int) -> Iterator[list[benchmark.Pool]]:
    """The conversations, so many at a time; the last ones alone are left out."""
    for first in range(0, len(pools) - together + 1, together):
        yield list(pools[first : first + together])


def scored(
    group: Sequence[benchmark.Pool], folder: Path, settings: Settings, every: int
) -> Iterator[tuple[float, bool]]:
    """Score of each hit of the questions of a group, and whether it is evidence."""
    clock = Clock()
    clock.now = max(turn["event_time"] for pool in group for turn in pool.turns)
    store = folder / f"{'-'.join(pool.name for pool in group)}.db"
    with Holdfast.open(
        store, scope="project:talk", settings=settings, clock=clock, background=False
    ) as hf:
        keys = {}
        for pool in group:
            for turn in pool.turns:
                fields = {name: value for name, value in turn.items() if name != "key"}
                fields["session"] = f"{pool.name}/{turn['session']}"
                for memory in hf.capture_many([fields] if turn["text"].strip() else []):
                    keys[memory.id] = (pool.name, turn["key"])
        hf.admin.reembed()
        for pool in group:
            asked = [one for one in pool.questions if one.category != "adversarial"]
            for one in asked[::every]:
                clock.now = one.now
                for hit in hf.recall(one.text, limit=HITS, min_score=0.0):
                    name, key = keys[hit.memory.id]
                    yield hit.score, name == pool.name and key in one.gold


def figures(found: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Mean score and share of evidence, of all hits and by score."""
    bins = defaultdict(list)
    for score, gold in found:
        bins[next(top for top in BINS if score <= top)].append((score, gold))
    return {
        "hits": len(found),
        "score": _mean(score for score, _ in found),
        "evidence": _mean(gold for _, gold in found),
        "by_score": {
            f"up to {top}": {
                "hits": len(rows),
                "score": _mean(score for score, _ in rows),
                "evidence": _mean(gold for _, gold in rows),
            }
            for top, rows in sorted(bins.items())
        },
    }


def _mean(values: Iterator[float]) -> float:
    every = list(values)
    return round(sum(every) / len(every), 3) if every else 0.0


def measure(locomo: Path, models: str, together: Sequence[int], every: int) -> dict[str, Any]:
    """The figures of each size of a scope."""
    pools = list(benchmark.DATASETS["locomo"](locomo))
    settings = Settings(embedding_models=models)
    told: dict[str, Any] = {"models": models}
    with tempfile.TemporaryDirectory() as folder:
        for size in together:
            found: list[tuple[float, bool]] = []
            turns = []
            for group in groups(pools, size):
                found.extend(scored(group, Path(folder), settings, every))
                turns.append(sum(len(pool.turns) for pool in group))
            told[f"{round(sum(turns) / len(turns))} turns"] = figures(found)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--models", default="static,encoder")
    parser.add_argument("--together", default=SIZES, help="conversations in one scope")
    parser.add_argument("--every", type=int, default=3, help="ask one question of so many")
    options = parser.parse_args()
    sizes = [int(size) for size in options.together.split(",")]
    finish(measure(options.locomo, options.models, sizes, options.every))


if __name__ == "__main__":
    main()
