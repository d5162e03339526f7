"""Requests to forget, read as a set of slots instead of a word order.

`memory_requests.py` knows the usual forms of a request. People also put the object first, wrap the
verb in a wish, or add reasons. This module cuts a sentence into known phrases ("slots") and words
that it does not know, and decides by what the clause with the verb consists of: a verb of
forgetting or erasing, or a negated one of keeping, and what it is applied to. A clause that holds
anything else is not read, so that a story in which the same words occur is none.

The section `requests.slots` of a language file has one pattern per slot, which may use the parts
of the grammar. `spoken` is no slot: one of its words shows that what to erase was said.
- `forget`, `erase`: verbs in the forms of a request; `erase` also means files and texts;
- `no` and `keep`: together they ask not to keep something; `unkeep`: one word for both;
- `session`, `last`, `it`: this conversation, the last message, a pronoun;
- `memory`: a mention of the listener's memory, or of something that they were told;
- `about`, `own`: how a topic starts (`about` may follow it in some languages);
- `others`: who else says or does it, in reports and conditions;
- `later`: what is still to be said; such a sentence asks for a pause;
- `filler`: courtesies and adverbs; `ends`: what separates clauses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal, get_args

Slot = Literal[
    "ends",
    "session",
    "last",
    "memory",
    "unkeep",
    "forget",
    "erase",
    "no",
    "keep",
    "about",
    "own",
    "it",
    "filler",
    "later",
    "others",
    "unknown",
]
_Act = Literal["unkeep", "forget", "erase"]
SLOTS: tuple[Slot, ...] = get_args(Slot)[:-1]
"""Of two slots that match equally long phrases, the first wins."""
# Characters; a longer topic is a story.
LONGEST_TOPIC = 80
_VERBS = ("unkeep", "forget", "erase", "no", "keep")
_BETWEEN = " \t,.;:!?…。、！？~\"'()-–—"


@dataclass(frozen=True, slots=True)
class SlotReading:
    """What a sentence asks to forget."""

    kind: Literal["forget_last", "forget_session", "forget_topic"]
    span: tuple[int, int] = (0, 0)
    """The topic."""
    back: bool = False
    """Whether it is a pronoun, or a topic that nothing introduces; other cues may know better."""
    sure: bool = True
    """Whether a word like "about" introduces the topic."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    slot: Slot
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SlotGrammar:
    """The patterns of a language."""

    patterns: Mapping[Slot, re.Pattern[str]]
    spoken: re.Pattern[str]
    word: re.Pattern[str]
    """A word that no slot knows."""


def read_slots(grammar: SlotGrammar, sentence: str) -> SlotReading | None:
    """Return what a sentence asks to forget; None if it is no such request."""
    clauses = list(_clauses(grammar, sentence))
    if any(chunk.slot == "later" for clause in clauses for chunk in clause):
        return None
    for place, clause in enumerate(clauses):
        act = _act(clause)
        if act is None:
            continue
        known = any(chunk.slot == "memory" for each in clauses for chunk in each)
        if act == "erase" and not known and not grammar.spoken.search(sentence):
            continue
        found = _object(act, clause, known=known)
        if found is not None and found.back:
            found = _named_before(clauses[:place], known=known) or found
        elif found is None and _is_bare(clause):
            found = _named_before(clauses[:place], known=known)
        if found is not None:
            return found
    return None


def _clauses(grammar: SlotGrammar, sentence: str) -> Iterator[list[_Chunk]]:
    """Yield the chunks of each clause."""
    clause: list[_Chunk] = []
    for chunk in _chunks(grammar, sentence):
        if chunk.slot == "ends":
            yield clause
            clause = []
        else:
            clause.append(chunk)
    yield clause


def _chunks(grammar: SlotGrammar, sentence: str) -> Iterator[_Chunk]:
    """Cut a sentence into slots, longest first, and unknown words."""
    at = 0
    while at < len(sentence):
        slot, end = max(
            (
                (slot, _end(slot, pattern, sentence, at))
                for slot, pattern in grammar.patterns.items()
            ),
            key=itemgetter(1),
        )
        if end == at and sentence[at] in _BETWEEN:
            at += 1
            continue
        if end == at:
            word = grammar.word.match(sentence, at)
            slot, end = "unknown", word.end() if word else at + 1
        yield _Chunk(slot, sentence[at:end], at, end)
        at = end


