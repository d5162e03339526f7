"""Numbered lists of facts, sessions and rules, and deletion by number."""

from __future__ import annotations

from typing import Any

from ..client import Holdfast
from ..errors import NotFound
from ..types import Kind, Memory, iso
from . import schemas

WORDS = {"fact": "fact", "episode": "session", "rule": "rule"}


def numbered(hf: Holdfast, kind: Kind) -> list[tuple[int, Memory]]:
    """Return the active memories of a kind with their numbers, oldest first, so that numbers are
    stable.
    """
    return list(enumerate(reversed(hf.list(kinds=[kind])), start=1))


def delete(
    hf: Holdfast,
    kind: Kind,
    ref: str,
) -> schemas.Deleted:
    """Forget one item of the list, by number, id, or session id."""
    listed = numbered(hf, kind)
    index, memory = _chosen(listed, ref, WORDS[kind])
    hf.forget(memory.id)
    detail = f"Deleted {WORDS[kind]} #{index}. {len(listed) - 1} remaining."
    return schemas.Deleted(deleted=True, detail=detail, run=hf.last_run)


def _chosen(
    listed: list[tuple[int, Memory]],
    ref: str,
    word: str,
) -> tuple[int, Memory]:
    by_number = ref.isascii() and ref.isdigit()
    for index, memory in listed:
        if by_number and len(ref) < 10 and index == int(ref):
            return index, memory
        if not by_number and ref in (memory.id, memory.session or memory.metadata.get("session")):
            return index, memory
    if by_number:
        raise NotFound(f"{word.capitalize()} #{ref} does not exist (only {len(listed)} {word}(s)).")
    raise NotFound(f"There is no {word} {ref!r}. The list of {word}s shows their ids.")


def fact(index: int, memory: Memory) -> schemas.Fact:
    """Return a fact of the list."""
    triple = memory.triple
    return schemas.Fact(
        **_common(index, memory),
        subject=triple.subject if triple else "",
        predicate=triple.predicate if triple else "",
        object=triple.object if triple else "",
        evidence_quote=memory.quote,
    )


def arc(index: int, memory: Memory) -> schemas.Arc:
    """Return a session of the list."""
    summary = memory.metadata
    mood = summary.get("mood_arc") or {}
    return schemas.Arc(
        **_common(index, memory),
        session=memory.session or summary.get("session"),
        title=memory.title,
        summary=memory.content,
        themes=list(summary.get("primary_themes") or ()),
        mood_opened=mood.get("opened") or "",
        mood_closed=mood.get("closed") or "",
        turn_count=summary.get("turn_count") or 0,
        ended_at=summary.get("ended_at") or iso(memory.event_time),
    )


def rule(index: int, memory: Memory) -> schemas.Rule:
    """Return a rule of the list."""
    return schemas.Rule(
        **_common(index, memory),
        rule=memory.content,
        evidence=memory.quote,
        added_at=iso(memory.created_at),
    )


def _common(index: int, memory: Memory) -> dict[str, Any]:
    return {
        "index": index,
        "id": memory.id,
        "key": memory.id,
        "text": memory.content,
        "category": memory.category,
        "confidence": memory.confidence,
        "protected": memory.protected,
        "created_at": iso(memory.created_at),
    }
