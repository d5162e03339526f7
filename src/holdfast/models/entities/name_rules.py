"""Rules that tell names by the words in and around them.

A name is a run of capitalised words. Words in it or next to it determine its type: a title (Dr.
Duarte), a relation (my sister Ines), a legal form (Acme GmbH), a phrase (lives in Sintra), a noun
(the Apollo project); or it is on one of the bundled lists of common names. The rules are tried in
that order, most reliable first. A capital alone is never enough, because every sentence starts with
one, and in German every noun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property

from ...languages import in_every_language
from ...text.stopwords import STOP_WORDS
from .base import EntityMatch, EntityType
from .gazetteer import last_words, lengths, listed, longest
from .inflection import Word, canonical, nominative, words_of

# Confidence of the rules, from a title down to an unknown name in the place of a person.
TOLD = 0.85
PHRASED = 0.8
LISTED = 0.7
LIKELY = 0.6

# Words.
_LONGEST_NAME = 4

_Hit = tuple[EntityMatch, int] | None
"""Result of a rule: the match, and the index of the first word after it."""


class Reading:
    """One text with its words, for the rules."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = words_of(text)
        keys = [word.key for word in self._words]
        # In a language that capitalises nouns, a capital says nothing.
        capitals = sum(map(listed("capital nouns").sure.__contains__, keys))
        self._nouns = capitals > sum(map(listed("small nouns").sure.__contains__, keys))
        # Ella, Mia and Una count as names only where they are not words of the language.
        self._english = not self._nouns and not listed("unlike names").sure.isdisjoint(keys)
        self._shouting = len(self._words) > 3 and 2 * sum(
            word.shouted for word in self._words
        ) > len(self._words)
        self._somebody = [word.capital and self._may_name(word) for word in self._words]

    @cached_property
    def grammar(self) -> frozenset[str]:
        """Function words of the language, if only names have capitals in it; otherwise none."""
        if self._nouns or self._shouting:
            return frozenset()
        return _grammar(frozenset(word.key for word in self._words))

    def names(self) -> Iterator[EntityMatch]:
        at = 0
        while at < len(self._words) and not self._shouting:
            hit = self._hit(at) if self._words[at].capital else None
            if hit is None:
                at += 1
            else:
                yield hit[0]
                at = hit[1]

    def _hit(self, at: int) -> _Hit:
        if not self._names_somebody(at) and self._key(at) not in _beginnings():
            return None
        for rule in _RULES:
            if hit := rule(self, at):
                return hit
        return None

    # Extent of a name

    def _run(self, at: int, most: int = _LONGEST_NAME) -> int:
        """Return the index after the capitalised words from `at` on that may be one name."""
        end = at + 1
        while end < len(self._words) and end - at < most and self._words[end].near:
            if self._names_somebody(end):
                end += 1
            elif behind := self._particles(end):
                end = behind + 1
            else:
                break
        return end

    def _name_end(self, at: int) -> int:
        """Return the index after a name of any type; one word only where all nouns are
        capitalised.
        """
        if self._nouns:
            return at + 1
        return self._run(at, 3)

    def _particles(self, at: int) -> int:
        """Return the index after the particles of a name, 0 if there are none: `Ines de Castro`,
        but not `Ines de Lisboa`.
        """
        if self._key(at) not in listed("particles").sure:
            return 0
        behind = at + 2 if self._key(at + 1) in listed("articles").sure else at + 1
        near = behind < len(self._words) and all(
            self._words[index].near for index in range(at, behind + 1)
        )
        if near and self._names_somebody(behind) and not self._known("places", behind):
            return behind
        return 0

    def _names_somebody(self, at: int) -> bool:
        """Whether a word is capitalised and not on a list of words that are never names."""
        return 0 <= at < len(self._words) and self._somebody[at]

    def _may_name(self, word: Word) -> bool:
        if (
            not word.capital
            or word.key in listed("nobody").sure
            or word.key in listed("titles").sure
        ):
            return False
        initial = len(word.text) == 1 and self._text[word.end : word.end + 1] == "."
        # Splits `I've`, but not `O'Brien`.
        stem, _, ending = word.key.partition("'")
        contracted = not ending or ending in listed("contractions").sure
        key = stem if contracted else word.key
        return initial or key not in function_words() or not self._is_grammar(word, key)

    def _is_grammar(self, word: Word, key: str) -> bool:
        """Whether a function word of some language is one here: `Door` is Dutch, and a name."""
        return word.first or key in STOP_WORDS["en"] or key in (self.grammar or function_words())

    def _person_end(self, at: int) -> int:
        """Return the index after a person's name that starts at `at`."""
        end = self._run(at)
        if self._nouns:
            end = min(
                end,
                at + 2 if end > at + 1 and self._key(at + 1) in listed("surnames").sure else at + 1,
            )
        for index in range(at + 1, end):
            known = self._key(index) in listed("company endings").sure or self._known(
                "places", index
            )
            if known or self._words[index].shouted:
                return index
        return end

    def _key(self, at: int) -> str:
        if 0 <= at < len(self._words):
            return self._words[at].key
        return ""

    def _known(self, section: str, at: int) -> int:
        """Return how many words from `at` on form a sure entry of a list; 0 for none."""
        entries = listed(section).sure
        key = self._key(at)
        for count in lengths(section).get(key, ()):
            words = self._words[at : at + count]
            whole = (
                len(words) == count and words[-1].capital and all(word.near for word in words[1:])
            )
            if whole and " ".join(word.key for word in words) in entries:
                return count
        if nominative(key, entries, genitive=self._nouns):
            return 1
        return 0

    def _follows(self, at: int, section: str) -> bool:
        """Whether a phrase of a list directly precedes a word, with or without an article
        between.
        """
        return self._phrase_before(at, section) or (
            self._key(at - 1) in listed("articles").sure
            and self._words[at].near
            and self._phrase_before(at - 1, section)
        )

    def _phrase_before(self, at: int, section: str) -> bool:
        if not at or self._words[at - 1].key not in last_words(section):
            return False
        phrases = listed(section).sure
        keys: list[str] = []
        for index in range(at, max(0, at - longest(section)), -1):
            if not self._words[index].near:
                return False
            keys.insert(0, self._key(index - 1))
            if " ".join(keys) in phrases:
                return True
        return False

    def _found(
        self,
        type_: EntityType,
        begin: int,
        end: int,
        sure: float,
        *,
        since: int | None = None,
    ) -> _Hit:
        """Return the words from `begin` to `end` as a match; `since` is the start including a
        title.
        """
        first = self._words[begin if since is None else since]
        last = self._words[end - 1]
        raw = self._text[first.start : last.end]
        name = self._text[self._words[begin].start : last.end]
        if end == begin + 1:
            name = canonical(name, type_, genitive=self._nouns)
        return EntityMatch(
            name,
            type_,
            first.start,
            last.end,
            sure,
            raw,
        ), end

    # The rules, each called for a capitalised word

    def company(self, at: int) -> _Hit:
        if not self._names_somebody(at) or self._key(at) in _not_companies():
            return None
        end = self._run(at, 6)
        weak = listed("company endings").unsure if not self._nouns else frozenset[str]()
        for index in range(min(end, len(self._words) - 1), at, -1):
            key = (
                self._key(index).rstrip(".")
                if "." not in self._key(index)[:-1]
                else self._key(index)
            )
            formal = key in listed("company endings").sure and self._words[index].near
            if formal or (index < end and key in weak and self._words[index].capital):
                return self._found("organization", at, index + 1, TOLD if formal else PHRASED)
        return None

    def institution(self, at: int) -> _Hit:
        for count in range(longest("company beginnings"), 0, -1):
            phrase = " ".join(word.key for word in self._words[at : at + count])
            name = at + count
            if (
                phrase in listed("company beginnings")
                and self._names_somebody(name)
                and self._words[name].near
            ):
                return self._found("organization", at, self._name_end(name), PHRASED)
        return None

    def project(self, at: int) -> _Hit:
        word = self._words[at]
        kinds = listed("project words")
        head, _, tail = word.text.rpartition("-")
        if head and tail.lower() in kinds:
            return EntityMatch(
                head,
                "project",
                word.start,
                word.end,
                TOLD,
                word.text,
            ), at + 1
        if word.key in kinds and self._names_somebody(at + 1) and self._words[at + 1].near:
            return self._found(
                "project",
                at + 1,
                self._name_end(at + 1),
                TOLD,
                since=at,
            )
        if not self._names_somebody(at):
            return None
        if word.near and self._key(at - 1) in kinds:
            return self._found("project", at, self._name_end(at), TOLD)
        end = self._run(at, 4)
        if end > at + 1 and self._key(end - 1) in kinds:
            return self._found("project", at, end - 1, TOLD)
        followed = end < len(self._words) and self._words[end].near and self._key(end) in kinds
        return self._found("project", at, end, TOLD) if followed and not word.first else None

    def titled(self, at: int) -> _Hit:
        titles = listed("titles")
        name = at
        while (
            self._key(name).rstrip(".") in titles
            and name + 1 < len(self._words)
            and self._words[name + 1].near
        ):
            name += 1
        if name > at and self._names_somebody(name):
            return self._found(
                "person",
                name,
                self._person_end(name),
                TOLD,
                since=at,
            )
        if (
            self._names_somebody(at)
            and self._words[at].near
            and self._key(at - 1).rstrip(".") in titles.sure
        ):
            return self._found(
                "person",
                at,
                self._person_end(at),
                TOLD,
                since=at - 1,
            )
        return None

    def related(self, at: int) -> _Hit:
        """`my sister Ines`, `our dog Rex`, `the company Acme`: the word before determines the
        type.
        """
        kin = self._key(at) in listed("kin") and (self._nouns or self._words[at].first)
        if kin and self._may_be_called(at + 1) and self._words[at + 1].near:
            return self._person(at + 1, TOLD)
        if not self._may_be_called(at) or at == 0:
            return None
        gap = self._text[self._words[at - 1].end : self._words[at].start]
        if self._key(at - 1) in listed("kin") and gap in (" ", ", "):
            return self._person(at, TOLD)
        type_ = _nouns().get(self._key(at - 1)) if gap == " " else None
        if type_:
            return self._found(type_, at, self._name_end(at), PHRASED)
        return None

    def _may_be_called(self, at: int) -> bool:
        """Whether a word can be a name if other words identify it as one, even a month."""
        return self._names_somebody(at) or (
            self._key(at) in listed("people") and self._words[at].capital
        )

    def called(self, at: int) -> _Hit:
        if not self._names_somebody(at):
            return None
        if self._phrase_before(at, "introduced") or (
            self._key(at - 2) in listed("called before").sure and self._words[at].near
        ):
            return self._person(at, PHRASED)
        if not self._phrase_before(at, "named"):
            return None
        before = (self._key(index) for index in range(at - 2, max(-1, at - 5), -1))
        types = [_nouns()[key] for key in before if key in _nouns()]
        if not types:
            return None
        return self._found(types[0], at, self._name_end(at), PHRASED)

    def addressed(self, at: int) -> _Hit:
        """`Way to go, Zorblat!`: a name behind a comma at the end of an exclamation."""
        word, before = self._words[at], self._words[at - 1]
        if not at or self._text[before.end : word.start] != ", " or before.capital > before.first:
            return None
        if self._nouns or word.shouted or not self._names_somebody(at):
            return None
        end = self._run(at, 2)
        shouted = self._text.startswith("!", self._words[end - 1].end)
        if shouted and not self._known("places", at):
            return self._found("person", at, end, LIKELY)
        return None

    def phrased(self, at: int) -> _Hit:
        """`works at Acme`, `lives in Sintra`; not for names on a list, which have their own
        rules.
        """
        employed = self._follows(at, "works at")
        if not employed and not self._follows(at, "lives in"):
            return None
        listed_as = any(
            self._known(section, at) for section in ("people", "places", "organizations")
        )
        if not self._names_somebody(at) or listed_as:
            return None
        if employed:
            return self._found("organization", at, self._name_end(at), PHRASED)
        if not self._words[at].shouted:
            return self._found("location", at, self._name_end(at), PHRASED)
        return None

    def place(self, at: int) -> _Hit:
        key = self._key(at)
        count = self._known("places", at)
        if count:
            person = count == 1 and self._known("people", at) and self._acts(at)
            return (
                self._person(at, LISTED)
                if person
                else self._found("location", at, at + count, LISTED)
            )
        if key in listed("places").unsure and self._follows(at, "lives in"):
            return self._found("location", at, at + 1, LISTED)
        if self._nouns or not self._names_somebody(at):
            return None
        end = self._run(at, 3)
        if key in listed("place beginnings") and end > at + 1 and not self._words[at].first:
            return self._found("location", at, end, LIKELY)
        if (
            end > at + 1
            and self._key(end - 1) in listed("place endings")
            and not self._words[at].first
        ):
            return self._found("location", at, end, LIKELY)
        return None

    def _acts(self, at: int) -> bool:
        """Whether a name that may be a place is used like a person: `Florence said`, `Paris
        Hilton`.
        """
        behind = self._person_end(at)
        in_place = self._key(at - 1) in listed("placing").sure and self._words[at].near
        return not in_place and (behind == at + 2 or self._speaks(at, at + 1))

    def _speaks(self, begin: int, end: int) -> bool:
        after = (
            end < len(self._words) and self._words[end].near and self._key(end) in listed("speaks")
        )
        before = (
            begin > 0
            and self._key(begin - 1) in listed("spoken to")
            and not self._words[begin].first
        )
        return after or before

    def organisation(self, at: int) -> _Hit:
        count = self._known("organizations", at)
        word = self._words[at]
        # MIT is an organisation, the German word Mit is not.
        sure = self._names_somebody(at) or word.shouted
        if count and sure:
            return self._found("organization", at, at + count, LISTED)
        return None

    def product(self, at: int) -> _Hit:
        count = self._known("products", at)
        return self._found("other", at, at + count, LISTED) if count else None

    def first_name(self, at: int) -> _Hit:
        if self._words[at].shouted:
            return None
        known = self._known("people", at)
        key = self._key(at)
        besides = key in listed("nobody").sure or (key in function_words() and not self._english)
        if known and not besides:
            return self._person(at, LISTED)
        if not known and (self._nouns or key not in listed("people").unsure):
            return None
        end = self._person_end(at)
        surname = end == at + 2 and not self._known("people", at + 1)
        alone = end == at + 1 and not self._words[at].first
        if self._speaks(at, end) or (not besides and (surname or alone)):
            return self._person(at, LIKELY)
        return None

    def _person(self, at: int, sure: float) -> _Hit:
        return self._found("person", at, self._person_end(at), sure)

    def acting(self, at: int) -> _Hit:
        """An unknown name in the position of a person: `told Zorblat`, `Zorblat Quux said`."""
        if (
            self._nouns
            or not self._names_somebody(at)
            or self._words[at].shouted
            or self._key(at) in listed("openers")
        ):
            return None
        end = self._run(at, 3)
        if not self._words[at].first and self._speaks(at, end):
            return self._found("person", at, end, LIKELY)
        if end > at + 1 and self._speaks(at, end):
            return self._found("person", at, end, LIKELY)
        return None


