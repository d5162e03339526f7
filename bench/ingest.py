"""Bulk `remember` against a bare insert of the same rows with FTS5, in one run.

    python bench/ingest.py [--count 100000]

The bar: at least half the rate of a bare insert with one transaction per 100 rows. Ours takes 1,000
texts a call.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import apsw

from common import finish, median, texts, timed
from holdfast import Holdfast, Settings
from holdfast.storage.row_codec import memory_values
from holdfast.storage.schema import MEMORY_COLUMNS
from holdfast.types import Memory, Scope, new_id, system_clock

BARE_BATCH = 100
BATCH = 1000
PARTS = 10  # both sides take turns, so that a busy moment of the machine hits both


def bare_rows(batch: list[str]) -> list[tuple[object, ...]]:
    at, scope = system_clock(), Scope("user", "bench")
    return [
        memory_values(Memory(new_id("fact", at), scope, "fact", text, at, at, at)) for text in batch
    ]


def open_bare(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    for name, value in (
        ("journal_mode", "wal"),
        ("synchronous", "normal"),
        ("cache_size", -32_000),
    ):
        connection.pragma(name, value)  # the same as Holdfast's own
    connection.execute(
        "CREATE TABLE memories (seq INTEGER PRIMARY KEY AUTOINCREMENT, "
        f"{', '.join(MEMORY_COLUMNS)})"
    )
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5 (content, content = 'memories', content_rowid = "
        "'seq')"
    )
    connection.execute(
        "CREATE TRIGGER indexed AFTER INSERT ON memories BEGIN "
        "INSERT INTO words (rowid, content) VALUES (new.seq, new.content); END"
    )
    return connection


def insert_bare(connection: apsw.Connection, batches: list[list[str]]) -> None:
    marks = ",".join("?" * len(MEMORY_COLUMNS))
    rows = [row for batch in batches for row in bare_rows(batch)]
    for start in range(0, len(rows), BARE_BATCH):
        with connection:
            connection.executemany(
                f"INSERT INTO memories ({', '.join(MEMORY_COLUMNS)}) VALUES ({marks})",
                rows[start : start + BARE_BATCH],
            )


def remember(hf: Holdfast, batches: list[list[str]]) -> None:
    for batch in batches:
        hf.remember_many(batch)


def measure(count: int) -> dict[str, object]:
    """Both rates over `count` texts."""
    every = list(texts(count))
    batches = [every[start : start + BATCH] for start in range(0, count, BATCH)]
    step = max(1, len(batches) // PARTS)
    parts = [batches[start : start + step] for start in range(0, len(batches), step)]
    with tempfile.TemporaryDirectory() as folder:
        bare = open_bare(Path(folder) / "bare.db")
        settings = Settings(embedding_models="static,encoder")
        hf = Holdfast.open(
            Path(folder) / "memory.db", scope="user:bench", settings=settings, background=False
        )
        bare_times, our_times = [], []
        for part in parts:
            bare_times.append(timed(lambda part=part: insert_bare(bare, part)))
            our_times.append(timed(lambda part=part: remember(hf, part)))
        waiting = len(hf.store.vectors.missing("local:memory-static-8M2", count))
        hf.close()
    ratio = median([bare / ours for bare, ours in zip(bare_times, our_times, strict=True)])
    return {
        "texts": count,
        "bare_per_second": round(count / sum(bare_times)),
        "holdfast_per_second": round(count / sum(our_times)),
        "ratio": round(ratio, 3),
        "vectors_queued": waiting,
        "met_half_of_bare": ratio >= 0.5,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    finish(measure(parser.parse_args().count))


if __name__ == "__main__":
    main()
