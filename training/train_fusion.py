"""Learn the weights of recall that ship in `holdfast/retrieval/weights.json`.

    python training/train_fusion.py --longmemeval longmemeval_dev150.json \\
        --scenes character-identification/ --encoders without_0 without_1 \\
        --tables table_without_0 table_without_1 --cache vectors/ --write

Every kind of question set counts the same, however many questions it has. Each question is asked
of its whole scope and of a smaller one, so that the weights do not depend on the size of a scope.
A weight says how much more likely a passage is an answer (softmax over the passages of a question,
ridge penalty). Then a gate is learned, by questions asked of scopes that have nothing to do with
them, and the squeeze into [0, 1] by the questions that pass it. LoCoMo is never read here: it is
the held-out test.

A model looks better on questions that it was trained on than it is. So every set is embedded by a
model that was trained on the other half of them (`half_of`), not by the one that ships.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fusion_data import Asked, corpus_of, longmemeval, own_sets
from fusion_data import Corpus as QuestionSet
from numpy.typing import NDArray
from pools import friendsqa

from holdfast.maintenance.embedding_catchup import embedded_text
from holdfast.models.embeddings.base import Embedder
from holdfast.models.embeddings.onnx import OnnxEmbedder
from holdfast.models.embeddings.static import StaticEmbedder
from holdfast.models.reranker import Reranker
from holdfast.retrieval.features import CONSTANT, ENCODER, NAMES, STATIC, Passage, features
from holdfast.retrieval.fusion import (
    LEXICAL,
    DeepWeights,
    deepened,
    log_shares,
    logit,
)
from holdfast.retrieval.fusion import logistic as logistic_of
from holdfast.retrieval.query import Query, analyse
from holdfast.retrieval.reranking import READ, Pairs, Turn, turns_of
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
DEEP = "deep"
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
# Questions of each set that are asked in a crowd: among everything in English, and among parts of
# it with so many memories.
CROWDED = 15
CROWDS = (500, 2_000, 6_000, 1_000_000)
# Best passages of a question that the squeeze is fitted on.
CALIBRATED = 5
# Share of the questions with an answer that must be seen to have one. Ours are harder than those of
# others: where 0.947 of all pass, 0.993 of LongMemEval's do. The static model tells them from
# others less well, and of other languages we have few questions: there fewer may be lost.
KEPT = {ENCODER: 0.965, STATIC: 0.99}
KEPT_ELSEWHERE = 0.99
# The half that the reranker was not trained on, and questions of each kind that it reads there.
RERANKED_HALF = 0
RERANKED = 200
# Characters of a prompt to an assistant that is asked of a memory that knows nothing about it.
PROMPT = (15, 300)


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
    label: str  # whether its scope answers it
    question: str
    memories: Sequence[Memory]
    before: Mapping[Turn, Memory]  # turns of its scope
    half: int

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
        counted: Callable[[str], Matrix] | None = None,
    ) -> None:
        self.memories = memories
        self.terms = terms
        self.vectors = vectors
        self.counted = counted or counter(terms)
        self.lengths = np.array([len(each) for each in terms], dtype=float)
        self.place = {(one.session, one.position): row for row, one in enumerate(memories)}

    @classmethod
    def joined(cls, pools: Iterable[Pool]) -> Pool:
        """The memories of several pools, each text once. Only those of the first keep their ids."""
        known: set[str] = set()
        memories: list[Memory] = []
        terms: list[list[str]] = []
        vectors = defaultdict(list)
        for number, pool in enumerate(pools):
            rows = [
                row
                for row, one in enumerate(pool.memories)
                if not number or one.content not in known
            ]
            known.update(one.content for one in pool.memories)
            for row in rows:
                name = str(-1 - len(memories)) if number else pool.memories[row].id
                memories.append(pool.memories[row].with_(id=name))
                terms.append(pool.terms[row])
            for tier, values in pool.vectors.items():
                vectors[tier].append(values[rows])
        return cls(memories, terms, {tier: np.concatenate(each) for tier, each in vectors.items()})

    def part(self, rows: Sequence[int]) -> Pool:
        """The same with only these rows."""
        chosen = list(rows)
        vectors = {tier: values[chosen] for tier, values in self.vectors.items()}
        memories = [self.memories[row] for row in chosen]
        terms = [self.terms[row] for row in chosen]
        return Pool(memories, terms, vectors, lambda term: self.counted(term)[chosen])

    def corpus(self, query: Query) -> Corpus:
        frequency = Counter(
            {term: int(np.count_nonzero(self.counted(term))) for term in frozenset(query.terms)}
        )
        return Corpus(len(self.memories), float(self.lengths.mean()), frequency)

    def bm25(self, query: Query, corpus: Corpus) -> Matrix:
        """The lexical arm: plain BM25 of each memory, any term may match."""
        scores = np.zeros(len(self.memories))
        length = self.lengths / corpus.mean_length
        for term in frozenset(query.terms):
            count = self.counted(term)
            frequency = corpus.frequency[term]
            idf = math.log(1 + (corpus.size - frequency + 0.5) / (frequency + 0.5))
            scores += idf * count / (count + 0.3 + 0.9 * length)
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


def counter(texts: Sequence[list[str]]) -> Callable[[str], Matrix]:
    """How often each text has a term, for any term."""
    places: dict[str, list[int]] = defaultdict(list)
    for row, terms in enumerate(texts):
        for term in terms:
            places[term].append(row)
    return lambda term: np.bincount(places.get(term, []), minlength=len(texts)).astype(float)


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
        self.turns = turns_of(memories)

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
        rows: Callable[[Asked], tuple[int, ...]] | None = None,
        pool: Pool | None = None,
    ) -> Iterator[Example]:
        """The questions with their candidates in the whole scope, or in the rows for each, of
        another pool if one is given.
        """
        whole = pool or self.pool
        queries = [analyse(one.text, one.now, authors=self.questions.authors) for one in asked]
        vectors = {}
        for tier, embedder in self._embedders.items():
            texts = [one.embed for one in queries]
            vectors[tier] = self._embedded(texts, embedder, asked=True)
        parts: dict[tuple[int, ...], Pool] = {}
        for number, (one, query) in enumerate(zip(asked, queries, strict=True)):
            searched = whole
            if rows is not None:
                chosen = rows(one)
                searched = parts.get(chosen) or whole.part(chosen)
                parts = {chosen: searched}
            mine = {tier: values[number] for tier, values in vectors.items()}
            yield self._example(searched, one, query, mine)

    def tiny(self, one: Asked) -> tuple[int, ...]:
        """A dozen rows, those that answer the question among them."""
        others = random.Random(one.text).sample(range(len(self.questions.memories)), TINY)
        return tuple(sorted(dict.fromkeys([*one.gold, *others][:TINY])))

    def around(self, one: Asked) -> tuple[int, ...]:
        """The question's own conversation, and whole other sessions up to the size of the set."""
        return beside(one, sessions_of(self.questions.memories), self.questions.small)

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
            one.label,
            one.text,
            [pool.memories[row] for row in rows],
            self.turns,
            self.questions.half,
        )


