"""First and last day of calendar units: a month, a year, the week after the next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

Days = tuple[date, date] | None


def one_day(
    year: int,
    month: int,
    day: int,
) -> Days:
    """That day alone. Raises ValueError if there is no such day."""
    only = date(year, month, day)
    return only, only


def one_month(year: int, month: int) -> tuple[date, date]:
    """That month; the thirteenth is the first of the next year."""
    year = year + (month - 1) // 12
    month = (month - 1) % 12 + 1
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)


def months(
    year: int,
    month: int,
    count: int,
) -> Days:
    """So many months from that one on."""
    return one_month(year, month)[0], one_month(year, month + count - 1)[1]


def latest_begun(days_of: Callable[[int], Days], today: date) -> Days:
    """Return the days in the latest year in which they have begun; a leap day may be some years
    back.
    """
    for year in range(today.year, today.year - 9, -1):
        try:
            days = days_of(year)
        except ValueError:
            continue
        if days and days[0] <= today:
            return days
    return None


def unit_span(
    unit: str,
    step: int,
    today: date,
) -> Days:
    """Return the calendar week, weekend, month, quarter or year `step` units from the current
    one.
    """
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
    if unit == "week":
        return monday, monday + timedelta(days=6)
    if unit == "weekend":
        return monday + timedelta(days=5), monday + timedelta(days=6)
    if unit == "month":
        return one_month(today.year, today.month + step)
    if unit == "quarter":
        return months(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * step, 3)
    if unit == "year":
        return months(today.year + step, 1, 12)
    return today + timedelta(days=step), today + timedelta(days=step)


def units_ago(
    count: int,
    unit: str,
    today: date,
) -> Days:
    """Go back as precisely as people mean it: to a day, a week around the day, or a whole month or
    year.
    """
    if unit == "day":
        return today - timedelta(days=count), today - timedelta(days=count)
    if unit in ("week", "weekend"):
        middle = today - timedelta(weeks=count)
        return middle - timedelta(days=4), middle + timedelta(days=3)
    return unit_span(unit, -count, today)
