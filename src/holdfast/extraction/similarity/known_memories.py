"""The known memories to compare a statement with: those that share the most words."""

from __future__ import annotations

from ...storage.protocol import Store
from ...storage.store_types import Filter
from ...text.tokens import query_terms
from ...types import Memories

# Memories: whatever repeats or contradicts a statement is among them.
NEAR = 20


def sharing_words(
    store: Store,
    where: Filter,
    text: str,
    *,
    limit: int = NEAR,
) -> Memories:
    """Memories that pass a filter and share the most words with a text, best first."""
    ranked = store.by_text(where, query_terms(text), limit)
    return store.get(where.scopes, [seq for seq, _ in ranked])
