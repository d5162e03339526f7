"""Learn the weights that ship in `holdfast/search/weights.json` from LongMemEval's questions.

    python bench/train.py longmemeval.json --write

Each question is asked of three pools: all sessions of the file, and its own sessions among 25 and
60 others, so that the weights do not depend on the size of a scope. A weight says how much more
likely a passage is the answer (softmax over the passages of a question, ridge penalty). Then the
squeeze into [0, 1] is fitted, for which each question is also asked of a pool without its answer.
LoCoMo is never read here: it is the held-out test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embeddings.base import Embedder, embedder_for
from holdfast.retrieval.features import ENCODER, NAMES, STATIC, Passage, features
from holdfast.retrieval.fusion import LEXICAL, Weights, linear
from holdfast.retrieval.query import Query, analyse
from holdfast.storage.store_types import Corpus
from holdfast.text.tokens import index_terms
from holdfast.types import Memory, Scope, from_datetime

Matrix = NDArray[np.float64]
WEIGHTS = Path(__file__).parents[1] / "src/holdfast/search/weights.json"
SITUATIONS = {
    LEXICAL: (),
    STATIC: (STATIC,),
    ENCODER: (ENCODER,),
    f"{ENCODER}+{STATIC}": (ENCODER, STATIC),
}
MODELS = {STATIC: "static", ENCODER: "arctic"}
# Equal for all passages of a question: they calibrate, they cannot rank.
CONSTANT = (
    "covered",
    "near",
)
POOLS = (None, 25, 60)  # sessions; None is all of them
RIDGE = 1.0
FOLDS = 5
# What recall fetches: per arm, and neighbours of its best.
ARM, NEIGHBOURED, REACH = (
    200,
    60,
    (-2, -1, 1, 2),
)
SCOPE = Scope("user", "bench")


@dataclass(frozen=True)
class Question:
    number: int
    text: str
    now: int
    gold: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True)
class Example:
    """A question with its candidates: features, which rows are gold, and how many gold turns there
    are in all.
    """

    question: Question
    matrix: Matrix
    gold: Matrix
    wanted: int
    baseline: Matrix  # plain BM25, the figure to beat
    sessions: tuple[str, ...]


class Pool:
    """Turns that are searched together, with the statistics a store would keep."""

    def __init__(
        self, turns: Sequence[Memory], terms: Sequence[list[str]], vectors: dict[str, Matrix]
    ) -> None:
        self.turns, self.terms, self.vectors = turns, terms, vectors
        self.lengths = np.array([len(each) for each in terms], dtype=float)
        self.place = {(turn.session, turn.position): row for row, turn in enumerate(turns)}

    def corpus(self, query: Query) -> Corpus:
        wanted = frozenset(query.terms)
        frequency = Counter(term for terms in self.terms for term in wanted.intersection(terms))
        return Corpus(len(self.turns), float(self.lengths.mean()), frequency)

    def bm25(self, query: Query, corpus: Corpus) -> Matrix:
        """The lexical arm: plain BM25 of each turn, any term may match."""
        wanted, scores = frozenset(query.terms), np.zeros(len(self.turns))
        for row, terms in enumerate(self.terms):
            for term in wanted.intersection(terms):
                count, frequency = terms.count(term), corpus.frequency[term]
                idf = math.log(1 + (corpus.size - frequency + 0.5) / (frequency + 0.5))
                scores[row] += (
                    idf * count / (count + 0.3 + 0.9 * self.lengths[row] / corpus.mean_length)
                )
        return scores

    def candidates(self, words: Matrix, similar: dict[str, Matrix]) -> list[int]:
        """What recall would fetch: the best of each arm and the turns around the best of those."""
        arms = [[int(row) for row in best(words) if words[row] > 0], *map(best, similar.values())]
        rows = dict.fromkeys(row for arm in arms for row in arm)
        for row in [row for arm in arms for row in arm[:NEIGHBOURED]]:
            turn = self.turns[row]
            near = (self.place.get((turn.session, (turn.position or 0) + step)) for step in REACH)
            rows.update(dict.fromkeys(other for other in near if other is not None))
        return list(rows)

    def passages(self, rows: Iterable[int], similar: dict[str, Matrix]) -> list[Passage]:
        return [
            Passage(
                self.turns[row],
                self.terms[row],
                {tier: float(all_[row]) for tier, all_ in similar.items()},
            )
            for row in rows
        ]


def best(scores: Matrix) -> list[int]:
    return [int(row) for row in np.argsort(-scores, kind="stable")[:ARM]]


def at(text: str) -> int:
    """`2023/05/28 (Sun) 06:47` in microseconds."""
    return from_datetime(
        datetime.strptime(text[:10] + text[-6:], "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
    )


def read(data: Sequence[dict[str, Any]]) -> tuple[list[Memory], list[Question]]:
    """Every turn of every session once, and the questions that have gold turns."""
    turns: dict[str, Memory] = {}
    questions = []
    for number, entry in enumerate(data):
        gold = set()
        sessions = zip(
            entry["haystack_session_ids"],
            entry["haystack_sessions"],
            entry["haystack_dates"],
            strict=True,
        )
        for session, said, date in sessions:
            for position, turn in enumerate(said):
                memory = as_memory(session, position, turn, at(date))
                turns.setdefault(memory.id, memory)
                if turn.get("has_answer"):
                    gold.add(memory.id)
        if gold:
            asked = at(entry["question_date"])
            own = frozenset(entry["haystack_session_ids"])
            questions.append(Question(number, entry["question"], asked, frozenset(gold), own))
    return list(turns.values()), questions


def as_memory(session: str, position: int, turn: dict[str, Any], when: int) -> Memory:
    return Memory(
        f"{session}#{position}",
        SCOPE,
        "turn",
        turn["content"],
        when,
        when,
        when,
        role=turn["role"],
        session=session,
        position=position,
    )


def embedded(texts: Sequence[str], embedder: Embedder, cache: Path | None) -> Matrix:
    """The vectors of `texts`, kept in `cache` because the encoder takes minutes."""
    digest = hashlib.sha256("\0".join([embedder.identity, *texts]).encode()).hexdigest()[:16]
    file = cache / f"{digest}.npy" if cache else None
    if file and file.exists():
        return np.asarray(np.load(file), dtype=float)
    vectors = embedder.embed_documents(texts)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, vectors)
    return np.asarray(vectors, dtype=float)


def sampled(turns: Sequence[Memory], question: Question, size: int, *, answered: bool) -> list[int]:
    """The rows of the question's own sessions (unless it is to go unanswered) among `size`
    sessions.
    """
    names = sorted({str(turn.session) for turn in turns})
    order = np.random.default_rng([question.number, size]).permutation(len(names))
    others = [names[place] for place in order if names[place] not in question.sessions]
    own = question.sessions if answered else frozenset()
    kept = own | set(others[: max(size - len(own), 0)])
    return [row for row, turn in enumerate(turns) if turn.session in kept]


def example(pool: Pool, question: Question, asked: dict[str, Matrix]) -> Example:
    query = analyse(question.text, question.now)
    similar = {tier: pool.vectors[tier] @ vector for tier, vector in asked.items()}
    corpus = pool.corpus(query)
    words = pool.bm25(query, corpus)
    rows = pool.candidates(words, similar)
    passages = pool.passages(rows, similar)
    ids = [passage.memory.id for passage in passages]
    gold = np.array([float(each in question.gold) for each in ids])
    matrix = np.array(features(query, corpus, passages))
    sessions = tuple(str(passage.memory.session) for passage in passages)
    return Example(question, matrix, gold, len(question.gold), words[rows], sessions)


def examples(
    whole: Pool,
    questions: Sequence[Question],
    asked: dict[str, Matrix],
    size: int | None,
    *,
    answered: bool = True,
) -> list[Example]:
    found = []
    for row, question in enumerate(questions):
        pool = whole
        if size is not None:
            rows = sampled(whole.turns, question, size, answered=answered)
            vectors = {tier: values[rows] for tier, values in whole.vectors.items()}
            pool = Pool(
                [whole.turns[each] for each in rows], [whole.terms[each] for each in rows], vectors
            )
        found.append(
            example(pool, question, {tier: vectors[row] for tier, vectors in asked.items()})
        )
    return found


def fit(data: Sequence[Example]) -> Matrix:
    """The weights under which gold passages are likeliest: Newton's method with step halving."""
    ranking = np.array([name not in CONSTANT for name in NAMES], dtype=float)
    pairs = [
        (each.matrix * ranking, each.gold / each.gold.sum()) for each in data if each.gold.any()
    ]
    weights, loss = np.zeros(len(NAMES)), math.inf
    for _ in range(50):
        slope, bend = gradient(pairs, weights)
        step, scale = np.linalg.solve(bend, slope), 1.0
        while (new := penalty(pairs, weights - scale * step)) > loss and scale > 1e-4:
            scale /= 2
        weights = weights - scale * step
        if loss - new < 1e-6:
            break
        loss = new
    return weights


