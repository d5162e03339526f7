"""What the tests of the contract share: people, moments, short ways to write and to look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..floats import Vector
from ..storage.protocol import Store, Transaction
from ..storage.store_types import ITEMS, Author, Filter
from ..text.tokens import index_terms, query_terms
from ..types import ID_PREFIXES, Edge, Entity, Kind, Memory, Micros, Scope, Session

T = TypeVar("T")
Again = Callable[[], Store]

ANN = Scope("user", "ann")
BOB = Scope("user", "bob")
TEAM = Scope("shared", "team")
ALL = (ANN, BOB, TEAM)
START: Micros = 1_700_000_000_000_000
SECOND: Micros = 1_000_000
MODEL = "test:model"
NOUNS = (
    "session",
    "message",
    "progress",
    "memory",
    "edge",
    "entity",
    "entity_name",
    "mention",
    "profile",
)

_numbers = count(1)


def at(seconds: float) -> Micros:
    """A moment, in seconds after the beginning of a test."""
    return START + int(seconds * SECOND)


LATER = at(1)
MUCH_LATER = at(9)


def memory(
    content: str,
    *,
    kind: Kind = "fact",
    scope: Scope = ANN,
    created: Micros = START,
    **fields: Any,
) -> Memory:
    """A memory with a new id, not stored yet."""
    times = {"created_at": created, "updated_at": created, "event_time": created}
    return Memory(
        f"{ID_PREFIXES[kind]}_{next(_numbers):06d}", scope, kind, content, **{**times, **fields}
    )


def fact(content: str, **fields: Any) -> Memory:
    """A fact with a new id, not stored yet."""
    return memory(content, **fields)


def item(*namespace: str) -> dict[str, Any]:
    """What makes a memory an item of LangGraph's store, in a namespace."""
    return {"source": ITEMS, "metadata": {"namespace": list(namespace)}}


def turn(
    content: str,
    session: str,
    position: int,
    **fields: Any,
) -> Memory:
    """A dialogue turn with a new id, not stored yet."""
    return memory(content, kind="turn", session=session, position=position, **fields)


def run_id() -> str:
    """A run that no other test uses."""
    return f"run_{next(_numbers):06d}"


def write(
    store: Store,
    work: Callable[[Transaction], T],
    *,
    run: str = "",
    when: Micros = START,
    verb: str = "test",
    actor: str = "tester",
) -> T:
    """One transaction, in a run of its own unless told."""
    return store.write(Author(actor, run or run_id(), when, verb), work)


def together(
    store: Store,
    *steps: Callable[[Transaction], object],
    run: str = "",
    when: Micros = START,
) -> None:
    """Several steps in one transaction."""

    def work(tx: Transaction) -> None:
        for step in steps:
            step(tx)

    write(store, work, run=run, when=when)


def put(
    store: Store,
    *memories: Memory,
    run: str = "",
    when: Micros = START,
) -> list[Memory]:
    """Stores memories in one transaction and returns them with their numbers."""
    return write(
        store,
        lambda tx: [tx.add(one) for one in memories],
        run=run,
        when=when,
        verb="remember",
    )


def put_one(
    store: Store,
    one: Memory,
    *,
    run: str = "",
    when: Micros = START,
) -> Memory:
    """Stores one memory and returns it with its number."""
    return put(store, one, run=run, when=when)[0]


def change(
    store: Store,
    one: Memory,
    *,
    run: str = "",
    when: Micros = LATER,
    **fields: Any,
) -> Memory:
    """Changes fields of a memory, in a run of its own unless told."""
    return write(
        store,
        lambda tx: tx.change(one, updated_at=when, **fields),
        run=run,
        when=when,
        verb="change",
    )


def set_status(
    store: Store,
    one: Memory,
    status: str,
    *,
    run: str = "",
    when: Micros = LATER,
) -> Memory:
    """Moves a memory to another status."""
    return change(
        store, one, run=run, when=when, status=status, status_at=when, status_reason=status
    )


def purge(
    store: Store,
    one: Memory,
    *,
    run: str = "",
) -> None:
    """Purges a memory."""
    write(store, lambda tx: tx.erasure.memory(one), run=run, verb="purge")


def undo(
    store: Store,
    run: str,
    *,
    scopes: Sequence[Scope] = (ANN,),
    when: Micros = MUCH_LATER,
) -> str:
    """Undoes a run and returns the run that did it."""
    own = run_id()
    write(store, lambda tx: tx.undo(scopes, run), run=own, when=when, verb="undo")
    return own


