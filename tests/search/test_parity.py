"""Postgres finds what SQLite finds. Set LOCOMO to the path of locomo10.json to compare them on it
as well.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import pytest

from holdfast import Settings, benchmark
from holdfast.benchmark import Answer

EXCERPT = Path(__file__).parent.parent / "data" / "longmemeval_excerpt.json"


def both(
    dataset: str, path: Path, folder: Path, url: str, limit: int | None = None
) -> tuple[list[Answer], ...]:
    """The answers of both stores to the same questions about the same turns."""
    pools = list(islice(benchmark.DATASETS[dataset](path), limit))
    settings = Settings(embedding_models="static")
    return tuple(
        benchmark.evaluate(pools, place, settings) for place in (folder / "memory.db", url)
    )


def expect_the_same(lite: list[Answer], post: list[Answer], *, identical: float) -> None:
    first, second = (benchmark.report(answers)["turns"]["all"]["R@10"] for answers in (lite, post))
    assert abs(first - second) <= 0.01
    shared = [
        len({*one.ranked[:10]} & {*two.ranked[:10]}) / 10
        for one, two in zip(lite, post, strict=True)
    ]
    assert sum(shared) / len(shared) >= 0.95
    same = [one.ranked[:10] == two.ranked[:10] for one, two in zip(lite, post, strict=True)]
    assert sum(same) / len(same) >= identical


def test_both_stores_rank_an_excerpt_of_longmemeval_alike(
    tmp_path: Path, postgres_store_url: str
) -> None:
    lite, post = both("longmemeval", EXCERPT, tmp_path, postgres_store_url)
    assert len(lite) == len(post) == 24
    assert benchmark.report(lite)["turns"]["all"]["R@10"] > 0.6  # there was something to find
    expect_the_same(lite, post, identical=0.8)


@pytest.mark.skipif(
    "LOCOMO" not in os.environ, reason="its licence keeps it out of here; name the file in LOCOMO"
)
def test_both_stores_rank_locomo_alike(tmp_path: Path, postgres_store_url: str) -> None:
    lite, post = both("locomo", Path(os.environ["LOCOMO"]), tmp_path, postgres_store_url, limit=2)
    expect_the_same(lite, post, identical=0.9)
