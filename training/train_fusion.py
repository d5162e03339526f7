"""Learn the weights of recall that ship in `holdfast/retrieval/weights.json`.

    python training/train_fusion.py --longmemeval longmemeval_dev150.json \\
        --scenes character-identification/ --cache vectors/ --write

Every kind of question set counts the same, however many questions it has. Each question is asked
of its whole scope and of a smaller one, so that the weights do not depend on the size of a scope.
A weight says how much more likely a passage is an answer (softmax over the passages of a question,
ridge penalty). Then the squeeze into [0, 1] is fitted, for which questions are also asked of scopes
that do not answer them. LoCoMo is never read here: it is the held-out test.

Printed figures are cross-validated: weights that score a conversation never saw it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fusion_data import Asked, longmemeval, own_sets
from fusion_data import Corpus as QuestionSet
from numpy.typing import NDArray

from holdfast.maintenance.embedding_catchup import embedded_text
from holdfast.models.embeddings.base import Embedder, embedder_for
from holdfast.retrieval.features import ENCODER, NAMES, STATIC, Passage, features
from holdfast.retrieval.fusion import LEXICAL
from holdfast.retrieval.query import Query, analyse
from holdfast.storage.row_codec import indexed_text
from holdfast.storage.store_types import Corpus
from holdfast.text.tokens import ENGLISH, OTHER_LATIN, OTHER_SCRIPT, index_terms
from holdfast.types import Memory

Matrix = NDArray[np.float64]
# Features of the candidates, which of them are gold, what the question counts.
Weighted = Sequence[tuple[Matrix, Matrix, float]]
WEIGHTS = Path(__file__).parents[1] / "src/holdfast/retrieval/weights.json"
SITUATIONS = {
    LEXICAL: (),
    STATIC: (STATIC,),
    ENCODER: (ENCODER,),
    f"{ENCODER}+{STATIC}": (ENCODER, STATIC),
}
MODELS = {STATIC: "static", ENCODER: "encoder"}
# Equal for all passages of a question: they calibrate, they cannot rank.
CONSTANT = ("covered", "near")
RANKING = np.array([name not in CONSTANT for name in NAMES], dtype=float)
# Questions that a kind of set counts as. Only LongMemEval's questions were asked by others: ours
# avoid the words of their answers more than people do.
SHARES = {"longmemeval": 900, "other person": 150}
SHARE = 300
# ... but never more per question: a handful of questions is no kind.
MOST = 10.0
RIDGE = 1.0
FOLDS = 5
# What recall fetches: per arm, and neighbours of its best.
ARM = 200
NEIGHBOURED = 60
REACH = (-2, -1, 1, 2)
# Off-topic questions asked of each set, and rows of the tiny scope that they are asked of as well.
OFF_TOPIC = 60
TINY = 12
# Best passages of a question that the squeeze is fitted on.
CALIBRATED = 5


@dataclass(frozen=True)
class Example:
    """A question with its candidates: features, which rows are gold, how many gold rows exist."""

    kind: str
    conversation: str
    writing: str
    matrix: Matrix
    gold: Matrix
    wanted: int
    baseline: Matrix  # plain BM25, the figure to beat

    @property
    def fold(self) -> int:
        return zlib.crc32(self.conversation.encode()) % FOLDS


class Pool:
    """Memories that are searched together, with the statistics a store would keep."""

    def __init__(
        self,
        memories: Sequence[Memory],
        terms: Sequence[list[str]],
        vectors: Mapping[str, Matrix],
    ) -> None:
        self.memories = memories
        self.terms = terms
        self.vectors = vectors
        self.lengths = np.array([len(each) for each in terms], dtype=float)
        self.place = {(one.session, one.position): row for row, one in enumerate(memories)}

    def part(self, rows: Sequence[int]) -> Pool:
        """The same with only these rows."""
        vectors = {tier: values[list(rows)] for tier, values in self.vectors.items()}
        memories = [self.memories[row] for row in rows]
        return Pool(memories, [self.terms[row] for row in rows], vectors)

    def corpus(self, query: Query) -> Corpus:
        wanted = frozenset(query.terms)
        frequency = Counter(term for terms in self.terms for term in wanted.intersection(terms))
        return Corpus(len(self.memories), float(self.lengths.mean()), frequency)

    def bm25(self, query: Query, corpus: Corpus) -> Matrix:
        """The lexical arm: plain BM25 of each memory, any term may match."""
        wanted = frozenset(query.terms)
        scores = np.zeros(len(self.memories))
        for row, terms in enumerate(self.terms):
            for term in wanted.intersection(terms):
                count = terms.count(term)
                frequency = corpus.frequency[term]
                idf = math.log(1 + (corpus.size - frequency + 0.5) / (frequency + 0.5))
                length = self.lengths[row] / corpus.mean_length
                scores[row] += idf * count / (count + 0.3 + 0.9 * length)
        return scores

    def candidates(self, words: Matrix, similar: Mapping[str, Matrix]) -> list[int]:
        """What recall would fetch: the best of each arm and the turns around the best of those."""
        arms = [[row for row in best(words, ARM) if words[row] > 0]]
        arms += [best(scores, ARM) for scores in similar.values()]
        rows = dict.fromkeys(row for arm in arms for row in arm)
        for row in [row for arm in arms for row in arm[:NEIGHBOURED]]:
            memory = self.memories[row]
            if memory.position is not None:
                near = (self.place.get((memory.session, memory.position + step)) for step in REACH)
                rows.update(dict.fromkeys(other for other in near if other is not None))
        return list(rows)


def best(scores: Matrix, count: int) -> list[int]:
    return [int(row) for row in np.argsort(-scores, kind="stable")[:count]]


class Scope:
    """A question set with its terms and vectors, ready to be asked."""

    def __init__(
        self,
        questions: QuestionSet,
        embedders: Mapping[str, Embedder],
        cache: Path | None,
    ) -> None:
        self.questions = questions
        self._embedders = embedders
        self._cache = cache
        memories = questions.memories
        terms = [index_terms(indexed_text(one.title, one.content, ())) for one in memories]
        vectors = {}
        for tier, embedder in embedders.items():
            texts = [embedded_text(one) for one in memories]
            vectors[tier] = self._embedded(texts, embedder, asked=False)
        self.pool = Pool(memories, terms, vectors)

    def _embedded(self, texts: Sequence[str], embedder: Embedder, *, asked: bool) -> Matrix:
        """The vectors of `texts`, kept in the cache because the encoder takes minutes."""
        named = "\0".join([embedder.identity, str(asked), *texts])
        digest = hashlib.sha256(named.encode()).hexdigest()[:20]
        file = self._cache / f"{digest}.npy" if self._cache else None
        if file and file.exists():
            return np.asarray(np.load(file), dtype=float)
        if asked:
            vectors = np.stack([np.asarray(embedder.embed_query(text)) for text in texts])
        else:
            vectors = embedder.embed_documents(texts)
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, vectors)
        return np.asarray(vectors, dtype=float)

    def examples(
        self,
        asked: Sequence[Asked],
        *,
        rows: Sequence[int] | None = None,
        small: bool = False,
    ) -> Iterator[Example]:
        """The questions with their candidates in the whole scope, in these rows, or in a smaller
        scope around each question's own conversation.
        """
        queries = [analyse(one.text, one.now, authors=self.questions.authors) for one in asked]
        vectors = {}
        for tier, embedder in self._embedders.items():
            texts = [one.embed for one in queries]
            vectors[tier] = self._embedded(texts, embedder, asked=True)
        parts: dict[tuple[int, ...], Pool] = {}
        for number, (one, query) in enumerate(zip(asked, queries, strict=True)):
            pool = self.pool
            if small or rows is not None:
                chosen = self._around(one) if small else tuple(rows or ())
                pool = parts.get(chosen) or self.pool.part(chosen)
                parts = {chosen: pool}
            mine = {tier: values[number] for tier, values in vectors.items()}
            yield self._example(pool, one, query, mine)

    def _around(self, one: Asked) -> tuple[int, ...]:
        """The question's own conversation, and whole other sessions up to the size of the set."""
        kept = set(one.own)
        sessions = defaultdict(list)
        for row, memory in enumerate(self.questions.memories):
            sessions[memory.session].append(row)
        names = sorted(sessions, key=str)
        random.Random(one.conversation).shuffle(names)
        for name in names:
            if len(kept) >= self.questions.small:
                break
            kept.update(sessions[name])
        return tuple(sorted(kept))

    def _example(
        self,
        pool: Pool,
        one: Asked,
        query: Query,
        vectors: Mapping[str, Matrix],
    ) -> Example:
        similar = {tier: pool.vectors[tier] @ vector for tier, vector in vectors.items()}
        corpus = pool.corpus(query)
        words = pool.bm25(query, corpus)
        rows = pool.candidates(words, similar)
        passages = []
        for row in rows:
            near = {tier: float(scores[row]) for tier, scores in similar.items()}
            passages.append(Passage(pool.memories[row], pool.terms[row], near))
        gold = np.array([float(int(pool.memories[row].id) in one.gold) for row in rows])
        matrix = np.array(features(query, corpus, passages)).reshape(len(rows), len(NAMES))
        return Example(
            self.questions.kind,
            one.conversation,
            query.writing,
            matrix,
            gold,
            len(one.gold),
            words[rows],
        )


