"""What to do with a candidate, given what is known: a judgement without a store, a model or a
clock.

A candidate that repeats what is known renews it. One that cannot be true together with what is
known takes its place, unless a person has confirmed the old one, or the new one was only hinted at:
then both stand, marked as contradicting each other. Which of two is newer is told by when they were
said, not by when they were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ingest.permissions import ruling
from ..storage.schema import fold
from ..text import negation
from ..text.tokens import dedup_tokens
from ..types import Memory, Micros, Triple
from .candidate import Candidate
from .similarity.dedup import Statement, first_duplicate

# Of these there is one at a time, so another object replaces the one before.
SINGLE = frozenset(
    (
        "LIVES_IN",
        "WORKS_AT",
        "WORKS_AS",
        "NAMED",
        "MARRIED_TO",
        "BORN_ON",
        "BORN_IN",
        "AGED",
        "CALLED",
        "DUE_ON",
    )
)
# Confidence below which a statement takes the place of nothing.
PLAINLY_SAID = 0.8
SAME_SUBJECT_MATTER = (
    0.6  # of the words in common, for two statements that differ only in a negation or an opposite
)


@dataclass(frozen=True, slots=True)
class Add:
    """It is new."""

    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Bump:
    """It was known: what is known is renewed."""

    candidate: Candidate
    known: Memory


@dataclass(frozen=True, slots=True)
class Supersede:
    """It takes the place of what was known."""

    candidate: Candidate
    old: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Coexist:
    """It contradicts what a person has confirmed, or was only hinted at: both stand."""

    candidate: Candidate
    old: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Ignore:
    """It is not kept."""

    candidate: Candidate
    reason: str


Decision = Add | Bump | Supersede | Coexist | Ignore


def decide(
    candidate: Candidate,
    near: Sequence[Memory],
    said_at: Micros,
) -> Decision:
    """What becomes of a candidate that was said at a time, among the memories that are about the
    same.
    """
    known = first_duplicate(candidate, near)
    if known is not None:
        return Bump(candidate, known[0])
    for old in near:
        reason = contradiction(candidate, old)
        if reason is None:
            continue
        if said_at < old.event_time:
            return Ignore(candidate, f"older than {old.id}, which says otherwise")
        # What is learned may replace whatever people have not confirmed.
        replaceable = ruling(
            "model", "correct", "confirmed" if old.protected else "written"
        ).allowed
        stands = not replaceable or candidate.confidence < PLAINLY_SAID
        return (Coexist if stands else Supersede)(candidate, old, reason)
    return Add(candidate)


def contradiction(new: Statement, old: Statement) -> str | None:
    """Why two statements cannot both be true, or None. It is meant to miss some rather than to see
    one too many.
    """
    if new.triple is not None and old.triple is not None and _replaces(new.triple, old.triple):
        return (
            f"{new.triple.predicate.replace('_', ' ').lower()} {new.triple.object}, no longer "
            f"{old.triple.object}"
        )
    if _opposite(new.content, old.content):
        return "the opposite was said"
    return None


def _replaces(new: Triple, old: Triple) -> bool:
    return (
        new.predicate in SINGLE
        and fold(new.predicate) == fold(old.predicate)
        and fold(new.subject) == fold(old.subject)
        and fold(new.object) != fold(old.object)
    )


def _opposite(new: str, old: str) -> bool:
    """Whether two texts differ in a negation or an opposite and in nothing else that counts."""
    ours = negation.particulars(new)
    theirs = negation.particulars(old)
    if not negation.differ(ours, theirs):
        return False
    bare, others = (replace(one, weighty=frozenset(), poles={}) for one in (ours, theirs))
    if negation.differ(bare, others):
        return False
    words = set(dedup_tokens(new))
    their_words = set(dedup_tokens(old))
    return len(words & their_words) >= SAME_SUBJECT_MATTER * len(words | their_words)