class Examples(NamedTuple):
    """Questions of their own scopes, whole and small; the same of a dozen memories, where any
    order is good and only the gate and the score can be learned; and questions and prompts that
    have nothing to do with their scope.
    """

    asked: list[Example]
    tiny: list[Example]
    off_topic: list[Example]

    def only(self, wanted: Callable[[Example], bool]) -> Examples:
        return Examples(*([one for one in part if wanted(one)] for part in self))


def sessions_of(memories: Sequence[Memory]) -> dict[object, list[int]]:
    """The rows of each session; what belongs to none stands alone."""
    sessions: dict[object, list[int]] = defaultdict(list)
    for row, memory in enumerate(memories):
        sessions[memory.session or row].append(row)
    return sessions


def beside(one: Asked, sessions: Mapping[object, list[int]], size: int) -> tuple[int, ...]:
    """The rows of a question's own conversation, and of whole other sessions up to a size."""
    kept = set(one.own)
    names = sorted(sessions, key=str)
    random.Random(one.conversation).shuffle(names)
    for name in names:
        if len(kept) >= size:
            break
        kept.update(sessions[name])
    return tuple(sorted(kept))


def ask_crowds(scopes: Sequence[Scope]) -> list[Example]:
    """Some English questions of each set, asked of it alone, and of it among everything of other
    kinds, so many memories at a time.
    """
    found: list[Example] = []
    chance = random.Random(3)
    crowds: dict[str, Pool] = {}
    mine = [one for one in scopes if one.questions.kind not in ("languages", "other person")]
    for scope in mine:
        own = scope.questions
        if not own.asked:
            continue
        if own.kind not in crowds:
            crowds[own.kind] = Pool.joined(
                one.pool for one in mine if one.questions.kind != own.kind
            )
        answered = [one for one in own.asked if one.gold]
        asked = chance.sample(answered, min(CROWDED, len(answered)))
        crowd = Pool.joined([scope.pool, crowds[own.kind]])
        found.extend(scope.examples(asked))
        for size in CROWDS:
            found.extend(scope.examples(asked, pool=crowd, rows=part_of(crowd, size)))
    return found


