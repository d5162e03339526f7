"""Whether Postgres finds what SQLite finds: a question set on both, in one run.

    python bench/parity.py locomo10.json [--dataset locomo] [--limit 2] [--models static] [--url postgresql://…]

The bars: recall within ten hits differs by at most one point, and on average nine of the first ten
hits are the same. Vectors are compared exactly on both.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import islice
from pathlib import Path

from common import finish
from holdfast import Settings, benchmark
from postgres import server


def overlap(ours: tuple[str, ...], theirs: tuple[str, ...], depth: int = 10) -> float:
    """The share of the first hits that two rankings have in common."""
    first, second = set(ours[:depth]), set(theirs[:depth])
    return len(first & second) / max(len(first), len(second), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--dataset", default="locomo")
    parser.add_argument("--limit", type=int, default=2)
    parser.add_argument("--models", default="static")
    parser.add_argument("--url")
    options = parser.parse_args()
    pools = list(islice(benchmark.DATASETS[options.dataset](options.path), options.limit))
    settings = Settings(embedding_models=options.models)
    with server(options.url) as url, tempfile.TemporaryDirectory() as folder:
        lite = benchmark.evaluate(pools, Path(folder) / "memory.db", settings)
        post = benchmark.evaluate(pools, url, settings)
    shares = [overlap(one.ranked, two.ranked) for one, two in zip(lite, post, strict=True)]
    same = sum(one.ranked[:10] == two.ranked[:10] for one, two in zip(lite, post, strict=True))
    found = {
        name: benchmark.report(answers)["turns"]["all"]["R@10"]
        for name, answers in (("sqlite", lite), ("postgres", post))
    }
    finish(
        {
            "questions": len(lite),
            "R@10": found,
            "mean_overlap_of_10": round(sum(shares) / len(shares), 4),
            "identical_first_ten": round(same / len(lite), 3),
            "met_within_one_point": abs(found["sqlite"] - found["postgres"]) <= 0.01,
            "met_overlap": sum(shares) / len(shares) >= 0.9,
        }
    )


if __name__ == "__main__":
    main()
