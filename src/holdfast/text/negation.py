"""Particulars that must agree for two texts to count as one statement.

Particulars are words that change the sense (negations, opposites), figures (numbers, dates, times)
and names (people, places, files, addresses). Texts with different particulars say different things,
however many words they share. The word lists cover English, German, Spanish, French, Russian,
Chinese and Japanese; figures and names recognisable by form need no list. A doubtful case counts as
a difference: storing a statement twice does less harm than losing one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..languages import in_every_language, languages, words_of_all
from .lazy_regex import later
from .stopwords import LATIN_LANGUAGES, STOP_WORDS
from .tokens import index_terms

UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


@dataclass(frozen=True, slots=True)
class Particulars:
    """Particulars of a text."""

    weighty: frozenset[str]
    """Kinds of words whose mere presence changes the statement: negation, restriction, doubt…"""
    poles: Mapping[str, frozenset[int]]
    """Sides that are named, by opposite."""
    figures: frozenset[str]
    """Numbers, weekdays, months and times of day, normalised."""
    marks: frozenset[str]
    """Names recognised by form: addresses, paths, handles, identifiers, abbreviations."""
    names: frozenset[str]
    """Capitalised words inside a sentence; Latin and katakana words in a text without spaces."""
    openers: frozenset[str]
    """Capitalised words at the start of a sentence, which may be names."""
    words: frozenset[str]
    """Every word and every mark, folded by `fold_word`."""


@lru_cache(maxsize=20_000)
def particulars(text: str) -> Particulars:
    """Return the particulars of a text. Any text is valid; cached."""
    plain = legible(text)
    weighty, poles = _senses(plain)
    undated, moments = _take_moments(plain)
    rest, marks = _take_marks(undated)
    names, openers = _names(rest)
    return Particulars(
        weighty.union(_forms(plain)),
        poles,
        figures=moments | frozenset(_figures(rest)),
        marks=marks,
        names=names,
        openers=openers,
        words=marks | frozenset(fold_word(word) for word in _WORD.findall(rest)),
    )


def differ(one: Particulars, other: Particulars) -> bool:
    """Whether texts with these particulars say different things. Symmetric."""
    return (
        one.weighty != other.weighty
        or one.figures != other.figures
        or _opposed(one.poles, other.poles)
        or not (one.marks <= other.words and other.marks <= one.words)
        or _names_differ(one, other)
    )


def contrasts(words: Collection[str], others: Collection[str]) -> bool:
    """Whether two sets of lower-cased words differ in a number, a negation or an opposite."""
    if any(any(map(str.isdigit, word)) for word in set(words) ^ set(others)):
        return True
    weighty, poles = _senses(legible(" ".join(words)))
    their_weighty, their_poles = _senses(legible(" ".join(others)))
    return weighty != their_weighty or _opposed(poles, their_poles)


# Normalisation of texts and words

_INVISIBLE = dict.fromkeys(
    [0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10)]
)
_PLAIN = str.maketrans(
    {
        "\u2019": "'",
        "\u02bc": "'",
        "`": " ",
        "*": " ",
    }
)
_SHORT_NOT = later(r"\b(ca|wo|sha|ai|[a-z]+?)n't\b", re.IGNORECASE)
_LONG = {
    "ca": "can",
    "wo": "will",
    "sha": "shall",
    "ai": "is",
}
_CANNOT = later(r"\bcannot\b", re.IGNORECASE)
# Joins e-mail and Wi-Fi.
_PREFIXED = later(r"(?<![\w-])([a-z]{1,2})-(?=[a-z]{2,}(?![\w-]))", re.IGNORECASE)


def legible(text: str) -> str:
    """Normalise a text: compatibility forms and invisible characters resolved, `n't` expanded,
    `e-mail` in one word.

    >>> legible("She can’t read ｅ-mails")
    'She can not read emails'
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    plain = plain.translate(_PLAIN)
    plain = _SHORT_NOT.sub(lambda match: f"{_LONG.get(match[1].lower(), match[1])} not", plain)
    return _PREFIXED.sub(r"\1", _CANNOT.sub("can not", plain))


_WORD = later(rf"\d+|[^\W\d_{UNSPACED}]+|[{UNSPACED}]|[$€£¥₽]")
_LETTERS = later(rf"[^\W\d_{UNSPACED}]+")
_NO_SPACES = later(f"[{UNSPACED}]")


