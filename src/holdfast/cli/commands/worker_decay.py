"""`worker decay`: lower the confidence of unused facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...text.terminal import shorten
from .. import output
from ..app import Json, Scope, Store, json_time, open_memory, when
from .worker import worker_app

if TYPE_CHECKING:
    from ...client import Holdfast


@worker_app.command()
def decay(
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would fade. Change nothing.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0.0,
            max=1.0,
            help="Facts below this confidence fade. Default: the setting.",
        ),
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Lower the confidence of unused facts and retire those below the threshold. `restore` brings
    a retired fact back.

    Example: holdfast worker decay --plan
    """
    with open_memory(store, scope, make=False) as hf:
        if plan:
            _show_plan(
                hf, hf.settings.decay_threshold if threshold is None else threshold, as_json=as_json
            )
            return
        done = hf.admin.decay(threshold=threshold)
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


def _show_plan(
    hf: Holdfast,
    threshold: float,
    *,
    as_json: bool,
) -> None:
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
