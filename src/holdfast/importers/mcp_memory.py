"""The reference knowledge-graph server of MCP: entities with observations, and relations, a JSON
object a line.

They become the graph of `adapters.graph`, in which each of them is a memory of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import InvalidInput
from ..integrations.knowledge_graph import CATEGORY, entity_draft, observation_draft, relation_draft
from ..types import Memories, Memory
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The entities, observations and relations in a file."""
    return each(text, _record)


def _record(one: Value) -> Iterable[ImportedItem]:
    line = object_in(one.value)
    match line.get("type"):
        case "entity":
            yield from _entity(one.line, line)
        case "relation":
            start, end, type_ = (_text(line, name) for name in ("from", "to", "relationType"))
            yield ImportedItem(
                one.line, relation_draft((start, end, type_)), ("relation", start, end, type_)
            )
        case other:
            raise InvalidInput(f"its type is {other!r}, neither entity nor relation")


def _entity(number: int, line: dict[str, Any]) -> Iterator[ImportedItem]:
    name = _text(line, "name")
    type_ = _text(line, "entityType")
    observations = line.get("observations")
    if not isinstance(observations, list) or not all(isinstance(one, str) for one in observations):
        raise InvalidInput("its observations are no list of texts")
    yield ImportedItem(number, entity_draft(name, type_), ("entity", name))
    for one in observations:
        yield ImportedItem(number, observation_draft(name, one), ("observation", name, one))


def _text(line: dict[str, Any], name: str) -> str:
    if not isinstance(found := line.get(name), str):
        raise InvalidInput(f"its {name} is no text")
    return found


def same(memory: Memory) -> str:
    """What of a graph a memory is: an entity of one name is one, whatever its type."""
    told = dict(memory.metadata.get(CATEGORY) or {})
    return json.dumps(
        {name: value for name, value in told.items() if name != "type"}, sort_keys=True
    )


def write(memories: Memories) -> Iterator[str]:
    """The lines of the graph that is in these memories; one that is of no graph is an observation
    about its owner.
    """
    entities: dict[str, dict[str, Any]] = {}
    relations: list[dict[str, str]] = []
    for memory in memories:
        told = memory.metadata.get(CATEGORY) or {"entity": memory.scope.key, "says": memory.content}
        if "from" in told:
            relations.append(
                {"from": told["from"], "to": told["to"], "relationType": told["relationType"]}
            )
            continue
        about = entities.setdefault(
            told["entity"], {"entityType": memory.scope.kind, "observations": []}
        )
        if "says" in told:
            about["observations"].append(told["says"])
        else:
            about["entityType"] = told["type"]
    for name, about in entities.items():
        yield json.dumps({"type": "entity", "name": name, **about}, ensure_ascii=False) + "\n"
    for one in relations:
        yield json.dumps({"type": "relation", **one}, ensure_ascii=False) + "\n"


MCP_MEMORY = MemoryFile(
    "mcp-memory",
    "the memory file of MCP's knowledge-graph server",
    parse,
    marks=(("entityType", "observations"), ("relationType", "from", "to")),
    write=write,
    same=same,
)
