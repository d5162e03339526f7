"""Which runs of the journal were undone by later ones.

The journal does not name the run that an undo took back, so it is found by what both changed: an
undo restores in each row what the run had replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..types import Event, Events, Scope

UNDO = "undo"
Image = Mapping[str, Any] | None
"""The changed columns of a row, or None where there is no row."""
Change = tuple[Image, Image]
Rows = dict[tuple[Scope, str, str], Change]
"""What a run changed: each row before and after it."""
# Rows that an undo leaves although its run added them: other runs mention the entity by now.
_LEFT = frozenset(("entity", "entity_name"))
# Rows that an undo removes although its run did not add them: they go with their session.
_TAKEN = frozenset(("progress",))


def runs_of(events: Iterable[Event]) -> list[Events]:
    """Group journal entries, newest first, by run. Runs of several processes may alternate."""
    runs: dict[str, Events] = {}
    for event in events:
        runs.setdefault(event.run, []).append(event)
    return list(runs.values())


def undone(runs: Iterable[Events]) -> Iterator[bool]:
    """Return for each run, newest first, whether a later one undid it.

    The run that was undone may be an undo itself: what that one undid then stands again. Where
    several runs fit, it is the nearest.
    """
    waiting: list[Rows] = []
    for run in runs:
        rows = _net_changes(run) if waiting or run[0].verb == UNDO else {}
        by = next((undo for undo in waiting if _reverts(undo, rows)), None)
        if by is not None:
            waiting.remove(by)
        elif run[0].verb == UNDO:
            # The newest first: undos are taken back and followed in the order of a stack.
            waiting.insert(0, rows)
        yield by is not None


def _net_changes(run: Events) -> Rows:
    """Return each row that a run changed, before and after it."""
    rows: Rows = {}
    for event in run:
        key = event.scope, event.noun, event.target
        # Of a row that was added, the journal has neither image.
        now: Image = event.after or {} if event.before is None else event.after
        # Entries come newest first, so this one is earlier: its `before` counts, and the other's
        # `after`.
        before, after = rows.get(key, ({}, now))
        rows[key] = (
            None if event.before is None else {**(before or {}), **event.before},
            None if after is None else {**(now or {}), **after},
        )
    return rows


def _reverts(undo: Rows, run: Rows) -> bool:
    shared = undo.keys() & run.keys()
    if not shared:
        return False
    only_undo = undo.keys() - shared
    only_run = run.keys() - shared
    if any(noun not in _TAKEN for _, noun, _ in only_undo):
        return False
    if any(noun not in _LEFT for _, noun, _ in only_run):
        return False
    return all(_inverse(undo[row], run[row]) for row in shared)


def _inverse(undo: Change, run: Change) -> bool:
    was, is_ = undo
    before, after = run
    if (was is None) != (after is None):
        return False
    if (is_ is None) != (before is None):
        return False
    if was is None or is_ is None:
        # The row came or went. Its uses may have changed meanwhile, so nothing else is compared.
        return True
    return _agree(is_, before) and _agree(was, after)


def _agree(one: Image, other: Image) -> bool:
    """Whether two images are equal in the columns that both have: a later change of other columns
    stays when a run is undone.
    """
    if one is None or other is None:
        return one is other
    shared = one.keys() & other.keys()
    return all(one[column] == other[column] for column in shared)
