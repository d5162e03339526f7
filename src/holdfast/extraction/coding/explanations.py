"""Causes and fixes as people and agents state them: "the root cause was …", "fixed by …"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .coding_session import Said
from .cue_words import Words

# A joining word at the end belongs to what follows.
_TURNING = re.compile(r"[\s,;]*\b(?:and|so|but|which|und|y|et)\s*$", re.IGNORECASE)
# Characters of a cause or a fix; more is a story.
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cause or fix: the text after its opening, and the sentence as written in its turn."""

    said: Said
    words: Words
    what: str
    sentence: str


def cause(said: Sequence[Said]) -> Explanation | None:
    """The last cause stated; the first ones are often guesses."""
    return _last(said, "incident.cause")


def fix(said: Sequence[Said]) -> Explanation | None:
    """The last fix stated as done."""
    return _last(said, "incident.fix") or _last(said, "incident.did", agent_only=True)


def remedy(said: Sequence[Said]) -> Explanation | None:
    """The last fix named as such; what an agent says it changed is in the program already."""
    return _last(said, "incident.fix")


def repair(said: Sequence[Said]) -> Explanation | None:
    """The last repair an agent announced; the caller checks whether it was made and helped."""
    return _last(said, "incident.repair", agent_only=True)


def unresolved(said: Sequence[Said]) -> bool:
    """Whether somebody says that the problem is not fixed."""
    return any(
        not sentence.asks and words.says("incident.unresolved", sentence.text)
        for one in said
        for sentence in one.sentences
        for words in one.words
    )


def _last(
    said: Sequence[Said],
    cue: str,
    *,
    agent_only: bool = False,
) -> Explanation | None:
    """The last sentence with such an opening that is neither a question nor a guess."""
    for one in reversed(said):
        if agent_only and one.by_user:
            continue
        found = [
            told
            for sentence in one.sentences
            if not sentence.asks and (told := _told(one, sentence.text, cue))
        ]
        if found:
            return found[-1]
    return None


def _told(
    said: Said,
    sentence: str,
    cue: str,
) -> Explanation | None:
    for words in said.words:
        # Somebody else's account, a guess, or what would be: none of them is known.
        if words.says("incident.guess", sentence) or words.language.begins("reported", sentence):
            continue
        for what in _openings(words, sentence, cue):
            if len(what.split()) >= (2 if words.language.spaced else 1) and len(what) <= _LONGEST:
                return Explanation(said, words, what, sentence)
    return None


def _openings(
    words: Words,
    sentence: str,
    cue: str,
) -> Iterator[str]:
    """The text after each opening of this kind.

    "Fixed: the cause was …, and I fixed it by …" has two.
    """
    rest = sentence
    while opening := words.says(cue, rest):
        rest = rest[opening.end() :]
        yield _without_the_rest(words, rest, cue).strip(" ,;:–—-*(")
        if not opening.end():
            return


def _without_the_rest(
    words: Words,
    what: str,
    cue: str,
) -> str:
    """A cause cut where its sentence turns to the fix, and a fix where it turns to the cause."""
    other = "incident.fix" if cue == "incident.cause" else "incident.cause"
    turn = words.says(other, what)
    if turn:
        return _TURNING.sub("", what[: turn.start()])
    return what