def chances(sums: Matrix) -> Matrix:
    raised: Matrix = np.exp(sums - sums.max())
    return raised / float(raised.sum())


def penalty(pairs: Sequence[tuple[Matrix, Matrix]], weights: Matrix) -> float:
    loss = 0.5 * RIDGE * float(weights @ weights)
    return loss - sum(
        float(gold @ np.log(chances(matrix @ weights) + 1e-300)) for matrix, gold in pairs
    )


def gradient(pairs: Sequence[tuple[Matrix, Matrix]], weights: Matrix) -> tuple[Matrix, Matrix]:
    slope, bend = RIDGE * weights, RIDGE * np.eye(len(weights))
    for matrix, gold in pairs:
        likely = chances(matrix @ weights)
        mean = likely @ matrix
        slope = slope + (likely - gold) @ matrix
        bend = bend + (matrix * likely[:, None]).T @ matrix - np.outer(mean, mean)
    return slope, bend


def calibrate(
    weights: Matrix, answered: Sequence[Example], unanswered: Sequence[Example]
) -> tuple[Matrix, float, float]:
    """Weights with those of `covered` and `near` filled in, and the squeeze: slope and middle.

    A logistic fit of "is gold" on the ten best of each question, by its sum and by how good its
    best passage is.
    """
    constant = [NAMES.index(name) for name in CONSTANT]
    rows, gold = [], []
    for each in [*answered, *unanswered]:
        sums = each.matrix @ weights
        top = np.argsort(-sums, kind="stable")[:10]
        rows.append(np.column_stack([sums[top], each.matrix[top][:, constant], np.ones(len(top))]))
        gold.append(each.gold[top])
    found = logistic(np.concatenate(rows), np.concatenate(gold))
    slope = max(float(found[0]), 0.05)
    filled = weights.copy()
    filled[constant] = np.maximum(found[1:-1], 0.0) / slope
    return filled, slope, -float(found[-1]) / slope


