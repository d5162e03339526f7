"""Search of the Memory page: hits with their reasons or, if nothing fits, near misses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..client import Holdfast
from ..retrieval.matches import matches
from ..types import from_datetime
from . import schemas

# Near misses when nothing relevant is known.
NEAR_MISSES = 10


def search(
    hf: Holdfast,
    question: str,
    *,
    limit: int,
    deep: bool,
    as_of: datetime | None,
    **narrow: Any,
) -> schemas.Page:
    """Return the hits of a question; if nothing is relevant, what comes nearest."""
    narrow["as_of"] = as_of
    hits = hf.recall(question, limit=limit, deep=deep, **narrow)
    relevant = bool(hits)
    if not hits:
        hits = hf.recall(question, limit=min(limit, NEAR_MISSES), min_score=0.0, **narrow)
    now = hf.clock() if as_of is None else from_datetime(as_of)
    common = matches(hf.store, hf.scopes, question, hits, now=now)
    return schemas.Page(
        items=[schemas.Found.by(hit, match) for hit, match in zip(hits, common, strict=True)],
        next=None,
        relevant=relevant,
        warnings=hf.admin.warnings(commands=False),
    )
