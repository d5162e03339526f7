"""Time expressions where words have no spaces between them: 上个月, 先週の金曜日, 三年前, 去年の夏.

The section `unspaced_time` of a language file lists its words. An entry `上周|上星期=-1` says that
both mean the week before this one; an entry is a pattern, because what stands around it decides:
上周围 means nothing of the kind. In a text with kana only words of languages written in kana apply.
What a particle makes of a time ("since", "until") is not read: the time itself is what it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from typing import NamedTuple

from ..languages import SCRIPTS, in_every_language
from .day_spans import Days, latest_begun, months, one_day, one_month, unit_span, units_ago

_KANA = re.compile(f"[{SCRIPTS['kana']}]")
_UNSPACED = re.compile(f"[{SCRIPTS['kana']}{SCRIPTS['han']}]")
# A weekend before its week: 先週 is the beginning of 先週末.
_STEPPED = {
    "days": "day",
    "weekends": "weekend",
    "weeks": "week",
    "months": "month",
    "quarters": "quarter",
    "years": "year",
}
_COUNTED = ("day", "week", "month", "year")
_FIGURES = "〇一二三四五六七八九十"
_NUMBER = r"\d{1,2}|[一二三四五六七八九十]{1,3}"


class _Words(NamedTuple):
    """The words of one language, each with what it means."""

    steps: Mapping[str, Mapping[str, int]]
    """By unit: how many units from the current one."""
    weekdays: Mapping[str, int]
    seasons: Mapping[str, int]
    """The first month of each."""
    counts: Mapping[str, int]
    units: Mapping[str, str]
    patterns: tuple[re.Pattern[str], ...]


def unspaced_times(plain: str, today: date) -> Iterator[tuple[int, int, date, date, bool]]:
    """Yield the start and the end of each expression in a text in lower case without accents, its
    first and last day, and whether its year is certain.
    """
    if not _UNSPACED.search(plain):
        return
    taken: list[tuple[int, int]] = []
    script = "kana" if _KANA.search(plain) else ""
    for words in _languages(script):
        for pattern in words.patterns:
            for match in pattern.finditer(plain):
                start, end = match.span()
                if any(start < other_end and other < end for other, other_end in taken):
                    continue
                try:
                    days = _days_of(words, match, today)
                except (ValueError, OverflowError):
                    continue  # 30 February, or the month 13
                if days:
                    taken.append((start, end))
                    yield start, end, *days, not _is_any_year(match)


def past_words() -> str:
    """A pattern for expressions that only ever mean what is over."""
    before = (
        word
        for words in _languages("")
        for steps in words.steps.values()
        for word, step in steps.items()
        if step < 0
    )
    return "|".join((*before, r"前\Z"))


@cache
def _languages(script: str) -> tuple[_Words, ...]:
    return tuple(
        _words_of({key: str(value) for key, value in table.items()})
        for language, table in in_every_language("unspaced_time")
        if language.script == script or not script
    )


def _words_of(table: Mapping[str, str]) -> _Words:
    steps = {unit: _numbered(table.get(key, "")) for key, unit in _STEPPED.items()}
    weekdays = _placed(table.get("weekdays", ""))
    after_week = _placed(table.get("weekdays_after_week", ""))
    after_week |= weekdays
    seasons = {word: 3 * place for word, place in _placed(table.get("seasons", "")).items()}
    counts = _placed(table.get("counts", ""))
    units = {word: unit for unit in _COUNTED for word in table.get(unit, "").split()}
    of = f"(?:{table['of']})?"
    year = rf"(?:(?P<year>(?:19|20)\d\d)年|(?P<year_step>{_any(steps['year'])}){of})"
    ago = rf"(?P<unit>{_any(units)})(?:{table['about']})?(?:{table['ago']})"
    step = "|".join(f"(?P<{unit}_step>{_any(words)})" for unit, words in steps.items() if words)
    day = rf"(?P<day>{_NUMBER})[{table['day_marks']}]"
    # What matches first is taken: the longer before the shorter.
    patterns = (
        rf"{year}?(?<![\d一二三四五六七八九十个個])(?P<month>{_NUMBER})月(?:份)?(?!目|間)(?:{day})?",
        rf"(?P<month_step>{_any(steps['month'])}){of}{day}",
        rf"{year}(?P<season>{_any(seasons)})",
        rf"(?P<week_step>{_any(steps['week'])}){of}(?P<weekday>{_any(after_week)})",
        rf"(?<![\d第])(?P<count>\d{{1,3}}|{_any(counts)}|半(?=年)){ago}",
        step,
        r"(?<!\d)(?P<year>(?:19|20)\d\d)年(?![代度前间間])",
        rf"(?P<weekday>{_any(weekdays)})",
    )
    return _Words(
        steps,
        after_week,
        seasons,
        counts,
        units,
        tuple(re.compile(pattern) for pattern in patterns),
    )


def _numbered(listed: str) -> dict[str, int]:
    """Read `上周|上星期=-1 …`."""
    return {
        word: int(number)
        for entry in listed.split()
        for words, _, number in (entry.rpartition("="),)
        for word in words.split("|")
    }


def _placed(listed: str) -> dict[str, int]:
    """Read `一 二|两 …`: each word with its place, from 1."""
    return {
        word: place for place, entry in enumerate(listed.split(), 1) for word in entry.split("|")
    }


def _any(words: Mapping[str, object]) -> str:
    return "|".join(sorted(words, key=len, reverse=True)) or "(?!)"


def _meant(words: Mapping[str, int], found: str) -> int:
    """What a found word means; its entry is a pattern that looks at what is around it, too."""
    if found in words:
        return words[found]
    return next(number for word, number in words.items() if re.sub(r"\(\?.*?\)", "", word) == found)


def _days_of(words: _Words, match: re.Match[str], today: date) -> Days:
    said = {name: value for name, value in match.groupdict().items() if value}
    steps = {
        unit: _meant(words.steps[unit], said[f"{unit}_step"])
        for unit in words.steps
        if f"{unit}_step" in said
    }
    if "count" in said:
        return _ago(words, said["count"], words.units[said["unit"]], today)
    if "weekday" in said:
        return _weekday(_meant(words.weekdays, said["weekday"]), steps.get("week"), today)
    if "month" in said:
        return _month(said, steps.get("year"), today)
    if "season" in said:
        return months(_year(said, steps, today), words.seasons[said["season"]], 3)
    return _unit(said, steps, today)


def _unit(
    said: Mapping[str, str],
    steps: Mapping[str, int],
    today: date,
) -> Days:
    """A whole unit, or a day of a month."""
    if "day" in said:
        month, _ = one_month(today.year, today.month + steps["month"])
        return one_day(month.year, month.month, _number(said["day"]))
    if "year" in said:
        return months(int(said["year"]), 1, 12)
    ((unit, step),) = steps.items()
    return unit_span(unit, step, today)


def _is_any_year(match: re.Match[str]) -> bool:
    """Whether only a month is said, and no year."""
    said = match.groupdict()
    if said.get("year") or said.get("year_step"):
        return False
    return bool(said.get("month"))


def _ago(
    words: _Words,
    count: str,
    unit: str,
    today: date,
) -> Days:
    if count == "半":
        return units_ago(6, "month", today)
    if count.isdecimal():
        return units_ago(int(count), unit, today)
    return units_ago(words.counts[count], unit, today)


def _weekday(
    number: int,
    week: int | None,
    today: date,
) -> Days:
    """That day of a week; without one, the latest before today."""
    if week is None:
        back = (today.weekday() - number) % 7 + 1
        return units_ago(back, "day", today)
    monday = unit_span("week", week, today)
    if monday is None:
        return None
    return unit_span("day", number - 1, monday[0])


def _month(
    said: Mapping[str, str],
    year_step: int | None,
    today: date,
) -> Days:
    number = _number(said["month"])
    if not 1 <= number <= 12:
        return None

    def days_of(year: int) -> Days:
        if "day" in said:
            return one_day(year, number, _number(said["day"]))
        return one_month(year, number)

    if "year" in said:
        return days_of(int(said["year"]))
    if year_step is not None:
        return days_of(today.year + year_step)
    return latest_begun(days_of, today)


def _year(
    said: Mapping[str, str],
    steps: Mapping[str, int],
    today: date,
) -> int:
    if "year" in said:
        return int(said["year"])
    return today.year + steps["year"]


def _number(figures: str) -> int:
    """Read `12` or 十二."""
    if figures.isdecimal():
        return int(figures)
    tens, ten, ones = figures.partition("十")
    if not ten:
        return _FIGURES.index(figures)
    # An empty text is found at 0: 十二 has no word for its one ten.
    return 10 * (_FIGURES.index(tens) or 1) + _FIGURES.index(ones)
