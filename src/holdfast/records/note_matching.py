"""Decide what to do with a note, given the existing records: add, renew, supersede or keep both.

`extraction.similarity` detects duplicates, `extraction.reconcile` contradictions. In addition, a
decision supersedes an earlier one that chose what it rejects, and a procedure one with the same
goal. A record that a person wrote or confirmed is never superseded by a session: both stay, linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..extraction.candidate import Candidate
from ..extraction.coding import Note
from ..extraction.coding.choices import chooses_against, terms
from ..extraction.coding.finder import as_candidate
from ..extraction.reconcile import Add, Bump, Coexist, Ignore, Supersede, decide
from ..extraction.similarity.known_memories import sharing_words
from ..storage.protocol import Store
from ..storage.store_types import Filter
from ..text.normal_forms import content_hash, fold
from ..types import Memories, Memory, Micros, Scope, from_iso
from .roots import CATEGORIES, is_record

Sentence = Literal["add", "known", "supersedes", "conflicts", "ignored"]
# Share of common terms from which the later of two procedures for one goal counts as a new
# version of the earlier.
SAME_STEPS = 0.4


@dataclass(frozen=True, slots=True)
class Comparison:
    """A note, the decision about it, and the record that caused it."""

    note: Note
    sentence: Sentence
    reason: str = ""
    other: str = ""
    """Id of that record."""


def compared(store: Store, notes: Sequence[tuple[Note, Scope, Micros]]) -> list[Comparison]:
    """Decide about each note, given its scope and the time it was said."""
    return [_compared(note, _near(store, scope, note), said_at) for note, scope, said_at in notes]


def _near(
    store: Store,
    scope: Scope,
    note: Note,
) -> Memories:
    """Records that share most words with a note, archived ones included so that they stay
    archived.
    """
    kind = CATEGORIES[note.category]
    where = Filter((scope,), kinds=(kind,), statuses=("active", "archived", "proposed"))
    found = [
        one for one in sharing_words(store, where, f"{note.title} {note.text}") if is_record(one)
    ]
    return [
        one.with_(content=_opening_small(one.content), event_time=_said_at(one)) for one in found
    ]


def _opening_small(text: str) -> str:
    """Lower the first letter, so that "Always" and "Never" are opposites rather than two names."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _said_at(record: Memory) -> Micros:
    """Time at which the statement was made; for a record from a session, before it was written."""
    source = record.metadata.get("source")
    try:
        return from_iso(source["at"]) if isinstance(source, dict) else record.event_time
    except (KeyError, TypeError, ValueError):
        return record.event_time


def _compared(
    note: Note,
    near: Memories,
    said_at: Micros,
) -> Comparison:
    for known in near:
        if (
            content_hash(known.quote) == content_hash(note.quote)
            and known.category == note.category
        ):
            return Comparison(note, "known", "rests on the same words", known.id)
    candidate = _candidate(note)
    match decide(candidate, near, said_at):
        case Bump(_, known):
            return Comparison(note, "known", "says the same", known.id)
        case Supersede(_, old, reason) | Coexist(_, old, reason) if old.status == "active":
            return _against(note, old, reason)
        case Ignore(_, reason):
            return Comparison(note, "ignored", reason)
        case Add() | Supersede() | Coexist():
            return _replacing(note, near, said_at)


def _replacing(
    note: Note,
    near: Memories,
    said_at: Micros,
) -> Comparison:
    """Compare a new note with older records on the same subject: supersede one, or add."""
    for old in near:
        if old.status == "active" and old.category == note.category and old.event_time <= said_at:
            if note.category == "decisions" and chooses_against(
                note.quote, old.quote or old.content
            ):
                return _against(note, old, "decided otherwise since")
            if note.category == "procedures" and _same_goal(note, old):
                return _against(note, old, "done otherwise since")
    return Comparison(note, "add")


def _against(
    note: Note,
    old: Memory,
    reason: str,
) -> Comparison:
    from_session = (
        isinstance(old.metadata.get("source"), dict) and "session" in old.metadata["source"]
    )
    # Only a machine-made record may be superseded without a person.
    replaces = from_session and not old.protected
    return Comparison(note, "supersedes" if replaces else "conflicts", reason, old.id)


def _same_goal(note: Note, old: Memory) -> bool:
    """Whether a procedure is a new version of another: same goal, and some steps in common.

    Single commands are not compared: a repository may have several test suites.
    """
    if "\n" not in note.text or fold(note.title) != fold(old.title):
        return False
    ours = terms(note.text)
    theirs = terms(old.content)
    return len(ours & theirs) >= SAME_STEPS * len(ours | theirs)


def _candidate(note: Note) -> Candidate:
    kind = CATEGORIES[note.category]
    return replace(
        as_candidate(note), content=_opening_small(note.text), kind=kind, category=note.category
    )
