"""What the words of one statement say about change: marks, slots, terms and figures.

A **mark** is a way to speak of change: something `ended`, something was `switched`, it is so
`now`, it was so `once`, an appointment was `shifted`. Others speak against it: one thing more
(`also`), the same as before (`still`), another person (`others`), a wish (`supposed`), words that
are not one's own (`quoted`). A **slot** is a matter of which people have one at a time: home, work,
partner. The words are the section `change` of the language files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from ...languages import language
from ...text.lazy_regex import later
from ...text.negation import particulars
from ...text.normal_forms import fold
from ...text.time_expressions import spans
from ...text.tokens import query_terms
from ..patterns import languages_of

MARKS = (
    "ended",
    "switched",
    "now",
    "once",
    "shifted",
    "also",
    "still",
    "started",
    "planned",
    "done",
    "supposed",
    "told",
    "quoted",
    "reminded",
    "others",
    "refers",
)
# Of these a person has one at a time, or nearly so.
SINGLE_SLOTS = ("home", "work", "partner", "boss", "car", "phone", "pet")
SLOTS = (*SINGLE_SLOTS, "favourite", "count", "habit", "health")

_CLAUSE = later(r"[.!?;,:。！？；，、…\n—–]+|\s-\s|\s(?:and|but|und|aber|y|pero|et|mais|а|но|и)\s")
_UNSPACED = later("[\u3040-\u30ff\u4e00-\u9fff]")
_IDEOGRAPHS = later("[\u30a0-\u30ff\u4e00-\u9fff]{2,}")
_LATIN = later(r"[A-Za-z]{2,}|\d+")
_ARTICLE = later(r"^(?:an?|ein\w*|un\w?|une)\s+", re.IGNORECASE)
_AS_OF = later(r"\bas of\s", re.IGNORECASE)
_YEAR = later(r"(?:19|20)\d\d")
# How extracted facts name the person; no term, because every fact has it.
THE_USER = later(r"\bthe user(?:'s)?\b", re.IGNORECASE)
# Shorter words share a beginning by accident.
_SHORTEST_PART = 4
_SHORTEST_TERM = 3
_SOME_MOMENT = 1_700_000_000_000_000


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a statement, with its marks and terms."""

    marks: frozenset[str]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Words:
    """What one statement says about change."""

    text: str
    marks: frozenset[str]
    slots: frozenset[str]
    person: str
    """The first word for another person, lower-cased; empty where there is none."""
    opens_with_person: bool
    terms: frozenset[str]
    figures: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    negated: bool
    happened: bool
    """Whether its first verb tells of the past."""
    is_dated: bool
    """Whether it names a year."""
    clauses: tuple[Clause, ...]

    @property
    def is_event(self) -> bool:
        """Whether it tells what happened once, which nothing later makes untrue."""
        return self.happened and "planned" not in self.marks

    @property
    def tells_change(self) -> bool:
        """Whether it says that something ended, began anew or is so by now."""
        return bool(self.marks & {"ended", "switched", "now"})

    @property
    def single_slots(self) -> frozenset[str]:
        """Its slots of which a person has one at a time."""
        return self.slots.intersection(SINGLE_SLOTS)


@lru_cache(maxsize=20_000)
def words_of(text: str) -> Words:
    """Read a statement; cached, because each is compared with many."""
    text = text.replace("’", "'")
    codes = tuple(each.code for each in languages_of(text))
    bare, is_dated = _undated(THE_USER.sub(" ", text))
    found = particulars(bare)
    person = _first(codes, "others", text)
    return Words(
        text=text,
        marks=_found(codes, MARKS, bare),
        slots=_found(codes, SLOTS, bare),
        person=person[0].lower() if person else "",
        opens_with_person=person is not None and len(text[: person.start()].split()) <= 2,
        terms=terms_of(bare),
        figures=found.figures,
        names=found.names | found.marks,
        words=found.words,
        negated="negation" in found.weighty,
        happened=_happened(codes, text),
        is_dated=is_dated,
        clauses=tuple(
            Clause(_found(codes, MARKS, part), terms_of(part)) for part in clause_texts(bare)
        ),
    )


def clause_texts(text: str) -> list[str]:
    """The parts of a statement between marks and between "and" and "but"."""
    return [part for part in _CLAUSE.split(text) if part.strip()]


def shared(ours: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """Our terms that are also theirs; a part of a compound counts: "Skat" and "Skatrunde"."""
    parts = [term for term in theirs if len(term) >= _SHORTEST_PART]
    return frozenset(
        term
        for term in ours
        if term in theirs
        or (len(term) >= _SHORTEST_PART and any(term in one or one in term for one in parts))
    )


@dataclass(frozen=True, slots=True)
class Named:
    """The current value of a slot that a statement names outright: my boss is Martin."""

    slot: str
    value: str


@lru_cache(maxsize=20_000)
def named_value(text: str) -> Named | None:
    """The slot and the value that a statement names; None if it does not, or if what it says of
    the slot may not be its value ("my car is broken").
    """
    plain = text.replace("’", "'").strip(" .!。！")
    codes = tuple(each.code for each in languages_of(plain))
    found = _first(codes, "named", plain)
    if found is None:
        return None
    value = found["value"].strip()
    has_case = value.lower() != value.upper()
    # A thing is named with an article or as a name, a person by a name.
    shown = _ARTICLE.sub("", value) if found["thing"] else value
    if has_case and not found["best"] and shown == value and not value[0].isupper():
        return None
    slot = found["best"] or found["person"] or found["thing"]
    return Named(fold(slot), fold(shown))


def _found(codes: tuple[str, ...], names: tuple[str, ...], text: str) -> frozenset[str]:
    return frozenset(name for name in names if _first(codes, name, text))


def _first(codes: tuple[str, ...], name: str, text: str) -> re.Match[str] | None:
    matches = (match for code in codes if (match := _pattern(code, name).search(text)) is not None)
    return next(matches, None)


@cache
def _pattern(code: str, name: str) -> re.Pattern[str]:
    # A language without the words finds none.
    return re.compile(language(code).section("change").get(name) or r"(?!)", re.IGNORECASE)


def _happened(codes: tuple[str, ...], text: str) -> bool:
    past, present = (_first(codes, name, text) for name in ("happened", "lasting"))
    return past is not None and (present is None or past.start() < present.start())


def terms_of(text: str) -> frozenset[str]:
    """Content words; pairs of characters where a script has no spaces."""
    if not _UNSPACED.search(text):
        return frozenset(
            term for term in query_terms(text) if len(term) >= _SHORTEST_TERM or term.isdigit()
        )
    runs = _IDEOGRAPHS.findall(text)
    pairs = {run[start : start + 2] for run in runs for start in range(len(run) - 1)}
    return frozenset(pairs.union(word.lower() for word in _LATIN.findall(text)))


def _undated(text: str) -> tuple[str, bool]:
    """A text without the dates that have a year, and whether there were any: they say when it was
    told, not what.
    """
    bare = text
    for span in spans(text, _SOME_MOMENT):
        if _YEAR.search(span.text):
            bare = bare.replace(span.text, " ")
    return (_AS_OF.sub(" ", bare), True) if bare != text else (text, False)
