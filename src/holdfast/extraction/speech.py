"""The author's own words in a turn, cut into sentences: no code, logs, mail or quotations.

A turn is often mostly something else: a stack trace, a letter, an article to summarise. None of
that is about the author (`text/pasted_text.py`). The rest is cut into sentences, each a substring
of the turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..languages import patterns_of_all
from ..text.fences import strip_echoes
from ..text.pasted_text import own_prose
from .policy import PEOPLE

# Characters; a list or a run-on paste rather than a statement.
LONG_SENTENCE = 600

# What a model thought before it answered; one that was cut off has no closing tag.
_THOUGHT = re.compile(
    r"<(think|thinking|thought|reasoning|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
# Occurs in no text people write, so a quote with it in is grounded nowhere.
_HIDDEN = "\ufffc"
# Closing quotes and brackets belong to the sentence that they end.
_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]”»]*(?=\s|\Z)|[。！？]+[」』）]?|\n+")
# "Dr." and initials end no sentence.
_ABBREVIATION = re.compile(
    rf"(?:\b(?:{patterns_of_all('speech', 'abbreviations')})|\b[A-ZÀ-ÞА-Я])\.$", re.IGNORECASE
)
# Nor does "3." before a month.
_ORDINAL = re.compile(r"(?:\A|\s)\d{1,2}\.$")
# What an ordinal with a full stop may stand before: "3. Mai", "2. Klasse".
_MONTH_NEXT = re.compile(rf"\s(?:{patterns_of_all('speech', 'after_ordinal')})", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*•·]|\d{1,2}[.)])\s+")
# A small letter or a bracket in the next line: the sentence was only broken.
_CLAUSE_GOES_ON = re.compile(r"[a-zà-ÿа-я(]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as written, without its final mark, and whether that mark asks."""

    text: str
    asks: bool = False


def own_words(text: str, *, role: str = "user") -> str:
    """`text` without what its author, in this role, did not say in their own words."""
    text = without_thoughts(strip_echoes(text)).replace("\r\n", "\n").replace("\r", "\n")
    return own_prose(text, quoted=_HIDDEN, by_agent=role not in PEOPLE).strip()


def without_thoughts(text: str) -> str:
    """`text` without a model's thinking before the answer."""
    if "<" in text:
        return _THOUGHT.sub("\n\n", text)
    return text


def sentences(text: str) -> list[Sentence]:
    """Sentences of a text in order; those too long to be one are left out."""
    found = []
    start = 0
    for mark in _SENTENCE_END.finditer(text):
        if mark.start() < start or _goes_on(text, start, mark):
            continue
        found.append(
            Sentence(_unlisted(text[start : mark.start()]), "?" in mark[0] or "？" in mark[0])
        )
        start = mark.end()
    found.append(Sentence(_unlisted(text[start:])))
    return [each for each in found if each.text and len(each.text) <= LONG_SENTENCE]


def _unlisted(text: str) -> str:
    text = text.strip()
    bullet = _BULLET.match(text)
    if bullet:
        return text[bullet.end() :]
    return text


def _goes_on(
    text: str,
    start: int,
    mark: re.Match[str],
) -> bool:
    """Whether this mark does not end a sentence: a wrapped line, an abbreviation, an ordinal."""
    if mark[0][0] == "\n":
        before = text[max(start, mark.start() - 1) : mark.start()]
        return (
            mark[0] == "\n"
            and before not in ":.!?"
            and bool(_CLAUSE_GOES_ON.match(text, mark.end()))
        )
    if mark[0] != ".":
        return False
    before = text[max(start, mark.start() - 12) : mark.end()]
    return bool(_ABBREVIATION.search(before)) or bool(
        _ORDINAL.search(before) and _MONTH_NEXT.match(text, mark.end())
    )
