"""Stated decisions, principles and preferences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...text.tokens import query_terms
from ...types import Memory
from ..candidate import Candidate
from ..policy import PEOPLE
from ..rules import RuleExtractor
from ..speech import own_words, sentences
from ..third_person import retell
from ..vocabulary import straight
from .cue_words import Words, spoken, words_of
from .note import LONGEST_QUOTE, LONGEST_TEXT, Home, Note, sentence, title_of, within

_EDGES = " \t\n,;:–—-."
# One word alone is decided on only if it looks like a name.
_NAMED = re.compile(r"[A-Z0-9`_]")


def stated(turns: Sequence[Memory]) -> Iterator[Note]:
    """Notes from people's own statements, and from an agent's few statements of completed work."""
    for found in RuleExtractor(spoken).extract([turn for turn in turns if turn.role != "tool"]):
        note = _note(found, next(turn for turn in turns if turn.id == found.source))
        if note is not None:
            yield note


def _note(found: Candidate, turn: Memory) -> Note | None:
    if len(found.quote) > LONGEST_QUOTE:
        return None
    words = next((each for each in words_of(found.quote)), None)
    if words is None or not _is_for_a_project(found, turn):
        return None
    said = straight(found.quote)
    if found.category == "decisions":
        opening = words.begins("decided.opening", said)
        what = said[opening.end() :] if opening else said
        told = decision(
            words,
            what,
            found.quote,
            (turn.id,),
            found.confidence,
        )
        return (
            with_reason(words, told, _next_sentence(found.quote, turn))
            if _says_what(what)
            else None
        )
    if found.category == "preferences" or words.says("place.manner", said):
        return _preference(words, said, found, turn)
    if words.says("incident.cause", said):
        # What went wrong is an incident, or nothing.
        return None
    text = sentence(said)
    return Note(
        "principles",
        title_of(text),
        within(text, LONGEST_TEXT),
        found.quote,
        (turn.id,),
        found.confidence,
    )


def _is_for_a_project(found: Candidate, turn: Memory) -> bool:
    """Whether a statement concerns a project; requests to remember do, people do not."""
    asked_for = found.confidence == 1.0 and turn.role in PEOPLE
    return found.category in ("decisions", "principles", "preferences") or (
        asked_for and found.triple is None
    )


def decision(
    words: Words,
    what: str,
    quote: str,
    turns: tuple[str, ...],
    confidence: float,
) -> Note:
    """The note of a decision, with its reason if one was stated."""
    turning = words.says("decided.because", what) if words.told["because"] else None
    chosen, why = (
        (what[: turning.start()], what[turning.end() :])
        if turning and turning.start()
        else (what, "")
    )
    text = words.told["decided"].format(what=chosen.strip(_EDGES))
    if why.strip(_EDGES):
        text += " " + words.told["because"].format(why=why.strip(_EDGES))
    return Note(
        "decisions",
        title_of(chosen),
        within(text, LONGEST_TEXT),
        quote,
        turns,
        confidence,
    )


def with_reason(
    words: Words,
    note: Note,
    following: str,
) -> Note:
    """A decision's note with the reason from the next sentence, if that sentence states one."""
    reason = words.begins("decided.following", following)
    why = following[reason.end() :].strip(_EDGES) if reason else ""
    if not why or not words.told["because"] or words.says("decided.because", note.quote):
        return note
    text = f"{note.text} {words.told['because'].format(why=why)}"
    return replace(note, text=within(text, LONGEST_TEXT))


def _says_what(what: str) -> bool:
    """Whether it names what was decided: "on the tool" does not, "on Postgres" does."""
    return len(query_terms(what)) > 1 or bool(_NAMED.search(what.strip()))


def _preference(
    words: Words,
    said: str,
    found: Candidate,
    turn: Memory,
) -> Note:
    text = sentence(retell(said, turn.author) if words.code == "en" else said)
    # How somebody is talked to is about them, whatever the project is.
    everywhere = words.says("place.everywhere", _around(found.quote, turn)) or words.says(
        "place.manner", said
    )
    place: Home = "assistant" if everywhere else "project"
    return Note(
        "preferences",
        title_of(text),
        within(text, LONGEST_TEXT),
        found.quote,
        (turn.id,),
        found.confidence,
        place,
    )


def _around(quote: str, turn: Memory) -> str:
    """The sentence that contains a quote; it may say where a preference applies."""
    return next((each for each in _said(turn) if straight(quote) in each), quote)


def _next_sentence(quote: str, turn: Memory) -> str:
    """The sentence after the one that contains a quote; empty if there is none."""
    said = _said(turn)
    place = next((place for place, each in enumerate(said) if straight(quote) in each), len(said))
    if place + 1 < len(said):
        return said[place + 1]
    return ""


def _said(turn: Memory) -> list[str]:
    return [straight(each.text) for each in sentences(own_words(turn.content, role=turn.role))]
