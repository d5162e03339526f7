"""The title of a session: a short clause that says what it was about.

With an assistant that is what the user asked for first, without the asking: "I'm looking for gift
ideas for my brother, can you help?" becomes "Gift ideas for my brother". Between people it is the
most telling statement of the session. The words are in the section `summaries` of a language file:
- `asked`: how people begin a request or a report, left out;
- `ends`: where a title may stop;
- `joints`: where one that is too long may stop;
- `left_open`: words that it must not end with;
- `empty`: what is no topic, such as a greeting or thanks;
- `idle`: words that name no topic, wherever they stand ("Wow, pretty cool stuff happened");
- `considered`: what makes a plan less than a decision.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from ..languages import language
from ..text.lazy_regex import NEVER
from ..text.time_expressions import spans
from ..text.tokens import query_terms
from ..types import Memory
from .candidate import Candidate
from .patterns import Language
from .speech import own_words, sentences
from .third_person import NOBODY

LONGEST = 80
# Terms; fewer name no topic.
_FEWEST_TERMS = 2
# Characters before a title may stop.
_SHORTEST = 14
_SHORTEST_UNSPACED = 6
# The date that a statement carries: "(2023-05-07)".
_DATE = re.compile(r"\s*\(\d{4}(?:-\d\d){0,2}(?: to \d{4}(?:-\d\d){0,2})?\)")
_QUOTED = re.compile(r"^.{1,40}? said: [\"“](.+?)[\"”]?$")
_WORD = re.compile(r"[^\W_][\w'’-]*")
_JOINED = re.compile(r"(?:['’](?:s|ll|re|ve|d|m)?|-+)$")
# "creating a safe, inviting place": a comma between two words that describe one thing.
_DESCRIBES = re.compile(r"\b(?:an?|the|my|our|his|her|their|some|very|so|more) \w+$", re.IGNORECASE)
_GOES_ON = re.compile(r",\s+(\w+)\s+\w")
_EDGES = " \t\n,;:.!?–—-…。，！？、；：¿¡\"'“”"
# What happened says more about a session than what somebody likes.
_TELLING = {"event": 0.15, "decision": 0.15, "plan": 0.1, "correction": 0.1, "preference": -0.25}
_CENTRAL = 0.3
_LATER = 0.15


def title_of(
    turns: Sequence[Memory],
    spoken: Language | None,
    statements: Sequence[Candidate],
    weights: Mapping[str, int],
    *,
    among_people: bool,
) -> str:
    """The title of a session; empty if nothing in it names a topic.

    `turns` are those of people, `statements` what was found in them, `weights` how many turns have
    a term.
    """
    code = spoken.code if spoken else "en"
    names = {turn.author.lower() for turn in turns if turn.author}
    requests = _requests(turns, code, names, spoken if among_people else None)
    if not among_people and (asked := next(requests, "")):
        return asked
    places = {turn.id: place / len(turns) for place, turn in enumerate(turns)}

    def score(one: Candidate) -> float:
        # People open with their news.
        return telling(one, weights) - _LATER * places.get(one.source, 1.0)

    told = sorted(statements, key=score, reverse=True)
    found = (_clause(one.content, code, names) for one in told if one.kind == "fact")
    return next((one for one in found if one), next(requests, ""))


def telling(statement: Candidate, weights: Mapping[str, int]) -> float:
    """How much a statement says about its session: what kind it is, how sure, and how much of the
    session shares its words.
    """
    terms = set(query_terms(statement.content))
    most = max(weights.values(), default=1)
    shared = sum(weights.get(term, 0) for term in terms) / (most * (len(terms) or 1))
    return statement.confidence + _TELLING.get(statement.category, 0.0) + _CENTRAL * shared


def names_topic(text: str, code: str, names: Collection[str] = ()) -> bool:
    """Whether a text names a topic: "Dance studio" does; "Thanks", "Wow, Gina" and "A lot has
    happened" do not. `names` are the speakers' names in lower case.
    """
    if not language(code).spaced:
        return len(query_terms(_words(code, "idle").sub(" ", text))) >= _FEWEST_TERMS
    left = [one for one in _WORD.findall(text) if not is_idle(one, code)]
    told = [_bare(one) for one in left if query_terms(one)]
    return len(told) >= _FEWEST_TERMS and any(one.lower() not in names for one in told)


def is_idle(word: str, code: str) -> bool:
    """Whether a word names no topic."""
    return bool(_words(code, "idle").fullmatch(_bare(word)))


def _bare(word: str) -> str:
    """Return the word without what is joined to its end: "lot" of "lot's", "time" of "time-"."""
    return _JOINED.sub("", word)


def _requests(
    turns: Sequence[Memory],
    code: str,
    names: Collection[str],
    between: Language | None,
) -> Iterator[str]:
    """What the turns ask for or report, first things first.

    `between` is the language of people who talk to each other: what one says of the other ("Your
    hard work paid off") answers something, and opens no topic.
    """
    for turn in turns:
        for sentence in sentences(own_words(turn.content, role=turn.role))[:3]:
            if between and between.cue("addressed").search(sentence.text):
                continue
            if found := _clause(sentence.text, code, names):
                yield found


def _clause(text: str, code: str, names: Collection[str] = ()) -> str:
    """A statement or a request as a title; empty if it names no topic."""
    text = _QUOTED.sub(r"\1", " ".join(text.split()))
    text = _without_times(text, code).strip(_EDGES)
    asked = _without_asking(text, code)
    title = _stopped(asked, code).strip(_EDGES)
    empty = any(_words(code, "empty").match(one) for one in (text, asked))
    too_little = len(query_terms(title)) < _FEWEST_TERMS or not names_topic(title, code, names)
    if empty or too_little or len(title) > LONGEST:
        return ""
    return title[:1].upper() + title[1:]


def _without_times(text: str, code: str) -> str:
    """The text without the times that carry a date: "yesterday (2023-05-07)"."""
    while date := _DATE.search(text):
        before = text[: date.start()]
        last = next(
            (one.text for one in reversed(spans(before, 0)) if before.endswith(one.text)), ""
        )
        rest = before[: len(before) - len(last)].rstrip()
        # "The opening is tomorrow" needs its time.
        text = (before if _words(code, "left_open").search(rest) else rest) + text[date.end() :]
    return text.strip()


def _without_asking(text: str, code: str) -> str:
    about = f"{NOBODY[:1].upper()}{NOBODY[1:]}"
    for opening in (f"{about}'s ", f"{about} is ", f"{about} "):
        text = text.removeprefix(opening)
    for _ in range(4):
        asked = _words(code, "asked").match(text)
        if not asked or not asked.end():
            break
        text = text[asked.end() :].lstrip(_EDGES)
    return text


def _stopped(text: str, code: str) -> str:
    """The text up to where a title may stop, and not with a word that leaves it open."""
    shortest = _SHORTEST if language(code).spaced else _SHORTEST_UNSPACED
    ends = [
        mark.start()
        for mark in _words(code, "ends").finditer(text)
        if not _describes_on(text, mark.start())
    ]
    says_something = (
        end for end in ends if end >= shortest and len(query_terms(text[:end])) >= _FEWEST_TERMS
    )
    first = next(says_something, len(text))
    if first <= LONGEST:
        text = text[:first]
    if len(text) > LONGEST:
        joints = [mark.start() for mark in _words(code, "joints").finditer(text[:LONGEST])]
        text = text[: max((one for one in joints if one >= shortest), default=LONGEST + 1)]
    while open_ := _words(code, "left_open").search(text):
        text = text[: open_.start()]
    return text


def _describes_on(text: str, place: int) -> bool:
    """Whether the comma at this place stands between words that describe one thing."""
    following = _GOES_ON.match(text, place)
    describes = following and _DESCRIBES.search(text[:place])
    return bool(describes and following and query_terms(following[1]))


def is_considered(statement: Candidate, spoken: Language | None) -> bool:
    """Whether a plan is only being thought about."""
    return bool(_words(spoken.code if spoken else "en", "considered").search(statement.content))


@cache
def _words(code: str, name: str) -> re.Pattern[str]:
    pattern = language(code).section("summaries").get(name)
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE) if pattern else NEVER