def scenes(folder: Path) -> list[QuestionSet]:
    """The scenes of FriendsQA, without questions: what else may be in a large scope."""
    pools = [pool for pool in friendsqa(folder) if pool["docs"]]
    return [
        corpus_of(name, "friends", [pool | {"name": name, "kind": "people", "qs": []}])
        for name, pool in ((f"scenes-{number}", pool) for number, pool in enumerate(pools))
    ]


def part_of(pool: Pool, size: int) -> Callable[[Asked], tuple[int, ...]]:
    """The rows of a pool that a question is asked of, so many."""
    every = tuple(range(len(pool.memories)))
    if size >= len(every):
        return lambda _: every
    sessions = sessions_of(pool.memories)
    return lambda one: beside(one, sessions, size)


def ask_all(scopes: Sequence[Scope]) -> Examples:
    """Every question and as many off-topic ones, each of scopes of several sizes."""
    found = Examples([], [], [])
    chance = random.Random(1)
    prompts = [text for scope in scopes for text in _prompts(scope.questions)]
    for scope in scopes:
        mine = scope.questions
        found.asked.extend(scope.examples(mine.asked))
        has_parts = any(len(one.own) < len(mine.memories) for one in mine.asked)
        if has_parts:
            found.asked.extend(scope.examples(mine.asked, rows=scope.around))
        found.tiny.extend(scope.examples(mine.asked, rows=scope.tiny))
        others = [
            Asked(one.text, one.now, (), mine.name, one.own, "off topic")
            for other in scopes
            if _are_apart(mine, other.questions)
            for one in other.questions.asked
        ]
        asked = chance.sample(others, OFF_TOPIC)
        if prompts and mine.kind not in ("languages", "longmemeval"):
            now = mine.asked[0].now
            for text in chance.sample(prompts, OFF_TOPIC):
                asked.append(Asked(text, now, (), mine.name, (), "prompt"))
        found.off_topic.extend(scope.examples(asked))
        found.off_topic.extend(scope.examples(asked, rows=scope.tiny))
        if has_parts:
            around = scope.around(mine.asked[0])
            found.off_topic.extend(scope.examples(asked, rows=lambda _, rows=around: rows))
    return found


def _prompts(one: QuestionSet) -> list[str]:
    """What people ask an assistant at the start of a session, about anything."""
    if one.kind != "longmemeval":
        return []
    opening = {
        memory.content for memory in one.memories if memory.position == 0 and memory.role == "user"
    }
    shortest, longest = PROMPT
    return sorted(text for text in opening if shortest < len(text) < longest)


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


