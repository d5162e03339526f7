"""Decide how a candidate joins what is known. Pure: no store or clock.

A duplicate renews the known memory. A contradiction or a change supersedes it, unless a person has
confirmed the old memory or the new statement is only implied: then both stay, marked as earlier and
later. So they do where it is not sure that something changed. What somebody stored in so many words
(by the library, a command, a tool, a record, an import) and was not learned gives way only where it
is certain: both name the value of one slot, or words and who reads both statements are sure, each
on their own. A plan that was carried out is over, not contradicted. Which one is newer depends on
when it was said, not on when it was read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ingest.permissions import ruling
from ..text import negation
from ..text.normal_forms import fold
from ..text.tokens import dedup_tokens
from ..types import Memory, Micros, Triple
from .candidate import PLAINLY_SAID, Candidate
from .coding.choices import is_another_matter
from .episodes import SOURCE
from .similarity import changes
from .similarity.change_words import shared, words_of
from .similarity.changes import Change, Reader
from .similarity.dedup import Statement, first_duplicate
from .standalone import without_question

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
SAME_SUBJECT_MATTER = (
    0.6  # of the words in common, for two statements that differ only in a negation or an opposite
)
# Opposites of which one rules the other out. Most do not: who likes red may like blue.
CONTRARY = frozenset(
    (
        "accept_reject",
        "allow_deny",
        "always_never",
        "enable_disable",
        "like_dislike",
        "true_false",
    )
)
# Articles that make an object a kind and no name.
KINDS = frozenset(("a", "an"))
ARTICLES = KINDS | {"the"}
DONE = "it was carried out"
PERHAPS_CHANGED = "this may have changed since"


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
    fulfils: bool = False
    """Whether the old one was a plan that was carried out: it is over, and was never wrong."""
    others: tuple[Memory, ...] = ()
    """Memories that say the same as the old one in other words, and are over with it."""


@dataclass(frozen=True, slots=True)
class Coexist:
    """Keep both, as earlier and later: the known memory is confirmed by a person, the new one is
    only implied, or it is not certain that it changes anything.
    """

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
    read: Reader | None = None,
) -> Decision:
    """Decide what to do with a candidate said at a time, given memories on the same subject.

    With `read`, a model helps to tell whether the candidate changes one of them.
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
        # A rule that is stored at once was asked for in so many words, too.
        is_enough = candidate.kind == "rule" or is_learned(old) or _names_another(candidate, old)
        gives_way = is_enough and _gives_way(candidate, old)
        return (Supersede if gives_way else Coexist)(candidate, old, reason)
    return _changed(candidate, near, said_at, read) or Add(candidate)


def _gives_way(candidate: Candidate, old: Memory) -> bool:
    """Whether what is learned may replace a memory: people have not confirmed it, and it was said
    plainly.
    """
    allowed = ruling("model", "correct", "confirmed" if old.protected else "written").allowed
    return allowed and candidate.confidence >= PLAINLY_SAID


def is_learned(memory: Memory) -> bool:
    """Whether a memory was learned from what was said; anything else somebody stored."""
    return memory.trust == "derived" or memory.source == SOURCE


def _is_certain(
    found: Change,
    candidate: Candidate,
    old: Memory,
) -> bool:
    """Whether it is certain that a memory is over, even one that somebody stored."""
    return found.is_certain or _names_another(candidate, old)


def _names_another(candidate: Candidate, old: Memory) -> bool:
    """Whether both name the value of one slot, and not the same."""
    ours, theirs = candidate.triple, old.triple
    if ours is not None and theirs is not None and _replaces(ours, theirs):
        return True
    return changes.names_another(old.content, candidate.content)


def _changed(
    candidate: Candidate,
    near: Sequence[Memory],
    said_at: Micros,
    read: Reader | None,
) -> Decision | None:
    """The decision if a fact changes or fulfils an earlier one of the same speaker; else None."""
    told = statement_text(candidate)
    ends: Supersede | None = None
    unsure: Coexist | None = None
    for old in near:
        if candidate.kind != "fact" or old.event_time >= said_at or _of_others(candidate, old):
            continue
        if is_another_matter(candidate.quote or candidate.content, old.content):
            continue
        found = changes.change(statement_text(old), told, read)
        is_sure = found.is_sure or changes.names_another(old.content, candidate.content)
        is_enough = is_sure if is_learned(old) else _is_certain(found, candidate, old)
        if is_enough and _gives_way(candidate, old):
            fulfils = found.label == "fulfils"
            reason = DONE if fulfils else f"changed: {candidate.quote or candidate.content}"
            if ends is None:
                ends = Supersede(
                    candidate,
                    old,
                    reason,
                    fulfils,
                )
            elif fulfils == ends.fulfils and _say_the_same(ends.old, old):
                ends = replace(ends, others=(*ends.others, old))
        elif (found.is_possible or is_sure) and unsure is None:
            unsure = Coexist(candidate, old, PERHAPS_CHANGED)
    return ends or unsure


