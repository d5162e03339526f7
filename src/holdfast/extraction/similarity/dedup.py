"""The dedup ladder: whether two statements say the same, and how that was seen. The first rung that
holds wins.

1. **text**: the same normalised text (`store.rows.content_hash`).
2. **triple**: the same subject, predicate and object, and at least 0.85 of their terms in common.
3. **words**: neither has a triple, both have at least five words, at least 0.75 of their terms are
   in common, and what only one of them says carries no weight ("really", "currently").
4. **meaning**: the caller brings a similarity of their vectors of at least 0.92, and again what
   only one of them says carries no weight. Vectors know what a text is about better than what it
   says about it: "every morning" and "every evening" are neighbours.

Past the first rung, texts that differ in a negation, a number, a name or an opposite never match
(`text.contrast`), nor do the same words in exchanged roles ("Ann manages Bob"), under another
preposition or in another tense (`text.wording`). Nor do two triples that differ, or texts of many
pages: the ladder is for statements.

What is in common is the Jaccard index of two sets of terms. A term is a stem of the tokenizer, or
one character where a script has no spaces. Stop words of the text's language, negations and
Japanese endings are no terms; a number, date or time is one term however it is written. Terms are
equal too if they differ only in an ending ("allergic", "allergy"), in spelling ("colour", "color")
or as short and long form ("bike", "bicycle"). The five words of rung 3 are counted as written, stop
words included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, TypeVar

from ...text.negation import Particulars, differ, particulars
from ...text.normal_forms import content_hash, fold
from ...text.paraphrase import Wording, in_common, most_in_common, told_otherwise, wording
from ...text.tokens import dedup_tokens, index_terms
from ...types import Triple

Rung = Literal["text", "triple", "words", "meaning"]
RUNGS: tuple[Rung, ...] = ("text", "triple", "words", "meaning")

SAME_TRIPLE = 0.85
SAME_WORDS = 0.75
FEWEST_WORDS = 5
SAME_MEANING = 0.92
# Characters; a longer text is no statement, and reading it would take its time.
LONGEST = 4_000


class Statement(Protocol):
    """Anything with content and perhaps a triple: a memory, a candidate."""

    @property
    def content(self) -> str:
        """The text of the statement."""

    @property
    def triple(self) -> Triple | None:
        """The statement as subject, predicate and object, if known."""


S = TypeVar("S", bound=Statement)


@dataclass(frozen=True, slots=True)
class Match:
    """How two statements match: the rung, and their similarity up to 1."""

    rung: Rung
    score: float


def duplicate(
    new: Statement,
    known: Statement,
    *,
    similarity: float | None = None,
) -> Match | None:
    """How `new` repeats `known`; None if it does not. Symmetric.

    `similarity` is the cosine of the two texts' vectors, None if there is none.
    """
    if content_hash(new.content) == content_hash(known.content):
        return Match("text", 1.0)
    if max(len(new.content), len(known.content)) > LONGEST:
        return None
    relation = _relation(new.triple, known.triple)
    near = similarity is not None and similarity >= SAME_MEANING and relation != "other"
    comparable = relation in ("untyped", "same") and _at_a_glance(new.content, known.content)
    if not near and not comparable:
        return None
    ours = _read(new.content)
    theirs = _read(known.content)
    match = _alike(ours, theirs, relation, similarity if near else None)
    if (
        match is None
        or differ(ours.particulars, theirs.particulars)
        or told_otherwise(ours.wording, theirs.wording)
    ):
        return None
    return match


def first_duplicate(
    new: Statement,
    known: Iterable[S],
    *,
    similarity: Callable[[S], float | None] | None = None,
) -> tuple[S, Match] | None:
    """The best duplicate of `new`: by rung, then score, then order."""
    best: tuple[S, Match] | None = None
    for statement in known:
        match = duplicate(new, statement, similarity=similarity(statement) if similarity else None)
        if match and (best is None or _plainness(match) > _plainness(best[1])):
            best = statement, match
    return best


def merge_batch(statements: Iterable[S]) -> list[S]:
    """The statements in order, without duplicates of earlier ones."""
    kept: list[S] = []
    for statement in statements:
        if first_duplicate(statement, kept) is None:
            kept.append(statement)
    return kept


def _plainness(match: Match) -> tuple[int, float]:
    return -RUNGS.index(match.rung), match.score


def _relation(
    ours: Triple | None, theirs: Triple | None
) -> Literal["untyped", "same", "other", "one-sided"]:
    if ours is None and theirs is None:
        return "untyped"
    if ours is None or theirs is None:
        return "one-sided"
    if folded(ours) == folded(theirs):
        return "same"
    return "other"


def folded(triple: Triple) -> tuple[str, str, str]:
    """A triple normalised for comparison."""
    return fold(triple.subject), fold(triple.predicate), fold(triple.object)


def _alike(
    ours: _Reading,
    theirs: _Reading,
    relation: str,
    similarity: float | None,
) -> Match | None:
    """The first rung past the text that matches, before the vetoes are checked.

    `similarity` is None unless it is high enough.
    """
    if similarity is None and most_in_common(ours.wording, theirs.wording) < SAME_WORDS:
        return None
    share, weightless = in_common(ours.wording, theirs.wording)
    if relation == "same" and share >= SAME_TRIPLE:
        return Match("triple", share)
    if (
        relation == "untyped"
        and share >= SAME_WORDS
        and weightless
        and min(ours.words, theirs.words) >= FEWEST_WORDS
    ):
        return Match("words", share)
    if similarity is not None and weightless:
        return Match("meaning", min(similarity, 1.0))
    return None


def _at_a_glance(new: str, known: str) -> bool:
    """Cheap pre-check: whether two texts share enough to be worth comparing in full."""
    ours = _stems(new)
    theirs = _stems(known)
    return 3 * len(ours & theirs) >= min(len(ours), len(theirs))


@lru_cache(maxsize=20_000)
def _stems(content: str) -> frozenset[str]:
    return frozenset(index_terms(content))


@dataclass(frozen=True, slots=True)
class _Reading:
    words: int
    wording: Wording
    particulars: Particulars


@lru_cache(maxsize=20_000)
def _read(content: str) -> _Reading:
    return _Reading(len(set(dedup_tokens(content))), wording(content), particulars(content))
