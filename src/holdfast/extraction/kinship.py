"""People named in passing: "a card for my nephew Leo" says who Leo is, whatever else it asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .patterns import Language
from .third_person import TITLES_OF_KIN
from .verb_forms import words

# A name, and how a list of them goes on: "Francis, Michael, and Rachel".
_NAME = r"[A-ZÀ-ÞА-ЯЁ][\w'’-]+(?: [A-ZÀ-ÞА-ЯЁ][\w'’-]+)*"
_NEXT = re.compile(rf"(?:,? (?:and|und|y|e|et|и) |, ){_NAME}(?!['’]s\b)")
_JOINT = re.compile(r"^(?:,? (?:and|und|y|e|et|и) |, )")

# Words for more than one person. Most of them end in s; "boss" and "fils" are one person each.
_SEVERAL = re.compile(
    r"(?!.*(?:ss|fils)$)(?:.*s|children|kinder\w?|eltern|söhne\w?|töchter\w?|geschwister\w?|brüder\w?|schwestern"
    r"|freunde\w?|freundinnen|kollegen|дет\w+|родител\w+|брать\w+|с[её]стры|друз\w+|сыновь\w+|дочери)",
    re.IGNORECASE,
)
# Words with a capital that stand after "my brother" and are no name: days, months, feasts,
# languages.
_NO_NAMES = words(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter thanksgiving halloween hanukkah diwali english german french
    spanish italian russian chinese japanese korean portuguese dutch arabic latin greek hebrew hindi turkish polish ok
    okay thanks please facebook google whatsapp instagram netflix
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar februar märz mai juni juli oktober
    dezember weihnachten ostern deutsch englisch französisch spanisch geld blumen bescheid
    lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre
    octubre noviembre diciembre navidad pascua
    lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre octobre
    novembre décembre noël pâques
    понедельник вторник среда среду четверг пятница пятницу суббота субботу воскресенье
    """
)
_NO_NAME = re.compile(r"I['’]|(?:[A-Z]{2,4}|[A-Z]\w*\d\w*)$")  # "I'll", "CEO", "PS5"
# After these the next name may be what somebody gets: "I bought my son Lego sets". An article after
# it says that it is not: "I gave my sister Ines a book".
_GIVES = re.compile(
    r"\b(?:buy|bought|give|gave|get|got|getting|giving|buying|make|made|cook|cooked|teach|taught|teaching|lend|lent|owe"
    r"|owed|order|ordered|bring|brought|send|sent|read)\s+$",
    re.IGNORECASE,
)
_THING_NEXT = re.compile(
    r"\s+(?:an?|the|some|my|our|his|her|their|this|that|to|two|three|\d+)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class NamedKin:
    """Who somebody is to the author, with the words that say so at [start, end) of a sentence."""

    start: int
    end: int
    kin: str
    names: tuple[str, ...]


def named_kin(language: Language, sentence: str) -> Iterator[NamedKin]:
    """Those whom a sentence names in passing; nobody where it could be read in two ways."""
    for found in language.named_kin.finditer(sentence):
        names, end = _names(sentence, found)
        several = bool(_SEVERAL.fullmatch(found["kin"]))
        listed = len(names) > 1
        if not names or (several != listed and (several or _is_aside(sentence, found))):
            # "my sister, Rachel, and Tom": two people, or three.
            continue
        if _is_given(sentence, found) or _is_title(language, sentence, found):
            continue
        if not several:
            names, end = names[:1], found.start("name") + len(names[0])
        yield NamedKin(found.start(), end, found["kin"], names)


def _names(sentence: str, found: re.Match[str]) -> tuple[tuple[str, ...], int]:
    """The names from the first on, as far as they are names, and where they end."""
    first = _bare(found["name"])
    if _is_no_name(first):
        return (), 0
    names = [first]
    end = found.start("name") + len(first)
    while following := _NEXT.match(sentence, end):
        name = _JOINT.sub("", following[0])
        if _is_no_name(name):
            break
        names.append(name)
        end = following.end()
    return tuple(names), end


def _bare(name: str) -> str:
    return name.removesuffix("'s").removesuffix("’s")


def _is_no_name(name: str) -> bool:
    return name.split(maxsplit=1)[0].lower() in _NO_NAMES or bool(_NO_NAME.match(name))


def _is_aside(sentence: str, found: re.Match[str]) -> bool:
    return "," in sentence[found.end("kin") : found.start("name")]


def _is_given(sentence: str, found: re.Match[str]) -> bool:
    aside = _is_aside(sentence, found)
    return (
        not aside
        and bool(_GIVES.search(sentence[: found.start()]))
        and not _THING_NEXT.match(sentence, found.end())
    )


def _is_title(language: Language, sentence: str, found: re.Match[str]) -> bool:
    """Whether all of it is one name: "My Neighbor Totoro"."""
    inside = sentence[: found.start()].strip() and found[0][0].isupper()
    written_as_a_name = (
        language.retold and found["kin"][0].isupper() and found["kin"].lower() not in TITLES_OF_KIN
    )
    return bool(inside) or written_as_a_name


def listed(names: tuple[str, ...]) -> str:
    """Names as a sentence lists them.

    >>> listed(("Francis", "Michael", "Rachel"))
    'Francis, Michael and Rachel'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
