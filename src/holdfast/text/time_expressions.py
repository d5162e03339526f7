"""Time expressions of a question as spans of time.

First every simple expression is found ("7 May", "last week", "in 2022"), then the words before it
modify it: "the last two weeks of" (`time_parts`), "before", "since", "between … and …". A month or
weekday alone needs a preposition, because `may` and `march` are also words. A date without a year
is the latest such date that has begun. Days are UTC days; seasons are those of the northern
hemisphere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from ..types import DAY
from .day_spans import Days, latest_begun, months, one_day, one_month, unit_span, units_ago
from .lazy_regex import later
from .time_parts import Parts, is_an_end
from .time_words import any_of, full_month_names, listed, meanings, numbered
from .unspaced_times import unspaced_times

# Year 1: the start of "before …".
BEGINNING = -62_135_596_800_000_000
# Year 10000: the end of "after …".
END = 253_402_300_800_000_000
# Characters; a longer question is a pasted document.
_LONGEST_QUESTION = 2000
_EPOCH = date(1970, 1, 1).toordinal()


class Span(NamedTuple):
    """From `start` to `end` (exclusive) in microseconds UTC, with the words that name it."""

    start: int
    end: int
    text: str


class _Found(NamedTuple):
    """Days [first, last] named by the characters [start, end) of the question."""

    start: int
    end: int
    first: date
    last: date
    year_given: bool = True


_MONTHS = numbered("months")
_WEEKDAYS = numbered("weekdays")
_SEASONS = {word: 3 * place for word, place in numbered("seasons").items()}
_NUMBERS = numbered("numbers")
_UNITS = meanings(
    "day",
    "week",
    "weekend",
    "month",
    "quarter",
    "year",
)
_DAY_WORDS = {
    word: {
        "today": 0,
        "yesterday": -1,
        "before_yesterday": -2,
        "tomorrow": 1,
    }[key]
    for word, key in meanings("today", "yesterday", "before_yesterday", "tomorrow").items()
}
_STEPS = {
    word: {
        "previous": -1,
        "current": 0,
        "following": 1,
    }[key]
    for word, key in meanings("previous", "current", "following").items()
}


def _any(key: str) -> str:
    return any_of(listed(key))


_MONTH = any_of(_MONTHS)
_MONTH_NAME = any_of(full_month_names())
_UNSURE_MONTH = _any("unsure_months")
_UNSURE_MONTH_RANGE = "|".join(listed("unsure_month_range"))
_WEEKDAY = any_of(_WEEKDAYS)
_SEASON = any_of(_SEASONS)
_NUMBER = rf"\d{{1,3}}|{any_of(_NUMBERS)}"
_UNIT = any_of(_UNITS)
_STEP = any_of(_STEPS)
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_PARTS = Parts(_NUMBERS, _UNITS, _WEEKDAYS)


def _dated(match: re.Match[str], today: date) -> Days:
    """Parse `7 May 2023` or `May 7`; without a year, the latest one."""
    month = _MONTHS[match["month"]]
    day = int(match["day"])
    if match["year"]:
        return one_day(int(match["year"]), month, day)
    return latest_begun(lambda year: one_day(year, month, day), today)


def _month_of_year(match: re.Match[str], _today: date) -> Days:
    return one_month(int(match["year"]), _MONTHS[match["month"]])


def _month_alone(match: re.Match[str], today: date) -> Days:
    return _stepped_year(match, lambda year: one_month(year, _MONTHS[match["month"]]), today)


def _stepped_year(
    match: re.Match[str],
    days_of: Callable[[int], Days],
    today: date,
) -> Days:
    """Return the latest occurrence that has begun; with `last` the latest that is over, with `next`
    the first to come.
    """
    latest = latest_begun(days_of, today)
    step = _STEPS.get(match.groupdict().get("step") or "", 0)
    if latest is None or not step:
        return latest
    if step > 0:
        return days_of(latest[0].year + 1)
    if latest[1] < today:
        return latest
    return days_of(latest[0].year - 1)


def _iso(match: re.Match[str], _today: date) -> Days:
    year = int(match["year"])
    month = int(match["month"])
    if match["day"]:
        return one_day(year, month, int(match["day"]))
    return one_month(year, month)


def _day_first(match: re.Match[str], _today: date) -> Days:
    return one_day(int(match["year"]), int(match["month"]), int(match["day"]))


def _slashed(match: re.Match[str], _today: date) -> Days:
    first = int(match["first"])
    second = int(match["second"])
    month, day = (second, first) if first > 12 else (first, second)
    return one_day(int(match["year"]), month, day)


def _whole_year(match: re.Match[str], _today: date) -> Days:
    return months(int(match["year"]), 1, 12)


def _day_word(match: re.Match[str], today: date) -> Days:
    that_day = today + timedelta(days=_DAY_WORDS[re.sub(r"\s+", " ", match[0])])
    return that_day, that_day


def _unsure_yesterday(match: re.Match[str], today: date) -> Days:
    """Parse a word for yesterday, unless the question is in a language where it means something
    else: `hier` is "here" in German.
    """
    if _OTHERWISE.search(match.string):
        return None
    return today - timedelta(days=1), today - timedelta(days=1)


def _count(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _NUMBERS[word]


def _ago(match: re.Match[str], today: date) -> Days:
    return units_ago(_count(match["count"]), _UNITS[match["unit"]], today)


def _past(match: re.Match[str], today: date) -> Days:
    """Parse `the last three weeks`: from then until today."""
    count = _count(match["count"])
    unit = _UNITS[match["unit"]]
    days = {
        "day": 1,
        "week": 7,
        "weekend": 7,
        "month": 31,
        "quarter": 92,
        "year": 366,
    }[unit]
    return today - timedelta(days=days * count), today


def _stepped(match: re.Match[str], today: date) -> Days:
    return unit_span(_UNITS[match["unit"]], _STEPS[match["step"]], today)


def _weekday(match: re.Match[str], today: date) -> Days:
    """Parse `last Friday` or `on Friday` as the latest one before today, `next Friday` as the first
    one after.
    """
    number = _WEEKDAYS[match["weekday"]] - 1
    step = match.groupdict().get("step")
    back = (today.weekday() - number - 1) % 7 + 1
    that_day = today - timedelta(days=back)
    if step and _STEPS[step] > 0:
        that_day += timedelta(days=7 if back < 7 else 14)
    return that_day, that_day


def _season(match: re.Match[str], today: date) -> Days:
    month = _SEASONS[match["season"]]
    groups = match.groupdict()
    if groups.get("year"):
        return months(int(groups["year"]), month, 3)
    return _stepped_year(match, lambda year: months(year, month, 3), today)


def _season_in_part(match: re.Match[str], today: date) -> Days:
    """Parse `the last week of summer`; without such a part, "of summer" is not a time."""
    days = _season(match, today)
    if days and _PARTS.before(match.string[: match.start("season")], *days):
        return days
    return None


_OTHERWISE = later(rf"\b(?:{_any('unsure_unless')})\b")
_OF_YEAR = rf"(?:,?\s+(?:(?:{_any('year_of')})\s+)?(?P<year>{_YEAR}))?"
_OF = rf"(?:(?:{_any('date_of')})\s+)?"
_THE = rf"(?:(?:{_any('articles')})\s+)?"
_ORDINAL = rf"(?:{_any('ordinals')})?"


class _Rule(NamedTuple):
    """A pattern for one kind of time expression, and the days that a match means."""

    pattern: re.Pattern[str]
    days_of: Callable[[re.Match[str], date], Days]
    year_given: bool
    needs: tuple[frozenset[str], ...]
    """Sets of which the question must contain a word each. Compiling a pattern of all months in all
    languages takes a millisecond, and most questions name none.
    """


def _first_words(words: Iterable[str]) -> frozenset[str]:
    return frozenset(re.split(r"\W", word)[0] for word in words)


_DIGIT = frozenset("0123456789")
_DAY_WORD = _first_words(_DAY_WORDS)
_A_MONTH = _first_words(_MONTHS)
_A_WEEKDAY = _first_words(_WEEKDAYS)
_A_SEASON = _first_words(_SEASONS)
_A_UNIT = _first_words(_UNITS)
_A_STEP = _first_words(_STEPS)
_UNSURE_DAY = _first_words(listed("unsure_yesterday"))
_AGO = _first_words((*listed("ago_after"), *listed("ago_before")))


def _rule(
    pattern: str,
    days_of: Callable[[re.Match[str], date], Days],
    *needs: frozenset[str],
    year_given: bool = True,
) -> _Rule:
    return _Rule(later(rf"(?<!\w){pattern}(?!\w)"), days_of, year_given, needs)


# Order matters: if two rules match the same words, the first one wins.
_RULES = (
    _rule(
        rf"(?P<year>{_YEAR})[-/](?P<month>0?[1-9]|1[0-2])"
        rf"(?:[-/](?P<day>{_DAY})(?:t[\d:.]+z?)?)?",
        _iso,
        _DIGIT,
    ),
    _rule(rf"(?P<day>{_DAY})\.(?P<month>0?[1-9]|1[0-2])\.(?P<year>{_YEAR})", _day_first, _DIGIT),
    _rule(rf"(?P<first>{_DAY})/(?P<second>{_DAY})/(?P<year>{_YEAR})", _slashed, _DIGIT),
    _rule(
        rf"(?P<day>{_DAY}){_ORDINAL}\s+{_OF}(?P<month>{_MONTH})\.?{_OF_YEAR}",
        _dated,
        _DIGIT,
        _A_MONTH,
        year_given=False,
    ),
    _rule(
        rf"(?P<month>{_MONTH})\.?\s+(?:the\s+)?(?P<day>{_DAY}){_ORDINAL}{_OF_YEAR}",
        _dated,
        _DIGIT,
        _A_MONTH,
        year_given=False,
    ),
    _rule(rf"(?P<month>{_MONTH})\.?,?\s+{_OF}(?P<year>{_YEAR})", _month_of_year, _DIGIT, _A_MONTH),
    _rule(rf"(?:{any_of(_DAY_WORDS)})", _day_word, _DAY_WORD),
    _rule(rf"(?:{_any('unsure_yesterday')})", _unsure_yesterday, _UNSURE_DAY),
    _rule(
        rf"(?P<count>{_NUMBER})(?:\s+of)?\s+(?P<unit>{_UNIT})\s+(?:{_any('ago_after')})",
        _ago,
        _A_UNIT,
        _AGO,
    ),
    _rule(
        rf"(?:{_any('ago_before')})\s+(?P<count>{_NUMBER})\s+(?P<unit>{_UNIT})",
        _ago,
        _A_UNIT,
        _AGO,
    ),
    _rule(
        rf"(?:{_any('last_few')})\s+(?P<count>{_NUMBER})(?:\s+of)?\s+(?P<unit>{_UNIT})",
        _past,
        _A_UNIT,
        _first_words(listed("last_few")),
    ),
    _rule(rf"(?P<step>{_STEP})\s+(?P<unit>{_UNIT})", _stepped, _A_STEP, _A_UNIT),
    _rule(
        rf"(?:{_any('step_articles')})\s*(?P<unit>{_UNIT})\s+(?P<step>{_any('step_after')})",
        _stepped,
        _A_UNIT,
        _first_words(listed("step_after")),
    ),
    _rule(rf"(?P<step>{_STEP})\s+(?P<weekday>{_WEEKDAY})", _weekday, _A_STEP, _A_WEEKDAY),
    _rule(
        rf"(?P<step>{_STEP})\s+(?P<season>{_SEASON})",
        _season,
        _A_STEP,
        _A_SEASON,
        year_given=False,
    ),
    _rule(rf"(?P<season>{_SEASON})\s+{_OF}(?P<year>{_YEAR})", _season, _A_SEASON, _DIGIT),
    *(
        _rule(
            rf"(?<={phrase} )(?P<season>{_SEASON})",
            _season,
            _A_SEASON,
            _first_words([phrase]),
            year_given=False,
        )
        for phrase in listed("before_season")
    ),
    _rule(
        rf"(?P<step>{_STEP})\s+(?P<month>{_MONTH})",
        _month_alone,
        _A_STEP,
        _A_MONTH,
        year_given=False,
    ),
    _rule(rf"(?P<year>{_YEAR})", _whole_year, _DIGIT),
    _rule(
        rf"(?:{_any('before_month')})\s+(?P<month>{_MONTH_NAME})",
        _month_alone,
        _A_MONTH,
        year_given=False,
    ),
    _rule(
        rf"(?:{_any('joined_to_month')})(?P<month>{_MONTH_NAME})",
        _month_alone,
        _A_MONTH,
        year_given=False,
    ),
    _rule(
        rf"(?:{_any('before_season_part')})\s+{_THE}(?P<season>{_SEASON})",
        _season_in_part,
        _A_SEASON,
        year_given=False,
    ),
    _rule(
        rf"(?:{_UNSURE_MONTH_RANGE})\s+(?P<month>{_UNSURE_MONTH})",
        _month_alone,
        _A_MONTH,
        year_given=False,
    ),
    _rule(
        rf"(?:{_any('before_unsure_month')})\s+(?P<month>{_UNSURE_MONTH})",
        _month_alone,
        _A_MONTH,
        year_given=False,
    ),
    _rule(rf"(?:{_any('before_weekday')})\s+(?P<weekday>{_WEEKDAY})", _weekday, _A_WEEKDAY),
)
# A question with neither a digit nor the first word of one of these has no time: most stop here.
_HINTS = _DIGIT | _DAY_WORD | _A_STEP | _A_MONTH | _A_WEEKDAY | _A_SEASON | _AGO | _UNSURE_DAY
_WORD = re.compile(r"\d|\w+")
_ARTICLE = rf"(?:(?:{_any('range_articles')})\s+)?"
_UNTIL = later(rf"\b(?:{_any('until')})\s+{_ARTICLE}$")
_FROM = later(rf"\b(?:{_any('after')})\s+{_ARTICLE}$")
_SINCE = later(rf"\b(?:{_any('since')})\s+{_ARTICLE}$")
_RANGE_WORD = later(rf"\b(?:{_any('range_from')})\s+{_ARTICLE}$")
_RANGE_JOINT = later(rf"\s*(?:{_any('range_to')}|-|–)?\s*{_ARTICLE}")


def spans(text: str, now: int) -> list[Span]:
    """Return the time spans in `text`, in order; relative ones count from `now` (microseconds).

    >>> now = 1_700_000_000_000_000
    >>> [span.text for span in spans("Did we talk on 7 May 2023 or last week?", now)]
    ['7 May 2023', 'last week']
    """
    plain = _plain(text)
    words = frozenset(_WORD.findall(plain))
    today = _date_of(now)
    unspaced: list[_Found] = []
    if not plain.isascii():
        unspaced = [_Found(*each) for each in unspaced_times(plain, today)]
    if not unspaced and words.isdisjoint(_HINTS):
        return []
    expressions = _expressions(plain, words, today)
    known = [each for each in expressions if not _meets(each, unspaced)]
    every = sorted([*known, *unspaced], key=lambda each: each.start)
    found = _joined(plain, _narrowed(plain, every))
    return [_bent(plain, text, each) for each in found]


def _meets(found: _Found, others: list[_Found]) -> bool:
    return any(found.start < other.end and other.start < found.end for other in others)


def _plain(text: str) -> str:
    """Lower-case and remove accents, keeping the length of `text`, so that positions stay valid."""
    start = text[:_LONGEST_QUESTION]
    if start.isascii():
        return start.lower()
    return "".join(map(_plain_letter, start))


def _plain_letter(letter: str) -> str:
    if letter == "’":
        return "'"
    base = unicodedata.normalize("NFD", letter)[:1].lower()
    if len(base) == 1:
        return base
    return letter


def _date_of(now: int) -> date:
    day = min(max(now // DAY + _EPOCH, 1), date.max.toordinal())
    return date.fromordinal(day)


def _expressions(
    plain: str,
    words: frozenset[str],
    today: date,
) -> list[_Found]:
    found: list[_Found] = []
    for pattern, days_of, year_given, needs in _RULES:
        if any(words.isdisjoint(needed) for needed in needs):
            continue
        for match in pattern.finditer(plain):
            start = _start_of_name(match)
            if any(start < other.end and other.start < match.end() for other in found):
                continue
            try:
                days = days_of(match, today)
            except (ValueError, OverflowError):
                # 30 February, or year 0.
                continue
            if days:
                given = year_given or bool(match.groupdict().get("year"))
                found.append(_Found(start, match.end(), *days, year_given=given))
    return sorted(found, key=lambda each: each.start)


def _narrowed(plain: str, found: list[_Found]) -> list[_Found]:
    """Replace an expression by the part of it named just before: "the last two weeks of August"."""
    narrowed: list[_Found] = []
    for each in found:
        part = (
            _PARTS.before(plain[: each.start], each.first, each.last)
            if each.last > each.first
            else None
        )
        if part:
            start, first, last = part
            # Drop "last two weeks", which was also found on its own.
            narrowed = [other for other in narrowed if other.end <= start]
            narrowed.append(
                each._replace(
                    start=start,
                    first=first,
                    last=last,
                )
            )
        else:
            narrowed.append(each)
    return narrowed


def _start_of_name(match: re.Match[str]) -> int:
    """Return the start of the expression without the preposition before a month, which may modify
    it.
    """
    groups = {name: value for name, value in match.groupdict().items() if value}
    if groups.keys() in ({"month"}, {"weekday"}, {"season"}):
        return match.start(next(iter(groups)))
    return match.start()


def _joined(plain: str, found: list[_Found]) -> list[_Found]:
    """Join `between A and B` into one expression."""
    joined: list[_Found] = []
    for each in found:
        previous = joined[-1] if joined else None
        if previous and _is_range(plain, previous, each):
            joined[-1] = _range(previous, each)
        else:
            joined.append(each)
    return joined


def _is_range(
    plain: str,
    first: _Found,
    second: _Found,
) -> bool:
    joint = plain[first.end : second.start]
    dash = joint.strip() in ("-", "–", *listed("range_dash"))
    return bool(_RANGE_JOINT.fullmatch(joint)) and (
        dash or bool(_RANGE_WORD.search(plain[: first.start]))
    )


def _range(first: _Found, second: _Found) -> _Found:
    start = first.first
    # "from May to July 2022" means the May before that July.
    if not first.year_given:
        start = _in_year(start, second.first.year)
        if start > second.last:
            start = _in_year(start, second.first.year - 1)
    return second._replace(
        start=first.start, first=min(start, second.first), last=max(start, second.last)
    )


def _in_year(day: date, year: int) -> date:
    try:
        return day.replace(year=year)
    except ValueError:
        # 29 February in a year that is not a leap year.
        return day


def _bent(
    plain: str,
    text: str,
    found: _Found,
) -> Span:
    before = plain[: found.start]
    start = _micros(found.first)
    end = _micros(found.last) + DAY
    words = text[found.start : found.end]
    until = end if is_an_end(plain[found.start : found.end]) else start
    for pattern, bent in (
        (_UNTIL, (BEGINNING, until)),
        (_FROM, (end, END)),
        (_SINCE, (start, END)),
    ):
        if lead := pattern.search(before):
            return Span(*bent, text[lead.start() : found.end])
    return Span(start, end, words)


def _micros(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000_000
