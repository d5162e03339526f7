"""Requests to remove a topic from memory, recognised by cue words instead of word order.

`memory_requests.py` knows the usual forms. Other people use two sentences, name the topic first, or
express a wish. Their requests have in common: a word for removing (`erase`), a word that refers to
the listener's memory (`yours`), and no word that refers to something else (`other`: a file, a text,
somebody else's memory).

The topic is what follows `about` in the requesting sentence, or what the speaker calls their own
(`own`) there; else the same in the other sentences, else a whole sentence. A topic that is too
broad does no harm: what to forget is searched, shown and confirmed.

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

# Characters; longer messages tell a story, in which cue words occur together by chance.
LONGEST = 420
_CLAUSE_END = r"(?=\s*(?:$|[.;:!?,)(–—。、，！？…]|\s-\s))"


@dataclass(frozen=True, slots=True)
class RemovalCues:
    """Cues of a language for removal requests."""

    erase: re.Pattern[str]
    yours: re.Pattern[str]
    other: re.Pattern[str]
    topics: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal request: the requesting sentence, and the position of the topic."""

    asking: int
    """Index of the requesting sentence."""
    sentence: int
    """Index of the sentence that names the topic."""
    span: slice
    """The topic within that sentence."""


def read_removal(
    cues: RemovalCues,
    sentences: Sequence[str],
    may_ask: Callable[[str], bool],
) -> Removal | None:
    """Return the removal request; None if no sentence asks for one.

    `may_ask` decides whether a sentence can be a request. It is slower than the cues, so it is
    called last.
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
    """Locate the topic: in the requesting sentence, else before or after it."""
    earlier = range(asking - 1, -1, -1)
    for place in (asking, *earlier, *range(asking + 1, len(sentences))):
        for pattern in cues.topics:
            if found := pattern.search(sentences[place]):
                return Removal(asking, place, slice(*found.span("topic")))
    return Removal(asking, max(0, asking - 1), slice(None))


@cache
def removal_cues(code: str) -> RemovalCues | None:
    """Return the cues of a language; None if its file has none."""
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