def logistic(matrix: Matrix, gold: Matrix) -> Matrix:
    weights = np.zeros(matrix.shape[1])
    for _ in range(50):
        likely = 0.5 + 0.5 * np.tanh(matrix @ weights / 2)
        slope = matrix.T @ (likely - gold) + 0.1 * weights
        bend = (matrix * (likely * (1 - likely))[:, None]).T @ matrix + 0.1 * np.eye(len(weights))
        weights = weights - np.linalg.solve(bend, slope)
    return weights


def recall_at(k: int, data: Sequence[Example], scores: Sequence[Matrix]) -> float:
    """The mean share of gold turns among the `k` best."""
    tops = (np.argsort(-score, kind="stable")[:k] for score in scores)
    return float(
        np.mean([each.gold[top].sum() / each.wanted for each, top in zip(data, tops, strict=True)])
    )


def cross_validated(sets: Sequence[Sequence[Example]]) -> dict[str, float]:
    """Recall on the whole pool, each question scored by weights that never saw it, beside plain
    BM25.
    """
    scores: dict[int, Matrix] = {}
    for fold in range(FOLDS):
        weights = fit(
            [each for data in sets for each in data if each.question.number % FOLDS != fold]
        )
        held_out = (each for each in sets[0] if each.question.number % FOLDS == fold)
        scores.update({each.question.number: each.matrix @ weights for each in held_out})
    ours = [scores[each.question.number] for each in sets[0]]
    plain = [each.baseline for each in sets[0]]
    return {
        "turn R@5": recall_at(5, sets[0], ours),
        "turn R@10": recall_at(10, sets[0], ours),
        "session any@5": sessions_at(5, sets[0], ours, any),
        "session all@5": sessions_at(5, sets[0], ours, all),
        "BM25 turn R@10": recall_at(10, sets[0], plain),
        "BM25 session any@5": sessions_at(5, sets[0], plain, any),
        "BM25 session all@5": sessions_at(5, sets[0], plain, all),
    }


