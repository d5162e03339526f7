"""Corrections without a subject: "it's Tuesday, not Monday" says something only about what was said
before.

The latest statement with the words that are taken back is told anew with the right ones, and the
old telling goes. Where there is none, nobody could tell later what it was about, and nothing is
kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ..types import Memory
from .candidate import Candidate
from .patterns import languages_of
from .vocabulary import straight

Reread = Callable[[Memory], Iterable[Candidate]]
"""What a turn says, told from nothing but its own words."""


def settled(
    found: Sequence[Candidate],
    turns: Mapping[str, Memory],
    reread: Reread,
) -> list[Candidate]:
    """The candidates of a page with its corrections carried out; `turns` are its turns by their
    ids.
    """
    kept: list[Candidate] = []
    for one in found:
        change = _change(one)
        if change is None:
            kept.append(one)
        elif old := _taken_back(kept, change["before"]):
            kept.remove(old)
            kept += _told_anew(
                old,
                one,
                change,
                turns,
                reread,
            )
    return kept


def _change(candidate: Candidate) -> re.Match[str] | None:
    """What a bare correction changes: `before` into `now`. None for anything else."""
    if candidate.category != "correction":
        return None
    quote = straight(candidate.quote)
    return next(
        (match for one in languages_of(quote) if (match := one.bare.fullmatch(quote))), None
    )


def _taken_back(kept: Sequence[Candidate], words: str) -> Candidate | None:
    return next((one for one in reversed(kept) if _whole(words).search(one.quote)), None)


def _told_anew(
    old: Candidate,
    correction: Candidate,
    change: re.Match[str],
    turns: Mapping[str, Memory],
    reread: Reread,
) -> list[Candidate]:
    """The old statement with other words, as its author would have said it when the correction was
    made.
    """
    words = _whole(change["before"]).sub(lambda _: change["now"], old.quote, count=1)
    spoken = turns[old.source].with_(content=words, event_time=turns[correction.source].event_time)
    return [
        replace(one, quote=correction.quote, source=correction.source) for one in reread(spoken)
    ][:1]


def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.IGNORECASE)
