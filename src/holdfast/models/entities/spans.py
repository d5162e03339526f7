"""Spans of a text that are written like a name, whatever they name: `Portland Film Festival`.

For languages in which only names have capitals inside a sentence. A span goes on as long as its
capitals do, so that `Portland` is not found in `Portland Film Festival`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .base import EntityType
from .gazetteer import key_of, listed

_TOKEN = re.compile(r"[^\W_]\w*(?:['’.&-]\w+)*\+?")
# Between two words of one name.
_BETWEEN = frozenset((" ", "\u00a0", " & "))
# Also brackets, quotes and list marks: a capital after them may only start a sentence.
_SENTENCE_END = re.compile(r"[.!?…:;\n\r\t\"“”„«»‹›(\[*•|/>—–]|(?<!\w)- ")
_QUOTED = re.compile(
    r"(?<!\w)(?:\"([^\"\n]{1,80})\"|“([^“”\n]{1,80})”|„([^„“”\n]{1,80})[“”]|«([^«»\n]{1,80})»"
    r"|(?<!\w)'([A-Z][^'\n]{1,60})'(?!\w))"
    r"|《([^《》\n]{1,60})》|『([^『』\n]{1,60})』"
)
_POSSESSIVE = re.compile(r"['’]s?$")
_APOSTROPHE = re.compile("['’]")
_SHOUTED = re.compile(r"[A-Z]{2,}s?")
# Quotation marks of titles in Chinese and Japanese, whose script has no capitals.
_TITLE_MARKS = "《『"
_LONGEST_TITLE = 10
_NO_SENTENCE = re.compile(
    r"(?<!\w)\w{1,20}://\S*|[@#=]\w+|\*\*[^*\n]{1,200}\*\*|^#{1,6} .*$", re.MULTILINE
)
_LINE = re.compile(r"[^\n.!?,;:]+")
# The first letter of a word.
_WORD = re.compile(r"(?<![\w'’])[^\W\d_]")
_SHORT_LINE = 4
_NUMBER = re.compile(r"[\d.,:-]+(?:st|nd|rd|th|k|%|am|pm)?")
_ADJECTIVE = re.compile(r"\w+(?:ese|ians?|eans?|icans?|ish)")


class Token(NamedTuple):
    """A word or number. `first`: a sentence may start with it; `near`: a name may go on with it."""

    text: str
    key: str
    start: int
    end: int
    first: bool
    near: bool
    capital: bool


class Span(NamedTuple):
    """A possible name at [start, end). `quoted`: it stands between quotation marks."""

    start: int
    end: int
    words: tuple[str, ...]
    first: bool
    quoted: bool

    @property
    def branded(self) -> bool:
        """Whether a capital follows a small letter in a word: `eBay`, `JetBlue`."""
        return any(
            one.islower() and two.isupper() for word in self.words for one, two in pairwise(word)
        )


def spans_of(text: str, *, grammar: Collection[str], owners: Collection[int] = ()) -> list[Span]:
    """Return the spans in text order, without overlaps.

    `grammar` has the function words of the language, and `owners` the places where a name ends to
    which a possessive may be attached.
    """
    titles = [title for match in _QUOTED.finditer(text) if (title := _title(match, grammar))]
    closed = sorted([*((one.start, one.end) for one in titles), *_headings(text)])
    tokens = list(_tokens(text))
    found = list(titles)
    at = passed = until = 0
    while at < len(tokens):
        while passed < len(closed) and closed[passed][0] <= tokens[at].start:
            until = max(until, closed[passed][1])
            passed += 1
        end = _end_of(tokens, at, grammar, owners)
        if end > at and tokens[at].start >= until:
            found.append(_span(tokens[at:end]))
        at = max(end, at + 1)
    return sorted(found)


def _headings(text: str) -> Iterator[tuple[int, int]]:
    """Yield where capitals say nothing: addresses, emphasis, and lines of almost only capitals."""
    for match in _NO_SENTENCE.finditer(text):
        yield match.span()
    for line in _LINE.finditer(text):
        words = _WORD.findall(line.group())
        if len(words) > _SHORT_LINE and sum(map(str.isupper, words)) > 0.75 * len(words):
            yield line.span()


def _title(match: re.Match[str], grammar: Collection[str]) -> Span | None:
    """Return a title in quotation marks; None if a word is small as in quoted speech."""
    group = match.lastindex or 0
    inside = match[group]
    raw = inside.rstrip(" ,.!?").strip()
    words = [word.group() for word in _TOKEN.finditer(raw)]
    if not words or len(words) > _LONGEST_TITLE:
        return None
    small = [word for word in words if word[0].islower() and word.lower() not in grammar]
    if match.group()[0] not in _TITLE_MARKS and (
        small or not _is_capital(words[0] + words[-1]) or words[-1][0].islower()
    ):
        return None
    start = match.start(group) + inside.index(raw)
    return Span(start, start + len(raw), tuple(words), first=False, quoted=True)


def _tokens(text: str) -> Iterator[Token]:
    end = 0
    for match in _TOKEN.finditer(text):
        gap = text[end : match.start()]
        first = not end or _SENTENCE_END.search(gap) is not None
        near = bool(end) and gap in _BETWEEN
        bare = _POSSESSIVE.sub("", match.group())
        end = match.end()
        start = match.start()
        yield Token(bare, key_of(bare), start, start + len(bare), first, near, _is_capital(bare))


def _is_capital(word: str) -> bool:
    """Whether a word is written as a part of a name; `Korean-style` and `mid-June` are not."""
    head, dash, tail = word.rpartition("-")
    if dash and (tail.islower() or head.islower()):
        return False
    return any(letter.isupper() for letter in word)


def _end_of(
    tokens: Sequence[Token], at: int, grammar: Collection[str], owners: Collection[int]
) -> int:
    """Return the index after the words of a span that starts at `at`; `at` if none does."""
    article = tokens[at].key in listed("articles").sure and not tokens[at].first
    if not tokens[at].capital or not (article or _may_name(tokens[at], grammar)):
        return at
    end = at + 1
    while end < len(tokens) and tokens[end].near and tokens[end - 1].end not in owners:
        if tokens[end].text[0].isdigit() or _may_name(tokens[end], grammar):
            end += 1
        elif behind := _behind_link(tokens, end):
            end = behind
        else:
            break
    return at if article and end == at + 1 else end


def _may_name(token: Token, grammar: Collection[str]) -> bool:
    """Whether a word with a capital may stand in a name."""
    if not token.capital or (token.first and token.key in listed("openers")):
        return False
    stem = _APOSTROPHE.split(token.key)[0]
    return stem not in grammar and token.key not in listed("titles").sure


def _behind_link(tokens: Sequence[Token], at: int) -> int:
    """Return the index after `of the` and a capital behind it; 0 if there is none."""
    if tokens[at].text not in listed("name links"):
        return 0
    behind = at + 1
    if behind < len(tokens) and tokens[behind].key in listed("articles").sure:
        behind += 1
    if behind < len(tokens) and tokens[behind].near and tokens[behind].capital:
        return behind + 1
    return 0


def _span(tokens: Sequence[Token]) -> Span:
    """Return a span without the abbreviations at its end: the APIs of `Python APIs`."""
    last = len(tokens)
    while (
        last > 1 and _SHOUTED.fullmatch(tokens[last - 1].text) and _is_nobody(tokens[last - 1].key)
    ):
        last -= 1
    words = tuple(token.text for token in tokens[:last])
    return Span(tokens[0].start, tokens[last - 1].end, words, first=tokens[0].first, quoted=False)


def _is_nobody(key: str) -> bool:
    """Whether a word, or what it is the plural of, is on the list of words that name nobody."""
    return key in listed("nobody").sure or key.removesuffix("s") in listed("nobody").sure


def is_name(span: Span) -> bool:
    """Whether a span is a name, judging by its words alone."""
    if span.quoted or span.branded:
        return True
    if span.first or (len(span.words) == 1 and _is_common(span.words[0])):
        return False
    keys = [key_of(word) for word in span.words]
    telling = [key for key in keys if not _is_nobody(key) and not _NUMBER.fullmatch(key)]
    return bool(telling) and keys[-1] not in listed("common heads")


def _is_common(word: str) -> bool:
    """Whether a single word is an abbreviation or an adjective: `FAQ`, `Peruvian`."""
    return word.isupper() or _ADJECTIVE.fullmatch(word) is not None


def type_of(span: Span) -> EntityType:
    """Return what the last or the first word of a span says about its type."""
    first, last = key_of(span.words[0]), key_of(span.words[-1])
    if span.quoted or len(span.words) == 1:
        return "other"
    if last in listed("place endings") or first in listed("place beginnings"):
        return "location"
    if last in listed("company endings").unsure:
        return "organization"
    return "other"
