"""The tools that find memories, show them and say why. None of them changes anything."""

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
# Memories in a list, unless told otherwise.
PAGE = 20


def recall(hf: Holdfast, given: Arguments) -> Answer:
    """What helps to answer a question; what has nothing to do with it is left out."""
    hits = fitting(
        hf.recall(
            given["question"],
            limit=given.get("limit"),
            kinds=given.get("kinds", ()),
            categories=given.get("categories", ()),
            tags=given.get("tags", ()),
            since=time_argument(given, "since"),
            until=time_argument(given, "until", end=True),
            as_of=time_argument(given, "as_of", end=True),
        )
    )
    states = {
        id_: state_of(verdicts)
        for id_, verdicts in hf.freshness(hit.memory for hit in hits).items()
    }
    found = [_hit(hit, states.get(hit.memory.id)) for hit in hits]
    lines = [line(hit.memory, _remarks(hit, states.get(hit.memory.id)), whole=True) for hit in hits]
    return fenced(lines, "recalled memory", empty="Nothing is remembered about that."), {
        "memories": found
    }


def _hit(hit: Hit, state: str | None) -> dict[str, Any]:
    return as_data(hit.memory, score=round(hit.score, 4), why=str(hit.why), freshness=state)


def _remarks(hit: Hit, state: str | None) -> list[str]:
    return [f"{hit.score:.2f}", *([state] if state not in (None, "FRESH") else [])]


def list_memories(hf: Holdfast, given: Arguments) -> Answer:
    """Memories by what they are, newest first, a page at a time."""
    limit = given.get("limit", PAGE)
    page = hf.list(
        kinds=given.get("kinds", ()),
        categories=given.get("categories", ()),
        statuses=given.get("statuses", ("active",)),
        tags=given.get("tags", ()),
        limit=limit,
        after=hf.get(given["after"]).seq if given.get("after") else None,
    )
    rest = {"next": page[-1].id} if len(page) == limit else {}
    told = fenced([line(one) for one in page], "memories", empty="No memories.")
    more = f"\nMore: memory_list with after={page[-1].id}" if rest else ""
    return told + more, {"memories": [as_data(one) for one in page], **rest}


def get(hf: Holdfast, given: Arguments) -> Answer:
    """One memory, all of it, with what happened to it and what it is linked to."""
    memory = hf.get(given["id"])
    history = [
        {"at": iso(one.at), "verb": one.verb, "actor": one.actor, "run": one.run}
        for one in hf.history(memory.id)
    ]
    links = [
        {"relation": one.relation, "source": one.source, "target": one.target}
        for one in hf.links(memory.id)
    ]
    evidence = [str(verdict) for verdict in hf.freshness([memory]).get(memory.id, ())]
    data = {"memory": as_data(memory), "history": history, "links": links, "evidence": evidence}
    more = {
        "status": memory.status,
        "time": iso(memory.event_time),
        "evidence": "; ".join(evidence),
    }
    return fenced([line(memory, whole=True), noted(more)], "memory", empty=""), data


def _type_and_mentions(entity: Entity) -> str:
    return f"{entity.type}, {counted(entity.mentions, 'memory')}"


def entity(hf: Holdfast, given: Arguments) -> Answer:
    """Who or what is known: everything about one of them, or all of them, most mentioned first."""
    limit = given.get("limit", PAGE)
    if not given.get("name"):
        known = hf.entities(limit=limit)
        lines = [f"- {noted({one.name: _type_and_mentions(one)})}" for one in known]
        told = fenced(lines, "entities", empty="Nobody and nothing is mentioned by name yet.")
        return told, {"entities": [entity_data(one) for one in known], "memories": []}
    about = hf.about(given["name"], limit=limit)
    names = ", ".join((about.entity.name, *about.entity.aliases))
    head = noted({about.entity.type: names, "summary": about.entity.summary})
    told = fenced([head, *(line(one) for one in about.memories)], "entity", empty="")
    return told, {
        "entities": [entity_data(about.entity)],
        "memories": [as_data(one) for one in about.memories],
    }


def why(hf: Holdfast, given: Arguments) -> Answer:
    """Why a memory was or was not recalled for a question; without one, why it is stored and on
    what it rests.
    """
    if given.get("question"):
        found = hf.why(given["question"], expect=given["id"])
        data = {
            "summary": found.explanation,
            "recalled": found.recalled,
            "stages": [
                {"name": one.name, "passed": one.passed, "detail": one.detail}
                for one in found.stages
            ],
        }
        return found.explanation, data | _known(rank=found.rank, dropped_by=found.dropped_by)
    stored = hf.why_stored(given["id"])
    quotes = list(stored.quotes)
    told = [noted({"why": stored.summary}), *(f"- {noted({'quote': one})}" for one in quotes)]
    data = {
        "summary": stored.summary,
        "quotes": quotes,
        "sources": [as_data(one) for one in stored.sources],
    }
    return fenced([*told, *map(line, stored.sources)], "why it is remembered", empty=""), data


# It takes none.
def status(hf: Holdfast, given: Arguments) -> Answer:  # noqa: ARG001
    """How memory stands here: whose it is, how much there is, what waits for a person, what is not
    working.
    """
    stats = hf.stats()
    waiting = len(hf.proposals())
    data = {
        "scopes": stats["scopes"],
        "writes_to": stats["scopes"][0],
        "records": [str(place.scope) for place in hf.places],
        "active": stats["active"],
        "memories": stats["memories"],
        "sessions": stats["sessions"],
        "waiting": waiting,
        "models": stats["models"],
        "problems": [f"{name}: {problem}" for name, problem in stats["problems"].items()]
        + hf.followed.warnings,
    }
    told = (
        f"Memory of {', '.join(data['scopes'])}: {data['active']} active, {waiting} waiting "
        "for a person."
    )
    return "\n".join((told, *map(escape, data["problems"]))), data


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def memory_text(memory: Memory) -> str:
    """All of a memory as a resource shows it."""
    fields = as_data(memory)
    head = noted(
        {
            name: fields.get(name, "")
            for name in ("id", "kind", "category", "status", "time", "source")
        }
    )
    return fenced([line(memory, whole=True), head], "memory", empty="")
