"""People named in passing: "a card for my nephew Leo" says who Leo is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..languages import patterns_of_all, words_of_all
from .patterns import Language
from .third_person import TITLES_OF_KIN

# A name, and how a list of them goes on: "Francis, Michael, and Rachel".
_NAME = r"[A-ZÀ-ÞА-ЯЁ][\w'’-]+(?: [A-ZÀ-ÞА-ЯЁ][\w'’-]+)*"
_AND = "|".join(sorted(words_of_all("kin", "joint")))
_NEXT = re.compile(rf"(?:,? (?:{_AND}) |, ){_NAME}(?!['’]s\b)")
# What stands between two names of one list.
_JOINT = re.compile(rf"^(?:,? (?:{_AND}) |, )")

# Words for more than one person. Most of them end in s; "boss" and "fils" are one person each.
_SEVERAL = re.compile(
    rf"(?!.*(?:ss|fils)$)(?:.*s|{patterns_of_all('kin', 'several')})", re.IGNORECASE
)
# Words with a capital that stand after "my brother" and are no name: days, months, feasts,
# languages.
_NO_NAMES = words_of_all("kin", "no_names")
_NO_NAME = re.compile(r"I['’]|(?:[A-Z]{2,4}|[A-Z]\w*\d\w*)$")  # "I'll", "CEO", "PS5"
# After these the next name may be what somebody gets: "I bought my son Lego sets". An article after
# it says that it is not: "I gave my sister Ines a book".
_GIVES = re.compile(rf"\b(?:{patterns_of_all('kin', 'gives')})\s+$", re.IGNORECASE)
_THING_NEXT = re.compile(rf"\s+(?:{patterns_of_all('kin', 'thing_next')})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedKin:
    """A person's relation to the author, stated at [start, end) of a sentence."""

    start: int
    end: int
    kin: str
    names: tuple[str, ...]


def named_kin(language: Language, sentence: str) -> Iterator[NamedKin]:
    """People a sentence names in passing; none if it is ambiguous."""
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
    """Consecutive names from the first one on, and the position where they end."""
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


def _is_title(
    language: Language,
    sentence: str,
    found: re.Match[str],
) -> bool:
    """Whether the whole phrase is one name: "My Neighbor Totoro"."""
    inside = sentence[: found.start()].strip() and found[0][0].isupper()
    written_as_a_name = (
        language.retold and found["kin"][0].isupper() and found["kin"].lower() not in TITLES_OF_KIN
    )
    return bool(inside) or written_as_a_name


def listed(names: tuple[str, ...]) -> str:
    """Join names into a list with commas and "and".

    >>> listed(("Francis", "Michael", "Rachel"))
    'Francis, Michael and Rachel'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
