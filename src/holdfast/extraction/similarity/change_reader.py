"""The model that reads an earlier and a later statement together: the reranker's second output."""

from __future__ import annotations

from ...errors import EmbedderError
from ...models.embeddings.tiers import Tiers
from ...models.reranker import Reranker
from ..judge import IDENTITY
from .changes import Reader


def reader_of(tiers: Tiers) -> Reader | None:
    """The reader, where the bundled encoder is used; who chose a faster model gets words alone."""
    if not any(each.identity == IDENTITY for each in tiers):
        return None
    reranker = Reranker()
    try:
        reranker.load()
    except EmbedderError:
        return None
    return reranker.changes
