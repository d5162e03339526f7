"""Postgres against SQLite on the same data in one run, and one owner's recall among many.

    python bench/postgres.py [--size 10000] [--owners 100] [--each 10000] [--url postgresql://…]

Without --url it starts a server of its own (the one the tests use) and removes it at the end. The
bar: when 99 other owners have moved in with as many memories each, one owner's recall takes at most
1.3 times as long as before. How much slower Postgres is than a file in the same process is
reported; there is no bar for it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg

from common import finish, median, quantile, questions, texts, timed
from holdfast import Holdfast, Settings
from holdfast.models.embeddings.static import StaticEmbedder
from recall import BATCH, MODEL, stages

ASKED = 60
COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = ('holdfast.' || %s)::regclass AND attnum > 0 AND NOT attisdropped
"""
SIZES = """
SELECT relname, pg_relation_size(c.oid),
       (SELECT coalesce(sum(pg_relation_size(i.indexrelid)), 0) FROM pg_index i
WHERE i.indrelid = c.oid), pg_total_relation_size(c.oid) FROM pg_class c
WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r' ORDER BY 4 DESC
"""


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """The URL of a database: the one given, or one on a server that lives as long as this block."""
    if url is not None:
        yield url
        return
    sys.path.append(str(Path(__file__).parent.parent / "tests"))
    from servers import start_server

    with start_server(options={"shared_buffers": "1GB"}, durable=True) as started:
        started.create_database("bench")
        yield started.url("bench")


def open_(place: str | Path, owner: int) -> Holdfast:
    return Holdfast.open(
        place,
        scope=f"user:{owner}",
        settings=Settings(embedding_models="static"),
        background=False,
        actor="bench",
    )


def fill(hf: Holdfast, every: list[str], vectors: np.ndarray) -> tuple[float, float]:
    """Stores texts and their vectors, and returns the seconds each took."""
    writing = embedding = 0.0
    for start in range(0, len(every), BATCH):
        stored = []
        turns = [
            {"session": f"s{(start + offset) // 20}", "role": "user", "text": text}
            for offset, text in enumerate(every[start : start + BATCH])
        ]
        writing += timed(lambda turns=turns, stored=stored: stored.extend(hf.capture_many(turns)))
        rows = {memory.seq: vectors[start + offset] for offset, memory in enumerate(stored)}
        embedding += timed(lambda rows=rows: hf.store.vectors.add(hf.scopes, MODEL, rows))
    return writing, embedding


def ask(
    hf: Holdfast, other: Holdfast | None = None
) -> tuple[dict[str, object], list[float], list[float]]:
    """Recalls of one memory, by stage; those of another take turns with them, so that both meet the
    same machine.
    """
    for _ in range(5):
        hf.recall("What about the garden and fresh basil?")
    times, others, by_stage = [], [], defaultdict(list)
    for question in questions(ASKED):
        times.append(timed(lambda question=question: hf.recall(question)))
        if other is not None:
            others.append(timed(lambda question=question: other.recall(question)))
        for name, seconds in stages(hf, question).items():
            by_stage[name].append(seconds)
    report: dict[str, object] = {
        "p50_ms": round(median(times) * 1e3, 2),
        "p95_ms": round(quantile(times, 0.95) * 1e3, 2),
        "stages_ms": {name: round(median(values) * 1e3, 2) for name, values in by_stage.items()},
    }
    return report, times, others


def move_in(url: str, owners: int) -> None:
    """Gives the other owners what user:1 has, row for row: quicker than writing it, and the same to
    whoever reads.
    """
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path = holdfast, public; SET ROLE holdfast_worker")
        ((first,),) = connection.execute(
            "SELECT number FROM scopes WHERE kind = 'user' AND key = '1'"
        ).fetchall()
        columns = {
            table: [name for (name,) in connection.execute(COLUMNS, (table,)).fetchall()]
            for table in (
                "totals",
                "sessions",
                "memories",
                "events",
                "models",
                "vectors",
                "embedded",
                "memory_terms",
            )
        }
        for owner in range(2, owners):
            ((number,),) = connection.execute(
                (
                    "INSERT INTO scopes (kind, key, created_at) VALUES ('user', %s, 0) RETURNING "
                    "number"
                ),
                (str(owner),),
            ).fetchall()
            for table, names in columns.items():
                # Models have numbers of their own in each scope, and vectors point to them.
                other = {"scope": str(number), "model": f"model + {owner} * 1000"}
                if table == "models":
                    other["number"] = f"number + {owner} * 1000"
                values = ", ".join(other.get(name, name) for name in names)
                statement = (
                    f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM "
                    f"{table} WHERE scope = {first}"
                )
                connection.execute(statement.encode())
            connection.commit()
            connection.execute("SET search_path = holdfast, public; SET ROLE holdfast_worker")
            print(f"{owner + 1} owners", file=sys.stderr, flush=True)


def sizes(url: str) -> dict[str, dict[str, int]]:
    """Bytes per memory, by table."""
    with psycopg.connect(url) as connection:
        connection.execute("SET ROLE holdfast_worker")
        ((count,),) = connection.execute("SELECT count(*) FROM holdfast.memories").fetchall()
        return {
            name: {
                "rows": round(rows / count),
                "indexes": round(indexes / count),
                "all": round(total / count),
            }
            for name, rows, indexes, total in connection.execute(SIZES)
            if total / count >= 1
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--owners", type=int, default=100)
    parser.add_argument("--each", type=int, default=10_000)
    parser.add_argument("--url")
    options = parser.parse_args()
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal(
        (max(options.size, options.each), StaticEmbedder.dimensions), dtype=np.float32
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    report: dict[str, object] = {"memories": options.size}
    with server(options.url) as url, tempfile.TemporaryDirectory() as folder:
        with open_(Path(folder) / "memory.db", 0) as lite, open_(url, 0) as post:
            every = list(texts(options.size))
            for name, hf in (("sqlite", lite), ("postgres", post)):
                writing, embedding = fill(hf, every, vectors)
                report[f"{name}_texts_per_second"] = round(options.size / writing)
                report[f"{name}_vectors_per_second"] = round(options.size / embedding)
            settle(url)
            report["sqlite"] = ask(lite)[0]
            report["postgres"], times, others = ask(post, lite)
            report["postgres_times_sqlite"] = round(
                median([a / b for a, b in zip(times, others, strict=True)]), 2
            )
            alone = median(times)
            baseline = median(others)
        if options.owners > 1:
            with open_(url, 1) as hf:
                fill(hf, list(texts(options.each, seed=1)), vectors)
            move_in(url, options.owners)
            settle(url)
            with open_(Path(folder) / "memory.db", 0) as lite, open_(url, 0) as post:
                report["postgres_among_others"], times, others = ask(post, lite)
            # The file's recall, taken before and after, says how much the machine itself changed.
            slower = (median(times) / median(others)) / (alone / baseline)
            report |= {"owners": options.owners, "each": options.each}
            report |= {"slower_among_others": round(slower, 2), "met_flat": slower <= 1.3}
        report["bytes_per_memory"] = sizes(url)
    finish(report)


def settle(url: str) -> None:
    """What autovacuum would do a minute later."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")


if __name__ == "__main__":
    main()
