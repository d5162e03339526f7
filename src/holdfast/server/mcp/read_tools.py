"""Tools that find, show and explain memories. They change nothing."""

from __future__ import annotations

from typing import Any

from ...client import Holdfast
from ...context.blocks import escape
from ...context.brief import fitting, state_of
from ...text.terminal import counted
from ...types import Entity, Hit, Memory, iso
from .json_schema import Arguments, time_argument
from .render import as_data, entity_data, fenced, line, noted

Answer = tuple[str, dict[str, Any]]
"""A short text for a model, and the same as data."""
# Default number of memories in a list.
PAGE = 20


def recall(hf: Holdfast, arguments: Arguments) -> Answer:
    """Recall memories for a question; unrelated ones are left out."""
    hits = fitting(
        hf.recall(
            arguments["question"],
            limit=arguments.get("limit"),
            kinds=arguments.get("kinds", ()),
            categories=arguments.get("categories", ()),
            tags=arguments.get("tags", ()),
            since=time_argument(arguments, "since"),
            until=time_argument(arguments, "until", end=True),
            as_of=time_argument(arguments, "as_of", end=True),
            min_score=arguments.get("min_score"),
            deep=arguments.get("deep", False),
        )
    )
    verdicts = hf.records.verify(hit.memory for hit in hits)
    states = {id_: state_of(found) for id_, found in verdicts.items()}
    found = [_hit(hit, states.get(hit.memory.id)) for hit in hits]
    lines = [line(hit.memory, _remarks(hit, states.get(hit.memory.id)), whole=True) for hit in hits]
    return fenced(lines, "recalled memory", empty="Nothing is remembered about that."), {
        "memories": found
    }


def _hit(hit: Hit, state: str | None) -> dict[str, Any]:
    return as_data(
        hit.memory,
        score=round(hit.score, 4),
        why=str(hit.why),
        freshness=state,
    )


def _remarks(hit: Hit, state: str | None) -> list[str]:
    remarks = [f"{hit.score:.2f} {hit.strength}"]
    # A fresh citation is the normal case and needs no remark.
    if state is not None and state != "FRESH":
        remarks.append(state)
    return remarks


def list_memories(hf: Holdfast, arguments: Arguments) -> Answer:
    """List memories by kind, status and tags, newest first, page by page."""
    limit = arguments.get("limit", PAGE)
    page = hf.list(
        kinds=arguments.get("kinds", ()),
        categories=arguments.get("categories", ()),
        statuses=arguments.get("statuses", ("active",)),
        tags=arguments.get("tags", ()),
        limit=limit,
        after=hf.get(arguments["after"]).seq if arguments.get("after") else None,
    )
    rest = {"next": page[-1].id} if len(page) == limit else {}
    text = fenced(
        [line(one) for one in page],
        "memories",
        empty="No memories.",
    )
    more = f"\nMore: memory_list with after={page[-1].id}" if rest else ""
    return text + more, {"memories": [as_data(one) for one in page], **rest}


def get(hf: Holdfast, arguments: Arguments) -> Answer:
    """One memory in full, with its history and links."""
    memory = hf.get(arguments["id"])
    history = [
        {"at": iso(one.at), "verb": one.verb, "actor": one.actor, "run": one.run}
        for one in hf.history(memory.id)
    ]
    links = [
        {"relation": one.relation, "source": one.source, "target": one.target}
        for one in hf.admin.links(memory.id)
    ]
    evidence = [str(verdict) for verdict in hf.records.verify([memory]).get(memory.id, ())]
    data = {"memory": as_data(memory), "history": history, "links": links, "evidence": evidence}
    more = {
        "status": memory.status,
        "time": iso(memory.event_time),
        "evidence": "; ".join(evidence),
    }
    return fenced([line(memory, whole=True), noted(more)], "memory", empty=""), data


def _type_and_mentions(entity: Entity) -> str:
    return f"{entity.type}, {counted(entity.mentions, 'memory')}"


def entity(hf: Holdfast, arguments: Arguments) -> Answer:
    """One entity with everything about it, or all entities, most mentioned first."""
    limit = arguments.get("limit", PAGE)
    if not arguments.get("name"):
        known = hf.entities.list(limit=limit)
        lines = [f"- {noted({one.name: _type_and_mentions(one)})}" for one in known]
        text = fenced(
            lines,
            "entities",
            empty="Nobody and nothing is mentioned by name yet.",
        )
        return text, {"entities": [entity_data(one) for one in known], "memories": []}
    about = hf.entities.get(arguments["name"], limit=limit)
    names = ", ".join((about.entity.name, *about.entity.aliases))
    head = noted({about.entity.type: names, "summary": about.entity.summary})
    text = fenced(
        [head, *(line(one) for one in about.memories)],
        "entity",
        empty="",
    )
    return text, {
        "entities": [entity_data(about.entity)],
        "memories": [as_data(one) for one in about.memories],
    }


def why(hf: Holdfast, arguments: Arguments) -> Answer:
    """Explain why a memory was or was not recalled for a question; without one, why it is
    stored.
    """
    if arguments.get("question"):
        found = hf.explain(arguments["id"], arguments["question"])
        data = {
            "summary": found.explanation,
            "recalled": found.recalled,
            "stages": [
                {"name": one.name, "passed": one.passed, "detail": one.detail}
                for one in found.stages
            ],
        }
        return found.explanation, data | _known(rank=found.rank, dropped_by=found.dropped_by)
    stored = hf.explain(arguments["id"])
    quotes = list(stored.quotes)
    text = [noted({"why": stored.summary}), *(f"- {noted({'quote': one})}" for one in quotes)]
    data = {
        "summary": stored.summary,
        "quotes": quotes,
        "sources": [as_data(one) for one in stored.sources],
    }
    return fenced([*text, *map(line, stored.sources)], "why it is remembered", empty=""), data


# This tool takes no arguments.
def status(hf: Holdfast, arguments: Arguments) -> Answer:  # noqa: ARG001
    """Status of the memory: owner, size, pending reviews, problems."""
    stats = hf.stats()
    waiting = len(hf.reviews.list())
    data = {
        "scopes": stats["scopes"],
        "writes_to": stats["scopes"][0],
        "records": [str(place.scope) for place in hf.records.places],
        "active": stats["active"],
        "memories": stats["memories"],
        "sessions": stats["sessions"],
        "waiting": waiting,
        "models": stats["models"],
        "problems": [f"{name}: {problem}" for name, problem in stats["problems"].items()]
        + hf.records.sync_report.warnings,
    }
    text = (
        f"Memory of {', '.join(data['scopes'])}: {data['active']} active, {waiting} waiting "
        "for a person."
    )
    return "\n".join((text, *map(escape, data["problems"]))), data


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def memory_text(memory: Memory) -> str:
    """Render a memory in full, as a resource."""
    fields = as_data(memory)
    head = noted(
        {
            name: fields.get(name, "")
            for name in ("id", "kind", "category", "status", "time", "source")
        }
    )
    return fenced([line(memory, whole=True), head], "memory", empty="")
