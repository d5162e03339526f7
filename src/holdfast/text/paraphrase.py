"""Wording of a text: its terms, their order, the small words before them, and tense.

Wordings can be compared without understanding them. Their similarity is the Jaccard index of their
terms; terms of only one text may matter or not; and the same terms may still say something else,
with exchanged roles ("Ann manages Bob"), other prepositions ("for Lena", "from Lena") or another
tense ("worked at").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..languages import in_every_language, languages, patterns_of_all, words_of_all
from .negation import (
    UNSPACED,
    fold_word,
    is_figure,
    is_weighty,
    labelled,
    language_of,
    legible,
    particulars,
    small_words,
)
from .tokens import index_terms


@dataclass(frozen=True, slots=True)
class Wording:
    """The compared properties of a text's wording."""

    terms: frozenset[str]
    """Stems, characters of scripts without spaces, and figures; no stop words, no negations."""
    light: frozenset[str]
    """Terms without weight."""
    places: Mapping[str, int]
    """Position of each word, in order. Small words are prefixed with `~`, and left out if they
    occur twice.
    """
    enumerations: frozenset[frozenset[str]]
    """Groups of words joined by commas or "and"."""
    leads: Mapping[str, str]
    """The small word before each term."""
    doers: frozenset[tuple[str, str]]
    """Passive verbs with their agents."""
    past: frozenset[str]
    present: frozenset[str]


def wording(text: str) -> Wording:
    """Return the wording of a text. Any text is valid."""
    plain = legible(text)
    notes = _Notes(small_words(plain), language_of(plain))
    for match in _PIECE.finditer(plain):
        notes.take(match)
    notes.end_enumeration()
    return Wording(
        terms=particulars(text).figures.union(notes.terms),
        light=frozenset(notes.light),
        places=notes.places(),
        enumerations=frozenset(notes.enumerations),
        leads=notes.leads,
        doers=frozenset(notes.doers),
        past=frozenset(notes.past),
        present=frozenset(notes.present),
    )


# Similarity of two wordings


def in_common(one: Wording, other: Wording) -> tuple[float, bool]:
    """Return the Jaccard index of the terms, and whether terms of only one text are all light.

    Terms that differ only in an ending count as equal, as long as half of the terms match exactly.
    """
    mine = one.terms - other.terms
    yours = set(other.terms - one.terms)
    equal = len(one.terms) - len(mine)
    alone = set()
    for term in sorted(mine):
        twin = next((candidate for candidate in sorted(yours) if _one_word(term, candidate)), None)
        if twin is None:
            alone.add(term)
        else:
            yours.remove(twin)
            equal += 1
    everything = len(one.terms) + len(other.terms) - equal
    return equal / max(everything, 1), alone <= one.light and yours <= other.light


def most_in_common(one: Wording, other: Wording) -> float:
    """Return a cheap upper bound of `in_common`: any term without exact match might differ only in
    an ending.
    """
    fewer, more = sorted((len(one.terms), len(other.terms)))
    if 2 * len(one.terms & other.terms) >= fewer:
        return fewer / max(more, 1)
    return 0.0


@lru_cache(maxsize=1 << 14)
def _one_word(one: str, other: str) -> bool:
    length = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    rests = {one[length:], other[length:]}
    return (length >= 4 and rests <= _ENDINGS) or (length >= 5 and rests == {"", "er"})


_ENDINGS = frozenset(["", "e", "n", "en", "es", "em", "s", "y", "i"])


# Different statements with the same terms


def told_otherwise(one: Wording, other: Wording) -> bool:
    """Whether two wordings of the same terms say different things. Symmetric."""
    return (
        bool(one.past & other.present or other.past & one.present)
        or _otherwise_related(one, other)
        or _led_elsewhere(one, other)
        or _roles_exchanged(one, other)
        or _done_to(one, other)
        or _done_to(other, one)
    )


def _otherwise_related(one: Wording, other: Wording) -> bool:
    """Whether a shared word has prepositions of different meaning ("for Lena", "from Lena")."""
    return any(
        _PREPOSITIONS[marker] != _PREPOSITIONS[other.leads[word]]
        for word, marker in one.leads.items()
        if marker in _PREPOSITIONS and other.leads.get(word) in _PREPOSITIONS
    )


def _led_elsewhere(one: Wording, other: Wording) -> bool:
    """Whether a small word precedes different shared words ("not tea", "not coffee")."""
    here = one.leads.items() - other.leads.items()
    there = other.leads.items() - one.leads.items()
    return any(
        marker == their_marker and word in other.terms and their_word in one.terms
        for word, marker in here
        for their_word, their_marker in there
    )