def newton(found: Weighted, *, width: int = len(NAMES)) -> Matrix:
    """Newton's method with step halving."""
    weights = np.zeros(width)
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


class Squeeze(NamedTuple):
    """The weights of all features, and how they become a score; see `fusion.linear`."""

    weights: Matrix
    slope: float
    middle: float


def calibrate(ranking: Matrix, data: Sequence[Example]) -> Squeeze:
    """How likely a passage is gold, by the questions that pass the gate.

    A logistic fit on the best of each question, by its share among its rivals and by the constant
    features. Every kind counts the same.
    """
    constant = [NAMES.index(name) for name in CONSTANT]
    found = [each for each in data if len(each.matrix)]
    asked = Counter(each.kind for each in found)
    rows, gold, shares = [], [], []
    for each in found:
        sums = each.matrix @ ranking
        top = best(sums, CALIBRATED)
        share = np.log(chances(sums)[top])
        rows.append(np.column_stack([share, each.matrix[top][:, constant], np.ones(len(top))]))
        gold.append(each.gold[top])
        shares.append(np.full(len(top), min(SHARE / asked[each.kind], MOST)))
    fitted = logistic(np.concatenate(rows), np.concatenate(gold), np.concatenate(shares))
    slope = max(float(fitted[0]), 0.05)
    filled = ranking.copy()
    filled[constant] = fitted[1:-1] / slope
    return Squeeze(filled, slope, -float(fitted[-1]) / slope)


def scores(squeeze: Squeeze, each: Example) -> Matrix:
    constant = [NAMES.index(name) for name in CONSTANT]
    share = np.log(chances(each.matrix @ squeeze.weights) + 1e-300)
    known = float(each.matrix[0][constant] @ squeeze.weights[constant])
    found: Matrix = 0.5 + 0.5 * np.tanh(squeeze.slope * (share + known - squeeze.middle) / 2)
    return found


def reliability(scored: Sequence[tuple[float, float]]) -> dict[str, float]:
    """For each tenth of the scale, how many of the passages with such a score are gold."""
    tenths = defaultdict(list)
    for score, gold in scored:
        tenths[min(int(score * 10), 9)].append(gold)
    return {f"{one / 10}": round(float(np.mean(tenths[one])), 3) for one in sorted(tenths)}


def learn_gate(
    ranking: Matrix,
    data: Examples,
    *,
    kept: float,
) -> tuple[Matrix, float]:
    """Weights that tell questions with an answer from off-topic ones, by the best passage's sum and
    the constant features, and the sum that `kept` of the former reach. Every kind counts the same.

    Questions that only look answerable are left out: they belong to what is remembered.
    """
    usual = data.only(lambda each: len(each.matrix) > 0 and _is_usual(each))
    found = [each for each in (*usual.asked, *usual.tiny) if each.wanted]
    apart = usual.off_topic
    asked = Counter((each.kind, each.wanted > 0) for each in (*found, *apart))
    rows = np.stack([gate_row(ranking, each) for each in (*found, *apart)])
    answered = np.array([float(each.wanted > 0) for each in (*found, *apart)])
    shares = np.array(
        [min(SHARE / asked[each.kind, each.wanted > 0], MOST) for each in (*found, *apart)]
    )
    fitted = logistic(rows, answered, shares)
    sums = sorted((float(gate_row(ranking, each) @ fitted), each.kind) for each in found)
    return fitted, _reached(sums, kept)


def _reached(sums: Sequence[tuple[float, str]], kept: float) -> float:
    """The sum that so many reach, of sums in rising order with their kinds: every kind counts the
    same.
    """
    kinds = Counter(kind for _, kind in sums)
    below = (1 - kept) * len(kinds)
    for total, kind in sums:
        below -= 1 / kinds[kind]
        if below <= 0:
            return total
    return -math.inf


