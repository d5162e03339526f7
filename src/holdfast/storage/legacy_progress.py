"""Progress marks in the format of version 0.1.0: inside the session row, and so in old journals.

Opening a store migrates its tables (`0008_progress.sql`). This module handles what arrives later:
undo of an old run, and import of a bundle that 0.1.0 exported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..types import Micros, Progress, Scope

# Must equal what the SQL migration writes into the journal, so that both are recognised as one run.
RUN = "migrate-0008"
ACTOR = "holdfast"
MIGRATE = "migrate"


def is_legacy(row: Mapping[str, Any]) -> bool:
    """Whether 0.1.0 exported this session; it always wrote an outcome."""
    return "outcome" in row


def legacy_marks(
    image: Mapping[str, Any],
    scope: Scope,
    session: str,
    *,
    at: Micros,
) -> dict[str, Progress]:
    """Progress marks in a session row, or in a partial image of one, by sink.

    `at` is the time for the `facts` mark, for which 0.1.0 stored none.
    """
    metadata = image.get("metadata") or {}
    # A journal image holds the column as JSON text; an exported row holds the object.
    if isinstance(metadata, str):
        metadata = json.loads(metadata)
    found = {
        "facts": _considered(metadata.get("policy")),
        "summary": _read_to_end(image.get("consolidated_at"), image.get("outcome")),
        "records": _noted(metadata.get("extracted")),
    }
    return {
        sink: Progress(scope, session, sink, mark[0], at if sink == "facts" else mark[0], mark[1])
        for sink, mark in found.items()
        if mark is not None
    }


Mark = tuple[int, dict[str, Any]]


def _considered(policy: Any) -> Mark | None:
    if not isinstance(policy, Mapping):
        return None
    detail = {key: policy[key] for key in ("failed", "private") if key in policy}
    return int(policy.get("considered", -1)), detail


def _read_to_end(consolidated_at: Any, outcome: Any) -> Mark | None:
    if consolidated_at is None:
        return None
    return int(consolidated_at), {"outcome": outcome} if outcome else {}


def _noted(extracted: Any) -> Mark | None:
    to = extracted.get("to") if isinstance(extracted, Mapping) else None
    return (int(to[0]), dict(extracted)) if isinstance(to, list) and to else None