def _end(
    slot: Slot,
    pattern: re.Pattern[str],
    sentence: str,
    at: int,
) -> int:
    """Return where a slot that starts here ends, without the punctuation after it; `at` if none
    does.
    """
    found = pattern.match(sentence, at)
    if found is None:
        return at
    return at + len(found[0].rstrip(" " if slot == "ends" else _BETWEEN))


def _act(clause: Sequence[_Chunk]) -> _Act | None:
    """Return what a clause asks for; None if it is somebody else's, or the opposite ("don't
    forget").
    """
    slots = {chunk.slot for chunk in clause}
    if "others" in slots:
        return None
    if "no" in slots:
        return "unkeep" if "keep" in slots and not slots & {"unkeep", "forget", "erase"} else None
    return next((act for act in get_args(_Act) if act in slots), None)


def _object(
    act: _Act,
    clause: Sequence[_Chunk],
    *,
    known: bool,
) -> SlotReading | None:
    """Return what the verb of a clause is applied to; None if the clause says something else."""
    slots = [chunk.slot for chunk in clause]
    unknown = [at for at, slot in enumerate(slots) if slot in ("unknown", "own")]
    if not unknown:
        return _pointed(act, slots, known="memory" in slots)
    first, last = unknown[0], unknown[-1]
    if any(slot in (*_VERBS, "memory", "session") for slot in slots[first : last + 1]):
        return None
    about = "about" in slots[max(0, first - 1) : last + 2]
    if "last" in slots:
        # "What I just told you about the layoffs" is one statement.
        return SlotReading("forget_last") if about else None
    verb = next(at for at, slot in enumerate(slots) if slot in _VERBS)
    # "That I keep nothing in mind is no wonder": a clause of its own is no object of its verb.
    told = slots[first] == "own" and last < verb and " " in clause[first].text
    named = about or slots[first] == "own"
    if first and slots[first - 1] == "it":
        # The article of the topic.
        first -= 1
    span = (clause[first].start, clause[last].end)
    if span[1] - span[0] > LONGEST_TOPIC or told or "unknown" not in slots:
        return None
    if not (known if act == "erase" else named or "memory" in slots):
        return None
    return SlotReading("forget_topic", span, back=not named, sure=about)


def _is_bare(clause: Sequence[_Chunk]) -> bool:
    """Whether a clause has a verb and no object but a pronoun."""
    return all(chunk.slot in (*_VERBS, "memory", "filler", "it") for chunk in clause)


def _pointed(
    act: _Act,
    slots: Sequence[Slot],
    *,
    known: bool,
) -> SlotReading | None:
    """Return what a clause without unknown words points at: the conversation, the last message, or
    something named before.
    """
    if "about" in slots:
        return None
    if "session" in slots:
        return SlotReading("forget_session")
    if "last" in slots:
        return SlotReading("forget_last")
    if "it" in slots and (known or act == "unkeep"):
        return SlotReading("forget_last", back=True)
    return None


def _named_before(clauses: Sequence[Sequence[_Chunk]], *, known: bool) -> SlotReading | None:
    """Return what the clauses before a verb without an object of its own name, nearest first.

    The conversation is meant only where nothing else was said in between.
    """
    between = False
    for clause in reversed(clauses):
        slots = [chunk.slot for chunk in clause]
        unknown = [at for at, slot in enumerate(slots) if slot in ("unknown", "own")]
        if "last" in slots:
            return SlotReading("forget_last")
        told = known or "session" in slots
        if unknown and told and ("about" in slots or slots[unknown[0]] == "own"):
            span = (clause[unknown[0]].start, clause[unknown[-1]].end)
            return SlotReading("forget_topic", span, sure="about" in slots)
        if "session" in slots:
            return None if between else SlotReading("forget_session")
        between = between or bool(unknown)
    return None
