"""The nine tools of the reference knowledge-graph server, over the same memory."""

from __future__ import annotations

import json
from typing import Any

from ...client import Holdfast
from ...integrations.knowledge_graph import Graph
from ...text.terminal import counted
from .json_schema import Arguments, Schema, several, shape, text, texts
from .read_tools import Answer
from .tools import Tool, Work

ENTITY = shape(
    {
        "name": text("The name of the entity"),
        "entityType": text("The type of the entity"),
        "observations": texts("An array of observation contents associated with the entity"),
    }
)
RELATION = shape(
    {
        "from": text("The name of the entity where the relation starts"),
        "to": text("The name of the entity where the relation ends"),
        "relationType": text("The type of the relation"),
    }
)
GRAPH = shape({"entities": several(ENTITY), "relations": several(RELATION)})
DELETED = shape({"success": {"type": "boolean"}, "message": {"type": "string"}})


def _result(value: Any, data: dict[str, Any]) -> Answer:
    return json.dumps(value, indent=2, ensure_ascii=False), data


def _create_entities(hf: Holdfast, arguments: Arguments) -> Answer:
    new = Graph(hf).create_entities(arguments["entities"])
    return _result(new, {"entities": new})


def _create_relations(hf: Holdfast, arguments: Arguments) -> Answer:
    new = Graph(hf).create_relations(arguments["relations"])
    return _result(new, {"relations": new})


def _add_observations(hf: Holdfast, arguments: Arguments) -> Answer:
    added = Graph(hf).add_observations(arguments["observations"])
    return _result(added, {"results": added})


def _delete_entities(hf: Holdfast, arguments: Arguments) -> Answer:
    names = arguments["entityNames"]
    gone = Graph(hf).delete_entities(names)
    missing = [name for name in names if name not in gone]
    some = (
        f"Deleted {len(gone)} of {counted(len(names), 'entity')}. Not found: {', '.join(missing)}"
    )
    return _deleted(some if missing else "Entities deleted successfully")


def _delete_observations(hf: Holdfast, arguments: Arguments) -> Answer:
    count, missing = Graph(hf).delete_observations(arguments["deletions"])
    asked = sum(len(one["observations"]) for one in arguments["deletions"])
    unknown = f" Entities not found: {', '.join(missing)}" if missing else ""
    some = f"Deleted {count} of {counted(asked, 'observation')}.{unknown}"
    return _deleted("Observations deleted successfully" if count == asked else some)


def _delete_relations(hf: Holdfast, arguments: Arguments) -> Answer:
    count = Graph(hf).delete_relations(arguments["relations"])
    asked = len(arguments["relations"])
    some = f"Deleted {count} of {counted(asked, 'relation')}. The rest matched nothing."
    return _deleted("Relations deleted successfully" if count == asked else some)


def _deleted(message: str) -> Answer:
    return message, {"success": True, "message": message}


# This tool takes no arguments.
def _read(hf: Holdfast, arguments: Arguments) -> Answer:  # noqa: ARG001
    graph = Graph(hf).read()
    return _result(graph, graph)


def _search(hf: Holdfast, arguments: Arguments) -> Answer:
    graph = Graph(hf).search(arguments["query"])
    return _result(graph, graph)


def _open(hf: Holdfast, arguments: Arguments) -> Answer:
    graph = Graph(hf).open(arguments["names"])
    return _result(graph, graph)


def _adding(
    name: str,
    title: str,
    about: str,
    work: Work,
    takes: dict[str, Schema],
    gives: dict[str, Schema],
) -> Tool:
    return Tool(name, title, about, work, shape(takes), shape(gives))


def _deleting(
    name: str,
    title: str,
    about: str,
    work: Work,
    takes: dict[str, Schema],
) -> Tool:
    return Tool(
        name,
        title,
        about,
        work,
        shape(takes),
        DELETED,
        destroys=True,
        repeatable=True,
    )


def _reading(
    name: str,
    title: str,
    about: str,
    work: Work,
    takes: dict[str, Schema],
) -> Tool:
    return Tool(name, title, about, work, shape(takes), GRAPH, reads=True)


GRAPH_TOOLS: tuple[Tool, ...] = (
    _adding(
        "create_entities",
        "Create Entities",
        "Create multiple new entities in the knowledge graph",
        _create_entities,
        {"entities": several(ENTITY)},
        {"entities": several(ENTITY)},
    ),
    _adding(
        "create_relations",
        "Create Relations",
        (
            "Create multiple new relations between entities in the knowledge graph. Relations "
            "should be in active voice"
        ),
        _create_relations,
        {"relations": several(RELATION)},
        {"relations": several(RELATION)},
    ),
    _adding(
        "add_observations",
        "Add Observations",
        "Add new observations to existing entities in the knowledge graph",
        _add_observations,
        {
            "observations": several(
                shape(
                    {
                        "entityName": text("The name of the entity to add the observations to"),
                        "contents": texts("An array of observation contents to add"),
                    }
                )
            )
        },
        {
            "results": several(
                shape({"entityName": {"type": "string"}, "addedObservations": texts("")})
            )
        },
    ),
    _deleting(
        "delete_entities",
        "Delete Entities",
        "Delete multiple entities and their associated relations from the knowledge graph",
        _delete_entities,
        {"entityNames": texts("An array of entity names to delete")},
    ),
    _deleting(
        "delete_observations",
        "Delete Observations",
        "Delete specific observations from entities in the knowledge graph",
        _delete_observations,
        {
            "deletions": several(
                shape(
                    {
                        "entityName": text("The name of the entity containing the observations"),
                        "observations": texts("An array of observations to delete"),
                    }
                )
            )
        },
    ),
    _deleting(
        "delete_relations",
        "Delete Relations",
        "Delete multiple relations from the knowledge graph",
        _delete_relations,
        {"relations": several(RELATION, "An array of relations to delete")},
    ),
    _reading("read_graph", "Read Graph", "Read the entire knowledge graph", _read, {}),
    _reading(
        "search_nodes",
        "Search Nodes",
        "Search for nodes in the knowledge graph based on a query",
        _search,
        {
            "query": text(
                "The search query to match against entity names, types, and observation content"
            )
        },
    ),
    _reading(
        "open_nodes",
        "Open Nodes",
        "Open specific nodes in the knowledge graph by their names",
        _open,
        {"names": texts("An array of entity names to retrieve")},
    ),
)
