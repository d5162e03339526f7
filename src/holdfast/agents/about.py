"""Memories that an utterance refers to: by all of its words, by a name, by most words, by
meaning.
"""

from __future__ import annotations

from ..client import Holdfast
from ..storage.row_codec import indexed_text
from ..storage.store_types import Filter
from ..text.normal_forms import fold
from ..text.tokens import index_terms, query_terms
from ..types import Kind, Memories, Status

LIVE: tuple[Status, ...] = ("active", "held", "proposed")
KINDS: tuple[Kind, ...] = ("fact", "episode", "rule", "reflection", "skill")
OPTIONS = 9  # candidates per search
# Candidates for "forget about …".
FOUND = 50
# Cosine. Memories that are less similar were hardly meant.
AKIN = 0.6


def matching(hf: Holdfast, about: str) -> Memories:
    """Return the memories that "forget about …" refers to: by all words, a name, most words, or
    meaning.
    """
    for wanted in (KINDS, ("turn", "document")):
        where = Filter(hf.scopes, kinds=wanted, statuses=LIVE)
        if found := _by_words(hf, where, about) or _by_name(hf, where, about):
            return found
    hits = hf.recall(about, kinds=KINDS, limit=OPTIONS, min_score=0.0)
    return [hit.memory for hit in hits if (hit.why.similarity or 0.0) >= AKIN]


def mentioning(hf: Holdfast, words: str) -> Memories:
    """Return active memories with all of these words or about the named entity; similarity is not
    enough.
    """
    where = Filter(hf.scopes, kinds=KINDS)
    terms = set(query_terms(words))
    found = {one.id: one for one in _by_name(hf, where, words)}
    ranked = hf.store.by_text(where, list(terms), FOUND) if terms else []
    for one in hf.store.get(hf.scopes, [seq for seq, _ in ranked]):
        if terms <= set(index_terms(indexed_text(one.title, one.content, one.tags))):
            found.setdefault(one.id, one)
    return list(found.values())


def _by_words(
    hf: Holdfast,
    where: Filter,
    about: str,
) -> Memories:
    terms = set(query_terms(about))
    ranked = hf.store.by_text(where, list(terms), FOUND)
    found = hf.store.get(hf.scopes, [seq for seq, _ in ranked])
    shared = {
        one.id: len(terms & set(index_terms(indexed_text(one.title, one.content, one.tags))))
        for one in found
    }
    whole = [one for one in found if shared[one.id] == len(terms)]
    return whole or [
        one for one in found if shared[one.id] > 1 and 2 * shared[one.id] >= len(terms)
    ]


def _by_name(
    hf: Holdfast,
    where: Filter,
    about: str,
) -> Memories:
    ranked = hf.store.by_entity(where, [fold(about.lstrip("@#"))], FOUND)
    return hf.store.get(hf.scopes, [seq for seq, _ in ranked])
