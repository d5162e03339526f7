"""`store reembed`: compute missing embeddings."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import output as show
from ..app import Json, Scopes, Store, open_memory
from .store import stores


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
        total = sum(
            hf.store.counts(hf.scopes)[kind].get("active", 0) for kind in hf.store.counts(hf.scopes)
        )
        with show.progress("embedding", total * len(list(hf.tiers))) as bar:
            done = hf.admin.reembed(
                fresh=fresh, progress=lambda model, steps: show.advance(bar, steps)
            )
        if as_json:
            show.emit(done)
        else:
            for model, count in done.items():
                print(f"{count} embedded by {model}.")