def _is_usual(each: Example) -> bool:
    """Whether the gate is learned from it: neither a question about the wrong person nor an English
    one about conversations in another language, which would keep the gate open for everything.
    """
    foreign = each.kind == "languages" and each.writing == ENGLISH
    return each.kind != "other person" and not foreign


def passing(
    gate: tuple[Matrix, float],
    ranking: Matrix,
    data: Sequence[Example],
) -> list[Example]:
    weights, least = gate
    found = [each for each in data if len(each.matrix)]
    return [each for each in found if float(gate_row(ranking, each) @ weights) >= least]


def gate_row(ranking: Matrix, each: Example) -> Matrix:
    constant = [each.matrix[0][NAMES.index(name)] for name in CONSTANT]
    return np.array([float((each.matrix @ ranking).max()), *constant, 1.0])


def logistic(matrix: Matrix, gold: Matrix, shares: Matrix) -> Matrix:
    weights = np.zeros(matrix.shape[1])
    for _ in range(50):
        likely = 0.5 + 0.5 * np.tanh(matrix @ weights / 2)
        slope = matrix.T @ (shares * (likely - gold)) + RIDGE * weights
        curve = shares * likely * (1 - likely)
        bend = (matrix * curve[:, None]).T @ matrix + RIDGE * np.eye(len(weights))
        weights = weights - np.linalg.solve(bend, slope)
    return weights


class Read(NamedTuple):
    """A question whose best candidates the reranker has read."""

    example: Example
    before: Matrix  # scores of recall as logits
    read: Matrix
    gold: Matrix

    @property
    def columns(self) -> Matrix:
        return np.column_stack([self.before, self.read])


def read_best(
    data: Sequence[Example], squeeze: Squeeze, reranker: Reranker, chance: random.Random
) -> list[Read]:
    """Some questions of each kind that the reranker was not trained on, with their best candidates
    as recall orders them.
    """
    kinds = defaultdict(list)
    for each in data:
        if each.half == RERANKED_HALF:
            kinds[each.kind].append(each)
    found = []
    for several in kinds.values():
        for each in chance.sample(several, min(len(several), RERANKED)):
            values = scores(squeeze, each)
            top = best(values, READ)
            pairs = Pairs(each.question, each.before)
            read = reranker.scores(pairs.pair(each.memories[row]) for row in top)
            before = np.array([logit(float(values[row])) for row in top])
            found.append(Read(each, before, np.array(read), each.gold[top]))
    return found


def learn_deep(data: Sequence[Read]) -> dict[str, float]:
    """What `weights.json` holds for deep recall: see `fusion.DeepWeights`."""
    asked = Counter(one.example.kind for one in data)
    found = []
    for one in data:
        if one.gold.any():
            share = SHARE / asked[one.example.kind]
            found.append((one.columns, one.gold / one.gold.sum(), share))
    weights = newton(found, width=2)
    rows, gold, shares = [], [], []
    for one in data:
        sums = one.columns @ weights
        top = best(sums, CALIBRATED)
        shared = np.array(log_shares(list(sums)))[top]
        known = np.tile([one.before.max(), one.read.max(), 1.0], (len(top), 1))
        rows.append(np.column_stack([shared, known]))
        gold.append(one.gold[top])
        shares.append(np.full(len(top), SHARE / asked[one.example.kind]))
    fitted = logistic(np.concatenate(rows), np.concatenate(gold), np.concatenate(shares))
    values = {
        "score": weights[0],
        "reranker": weights[1],
        "slope": fitted[0],
        "best_score": fitted[1],
        "best_reranker": fitted[2],
        "middle": -fitted[3],
    }
    return {name: round(float(value), 3) for name, value in values.items()}


