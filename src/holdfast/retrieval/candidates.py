"""Arms: independent searches for candidates of one question. Each returns a ranking; `fusion`
combines them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..storage.store_types import Candidate, Corpus, Filter, Ranked
from ..text.normal_forms import fold
from ..text.tokens import query_terms
from ..types import Memory
from ..values import replace
from .features import ENCODER, STATIC
from .fusion import reciprocal_rank
from .query import Query

# The arm for what belongs to a kind that is asked for.
KINDS = "kinds"
# Candidates per arm. With 100 and the neighbours of each arm's best 20, R@10 on our own questions
# was 0.002 higher and R@5 0.002 to 0.003 lower, for half as much time again.
DEPTH = 50
# Candidates added from within a time that the question names.
TIMELY = 50
# Candidates that name something of a kind that is asked for.
KINDRED = 20
# Candidates whose neighbours are fetched too: the best of all arms together, by their ranks.
BEST = 20
# Positions before and after a turn.
REACH = 2
# A longer question, such as a pasted document, is reduced to its rarest terms.
MOST_TERMS = 40
# Words of an entity's name.
LONGEST_NAME = 4


class View(NamedTuple):
    """The question's vector in one model, and whether every memory in scope has a vector of that
    model.
    """

    model: str
    tier: str
    vector: Any
    complete: bool


class Gathered(NamedTuple):
    """Result of the arms: the ranking of each arm, the memories, and the data to score them."""

    query: Query
    corpus: Corpus
    arms: Mapping[str, list[int]]
    memories: Mapping[int, Candidate]
    similarity: Mapping[int, Mapping[str, float]]
    views: Sequence[View] = ()

    def closeness(self, memory: Candidate) -> float | None:
        """Return the similarity of a memory to the question in [0, 1], by the best model with
        vectors of both.
        """
        known = self.similarity.get(memory.seq, {})
        near = next((known[view.tier] for view in self.views if view.tier in known), None)
        if near is None:
            return None
        return min(max(near, 0.0), 1.0)


def gather(
    store: Store,
    tiers: Tiers,
    query: Query,
    where: Filter,
    wanted: int = 0,
) -> Gathered:
    """Run every arm and fetch the candidates, with the turns around the best ones; each arm finds
    as many as are wanted, if there are.
    """
    corpus = store.corpus(where.scopes, query.terms)
    occurring = rarest(query.terms, corpus)
    if len(query.terms) > MOST_TERMS:
        query = query._replace(terms=occurring)
    views = vectors(store, tiers, query, where)
    # Where words search alone, nothing else finds what they rank low.
    depth = max(DEPTH if views else 2 * DEPTH, wanted)
    ranked = {"words": store.by_text(where, occurring, depth)}
    for view in views:
        ranked[f"meaning ({view.tier})"] = store.by_vector(where, view.model, view.vector, depth)
    fused = reciprocal_rank({arm: [seq for seq, _ in pairs] for arm, pairs in ranked.items()})
    kindred = tuple(query.members)
    ranked[KINDS] = store.by_text(where, kindred, KINDRED) if kindred else []
    mentioning = store.by_entity(where, names_in(query.text), depth)
    ranked["entities"] = by_relevance(mentioning, fused)
    ranked["time"] = timely(
        store,
        query,
        where,
        views,
        occurring,
    )
    arms = {name: [seq for seq, _ in pairs] for name, pairs in ranked.items() if pairs}
    besides = ranked["entities"] or ranked["time"] or ranked[KINDS]
    found = list(reciprocal_rank(arms) if besides else fused)
    # A kind, a name or a time alone does not make a memory one of the best.
    memories = fetch(store, where, found, list(fused or found)[:BEST])
    similarity = similarities(
        store,
        where,
        views,
        ranked,
        memories,
    )
    return Gathered(
        query,
        corpus,
        arms,
        memories,
        similarity,
        views,
    )


def by_relevance(mentioning: Ranked, fused: Mapping[int, float]) -> Ranked:
    """Order the memories that mention a name by what the other arms think of them: of a person who
    is mentioned everywhere, the newest mention is no better than any other.
    """
    return sorted(mentioning, key=lambda pair: (-pair[1], -fused.get(pair[0], 0.0)))


def rarest(terms: Sequence[str], corpus: Corpus) -> tuple[str, ...]:
    """Return the terms that occur in the corpus, in question order; only the rarest if there are
    too many.
    """
    there = [term for term in terms if corpus.frequency.get(term)]
    if len(there) <= MOST_TERMS:
        return tuple(there)
    keep = set(sorted(there, key=lambda term: corpus.frequency[term])[:MOST_TERMS])
    return tuple(term for term in there if term in keep)


def vectors(
    store: Store,
    tiers: Tiers,
    query: Query,
    where: Filter,
) -> list[View]:
    """Embed the question with the best model that has vectors here; if that model is incomplete,
    also with the next one.
    """
    complete = store.vectors.models(where.scopes)
    views: list[View] = []
    if not complete:
        return views
    for embedder in reversed(list(tiers)):
        if embedder.identity in complete:
            vector = tiers.query(embedder.identity, query.embed)
            if vector is not None and any(vector):
                tier = STATIC if embedder.quick else ENCODER
                views.append(View(embedder.identity, tier, vector, complete[embedder.identity]))
        if views and views[-1].complete:
            break
    return views


def names_in(text: str) -> list[str]:
    """Return every run of up to four words, folded: possible names of entities."""
    # Limited to 60 words: a pasted document would give thousands of names.
    words = [fold(word) for word in re.findall(r"[\w@#][\w.'’@-]*", text)[:60]]
    return [
        " ".join(words[start : start + size])
        for size in range(1, LONGEST_NAME + 1)
        for start in range(len(words) - size + 1)
    ]


def timely(
    store: Store,
    query: Query,
    where: Filter,
    views: Sequence[View],
    occurring: Sequence[str],
) -> Ranked:
    """Return candidates from within the times that the question names."""
    if where.since is not None or where.until is not None:
        return []
    found: dict[int, float] = {}
    for span in query.spans:
        inside = replace(where, since=span.start, until=span.end)
        found.update(store.by_text(inside, occurring, TIMELY))
        for view in views[:1]:
            found.update(store.by_vector(inside, view.model, view.vector, TIMELY))
        if set(occurring) <= set(query_terms(span.text)):
            # The words only name the time, as in "what happened last week?", so anything from then
            # is a candidate.
            found.update((memory.seq, 0.0) for memory in store.list(inside, limit=TIMELY))
    return list(found.items())


def fetch(
    store: Store,
    where: Filter,
    found: Sequence[int],
    best: Sequence[int],
) -> dict[int, Candidate]:
    """Fetch the memories that were found, and the neighbours of the best that pass the filter."""
    return {one.seq: one for one in store.candidates(where, found, best, REACH)}


def is_valid(memory: Memory, at: int) -> bool:
    """Whether a memory is valid at this time."""
    return (memory.valid_from is None or memory.valid_from <= at) and (
        memory.valid_until is None or memory.valid_until > at
    )


def similarities(
    store: Store,
    where: Filter,
    views: Sequence[View],
    ranked: Mapping[str, Ranked],
    memories: Mapping[int, Candidate],
) -> dict[int, dict[str, float]]:
    """Return each memory's similarity to the question by tier; computed for those found by other
    arms.
    """
    found: dict[int, dict[str, float]] = {seq: {} for seq in memories}
    for view in views:
        known = dict(ranked[f"meaning ({view.tier})"])
        rest = [seq for seq in memories if seq not in known]
        known |= store.vectors.similarities(where.scopes, view.model, view.vector, rest)
        for seq, near in found.items():
            if seq in known:
                near[view.tier] = known[seq]
    return found
