"""Recent changes, run by run, and which of them were undone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice

from ..client import Holdfast
from ..storage.undone_runs import runs_of, undone
from ..types import Event, Events, iso
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
    runs = runs_of(hf.admin.log(limit=limit * EVENTS_PER_RUN))
    shown = (
        (changes, gone)
        for run, gone in zip(runs, undone(runs), strict=True)
        if (changes := _shown_of(run))
    )
    return [_listed_run(hf, changes, undone=gone) for changes, gone in islice(shown, limit)]


def _shown_of(run: Events) -> Events:
    """Return the changes of a run that are listed; none if it only holds what was said."""
    memories = [event for event in run if event.noun == "memory" and event.verb != SAID]
    entities = [
        event
        for event in run
        if event.noun in ("entity", "entity_name") and event.verb in ENTITY_VERBS
    ]
    return memories or entities


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
