"""Recent changes, run by run, and which of them were undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ..client import Holdfast
from ..types import Event, iso
from . import schemas

# Journal entries to read per requested run.
EVENTS_PER_RUN = 20
# Memories shown per run; an import has thousands.
SHOWN = 5
SAID = "capture"
# Runs that change entities and no memory, and are a person's.
ENTITY_VERBS = ("merge", "split", "rename", "undo")


def latest(hf: Holdfast, *, limit: int) -> list[schemas.RunOfChanges]:
    """Return the latest runs that changed memories, newest first."""
    found = list(_runs(hf.admin.log(limit=limit * EVENTS_PER_RUN)))[:limit]
    return [
        _listed_run(hf, run, undone=undone)
        for run, undone in zip(found, taken_back(found), strict=True)
    ]


def taken_back(runs: Iterable[Sequence[Event]]) -> Iterator[bool]:
    """Return for each run, newest first, whether a later one undid it.

    An undo changes what the run had changed, and nothing in between may have touched that. So it
    belongs to the nearest earlier run that changed the same memories; that run may itself be an
    undo.
    """
    waiting: list[frozenset[str]] = []
    for run in runs:
        targets = frozenset(event.target for event in run)
        undone = targets in waiting
        if undone:
            waiting.remove(targets)
        elif run[0].verb == "undo":
            waiting.append(targets)
        yield undone


def _runs(events: Iterable[Event]) -> Iterator[list[Event]]:
    for _, run in groupby(events, key=lambda event: event.run):
        changes = list(run)
        memories = [event for event in changes if event.noun == "memory" and event.verb != SAID]
        entities = [
            event
            for event in changes
            if event.noun in ("entity", "entity_name") and event.verb in ENTITY_VERBS
        ]
        if kept := memories or entities:
            yield kept


def _listed_run(
    hf: Holdfast,
    run: Sequence[Event],
    *,
    undone: bool,
) -> schemas.RunOfChanges:
    targets = list(dict.fromkeys(event.target for event in run if event.noun == "memory"))
    return schemas.RunOfChanges(
        run=run[0].run,
        at=iso(run[0].at),
        actor=run[0].actor,
        verb=run[0].verb,
        undone=undone,
        count=len(targets),
        memories=[schemas.Record.of(memory) for memory in hf.store.get(hf.scopes, targets[:SHOWN])],
        names=[] if targets else _names(hf, run),
    )


def _names(hf: Holdfast, run: Sequence[Event]) -> list[str]:
    """Names of the entities that a run changed, as they were and as they are."""
    changed = [event for event in run if event.noun == "entity"]
    told = [
        row["name"]
        for event in changed
        for row in (event.before, event.after)
        if row and "name" in row
    ]
    ids = [json.loads(event.target)[-1] for event in run]
    now = hf.store.entities.list(hf.scopes, ids=list(dict.fromkeys(ids)))
    return list(dict.fromkeys([*told, *(one.name for one in now)]))[:SHOWN]
