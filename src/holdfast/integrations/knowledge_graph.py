"""Knowledge graph of entities, observations and relations, compatible with the reference MCP memory
server.

Each entity, observation and relation is a memory, so recall finds it, the journal records it and
`undo` restores it. Two programs may add to one graph at once; duplicates are stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import ingest
from ..client import Holdfast
from ..errors import NotFound
from ..ingest.commit import Draft
from ..storage import Filter, Transaction
from ..types import Memories, Memory, Triple

CATEGORY = "graph"
"""That of every memory of a graph, whether it was told here or came from a file (`holdfast import
mcp-memory`).
"""
Fields = Mapping[str, Any]
Relation = tuple[str, str, str]
"""From whom, to whom, and of which type."""


@dataclass
class Node:
    """A stored entity: its fields, its memories, and the memories of its observations."""

    type: str
    kept: Memories = field(default_factory=list)
    observed: dict[str, Memories] = field(default_factory=dict)


@dataclass
class Kept:
    """A whole graph, in insertion order."""

    nodes: dict[str, Node] = field(default_factory=dict)
    relations: dict[Relation, Memories] = field(default_factory=dict)


class Graph:
    """The graph in the first scope of an open memory. Arguments and results have the shapes of the
    reference server.
    """

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf

    def read(self, chosen: Callable[[str, Node], bool] = lambda name, node: True) -> dict[str, Any]:
        """Return the selected entities and all their relations; by default the whole graph."""
        kept = self._kept()
        nodes = {name: node for name, node in kept.nodes.items() if chosen(name, node)}
        whole = len(nodes) == len(kept.nodes)
        relations = [one for one in kept.relations if whole or one[0] in nodes or one[1] in nodes]
        return {
            "entities": [_entity(*one) for one in nodes.items()],
            "relations": list(map(_relation, relations)),
        }

    def search(self, query: str) -> dict[str, Any]:
        """Return the entities with the query in their name, type or observations, ignoring case."""
        wanted = query.lower()
        return self.read(
            lambda name, node: any(
                wanted in text.lower() for text in (name, node.type, *node.observed)
            )
        )

    def open(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the entities with these names."""
        return self.read(lambda name, node: name in names)

    def create_entities(self, entities: Sequence[Fields]) -> list[dict[str, Any]]:
        """Add the entities with new names, with their observations, and return them."""
        known = self._kept().nodes
        # The first entity of a name wins.
        new = {one["name"]: one for one in reversed(entities) if one["name"] not in known}
        added = [
            _told(new[name])
            for name in dict.fromkeys(one["name"] for one in entities)
            if name in new
        ]
        self._add(draft for one in added for draft in _drafts(one))
        return added

    def create_relations(self, relations: Sequence[Fields]) -> list[dict[str, str]]:
        """Add new relations and return them. NotFound if an entity does not exist."""
        kept = self._kept()
        for name in (name for one in relations for name in (one["from"], one["to"])):
            _check_known(name, kept)
        new = [key for key in dict.fromkeys(map(_key, relations)) if key not in kept.relations]
        self._add(relation_draft(key) for key in new)
        return list(map(_relation, new))

    def add_observations(self, observations: Sequence[Fields]) -> list[dict[str, Any]]:
        """Add new observations and return them per entity. NotFound if an entity does not exist."""
        kept = self._kept()
        added = list[dict[str, Any]]()
        for one in observations:
            _check_known(one["entityName"], kept)
            known = kept.nodes[one["entityName"]].observed
            new = [text for text in dict.fromkeys(one["contents"]) if text not in known]
            known.update({text: [] for text in new})
            added.append({"entityName": one["entityName"], "addedObservations": new})
        self._add(
            observation_draft(one["entityName"], text)
            for one in added
            for text in one["addedObservations"]
        )
        return added

    def delete_entities(self, names: Sequence[str]) -> list[str]:
        """Forget entities, their observations and relations; return the names that existed."""
        kept = self._kept()
        there = [name for name in dict.fromkeys(names) if name in kept.nodes]
        gone = [memory for name in there for memory in _memories(kept.nodes[name])]
        gone += [
            one for key, found in kept.relations.items() if {*key[:2]} & {*names} for one in found
        ]
        self._forget(gone)
        return there

    def delete_observations(self, deletions: Sequence[Fields]) -> tuple[int, list[str]]:
        """Forget observations; return how many existed, and which entities did not."""
        kept = self._kept()
        missing = [one["entityName"] for one in deletions if one["entityName"] not in kept.nodes]
        found = [
            memories
            for one in deletions
            if one["entityName"] in kept.nodes
            for text in dict.fromkeys(one["observations"])
            if (memories := kept.nodes[one["entityName"]].observed.get(text))
        ]
        self._forget(memory for memories in found for memory in memories)
        return len(found), missing

    def delete_relations(self, relations: Sequence[Fields]) -> int:
        """Forget relations; return how many existed."""
        kept = self._kept().relations
        found = [kept[key] for key in dict.fromkeys(map(_key, relations)) if key in kept]
        self._forget(memory for memories in found for memory in memories)
        return len(found)

    def _kept(self) -> Kept:
        where = Filter(self._hf.scopes[:1], categories=(CATEGORY,))
        kept = Kept()
        for memory in self._hf.store.list(where, order="oldest"):
            match memory.metadata.get(CATEGORY):
                case {"from": str(start), "to": str(end), "relationType": str(type_)}:
                    kept.relations.setdefault((start, end, type_), []).append(memory)
                case {"entity": str(name), "type": str(type_)}:
                    kept.nodes.setdefault(name, Node(type_)).kept.append(memory)
                case {"entity": str(name), "says": str(text)} if name in kept.nodes:
                    kept.nodes[name].observed.setdefault(text, []).append(memory)
        return kept

    def _add(self, drafts: Iterable[Draft]) -> None:
        hf = self._hf
        at = self._hf.clock()
        limit = hf.settings.max_content_bytes
        memories = [
            ingest.commit.build(draft, hf.scopes[0], at=at, max_bytes=limit) for draft in drafts
        ]

        def work(tx: Transaction) -> None:
            ingest.entity_linking.note(tx, tx.add_many(memories), at=at)

        if memories:
            hf.write("remember", work)

    def _forget(self, memories: Iterable[Memory]) -> None:
        if gone := [memory.id for memory in memories]:
            self._hf.forget(*gone)