def link(
    source: Memory,
    target: Memory,
    relation: Any = "derived_from",
    created: Micros = START,
) -> Edge:
    """An edge between two memories."""
    return Edge(source.scope, source.id, target.id, relation, created)


def texts(
    store: Store,
    ranked: Sequence[tuple[int, float]],
    scopes: Sequence[Scope] = (ANN, BOB, TEAM),
) -> list[str]:
    """What the memories of a ranking say, in its order."""
    return [one.content for one in store.get(scopes, [seq for seq, _ in ranked])]


def found(
    store: Store,
    question: str,
    *,
    limit: int = 100,
    **narrower: Any,
) -> list[str]:
    """What a search for the words of `question` finds, best first."""
    where = Filter(**{"scopes": (ANN,), **narrower})
    return texts(store, store.by_text(where, query_terms(question), limit))


def listed(store: Store, **narrower: Any) -> list[str]:
    """What a listing shows, oldest first."""
    return [
        one.content for one in store.list(Filter(**{"scopes": (ANN,), **narrower}), order="oldest")
    ]


def truth(store: Store, *scopes: Scope) -> dict[str, Any]:
    """Everything the store holds for the scopes but its journal, so that two moments can be
    compared.
    """
    asked = scopes or (ANN,)
    state: dict[str, Any] = {
        f"{noun} {scope}": list(store.rows(noun, scope)) for noun in NOUNS for scope in asked
    }
    every = Filter(
        asked, statuses=("active", "held", "proposed", "archived", "superseded", "faded", "evicted")
    )
    memories = store.list(every)
    state["numbers"] = [(one.seq, one.id) for one in memories]
    words = sorted({term for one in memories for term in index_terms(f"{one.title} {one.content}")})
    corpus = store.corpus(asked, words)
    state["totals"] = (corpus.size, round(corpus.mean_length, 6), corpus.frequency)
    return state


def unit(seed: int, dimensions: int = 16) -> NDArray[np.float32]:
    """A vector of length one that is always the same for a seed."""
    vector = np.random.default_rng(seed).normal(size=dimensions)
    made: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype(np.float32)
    return made


def brute_force(
    vectors: Mapping[int, Vector],
    query: Vector,
    limit: int,
) -> list[tuple[int, float]]:
    """What an exact search must return."""
    asked = np.asarray(query, np.float64)
    length = float(np.linalg.norm(asked)) or 1.0
    scores = {seq: float(np.asarray(v, np.float64) @ asked) / length for seq, v in vectors.items()}
    best = sorted(scores, key=lambda seq: (-scores[seq], seq))[:limit]
    return sorted(
        ((seq, min(1.0, max(0.0, scores[seq]))) for seq in best),
        key=lambda pair: (-pair[1], pair[0]),
    )


def same_ranking(given: Sequence[tuple[int, float]], expected: Sequence[tuple[int, float]]) -> bool:
    """Whether two rankings agree in order, and in scores but for rounding."""
    return [seq for seq, _ in given] == [seq for seq, _ in expected] and all(
        abs(mine - theirs) < 1e-5 for (_, mine), (_, theirs) in zip(given, expected, strict=True)
    )


def mention_all(
    tx: Transaction,
    name: str,
    memories: Sequence[Memory],
    *aliases: str,
) -> None:
    """An entity with its names, mentioned by these memories."""
    ident = f"entity_{name}"
    tx.entities.put(Entity(ident, ANN, name, "person", START, aliases))
    for one in memories:
        tx.entities.mention(ANN, entity=ident, memory=one.id)


def correct(tx: Transaction, old: Memory) -> None:
    """Lets a memory be superseded by another."""
    new = tx.add(fact("coffee after all", created=at(1)))
    tx.change(
        old, status="superseded", status_at=at(1), status_reason="corrected", updated_at=at(1)
    )
    tx.link(link(new, old, "supersedes", at(1)))


def tea_scene(store: Store) -> Memory:
    """One of everything, so that undo has something to spoil."""
    one, two = put(
        store, fact("green tea", confidence=0.9, decay_rate=0.1, tags=("hot",)), fact("water")
    )

    def work(tx: Transaction) -> None:
        tx.link(link(one, two))
        tx.sessions.put(Session("s", ANN, START, START))
        mention_all(tx, "Ann", [one, two], "Annie")

    write(store, work)
    store.touch(ALL, {one.seq: 3}, at(1))
    return store.get([ANN], [one.id])[0]
