"""What a store of a few facts answers to questions about its person that nobody answered.

    python bench/small_stores.py [--facts 14] [--asked 8]

Each list of facts in `training/questions/facts.jsonl` gives a store of its first facts. It is
asked questions that these answer, and questions that only the facts left out answer. The models
were trained on these questions, so the figures are kinder than life; there is no target.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path

from common import finish
from holdfast import Holdfast

POOLS = Path(__file__).parents[1] / "training" / "questions" / "facts.jsonl"
# Share of the answerable questions that a bar on the score of deep recall has to keep.
KEPT = 0.97


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=14, help="in each store")
    parser.add_argument("--asked", type=int, default=8, help="questions of each sort a store gets")
    options = parser.parse_args()
    found: dict[str, list[bool]] = defaultdict(list)
    deep: dict[str, list[float]] = defaultdict(list)
    for line in POOLS.read_text("utf-8").splitlines():
        pool = json.loads(line)
        questions: dict[str, list[str]] = {"answered": [], "unanswered": []}
        for one in pool["qs"]:
            if one["g"] and max(one["g"]) < options.facts:
                questions["answered"].append(one["q"])
            elif one["g"] and min(one["g"]) >= options.facts:
                questions["unanswered"].append(one["q"])
        with (
            tempfile.TemporaryDirectory() as folder,
            Holdfast.open(Path(folder) / "memory.db", scope="user:me", background=False) as hf,
        ):
            hf.remember_many(pool["docs"][: options.facts])
            hf.admin.reembed()
            for sort, asked in questions.items():
                for text in asked[: options.asked]:
                    found[sort].append(bool(hf.recall(text)))
                    deep[sort].append(hf.recall(text, deep=True, min_score=0, limit=1)[0].score)
    bar = sorted(deep["answered"])[int((1 - KEPT) * len(deep["answered"]))]
    finish(
        {
            "facts": options.facts,
            "asked": {sort: len(values) for sort, values in found.items()},
            "found something": {sort: _share(values) for sort, values in found.items()},
            f"deep, {KEPT} of the answered kept": {
                sort: _share([score >= bar for score in values]) for sort, values in deep.items()
            },
        }
    )


def _share(values: list[bool]) -> float:
    return round(sum(values) / len(values), 3)


if __name__ == "__main__":
    main()
