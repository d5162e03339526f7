"""Requests to remove a topic from memory, read by cue words rather than by the order of words.

`memory_requests.py` knows how most people put such a request. Others say it in two sentences, or
name the topic first, or wish that it were gone. This reads what they have in common: a word for
removing (`erase`), a word that tells that the listener's memory is meant (`yours`), and nothing
that tells that something else is meant (`other`: a file, a text, somebody else's memory).

The topic is what follows `about` in the sentence that asks, or what the speaker calls their own
(`own`) there; failing that, the same in the other sentences, and then the sentence itself. That
may be too much rather than too little, and does no harm: what is to be forgotten is searched for,
shown and confirmed.

The cues are the section `removal` of a language file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..languages import language
from .lazy_regex import later

# Characters: longer messages tell a story, in which cue words meet by chance.
LONGEST = 420
_CLAUSE_END = r"(?=\s*(?:$|[.;:!?,)(–—。、，！？…]|\s-\s))"


@dataclass(frozen=True, slots=True)
class RemovalCues:
    """What a language says of removing something from a memory."""

    erase: re.Pattern[str]
    yours: re.Pattern[str]
    other: re.Pattern[str]
    topics: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """A request to remove something: the sentence that asks, and where the topic is."""

    asking: int
    """Place of the sentence that asks."""
    sentence: int
    """Place of the sentence that names the topic."""
    span: slice
    """The topic within that sentence."""


def read_removal(
    cues: RemovalCues,
    sentences: Sequence[str],
    may_ask: Callable[[str], bool],
) -> Removal | None:
    """The request to remove something; None if no sentence asks for it.

    `may_ask` tells whether a sentence may be a request at all. It takes longer than the cues, so
    it is asked last.
    """
    message = " ".join(sentences)
    if len(message) > LONGEST or not cues.yours.search(message) or cues.other.search(message):
        return None
    for place, sentence in enumerate(sentences):
        if cues.erase.search(sentence) and may_ask(sentence):
            return _named(cues, sentences, place)
    return None


def _named(
    cues: RemovalCues,
    sentences: Sequence[str],
    asking: int,
) -> Removal:
    """Where the topic is: in the sentence that asks, or else before or after it."""
    earlier = range(asking - 1, -1, -1)
    for place in (asking, *earlier, *range(asking + 1, len(sentences))):
        for pattern in cues.topics:
            if found := pattern.search(sentences[place]):
                return Removal(asking, place, slice(*found.span("topic")))
    return Removal(asking, max(0, asking - 1), slice(None))


@cache
def removal_cues(code: str) -> RemovalCues | None:
    """The cues of a language; None if its file has none."""
    section: Mapping[str, Any] = language(code).section("removal")
    if not section:
        return None

    def compiled(pattern: str) -> re.Pattern[str]:
        return later(re.sub(r"\s*\n\s*", "", pattern), re.IGNORECASE)

    topics = [
        rf"(?:{section['about']})(?P<topic>(?!{section['vague']}){section['phrase']}){_CLAUSE_END}",
        rf"(?P<topic>(?:{section['own']}){section['phrase']}){_CLAUSE_END}",
    ]
    return RemovalCues(
        erase=compiled(section["erase"]),
        yours=compiled(section["yours"]),
        other=compiled(section["other"]),
        topics=tuple(map(compiled, topics)),
    )