_Rule = Callable[[Reading, int], _Hit]
_RULES: tuple[_Rule, ...] = (
    Reading.titled,
    Reading.company,
    Reading.institution,
    Reading.project,
    Reading.related,
    Reading.called,
    Reading.addressed,
    Reading.phrased,
    Reading.place,
    Reading.organisation,
    Reading.product,
    Reading.first_name,
    Reading.acting,
)


def _grammar(keys: frozenset[str]) -> frozenset[str]:
    """Return the function words of the languages that share most of them with a text; none if it is
    too short to tell, or may be a language that gives capitals to all nouns.
    """
    shared = {code: len(keys & words) for code, words in STOP_WORDS.items()}
    most = max(shared.values())
    best = [code for code, count in shared.items() if count == most]
    if not most or best[0] in _with_capital_nouns():
        return frozenset()
    return frozenset().union(*map(STOP_WORDS.__getitem__, best)) - listed("also names").sure


@cache
def _with_capital_nouns() -> frozenset[str]:
    """Return the languages in which every noun has a capital."""
    return frozenset(
        each.code for each, lists in in_every_language("entities") if "capital_nouns" in lists
    )


@cache
def function_words() -> frozenset[str]:
    """Return the function words of every supported language. None of them starts a name or
    identifies a person.
    """
    return frozenset().union(*STOP_WORDS.values()) - listed("also names").sure


@cache
def _not_companies() -> frozenset[str]:
    """Return words that cannot start a company name: sentence openers and company endings."""
    return frozenset((*listed("openers").sure, *listed("company endings").sure, "co"))


@cache
def _beginnings() -> frozenset[str]:
    """Return function words and other non-names with which a rule may still start."""
    sections = (
        "people",
        "places",
        "organizations",
        "products",
        "titles",
        "kin",
        "project words",
        "company beginnings",
    )
    entries = (
        entry for section in sections for entry in (*listed(section).sure, *listed(section).unsure)
    )
    return frozenset(entry.split(" ")[0] for entry in entries)


@cache
def _nouns() -> dict[str, EntityType]:
    kinds: tuple[tuple[str, EntityType], ...] = (
        ("pets", "other"),
        ("person words", "person"),
        ("kin", "person"),
        ("place words", "location"),
        ("company words", "organization"),
        ("project words", "project"),
    )
    return {key: type_ for section, type_ in kinds for key in listed(section).sure}
