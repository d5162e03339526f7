"""The notes of a session without a model: every finder in turn, then what was undone and what may
not be kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...types import Memory
from ..candidate import Candidate, grounded
from ..similarity.dedup import first_duplicate
from .approvals import approved
from .coding_session import read
from .incidents import incidents
from .note import Note, is_sound
from .procedures import procedures
from .reversals import standing
from .statements import stated


def find_notes(turns: Sequence[Memory]) -> list[Note]:
    """What the turns of one session teach that lasts, in the order in which it was said; none is
    the usual answer.
    """
    session = read(turns)
    found = [*stated(turns), *approved(session), *incidents(session), *procedures(session)]
    return once(checked(standing(found, session), turns), turns)


def checked(notes: Sequence[Note], turns: Sequence[Memory]) -> list[Note]:
    """The notes that are sound and whose quotes occur in their turns, word for word."""
    texts = {turn.id: turn.content for turn in turns}
    return [
        note
        for note in notes
        if is_sound(note)
        and note.source in texts
        and grounded(as_candidate(note), texts[note.source])
    ]


def once(notes: Sequence[Note], turns: Sequence[Memory]) -> list[Note]:
    """The notes in the order of their turns, without those that repeat another: the later word
    stands.
    """
    places = {turn.id: place for place, turn in enumerate(turns)}
    kept: list[Note] = []
    for note in sorted(notes, key=lambda each: places[each.source])[::-1]:
        if not any(_same_words(note, one) for one in kept) and not _repeats(note, kept):
            kept.append(note)
    return kept[::-1]


def _same_words(note: Note, other: Note) -> bool:
    """Whether two notes rest on the same words: one finder has read them one way, one the other."""
    return note.source == other.source and (note.quote in other.quote or other.quote in note.quote)


def _repeats(note: Note, kept: Sequence[Note]) -> bool:
    return first_duplicate(as_candidate(note), [as_candidate(one) for one in kept]) is not None


def as_candidate(note: Note) -> Candidate:
    """A note as a statement that can be compared with others."""
    return Candidate(
        content=note.text, quote=note.quote, source=note.source, confidence=note.confidence
    )
