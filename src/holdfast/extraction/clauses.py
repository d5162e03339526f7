"""The statements of a turn, as long as each makes sense: sentences without the question after them.

"I'm planning a trip to Hawaii and I need adapters, can you help?" makes three clauses: a clause
ends where the speaker begins anew ("and I …") or begins to ask. One that speaks of "it" stays with
the clause before, because it means nothing without that one. A language without such patterns (the
section `alone`) has whole sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .patterns import Language
from .speech import Sentence, sentences
from .vocabulary import straight

EDGES = " \t\n,;:–—-"
"""What no clause begins or ends with."""
_PART = re.compile(r"[,;.]")


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a sentence, as it was written, and what stands around it."""

    text: str
    sentence: Sentence
    number: int
    """Which sentence of the turn it is in."""
    asks: bool = False


def clauses_of(language: Language, words: str) -> list[Clause]:
    """The clauses of somebody's own words, in order."""
    return [
        Clause(text, sentence, number, asks)
        for number, sentence in enumerate(sentences(words))
        for text, asks in _pieces(language, sentence)
    ]


def _pieces(language: Language, sentence: Sentence) -> list[tuple[str, bool]]:
    plain = straight(sentence.text)
    starts = [0]
    for turn in language.cue("turns").finditer(plain):
        before = plain[starts[-1] : turn.start()]
        if turn.end() > starts[-1] and _is_whole(language, before, turn[0], plain[turn.end() :]):
            starts.append(turn.end())
    pieces: list[tuple[str, bool]] = []
    for start, end in zip(starts, [*starts[1:], len(plain)], strict=True):
        text = _without_joint(language, sentence.text[start:end])
        if text:
            asked = sentence.asks and end == len(plain)
            pieces.append((text, asked or _asks(language, straight(text))))
    return pieces


def _is_whole(
    language: Language,
    before: str,
    mark: str,
    after: str,
) -> bool:
    """Whether a clause may end here: it has a subject of its own, and so has what follows."""
    if not language.cue("speaker").search(before):
        return False
    if mark.strip() == "," and language.cue("adverbial").match(before.strip()):
        return False
    if language.cue("companion").search(f"{before} "):
        return False
    asking = language.cue("asking").match(after) or language.cue("request").match(after)
    return bool(asking) or not language.cue("unnamed").search(_PART.split(after)[0])


def _without_joint(language: Language, text: str) -> str:
    text = text.strip(EDGES)
    joint = language.cue("joint").match(text)
    if joint:
        text = text[joint.end() :]
    left = language.cue("joint_left").search(text)
    if left:
        text = text[: left.start()]
    return text.strip(EDGES)


def _asks(language: Language, plain: str) -> bool:
    if not language.alone:
        return False
    return bool(language.begins("question", plain) or language.cue("request").match(plain))