def _roles_exchanged(one: Wording, other: Wording) -> bool:
    """Whether two words have exchanged places around a third ("Ann manages Bob").

    A word that kept its preposition has kept its role, and so has the agent of a passive.
    Enumerated words have no order.
    """
    places = dict(other.places)
    for words in one.enumerations & other.enumerations:
        known = [word for word in words if word in places]
        places.update(dict.fromkeys(known, min((places[word] for word in known), default=0)))
    order = [word for word in one.places if word in places]
    free = [_has_role(word) and not _keeps_role(word, one, other) for word in order]
    behind_all = max(places.values(), default=0) + 1
    # For each position, the smallest position in the other text among the words that follow here.
    first_after = [behind_all] * (len(order) + 1)
    for at in range(len(order) - 1, -1, -1):
        first_after[at] = (
            min(first_after[at + 1], places[order[at]]) if free[at] else first_after[at + 1]
        )
    last_before = -1
    for at, word in enumerate(order):
        if last_before > places[word] > first_after[at + 1]:
            return True
        last_before = max(last_before, places[word]) if free[at] else last_before
    return False


def _has_role(word: str) -> bool:
    return word[0] != "~"


def _keeps_role(
    word: str,
    one: Wording,
    other: Wording,
) -> bool:
    before = one.leads.get(word, "")
    after = other.leads.get(word, "")
    if (before in _AGENT) != (after in _AGENT):
        return True
    return before == after != "" and all(
        list(told.leads.values()).count(before) == 1 for told in (one, other)
    )


def _done_to(passive: Wording, active: Wording) -> bool:
    """Whether the agent of one text is the object of the other ("hired by Ann", "hired Ann")."""
    return any(
        deed in active.places
        and who in active.places
        and active.leads.get(who, "") not in _AGENT
        and active.places[who] > active.places[deed]
        for deed, who in passive.doers
    )


# Parsing

_HIRAGANA = "\u3041-\u309f"
_PIECE = re.compile(rf"(?<=')s\b|[^\W\d_{UNSPACED}]+|\d+|[{_HIRAGANA}]+|[{UNSPACED}]|[,;&/、，]")
_IS_HIRAGANA = re.compile(f"[{_HIRAGANA}]")
_KANJI_BEFORE = re.compile("[\u3400-\u9fff]\\Z")


class _Notes:
    """State of reading a text from beginning to end."""

    def __init__(self, stops: frozenset[str], language: str) -> None:
        self.terms: set[str] = set()
        self.light: set[str] = set()
        self.leads: dict[str, str] = {}
        self.doers: set[tuple[str, str]] = set()
        self.past: set[str] = set()
        self.present: set[str] = set()
        self.enumerations: set[frozenset[str]] = set()
        self._stops = stops
        self._past_form = _PAST_BY_LANGUAGE.get(language, _PAST)
        self._order: list[str] = []
        self._times: Counter[str] = Counter()
        # The small word directly before.
        self._lead = ""
        # The last term.
        self._term = ""
        # Whether an auxiliary precedes, which makes the next word a participle.
        self._helped = False
        # Whether a comma or "and" precedes.
        self._joined = True
        self._enumerated_from = 0

    def take(self, match: re.Match[str]) -> None:
        """Process the next piece of the text."""
        piece = match[0]
        word = fold_word(match[0])
        if not word[0].isalnum() or word in _JOINING:
            self._joined = True
        elif _IS_HIRAGANA.match(piece):
            self._note_hiragana(
                piece, _KANJI_BEFORE.search(match.string, max(0, match.start() - 1), match.start())
            )
        elif word == "s" and match.string[match.start() - 1 : match.start()] == "'":
            self.leads[self._term] = "'s"
        elif is_figure(word):
            self._note_figure(word)
        elif self._is_small(piece, word):
            self._note_small(word)
        else:
            self._note_term(piece, word)

    def end_enumeration(self) -> None:
        """Close the current enumeration; store it if it has several words."""
        if len(self._order) - self._enumerated_from > 1:
            self.enumerations.add(frozenset(self._order[self._enumerated_from :]))
        self._enumerated_from = len(self._order)

    def places(self) -> dict[str, int]:
        """Return the words in order with their positions."""
        return {
            word: at
            for at, word in enumerate(self._order)
            if _has_role(word) or self._times[word] == 1
        }

    def _is_small(self, piece: str, word: str) -> bool:
        stop = word in self._stops and piece.casefold() not in _NO_STOP_WORDS
        return stop or is_weighty(word) or (len(word) == 1 and word.isascii())

    def _note_small(self, word: str) -> None:
        self._helped = word in _AUXILIARIES or (self._helped and word in _AFTER_AUXILIARIES)
        if word not in _UNPLACED:
            self._place(f"~{word}")
            self._lead = word

    def _note_figure(self, word: str) -> None:
        if self._lead:
            self.leads[word] = self._lead
        self._place(word)
        self._lead = ""

    def _note_term(self, piece: str, word: str) -> None:
        term = _term(word)
        self.terms.add(term)
        if word in _LIGHT:
            self.light.add(term)
            self._place(f"~{term}")
            return
        if self._lead in _AGENT and self._term:
            self.doers.add((self._term, term))
        if self._lead:
            self.leads[term] = self._lead
        self._note_tense(piece.casefold(), word, term)
        self._place(term)
        self._lead = ""
        self._term = term
        self._helped = False

    def _note_tense(
        self,
        piece: str,
        word: str,
        term: str,
    ) -> None:
        past = word in _IRREGULAR or bool(self._past_form.search(piece))
        if past and not self._helped:
            self.past.add(term)
        elif not past and _PRESENT.search(word):
            self.present.add(term)

    def _note_hiragana(self, run: str, after_kanji: object) -> None:
        if not (_AFTER_KANJI if after_kanji else _GRAMMAR).fullmatch(run):
            self.terms.update(piece for piece in _GRAMMAR_PIECE.split(run) if len(piece) > 1)
        for character in run:
            self._place(character)

    def _place(self, word: str) -> None:
        if not self._joined:
            self.end_enumeration()
        self._joined = False
        self._times[word] += 1
        again = self._times[word] > 1 and _has_role(word)
        self._order.append(f"{word} {self._times[word]}" if again else word)


