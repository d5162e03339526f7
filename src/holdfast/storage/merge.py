"""Merge two stores' versions of one row. Pure functions: both sides compute the same result.

A journal only grows, and each store keeps its entries in causal order, so the entries alone
determine a row. The row exists if the latest entry that adds or removes it adds it. Each column has
the value of its latest change. Latest means by time, then by run id (run ids ascend); never by
order of arrival, which differs between stores.

    only one side has news       its row is used as it is, whatever the clocks say
    both sides have news         merged per column, the later change wins
    one side has purged it       it is purged; nothing of the other side's row is written
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
"""Name of an entry about a row, equal in every store: its run, and its index among that run's
entries about the row.
"""


@dataclass(frozen=True, slots=True)
class Lineage:
    """One row with its column values, or None if it does not exist, and its journal entries in
    order.
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
        """Whether it is a quarantined memory: columns that the journal does not prove may be
        wrong.
        """
        return (
            self.noun == "memory"
            and self.row is not None
            and self.row["status_reason"].startswith(QUARANTINED)
        )

    @property
    def purged(self) -> bool:
        """Whether it was erased permanently. A memory id is never reused; the key of another noun
        may be.
        """
        return (self.noun == "memory" or self.row is None) and any(map(is_purged, self.events))


def is_purged(event: Event) -> bool:
    """Whether the content of an entry was erased."""
    return PURGED in (event.before or ())


def ends_owner(event: Event) -> bool:
    """Whether an entry records the erasure of its whole scope; see `Erasure.scope`."""
    return event.noun == PROFILES.noun and event.before == {PURGED: True}


def named(events: Iterable[Event]) -> dict[Name, Event]:
    """Return the entries about one row by name, in order."""
    count: dict[str, int] = {}
    found = {}
    for event in events:
        place = count.get(event.run, 0)
        count[event.run] = place + 1
        found[event.run, place] = event
    return found


def joined(ours: Lineage, theirs: Lineage) -> Lineage:
    """Return the merged lineage: our entries, then the new ones of the other side."""
    mine = named(ours.events)
    others = named(theirs.events)
    events = {name: _the_emptier(event, others.get(name)) for name, event in mine.items()}
    events |= {name: event for name, event in others.items() if name not in mine}
    row = ours.row
    if ours.aside != theirs.aside and ours.row is not None and theirs.row is not None:
        # One side is quarantined. The other still has the stored row; add the changes made since.
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
    """Whether the merged lineage has more than ours."""
    return ours.events != together.events or ours.row != together.row


def _the_emptier(event: Event, theirs: Event | None) -> Event:
    return theirs if theirs is not None and is_purged(theirs) and not is_purged(event) else event


def _without_words(event: Event) -> Event:
    if event.before is None or is_purged(event):
        return event
    # A profile keeps a different mark, because {PURGED: True} on it would mean that the whole scope
    # was erased.
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
    # A purged entry has no images, so it may have been a change or a removal. A side that has the
    # entry shows which one by having the row.
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
        # The journal of an older version may name columns that no longer exist.
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
    """Order the sides by when their row was added. The first decides columns that no change
    touched.
    """

    def added(side: Lineage) -> tuple[Any, ...]:
        known = named(side.events)
        return min(
            (_moment(name, one) for name, one in known.items() if one.before is None),
            default=(0, "", 0),
        )

    return sorted(sides, key=added)


def _changes(events: Mapping[Name, Event]) -> dict[str, Any]:
    """Return each changed column with the value of its latest change."""
    values: dict[str, Any] = {}
    for name in sorted(events, key=lambda name: _moment(name, events[name])):
        values |= events[name].after or {}
    return values