def ask_all(scopes: Sequence[Scope]) -> tuple[list[Example], list[Example]]:
    """Every question in its whole and its small scope, and off-topic questions."""
    answered = []
    off_topic = []
    chance = random.Random(1)
    for scope in scopes:
        mine = scope.questions
        answered += scope.examples(mine.asked)
        if any(len(one.own) < len(mine.memories) for one in mine.asked):
            answered += scope.examples(mine.asked, small=True)
        others = [
            Asked(one.text, one.now, (), mine.name, one.own)
            for other in scopes
            if _are_apart(mine, other.questions)
            for one in other.questions.asked
        ]
        asked = chance.sample(others, OFF_TOPIC)
        off_topic += scope.examples(asked)
        rows = chance.sample(range(len(mine.memories)), TINY)
        off_topic += scope.examples(asked, rows=rows)
    return answered, off_topic


def _are_apart(one: QuestionSet, other: QuestionSet) -> bool:
    """Whether no question of `other` is answered in `one`: they are of different kinds, and people
    do not talk about the same lives.
    """
    if one.kind == "languages":
        return other.kind == "languages" and other.name != one.name
    private = {"people", "friends", "other person"}
    both = {one.kind, other.kind}
    return len(both) == 2 and other.kind != "languages" and not both <= private


