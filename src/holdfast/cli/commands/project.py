"""Commands for a project's memory: create, inspect, switch off and on, clear; also for own
records.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...records.roots import is_record, project_name
from ...text.terminal import counted
from ...types import STATUSES
from .. import output
from ..app import UPKEEP, Json, Store, Yes, app, confirmed
from ..open_store import working_folder
from ..record_roots import NO_PROJECT, chosen_place, every_record, near, open_records

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...records.roots import RecordRoot
    from ...types import Scope

project_app = typer.Typer(
    help="""Manage the memory of a project: records, indexed sessions and files built from them.
It lives in the folder .holdfast, safe to commit.

Example: holdfast project init""",
)
app.add_typer(project_app, name="project", rich_help_panel=UPKEEP, no_args_is_help=True)

Own = Annotated[
    bool,
    typer.Option("--personal", help="Your personal records instead of the project's."),
]


@project_app.command()
def init(
    name: Annotated[
        str, typer.Option(help="Name of the project. Default: the name of its folder.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Create the folder .holdfast at the top of this project, to be committed with it. Running it
    again changes nothing.

    Example: holdfast project init --name shop
    """
    from ...records.roots import folder_to_make, init_project

    place = init_project(folder_to_make(working_folder()), name)
    if as_json:
        output.emit({"scope": str(place.scope), "folder": str(place.root)})
        return
    print(
        f"{place.scope} keeps its records in {near(place.root)}. Commit that folder with the "
        "project."
    )
    print('Add one with: holdfast record add --category decisions "…"')


@project_app.command()
def status(store: Store = None, as_json: Json = False) -> None:
    """Show which records count here, the project's and your own. It also says whether memory is on.

    Example: holdfast project status --json
    """
    with open_records(store) as hf:
        stands = {place.name: _standing(hf, place) for place in hf.records.places}
        if as_json:
            output.emit(stands)
            return
        if "project" not in stands:
            print(NO_PROJECT)
        for name, one in stands.items():
            memory = "" if one["enabled"] else "; memory is off"
            called = f" ({one['name']})" if one["name"] else ""
            output.fields(
                [
                    (name, one["scope"] + called),
                    ("", one["folder"]),
                    ("", _counted(one["records"]) + memory),
                ]
            )


def _standing(hf: Holdfast, place: RecordRoot) -> dict[str, Any]:
    mine = [record for record in every_record(hf) if record.scope == place.scope]
    counts = Counter(
        record.category if record.status == "active" else record.status for record in mine
    )
    return {
        "scope": str(place.scope),
        "name": project_name(place) if place.name == "project" else "",
        "folder": str(place.root),
        "enabled": hf.scoped(place.scope).sessions.profile()["enabled"],
        "records": dict(counts),
    }


def _counted(counts: dict[str, int]) -> str:
    parts = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"{counted(sum(counts.values()), 'record')}{': ' if parts else ''}{parts}"


@project_app.command()
def disable(own: Own = False, store: Store = None) -> None:
    """Switch the memory of this project off. Nothing is recalled from it or written to it until
    `project enable`.

    Example: holdfast project disable
    """
    _switch(store, own=own, on=False)


@project_app.command()
def enable(own: Own = False, store: Store = None) -> None:
    """Switch the memory of this project on again. With --personal, switch on your personal records.

    Example: holdfast project enable --personal
    """
    _switch(store, own=own, on=True)


def _switch(
    store: str | None,
    *,
    own: bool,
    on: bool,
) -> None:
    with open_records(store) as hf:
        scope = chosen_place(hf, "assistant" if own else "project").scope
        hf.scoped(scope).sessions.set_profile(enabled=on)
        rest = (
            "" if on else " Its records stay where they are; they are neither recalled nor changed."
        )
        print(f"Memory of {scope} is {'on' if on else 'off'}.{rest}")


@project_app.command()
def clear(
    own: Own = False,
    yes: Yes = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Erase the memory of this project: records and their files, indexed and built content. No
    other project is affected.

    Example: holdfast project clear --yes
    """
    with open_records(store) as hf:
        mine = hf.scoped(_scope(hf, own=own))
        told = _held(mine)
        if not confirmed(f"Erase {told} for good, files and all?", yes=yes):
            print("Nothing was erased.", file=sys.stderr)
            raise typer.Exit(1)
        enabled = mine.sessions.profile()["enabled"]
        receipt = mine.admin.purge(owner=True)
        if not own:
            from ...namespaces.project_view import project_at

            project_at(hf, working_folder()).clear()
        # The purge also erases the profile, so the switch must be set again.
        if not enabled:
            mine.sessions.set_profile(enabled=False)
        output.emit(receipt.as_json()) if as_json else print(f"Erased {told}.")


def _scope(hf: Holdfast, *, own: bool) -> Scope:
    """Return the scope to clear. A project without records may have sessions and built files."""
    if own or any(place.name == "project" for place in hf.records.places):
        return chosen_place(hf, "assistant" if own else "project").scope
    from ...projects.project_folder import project_around

    around = project_around(working_folder()).scope
    return around if hf.store.sessions.list([around]) else chosen_place(hf, "project").scope


def _held(mine: Holdfast) -> str:
    """Describe the content of a scope."""
    every = mine.list(statuses=STATUSES)
    records = sum(is_record(memory) for memory in every)
    others = len(every) - records
    more = f" and {counted(others, 'other memory')}" if others else ""
    return f"{counted(records, 'record')}{more} of {mine.scopes[0]}"