def deep_figures(data: Sequence[Read]) -> dict[str, Any]:
    """Recall before and after the reranker, and whether its scores are chances, by weights that
    never saw the conversation.
    """
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    scored: list[tuple[float, float]] = []
    for fold in range(FOLDS):
        learned = DeepWeights(**learn_deep([one for one in data if one.example.fold != fold]))
        for one in data:
            each = one.example
            if each.fold != fold:
                continue
            before = [logistic_of(value) for value in one.before]
            deep = np.array(deepened(before, list(one.read), learned))
            scored += [(deep[row], one.gold[row]) for row in best(deep, CALIBRATED)]
            if each.wanted:
                for name, values in (("", one.before), (" deep", deep)):
                    for depth in (5, 10):
                        gold = float(one.gold[best(values, depth)].sum()) / each.wanted
                        shares[each.kind][f"R@{depth}{name}"].append(gold)
    return {
        "recall": {
            kind: {name: round(float(np.mean(values)), 3) for name, values in of.items()}
            for kind, of in shares.items()
        },
        "share that answers, by score": reliability(scored),
    }


def recall_at(k: int, each: Example, scores: Matrix) -> float:
    """The share of gold passages among the `k` best."""
    if not len(each.matrix):
        return 0.0
    return float(each.gold[best(scores, k)].sum()) / each.wanted


def figures(data: Examples, *, kept: float) -> dict[str, Any]:
    """Per kind, recall at 10 beside plain BM25; and how well a best score tells that there is an
    answer. All of it by weights that never saw the conversation.
    """
    ours: dict[str, list[float]] = defaultdict(list)
    plain: dict[str, list[float]] = defaultdict(list)
    totals: dict[str, list[float]] = defaultdict(list)
    scored: list[tuple[float, float]] = []
    for fold in range(FOLDS):
        known = data.only(lambda each, fold=fold: each.fold != fold)
        mine = data.only(lambda each, fold=fold: each.fold == fold)
        ranking = fit(known.asked)
        gate = learn_gate(ranking, known, kept=kept)
        squeeze = calibrate(ranking, passing(gate, ranking, [*known.asked, *known.tiny]))
        for each in mine.asked:
            if each.wanted:
                ours[each.kind].append(recall_at(10, each, each.matrix @ ranking))
                plain[each.kind].append(recall_at(10, each, each.baseline))
        for each in [*mine.asked, *mine.tiny, *mine.off_topic]:
            if len(each.matrix):
                label = each.label if _is_usual(each) else f"{each.label}, unusual"
                totals[label].append(float(gate_row(ranking, each) @ gate[0]) - gate[1])
                if label in ("answered", "unanswered") and totals[label][-1] >= 0:
                    values = scores(squeeze, each)
                    scored += [(values[row], each.gold[row]) for row in best(values, CALIBRATED)]
    return {
        "R@10": {kind: round(float(np.mean(shares)), 3) for kind, shares in ours.items()},
        "BM25 R@10": {kind: round(float(np.mean(shares)), 3) for kind, shares in plain.items()},
        "AUROC": {
            label: round(auroc(totals["answered"], found), 3)
            for label, found in sorted(totals.items())
            if label != "answered"
        },
        "taken for answerable": {
            label: round(float(np.mean(np.array(found) >= 0)), 3)
            for label, found in sorted(totals.items())
        },
        "share that answers, by score": reliability(scored),
    }


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """How often a score with an answer is above one without."""
    if not positive or not negative:
        return math.nan
    above = np.array(positive)[:, None] - np.array(negative)[None]
    return float(np.mean(above > 0) + 0.5 * np.mean(above == 0))


