"""Parts of a month, season or year: "the last two weeks of August", "the first weekend of May",
"the end of June".
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from .lazy_regex import later
from .time_words import any_of, listed, meanings

_FIRST = any_of(listed("first"))
_LAST = any_of(listed("final"))
_ORDINALS = {
    word: {
        "second": 2,
        "third": 3,
        "fourth": 4,
    }[key]
    for word, key in meanings("second", "third", "fourth").items()
}
_HALVES = any_of(listed("half"))
_STAGES = {
    word: {
        "beginning": 0,
        "middle": 1,
        "end": 2,
    }[key]
    for word, key in meanings("beginning", "middle", "end").items()
}
# Words between part and whole: "of", "im", "de la"; none are needed after "Ende" and "fin".
_OF = (
    rf"(?:\s+(?:{any_of(listed('part_of'))})(?:\s+(?:{any_of(listed('articles'))}))?\s+"
    rf"|\s+(?:{any_of(listed('part_of_joined'))}))"
)
_LENGTHS = {
    "day": 1,
    "weekday": 1,
    "weekend": 2,
    "week": 7,
    "month": 28,
    "quarter": 90,
    "year": 365,
}
_MONTHS_OF_YEAR = 12
# A plural without number, as in "the first days of May", means a few.
_DAYS = frozenset(listed("days"))
_A_FEW = 3
_WORD = re.compile(r"\d|\w+")
_AT_ITS_END = later(rf"(?:{any_of(listed('end'))})\b")


class Parts:
    """Finds a part named just before a whole, with the words for numbers, units and weekdays of a
    language.
    """

    def __init__(
        self,
        numbers: dict[str, int],
        units: dict[str, str],
        weekdays: dict[str, int],
    ) -> None:
        self.numbers = numbers
        self.units = units
        self.weekdays = weekdays
        number = rf"\d{{1,2}}|{any_of(numbers)}"
        unit = rf"{any_of(units)}|{any_of(weekdays)}|{_HALVES}"
        edge = rf"(?P<first>{_FIRST})|(?P<last>{_LAST})|(?P<ordinal>{any_of(_ORDINALS)})"
        before = rf"(?:(?P<before>{number})\s+)?"
        after = rf"(?:\s+(?P<count>{number})(?:\s+of)?)?"
        self._part = later(rf"(?<!\w){before}(?:{edge}){after}\s+(?P<unit>{unit}){_OF}$")
        said = (listed("first"), listed("final"), _ORDINALS, _STAGES)
        self._cues = frozenset(re.split(r"\W", word)[0] for words in said for word in words)
        self._stage = later(rf"(?<!\w)(?P<stage>{any_of(_STAGES)})(?:{_OF}|\s+|-)$")

    def before(
        self,
        text: str,
        first: date,
        last: date,
    ) -> tuple[int, date, date] | None:
        """Return the start of a part of [first, last] named at the end of `text`, and its days;
        None without one.
        """
        # Compiling the patterns takes a few milliseconds, and most times are not split into parts.
        if self._cues.isdisjoint(_WORD.findall(text)):
            return None
        if found := self._part.search(text):
            days = self._part_of(found, first, last)
            if days:
                return (found.start(), *days)
            return None
        if found := self._stage.search(text):
            return (found.start(), *_stage_of(_STAGES[found["stage"]], first, last))
        return None

    def _part_of(
        self,
        found: re.Match[str],
        first: date,
        last: date,
    ) -> tuple[date, date] | None:
        word = found["unit"]
        unit = "weekday" if word in self.weekdays else self.units.get(word, "half")
        count = self._count(found["count"] or found["before"], word if unit == "day" else "")
        place = _ORDINALS.get(found["ordinal"] or "", 1)
        whole = (last - first).days + 1
        length = whole // 2 if unit == "half" else _LENGTHS[unit]
        if length * count * place > whole + 3:
            # The part is longer than the whole: "last year in May" is not a part of May.
            return None
        if unit in ("weekday", "weekend"):
            # A weekend starts on Saturday.
            day = self.weekdays.get(word, 6) - 1
            return _on_days(
                day,
                _LENGTHS[unit],
                place,
                count,
                bool(found["last"]),
                first,
                last,
            )
        size = _size(unit, first, last)
        from_end = bool(found["last"])
        if unit in ("month", "quarter") or (unit == "half" and whole > 300):
            return _by_months(
                size,
                place,
                count,
                from_end,
                first,
                last,
            )
        days = timedelta(days=size * count)
        if from_end:
            return last - days + timedelta(days=1), last
        begins = first + timedelta(days=size * (place - 1))
        return begins, min(begins + days - timedelta(days=1), last)

    def _count(self, word: str | None, days: str) -> int:
        if not word:
            if days in _DAYS:
                return _A_FEW
            return 1
        if word.isdigit():
            return int(word)
        return self.numbers[word]


def is_an_end(words: str) -> bool:
    """Whether a time is named by its end: "until the end of June" includes the last of June."""
    return bool(_AT_ITS_END.match(words))


def _size(
    unit: str,
    first: date,
    last: date,
) -> int:
    """Return the length of one unit in days, or in months for units of whole months."""
    if unit == "half":
        days = (last - first).days + 1
        if days > 300:
            return 6
        return days // 2
    return {
        "day": 1,
        "week": 7,
        "month": 1,
        "quarter": 3,
    }.get(unit, 1)


def _on_days(
    day: int,
    length: int,
    place: int,
    count: int,
    from_end: bool,
    first: date,
    last: date,
) -> tuple[date, date]:
    """Return the nth weekday or weekend whose first day lies inside."""
    if from_end:
        ends = last - timedelta(days=(last.weekday() - day) % 7)
        begins = ends - timedelta(weeks=count - 1)
    else:
        begins = first + timedelta(days=(day - first.weekday()) % 7) + timedelta(weeks=place - 1)
        ends = begins + timedelta(weeks=count - 1)
    return begins, ends + timedelta(days=length - 1)


def _by_months(
    months: int,
    place: int,
    count: int,
    from_end: bool,
    first: date,
    last: date,
) -> tuple[date, date]:
    if from_end:
        return _month_after(_month_after(last, 1), -months * count), last
    begins = _month_after(first, months * (place - 1))
    return begins, min(_month_after(begins, months * count) - timedelta(days=1), last)


def _month_after(day: date, months: int) -> date:
    """Return the first day of the month `months` later."""
    month = day.month - 1 + months
    return date(day.year + month // _MONTHS_OF_YEAR, month % _MONTHS_OF_YEAR + 1, 1)


def _stage_of(
    stage: int,
    first: date,
    last: date,
) -> tuple[date, date]:
    """Return the first, middle or last third; of a year, a quarter at each end, because people
    split it more coarsely.
    """
    whole = (last - first).days + 1
    edge = round(whole / 4) if whole > 300 else whole // 3
    if stage == 0:
        return first, first + timedelta(days=edge - 1)
    if stage == 1:
        return first + timedelta(days=edge), last - timedelta(days=edge)
    return last - timedelta(days=edge - 1), last
