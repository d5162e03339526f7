"""cognee: the nodes and edges of a dataset, as `cognee.export(format="json")` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import InvalidInput
from ..ingest.commit import Draft
from ..transcripts.json_fields import as_dict, as_text, dicts, micros, parsed
from ..types import Triple
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in

SOURCE = "cognee"
TEXTS = {"DocumentChunk", "TextSummary"}
# Edges that say how the graph was built, not what it knows. So do all other types of nodes.
BUILT = {"is_part_of", "contains", "made_from", "is_a", "belongs_to_set"}


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The entities, facts and texts in a file."""
    whole = as_dict(parsed(text))
    names = {
        as_text(node.get("id")): as_text(node.get("name")) for node in dicts(whole.get("nodes"))
    }
    return each(text, lambda one: _items(one, names), lists=("nodes", "edges"))


def _items(one: Value, names: dict[str, str]) -> Iterable[ImportedItem]:
    record = object_in(one.value)
    if one.list_name not in ("nodes", "edges"):
        raise InvalidInput("it stands in no list of nodes or edges")
    is_edge = one.list_name == "edges"
    draft = _edge(record, names) if is_edge else _node(record)
    if draft is None:
        return []
    name = as_text(record.get("id") or record.get("source"))
    created = micros(record.get("created_at") or record.get("updated_at"))
    return [ImportedItem(one.line, draft, (name, draft.content), created_at=created)]


def _edge(edge: dict[str, Any], names: dict[str, str]) -> Draft | None:
    relation = as_text(edge.get("relationship_name"))
    start, end = (names.get(as_text(edge.get(side)), "") for side in ("source", "target"))
    if relation in BUILT or not (start and relation and end):
        return None
    said = as_text(edge.get("edge_text")).strip()
    return Draft(
        content=said or f"{start} {relation.replace('_', ' ')} {end}",
        source=SOURCE,
        triple=Triple(start, relation, end),
    )


def _node(node: dict[str, Any]) -> Draft | None:
    type_ = as_text(node.get("type"))
    if type_ == "Entity":
        name, about = as_text(node.get("name")), as_text(node.get("description"))
        found = Draft(content=about, title=name, category="entity", source=SOURCE)
    elif type_ in TEXTS:
        text = as_text(node.get("text"))
        found = Draft(content=text, kind="episode", category="document", source=SOURCE)
    else:
        return None
    return found if found.content.strip() else None


COGNEE = MemoryFile(
    "cognee",
    "a dataset of cognee, exported as JSON",
    parse,
    marks=(("nodes", "topological_rank"), ("nodes", "edges", "relationship_name")),
)
