"""Decide how a candidate joins what is known. Pure: no store, model or clock.

A duplicate renews the known memory. A contradiction supersedes it, unless a person has confirmed
the old memory or the new statement is only implied: then both stay, marked as conflicting. Which
one is newer depends on when it was said, not on when it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ingest.permissions import ruling
from ..text import negation
from ..text.normal_forms import fold
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
    """Store it as new."""

    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Bump:
    """Renew the known memory that says the same."""

    candidate: Candidate
    known: Memory


@dataclass(frozen=True, slots=True)
class Supersede:
    """Replace the known memory."""

    candidate: Candidate
    old: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Coexist:
    """Keep both: the known memory is confirmed by a person, or the new one is only implied."""

    candidate: Candidate
    old: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Ignore:
    """Drop it."""

    candidate: Candidate
    reason: str


Decision = Add | Bump | Supersede | Coexist | Ignore


def decide(
    candidate: Candidate,
    near: Sequence[Memory],
    said_at: Micros,
) -> Decision:
    """Decide what to do with a candidate said at a time, given memories on the same subject."""
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
    """Why two statements cannot both be true, or None; prefers false negatives."""
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
    """Whether two texts differ only in a negation or an opposite."""
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
