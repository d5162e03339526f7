"""Vectors for memories that have none yet, made on the way: by a recall as much as by a job."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import EmbedderError
from ..models.embed import Embedder
from ..models.tiers import Tiers
from ..store.base import Store
from ..store.rows import indexed_text
from ..types import Memory, Scope


def embed_some(
    store: Store, tiers: Tiers, embedder: Embedder, *, limit: int, scopes: Sequence[Scope] | None = None
) -> int:
    """Embeds up to `limit` memories that have no vector of this model, and says how many it did.

    A model that fails loses nothing: the memories simply stay without a vector until it works again.
    """
    if tiers.usable(embedder.identity) is None:
        return 0
    waiting = store.without_vector(embedder.identity, limit, scopes)
    if not waiting:
        return 0
    try:
        rows = embedder.embed_documents([embedded_text(memory) for memory in waiting])
        vectors = {memory.seq: row for memory, row in zip(waiting, rows, strict=True)}
        store.add_vectors(list(dict.fromkeys(memory.scope for memory in waiting)), embedder.identity, vectors)
    except EmbedderError as error:
        tiers.rest(embedder.identity, error)
        return 0
    tiers.works(embedder.identity)
    return len(waiting)


def embedded_text(memory: Memory) -> str:
    """What a model sees of a memory: its own words. Author and role are fields, never a prefix."""
    return indexed_text(memory.title, memory.content, ())


def catch_up(store: Store, tiers: Tiers, scopes: Sequence[Scope], *, limit: int) -> None:
    """Embeds what was written since the last recall with the quickest model, if that takes but a moment."""
    for embedder in tiers:
        if embedder.quick:
            while limit > 0 and (done := embed_some(store, tiers, embedder, limit=min(limit, 1000), scopes=scopes)):
                limit -= done
        return
