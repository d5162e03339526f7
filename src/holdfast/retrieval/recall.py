"""Recall: from a question to hits, best first, each with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from .. import text
from ..errors import EmbedderError
from ..models.embeddings.base import LOCAL
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..storage.row_codec import indexed_text
from ..storage.store_types import Candidate, Corpus, Filter
from ..text.token_count import count_tokens
from ..text.tokens import OTHER_SCRIPT, index_terms, query_terms, writing
from ..types import OUTDATED_BY, Clock, Hit, Memory, Reasons, Scope, Signal
from ..values import replace
from . import fusion as fuse
from .candidates import Gathered, gather
from .features import Passage, features
from .query import Query, analyse

# Share of common words from which two texts count as the same statement.
NEAR_COPY = 0.9
# Candidates from which it can be told that none is an answer: features compare them.
JUDGED = 12
# Words of a question beside a time with which it is still a question about that time.
BESIDE_TIME = 3
# The signal of a fact whose turn says less of what is asked.
TURN = "turn"
# Share of its score that a memory with zero confidence keeps.
DOUBT = 0.5


class Engine(NamedTuple):
    """Dependencies of a recall."""

    store: Store
    tiers: Tiers
    clock: Clock
    fusion: str = "learned"


class Question(NamedTuple):
    """A question with its filter and limits.

    Without `min_score`, a question whose best memory is most likely no answer finds nothing.
    `deep` reads the best candidates together with the question.
    """

    text: str
    where: Filter
    limit: int = 10
    tokens: int | None = None
    min_score: float | None = None
    deep: bool = False


class Ranking(NamedTuple):
    """All candidates, best first, ties in insertion order. Reasons are computed on demand.

    `relevant` says whether the best of them may be an answer at all.
    """

    memories: Sequence[Candidate]
    scores: Sequence[float]
    reasons: Callable[[int], Reasons]
    relevant: bool = True


class Recall(NamedTuple):
    """A finished recall: the hits, and the result of every stage before them.

    `order` holds positions of the ranking in display order; `copies` maps a near-duplicate to the
    position it repeats. `unrelated` are positions of turns that are not shown, because they have
    nothing to do with what was asked in their project.
    """

    hits: list[Hit]
    gathered: Gathered
    ranking: Ranking
    order: Sequence[int]
    copies: Mapping[int, int]
    unrelated: Collection[int] = ()


def recall(
    engine: Engine,
    question: Question,
    *,
    rank_all: bool = False,
) -> Recall:
    """Return memories that help answer the question, best first. Any text is valid; one without
    words finds nothing.

    `rank_all` orders every candidate instead of only as many as are shown.
    """
    with engine.store.reading(question.where.scopes):
        query = parse_query(engine, question)
        found = (
            gather(engine.store, engine.tiers, query, question.where, question.limit)
            if has_content(query)
            else None
        )
    gathered = found or _nothing(query)
    ranking = rank(engine, gathered, deep=question.deep)
    # Whoever asks for a kind wants it, whatever else tells the same.
    any_kind = not question.where.kinds
    sources: dict[str, frozenset[str]] = {}
    if any_kind:
        sources = sources_of(engine.store, question.where.scopes, ranking.memories)
        ranking = _beside_their_turns(ranking, sources)
    if question.where.as_of is None:
        ranking = _current_first(ranking)
    wanted = len(ranking.memories) if rank_all else question.limit
    summaries: dict[int, int] = {}
    retold: dict[int, int] = {}
    if any_kind:
        summaries = summaries_beside_turns(ranking.memories, sources)
        retold = facts_beside_turns(ranking.memories, sources, wanted)
    order, copies = demote_near_duplicates(ranking.memories, wanted, retold | summaries)
    unrelated = _unrelated(engine.store, question, gathered, ranking)
    shown = [place for place in order if place not in summaries and place not in unrelated]
    return Recall(
        fit(_hits(engine, question, ranking, shown), question.tokens),
        gathered,
        ranking,
        order,
        copies,
        unrelated,
    )


def _unrelated(
    store: Store,
    question: Question,
    gathered: Gathered,
    ranking: Ranking,
) -> Collection[int]:
    """Turns of a project that are not worth showing. Whoever asks for kinds or for any score wants
    them all the same.
    """
    where = question.where
    if question.min_score is not None or where.kinds:
        return ()
    if all(scope.kind != "project" for scope in where.scopes):
        return ()
    # Deferred import: most recalls are of no project.
    from .project_turns import unrelated_turns  # noqa: PLC0415

    return unrelated_turns(store, where.scopes, gathered, ranking.memories, ranking.scores)


def _hits(
    engine: Engine,
    question: Question,
    ranking: Ranking,
    order: Sequence[int],
) -> list[Hit]:
    """Read what is shown: only these candidates become memories."""
    shown = {
        ranking.memories[place].seq: place
        for place in order[: question.limit]
        if _is_wanted(question, ranking, place)
    }
    return [
        Hit(memory, ranking.scores[shown[memory.seq]], ranking.reasons(shown[memory.seq]))
        for memory in engine.store.get(question.where.scopes, list(shown))
    ]


def _is_wanted(
    question: Question,
    ranking: Ranking,
    place: int,
) -> bool:
    if question.min_score is None:
        return ranking.relevant
    return ranking.scores[place] >= question.min_score


def parse_query(engine: Engine, question: Question) -> Query:
    """Parse the question as asked now or, with `as_of`, at that time."""
    now = engine.clock() if question.where.as_of is None else question.where.as_of
    return analyse(question.text, now, authors=engine.store.authors(question.where.scopes))


def has_content(query: Query) -> bool:
    """Whether there is anything to search for: meaningful words, a time, or a question about a
    person.
    """
    return bool(query.terms or query.spans or query.plain)


def _nothing(query: Query) -> Gathered:
    return Gathered(
        query,
        Corpus(0, 0.0),
        {},
        {},
        {},
    )


def rank(
    engine: Engine,
    gathered: Gathered,
    *,
    deep: bool = False,
) -> Ranking:
    """Rank all candidates by learned weights or by reciprocal ranks.

    With `deep`, the best are read together with the question.
    """
    if not gathered.memories:
        return Ranking((), (), lambda place: Reasons({}))
    ranking = _by_rank(gathered) if engine.fusion == "rrf" else _by_weight(gathered)
    if deep:
        ranking = _reread(gathered, ranking)
    return ranking


def _reread(gathered: Gathered, ranking: Ranking) -> Ranking:
    """Order the best candidates anew by the reranker; the others stay below them."""
    # Deferred import: most recalls do without the reranker.
    from .reranking import rerank  # noqa: PLC0415

    try:
        best = rerank(gathered, ranking.memories, ranking.scores)
    except EmbedderError as error:
        # Deferred import, as above.
        import logging  # noqa: PLC0415

        # An answer by the usual ranking is better than none.
        logging.getLogger(__name__).warning("Not reranked: %s", error)
        return ranking
    count = len(best.order)
    lowest = best.scores[-1]

    def reasons(place: int) -> Reasons:
        if place >= count:
            return ranking.reasons(place)
        found = ranking.reasons(best.order[place])
        return replace(found, signals=(*found.signals, best.signals[place]))

    return Ranking(
        [*(ranking.memories[place] for place in best.order), *ranking.memories[count:]],
        [*best.scores, *(min(score, lowest) for score in ranking.scores[count:])],
        reasons,
        ranking.relevant,
    )


def _current_first(ranking: Ranking) -> Ranking:
    """Move outdated turns behind the memories that replaced them.

    A question that matches the old words should find the replacement. So the best replacement gets
    at least the turn's score, and the turn at most the score of the lowest one.
    """
    noted = {
        place: known[OUTDATED_BY]
        for place, memory in enumerate(ranking.memories)
        if memory.metadata_json
        and memory.kind == "turn"
        and OUTDATED_BY in (known := memory.metadata)
    }
    if not noted:
        return ranking
    places = {memory.id: place for place, memory in enumerate(ranking.memories)}
    scores = list(ranking.scores)
    outdated = set[int]()
    for place, later in noted.items():
        instead = [places[one] for one in later if one in places] if isinstance(later, list) else []
        if instead:
            outdated.add(place)
            best = min(instead)
            least = max(instead)
            scores[best] = max(scores[best], scores[place])
            scores[place] = min(scores[place], scores[least])
    return _reordered(ranking, scores, outdated) if outdated else ranking


def _beside_their_turns(ranking: Ranking, sources: Mapping[str, frozenset[str]]) -> Ranking:
    """Move extracted facts towards turns that they were found in.

    A fact is short, so it looks close to many questions. Its turn says more of what was meant: a
    fact that scores higher than its turn gets the mean of both.
    """
    places = {memory.id: place for place, memory in enumerate(ranking.memories)}
    scores = list(ranking.scores)
    lowered: dict[int, float] = {}
    for place, memory in enumerate(ranking.memories):
        made_from = sources.get(memory.id, frozenset()) if memory.kind == "fact" else frozenset()
        turn = max((ranking.scores[places[one]] for one in made_from if one in places), default=1.0)
        if turn < scores[place]:
            scores[place] = (scores[place] + turn) / 2
            lowered[place] = fuse.logit(scores[place]) - fuse.logit(ranking.scores[place])
    if not lowered:
        return ranking

    def reasons(place: int) -> Reasons:
        found = ranking.reasons(place)
        if place not in lowered:
            return found
        return replace(found, signals=(*found.signals, Signal(TURN, lowered[place], 1.0)))

    return _reordered(ranking._replace(reasons=reasons), scores)


def _reordered(
    ranking: Ranking, scores: Sequence[float], last: Collection[int] = frozenset()
) -> Ranking:
    """The same memories by these scores; of equal ones those in `last` come last."""
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place in last, place))
    return Ranking(
        [ranking.memories[place] for place in order],
        [scores[place] for place in order],
        lambda place: ranking.reasons(order[place]),
        ranking.relevant,
    )


def _by_weight(gathered: Gathered) -> Ranking:
    memories = list(gathered.memories.values())
    near = map(gathered.similarity.__getitem__, gathered.memories)
    passages = list(map(Passage, memories, map(terms_of, memories), near))
    matrix = features(gathered.query, gathered.corpus, passages)
    bundled = all(view.model.startswith(LOCAL) for view in gathered.views)
    chosen = fuse.weights(fuse.situation(gathered.query, passages, bundled=bundled))
    chances = fuse.linear(matrix, chosen)
    scores = [
        chance if memory.confidence == 1 else chance * _trust(memory)
        for chance, memory in zip(chances, memories, strict=True)
    ]
    order = sorted(range(len(memories)), key=lambda row: (-scores[row], memories[row].seq))
    model = ", ".join(view.model for view in gathered.views)

    def reasons(place: int) -> Reasons:
        row = order[place]
        return Reasons(
            _found_by(gathered, memories[row]),
            fuse.signals(matrix[row], chosen),
            model,
            gathered.closeness(memories[row]),
        )

    relevant = (
        not bundled
        or len(memories) < JUDGED
        or not _can_be_judged(gathered.query)
        or _has_answer(gathered.query, [(passages[row], matrix[row]) for row in order], chosen)
    )
    return Ranking(
        [memories[row] for row in order],
        [scores[row] for row in order],
        reasons,
        relevant,
    )


def _can_be_judged(query: Query) -> bool:
    """Whether features tell that nothing answers the question.

    They do not for hardly more than a time ("What did Ana do on Monday?") and for stop words only
    ("Who am I?"): such answers have hardly anything in common with their question.
    """
    if query.spans:
        of_time = {term for span in query.spans for term in query_terms(span.text)}
        if len(set(query.terms) - of_time) <= BESIDE_TIME:
            return False
    return not query.plain


def _has_answer(
    query: Query,
    ranked: Sequence[tuple[Passage, Sequence[float]]],
    chosen: fuse.Weights,
) -> bool:
    """Whether any of the passages, best first, may answer the question.

    Features do not tell it of a passage in another language. One in another script counts if it
    shares a word with the question, such as a name; otherwise the best of the others is judged.
    """
    strangers: list[Passage] = []
    for passage, row in ranked:
        written = writing(passage.memory.content)
        if written == query.writing:
            shares = any(not set(query.terms).isdisjoint(one.terms) for one in strangers)
            return shares or fuse.has_answer([row], chosen)
        if OTHER_SCRIPT not in (written, query.writing):
            return True
        strangers.append(passage)
    return True


def terms_of(memory: Memory | Candidate) -> tuple[str, ...]:
    """Return the index terms of a memory; cached, because its text never changes."""
    # A candidate decodes its tags whenever they are asked for.
    if memory.title or (memory.tags_json if type(memory) is Candidate else memory.tags):
        return _cached_terms(indexed_text(memory.title, memory.content, memory.tags))
    return _cached_terms(memory.content)


@lru_cache(maxsize=20_000)
def _cached_terms(text: str) -> tuple[str, ...]:
    return tuple(index_terms(text))


def _trust(memory: Candidate) -> float:
    """Return the factor of confidence in a score; 1 for full confidence."""
    return DOUBT + (1 - DOUBT) * memory.confidence


def _by_rank(gathered: Gathered) -> Ranking:
    # The maximum: first in every arm.
    best = len(gathered.arms) / (fuse.RANK_CONSTANT + 1)
    scored = [
        (score / best, gathered.memories[seq])
        for seq, score in fuse.reciprocal_rank(gathered.arms).items()
        if seq in gathered.memories
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1].seq))
    memories = [memory for _, memory in scored]

    def reasons(place: int) -> Reasons:
        memory = memories[place]
        return Reasons(_found_by(gathered, memory), similarity=gathered.closeness(memory))

    return Ranking(memories, [score for score, _ in scored], reasons)


def _found_by(gathered: Gathered, memory: Candidate) -> dict[str, int]:
    """Return the arms that found a memory, with its rank (from 1) in each."""
    return {
        name: order.index(memory.seq) + 1
        for name, order in gathered.arms.items()
        if memory.seq in order
    }


def sources_of(
    store: Store, scopes: Sequence[Scope], memories: Sequence[Candidate]
) -> dict[str, frozenset[str]]:
    """What each reflection and each extracted fact among the candidates was made from."""
    made = [one.id for one in memories if one.kind == "reflection" or _is_extracted(one)]
    return store.sources(scopes, made)


def _is_extracted(memory: Candidate) -> bool:
    """Whether a memory is a fact that was extracted from a session."""
    return memory.kind == "fact" and bool(memory.metadata_json) and "session" in memory.metadata


def summaries_beside_turns(
    memories: Sequence[Candidate], sources: Mapping[str, frozenset[str]]
) -> dict[int, int]:
    """Return the positions of summaries and reflections whose own sources are candidates too, each
    with the position of such a source. They only retell it.
    """
    sessions: dict[tuple[int, str | None], int] = {}
    for place, memory in enumerate(memories):
        if memory.kind == "turn":
            sessions.setdefault((memory.scope, memory.session), place)
    retold: dict[int, int] = {}
    for place, memory in enumerate(memories):
        source: int | None = None
        if memory.kind == "episode" and memory.metadata_json and "turn_count" in memory.metadata:
            source = sessions.get((memory.scope, memory.metadata.get("session")))
        elif memory.kind == "reflection":
            made_from = sources.get(memory.id, frozenset())
            source = next((at for at, one in enumerate(memories) if one.id in made_from), None)
        if source is not None:
            retold[place] = source
    return retold


def facts_beside_turns(
    memories: Sequence[Candidate], sources: Mapping[str, frozenset[str]], wanted: int
) -> dict[int, int]:
    """Return the positions of extracted facts below their source turn, and of turns below a fact
    that rests on them, each with the position of the other, among the first `wanted` others.
    """
    above: dict[str, int] = {}
    told_by: dict[str, int] = {}
    retold: dict[int, int] = {}
    for place, memory in enumerate(memories):
        if len(above) >= wanted:
            break
        made_from = sources.get(memory.id, frozenset()) if memory.kind == "fact" else frozenset()
        other = told_by.get(memory.id)
        if other is None:
            other = next((above[one] for one in made_from if one in above), None)
        if other is not None:
            retold[place] = other
            continue
        above[memory.id] = place
        told_by |= dict.fromkeys(made_from, place)
    return retold


def demote_near_duplicates(
    memories: Sequence[Candidate], wanted: int, retold: Mapping[int, int] | None = None
) -> tuple[list[int], dict[int, int]]:
    """Return the positions of the first `wanted` distinct memories, then of their near-duplicates,
    those in `retold` among them.

    Also returns which position each duplicate repeats.
    """
    distinct: list[int] = []
    copies: dict[int, int] = dict(retold or {})
    seen: dict[str, list[tuple[int, frozenset[str]]]] = {}
    for place, memory in enumerate(memories):
        if len(distinct) >= wanted:
            break
        if place in copies:
            continue
        words = frozenset(memory.content.casefold().split())
        # Compare only texts with the same longest word: near-duplicates share it, and comparing all
        # pairs would be slow.
        length = max(map(len, words), default=0)
        longest = max([word for word in words if len(word) == length], default="")
        twin = next(
            (other for other, others in seen.get(longest, ()) if near_copies(words, others)), None
        )
        if twin is None:
            distinct.append(place)
            seen.setdefault(longest, []).append((place, words))
        else:
            copies[place] = twin
    return distinct + list(copies), copies


def near_copies(words: frozenset[str], others: frozenset[str]) -> bool:
    """Whether two texts say the same. Different numbers, a negation or an antonym make them
    different.
    """
    return len(words & others) >= NEAR_COPY * len(words | others) and not text.negation.contrasts(
        words, others
    )


def fit(hits: list[Hit], tokens: int | None) -> list[Hit]:
    """Return the first hits that fit into a token budget."""
    if tokens is None:
        return hits
    used = 0
    kept = []
    for hit in hits:
        used += count_tokens(hit.memory.content)
        if used > tokens:
            break
        kept.append(hit)
    return kept
