"""Vectors for memories that have none yet, made on the way: by a recall as much as by a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import EmbedderError
from ..models.embeddings.base import Embedder
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..storage.schema import indexed_text
from ..types import Memory, Scope

# Texts that a recall embeds in one transaction on its way.
CATCH_UP_STEP = 1000


def embed_some(
    store: Store,
    tiers: Tiers,
    embedder: Embedder,
    *,
    limit: int,
    scopes: Sequence[Scope] | None = None,
) -> int:
    """Embeds up to `limit` memories that have no vector of this model, and says how many it did."""
    return next(embed_all(store, tiers, embedder, step=limit, scopes=scopes), 0)


def embed_all(
    store: Store,
    tiers: Tiers,
    embedder: Embedder,
    *,
    step: int,
    scopes: Sequence[Scope] | None = None,
) -> Iterator[int]:
    """Embeds all memories that have no vector of this model, `step` at a time, and says after each
    how many it did.

    Each step goes on behind the last one, so that no memory is read twice. A model that fails loses
    nothing: the memories simply stay without a vector until it works again.
    """
    last: Memory | None = None
    while tiers.usable(embedder.identity) is not None:
        waiting = store.vectors.missing(embedder.identity, step, scopes, after=last)
        if not waiting or not _embed(store, tiers, embedder, waiting):
            return
        last = waiting[-1]
        yield len(waiting)


def _embed(store: Store, tiers: Tiers, embedder: Embedder, memories: Sequence[Memory]) -> bool:
    """Gives these memories their vectors; False when the model failed, which is noted."""
    try:
        rows = embedder.embed_documents([embedded_text(memory) for memory in memories])
        vectors = {memory.seq: row for memory, row in zip(memories, rows, strict=True)}
        store.vectors.add(
            list(dict.fromkeys(memory.scope for memory in memories)), embedder.identity, vectors
        )
    except EmbedderError as error:
        tiers.rest(embedder.identity, error)
        return False
    tiers.works(embedder.identity)
    return True


def embedded_text(memory: Memory) -> str:
    """What a model sees of a memory: its own words. Author and role are fields, never a prefix."""
    return indexed_text(memory.title, memory.content, ())


def catch_up(store: Store, tiers: Tiers, scopes: Sequence[Scope], *, limit: int) -> None:
    """Embeds what was written since the last recall with the quickest model, if that takes but a
    moment.
    """
    for embedder in tiers:
        if embedder.quick:
            for done in embed_all(
                store, tiers, embedder, step=min(limit, CATCH_UP_STEP), scopes=scopes
            ):
                limit -= done
                if limit <= 0:
                    break
        return