def fit(data: Sequence[Example]) -> Matrix:
    """The weights under which gold passages are likeliest.

    Only a question may speak against a passage: a feature with another negative weight fits an
    accident of the data and is left out.
    """
    asked = Counter(each.kind for each in data if each.gold.any())
    found = []
    for each in data:
        if each.gold.any():
            share = min(SHARES.get(each.kind, SHARE) / asked[each.kind], MOST)
            found.append((each.matrix, each.gold / each.gold.sum(), share))
    used = RANKING
    while True:
        weights = newton([(matrix * used, gold, share) for matrix, gold, share in found])
        wrong = (weights < 0) & (np.array(NAMES) != "question")
        if not wrong.any():
            return weights
        used = np.where(wrong, 0.0, used)


def newton(found: Weighted) -> Matrix:
    """Newton's method with step halving."""
    weights = np.zeros(len(NAMES))
    loss = math.inf
    for _ in range(50):
        slope, bend = gradient(found, weights)
        step = np.linalg.solve(bend, slope)
        scale = 1.0
        while (new := penalty(found, weights - scale * step)) > loss and scale > 1e-4:
            scale /= 2
        weights = weights - scale * step
        if loss - new < 1e-5:
            break
        loss = new
    return weights


def chances(sums: Matrix) -> Matrix:
    raised: Matrix = np.exp(sums - sums.max())
    return raised / float(raised.sum())


def penalty(data: Weighted, weights: Matrix) -> float:
    loss = 0.5 * RIDGE * float(weights @ weights)
    for matrix, gold, share in data:
        loss -= share * float(gold @ np.log(chances(matrix @ weights) + 1e-300))
    return loss


def gradient(data: Weighted, weights: Matrix) -> tuple[Matrix, Matrix]:
    slope = RIDGE * weights
    bend = RIDGE * np.eye(len(weights))
    for matrix, gold, share in data:
        likely = chances(matrix @ weights)
        mean = likely @ matrix
        slope = slope + share * ((likely - gold) @ matrix)
        bend = bend + share * ((matrix * likely[:, None]).T @ matrix - np.outer(mean, mean))
    return slope, bend


def calibrate(weights: Matrix, data: Sequence[Example]) -> tuple[Matrix, float, float]:
    """Weights with those of `covered` and `near` filled in, and the squeeze: slope and middle.

    A logistic fit of "is gold" on the best of each question, by its sum and by how good its best
    passage is. Questions with an answer and without one count the same, per kind.
    """
    constant = [NAMES.index(name) for name in CONSTANT]
    found = [each for each in data if len(each.matrix)]
    asked = Counter((each.kind, each.wanted > 0) for each in found)
    rows, gold, shares = [], [], []
    for each in found:
        sums = each.matrix @ weights
        top = best(sums, CALIBRATED)
        rows.append(np.column_stack([sums[top], each.matrix[top][:, constant], np.ones(len(top))]))
        gold.append(each.gold[top])
        share = min(SHARE / asked[each.kind, each.wanted > 0], MOST)
        shares.append(np.full(len(top), share))
    fitted = logistic(np.concatenate(rows), np.concatenate(gold), np.concatenate(shares))
    slope = max(float(fitted[0]), 0.05)
    filled = weights.copy()
    filled[constant] = np.maximum(fitted[1:-1], 0.0) / slope
    return filled, slope, -float(fitted[-1]) / slope