@lru_cache(maxsize=1 << 15)
def fold_word(word: str) -> str:
    """Lower-case a word, and remove accents from Latin letters.

    >>> fold_word("Übernächste"), fold_word("Тёмный")
    ('ubernachste', 'темный')
    """
    folded = word.casefold().replace("ё", "е")
    if folded.isascii() or not "a" <= unicodedata.normalize("NFD", folded)[0] <= "z":
        return folded
    return "".join(
        letter
        for letter in unicodedata.normalize("NFD", folded)
        if not unicodedata.combining(letter)
    )


def small_words(text: str) -> frozenset[str]:
    """Return the folded stop words of the most likely Latin-script language of a text, and of all
    other scripts.
    """
    return _small_words(language_of(text))


def language_of(text: str) -> str:
    """Return the code of the Latin-script language whose stop words a text uses most."""
    words = {fold_word(word) for word in _LETTERS.findall(text[:2000])}
    return max(LATIN_LANGUAGES, key=lambda language: len(words & STOP_WORDS[language]))


@lru_cache(maxsize=16)
def _small_words(language: str) -> frozenset[str]:
    told_by_script = (words for code, words in STOP_WORDS.items() if code not in LATIN_LANGUAGES)
    return frozenset(map(fold_word, STOP_WORDS[language].union(*told_by_script)))


# Words that change the sense


