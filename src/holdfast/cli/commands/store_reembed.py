"""`store reembed`: compute missing embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .. import output as show
from ..app import Json, Scopes, Store, open_memory
from .store import stores

if TYPE_CHECKING:
    from ...client import Holdfast


@stores.command()
def reembed(
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Drop all vectors and start over.")
    ] = False,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Embed every memory with every model in use. It can be interrupted and resumes when run again.

    Example: holdfast store reembed --fresh
    """
    with open_memory(store, scope, make=False) as hf:
        with show.progress("embedding", _missing(hf, fresh=fresh)) as bar:
            done = hf.admin.reembed(
                fresh=fresh, progress=lambda model, steps: show.advance(bar, steps)
            )
        if as_json:
            show.emit(done)
        else:
            for model, count in done.items():
                print(f"{count} embedded by {model}.")


def _missing(hf: Holdfast, *, fresh: bool) -> int:
    """Number of vectors to compute: those that are missing, or with `fresh` all."""
    counts = hf.store.counts(hf.scopes).values()
    if fresh:
        return len([*hf.tiers]) * sum(sum(by_status.values()) for by_status in counts)
    active = sum(by_status.get("active", 0) for by_status in counts)
    there = hf.store.vectors.coverage(hf.scopes)
    return sum(max(0, active - there.get(model.identity, 0)) for model in hf.tiers)