def sessions_at(k: int, data: Sequence[Example], scores: Sequence[Matrix], wanted: Any) -> float:
    """How often any (or all) of a question's gold sessions are among the first `k` sessions."""
    hits = []
    for each, score in zip(data, scores, strict=True):
        order = dict.fromkeys(each.sessions[row] for row in np.argsort(-score, kind="stable"))
        gold = {turn.rpartition("#")[0] for turn in each.question.gold}
        hits.append(wanted(session in list(order)[:k] for session in gold))
    return float(np.mean(hits))


def learn(
    whole: Pool, questions: Sequence[Question], asked: dict[str, Matrix]
) -> tuple[dict[str, Any], dict[str, float]]:
    """What `weights.json` holds for one situation, and its figures."""
    sets = [examples(whole, questions, asked, size) for size in POOLS]
    unanswered = examples(whole, questions, asked, POOLS[-1], answered=False)
    ranking = fit([each for data in sets for each in data])
    filled, slope, middle = calibrate(ranking, [each for data in sets for each in data], unanswered)
    squeeze = Weights(tuple(filled), middle, slope)
    figures = cross_validated(sets)
    figures["best score, answered"] = typical_best(sets[2], squeeze)
    figures["best score, unanswered"] = typical_best(unanswered, squeeze)
    values = {
        name: round(float(value), 3) for name, value in zip(NAMES, filled, strict=True) if value
    }
    return {"weights": values, "middle": round(middle, 3), "slope": round(slope, 3)}, figures


def typical_best(data: Sequence[Example], weights: Weights) -> float:
    return float(np.median([max(linear(each.matrix, weights)) for each in data]))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path, help="LongMemEval as JSON")
    options.add_argument("--cache", type=Path, help="folder in which vectors are kept between runs")
    options.add_argument("--date", default="", help="a date to note in the file")
    options.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    chosen = options.parse_args()
    raw = chosen.data.read_bytes()
    situations = {}
    for name, (one, figures) in learn_all(*read(json.loads(raw)), chosen.cache).items():
        situations[name] = one
        print(
            name,
            json.dumps(one),
            json.dumps({key: round(value, 3) for key, value in figures.items()}),
        )
    if chosen.write:
        origin = {"data": hashlib.sha256(raw).hexdigest(), "date": chosen.date}
        learned = {**origin, "features": list(NAMES), "situations": situations}
        WEIGHTS.write_text(json.dumps(learned, indent=2) + "\n", "utf-8")


def learn_all(
    turns: Sequence[Memory], questions: Sequence[Question], cache: Path | None
) -> dict[str, Any]:
    """Per situation, what `weights.json` holds for it and its figures."""
    texts = [turn.content for turn in turns]
    terms = [index_terms(text) for text in texts]
    vectors, asked = {}, {}
    for tier, name in MODELS.items():
        embedder = embedder_for(name, environ={})
        assert embedder
        vectors[tier] = embedded(texts, embedder, cache)
        asked[tier] = np.stack(
            [np.asarray(embedder.embed_query(each.text), dtype=float) for each in questions]
        )
    return {
        name: learn(Pool(turns, terms, only(tiers, vectors)), questions, only(tiers, asked))
        for name, tiers in SITUATIONS.items()
    }


def only(tiers: Sequence[str], vectors: dict[str, Matrix]) -> dict[str, Matrix]:
    return {tier: vectors[tier] for tier in tiers}


if __name__ == "__main__":
    main()
