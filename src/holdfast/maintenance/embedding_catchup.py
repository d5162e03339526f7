"""Vectors for memories that have none yet, computed by recall as well as by jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import EmbedderError
from ..models.embeddings.base import Embedder
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..storage.row_codec import indexed_text
from ..types import Memory, Scope

# Texts that one recall embeds before it answers.
CATCH_UP_STEP = 1000


def embed_some(
    store: Store,
    tiers: Tiers,
    embedder: Embedder,
    *,
    limit: int,
    scopes: Sequence[Scope] | None = None,
) -> int:
    """Embed up to `limit` memories without a vector of this model; return their number."""
    return next(embed_all(store, tiers, embedder, step=limit, scopes=scopes), 0)


def embed_all(
    store: Store,
    tiers: Tiers,
    embedder: Embedder,
    *,
    step: int,
    scopes: Sequence[Scope] | None = None,
) -> Iterator[int]:
    """Embed all memories without a vector of this model, `step` at a time, yielding the count of
    each step.

    Each step continues after the last one, so no memory is read twice. A model failure loses
    nothing: the memories stay without a vector until the model works again.
    """
    last: Memory | None = None
    while tiers.usable(embedder.identity) is not None:
        waiting = store.vectors.missing(
            embedder.identity,
            step,
            scopes,
            after=last,
        )
        if not waiting or not _embed(store, tiers, embedder, waiting):
            return
        last = waiting[-1]
        yield len(waiting)


def _embed(
    store: Store,
    tiers: Tiers,
    embedder: Embedder,
    memories: Sequence[Memory],
) -> bool:
    """Embed these memories; on a model failure log it and return False."""
    try:
        rows = embedder.embed_documents([embedded_text(memory) for memory in memories])
        vectors = {memory.seq: row for memory, row in zip(memories, rows, strict=True)}
        store.vectors.add(
            list(dict.fromkeys(memory.scope for memory in memories)),
            embedder.identity,
            vectors,
        )
    except EmbedderError as error:
        tiers.rest(embedder.identity, error)
        return False
    tiers.works(embedder.identity)
    return True


def embedded_text(memory: Memory) -> str:
    """Text that a model embeds: the memory's content. Author and role are fields, never a
    prefix.
    """
    return indexed_text(memory.title, memory.content, ())


def catch_up(
    store: Store,
    tiers: Tiers,
    scopes: Sequence[Scope],
    *,
    limit: int,
) -> None:
    """Embed memories written since the last recall with the fastest model, if there are only a
    few.
    """
    for embedder in tiers:
        if embedder.quick and _is_behind(store, embedder, scopes):
            for done in embed_all(
                store, tiers, embedder, step=min(limit, CATCH_UP_STEP), scopes=scopes
            ):
                limit -= done
                if limit <= 0:
                    break
        return


def _is_behind(store: Store, embedder: Embedder, scopes: Sequence[Scope]) -> bool:
    """Whether a memory has no vector of this model; usually none, and nothing new to be read."""
    with store.reading(scopes):
        return bool(store.vectors.missing(embedder.identity, 1, scopes))
