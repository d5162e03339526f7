"""Entities recognised by their form, in any language: @mentions, #hashtags, e-mail addresses, URLs
and dates.

Runs on every turn of a conversation. So each type is searched only if a character that it requires
occurs, and no pattern reads a character more than a fixed number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from ...languages import languages
from .base import EntityMatch, EntityType, compiled, resolve

# A URL may contain the other types, so it has the highest confidence; a date is only digits, which
# may be something else.
ADDRESS = 0.99
TAG = 0.95
DAY = 0.9

# Combining marks, which `\w` does not match.
_MARKS = "\u0300-\u036f\u0900-\u0dff"
# Scripts written without spaces.
_UNSPACED = "[\u0e00-\u0eff\u2e80-\ud7ff]"
_LETTER = rf"(?!{_UNSPACED})[\w{_MARKS}]"
# A Latin handle ends where Japanese text continues: `@bobさん`.
_HANDLE = rf"(?=[^\W\d])(?:(?>(?:{_LETTER})+(?:[.-](?:{_LETTER})+)*)|\w{{1,30}}+)"
# Neither part of an address (`@user@host`) nor a package scope (`@org/name`).
_MENTION = rf"(?<![\w@＠.+-])[@＠]({_HANDLE})(?!\w*@|/\w)"
# Not after `&` or `/`, which would make it an HTML entity or part of a URL.
_HASHTAG = rf"(?<![\w#＃&/])[#＃]([\w{_MARKS}]++(?>(?:-[\w{_MARKS}]++)*))(?![#＃])"
# With 4 or 8 digits at least one must be decimal, so that `#cafe` stays a tag.
_HEX_COLOUR = r"(?i:[0-9a-f]{3}|[0-9a-f]{6}|(?=[a-f]*\d)(?:[0-9a-f]{4}|[0-9a-f]{8}))"
_HAS_LETTER = r"[^\W\d_]"
_LONGEST_TAG = 100

_ADDRESS_LETTERS = "a-zA-Z0-9\u00c0-\u024f\u0370-\u052f"
_LOCAL = rf"{_ADDRESS_LETTERS}.!#$&*+/=?^_|~%-"
# At most 64 characters before the @ and 63 per label, the limits of e-mail and DNS.
_EMAIL = (
    rf"(?<![{_LOCAL}])[{_LOCAL}]{{1,64}}+@"
    rf"([{_ADDRESS_LETTERS}-]{{1,63}}+(?>(?:\.[{_ADDRESS_LETTERS}-]{{1,63}}+)+))"
)
_TOP_LEVEL = rf"[{_ADDRESS_LETTERS}]*[^\W\d_][{_ADDRESS_LETTERS}]+"

_URL = (
    r"(?<![a-z0-9])(?:(?:https?|HTTPS?|Https?|ftp)://|www\.(?=[^\W_]))"
    # Japanese or Chinese may be part of a path, but not directly after a Latin letter:
    # `…/a を見て`, `…/aを見て`.
    r"(?>(?:(?![\u3000-\uffef])[^\s<>\"`{}|\\^\[\]]|(?<=[/=_&#?%.\u3041-\uffdf-])[\u3041-\u9fff\uac00-\ud7af])+)"
)
_HOST = r"(?:[a-zA-Z]+://)?(?:[^/?#@]*@)?([^/?#]*)"
_CLOSING = {
    ")": "(",
    "’": "‘",
    "”": "“",
    "»": "«",
}

_CODE = r"(?s:```.*?(?:```|\Z))|`[^`\n]+`"
# Group mentions, and keywords that programs write with an @.
_NOBODY = frozenset(
    (
        "all",
        "channel",
        "everyone",
        "here",
        "team",
        "room",
        "author",
        "classmethod",
        "dataclass",
        "deprecated",
        "import",
        "keyframes",
        "media",
        "overload",
        "override",
        "param",
        "property",
        "return",
        "returns",
        "staticmethod",
        "throws",
    )
)
_NO_PROJECT = frozenset(
    (
        "define",
        "elif",
        "else",
        "endif",
        "endregion",
        "if",
        "ifdef",
        "ifndef",
        "include",
        "pragma",
        "region",
        "undef",
    )
)


class PatternRecogniser:
    """Mentions, hashtags, addresses and dates by their form. Fast enough for every turn."""

    name = "patterns"

    def available(self) -> bool:
        return True

    def recognise(self, text: str) -> list[EntityMatch]:
        found: list[EntityMatch] = []
        if "://" in text or "www." in text:
            found += _urls(text)
        if "@" in text or "＠" in text:
            found += (*_emails(text), *_mentions(text))
        if "#" in text or "＃" in text:
            found += _hashtags(text)
        if compiled(_DIGIT).search(text):
            found += _dates(text)
        if len(found) > 1:
            return resolve(found)
        return found


def _urls(text: str) -> Iterator[EntityMatch]:
    for match in compiled(_URL).finditer(text):
        raw = _without_ending(match.group())
        host = compiled(_HOST).match(raw)
        if host and compiled(_HAS_LETTER).search(host[1]) and host[1].strip(".") not in ("", "www"):
            name = raw[: host.end()].lower() + raw[host.end() :]
            start = match.start()
            yield EntityMatch(
                name.removesuffix("/"),
                "url",
                start,
                start + len(raw),
                ADDRESS,
                raw,
            )


def _without_ending(url: str) -> str:
    """Strip the punctuation of the surrounding sentence from a URL; a bracket that the URL opened
    stays.
    """
    surplus = {
        closing: url.count(closing) - url.count(opening) for closing, opening in _CLOSING.items()
    }
    end = len(url)
    while end:
        last = url[end - 1]
        if last in _CLOSING:
            if surplus[last] <= 0:
                break
            surplus[last] -= 1
        elif last not in ".,;:!?'\"*_~…":
            break
        end -= 1
    return url[:end]


def _emails(text: str) -> Iterator[EntityMatch]:
    for match in compiled(_EMAIL).finditer(text):
        raw = match.group().lstrip(".!#$&*+/=?^_|~%-")
        domain = match[1]
        top = compiled(_TOP_LEVEL).fullmatch(domain.rpartition(".")[2])
        if raw.startswith("@") or domain.startswith("-") or not top:
            continue
        yield EntityMatch(
            raw.lower(),
            "email",
            match.end() - len(raw),
            match.end(),
            ADDRESS,
            raw,
        )


def _mentions(text: str) -> Iterator[EntityMatch]:
    yield from _tagged(_MENTION, text, "person", _NOBODY)


def _hashtags(text: str) -> Iterator[EntityMatch]:
    for found in _tagged(_HASHTAG, text, "project", _NO_PROJECT):
        # `#12` is an issue and `#c0ffee` a colour.
        if compiled(_HAS_LETTER).search(found.name) and not compiled(_HEX_COLOUR).fullmatch(
            found.name
        ):
            yield found


def _tagged(
    pattern: str,
    text: str,
    type_: EntityType,
    others: frozenset[str],
) -> Iterator[EntityMatch]:
    code = [match.span() for match in compiled(_CODE).finditer(text)] if "`" in text else []
    for match in compiled(pattern).finditer(text):
        name = match[1]
        while code and code[0][1] <= match.start():
            del code[0]
        quoted = bool(code) and code[0][0] <= match.start()
        if not quoted and len(name) <= _LONGEST_TAG and name.lower() not in others:
            yield EntityMatch(
                name,
                type_,
                match.start(),
                match.end(),
                TAG,
                match.group(),
            )


# Dates

_DIGIT = r"\d"


def _month_names() -> dict[str, int]:
    """Map the month names of each language to month numbers; alternatives are joined by `|`."""
    tables = (each.section("dates") or each.section("time") for each in languages())
    return {
        name: number
        for table in tables
        for number, names in enumerate(table.get("months", "").split(), 1)
        for name in names.split("|")
    }


_MONTHS = _month_names()
# Also ordinary words: before a number they are a month only if capitalised or followed by a year.
_WORDS_TOO = frozenset(
    ("may", "march", "mar", "set", "out", "mai", "sep", "gen", "mag", "lug", "ago", "dic", "mars")
)

_SPACE = "[ \u00a0\u202f]"
_YEAR = r"(\d{4})(?!\w|[.,]\d)"
# Each pattern starts with a digit and looks behind only then, so the engine can skip to the next
# digit.
_DAY = r"(\d(?<![\w.,/:-]\d)\d?)"
_NUMERIC = r"(\d(?<![\w.,/:-]\d)\d{0,3})([-/.])(\d{1,2})\2(\d{4}|\d{1,2})(?!\d|[-/.:]\d)"
_DAY_MONTH = (
    rf"{_DAY}(?:st|nd|rd|th|er|re|[.ºª°])?{_SPACE}{{0,2}}(?:(?:of|de|d[eo]l){_SPACE}|d['’])?"
    rf"([^\W\d_]{{3,11}})(?![^\W_])\.?(?:,?{_SPACE}{{1,2}}(?:(?:of|del?|do){_SPACE})?{_YEAR})?"
)
_DAY_AFTER_MONTH = rf"{_DAY}(st|nd|rd|th)?(?![\w:%€$£]|[.,/-]\d)(?:,?{_SPACE}{{1,2}}{_YEAR})?"
_MONTH_BEFORE = rf"(?<!\w)([^\W\d_]{{3,9}})\.?{_SPACE}$"
_EAST_ASIAN = r"(?<!\d)(?:(\d{4}) ?[年년] ?)?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日号號일]"


def _dates(text: str) -> Iterator[EntityMatch]:
    yield from _numeric_dates(text)
    for match in compiled(_DAY_MONTH).finditer(text):
        yield from _dated(
            match,
            year=match[3],
            month=match[2],
            day=match[1],
        )
    yield from _days_after_months(text)
    if "月" in text or "월" in text:
        for match in compiled(_EAST_ASIAN).finditer(text):
            yield from _dated(
                match,
                year=match[1],
                month=match[2],
                day=match[3],
            )


def _days_after_months(text: str) -> Iterator[EntityMatch]:
    for match in compiled(_DAY_AFTER_MONTH).finditer(text):
        before = compiled(_MONTH_BEFORE).search(text, max(0, match.start() - 12), match.start())
        if before is None:
            continue
        month = before[1]
        plain = not (match[2] or match[3])
        # Compared as written: a capitalised month is not in the set.
        if not (plain and month in _WORDS_TOO):
            yield from _dated(
                match,
                year=match[3],
                month=month,
                day=match[1],
                start=before.start(),
            )


def _numeric_dates(text: str) -> Iterator[EntityMatch]:
    for match in compiled(_NUMERIC).finditer(text):
        first, sign, second, last = match.groups()
        if len(first) == 4 and len(last) < 3:
            yield from _dated(
                match,
                year=first,
                month=second,
                day=last,
            )
        elif len(first) > 2 or not (len(last) == 4 or (sign == "/" and len(last) == 2)):
            # A version, a phone number or a sum.
            continue
        elif sign == "." or int(first) > 12:
            yield from _dated(
                match,
                year=last,
                month=second,
                day=first,
            )
        elif int(second) > 12 or first == second:
            yield from _dated(
                match,
                year=last,
                month=first,
                day=second,
            )
        elif int(first) and int(second):
            # 3/4/2026 is ambiguous between March and April, so it is kept as written.
            yield EntityMatch(
                match.group(),
                "date",
                match.start(),
                match.end(),
                DAY,
                match.group(),
            )


def _dated(
    match: re.Match[str],
    *,
    year: str | None,
    month: str,
    day: str,
    start: int = -1,
) -> Iterator[EntityMatch]:
    """Yield the date of a match if the day exists; in ISO form if it has a year."""
    number = int(month) if month.isdecimal() else _MONTHS.get(month.lower(), 0)
    full = f"20{year}" if year and len(year) == 2 else year
    try:
        # 2000 is a leap year, so 29 February without a year is valid.
        moment = date(int(full) if full else 2000, number, int(day))
    except ValueError:
        return
    begin = start if start >= 0 else match.start()
    raw = match.string[begin : match.end()]
    if not year:
        # Without a year, a final dot ends the sentence.
        raw = raw.rstrip(". ")
    yield EntityMatch(
        moment.isoformat() if full else raw, "date", begin, begin + len(raw), DAY, raw
    )
