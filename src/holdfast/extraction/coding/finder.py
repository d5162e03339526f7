"""Find a session's notes without a model: run every finder, then drop reversed and unsafe notes."""

from __future__ import annotations

from collections.abc import Sequence

from ...types import Memory
from ..candidate import Candidate, grounded
from ..similarity.dedup import first_duplicate
from .approvals import approved
from .coding_session import read
from .incidents import incidents, open_ends
from .note import Note, is_sound
from .note_judge import NoteJudge
from .procedures import procedures
from .reversals import standing
from .statements import stated


def find_notes(
    turns: Sequence[Memory],
    judge: NoteJudge | None = None,
    *,
    tentative: bool = False,
) -> list[Note]:
    """Durable notes of one session, in the order they were said; usually none.

    With `tentative`, also statements that count only once another session says the same.
    """
    session = read(turns)
    found = [
        *stated(session, judge),
        *approved(session, judge),
        *incidents(session),
        *open_ends(session),
        *procedures(session),
    ]
    kept = [note for note in found if tentative or not note.tentative]
    return once(checked(standing(kept, session), turns), turns)


def checked(notes: Sequence[Note], turns: Sequence[Memory]) -> list[Note]:
    """Sound notes whose quotes occur verbatim in their turns."""
    texts = {turn.id: turn.content for turn in turns}
    return [
        note
        for note in notes
        if is_sound(note)
        and note.source in texts
        and grounded(as_candidate(note), texts[note.source])
    ]


def once(notes: Sequence[Note], turns: Sequence[Memory]) -> list[Note]:
    """Notes in turn order without duplicates; the later one wins."""
    places = {turn.id: place for place, turn in enumerate(turns)}
    kept: list[Note] = []
    for note in sorted(notes, key=lambda each: places[each.source])[::-1]:
        if not any(_same_words(note, one) for one in kept) and not _repeats(note, kept):
            kept.append(note)
    return kept[::-1]


def _same_words(note: Note, other: Note) -> bool:
    """Whether two notes rest on the same words, read differently by two finders."""
    return note.source == other.source and (note.quote in other.quote or other.quote in note.quote)


def _repeats(note: Note, kept: Sequence[Note]) -> bool:
    return first_duplicate(as_candidate(note), [as_candidate(one) for one in kept]) is not None


def as_candidate(note: Note) -> Candidate:
    """A note as a candidate, for comparison with others."""
    return Candidate(
        content=note.text, quote=note.quote, source=note.source, confidence=note.confidence
    )
