"""How long recall takes, by stage and by size, against the floor measured in the same run.

    python bench/recall.py [--sizes 1000,10000,100000,1000000] [--scopes 1,100]

The floor is what no exact recall can do without: embed the question, scan the same vectors once
with numpy, and run one bare FTS5 query over the same texts. The bars: in one scope, a whole recall
takes at most 4 times the floor at 1,000 memories, 3 times at 10,000 and 1.7 times at 100,000; from
10,000 to 1,000,000 it grows at most linearly with the scope's own size; and other scopes' memories
make no difference.

The bars count processor time of the thread: on a busy machine the longer of two pieces of work is
interrupted more often, so that by the clock it looks longer than it is. Both are shown.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import apsw
import numpy as np

from common import finish, median, quantile, questions, resident_megabytes, texts
from holdfast import Holdfast, Settings
from holdfast.base_client import engine_of, filter_of
from holdfast.models.embeddings.static import StaticEmbedder
from holdfast.retrieval import candidates
from holdfast.retrieval import recall as recall_
from holdfast.retrieval.fusion import reciprocal_rank
from holdfast.types import Scope

MODEL = StaticEmbedder().identity
ASKED = 60
BATCH = 1000
# Times the floor that a recall may take, by memories.
MOST = {1_000: 4.0, 10_000: 3.0, 100_000: 1.7}


def fill(path: Path, size: int, scopes: int, vectors: np.ndarray) -> None:
    """`size` memories in the scope user:0, and as many spread over the other scopes."""
    settings = Settings(embedding_models="none")
    with Holdfast.open(path, scope="user:0", settings=settings, background=False) as hf:
        _fill_scope(hf, list(texts(size)), vectors)
        if scopes > 1:
            each = size // (scopes - 1)
            for number in range(1, scopes):
                _fill_scope(hf.scoped(f"user:{number}"), list(texts(each, seed=number)), vectors)


def _fill_scope(hf: Holdfast, every: list[str], vectors: np.ndarray) -> None:
    for start in range(0, len(every), BATCH):
        # Conversations of twenty turns: what recall looks at around a turn is part of what it
        # costs.
        turns = [
            {"session": f"s{(start + offset) // 20}", "role": "user", "text": text}
            for offset, text in enumerate(every[start : start + BATCH])
        ]
        stored = hf.capture_many(turns)
        # Stand-ins for embeddings: a scan takes as long over these as over any others.
        rows = vectors[start : start + len(stored)]
        hf.store.vectors.add(
            hf.scopes, MODEL, {memory.seq: row for memory, row in zip(stored, rows, strict=True)}
        )


def bare_words(path: Path, size: int) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    for name, value in (("journal_mode", "wal"), ("synchronous", "off"), ("cache_size", -32_000)):
        connection.pragma(name, value)
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = 'porter unicode61')"
    )
    with connection:
        connection.executemany(
            "INSERT INTO words (content) VALUES (?)", ((text,) for text in texts(size))
        )
    return connection


def floor(
    embedder: StaticEmbedder, words: apsw.Connection, vectors: np.ndarray, question: str
) -> dict[str, float]:
    times, mark = {}, time.perf_counter()

    def lap(name: str) -> None:
        nonlocal mark
        now = time.perf_counter()
        times[name], mark = now - mark, now

    vector = embedder.embed_query(question)
    lap("embed")
    scores = vectors @ vector
    np.argpartition(-scores, min(200, len(scores) - 1))[:200]
    lap("scan")
    stop = {"what", "about", "and", "the", "my", "our", "a", "an", "on", "for", "to", "more", "of"}
    content = [word.strip("?,.").lower() for word in question.split()]
    match = " OR ".join(f'"{word}"' for word in content if word not in stop)
    words.execute(
        "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT 200", (match,)
    ).fetchall()
    lap("words")
    return times


def stages(hf: Holdfast, question: str) -> dict[str, float]:
    """One recall, taken apart."""
    times, mark = {}, time.perf_counter()

    def lap(name: str) -> None:
        nonlocal mark
        now = time.perf_counter()
        times[name], mark = now - mark, now

    engine, where = engine_of(hf), filter_of(hf)
    lap("prepare")
    query = recall_.parse_query(engine, recall_.Question(question, where))
    lap("analyse")
    corpus = hf.store.corpus(where.scopes, query.terms)
    lap("corpus")
    views = candidates.vectors(hf.store, hf.tiers, query, where)
    lap("embed")
    words = hf.store.by_text(where, candidates.rarest(query.terms, corpus), candidates.DEPTH)
    lap("words")
    near = [hf.store.by_vector(where, view.model, view.vector, candidates.DEPTH) for view in views]
    lap("meaning")
    ranked = {"words": words} | {
        f"meaning ({view.tier})": pairs for view, pairs in zip(views, near, strict=True)
    }
    order = {name: [seq for seq, _ in pairs] for name, pairs in ranked.items()}
    fused = list(reciprocal_rank(order))
    found = candidates.fetch(hf.store, where, fused, fused[: candidates.BEST])
    lap("fetch")
    similarity = candidates.similarities(hf.store, where, views, ranked, found)
    lap("similarity")
    recall_.rank(engine, candidates.Gathered(query, corpus, order, found, similarity, views))
    lap("rank")
    return times


def measure(folder: Path, size: int, scopes: int, asked: int = ASKED) -> dict[str, object]:
    """What recall takes among `size` memories, over so many questions."""
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((size, StaticEmbedder.dimensions), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    path = folder / f"{size}-{scopes}.db"
    fill(path, size, scopes, vectors)
    words = bare_words(folder / f"{size}-{scopes}-bare.db", size)
    embedder = StaticEmbedder()
    with Holdfast.open(
        path,
        scope=Scope("user", "0"),
        settings=Settings(embedding_models="static"),
        background=False,
    ) as hf:
        cold = time.perf_counter()
        hf.recall("What about the garden and fresh basil?")
        cold = time.perf_counter() - cold
        # The second question builds the matrix.
        hf.recall("What about the garden and the spare key?")
        totals, floors, busy, by_stage = [], [], [], defaultdict(list)
        for question in questions(asked):
            started = time.thread_time()
            floors.append(floor(embedder, words, vectors, question))
            between = time.thread_time()
            start = time.perf_counter()
            hf.recall(question)
            totals.append(time.perf_counter() - start)
            busy.append((time.thread_time() - between) / (between - started))
            for name, seconds in stages(hf, question).items():
                by_stage[name].append(seconds)
    least = [sum(one.values()) for one in floors]
    return {
        "memories": size,
        "scopes": scopes,
        "cold_ms": round(cold * 1e3, 1),
        "p50_ms": round(median(totals) * 1e3, 2),
        "p95_ms": round(quantile(totals, 0.95) * 1e3, 2),
        "floor_p50_ms": round(median(least) * 1e3, 2),
        "floor_ms": {
            name: round(median([one[name] for one in floors]) * 1e3, 2) for name in floors[0]
        },
        "stages_ms": {name: round(median(values) * 1e3, 2) for name, values in by_stage.items()},
        "times_floor": round(
            median([total / bottom for total, bottom in zip(totals, least, strict=True)]), 2
        ),
        "times_floor_processor": round(median(busy), 2),
        "rss_mb": round(resident_megabytes()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--scopes", default="1,100")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    rows = []
    for scopes in (int(count) for count in options.scopes.split(",")):
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
                rows.append(measure(Path(folder), size, scopes))
                print(rows[-1], flush=True)
    finish({"runs": rows, **bars({(row["memories"], row["scopes"]): row for row in rows})})


def bars(rows: dict[tuple[int, int], dict[str, object]]) -> dict[str, object]:
    met: dict[str, object] = {}
    for size, most in MOST.items():
        if (size, 1) in rows:
            times = rows[size, 1]["times_floor_processor"]
            met[f"met_{most}_times_the_floor_at_{size}"] = times <= most
    if (10_000, 1) in rows and (1_000_000, 1) in rows:
        growth = rows[1_000_000, 1]["p50_ms"] / rows[10_000, 1]["p50_ms"]
        met |= {"growth_10k_to_1M": round(growth, 1), "met_at_most_linear": growth <= 100}
    for size in (10_000, 100_000):
        if (size, 1) in rows and (size, 100) in rows:
            others = rows[size, 100]["times_floor"] / rows[size, 1]["times_floor"]
            met |= {
                f"slower_with_99_other_scopes_{size}": round(others, 2),
                f"met_flat_{size}": others <= 1.3,
            }
    return met


if __name__ == "__main__":
    main()
