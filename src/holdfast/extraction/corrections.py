"""Corrections without a subject, such as "it's Tuesday, not Monday".

The latest statement that contains the corrected words is restated with the right ones, and the old
statement is dropped. If there is no such statement the correction is dropped, because nobody could
tell later what it was about.
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
    """Apply a page's corrections to its candidates; `turns` maps ids to turns."""
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
    """The words a bare correction replaces (`before`) and their replacement (`now`), or None."""
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
    """The old statement with the corrected words, dated to the correction."""
    words = _whole(change["before"]).sub(lambda _: change["now"], old.quote, count=1)
    spoken = turns[old.source].with_(content=words, event_time=turns[correction.source].event_time)
    return [
        replace(one, quote=correction.quote, source=correction.source) for one in reread(spoken)
    ][:1]


def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.IGNORECASE)