def _say_the_same(one: Memory, other: Memory) -> bool:
    """Whether two memories have their figures and most of their words in common."""
    ours = words_of(one.content)
    theirs = words_of(other.content)
    common = shared(ours.terms, theirs.terms)
    least = SAME_SUBJECT_MATTER * min(len(ours.terms), len(theirs.terms))
    return ours.figures == theirs.figures and len(common) >= least


def changes_known(
    candidate: Candidate,
    known: Sequence[Memory],
    said_at: Micros,
    read: Reader | None = None,
    *,
    in_passing: bool = False,
) -> bool:
    """Whether a statement, taken as said plainly, ends one of these memories. One made in passing
    does so only by another value of a slot: another home, job or partner, or by another count.
    """
    plain = replace(candidate, confidence=PLAINLY_SAID)
    new = words_of(statement_text(plain))
    # Most statements of a conversation change nothing. Read with all that is known, some would
    # still look like a change.
    near = [
        one
        for one in known
        if changes.shows_change(old := words_of(statement_text(one)), new)
        and (
            not in_passing
            or new.single_slots & old.slots
            or (old.figures and new.figures and changes.has_another_figure(old, new))
        )
    ]
    decision = _changed(plain, near, said_at, read)
    return isinstance(decision, Supersede) and not decision.fulfils


def statement_text(statement: Candidate | Memory) -> str:
    """What a statement says, and the words that it rests on if only they say "now" or "moved"."""
    content, quote = without_question(statement.content), statement.quote
    if statement.author:
        # Whoever speaks is named in all they say: that is nothing two statements have in common.
        named = rf"\b{re.escape(statement.author)}\b"
        content = re.sub(named, "the user", content, flags=re.IGNORECASE)
    is_all_told = words_of(quote).marks <= words_of(content).marks
    return content if is_all_told else f"{content} {quote}"


def _of_others(candidate: Candidate, old: Memory) -> bool:
    """Whether a memory has another speaker or another subject."""
    if candidate.author and old.author and fold(candidate.author) != fold(old.author):
        return True
    ours, theirs = candidate.triple, old.triple
    return bool(ours and theirs and fold(ours.subject) != fold(theirs.subject))


def contradiction(new: Statement, old: Statement) -> str | None:
    """Why two statements cannot both be true, or None; prefers false negatives."""
    if new.triple is not None and old.triple is not None and _replaces(new.triple, old.triple):
        return (
            f"{new.triple.predicate.replace('_', ' ').lower()} {new.triple.object}, no longer "
            f"{old.triple.object}"
        )
    if _opposite(without_question(new.content), without_question(old.content)):
        return "the opposite was said"
    return None


def _replaces(new: Triple, old: Triple) -> bool:
    return (
        new.predicate in SINGLE
        and fold(new.predicate) == fold(old.predicate)
        and fold(new.subject) == fold(old.subject)
        and _are_two_values(fold(new.object), fold(old.object))
        and (new.predicate != "WORKS_AT" or _is_named(new) == _is_named(old))
    )


def _is_named(work: Triple) -> bool:
    """Whether it names an employer: who is "in digital marketing" may well be at Acme."""
    return work.object[:1].isupper() or work.object.split(" ")[0] in ARTICLES


def _are_two_values(new: str, old: str) -> bool:
    """Whether two objects exclude each other: neither is part of the other ("Lisbon now"), and both
    are names or both are kinds (a nurse is no employer).
    """
    ours, theirs = set(new.split()), set(old.split())
    if ours - KINDS <= theirs or theirs - KINDS <= ours:
        return False
    return bool(ours & KINDS) == bool(theirs & KINDS)


def _opposite(new: str, old: str) -> bool:
    """Whether two texts differ only in a negation or an opposite."""
    ours = negation.particulars(new)
    theirs = negation.particulars(old)
    if not negation.differ(ours, theirs):
        return False
    bare, others = (replace(one, weighty=frozenset(), poles={}) for one in (ours, theirs))
    if negation.differ(bare, others):
        return False
    if not _is_contrary(ours, theirs):
        return False
    words = set(dedup_tokens(new))
    their_words = set(dedup_tokens(old))
    return len(words & their_words) >= SAME_SUBJECT_MATTER * len(words | their_words)


def _is_contrary(ours: negation.Particulars, theirs: negation.Particulars) -> bool:
    """Whether only one is negated, or they name the two sides of something exclusive."""
    if ("negation" in ours.weighty) != ("negation" in theirs.weighty):
        return True
    return any(
        ours.poles[name].isdisjoint(theirs.poles[name])
        for name in CONTRARY & ours.poles.keys() & theirs.poles.keys()
    )