def learn(
    data: Examples,
    *,
    kept: float,
) -> tuple[dict[str, Any], Squeeze, list[Example]]:
    """What `weights.json` holds for a situation, what scores it, and the questions that pass its
    gate.
    """
    ranking = fit(data.asked)
    gate, least = learn_gate(ranking, data, kept=kept)
    passed = passing((gate, least), ranking, data.asked)
    squeeze = calibrate(ranking, [*passed, *passing((gate, least), ranking, data.tiny)])
    answerable = {"sum": round(float(gate[0]), 3)}
    for name, value in zip(CONSTANT, gate[1:], strict=False):
        answerable[name] = round(float(value), 3)
    answerable["least"] = round(least - float(gate[-1]), 3)
    values = {
        name: round(float(value), 3)
        for name, value in zip(NAMES, squeeze.weights, strict=True)
        if value
    }
    learned = {
        "weights": values,
        "middle": round(squeeze.middle, 3),
        "slope": round(squeeze.slope, 3),
        "answerable": answerable,
    }
    return learned, squeeze, passed


def learn_large(
    data: Sequence[Example], known: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, dict[str, tuple[float, float]]]]:
    """What `weights.json` holds for a situation with the weight of `large` in the squeeze learned
    anew, and what scores say of scopes of each size before and after. All other weights stay, so
    neither the order of hits nor what passes the gate changes.
    """
    # Learned beside a weight of before, it would only be what that one lacks.
    known = {**known, "weights": {**known["weights"], "large": 0.0}}
    ranking = np.array([known["weights"].get(name, 0.0) for name in NAMES]) * RANKING
    asked = [each for each in data if each.wanted and len(each.matrix)]
    rows, gold, kinds = [], [], []
    for each in asked:
        top = best(each.matrix @ ranking, CALIBRATED)
        before = np.array([logit(score) for score in scores(squeeze_of(known), each)[top]])
        large = each.matrix[top, NAMES.index("large")]
        rows.append(np.column_stack([before, np.ones(len(top)), large]))
        gold.append(each.gold[top])
        kinds += [each.kind] * len(top)
    counted = Counter(kinds)
    counts = np.array([min(SHARE / counted[kind], MOST) for kind in kinds])
    fitted = logistic(np.concatenate(rows), np.concatenate(gold), counts)
    learned = dict(known)
    weight = round(float(fitted[2] / fitted[0] / known["slope"]), 3)
    learned["weights"] = {**known["weights"], "large": weight}
    told = {
        "before": by_size(ranking, squeeze_of(known), asked),
        "after": by_size(ranking, squeeze_of(learned), asked),
    }
    return learned, told


def learn_all_large(
    sets: Sequence[QuestionSet],
    models: Mapping[str, Sequence[Embedder]],
    cache: Path | None,
) -> dict[str, Any]:
    """What `weights.json` holds, with the weight of `large` learned anew in every situation."""
    whole: dict[str, Any] = json.loads(WEIGHTS.read_text("utf-8"))
    whole["features"] = list(NAMES)
    for name, tiers in SITUATIONS.items():
        scopes = [
            Scope(one, {tier: models[tier][one.half] for tier in tiers}, cache) for one in sets
        ]
        learned, told = learn_large(ask_crowds(scopes), whole["situations"][name])
        whole["situations"][name] = learned
        # There are too few texts in other languages to learn it from, so it moves their scores as
        # it moves those of English.
        moved = learned["weights"]["large"] * learned["slope"]
        for other, one in whole["situations"].items():
            if other.startswith(f"{name} ("):
                one["weights"]["large"] = round(moved / one["slope"], 3)
        print(name, json.dumps(learned), json.dumps(told), sep="\n  ", flush=True)
    return whole


def squeeze_of(known: Mapping[str, Any]) -> Squeeze:
    values = np.array([known["weights"].get(name, 0.0) for name in NAMES])
    return Squeeze(values, known["slope"], known["middle"])


def by_size(
    ranking: Matrix, squeeze: Squeeze, data: Sequence[Example]
) -> dict[str, tuple[float, float]]:
    """For scopes of each size: the mean score of the best hits, and the share that answers."""
    found = defaultdict(list)
    for each in data:
        size = 10 ** (round(2 * each.matrix[0][NAMES.index("size")] / math.log(10)) / 2)
        top = best(each.matrix @ ranking, CALIBRATED)
        found[size] += list(zip(scores(squeeze, each)[top], each.gold[top], strict=True))
    return {
        f"about {size:.0f}": (
            round(float(np.mean([score for score, _ in rows])), 3),
            round(float(np.mean([gold for _, gold in rows])), 3),
        )
        for size, rows in sorted(found.items())
    }


