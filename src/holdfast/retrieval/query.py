"""Question analysis: terms, times, speakers, and the text to embed.

People speak of themselves in the first person. A question about Caroline is best answered by what
Caroline said, which reads "I went", not "Caroline went". So a person in the question who is also an
author goes to `authors`, and becomes "I" in the embedded text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from ..languages import in_every_language, languages, patterns_of_all
from ..text.lazy_regex import later
from ..text.time_expressions import Span, spans
from ..text.tokens import ENGLISH, index_terms, lone_letters, query_terms, writing
from .personal_questions import asks_of_somebody, personal_terms

# "Mel" may be Melanie; "Jo" may be anyone.
_SHORTEST_NICKNAME = 3
_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)

# The question is about the speaker.
_FIRST_PERSON = later(
    rf"(?<![\w'])(?:{patterns_of_all('questions', 'first_person')})(?!\w)", re.IGNORECASE
)
# The question is about what the assistant said: "you told me", "your last suggestion", "our last
# chat", "remind me what you …". A request does not count: "can you suggest", "what would you
# recommend", "hast du einen Tipp". So verbs must be in the past or after "did".
_SAID_BY_ASSISTANT = later(
    patterns_of_all("questions", "told_by_assistant"), re.IGNORECASE | re.DOTALL
)
# A request for work or advice: "write", "recommend", "I'm looking for". It need not be about what
# is known, so it takes more than a question does to bring something up.
_ASKS_HELP = later(patterns_of_all("questions", "help"), re.IGNORECASE)
# Questions for a time or a number; an answer should contain such a term.
_ASKS_WHEN = later(patterns_of_all("questions", "when"), re.IGNORECASE)
_ASKS_NUMBER = later(patterns_of_all("questions", "number"), re.IGNORECASE)
# A pronoun usually refers to the person who is named.
_OWN_PRONOUNS = (
    (later(r"\b(?:her|his|their)\b(?=\s+\w)"), "my"),
    (later(r"\b(?:she|he|they)\b"), "I"),
    (later(r"\b(?:her|him|them)\b"), "me"),
)


class Query(NamedTuple):
    """An analysed question.

    `authors` are the known authors it names, `names` the terms that name them, and `roles` the
    roles whose statements it asks for. `telling` are terms of which an answer should contain one.
    `members` maps what belongs to a kind that is asked for (Prius) to that term (car). Each may be
    empty. A `plain` question has only stop words; its terms are those of likely answers. One that
    `asks_help` wants work or advice. `embed` is the text to embed, `writing` the kind of language
    it is in.
    """

    text: str
    terms: tuple[str, ...]
    spans: tuple[Span, ...]
    embed: str
    authors: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    plain: bool = False
    asks_help: bool = False
    writing: str = ENGLISH
    members: Mapping[str, str] = MappingProxyType({})


def analyse(
    text: str,
    now: int,
    *,
    authors: Sequence[str] = (),
) -> Query:
    """Analyse `text` as asked at `now` (microseconds) in a scope with memories by `authors`."""
    words = {word.casefold(): word for word in _WORD.findall(text)}
    # Single letters can matter: R and C are languages.
    meant = query_terms(text) or lone_letters(text)
    named = {author: alias for author in authors if (alias := _alias(author, words))}
    language = writing(text)
    return Query(
        text=text,
        terms=tuple(meant or personal_terms(text)),
        spans=tuple(spans(text, now)),
        embed=_first_person(text, named) if language == ENGLISH else text,
        authors=frozenset(author.casefold() for author in named),
        names=frozenset(index_terms(" ".join(named.values()))),
        roles=_roles(text) if not named else frozenset(),
        telling=_telling(text),
        plain=not meant and asks_of_somebody(text),
        asks_help=bool(_ASKS_HELP.search(text)) and not _SAID_BY_ASSISTANT.search(text),
        writing=language,
        members=members_of(meant),
    )


def _alias(author: str, words: dict[str, str]) -> str:
    """Return the word of the question that names `author`: part of the name, or its beginning as a
    nickname.
    """
    parts = [part.casefold() for part in _WORD.findall(author)]
    for part in parts:
        if part in words and len(part) > 1:
            return words[part]
    for word, written in words.items():
        is_name = written[0].isupper() and len(word) >= _SHORTEST_NICKNAME
        if is_name and any(part.startswith(word) for part in parts):
            return written
    return ""


def _telling(text: str) -> frozenset[str]:
    if _ASKS_WHEN.search(text):
        return _time_terms()
    if _ASKS_NUMBER.search(text):
        return _number_terms()
    return frozenset()


@cache
def _time_terms() -> frozenset[str]:
    return _terms_of("time_words", range(1950, 2051))


@cache
def _number_terms() -> frozenset[str]:
    return _terms_of("number_words", range(101))


def _terms_of(key: str, numbers: range) -> frozenset[str]:
    words = (str(each.section("questions").get(key, "")) for each in languages())
    return frozenset(index_terms(" ".join((*words, *map(str, numbers)))))


def _roles(text: str) -> frozenset[str]:
    if _SAID_BY_ASSISTANT.search(text):
        return frozenset({"assistant"})
    if _FIRST_PERSON.search(text):
        return frozenset({"user"})
    return frozenset()


def _first_person(text: str, named: Mapping[str, str]) -> str:
    """Rewrite an English `text` as the people it names would say it about themselves; `named` has
    the word that names each author.
    """
    if not named:
        return text
    whole = [_whole_name(author, alias) for author, alias in named.items()]
    name = rf"\b(?:{'|'.join(sorted(whole, key=len, reverse=True))})"
    spoken = re.sub(rf"{name}(?:['’]s|(?<=s)['’])(?!\w)", "my", text)
    spoken = re.sub(rf"{name}\b", "I", spoken)
    for pronoun, own in _OWN_PRONOUNS:
        spoken = pronoun.sub(own, spoken)
    return spoken


def _whole_name(author: str, alias: str) -> str:
    """Return a pattern for `alias` and other parts of the name beside it: "Anna Lind" is one
    person, so both words become one "I".
    """
    part = "|".join(re.escape(part) for part in _WORD.findall(author))
    return rf"(?:(?:{part})\s+)*{re.escape(alias)}(?:\s+(?:{part}))*"


def members_of(terms: Iterable[str]) -> dict[str, str]:
    """Map terms of what belongs to a kind in `terms` to that kind. Terms of the question are left
    out: they count for themselves.

    >>> members_of(["car"])["prius"]
    'car'
    """
    asked = tuple(terms)
    known = _members()
    found = {member: kind for kind in asked for member in known.get(kind, ())}
    return {member: kind for member, kind in found.items() if member not in asked}


@cache
def _members() -> Mapping[str, tuple[str, ...]]:
    """Terms of the members by each term that names their kind."""
    found: dict[str, tuple[str, ...]] = {}
    for _, section in in_every_language("kinds"):
        lines = str(section.get("members", "")).replace("\n    ", " ").splitlines()
        for kinds, _, members in (line.partition(":") for line in lines):
            terms = index_terms(members)
            for kind in index_terms(kinds):
                found[kind] = tuple(dict.fromkeys((*found.get(kind, ()), *terms)))
    return found
