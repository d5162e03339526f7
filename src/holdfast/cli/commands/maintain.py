"""Commands for a memory that lives: what fades, what comes back, who is known, and the work that
keeps it so.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InvalidInput
from ...text.terminal import plain, shorten
from .. import output
from ..app import (
    READING,
    UPKEEP,
    Id,
    Json,
    Scope,
    Store,
    app,
    json_time,
    open_memory,
    undo_command,
    when,
)
from .worker import Scopes, aside, ended_by_signals, json_line, tell, worker_here

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...extraction.job_types import Worker
    from ...maintenance.plan import Foreseen
    from ...storage.protocol import Spent
    from ...types import Entity

entity_app = typer.Typer(
    no_args_is_help=True, help="The people, projects and places that memories mention."
)
app.add_typer(entity_app, name="entity", rich_help_panel=READING)
# columns and days of a forecast
WIDTH = 60
DAYS = 90
WHAT_IS_DONE = {
    "enrich": "Take a second look for people, places and projects in memories that name few.",
    "decay": "Let facts that nobody uses become less sure.",
    "reflect": "Look back on what was learned this week.",
}
"""What a task of maintenance does, where that does not depend on the job."""


@app.command(rich_help_panel=UPKEEP)
def maintain(
    once: Annotated[
        str | None,
        typer.Option(
            "--once",
            metavar="TASK",
            help="Do enrich, consolidate, decay, reflect or all now, then stop.",
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show what is due, and about what it would cost.")
    ] = False,
    interval: Annotated[
        float,
        typer.Option(
            "--interval", min=0.01, metavar="SECONDS", help="How often to look at the clock."
        ),
    ] = 30.0,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Read conversations, let unused facts fade, look back once a week: at their times, until
    stopped.

    Workers on several machines share the work. The setting `maintenance` holds the times.
    """
    from ...maintenance import schedule
    from ...maintenance.job_runner import TASKS
    from ...maintenance.job_runner import once as do_once

    stop = threading.Event()
    told = json_line if as_json else tell
    with open_memory(store, scope) as hf, ended_by_signals(stop):
        worker = worker_here(hf, everywhere=not scope, stop=stop)
        entries = schedule.schedule(hf.settings.maintenance)
        if once not in (None, "all", *TASKS):
            raise InvalidInput(f"There is no task {once!r}. Use: {', '.join(TASKS)}, all.")
        tasks = list(TASKS) if once in (None, "all") else [once]
        if plan:
            _show_outlook(worker, tasks, as_json=as_json)
            return
        if once is not None:
            if not aside(partial(do_once, worker, tasks, told)) and not as_json:
                print("Nothing is due.")
            return
        print(
            f"Maintaining {hf.store.location} as {worker.name}. Ctrl-C ends it.",
            file=sys.stderr,
            flush=True,
        )
        for entry in entries:
            print(f"{entry.task}: {entry.times} (UTC)", file=sys.stderr, flush=True)
        aside(partial(schedule.maintain, worker, entries, interval=interval, told=told))
        print("Stopped.", file=sys.stderr)


def _show_outlook(worker: Worker, tasks: Sequence[str], *, as_json: bool) -> None:
    from ...maintenance.plan import outlook
    from ...storage.protocol import Spent

    found = list(outlook(worker, tasks))
    if as_json:
        output.emit(
            [
                {
                    "task": one.task,
                    "scope": str(one.due.scope),
                    "key": one.due.key,
                    **one.cost._asdict(),
                }
                for one in found
            ]
        )
        return
    rows = [
        (one.task, str(one.due.scope), _asked_about(one.cost), _what_is_done(one)) for one in found
    ]
    output.table(
        ("task", "scope", "language model", "text"), rows, empty="Nothing is due.", headed=True
    )
    if found:
        print(
            output.cost(
                Spent(sum(one.cost.calls for one in found), sum(one.cost.tokens for one in found))
            )
        )


def _what_is_done(one: Foreseen) -> str:
    """A job of maintenance in words."""
    if one.task == "consolidate":
        return f"Read session {one.due.key}, and keep what it teaches."
    return WHAT_IS_DONE[one.task]


def _asked_about(cost: Spent) -> str:
    return (
        f"{output.times(cost.calls)}, about {cost.tokens:,} tokens" if cost.calls else "not asked"
    )


