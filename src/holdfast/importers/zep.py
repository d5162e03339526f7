"""Zep and Graphiti: the edges of a graph with the times at which their facts held, summaries of its
nodes, and its episodes.

As its models are dumped, or as Neo4j exports the whole graph (`apoc.export.json.all`): a node or a
relationship on each line, with its properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..ingest.commit import Draft
from ..transcripts.json_fields import as_dict, as_text, dicts, micros, parsed
from ..types import Triple
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in, text_in

LISTS = ("edges", "facts", "nodes", "episodes", "communities")
# Relationships of Graphiti's graph that say only which text named whom.
WITHOUT_FACT = "relationship"


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The facts, summaries and episodes in a file."""
    whole = as_dict(parsed(text))
    names = {
        as_text(node.get("uuid")): as_text(node.get("name")) for node in dicts(whole.get("nodes"))
    }
    return each(text, lambda one: _record(one, names), lists=LISTS)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row of Neo4j's export as the record that it holds; any other record as it is."""
    if row.get("type") not in ("node", WITHOUT_FACT) or "properties" not in row:
        return row
    ends = {
        f"{side}_node_name": as_dict(as_dict(row.get(end)).get("properties")).get("name")
        for side, end in (("source", "start"), ("target", "end"))
    }
    return {**ends, **as_dict(row["properties"]), "type": row["type"]}


def _record(one: Value, names: dict[str, str]) -> Iterable[ImportedItem]:
    record = _plain(object_in(one.value))
    if "fact" not in record and record.get("type") == WITHOUT_FACT:
        return []
    if "fact" in record:
        draft = _edge(record, names)
    elif "summary" in record or one.list_name == "nodes":
        if not as_text(record.get("summary")).strip():
            # A node of which nothing is said.
            return []
        draft = _node(record)
    else:
        draft = _episode(record)
    key = (as_text(record.get("uuid") or record.get("uuid_")), draft.content)
    return [ImportedItem(one.line, draft, key, created_at=micros(record.get("created_at")))]


def _edge(edge: dict[str, Any], names: dict[str, str]) -> Draft:
    starts = micros(edge.get("valid_at"))
    ends = micros(edge.get("invalid_at") or edge.get("expired_at"))
    if starts is not None and ends is not None and starts >= ends:
        # It never held, or the clock that said so was off.
        starts = None
    given: dict[str, Any] = {"event_time": starts, "valid_from": starts, "valid_until": ends}
    return Draft(
        content=text_in(edge, "fact"),
        source="zep",
        **given,
        triple=_triple(edge, names),
        metadata={"zep": as_dict(edge.get("attributes"))} if edge.get("attributes") else {},
    )


def _triple(edge: dict[str, Any], names: dict[str, str]) -> Triple | None:
    start, end = (
        as_text(edge.get(f"{side}_node_name"))
        or names.get(as_text(edge.get(f"{side}_node_uuid")), "")
        for side in ("source", "target")
    )
    relation = as_text(edge.get("name"))
    return Triple(start, relation, end) if start and relation and end else None


def _node(node: dict[str, Any]) -> Draft:
    name = as_text(node.get("name"))
    return Draft(content=text_in(node, "summary"), title=name, category="entity", source="zep")


def _episode(episode: dict[str, Any]) -> Draft:
    role = as_text(episode.get("role_type") or episode.get("role"))
    return Draft(
        content=text_in(episode, "content"),
        kind="episode",
        role=role,
        source="zep",
        event_time=micros(episode.get("valid_at")),
    )


ZEP = MemoryFile(
    "zep",
    "edges, nodes and episodes of a graph of Zep or Graphiti",
    parse,
    marks=(
        ("fact", "valid_at"),
        ("source_node_uuid", "target_node_uuid"),
        ("uuid", "group_id", "created_at"),
    ),
)
