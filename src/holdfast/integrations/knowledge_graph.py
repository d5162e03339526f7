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
"""Source of every memory of a graph, created here or imported (`holdfast import mcp-memory`)."""
Fields = Mapping[str, Any]
Relation = tuple[str, str, str]
"""Start, end and type of a relation."""


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
        # The whole graph includes relations whose entities were deleted elsewhere.
        whole = len(nodes) == len(kept.nodes)
        relations = [one for one in kept.relations if whole or one[0] in nodes or one[1] in nodes]
        return {
            "entities": [_entity(*one) for one in nodes.items()],
            "relations": list(map(_relation, relations)),
        }

    def search(self, query: str) -> dict[str, Any]:
        """Return the entities with the query in their name, type or observations, ignoring case."""
        wanted = query.lower()

        def chosen(name: str, node: Node) -> bool:
            texts = (name, node.type, *node.observed)
            return any(wanted in text.lower() for text in texts)

        return self.read(chosen)

    def open(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the entities with these names."""
        return self.read(lambda name, node: name in names)

    def create_entities(self, entities: Sequence[Fields]) -> list[dict[str, Any]]:
        """Add the entities with new names, with their observations, and return them."""
        known = self._kept().nodes
        new: dict[str, dict[str, Any]] = {}
        for entity in entities:
            # The first entity of a name wins.
            if entity["name"] not in known and entity["name"] not in new:
                new[entity["name"]] = _without_duplicates(entity)
        added = list(new.values())
        drafts: list[Draft] = []
        for entity in added:
            drafts += _drafts(entity)
        self._add(drafts)
        return added

    def create_relations(self, relations: Sequence[Fields]) -> list[dict[str, str]]:
        """Add new relations and return them. NotFound if an entity does not exist."""
        kept = self._kept()
        for relation in relations:
            _check_known(relation["from"], kept)
            _check_known(relation["to"], kept)
        keys = dict.fromkeys(map(_key, relations))
        new = [key for key in keys if key not in kept.relations]
        self._add(relation_draft(key) for key in new)
        return list(map(_relation, new))

    def add_observations(self, observations: Sequence[Fields]) -> list[dict[str, Any]]:
        """Add new observations and return them per entity. NotFound if an entity does not exist."""
        kept = self._kept()
        added = list[dict[str, Any]]()
        drafts = list[Draft]()
        for one in observations:
            name = one["entityName"]
            _check_known(name, kept)
            known = kept.nodes[name].observed
            new = [text for text in dict.fromkeys(one["contents"]) if text not in known]
            # The same entity may occur again in this request.
            known.update({text: [] for text in new})
            added.append({"entityName": name, "addedObservations": new})
            drafts += [observation_draft(name, text) for text in new]
        self._add(drafts)
        return added

    def delete_entities(self, names: Sequence[str]) -> list[str]:
        """Forget entities, their observations and relations; return the names that existed."""
        kept = self._kept()
        there = [name for name in dict.fromkeys(names) if name in kept.nodes]
        gone: Memories = []
        for name in there:
            gone += _memories(kept.nodes[name])
        for (start, end, _), memories in kept.relations.items():
            if start in names or end in names:
                gone += memories
        self._forget(gone)
        return there

    def delete_observations(self, deletions: Sequence[Fields]) -> tuple[int, list[str]]:
        """Forget observations; return how many existed, and which entities did not."""
        kept = self._kept()
        missing = []
        count = 0
        gone: Memories = []
        for one in deletions:
            node = kept.nodes.get(one["entityName"])
            if node is None:
                missing.append(one["entityName"])
                continue
            for text in dict.fromkeys(one["observations"]):
                memories = node.observed.get(text)
                if memories:
                    count += 1
                    gone += memories
        self._forget(gone)
        return count, missing

    def delete_relations(self, relations: Sequence[Fields]) -> int:
        """Forget relations; return how many existed."""
        kept = self._kept().relations
        keys = [key for key in dict.fromkeys(map(_key, relations)) if key in kept]
        gone: Memories = []
        for key in keys:
            gone += kept[key]
        self._forget(gone)
        return len(keys)

    def _kept(self) -> Kept:
        where = Filter(self._hf.scopes[:1], categories=(CATEGORY,))
        kept = Kept()
        # Oldest first: an entity comes before its observations, which need it.
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
            hf.admin.write("remember", work)

    def _forget(self, memories: Iterable[Memory]) -> None:
        ids = [memory.id for memory in memories]
        if ids:
            self._hf.forget(*ids)


def _check_known(name: str, kept: Kept) -> None:
    if name not in kept.nodes:
        raise NotFound(f"Entity with name {name} not found", id=name)


def _key(relation: Fields) -> Relation:
    return relation["from"], relation["to"], relation["relationType"]


def _relation(key: Relation) -> dict[str, str]:
    return {"from": key[0], "to": key[1], "relationType": key[2]}


def _entity(name: str, node: Node) -> dict[str, Any]:
    return {"name": name, "entityType": node.type, "observations": list(node.observed)}


def _without_duplicates(entity: Fields) -> dict[str, Any]:
    """Return a stored entity without duplicate observations."""
    return {
        "name": entity["name"],
        "entityType": entity["entityType"],
        "observations": list(dict.fromkeys(entity["observations"])),
    }


def _memories(node: Node) -> Memories:
    memories = list(node.kept)
    for observed in node.observed.values():
        memories += observed
    return memories


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
    start, end, type_ = key
    return _draft(
        f"{start} {type_} {end}",
        _relation(key),
        triple=Triple(start, type_, end),
    )


def _draft(
    content: str,
    role: Fields,
    triple: Triple | None = None,
) -> Draft:
    return Draft(
        content=content,
        category=CATEGORY,
        source="graph",
        triple=triple,
        metadata={CATEGORY: dict(role)},
    )
