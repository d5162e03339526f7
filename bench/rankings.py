"""The plain rankings that the systems before Holdfast prescribe, on the same turns, questions and
scoring.

FTS5 with all words of the question (its default), with any of them, at its best with stems and
without stop words, vectors alone, and reciprocal rank fusion of words and vectors with k = 60. Each
turn is one document, `Speaker: text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import apsw
import numpy as np

from holdfast.benchmark import DEPTHS, Answer, Asked, Pool, answered
from holdfast.text.stopwords import STOP_WORDS
from vectors import Vectors

K = 60  # Cormack et al. 2009, and what the systems before us use
DEPTH = max(DEPTHS)
ARM = 2 * DEPTH  # hits that are asked of each side before they are fused

Ranking = list[int]
Ranker = Callable[[str], Ranking]
Embed = Callable[[Sequence[str]], np.ndarray]


def document(turn: Mapping[str, Any]) -> str:
    """A turn as one text, for whoever does not know speakers."""
    return f"{turn['author']}: {turn['text']}" if turn.get("author") else str(turn["text"])


def spoken(pool: Pool) -> list[Mapping[str, Any]]:
    """The turns of a pool in which something is said."""
    return [turn for turn in pool.turns if turn["text"].strip()]


def by_words(documents: Sequence[str], *, any_of: bool, tuned: bool = False) -> Ranker:
    """FTS5 in BM25's order: texts with every word of the question, or any; `tuned` stems and leaves
    out stop words.
    """
    index = apsw.Connection(":memory:")
    tokenizer = "porter unicode61" if tuned else "unicode61"
    index.execute(f"CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = '{tokenizer}')")
    index.executemany("INSERT INTO words (rowid, content) VALUES (?, ?)", enumerate(documents))
    ignored = STOP_WORDS["en"] if tuned else frozenset()

    def rank(question: str) -> Ranking:
        words = [
            f'"{word}"' for word in re.findall(r"\w+", question) if word.lower() not in ignored
        ]
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        match = (" OR " if any_of else " ").join(words)
        return [row for (row,) in index.execute(query, (match, ARM))] if match else []

    return rank


def by_meaning(documents: Sequence[str], embed: Embed) -> Ranker:
    """The nearest vectors."""
    matrix = embed(documents)

    def rank(question: str) -> Ranking:
        scores = matrix @ embed([question])[0]
        return np.argsort(-scores, kind="stable")[:ARM].tolist()

    return rank


def fused(rankers: Sequence[Ranker]) -> Ranker:
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over the rankings that hold a document."""

    def rank(question: str) -> Ranking:
        scores: dict[int, float] = {}
        for ranker in rankers:
            for place, row in enumerate(ranker(question), start=1):
                scores[row] = scores.get(row, 0.0) + 1 / (K + place)
        return sorted(scores, key=scores.__getitem__, reverse=True)

    return rank


def rankers(documents: Sequence[str], models: Mapping[str, Embed]) -> dict[str, Ranker]:
    """Every ranking to be compared, by what the report calls it."""
    every_word, tuned = (
        by_words(documents, any_of=False),
        by_words(documents, any_of=True, tuned=True),
    )
    found = {
        "FTS5, all words": every_word,
        "FTS5, any word": by_words(documents, any_of=True),
        "FTS5, any word, stems, no stop words": tuned,
    }
    for model, embed in models.items():
        near = by_meaning(documents, embed)
        found |= {
            f"vectors of {model}": near,
            f"RRF k=60: FTS5 all words + {model}": fused([every_word, near]),
            f"RRF k=60: FTS5 stems + {model}": fused([tuned, near]),
        }
    return found


def answers(pools: Iterable[Pool], models: Mapping[str, Vectors]) -> dict[str, list[Answer]]:
    """What each ranking answers to the questions of all pools."""
    collected: dict[str, list[Answer]] = {}
    for pool in pools:
        turns = spoken(pool)
        for vectors in models.values():
            vectors.expect(asked.text for asked in pool.questions)
        every = rankers(
            [document(turn) for turn in turns],
            {name: vectors.of for name, vectors in models.items()},
        )
        for name, ranker in every.items():
            collected.setdefault(name, []).extend(
                answer(asked, ranker, turns) for asked in pool.questions
            )
    return collected


def answer(asked: Asked, ranker: Ranker, turns: Sequence[Mapping[str, Any]]) -> Answer:
    """What a ranking of `turns` is worth as an answer."""
    found = [(turns[row]["key"], turns[row]["text"]) for row in ranker(asked.text)[:DEPTH]]
    return answered(asked, found, {turn["key"]: turn["session"] for turn in turns})
