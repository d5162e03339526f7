"""Scores of hits for frameworks that expect a similarity.

Our own scores say how likely a memory is the answer. They depend on the other memories, so a
threshold that a program chose for similarities would drop good hits.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from ..types import Hit


def similarity(hit: Hit) -> float:
    """Return the similarity of a hit to its query: by vectors or, without vectors, by words."""
    signals = {signal.name: signal.value for signal in hit.why.signals}
    # Relative to the best hit, times that hit's own share of the words.
    words = signals.get("words", 0.0) * signals.get("covered", 0.0)
    return max(hit.score, hit.why.similarity or 0.0, words)


def descending_similarities(hits: Iterable[Hit]) -> list[float]:
    """Return the similarity of each hit, none above that of a better one: the order stays that of
    recall, and the scores agree with it.
    """
    return list(accumulate(map(similarity, hits), min))
