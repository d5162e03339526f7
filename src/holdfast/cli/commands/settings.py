"""`settings`: list every setting, and the profile of an owner."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from ... import config
from .. import output as show
from ..app import UPKEEP, Json, Scope, Store, app, open_memory

settings_app = typer.Typer(invoke_without_command=True)
app.add_typer(settings_app, name="settings", rich_help_panel=UPKEEP)
Switch = Literal["on", "off"]


@settings_app.callback()
def settings(context: typer.Context, as_json: Json = False) -> None:
    """List every setting, its value and where it comes from. `settings profile` shows and changes
    what is set for one owner.

    Example: holdfast settings --json
    """
    if context.invoked_subcommand is not None:
        return
    found = config.origins()
    if as_json:
        show.emit({o.name: {"value": o.value, "source": o.source, "help": o.help} for o in found})
        return
    rows = [(o.name, str(o.value), o.source, o.help) for o in found]
    show.table(("setting", "value", "from", "text"), rows, empty="")
    print(f"\nSet one as HOLDFAST_<NAME> or in {config.config_file()}.", file=sys.stderr)


@settings_app.command()
def profile(
    recall: Annotated[
        Switch | None,
        typer.Option("--recall", help="Proactive recall."),
    ] = None,
    memory: Annotated[
        Switch | None, typer.Option("--memory", help="Extraction of new memories.")
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Show or change the owner's profile. It switches proactive recall and memory itself on or
    off.

    Example: holdfast settings profile --recall off
    """
    with open_memory(store, scope) as hf:
        wanted = {"proactive_recall": recall, "enabled": memory}
        changes = {name: switch == "on" for name, switch in wanted.items() if switch is not None}
        told = hf.sessions.set_profile(**changes) if changes else hf.sessions.profile()
        if as_json:
            show.emit(told)
            return
        show.fields(
            (
                ("recall", "on" if told["proactive_recall"] else "off"),
                ("memory", "on" if told["enabled"] else "off"),
            )
        )
