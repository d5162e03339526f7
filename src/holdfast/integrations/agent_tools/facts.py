"""Facts that tools save: built, deduplicated, stored and linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...client import Holdfast
from ...errors import InvalidInput
from ...extraction import permission_checks
from ...extraction.apply import DECAY_RATE, near, recognition
from ...extraction.candidate import Candidate
from ...extraction.episodes import SOURCE
from ...extraction.permission_checks import Who
from ...extraction.similarity.dedup import first_duplicate
from ...ingest import commit, entity_linking
from ...ingest.commit import Draft
from ...storage.protocol import Transaction
from ...types import SURENESS, Edge, Memory

# A model's fact without a stated confidence (seed 001).
DEFAULT_CONFIDENCE = 0.8


class Planned(NamedTuple):
    """A fact of a batch: its memory, whether that is known, and its source turns."""

    memory: Memory
    known: bool
    sources: Sequence[str] = ()


def plan(
    hf: Holdfast,
    session: str,
    facts: Sequence[Mapping[str, Any]],
) -> tuple[list[Planned], list[str]]:
    """Plan each fact of a batch and report invalid ones, without writing."""
    planned: list[Planned] = []
    errors: list[str] = []
    for number, fact in enumerate(facts):
        try:
            planned.append(_planned(hf, session, fact, [one.memory for one in planned]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            errors.append(f"fact {number}: {error}")
    return planned, errors


def _planned(
    hf: Holdfast,
    session: str,
    fact: Mapping[str, Any],
    before: Sequence[Memory],
) -> Planned:
    content = fact["content"]
    if not isinstance(content, str):
        raise InvalidInput(f"content must be text, not {content!r}.")
    sure = fact.get("confidence", DEFAULT_CONFIDENCE)
    candidate = Candidate(
        content,
        "",
        confidence=float(SURENESS.get(str(sure).casefold(), sure)),
    )
    known = first_duplicate(candidate, [*before, *near(hf.store, hf.scopes[0], candidate)])
    if known is not None:
        return Planned(known[0], True)
    draft = Draft(
        content=candidate.content,
        confidence=candidate.confidence,
        source=SOURCE,
        trust="derived",
        tags=_texts(fact.get("tags")),
        metadata={"session": session},
    )
    return Planned(build(hf, draft), False, _texts(fact.get("source_ids")))


def _texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts; accept a single text too, because models are not always exact."""
    return (value,) if isinstance(value, str) else tuple(map(str, value or ()))


def build(hf: Holdfast, draft: Draft) -> Memory:
    """Build the fact of a draft; it decays when unused."""
    draft.decay_rate = DECAY_RATE
    return commit.build(
        draft,
        hf.scopes[0],
        at=hf.clock(),
        max_bytes=hf.settings.max_content_bytes,
    )


def save_fact(
    tx: Transaction,
    fact: Memory,
    who: Who,
    sources: Sequence[str] = (),
) -> Memory:
    """Store a fact with the actor's permissions, linked to its source turns and entities."""
    memory = permission_checks.remember(tx, [fact], who)[0]
    at = fact.created_at
    if memory.status != "active":
        return memory
    for source in sources:
        if tx.memory(memory.scope, source) is not None:
            tx.link(Edge(memory.scope, memory.id, source, "derived_from", at))
    entity_linking.link(
        tx,
        memory,
        recognition().recognise(memory.content, "local"),
        at=at,
    )
    return memory