def logistic(matrix: Matrix, gold: Matrix, shares: Matrix) -> Matrix:
    weights = np.zeros(matrix.shape[1])
    for _ in range(50):
        likely = 0.5 + 0.5 * np.tanh(matrix @ weights / 2)
        slope = matrix.T @ (shares * (likely - gold)) + RIDGE * weights
        curve = shares * likely * (1 - likely)
        bend = (matrix * curve[:, None]).T @ matrix + RIDGE * np.eye(len(weights))
        weights = weights - np.linalg.solve(bend, slope)
    return weights


def recall_at(k: int, each: Example, scores: Matrix) -> float:
    """The share of gold passages among the `k` best."""
    if not len(each.matrix):
        return 0.0
    return float(each.gold[best(scores, k)].sum()) / each.wanted


def figures(data: Sequence[Example], off_topic: Sequence[Example]) -> dict[str, Any]:
    """Per kind, recall at 10 beside plain BM25; and how well a best score tells that there is an
    answer. All of it by weights that never saw the conversation.
    """
    ours: dict[str, list[float]] = defaultdict(list)
    plain: dict[str, list[float]] = defaultdict(list)
    with_answer: list[float] = []
    without: list[float] = []
    for fold in range(FOLDS):
        ranking = fit([each for each in data if each.fold != fold])
        known = [each for each in (*data, *off_topic) if each.fold != fold]
        weights, slope, middle = calibrate(ranking, known)
        for each in data:
            if each.fold == fold and each.wanted:
                ours[each.kind].append(recall_at(10, each, each.matrix @ weights))
                plain[each.kind].append(recall_at(10, each, each.baseline))
        for each in (*data, *off_topic):
            if each.fold == fold and len(each.matrix):
                top = float((each.matrix @ weights).max())
                score = 0.5 + 0.5 * math.tanh(slope * (top - middle) / 2)
                (with_answer if each.wanted else without).append(score)
    return {
        "R@10": {kind: round(float(np.mean(shares)), 3) for kind, shares in ours.items()},
        "BM25 R@10": {kind: round(float(np.mean(shares)), 3) for kind, shares in plain.items()},
        "AUROC of the best score": round(auroc(with_answer, without), 3),
        "best score": [round(float(np.median(one)), 2) for one in (with_answer, without)],
    }


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """How often a score with an answer is above one without."""
    if not positive or not negative:
        return math.nan
    above = np.array(positive)[:, None] - np.array(negative)[None]
    return float(np.mean(above > 0) + 0.5 * np.mean(above == 0))


def learn(data: Sequence[Example], off_topic: Sequence[Example]) -> dict[str, Any]:
    """What `weights.json` holds for one situation."""
    filled, slope, middle = calibrate(fit(data), [*data, *off_topic])
    values = {
        name: round(float(value), 3) for name, value in zip(NAMES, filled, strict=True) if value
    }
    return {"weights": values, "middle": round(middle, 3), "slope": round(slope, 3)}


def learn_all(
    sets: Sequence[QuestionSet],
    cache: Path | None,
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each situation with what `weights.json` holds for it, and its figures."""
    for tiers, used in SITUATIONS.items():
        embedders = {}
        for tier in used:
            embedder = embedder_for(MODELS[tier], environ={})
            assert embedder
            embedders[tier] = embedder
        data, off_topic = ask_all([Scope(one, embedders, cache) for one in sets])
        for writing in (ENGLISH, OTHER_LATIN, OTHER_SCRIPT) if used else ("",):
            mine = _in_writing(data, writing)
            off = _in_writing(off_topic, writing)
            name = tiers if writing in ("", ENGLISH) else f"{tiers} ({writing})"
            yield name, learn(mine, off), figures(mine, off)


def _in_writing(data: Iterable[Example], writing: str) -> list[Example]:
    return [each for each in data if not writing or each.writing == writing]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--longmemeval", type=Path, help="longmemeval_dev150.json")
    options.add_argument("--scenes", type=Path, help="checkout of character-identification")
    options.add_argument("--cache", type=Path, help="folder in which vectors are kept between runs")
    options.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    chosen = options.parse_args()
    sets = list(own_sets(chosen.scenes))
    if chosen.longmemeval:
        sets.append(longmemeval(chosen.longmemeval))
    situations = {}
    for name, learned, found in learn_all(sets, chosen.cache):
        situations[name] = learned
        print(name, json.dumps(learned), json.dumps(found), sep="\n  ", flush=True)
    if chosen.write:
        questions = {one.kind: 0 for one in sets}
        for one in sets:
            questions[one.kind] += len(one.asked)
        whole = {"questions": questions, "features": list(NAMES), "situations": situations}
        WEIGHTS.write_text(json.dumps(whole, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
