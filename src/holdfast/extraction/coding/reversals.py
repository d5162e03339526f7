"""Reversals within a session: "actually, let's not", "revert that", or an opposite decision.

A statement reversed later in the session is dropped; the reversal itself may be a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..speech import Sentence
from .choices import chooses_against, terms
from .coding_session import Said, Session
from .note import Note

_STATED = ("decisions", "principles", "preferences", "procedures")
# Turns that a bare "scratch that" can reach back.
_REACH = 12

Places = Mapping[str, int]
"""Where in the session each turn stands."""


def standing(notes: Sequence[Note], session: Session) -> list[Note]:
    """Notes that the rest of the session does not reverse."""
    places = {one.turn.id: one.place for one in session.said} | {
        one.turn.id: one.place for one in session.runs
    }
    left = list(notes)
    for said in session.said:
        before = [
            note
            for note in left
            if note.category in _STATED and places[note.turns[-1]] < said.place
        ]
        gone = list(_taken_back(said, before, places))
        left = [note for note in left if note not in gone]
    return [note for note in left if not any(_replaces(later, note, places) for later in left)]


def _taken_back(
    said: Said,
    before: Sequence[Note],
    places: Places,
) -> Iterator[Note]:
    """The earlier notes that an utterance reverses."""
    for sentence in said.sentences:
        if sentence.asks:
            continue
        named = [note for note in before if _is_named(said, sentence, note)]
        yield from named
        near = [note for note in before if said.place - places[note.turns[-1]] <= _REACH]
        if not named and near and said.by_user and _is_bare(said, sentence):
            yield near[-1]


def _is_bare(said: Said, sentence: Sentence) -> bool:
    return any(words.begins("undo.bare", sentence.text) for words in said.words)


def _is_named(
    said: Said,
    sentence: Sentence,
    note: Note,
) -> bool:
    """Whether a sentence reverses something and names what a note chose or rejected."""
    for words in said.words:
        opening = words.begins("undo.named", sentence.text) or words.says(
            "undo.back", sentence.text
        )
        if opening is None:
            continue
        about = terms(sentence.text[opening.end() :]) or terms(sentence.text)
        shared = about & (terms(note.text) | terms(note.quote))
        if about and len(shared) >= min(2, len(about)) and 2 * len(shared) >= len(about):
            return True
    return False


def _replaces(
    later: Note,
    earlier: Note,
    places: Places,
) -> bool:
    """Whether a later note decides against an earlier one."""
    return (
        later.category in _STATED
        and earlier.category in _STATED
        and places[later.turns[-1]] > places[earlier.turns[-1]]
        and chooses_against(later.quote, earlier.quote)
    )
