"""Conflicts between two stores after a sync: what rows that changed on both sides mean.

the same fact on both sides       the older stays active, the other is retired and linked
two corrections of one fact       both stay active, linked as a conflict
two facts that contradict         both stay active, linked as a conflict
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..extraction.reconcile import contradiction
from ..extraction.similarity.known_memories import sharing_words
from ..ingest import commit
from ..ingest.commit import kept_once
from ..storage.duplicates import same_content
from ..storage.merge import Lineage
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter
from ..types import Edge, Memory, Micros, Scope

# Neighbours with which an arriving fact is compared: a contradiction shares most words with it.
NEAR = 10
IN_CONFLICT = "changed in two places"


def keep_once(
    tx: Transaction,
    scope: Scope,
    ids: Sequence[str],
    *,
    at: Micros,
) -> None:
    """Retire exact duplicates: the younger one, unless a person confirmed it."""
    arrived = []
    for id_ in ids:
        memory = tx.memory(scope, id_)
        if memory is not None and memory.status == "active":
            arrived.append(memory)
    twins = same_content(tx, [memory for memory in arrived if kept_once(memory)])
    for memory in arrived:
        twin = twins.get(memory.id)
        if twin is None or twin.id == memory.id:
            continue
        first, second = sorted(
            (memory, twin), key=lambda one: (not one.protected, one.created_at, one.id)
        )
        commit.set_status(tx, second, "superseded", at=at, reason=f"says the same as {first.id}")
        tx.link(Edge(scope, first.id, second.id, "supersedes", at))


def link_conflicts(
    tx: Transaction,
    scope: Scope,
    edges: Sequence[tuple[str, str, str]],
    twins: Mapping[str, Sequence[str]],
    *,
    at: Micros,
) -> list[tuple[str, str]]:
    """Link active memories that contradict each other; return the pairs whose link is new.

    `edges` are the edges that arrived, `twins` what `contradicted` found before the transaction.
    """
    pairs = [*_two_corrections(tx, scope, edges), *_active_pairs(tx, scope, twins)]
    return [pair for pair in pairs if _link(tx, scope, *pair, at=at)]


def _two_corrections(
    tx: Transaction,
    scope: Scope,
    edges: Sequence[tuple[str, str, str]],
) -> Iterator[tuple[str, str]]:
    """Pairs of active memories that superseded the same memory."""
    for source, target, relation in edges:
        if relation != "supersedes":
            continue
        for other in tx.edges(scope, target):
            if other.relation == relation and other.target == target and other.source != source:
                yield from _active_pairs(tx, scope, {source: [other.source]})


def _active_pairs(
    tx: Transaction,
    scope: Scope,
    pairs: Mapping[str, Sequence[str]],
) -> Iterator[tuple[str, str]]:
    """Pairs of which both memories are active."""
    for one, others in pairs.items():
        for other in others:
            first = tx.memory(scope, one)
            second = tx.memory(scope, other)
            if first is None or second is None:
                continue
            if first.status == second.status == "active":
                both = sorted((first, second), key=lambda memory: (memory.created_at, memory.id))
                earlier, later = both
                yield later.id, earlier.id


def _link(
    tx: Transaction,
    scope: Scope,
    later: str,
    earlier: str,
    *,
    at: Micros,
) -> bool:
    """Link two memories as a conflict; return whether the link is new."""
    if any({edge.source, edge.target} == {later, earlier} for edge in tx.edges(scope, later)):
        return False
    tx.link(Edge(scope, later, earlier, "conflicts_with", at, IN_CONFLICT))
    return True


def contradicted(
    source: Store,
    target: Store,
    scope: Scope,
    lineages: Sequence[Lineage],
) -> dict[str, list[str]]:
    """Arriving facts, each with local facts that contradict it and that the source does not
    know.
    """
    arriving = []
    for one in lineages:
        if one.noun == "memory" and one.row and one.row["kind"] == "fact":
            arriving.append(one.target)
    known = {memory.id for memory in target.get([scope], arriving)}
    new = [id_ for id_ in arriving if id_ not in known]
    found = {}
    for fact in source.get([scope], new):
        near = _near(target, fact)
        # The source already judged the neighbours that it has itself.
        shared = source.get([scope], [old.id for old in near])
        judged = {memory.id for memory in shared}
        unknown = [old for old in near if old.id not in judged]
        others = [old.id for old in unknown if contradiction(fact, old)]
        if others:
            found[fact.id] = sorted(others)
    return found


def _near(store: Store, fact: Memory) -> list[Memory]:
    where = Filter((fact.scope,), kinds=("fact",))
    return sharing_words(store, where, fact.content, limit=NEAR)
