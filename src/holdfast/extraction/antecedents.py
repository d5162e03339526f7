"""Resolves "she", "he" and "there" in English to a person or place that the turn before names.

"She works as a nurse there" after "My sister Ines moved to Porto" says that Ines works as a nurse
in Porto. A pronoun is resolved only if exactly one person or place fits: a guess would be stored as
a fact. Otherwise the clause stays as it is, and a statement that needs the name is not kept. The
pronouns and contractions are English grammar, so they are here and not in a language file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..languages import words_of_all
from ..text.stopwords import STOP_WORDS
from ..types import Memory
from .kinship import named_kin
from .patterns import Language
from .policy import PEOPLE
from .speech import own_words, sentences
from .vocabulary import straight

_FEMALE = frozenset(
    (
        *("SISTER", "MOTHER", "GRANDMOTHER", "DAUGHTER", "WIFE", "EX_WIFE", "GIRLFRIEND", "AUNT"),
        *("NIECE", "GRANDDAUGHTER", "MOTHER_IN_LAW", "SISTER_IN_LAW"),
    )
)
_MALE = frozenset(
    (
        *("BROTHER", "FATHER", "GRANDFATHER", "SON", "HUSBAND", "EX_HUSBAND", "BOYFRIEND", "UNCLE"),
        *("NEPHEW", "GRANDSON", "FATHER_IN_LAW", "BROTHER_IN_LAW"),
    )
)
# Days, months, holidays and languages are capitalised, but are nobody's name.
_NO_NAMES = words_of_all("kin", "no_names")
_NAME = r"[A-ZÀ-Þ][a-zà-ÿ'’-]+(?: [A-ZÀ-Þ][a-zà-ÿ'’-]+)*"
_NAMED = re.compile(rf"(?<![.!?…]\s)(?<=[\s,])(?P<name>{_NAME})")
_FIRST = re.compile(r"[A-ZÀ-Þ][a-zà-ÿ]+")
_PLACED = re.compile(rf"\b(?:in|to|from|near|at|around|visit(?:ed|ing)?) (?P<name>{_NAME})")
_SHE = re.compile(r"\b(?:she's|she'll|she|hers|her)\b", re.IGNORECASE)
_HE = re.compile(r"\b(?:he's|he'll|he|him|his)\b", re.IGNORECASE)
_WOULD = re.compile(r"\b(?:she|he)'d\b", re.IGNORECASE)
_THERE = re.compile(r"\b(?:over |down |back )?there\b", re.IGNORECASE)
# "The prices are kind of up there", "lots of fish out there", "hang in there" mean no place.
_NOWHERE = re.compile(r"\b(?:in|out|up) there\b", re.IGNORECASE)
# After "she's", a word that makes it short for "she has" and not "she is".
_HAS = re.compile(r"(?:been|got|had|gone|done|\w+ed)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Somebody:
    name: str
    female: bool | None = None
    """None if nothing says so."""
    named: bool = True
    """False for a mention without a name, such as "my brother": it counts as a person who fits, but
    cannot replace a pronoun.
    """


def said_before(turns: Sequence[Memory], place: int) -> str:
    """Return the words that a turn may refer to: those of the last person before it, and of an
    assistant that answered in between.
    """
    texts: list[str] = []
    for turn in reversed(turns[:place]):
        texts.append(own_words(turn.content, role=turn.role))
        if turn.role in PEOPLE:
            break
    return "\n".join(reversed(texts))


def resolved(
    language: Language,
    plain: str,
    before: str,
    author: str = "",
) -> str | None:
    """Return the clause with names in place of pronouns; None if it has none, or if more than one
    person or place fits. The `author`, who says it, is neither "she" nor "he": the turn before may
    call them by their name.
    """
    if not before or not language.alone or _WOULD.search(plain) or _NOWHERE.search(plain):
        return None
    she, he, there = (each.search(plain) for each in (_SHE, _HE, _THERE))
    points = [each for each in (she, he) if each]
    if len(points) > 1 or not (points or there):
        return None
    text = plain
    if points:
        own = plain[:1].lower() + plain[1 : points[0].start()]
        if language.cue("somebody").search(own):
            return None
        person = _only(
            _people(language, before),
            lambda one: one.female in (None, bool(she)) and not _is_author(one, author),
        )
        if person is None:
            return None
        text = _with_name(text, person.name, _SHE if she else _HE)
    if there and not _is_existence(language, plain, there):
        spot = _only(_places(before), lambda _: True)
        if spot is None or _PLACED.search(plain):
            return None
        text = _THERE.sub(f"in {spot.name}", text)
    return text[:1].upper() + text[1:] if text != plain else None


def _is_existence(
    language: Language,
    plain: str,
    there: re.Match[str],
) -> bool:
    """Whether it is "there is …", which means no place."""
    return not language.cue("there").search(plain, there.start())


def _only(
    found: Sequence[_Somebody],
    fits: Callable[[_Somebody], bool],
) -> _Somebody | None:
    fitting = {one.name: one for one in found if fits(one)}
    only = next(iter(fitting.values())) if len(fitting) == 1 else None
    return only if only is not None and only.named else None


def _people(
    language: Language,
    text: str,
) -> list[_Somebody]:
    """Return everybody whom a later pronoun may mean."""
    return [one for sentence in sentences(text) for one in _people_in(language, sentence.text)]


def _people_in(
    language: Language,
    sentence: str,
) -> Iterator[_Somebody]:
    plain = straight(sentence)
    known: set[str] = set()
    for kin in named_kin(language, plain):
        known |= set(kin.names)
        female = _is_female(language.kin.get(kin.kin.lower(), ""))
        yield from (_Somebody(name, female) for name in kin.names)
    known |= {found["name"] for found in _PLACED.finditer(plain)}
    for found in _NAMED.finditer(plain):
        name = found["name"].removesuffix("'s")
        if name not in known and not _is_no_name(name):
            known.add(name)
            yield _Somebody(name)
    opening = _FIRST.match(plain)
    if opening and opening[0].lower() not in STOP_WORDS["en"] and opening[0] not in known:
        # "Rachel came with my sister": a name, or only the first word.
        yield _Somebody(opening[0], named=False)
    small = plain[:1].lower() + plain[1:]
    for called in language.cue("somebody").finditer(small):
        after = small[called.end() :].lstrip(" ,")
        names = [word for name in known for word in name.split()]
        if called[0][0].islower() and not any(after.startswith(name) for name in names):
            label = language.kin.get(called[0].rpartition(" ")[2], "")
            yield _Somebody(called[0], _is_female(label), named=False)


def _is_author(
    one: _Somebody,
    author: str,
) -> bool:
    return one.named and one.name.split()[0] in author.split()


def _is_female(label: str) -> bool | None:
    return True if label in _FEMALE else False if label in _MALE else None


def _places(text: str) -> list[_Somebody]:
    return [
        _Somebody(found["name"])
        for sentence in sentences(text)
        for found in _PLACED.finditer(straight(sentence.text))
        if not _is_no_name(found["name"])
    ]


def _is_no_name(name: str) -> bool:
    return name.split(maxsplit=1)[0].lower() in _NO_NAMES or name in ("I", "I'm", "I've")


def _with_name(
    text: str,
    name: str,
    pronoun: re.Pattern[str],
) -> str:
    """The clause with the name for the first pronoun; a later "she" means the same."""
    found = pronoun.search(text)
    if found is None:
        return text
    word, rest = found[0].lower(), text[found.end() :]
    owner = name if name.endswith("'s") else f"{name}'s"
    if word.endswith("'s"):
        short = "has" if _HAS.match(rest.lstrip()) else "is"
        return f"{text[: found.start()]}{name} {short}{rest}"
    if word.endswith("'ll"):
        return f"{text[: found.start()]}{name} will{rest}"
    owns = word in ("his", "hers") or (word == "her" and _is_owner(rest))
    return f"{text[: found.start()]}{owner if owns else name}{rest}"


def _is_owner(rest: str) -> bool:
    """Whether "her" is followed by what is hers: "her job", not "saw her yesterday"."""
    following = _NEXT.match(rest)
    return following is not None and following[1].lower() not in _NO_THING


_NEXT = re.compile(r"\s+([\w-]+)")
_NO_THING = frozenset(
    (
        *("yesterday", "today", "tonight", "tomorrow", "last", "next", "this", "every", "again"),
        *("in", "at", "to", "on", "for", "with", "from", "about", "a", "an", "the", "my", "our"),
        *("and", "or", "but", "so", "because", "when", "while", "as", "there", "here", "how"),
        *("twice", "once", "often", "soon", "later", "now", "some", "two", "three", "that", "is"),
    )
)
