"""Conversion between records and memories: pure functions without a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput, ScopeError
from ..ingest import commit
from ..ingest.commit import Draft
from ..types import MAIN_KINDS, SURENESS, Kind, Memory, Micros, Scope, Triple, from_iso, iso

Namespace = tuple[str, str]
"""Owner and layer of a record."""

KINDS: Mapping[str, Kind] = {str(layer): kind for layer, kind in MAIN_KINDS.items()}
TEXTS = ("evidence_quote", "summary", "text", "content")
# Source of memories that hold a record verbatim.
SOURCE = "layers"
HIDDEN = "hidden by its own record"


@dataclass(frozen=True, slots=True)
class Record:
    """The value under a key. `score` is the search score in [0, 1]; None without a query."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    score: float | None = None


def place_of(namespace: Namespace) -> tuple[Scope, Kind]:
    """Return the scope and kind of a namespace; ScopeError, a ValueError, if invalid."""
    match namespace:
        case (str(owner), str(layer)) if owner.strip() and layer in KINDS:
            return Scope("user", owner), KINDS[layer]
    raise ScopeError(
        f"{namespace!r} is not a namespace. It is a pair of owner and layer: {', '.join(KINDS)}."
    )


def record_of(
    namespace: Namespace,
    memory: Memory,
    score: float | None = None,
) -> Record:
    """Convert a memory to a record: the stored value verbatim, or the fields of other memories."""
    if memory.source == SOURCE and "value" in memory.metadata:
        return Record(
            namespace,
            memory.metadata["record"],
            dict(memory.metadata["value"]),
            score,
        )
    value = {"text": memory.content, "category": memory.category, "confidence": memory.confidence}
    triple = memory.triple
    fields = (
        {"subject": triple.subject, "predicate": triple.predicate, "object": triple.object}
        if triple
        else {}
    )
    return Record(
        namespace,
        memory.id,
        {**value, **fields, "created_at": iso(memory.created_at)},
        score,
    )


def memory_of(
    namespace: Namespace,
    key: str,
    value: Mapping[str, Any],
    *,
    at: Micros,
    max_bytes: int,
) -> Memory:
    """Return the memory for a value; InvalidInput if the value or key is invalid."""
    scope, kind = place_of(namespace)
    if not isinstance(key, str) or not key or not isinstance(value, Mapping):
        raise InvalidInput(
            f"A key must be text and a value a JSON object, not {key!r:.40} and {value!r:.40}."
        )
    memory = commit.build(
        _draft(kind, key, value),
        scope,
        at=at,
        max_bytes=max_bytes,
    )
    # Building a memory redacts secrets and invalid characters; under a changed key it could not be
    # found again.
    if memory.metadata["record"] != key:
        raise InvalidInput(
            "A key must not contain a secret or characters that no database can store. "
            "Nothing was stored."
        )
    retired = value.get("dormant_at") or value.get("superseded_by")
    if value.get("user_visible") is False or retired:
        return memory.with_(
            status="superseded",
            status_at=at,
            status_reason=HIDDEN,
        )
    return memory


def _draft(
    kind: Kind,
    key: str,
    value: Mapping[str, Any],
) -> Draft:
    session = value.get("source_session_id") or value.get("session_id")
    metadata: dict[str, Any] = {"record": key, "value": value}
    if isinstance(session, str):
        metadata["session"] = session
    return Draft(
        content=_content(value) or "; ".join(_texts(value)) or key,
        kind=kind,
        category=value.get("category") or "general",
        quote=value.get("evidence_quote") or "",
        triple=_triple(value),
        confidence=_confidence(value.get("confidence")),
        event_time=_when(value.get("ended_at") or value.get("created_at")),
        source=SOURCE,
        metadata=metadata,
    )


def _content(value: Mapping[str, Any]) -> str:
    """Return the first text among the fields that hold a record's statement."""
    for name in TEXTS:
        text = value.get(name)
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _confidence(stated: Any) -> Any:
    """Return a confidence that is a number, a word such as `high`, or missing."""
    if stated is None:
        return 1.0
    if isinstance(stated, str):
        return SURENESS.get(stated, stated)
    return stated


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, to search if no field names the text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _triple(value: Mapping[str, Any]) -> Triple | None:
    (subject, subject_type), (object_, object_type) = map(
        _end, (value.get("subject"), value.get("object"))
    )
    predicate = str(value.get("predicate") or "")
    return (
        Triple(subject, predicate, object_, subject_type, object_type)
        if subject and predicate and object_
        else None
    )


def _end(end: Any) -> tuple[str, str]:
    """Return one end of a triple and its type: a name, or an object with both."""
    fields = end if isinstance(end, Mapping) else {"identifier": end}
    return str(fields.get("identifier") or ""), str(fields.get("type") or "")


def _when(moment: Any) -> Micros | None:
    # A record may carry any value here; an unreadable time counts as none.
    with suppress(TypeError, ValueError):
        return from_iso(moment)
    return None
