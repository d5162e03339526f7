"""Details of one memory: why it was stored, its sources, its history and its forecast."""

from __future__ import annotations

from ..client import Holdfast
from ..maintenance.decay import THRESHOLD, explained, fades_at, retention
from ..retrieval.provenance import Decision
from ..types import DAY, Edge, Memory, iso
from . import schemas

# Points of a curve; more than a screen can show.
POINTS = 45


def memory_story(hf: Holdfast, ref: str) -> schemas.Story:
    """Return everything that explains a memory."""
    stored = hf.explain(ref)
    return schemas.Story(
        summary=stored.summary,
        decision=_decision(stored.decision),
        quote=stored.memory.quote,
        quotes=list(stored.quotes),
        sources=[_source(one) for one in stored.sources],
        links=[_link(edge) for edge in hf.admin.links(ref)],
        history=[schemas.Change.of(event) for event in hf.history(ref)],
    )


def forecast(
    hf: Holdfast,
    ref: str,
    *,
    days: int,
) -> schemas.Forecast:
    """Forecast of a memory's confidence."""
    memory = hf.get(ref)
    now = hf.clock()
    steps = dict.fromkeys(round(days * step / POINTS) for step in range(POINTS + 1))
    return schemas.Forecast(
        id=memory.id,
        fades_at=schemas.when(fades_at(memory)),
        why=explained(memory, now),
        threshold=THRESHOLD,
        points=[(day, round(retention(memory, now + day * DAY), 4)) for day in steps],
    )


def _decision(decision: Decision | None) -> schemas.Decision | None:
    if decision is None:
        return None
    return schemas.Decision(
        **{name: getattr(decision, name) for name in schemas.Decision.model_fields}
    )


def _source(turn: Memory) -> schemas.Source:
    return schemas.Source(
        id=turn.id,
        who=turn.author or turn.role,
        when=iso(turn.event_time),
        text=turn.content,
        session=turn.session,
    )


def _link(edge: Edge) -> schemas.Link:
    return schemas.Link(
        source=edge.source,
        relation=edge.relation,
        target=edge.target,
        reason=edge.reason,
        created_at=iso(edge.created_at),
    )