def _lexicon(entries: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Map each folded word to its meanings, from pairs of a meaning and its words."""
    meanings: dict[str, set[str]] = {}
    for meaning, words in entries:
        for word in words.split():
            meanings.setdefault(fold_word(word), set()).add(meaning)
    return {word: frozenset(found) for word, found in meanings.items()}


def _weighty() -> Iterator[tuple[str, str]]:
    for _, kinds in in_every_language("negation"):
        yield from ((kind, words) for kind, words in kinds.items() if kind != _HARMLESS)


def _opposites() -> Iterator[tuple[str, str]]:
    """Yield the sides of each opposite with their words.

    Texts that name different sides, and none in common, say different things. `|` separates the
    sides; `-` stands for a missing word.
    """
    for _, opposites in in_every_language("opposites"):
        for name, sides in opposites.items():
            for side, words in enumerate(sides.split("|")):
                yield f"{name}/{side}", words.replace("-", "")


# Words of scripts without spaces that contain a listed word but do not have its sense.
_HARMLESS = "harmless"


# Built on first use, because most commands never compare texts.
@lru_cache(maxsize=1)
def _kinds() -> dict[str, frozenset[str]]:
    """Map each word to its kinds. If only one of two texts has a word of a kind, they say different
    things.
    """
    return _lexicon(_weighty())


@lru_cache(maxsize=1)
def _poles() -> dict[str, frozenset[str]]:
    return _lexicon(_opposites())


@lru_cache(maxsize=1)
def _sense_word() -> re.Pattern[str]:
    """Return a pattern for a word; in scripts without spaces, the longest listed one."""
    harmless = words_of_all("negation", _HARMLESS)
    listed = {word for word in (*_kinds(), *_poles(), *harmless) if _NO_SPACES.search(word)}
    return re.compile(
        "|".join([*sorted(listed, key=lambda word: (-len(word), word)), _WORD.pattern])
    )


_USED_TO = later(r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )(?<!get )\bused to\b", re.IGNORECASE)


def _senses(text: str) -> tuple[frozenset[str], dict[str, frozenset[int]]]:
    """Return the kinds of weighty words in a text, and the named sides of opposites."""
    words = set(_sense_words(text))
    weighty = _kinds()
    poles = _poles()
    kinds = {kind for word in words & weighty.keys() for kind in weighty[word]}
    if _USED_TO.search(text):
        kinds.add("past")
    sides: dict[str, set[int]] = {}
    for word in words & poles.keys():
        for meaning in poles[word]:
            name, _, side = meaning.partition("/")
            sides.setdefault(name, set()).add(int(side))
    return frozenset(kinds), {name: frozenset(named) for name, named in sides.items()}


def _sense_words(text: str) -> list[str]:
    words = _sense_word().findall(text) if _NO_SPACES.search(text) else _WORD.findall(text)
    # Skip the month, whose folded form is also a verb.
    return [fold_word(word) for word in words if word != "May"]


def _forms(text: str) -> Iterator[str]:
    """Yield what the form of a text adds: number of negations, question, past tense.

    Negations close to each other count as one: some languages say `never` as `not never`.
    """
    times = 0
    last = -4
    for place, word in enumerate(_sense_words(text)):
        if "negation" in _kinds().get(word, ()):
            times += place - last > 3
            last = place
    if times > 1:
        yield f"negation {times}"
    ending = text.rstrip(" .。!！\"'")
    if ending.endswith(("?", "？")):
        yield "question"
    if ending.endswith(_JAPANESE_PAST):
        yield "over"


_JAPANESE_PAST = ("た", "だった", "でした")


def _opposed(ours: Mapping[str, frozenset[int]], theirs: Mapping[str, frozenset[int]]) -> bool:
    return any(ours[name].isdisjoint(theirs[name]) for name in ours.keys() & theirs.keys())


# Figures

_DATE = later(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_OCLOCK = "|".join(sorted(words_of_all("figures", "clock")))
_CLOCK = later(
    r"(?<![\d.:])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])"
    rf"(?:\s*([ap])\.?m\b\.?|\s*(?:{_OCLOCK})\b)?",
    re.IGNORECASE,
)
_HOUR = later(rf"(?<![\d.:])(\d{{1,2}})\s*(?:([ap])\.?m\b\.?|(?:{_OCLOCK})\b)", re.IGNORECASE)
_WEEKDAY = later(r"(?:星期|礼拜|禮拜|周|週)([一二三四五六日天])|([月火水木金土日])曜")
_CHINESE_DAYS = "日一二三四五六天"
_JAPANESE_DAYS = "日月火水木金土"
_WEEKDAYS = ("@sun", "@mon", "@tue", "@wed", "@thu", "@fri", "@sat")
_NUMBER = later(r"(\d+(?:[.,]\d+)*)(st\b|nd\b|rd\b|th\b)?")
_GROUPED = later(r"\d{1,3}(?:,\d{3})+")


MONTHS = [
    "@jan",
    "@feb",
    "@mar",
    "@apr",
    "@may",
    "@jun",
    "@jul",
    "@aug",
    "@sep",
    "@oct",
    "@nov",
    "@dec",
]


@lru_cache(maxsize=1)
def _numbers() -> dict[str, str]:
    """Map each number word to its number; `#` marks ordinals."""
    return dict(labelled("figures", "numbers"))


def labelled(section: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield each folded word of lists such as `2=two|twice 3=three`, with the label of its
    group.
    """
    for _, table in in_every_language(section):
        for group in table.get(key, "").split():
            label, _, words = group.partition("=")
            yield from ((fold_word(word), label) for word in words.split("|"))


@lru_cache(maxsize=1)
def _calendar() -> dict[str, str]:
    """Map each word to the weekday or month that it names."""
    found: dict[str, str] = {}
    for key, labels in (("weekdays", (*_WEEKDAYS[1:], _WEEKDAYS[0])), ("months", MONTHS)):
        for each in languages():
            names = each.section("figures").get(key) or each.section("time").get(key, "")
            for label, words in zip(labels, names.split(), strict=False):
                found.update((fold_word(word), label) for word in words.split("|") if word != "-")
    return found


# These count as months only if capitalised.
_ALSO_VERBS = words_of_all("time", "unsure_months")


def _take_moments(text: str) -> tuple[str, frozenset[str]]:
    """Split off dates and times of day; return the rest of the text and the times."""
    found: set[str] = set()

    def date(match: re.Match[str]) -> str:
        month = int(match[2])
        found.update(
            (match[1], MONTHS[month - 1] if 1 <= month <= 12 else match[2], str(int(match[3])))
        )
        return " "

    def clock(match: re.Match[str]) -> str:
        found.add(_time_of_day(int(match[1]), match[2], match[3]))
        return " "

    def hour(match: re.Match[str]) -> str:
        found.add(_time_of_day(int(match[1]), "00", match[2]))
        return " "

    rest = _HOUR.sub(hour, _CLOCK.sub(clock, _DATE.sub(date, text)))
    return rest, frozenset(found)


def _time_of_day(
    hour: int,
    minutes: str,
    half: str | None,
) -> str:
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return f"{hour:02}:{minutes}"


def _figures(text: str) -> Iterator[str]:
    for chinese, japanese in _WEEKDAY.findall(text):
        yield _WEEKDAYS[
            (_CHINESE_DAYS.index(chinese) if chinese else _JAPANESE_DAYS.index(japanese)) % 7
        ]
    rest = _WEEKDAY.sub(" ", text)
    for digits, ordinal in _NUMBER.findall(rest):
        plain = digits.replace(",", "") if _GROUPED.fullmatch(digits) else digits
        plain = "".join(str(unicodedata.decimal(digit, digit)) for digit in plain)
        yield f"#{plain}" if ordinal else plain
    for word in _WORD.findall(rest):
        folded = fold_word(word)
        if folded in _numbers():
            yield _numbers()[folded]
        elif folded in _calendar() and (folded not in _ALSO_VERBS or word[0].isupper()):
            yield _calendar()[folded]


def is_weighty(word: str) -> bool:
    """Whether a folded word changes a statement by its mere presence: `not`, `only`, `perhaps`."""
    return word in _kinds()


def is_figure(word: str) -> bool:
    """Whether a folded word counts as a figure: it has a digit, or is a number word, weekday or
    month.
    """
    return word in _numbers() or word in _calendar() or any(map(str.isdigit, word))


# Names

_MARK = later(
    r"""
      https?://[^\s<>"']+ | www\.[^\s<>"']+                     # addresses
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | (?<!\w)[@\#][^\W\d][\w-]*                                 # handles and channels
    | (?<![\w.~/-])(?:[\w.~-]*/)+[\w.-]*\w                      # paths
    | (?<![\w.])(?=[\d._]*[^\W\d_])[^\W_]+(?:[._]+[^\W_]+)+     # dotted.names, snake_case
    | (?<!\w)\w+(?:-\w+){2,}                                    # names-with-hyphens
    | (?<![^\W_])(?!v\d)[A-Za-z]+-?\d[\w-]*                     # ticket and model numbers
    | (?<![A-Za-z])[A-Za-z]*[a-z][A-Z]\w*                       # CamelCase
    | \b[A-Z][A-Z0-9]+\b                                        # ABBREVIATIONS
    """,
    re.VERBOSE | re.ASCII,
)
_VERSION = later(r"\bv(?=\d)", re.IGNORECASE)
_SCHEME = later(r"^(?:https?://)?(?:www\.)?")
_OPENS_SENTENCE = later(r"(?:\A|[-.!?:;…\"'“”„«»()\[\]{}–—•>|。！？：；「『])\s*\Z")
_KATAKANA = later("[\u30a1-\u30ff]{2,}")
_ADDRESSED = later("([\u4e00-\u9fff]{1,4})(?:さん|様|氏|くん|君)")


def _take_marks(text: str) -> tuple[str, frozenset[str]]:
    """Split off names recognised by form; return the rest of the text and the names."""
    versions = _VERSION.sub("", text)
    marks = frozenset(
        _SCHEME.sub("", mark.casefold()).rstrip("/.,;:!?)") for mark in _MARK.findall(versions)
    )
    return _MARK.sub(" _ ", versions), marks


def _names(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return words that are names, and words that may be: capitalised words at the start of a
    sentence.
    """
    names = set(_ADDRESSED.findall(text))
    openers = set()
    unspaced = bool(_NO_SPACES.search(text))
    names.update(_KATAKANA.findall(text))
    small = small_words(text)
    for match in _LETTERS.finditer(text):
        word = match[0]
        folded = fold_word(match[0])
        if not (word[0].isupper() or unspaced) or word == "I" or is_figure(folded):
            continue
        if _OPENS_SENTENCE.search(text, max(0, match.start() - 20), match.start()):
            openers.update({folded} - small)
        else:
            names.add(folded)
    return frozenset(names), frozenset(openers)


def _names_differ(one: Particulars, other: Particulars) -> bool:
    if any(_lacks(other, name) for name in one.names) or any(
        _lacks(one, name) for name in other.names
    ):
        return True
    return any(_lacks(other, word) for word in one.openers) and any(
        _lacks(one, word) for word in other.openers
    )


def _lacks(text: Particulars, name: str) -> bool:
    if name in text.words or name in text.names:
        return False
    return not any(_same_name(name, word) for word in text.words if word[:2] == name[:2])


@lru_cache(maxsize=1 << 14)
def _same_name(one: str, other: str) -> bool:
    """Whether two folded words can be forms of one name: `anna` and `annas`, but not `ann` and
    `anne`.
    """
    short, long = sorted((one, other), key=len)
    if not short.isascii():
        return index_terms(short) == index_terms(long)
    ending = long[len(short) :] if long.startswith(short) else "?"
    return ending in ("", "s") or (len(short) >= 5 and ending in ("n", "en", "es", "e", "er"))
