"""What two stores know of one row, put together: pure judgement, the same on whichever side it is
made.

A journal is a set of entries that only grows, and every store has its entries in an order that
respects cause and effect. So what a row is can be told from the entries alone: it is there if the
latest entry that adds or removes it adds it, and each of its columns has the value that the latest
change of it gave. Latest means by the time of the entry, then by its run, whose ids rise; never by
the order of arrival, which differs from store to store.

    only one side has news       its row is taken as it is, whatever the clocks say
    both sides have news         column by column, the later change stands
    one side has purged it       it is purged; no word of the other side's row is written anywhere
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..types import Event, Micros
from .damage import QUARANTINED
from .journal import PURGED
from .schema import PROFILES, TABLES, key_of

Row = Mapping[str, Any]
Name = tuple[str, int]
"""What an entry about a row is called in every store: its run, and its place among the entries of
that run.
"""


@dataclass(frozen=True, slots=True)
class Lineage:
    """One row, as its columns hold it, or None where there is none, and all that the journal tells
    of it in order.
    """

    noun: str
    target: str
    row: Row | None
    events: tuple[Event, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """The values of the row's key columns."""
        return key_of(self.noun, self.target)

    @property
    def aside(self) -> bool:
        """Whether it is a memory that was damaged and put aside: other columns than the journal
        tells may be wrong.
        """
        return (
            self.noun == "memory"
            and self.row is not None
            and self.row["status_reason"].startswith(QUARANTINED)
        )

    @property
    def purged(self) -> bool:
        """Whether it was erased for good. A memory stays so; under another noun's key something new
        may begin.
        """
        return (self.noun == "memory" or self.row is None) and any(map(is_purged, self.events))


def is_purged(event: Event) -> bool:
    """Whether the words of an entry were erased."""
    return PURGED in (event.before or ())


def ends_owner(event: Event) -> bool:
    """Whether an entry says that its whole scope was erased; see `purge_scope`."""
    return event.noun == PROFILES.noun and event.before == {PURGED: True}


def named(events: Iterable[Event]) -> dict[Name, Event]:
    """The entries about one row by name, in order."""
    count: dict[str, int] = {}
    found = {}
    for event in events:
        place = count.get(event.run, 0)
        count[event.run] = place + 1
        found[event.run, place] = event
    return found


def joined(ours: Lineage, theirs: Lineage) -> Lineage:
    """What both know together. The entries are ours, then those of theirs that are new."""
    mine = named(ours.events)
    others = named(theirs.events)
    events = {name: _the_emptier(event, others.get(name)) for name, event in mine.items()}
    events |= {name: event for name, event in others.items() if name not in mine}
    row = ours.row
    if ours.aside != theirs.aside and ours.row is not None and theirs.row is not None:
        # One of them is damaged and was put aside. The other is what was stored, with what was
        # changed since.
        sound = theirs if ours.aside else ours
        row = (
            {**(sound.row or {}), **_changes(events)} if _present((ours, theirs), events) else None
        )
    elif not others.keys() <= mine.keys():
        row = theirs.row if mine.keys() <= others.keys() else _merged(ours, theirs, events)
    together = replace(ours, row=row, events=tuple(events.values()))
    if together.purged:
        return replace(together, row=None, events=tuple(map(_without_words, together.events)))
    return together


def has_news(ours: Lineage, together: Lineage) -> bool:
    """Whether what both know together is more than what we knew."""
    return ours.events != together.events or ours.row != together.row


def _the_emptier(event: Event, theirs: Event | None) -> Event:
    return theirs if theirs is not None and is_purged(theirs) and not is_purged(event) else event


def _without_words(event: Event) -> Event:
    if event.before is None or is_purged(event):
        return event
    # Of a profile only its words go; that they went must not look like the end of everything.
    return replace(
        event, before={PURGED: "words" if event.noun == PROFILES.noun else True}, after=None
    )


def _present(sides: Iterable[Lineage], events: Mapping[Name, Event]) -> bool:
    """Whether the latest entry that adds or removes the row adds it."""
    of_presence = {
        name: one for name, one in events.items() if one.before is None or one.after is None
    }
    if not of_presence:
        return False
    latest = _latest(of_presence)
    # A change, or a removal? Who has it knows.
    if is_purged(events[latest]):
        return any(side.row is not None for side in sides if latest in named(side.events))
    return events[latest].before is None


def _latest(events: Mapping[Name, Event]) -> Name:
    return max(events, key=lambda name: _moment(name, events[name]))


def _moment(name: Name, event: Event) -> tuple[Micros, str, int]:
    return event.at, *name


def _merged(
    ours: Lineage,
    theirs: Lineage,
    events: Mapping[Name, Event],
) -> Row | None:
    if not _present((ours, theirs), events):
        return None
    first, second = _by_age(ours, theirs)
    if first.row is None or second.row is None:
        base = first.row or second.row
        # A journal of an older version may tell of columns that are no longer there.
        changed = _changes(events)
        return None if base is None else {**base, **{c: changed[c] for c in base if c in changed}}
    later = _changes(events)
    row = dict(first.row)
    for column, value in second.row.items():
        if value == row[column]:
            continue
        if column in TABLES[ours.noun].observed:
            row[column] = max((row[column], value), key=lambda seen: (seen is not None, seen))
        elif column in later:
            row[column] = later[column]
    return row


def _by_age(*sides: Lineage) -> list[Lineage]:
    """The two sides, the one first whose row was added first: what no change touched is as it has
    it.
    """

    def added(side: Lineage) -> tuple[Any, ...]:
        known = named(side.events)
        return min(
            (_moment(name, one) for name, one in known.items() if one.before is None),
            default=(0, "", 0),
        )

    return sorted(sides, key=added)


def _changes(events: Mapping[Name, Event]) -> dict[str, Any]:
    """The value that the latest change gave to each column that was changed."""
    values: dict[str, Any] = {}
    for name in sorted(events, key=lambda name: _moment(name, events[name])):
        values |= events[name].after or {}
    return values