@app.command(rich_help_panel=UPKEEP)
def decay(
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would fade; change nothing.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", min=0.0, max=1.0, help="Below this a fact fades. Default: as set."
        ),
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Let facts that nobody uses become less sure; those with hardly anything left fade, and can be
    restored.
    """
    with open_memory(store, scope, make=False) as hf:
        if plan:
            _show_plan(
                hf, hf.settings.decay_threshold if threshold is None else threshold, as_json=as_json
            )
            return
        done = hf.decay(threshold=threshold)
        if as_json:
            output.emit({"decayed": done.decayed, "faded": done.faded})
        else:
            print(f"Less sure than before: {done.decayed}. Faded: {done.faded}.")
            if done.faded:
                print(
                    "`holdfast list --status faded` shows what has faded, `holdfast restore "
                    "ID` "
                    "brings one back."
                )


def _show_plan(hf: Holdfast, threshold: float, *, as_json: bool) -> None:
    from ...maintenance.decay import fades_at, plan

    found = sorted(
        plan(hf.store, hf.scopes, hf.clock(), threshold=threshold), key=lambda one: one.confidence
    )
    if as_json:
        output.emit(
            [
                {
                    "id": one.memory.id,
                    "content": one.memory.content,
                    "confidence": one.memory.confidence,
                    "would_be": one.confidence,
                    "fades": one.gone,
                    "fades_at": json_time(fades_at(one.memory, threshold)),
                }
                for one in found
            ]
        )
        return
    rows = [
        (
            one.memory.id,
            f"{one.memory.confidence:.2f}",
            f"{one.confidence:.2f}",
            "now" if one.gone else when(fades_at(one.memory, threshold)),
            shorten(one.memory.content, 200),
        )
        for one in found
    ]
    output.table(("id", "is", "would be", "fades", "text"), rows, empty="Nothing here fades.")


@app.command(rich_help_panel=READING)
def forecast(
    ref: Id,
    days: Annotated[int, typer.Option("--days", min=1, help="How far to look ahead.")] = DAYS,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Draw how sure a fact will be in the days to come if nobody uses it."""
    from ...maintenance.decay import fades_at, retention
    from ...types import DAY

    with open_memory(store, scope, make=False) as hf:
        memory = hf.get(ref)
        now = hf.clock()
        steps = [round(days * step / 15) for step in range(16)]
        curve = [(day, retention(memory, now + day * DAY)) for day in dict.fromkeys(steps)]
        threshold = hf.settings.decay_threshold
        end = fades_at(memory, threshold)
        if as_json:
            output.emit(
                {
                    "id": memory.id,
                    "fades_at": json_time(end),
                    "curve": [list(point) for point in curve],
                }
            )
            return
        print(plain(shorten(memory.content, 100)))
        for day, left in curve:
            mark = "█" * round(left * WIDTH) if left >= threshold else "·"
            print(f"day {day:>4}  {left:5.2f}  {mark}")
        print(
            "It never fades."
            if end is None
            else f"It fades on {when(end)} unless it is used before."
        )


def _entity_json(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "mentions": entity.mentions,
    }


@entity_app.command("list")
def list_entities(
    type_: Annotated[
        str | None, typer.Option("--type", help="Only person, project, organization, location…")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 50,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """List who and what is mentioned, most mentioned first."""
    with open_memory(store, scope, make=False) as hf:
        found = hf.entities(types=[type_] if type_ else (), limit=limit)
        if as_json:
            output.emit([_entity_json(one) for one in found])
            return
        rows = [
            (one.id, one.type, str(one.mentions), one.name, ", ".join(one.aliases)) for one in found
        ]
        output.table(
            ("id", "type", "mentions", "name", "text"), rows, empty="Nobody is mentioned yet."
        )


@entity_app.command("show")
def show_entity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, an alias or an id.")],
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="How many memories at most.")
    ] = 10,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Tell everything about one of them: other names, since when it is mentioned, and the latest
    memories that do.
    """
    with open_memory(store, scope, make=False) as hf:
        about = hf.about(name, limit=None)
        entity = about.entity
        days = list(about.timeline)
        shown = about.memories[:limit]
        first, last = (days[0], days[-1]) if days else (None, None)
        if as_json:
            told = {
                "first_mentioned": first,
                "last_mentioned": last,
                "memories": [output.memory_json(m) for m in shown],
            }
            output.emit({**_entity_json(entity), **told})
            return
        output.fields(
            (
                ("id", entity.id),
                ("name", entity.name),
                ("type", entity.type),
                ("also", ", ".join(entity.aliases)),
                ("summary", entity.summary),
                ("mentions", entity.mentions),
                ("first", first),
                ("last", last),
            )
        )
        output.memories(shown)


@entity_app.command()
def merge(
    keep: Annotated[str, typer.Argument(metavar="KEEP", help="The one that stays.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER…", help="Those that are the same.")],
    store: Store = None,
    scope: Scope = None,
) -> None:
    """Say that several are one and the same; `holdfast undo` takes it back."""
    with open_memory(store, scope, make=False) as hf:
        kept = hf.merge_entities(keep, *others)
        print(
            plain(
                f"{kept.name} also goes by {', '.join(kept.aliases)}. Undo with: {undo_command(hf)}"
            )
        )


@entity_app.command()
def split(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The one that is several.")],
    names: Annotated[
        list[str], typer.Argument(metavar="ALIAS…", help="The names that belong to another.")
    ],
    store: Store = None,
    scope: Scope = None,
) -> None:
    """Give some names of an entity, and the memories with them, to one of their own."""
    with open_memory(store, scope, make=False) as hf:
        new = hf.split_entity(name, *names)
        print(plain(f"{new.name} is now apart from {name}. Undo with: {undo_command(hf)}"))


@entity_app.command()
def rename(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The one to rename.")],
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="What it is called from now on.")],
    type_: Annotated[
        str | None, typer.Option("--type", help="What it is: person, project, organization…")
    ] = None,
    store: Store = None,
    scope: Scope = None,
) -> None:
    """Call an entity something else; the old name stays as another one."""
    with open_memory(store, scope, make=False) as hf:
        renamed = hf.rename_entity(name, new_name, type=type_)
        print(plain(f"{name} is now {renamed.name}. Undo with: {undo_command(hf)}"))
