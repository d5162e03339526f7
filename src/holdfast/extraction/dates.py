"""Dates for the times that people mention: "last month", said on 2023-11-20, is 2023-10."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import timedelta

from ..languages import SCRIPTS
from ..text.time_expressions import BEGINNING, END, Span, spans
from ..text.time_words import any_of, listed
from ..text.unspaced_times import past_words
from ..types import DAY, from_datetime, to_datetime

# A time with a year in it needs no date added.
_YEAR = re.compile(r"(?:19|20)\d\d")
# "last", "ago": the latest such day, even if the same expression could mean one to come.
_BEFORE = tuple(
    word
    for key in ("previous", "yesterday", "before_yesterday", "ago_after", "ago_before", "last_few")
    for word in listed(key)
)
_PAST = re.compile(
    rf"\b(?:{any_of(filter(str.isascii, _BEFORE))})\b"
    rf"|{any_of(word for word in _BEFORE if not word.isascii())}|{past_words()}",
    re.IGNORECASE,
)
# "every Monday" is no one day.
_EACH = re.compile(r"\b(?:every|each|per|most|any)(?: other| single)?\s*$", re.IGNORECASE)
# What comes every year has no one date.
_YEARLY = re.compile(
    r"birthday|anniversary|geburtstag|jahrestag|cumpleaños|aniversario|anniversaire|день рождения|"
    r"生日|誕生日|^(?:the user|[\w-]+) was born\b",
    re.IGNORECASE,
)
# A date as it is added to what people said.
_ADDED = re.compile(r"\s*\(\d{4}(?:-\d\d){0,2}(?: to \d{4}(?:-\d\d){0,2})?\)")
_UNSPACED = re.compile(f"[{SCRIPTS['kana']}{SCRIPTS['han']}]")
# A longer time is not told more exactly by its days.
_LONGEST = 366 * DAY

# Whether what is told lies ahead: for a whole text, or by the words before a time in it. With None
# nobody knows.
Ahead = bool | None | Callable[[str], bool | None]


def dated(
    content: str,
    said_at: int,
    *,
    ahead: Ahead,
) -> str:
    """Content with its time expressions resolved against when it was said: "in May (2027-05)".

    `ahead` says whether it is about what is to come: then "on Friday" is the next one, otherwise
    the last. If nobody knows, what may be either gets no date.
    """
    pieces = []
    position = 0
    for end, days in dates_in(content, said_at, ahead=ahead):
        # Where words have no spaces between them, a date has none before it.
        space = "" if _UNSPACED.match(content[end - 1]) else " "
        pieces += [content[position:end], f"{space}({days})"]
        position = end
    return "".join([*pieces, content[position:]])


def dates_in(
    content: str,
    said_at: int,
    *,
    ahead: Ahead,
) -> Iterator[tuple[int, str]]:
    """The dates that `dated` adds to a text, each with the position behind its time expression."""
    if said_at <= 0 or _YEARLY.search(content):
        return
    position = 0
    for span in spans(content, said_at):
        at = content.find(span.text, position)
        lies_ahead = ahead(content[: max(at, 0)]) if callable(ahead) else ahead
        to_come = _ahead(span, said_at)
        unclear = lies_ahead is None and to_come != span
        end = at + len(span.text)
        # "tonight's dinner" cannot be told apart.
        inside = content[end : end + 1] in ("'", "’")
        if at < 0 or unclear or inside or not _needs_date(content[:at], span):
            continue
        yield end, _days(to_come if lies_ahead else span)
        position = end


def with_date_of(
    content: str,
    quote: str,
    said_at: int,
    *,
    ahead: Ahead,
) -> str:
    """A statement made of a quote, dated; one that lost the quote's only time gets its date at the
    end.
    """
    told = dated(content, said_at, ahead=ahead)
    days = [day for _, day in dates_in(quote, said_at, ahead=ahead)]
    if told != content or len(days) != 1 or spans(content, max(said_at, 1)):
        return told
    end = len(told.rstrip(".!。！ "))
    return f"{told[:end]} ({days[0]}){told[end:]}"


def without_dates(content: str) -> str:
    """A text without dates in parentheses, as `dated` would add them."""
    return _ADDED.sub("", content)


def share_days(content: str, other: str) -> bool:
    """Whether the first times that `dated` added to two texts have a day in common."""
    ours, theirs = _ADDED.search(content), _ADDED.search(other)
    if ours is None or theirs is None:
        return False
    first, last = _ends(ours[0])
    other_first, other_last = _ends(theirs[0])
    return first <= other_last and other_first <= last


def _ends(added: str) -> tuple[str, str]:
    """The first and the last day of an added time; a month ends after all of its days."""
    first, _, last = added.strip(" ()").partition(" to ")
    return first, f"{last or first}~"


def days_meant(text: str, said_at: int) -> Iterator[tuple[int, int]]:
    """First and last moment of every bounded time in a text, as past and as one to come."""
    for span in spans(text, said_at) if said_at > 0 else ():
        if span.start > BEGINNING and span.end < END:
            yield from {(one.start, one.end - 1) for one in (span, _ahead(span, said_at))}


def _needs_date(before: str, span: Span) -> bool:
    bounded = span.start > BEGINNING and span.end < END and span.end - span.start <= _LONGEST
    return bounded and not _YEAR.search(span.text) and not _EACH.search(before)


def _ahead(span: Span, said_at: int) -> Span:
    """The span, or its next occurrence if it is past: plans lie ahead."""
    today = said_at - said_at % DAY
    if span.end > today or _PAST.search(_folded(span.text)):
        return span
    weekday = span.end - span.start == DAY and not re.search(r"\d|月(?!曜)", span.text)
    if weekday:
        # Who says "on Friday" on a Friday does not mean today.
        later = 14 * DAY if span.start + 7 * DAY == today else 7 * DAY
        return Span(span.start + later, span.end + later, span.text)
    return Span(_a_year_on(span.start), _a_year_on(span.end), span.text)


def _folded(text: str) -> str:
    """Without accents, as the words for times are listed."""
    return "".join(
        letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter)
    )


def _a_year_on(micros: int) -> int:
    day = to_datetime(micros)
    try:
        return from_datetime(day.replace(year=day.year + 1))
    except ValueError:  # 29 February, or the end of time
        return micros + 365 * DAY


def _days(span: Span) -> str:
    first = to_datetime(span.start)
    last = to_datetime(span.end) - timedelta(days=1)
    if first.date() == last.date():
        return f"{first:%Y-%m-%d}"
    whole_months = first.day == 1 and (last + timedelta(days=1)).day == 1
    if whole_months and (first.month, last.month) == (1, 12) and first.year == last.year:
        return f"{first:%Y}"
    if whole_months:
        if first.month == last.month:
            return f"{first:%Y-%m}"
        return f"{first:%Y-%m} to {last:%Y-%m}"
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