def _check_known(name: str, kept: Kept) -> None:
    if name not in kept.nodes:
        raise NotFound(f"Entity with name {name} not found", id=name)


def _key(relation: Fields) -> Relation:
    return relation["from"], relation["to"], relation["relationType"]


def _relation(key: Relation) -> dict[str, str]:
    return {"from": key[0], "to": key[1], "relationType": key[2]}


def _entity(name: str, node: Node) -> dict[str, Any]:
    return {"name": name, "entityType": node.type, "observations": list(node.observed)}


def _told(entity: Fields) -> dict[str, Any]:
    """Return a stored entity without duplicate observations."""
    return {
        "name": entity["name"],
        "entityType": entity["entityType"],
        "observations": list(dict.fromkeys(entity["observations"])),
    }


def _memories(node: Node) -> Memories:
    return [*node.kept, *(memory for observed in node.observed.values() for memory in observed)]


def _drafts(entity: Fields) -> Iterator[Draft]:
    yield entity_draft(entity["name"], entity["entityType"])
    yield from (observation_draft(entity["name"], text) for text in entity["observations"])


# The metadata stores the role in the graph; the text is readable on its own.


def entity_draft(name: str, type_: str) -> Draft:
    """Return an entity as a memory."""
    return _draft(f"{name} ({type_})", {"entity": name, "type": type_})


def observation_draft(name: str, text: str) -> Draft:
    """Return an observation of an entity as a memory."""
    return _draft(f"{name}: {text}", {"entity": name, "says": text})


def relation_draft(key: Relation) -> Draft:
    """Return a relation between two entities as a memory."""
    return _draft(
        f"{key[0]} {key[2]} {key[1]}", _relation(key), triple=Triple(key[0], key[2], key[1])
    )


def _draft(content: str, told: Fields, triple: Triple | None = None) -> Draft:
    return Draft(
        content=content,
        category=CATEGORY,
        source="graph",
        triple=triple,
        metadata={CATEGORY: dict(told)},
    )
