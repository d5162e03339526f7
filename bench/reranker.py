"""How long deep recall reads: twenty candidates of a question, beside one question embedded.

    python bench/reranker.py locomo10.json [--questions 40]

The candidates are turns of LoCoMo, each with the turn before it, as deep recall reads them. The
bar: at most 250 ms for twenty on two cores.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from common import finish, median, quantile, timed
from holdfast import benchmark
from holdfast.models.embeddings.onnx import OnnxEmbedder
from holdfast.models.reranker import Pair, Reranker

CANDIDATES = 20
BAR_MS = 250


def measure(locomo: Path, questions: int) -> dict[str, Any]:
    """Median times of reading twenty candidates and of embedding the question."""
    pool = next(iter(benchmark.DATASETS["locomo"](locomo)))
    turns = [turn["text"] for turn in pool.turns if turn["text"].strip()]
    chance = random.Random(0)
    reranker, encoder = Reranker(), OnnxEmbedder()
    reading, embedding = [], []
    for number, asked in enumerate(pool.questions[: questions + 1]):
        places = chance.sample(range(1, len(turns)), CANDIDATES)
        pairs = [Pair(asked.text, turns[place], turns[place - 1]) for place in places]
        took = (
            timed(lambda pairs=pairs: reranker.scores(pairs)),
            timed(lambda text=asked.text: encoder.embed_query(text)),
        )
        if number:  # the first one loads the models
            reading.append(took[0] * 1e3)
            embedding.append(took[1] * 1e3)
    return {
        "questions": len(reading),
        "candidates": CANDIDATES,
        "p50_ms": round(median(reading), 1),
        "p95_ms": round(quantile(reading, 0.95), 1),
        "embedding_ms": round(median(embedding), 1),
        "times_embedding": round(median(reading) / median(embedding), 1),
        "met_250_ms": median(reading) <= BAR_MS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--questions", type=int, default=40)
    options = parser.parse_args()
    finish(measure(options.locomo, options.questions))


if __name__ == "__main__":
    main()
