"""The known memories to compare a statement with: those that share the most words."""

from __future__ import annotations

from collections.abc import Sequence

from ...storage.protocol import Store
from ...storage.store_types import Filter
from ...text.tokens import query_terms
from ...types import Memories, Memory, Scope
from ..policy import PEOPLE
from .change_words import words_of

# Memories: whatever repeats or contradicts a statement is among them.
NEAR = 20
# Facts, newest first, that are looked through for the matter of a change.
NEWEST = 200


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


def may_change(
    store: Store,
    scope: Scope,
    turns: Sequence[Memory],
) -> Memories:
    """Known facts and rules that something said in these turns may change, likeliest first.

    Where a turn tells of a change, those are also the facts on the same slot: "we moved to
    Valencia" shares no word with "lives in Madrid". What happened once is not changed any more.
    """
    said = [words_of(turn.content) for turn in turns if turn.role in PEOPLE]
    slots = {slot for words in said if words.tells_change for slot in words.single_slots}
    newest = store.list(Filter((scope,), kinds=("fact",)), limit=NEWEST) if slots else []
    on_slots = [one for one in newest if slots & words_of(one.content).slots]
    text = " ".join(words.text for words in said)
    near = sharing_words(store, Filter((scope,), kinds=("fact", "rule")), text)
    found = {one.id: one for one in (*on_slots, *near)}
    return [one for one in found.values() if not words_of(one.content).is_event]