# Normalisation of words

# British to American spelling, which the stemmer does not handle.
_SPELLINGS = (
    (re.compile(r"(?<=\w{3})our(?=(?:s|ed|ing|ite|ites|ful|able)?$)"), "or"),
    (re.compile(r"(?<=\w{3})is(?=(?:e|es|ed|ing|ation|ations)$)"), "iz"),
    (re.compile(r"(?<=\w{3})tre(?=s?$)"), "ter"),
    (re.compile(r"(?<=\w{2})ence(?=s?$)"), "ense"),
)


@lru_cache(maxsize=1 << 15)
def _term(word: str) -> str:
    stem = _stem(_IRREGULAR.get(word, word))
    return _same_words().get(stem, stem)


@lru_cache(maxsize=1)
def _same_words() -> dict[str, str]:
    return {_stem(word): _stem(first) for word, first in _by_first("same_words")}


def _stem(word: str) -> str:
    for pattern, spelling in _SPELLINGS:
        word = pattern.sub(spelling, word)
    stem = next(iter(index_terms(word)), word)
    # So that travelling and traveling get the same stem.
    if len(stem) > 5 and stem.endswith("ll"):
        return stem[:-1]
    return stem


def _words(key: str) -> frozenset[str]:
    return frozenset(map(fold_word, words_of_all("paraphrase", key)))


def _by_first(key: str) -> Iterator[tuple[str, str]]:
    """Yield each word of lists such as `begin|began|begun` with the first one of its group."""
    for _, table in in_every_language("paraphrase"):
        for group in table.get(key, "").split():
            first, *others = map(fold_word, group.split("|"))
            yield first, first
            yield from ((other, first) for other in others)


# Words that a text may omit without changing the statement.
_LIGHT = _words("light")
_JOINING = _words("joining")
# Words that introduce the agent of a passive.
_AGENT = _words("agent")
_AUXILIARIES = _words("auxiliaries")
_AFTER_AUXILIARIES = _words("after_auxiliaries")
# Articles and auxiliaries are optional, so they have no position.
_UNPLACED = _words("unplaced") | _AUXILIARIES
# Words that look like stop words only without their accents, or that are stop words only in
# questions.
_NO_STOP_WORDS = words_of_all("paraphrase", "no_stop_words")
# Prepositions of different groups before the same word mean different relations.
_PREPOSITIONS = dict(labelled("paraphrase", "prepositions"))
_IRREGULAR = {form: verb for form, verb in _by_first("irregular_verbs") if form != verb}

_PAST = re.compile(patterns_of_all("paraphrase", "past"))
# Languages with past forms that would mean something else in other languages.
_PAST_BY_LANGUAGE = {
    each.code: re.compile(form)
    for each in languages()
    if (form := each.section("paraphrase").get("own_past"))
}
_PRESENT = re.compile(patterns_of_all("paraphrase", "present"))


def _any_of(*keys: str) -> str:
    words = [word for key in keys for word in words_of_all("paraphrase", key)]
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


# Japanese grammar written in hiragana; the last group ends words that start with a kanji.
_GRAMMAR = re.compile(f"(?:{_any_of('particles', 'inflections')})*")
_AFTER_KANJI = re.compile(
    f"[{_HIRAGANA}]{{0,2}}(?:{_any_of('particles', 'inflections', 'kanji_endings')})*"
)
_GRAMMAR_PIECE = re.compile("でした|です|ました|ません|ます|ください|[はがをにでとへもの]")
