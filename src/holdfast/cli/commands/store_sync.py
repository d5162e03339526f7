"""`store sync`: keep two stores equal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...text.terminal import counted
from .. import output
from ..app import Json, Scopes, Store, open_memory
from ..open_store import doctor_of
from .store import stores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...replication.sync import Synced


@stores.command()
def sync(
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH|URL",
            show_default=False,
            help="The other store, created if needed. Default: the setting sync_with.",
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be done. Change nothing.")
    ] = False,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Exchange changes with another store, in both directions. Each side gets what changed in the
    other since the last sync.

    Example: holdfast store sync /media/usb/memory.db --plan
    """
    # Deferred import, because it loads the database.
    from ...storage.connect import is_server

    with open_memory(store, scope, quiet=True) as hf:
        other = place or hf.settings.sync_with
        # Checked before the sync, which creates the file.
        is_new = bool(other) and not is_server(other) and not Path(other).expanduser().exists()
        with output.progress("syncing") as bar:
            done = hf.admin.sync(place, plan=plan, progress=output.follow(bar))
        doctor = doctor_of(hf)
    if as_json:
        output.emit(_json(done, plan=plan))
    else:
        _tell(done, plan=plan)
        if is_new:
            print(
                f"There was no store at {done.location}; "
                f"{'it would be made' if plan else 'it was made for this'}."
            )
    output.left_out(done.left_out, doctor)


def _json(done: Synced, *, plan: bool) -> dict[str, Any]:
    return {
        "with": done.location,
        "scopes": [str(scope) for scope in done.scopes],
        "planned": plan,
        "received": dict(done.received),
        "sent": dict(done.sent),
        "conflicts": [list(pair) for pair in done.conflicts],
        "left_out": done.left_out,
    }


def _tell(done: Synced, *, plan: bool) -> None:
    if done.nothing:
        print(
            f"Nothing to do: {', '.join(map(str, done.scopes))} is the same here and in "
            f"{done.location}."
        )
        return
    would = "Would receive" if plan else "Received"
    print(
        f"{would} {_counted(done.received)} from {done.location}, {'send' if plan else 'sent'} "
        f"{_counted(done.sent)}."
    )
    for later, earlier in done.conflicts:
        print(
            f"{later} and {earlier} contradict each other. Both stand: correct or forget one "
            "of "
            "them."
        )


def _counted(changes: Mapping[str, int]) -> str:
    memories = changes.get("memory", 0)
    others = sum(changes.values()) - changes.get("memory", 0)
    told = f"{counted(memories, 'memory')} and {counted(others, 'other change')}"
    return told if memories or others else "nothing"