def learn_all(
    sets: Sequence[QuestionSet],
    models: Mapping[str, Sequence[Embedder]],
    reranker: Reranker,
    cache: Path | None,
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each situation with what `weights.json` holds for it, and its figures; deep recall last.
    `models` has a pair of embedders for each tier: trained without half 0, and without half 1.
    """
    for tiers, used in SITUATIONS.items():
        scopes = []
        for one in sets:
            scopes.append(Scope(one, {tier: models[tier][one.half] for tier in used}, cache))
        data = ask_all(scopes)
        for writing in (ENGLISH, OTHER_LATIN, OTHER_SCRIPT) if used else ("",):
            mine = data.only(lambda each, writing=writing: writing in ("", each.writing))
            name = tiers if writing in ("", ENGLISH) else f"{tiers} ({writing})"
            kept = KEPT[ENCODER if ENCODER in used else STATIC]
            if writing not in ("", ENGLISH):
                kept = KEPT_ELSEWHERE
            learned, squeeze, passed = learn(mine, kept=kept)
            if not used:
                # Words alone do not tell whether there is an answer.
                del learned["answerable"]
            yield name, learned, figures(mine, kept=kept)
            if used == (ENCODER,) and writing == ENGLISH:
                read = read_best(passed, squeeze, reranker, random.Random(2))
                yield DEEP, learn_deep(read), deep_figures(read)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--longmemeval", type=Path, help="longmemeval_dev150.json")
    options.add_argument("--scenes", type=Path, help="checkout of character-identification")
    options.add_argument(
        "--encoders", type=Path, nargs=2, required=True, help="packs trained without a half"
    )
    options.add_argument("--tables", type=Path, nargs=2, required=True, help="the same, static")
    options.add_argument("--reranker", type=Path, help="its pack. Default: the one that ships")
    options.add_argument("--friendsqa", type=Path, help="checkout of FriendsQA, to make crowds of")
    options.add_argument(
        "--only-large", action="store_true", help="learn only what a scope's size means"
    )
    options.add_argument("--cache", type=Path, help="folder in which vectors are kept between runs")
    options.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name}")
    chosen = options.parse_args()
    sets = list(own_sets(chosen.scenes))
    if chosen.longmemeval:
        sets.append(longmemeval(chosen.longmemeval))
    models: dict[str, Sequence[Embedder]] = {
        ENCODER: [OnnxEmbedder(str(pack.resolve())) for pack in chosen.encoders],
        STATIC: [StaticEmbedder(str(pack.resolve())) for pack in chosen.tables],
    }
    crowd = scenes(chosen.friendsqa) if chosen.friendsqa else []
    if chosen.only_large:
        whole = learn_all_large([*sets, *crowd], models, chosen.cache)
        if chosen.write:
            WEIGHTS.write_text(json.dumps(whole, indent=2) + "\n", "utf-8")
        return
    situations = {}
    reranker = Reranker(str(chosen.reranker.resolve())) if chosen.reranker else Reranker()
    for name, learned, found in learn_all(sets, models, reranker, chosen.cache):
        situations[name] = learned
        print(name, json.dumps(learned), json.dumps(found), sep="\n  ", flush=True)
    if chosen.write:
        # Some are asked of several scopes.
        asked = {(one.kind, each.conversation, each.text) for one in sets for each in one.asked}
        questions = Counter(kind for kind, _, _ in sorted(asked))
        deep = situations.pop(DEEP)
        whole = {
            "questions": questions,
            "features": list(NAMES),
            "situations": situations,
            "deep": deep,
        }
        WEIGHTS.write_text(json.dumps(whole, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
