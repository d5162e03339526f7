"""The store contract: every promise of `holdfast.store.base` as a test. A backend that passes is a store.

To test your own, put this into a test module and define two fixtures: `store`, a new empty store, and `again`,
a function that opens one more store object on the same data (it may call `pytest.skip`):

    from holdfast.testing import StoreContract

    class TestMyStore(StoreContract):
        pass

Nothing here sleeps or reads a clock: times are numbers that the tests pass in. After each test the store's own
check-up must find nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from operator import methodcaller
from typing import Any, TypeVar

import numpy as np
import pytest

from .errors import (
    Conflict,
    DimensionMismatchError,
    HoldfastError,
    InvalidInput,
    NotFound,
    Refused,
    ScopeError,
    StoreClosed,
)
from .store.base import Author, Filter, Store, Vector, Writer
from .text.tokens import index_terms, query_terms
from .types import ID_PREFIXES, Edge, Entity, Event, Job, Kind, Memory, Micros, Scope, Session, Triple

T = TypeVar("T")
Again = Callable[[], Store]

ANN, BOB, TEAM = Scope("user", "ann"), Scope("user", "bob"), Scope("shared", "team")
START: Micros = 1_700_000_000_000_000
SECOND: Micros = 1_000_000
MODEL = "test:model"
NOUNS = ("session", "memory", "edge", "entity", "entity_name", "mention", "profile")

_numbers = count(1)


def at(seconds: float) -> Micros:
    """A moment, in seconds after the beginning of a test."""
    return START + int(seconds * SECOND)


LATER, MUCH_LATER = at(1), at(9)


def memory(content: str, *, kind: Kind = "fact", scope: Scope = ANN, created: Micros = START, **fields: Any) -> Memory:
    """A memory with a new id, not stored yet."""
    times = {"created_at": created, "updated_at": created, "event_time": created}
    return Memory(f"{ID_PREFIXES[kind]}_{next(_numbers):06d}", scope, kind, content, **{**times, **fields})


def fact(content: str, **fields: Any) -> Memory:
    """A fact with a new id, not stored yet."""
    return memory(content, **fields)


def turn(content: str, session: str, position: int, **fields: Any) -> Memory:
    """A dialogue turn with a new id, not stored yet."""
    return memory(content, kind="turn", session=session, position=position, **fields)


def run_id() -> str:
    """A run that no other test uses."""
    return f"run_{next(_numbers):06d}"


def write(
    store: Store,
    work: Callable[[Writer], T],
    *,
    run: str = "",
    when: Micros = START,
    verb: str = "test",
    actor: str = "tester",
) -> T:
    """One transaction, in a run of its own unless told."""
    return store.write(Author(actor, run or run_id(), when, verb), work)


def together(store: Store, *steps: Callable[[Writer], object], run: str = "", when: Micros = START) -> None:
    """Several steps in one transaction."""

    def work(writer: Writer) -> None:
        for step in steps:
            step(writer)

    write(store, work, run=run, when=when)


def put(store: Store, *memories: Memory, run: str = "", when: Micros = START) -> list[Memory]:
    """Stores memories in one transaction and returns them with their numbers."""
    return write(store, lambda writer: [writer.add(one) for one in memories], run=run, when=when, verb="remember")


def put_one(store: Store, one: Memory, *, run: str = "", when: Micros = START) -> Memory:
    """Stores one memory and returns it with its number."""
    return put(store, one, run=run, when=when)[0]


def change(store: Store, one: Memory, *, run: str = "", when: Micros = LATER, **fields: Any) -> Memory:
    """Changes fields of a memory, in a run of its own unless told."""
    return write(store, lambda writer: writer.change(one, updated_at=when, **fields), run=run, when=when, verb="change")


def set_status(store: Store, one: Memory, status: str, *, run: str = "", when: Micros = LATER) -> Memory:
    """Moves a memory to another status."""
    return change(store, one, run=run, when=when, status=status, status_at=when, status_reason=status)


def purge(store: Store, one: Memory, *, run: str = "") -> None:
    """Purges a memory."""
    write(store, lambda writer: writer.purge(one), run=run, verb="purge")


def undo(store: Store, run: str, *, scopes: Sequence[Scope] = (ANN,), when: Micros = MUCH_LATER) -> str:
    """Undoes a run and returns the run that did it."""
    own = run_id()
    write(store, lambda writer: writer.undo(scopes, run), run=own, when=when, verb="undo")
    return own


def link(source: Memory, target: Memory, relation: Any = "derived_from", created: Micros = START) -> Edge:
    """An edge between two memories."""
    return Edge(source.scope, source.id, target.id, relation, created)


def texts(store: Store, ranked: Sequence[tuple[int, float]], scopes: Sequence[Scope] = (ANN, BOB, TEAM)) -> list[str]:
    """What the memories of a ranking say, in its order."""
    return [one.content for one in store.get(scopes, [seq for seq, _ in ranked])]


def found(store: Store, question: str, *, limit: int = 100, **narrower: Any) -> list[str]:
    """What a search for the words of `question` finds, best first."""
    where = Filter(**{"scopes": (ANN,), **narrower})
    return texts(store, store.by_text(where, query_terms(question), limit))


def listed(store: Store, **narrower: Any) -> list[str]:
    """What a listing shows, oldest first."""
    return [one.content for one in store.list(Filter(**{"scopes": (ANN,), **narrower}), order="oldest")]


def truth(store: Store, *scopes: Scope) -> dict[str, Any]:
    """Everything the store holds for the scopes but its journal, so that two moments can be compared."""
    asked = scopes or (ANN,)
    state: dict[str, Any] = {f"{noun} {scope}": list(store.rows(noun, scope)) for noun in NOUNS for scope in asked}
    every = Filter(asked, statuses=("active", "held", "proposed", "archived", "superseded", "faded", "evicted"))
    memories = store.list(every)
    state["numbers"] = [(one.seq, one.id) for one in memories]
    words = sorted({term for one in memories for term in index_terms(f"{one.title} {one.content}")})
    corpus = store.corpus(asked, words)
    state["totals"] = (corpus.size, round(corpus.mean_length, 6), corpus.frequency)
    return state


def unit(seed: int, dimensions: int = 16) -> Vector:
    """A vector of length one that is always the same for a seed."""
    vector = np.random.default_rng(seed).normal(size=dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def brute_force(vectors: Mapping[int, Vector], query: Vector, limit: int) -> list[tuple[int, float]]:
    """What an exact search must return."""
    length = float(np.linalg.norm(query.astype(np.float64))) or 1.0
    scores = {seq: float(v.astype(np.float64) @ query.astype(np.float64)) / length for seq, v in vectors.items()}
    best = sorted(scores, key=lambda seq: (-scores[seq], seq))[:limit]
    return sorted(((seq, min(1.0, max(0.0, scores[seq]))) for seq in best), key=lambda pair: (-pair[1], pair[0]))


def same_ranking(given: Sequence[tuple[int, float]], expected: Sequence[tuple[int, float]]) -> bool:
    """Whether two rankings agree in order, and in scores but for rounding."""
    return [seq for seq, _ in given] == [seq for seq, _ in expected] and all(
        abs(mine - theirs) < 1e-5 for (_, mine), (_, theirs) in zip(given, expected, strict=True)
    )


class MemoriesContract:
    """Adding, reading and changing memories."""

    def test_a_memory_comes_back_exactly_as_it_was_stored(self, store: Store) -> None:
        full = fact(
            "Prefers green tea", category="preferences", title="Tea", author="Ann", role="user", tags=("drink", "été"),
            status="held", status_at=at(1), status_reason="waiting", session="s1", position=4, event_time=at(-9),
            valid_from=at(-5), valid_until=at(5), confidence=0.25, decay_rate=0.125, decayed_at=at(2), protected=True,
            source="import", trust="tool", quote="green tea", triple=Triple("Ann", "likes", "tea", "person", "drink"),
            consolidated_at=at(3), outcome="done", metadata={"n": [1, 2.5, None, "日本"]}, access_count=3,
            last_accessed=at(4),
        )  # fmt: skip
        stored = put_one(store, full)
        assert store.get([ANN], [full.id]) == [full.with_(seq=stored.seq)] == [stored]

    @pytest.mark.parametrize("text", ["", " ", "\t\n", "Ж" * 5000, "a\u0301", "👩‍👩‍👧", "'; DROP TABLE memories;", '"'])
    def test_any_text_is_kept_as_it_is(self, store: Store, text: str) -> None:
        assert store.get([ANN], [put_one(store, fact(text)).id])[0].content == text

    def test_get_answers_in_the_order_asked_and_leaves_out_what_is_unknown(self, store: Store) -> None:
        one, two, three = put(store, fact("one"), fact("two"), fact("three"))
        asked: list[str | int] = [three.id, "fact_nobody", one.seq, 999_999, two.id, one.id]
        assert store.get([ANN], asked) == [three, one, two, one]

    def test_get_takes_any_number_of_references(self, store: Store) -> None:
        stored = put(store, *(fact(f"note {number}") for number in range(1200)))
        assert store.get([ANN], [one.seq for one in stored]) == stored

    def test_numbers_grow_with_each_memory_and_are_never_used_again(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        purge(store, two)
        assert one.seq < two.seq < put_one(store, fact("three")).seq

    def test_an_id_can_be_used_once_per_scope(self, store: Store) -> None:
        one = put_one(store, fact("first"))
        with pytest.raises(HoldfastError):
            put(store, replace(one, seq=0, content="second"))
        put(store, replace(one, seq=0, content="elsewhere", scope=BOB))
        assert (listed(store), listed(store, scopes=(BOB,))) == (["first"], ["elsewhere"])

    def test_change_returns_the_memory_as_it_is_now(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        changed = change(store, one, confidence=0.5, tags=("a", "b"), metadata={"k": 1})
        assert (changed.confidence, changed.tags, changed.metadata) == (0.5, ("a", "b"), {"k": 1})
        assert store.get([ANN], [one.id]) == [changed]

    def test_a_text_never_changes(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        with pytest.raises(InvalidInput):
            change(store, one, content="coffee")
        assert listed(store) == ["tea"]

    def test_a_memory_that_is_gone_cannot_be_changed(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        purge(store, one)
        with pytest.raises(NotFound):
            change(store, one, confidence=0.5)

    def test_a_writer_reads_its_own_changes(self, store: Store) -> None:
        def work(writer: Writer) -> tuple[Memory | None, Memory | None]:
            added = writer.add(fact("tea"))
            writer.change(added, confidence=0.5)
            return writer.memory(ANN, added.id), writer.memory(ANN, added.seq)

        by_id, by_number = write(store, work)
        assert by_id == by_number
        assert by_id is not None and by_id.confidence == 0.5

    def test_listing_runs_in_insertion_order_or_its_reverse(self, store: Store) -> None:
        stored = put(store, *(fact(str(number), event_time=at(-number)) for number in range(5)))
        where = Filter((ANN,))
        assert store.list(where, order="oldest") == stored
        assert store.list(where) == stored[::-1]

    @pytest.mark.parametrize("order", ["newest", "oldest"])
    def test_pages_of_a_listing_join_without_gap_or_overlap(self, store: Store, order: Any) -> None:
        put(store, *(fact(str(number)) for number in range(10)))
        where, pages, last = Filter((ANN,)), [], None
        while page := store.list(where, limit=3, after=last, order=order):
            pages += page
            last = page[-1].seq
        assert pages == store.list(where, order=order)
        assert len(pages) == 10

    def test_same_content_is_the_oldest_active_one_of_scope_and_kind(self, store: Store) -> None:
        gone, oldest, *_ = put(
            store, fact("Tea."), fact("tea"), fact("TEA"), fact("tea", scope=BOB), memory("tea", kind="rule")
        )
        set_status(store, gone, "archived")
        assert write(store, lambda writer: list(writer.same_content([fact(' "tea" ')]).values())) == [oldest]
        assert write(store, lambda writer: writer.same_content([fact("coffee")])) == {}

    def test_counts_are_by_kind_and_status(self, store: Store) -> None:
        one, *_ = put(store, fact("a"), fact("b"), turn("c", "s", 0), fact("d", scope=BOB))
        set_status(store, one, "archived")
        assert store.counts([ANN]) == {"fact": {"active": 1, "archived": 1}, "turn": {"active": 1}}
        assert store.counts([ANN, BOB])["fact"] == {"active": 2, "archived": 1}

    def test_authors_are_distinct_and_in_alphabetical_order(self, store: Store) -> None:
        put(store, *(fact(f"by {name}", author=name) for name in ("Zoe", "Ann", "Zoe", "", "Émile")))
        put(store, fact("theirs", author="Mallory", scope=BOB))
        assert store.authors([ANN]) == ["Ann", "Zoe", "Émile"]
        assert store.authors([ANN, BOB]) == ["Ann", "Mallory", "Zoe", "Émile"]

    def test_at_most_two_hundred_authors_are_told(self, store: Store) -> None:
        put(store, *(fact("note", author=f"a{number:03d}") for number in range(230)))
        assert store.authors([ANN]) == [f"a{number:03d}" for number in range(200)]

    def test_touch_counts_uses_and_is_not_journalled(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        journal = store.events([ANN])
        store.touch({one.seq: 2, 999_999: 1}, at(5))
        store.touch({one.seq: 1}, at(6))
        assert store.get([ANN], [one.id, two.id]) == [one.with_(access_count=3, last_accessed=at(6)), two]
        assert store.events([ANN]) == journal

    def test_neighbours_are_the_active_turns_within_reach(self, store: Store) -> None:
        turns = put(store, *(turn(str(number), "s", number) for number in range(7)), turn("other", "t", 3))
        set_status(store, turns[4], "archived")
        around = store.neighbours([turns[3]], 2)
        assert {seq: [one.content for one in near] for seq, near in around.items()} == {turns[3].seq: ["1", "2", "5"]}

    def test_neighbours_of_neighbours_leave_out_what_is_not_active(self, store: Store) -> None:
        turns = put(store, *(turn(str(number), "s", number) for number in range(3)))
        away = set_status(store, turns[1], "archived")
        around = store.neighbours([turns[0], away], 1)
        assert around[turns[0].seq] == []
        assert around[away.seq] == [turns[0], turns[2]]

    def test_what_is_in_no_session_has_no_neighbours(self, store: Store) -> None:
        lone = put_one(store, fact("alone"))
        assert store.neighbours([lone], 3) == {lone.seq: []}

    def test_scopes_come_in_the_order_they_were_first_used(self, store: Store) -> None:
        assert store.scopes() == []
        put(store, fact("one", scope=TEAM))
        put(store, fact("two", scope=BOB), fact("three", scope=ANN))
        assert store.scopes() == [TEAM, BOB, ANN]

    def test_reading_does_not_make_a_scope(self, store: Store) -> None:
        assert listed(store) == [] and found(store, "tea") == []
        assert write(store, lambda writer: writer.memory(ANN, "fact_nobody")) is None
        assert store.scopes() == []


def _dots(store: Store, scope: Scope) -> list[int]:
    return [seq for seq, _ in store.by_vector(Filter((scope,)), MODEL, unit(1), 10)]


READS: Mapping[str, Callable[[Store, Scope], Any]] = {
    "get": lambda store, scope: [one.seq for one in store.get([scope], list(range(1, 30)))],
    "list": lambda store, scope: [one.seq for one in store.list(Filter((scope,)))],
    "by_text": lambda store, scope: [seq for seq, _ in store.by_text(Filter((scope,)), ["tea"], 10)],
    "by_text, narrow": lambda store, scope: [
        seq for seq, _ in store.by_text(Filter((scope,), kinds=("fact",)), ["tea"], 10)
    ],
    "by_vector, first": _dots,
    "by_vector, again": lambda store, scope: (_dots(store, scope), _dots(store, scope))[1],
    "by_vector, narrow": lambda store, scope: [
        seq for seq, _ in store.by_vector(Filter((scope,), kinds=("fact",)), MODEL, unit(1), 10)
    ],
    "by_entity": lambda store, scope: [seq for seq, _ in store.by_entity(Filter((scope,)), ["joanna"], 10)],
    "authors": lambda store, scope: store.authors([scope]),
    "without_vector": lambda store, scope: [one.seq for one in store.without_vector("other", 10, [scope])],
    "sessions": lambda store, scope: [one.agent for one in store.sessions([scope])],
    "edges": lambda store, scope: [
        edge.reason for one in store.list(Filter((scope,))) for edge in store.edges(scope, one.id)
    ],
    "events": lambda store, scope: [event.seq for event in store.events([scope])],
    "events of a target": lambda store, scope: [event.seq for event in store.events([scope], target="fact_same")],
    "rows": lambda store, scope: [str(row) for row in store.rows("memory", scope)],
    "vector rows": lambda store, scope: [row["vector"] for row in store.rows("vector", scope)],
    "scopes": lambda store, scope: [one for one in store.scopes() if one == scope],
}


def populate(store: Store, scope: Scope) -> Memory:
    """The same shape of everything in a scope, under the same ids, with values of its own."""
    name = scope.key

    def work(writer: Writer) -> Memory:
        place: dict[str, Any] = {"scope": scope, "session": "s"}
        one = writer.add(replace(fact(f"tea of {name}", author=name, position=0, **place), id="fact_same"))
        two = writer.add(replace(fact(f"more tea of {name}", position=1, **place), id="fact_other"))
        writer.put_session(Session("s", scope, START, START, agent=name))
        writer.link(Edge(scope, one.id, two.id, "derived_from", START, f"reason of {name}"))
        writer.put_entity(Entity("e", scope, "Joanna", "person", START))
        writer.mention(scope, entity="e", memory=one.id)
        return one

    stored = write(store, work)
    store.add_vectors(MODEL, {stored.seq: unit(len(name) * 7 + ord(name[0]))})
    return stored


class ScopesContract:
    """No scope sees another's memories."""

    @pytest.mark.parametrize("read", READS.values(), ids=list(READS))
    def test_scopes_do_not_leak(self, store: Store, read: Callable[[Store, Scope], Any]) -> None:
        populate(store, ANN), populate(store, BOB)
        anns, bobs = read(store, ANN), read(store, BOB)
        assert anns and bobs
        assert not set(anns) & set(bobs)
        assert not read(store, TEAM)

    def test_neighbours_stay_in_their_scope(self, store: Store) -> None:
        anns, _ = populate(store, ANN), populate(store, BOB)
        assert [one.scope for one in store.neighbours([anns], 5)[anns.seq]] == [ANN]

    def test_the_corpus_and_the_counts_are_those_of_the_scope(self, store: Store) -> None:
        populate(store, ANN), populate(store, BOB)
        assert store.corpus([ANN], ["tea", "bob"]).frequency == {"tea": 2, "bob": 0}
        assert (store.corpus([ANN], []).size, store.corpus([TEAM], []).size) == (2, 0)
        assert (store.counts([ANN]), store.counts([TEAM])) == ({"fact": {"active": 2}}, {})

    def test_models_and_coverage_are_those_of_the_scope(self, store: Store) -> None:
        one, _ = put(store, fact("ann"), fact("bob", scope=BOB))
        store.add_vectors(MODEL, {one.seq: unit(1)})
        assert (store.models([ANN]), store.models([BOB])) == ({MODEL: True}, {})
        assert (store.coverage([ANN]), store.coverage([BOB])) == ({MODEL: 1}, {})

    def test_no_word_reaches_into_another_scope(self, store: Store) -> None:
        put(store, fact("mine"), fact("secret", scope=BOB))
        number = store.get([BOB], [2])[0].seq
        for term in ('" OR "2~secret', "2~secret", "secret", f'x" OR "{number}~secret" OR "y', "* OR secret"):
            assert store.by_text(Filter((ANN,)), [term], 10) == []

    def test_a_writer_finds_nothing_of_another_scope(self, store: Store) -> None:
        anns = put_one(store, fact("tea"))
        assert write(store, lambda writer: writer.memory(BOB, anns.id)) is None
        assert write(store, lambda writer: writer.memory(BOB, anns.seq)) is None
        assert write(store, lambda writer: writer.same_content([fact("tea", scope=BOB)])) == {}

    @pytest.mark.parametrize("verb", ["change", "remove", "purge"])
    def test_a_writer_changes_nothing_of_another_scope(self, store: Store, verb: str) -> None:
        foreign = put_one(store, fact("tea")).with_(scope=BOB)
        verbs: dict[str, Callable[[Writer], Any]] = {
            "change": lambda writer: writer.change(foreign, confidence=0.1),
            "remove": lambda writer: writer.remove(foreign),
            "purge": lambda writer: writer.purge(foreign),
        }
        with pytest.raises(NotFound):
            write(store, verbs[verb])
        assert listed(store) == ["tea"]

    def test_undo_reaches_only_the_scopes_it_names(self, store: Store) -> None:
        put(store, fact("tea"), run="run_ann")
        with pytest.raises(NotFound):
            undo(store, "run_ann", scopes=(BOB,))
        assert listed(store) == ["tea"]

    def test_several_scopes_are_read_together_and_naming_one_twice_equals_once(self, store: Store) -> None:
        anns, bobs = put(store, fact("tea"), fact("tea", scope=BOB))
        store.add_vectors(MODEL, {anns.seq: unit(1), bobs.seq: unit(1)})
        for scopes, expected in (((ANN, BOB), [anns.seq, bobs.seq]), ((ANN, ANN), [anns.seq])):
            where = Filter(scopes)
            assert [seq for seq, _ in store.by_text(where, ["tea"], 10)] == expected
            assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 10)] == expected
            assert store.corpus(scopes, ["tea"]).frequency == {"tea": len(expected)}
            assert [one.seq for one in store.list(where, order="oldest")] == expected

    def test_a_read_without_scope_is_an_error(self) -> None:
        with pytest.raises(ScopeError):
            Filter(())


class FilterContract:
    """The filter narrows before the limit counts."""

    def test_archived_twins_do_not_crowd_out_the_active_one(self, store: Store) -> None:
        twins = put(store, *(fact("green tea") for _ in range(51)))
        store.add_vectors(MODEL, {one.seq: unit(1) for one in twins})
        put_away = twins[:25] + twins[26:]
        write(store, lambda writer: [writer.change(one, status="archived") for one in put_away])
        where, expected = Filter((ANN,)), [twins[25].seq]
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == expected
        for _ in range(3):
            assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == expected
        assert [one.seq for one in store.list(where, limit=1)] == expected

    def test_turns_hide_no_fact(self, store: Store) -> None:
        *turns, wanted = put(store, *(turn("tea tea tea", "s", n) for n in range(40)), fact("tea, and much else"))
        store.add_vectors(MODEL, {one.seq: unit(1) for one in turns} | {wanted.seq: unit(2)})
        where = Filter((ANN,), kinds=("fact",))
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == [wanted.seq]
        assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == [wanted.seq]
        assert store.list(where, limit=1) == [wanted]

    def test_entities_are_filtered_before_the_limit(self, store: Store) -> None:
        stored = put(store, *(fact(f"note {number}") for number in range(10)))
        write(store, lambda writer: _mention_all(writer, "Joanna", stored))
        write(store, lambda writer: [writer.change(one, status="archived") for one in stored[1:]])
        assert [seq for seq, _ in store.by_entity(Filter((ANN,)), ["joanna"], 1)] == [stored[0].seq]

    @pytest.mark.parametrize(
        ("narrower", "expected"),
        [
            ({"kinds": ("fact",)}, ["tea plain", "tea tagged"]),
            ({"kinds": ("fact", "turn")}, ["tea plain", "tea tagged", "tea said"]),
            ({"categories": ("drinks",)}, ["tea rule"]),
            ({"tags": ("hot",)}, ["tea tagged"]),
            ({"tags": ("hot", "sweet")}, ["tea tagged"]),
            ({"tags": ("hot", "cold")}, []),
            ({"tags": ("ho",)}, []),
            ({"authors": ("Ann",)}, ["tea said"]),
            ({"authors": ("Ann", "Bob")}, ["tea said", "tea rule"]),
            ({"sessions": ("s1",)}, ["tea said"]),
            ({"excluded_sessions": ("s1",)}, ["tea plain", "tea tagged", "tea rule"]),
            ({"since": at(10)}, ["tea tagged", "tea said", "tea rule"]),
            ({"since": at(11)}, ["tea said", "tea rule"]),
            ({"until": at(10)}, ["tea plain"]),
            ({"since": at(10), "until": at(20)}, ["tea tagged"]),
            ({"statuses": ("held",)}, ["tea held"]),
            ({"statuses": ("active", "held")}, ["tea plain", "tea tagged", "tea said", "tea rule", "tea held"]),
            ({"statuses": ()}, []),
            ({"kinds": ("fact",), "tags": ("sweet",), "since": at(1)}, ["tea tagged"]),
        ],
        ids=str,
    )
    def test_each_way_to_search_obeys_the_filter(
        self, store: Store, narrower: dict[str, Any], expected: list[str]
    ) -> None:
        stored = put(
            store,
            fact("tea plain"),
            fact("tea tagged", tags=("hot", "sweet"), event_time=at(10)),
            turn("tea said", "s1", 0, author="Ann", event_time=at(20)),
            memory("tea rule", kind="rule", category="drinks", author="Bob", event_time=at(30)),
            fact("tea held", status="held"),
        )
        store.add_vectors(MODEL, {one.seq: unit(1) for one in stored})
        write(store, lambda writer: _mention_all(writer, "Joanna", stored))
        where = Filter((ANN,), **narrower)
        assert listed(store, **narrower) == expected
        assert sorted(found(store, "tea", **narrower)) == sorted(expected)
        for _ in range(2):
            assert texts(store, store.by_vector(where, MODEL, unit(1), 10)) == expected
        assert texts(store, store.by_entity(where, ["joanna"], 10)) == expected[::-1]

    def test_validity_begins_at_its_first_moment_and_ends_before_its_last(self, store: Store) -> None:
        stored = put(
            store, fact("tea always"), fact("tea from", valid_from=at(10)), fact("tea until", valid_until=at(20)),
            fact("tea between", valid_from=at(10), valid_until=at(20)),
        )  # fmt: skip
        store.add_vectors(MODEL, {one.seq: unit(1) for one in stored})
        expectations = {
            at(10) - 1: ["tea always", "tea until"],
            at(10): ["tea always", "tea between", "tea from", "tea until"],
            at(20) - 1: ["tea always", "tea between", "tea from", "tea until"],
            at(20): ["tea always", "tea from"],
        }
        for moment, expected in expectations.items():
            assert sorted(listed(store, valid_at=moment)) == expected
            assert sorted(found(store, "tea", valid_at=moment)) == expected
            assert sorted(found(store, "tea", valid_at=moment, kinds=("fact",))) == expected
            ranked = store.by_vector(Filter((ANN,), valid_at=moment), MODEL, unit(1), 10)
            assert sorted(texts(store, ranked)) == expected

    def test_as_of_sees_each_status_at_its_time(self, store: Store) -> None:
        one = put_one(store, fact("tea", created=at(10)), when=at(10))
        for moment, status in ((20, "archived"), (30, "active"), (40, "superseded"), (50, "active"), (60, "faded")):
            set_status(store, one, status, when=at(moment))
        seen = {moment: listed(store, as_of=at(moment)) for moment in (9, 10, 19.9, 20, 29.9, 30, 40, 49.9, 50, 60, 99)}
        there, away = ["tea"], list[str]()
        assert list(seen.values()) == [away, there, there, away, away, there, away, away, there, away, away]
        assert listed(store, as_of=at(45), statuses=("superseded",)) == ["tea"]

    def test_as_of_serves_every_way_to_search(self, store: Store) -> None:
        one, two = put(store, fact("tea old"), fact("tea new", created=at(20)))
        store.add_vectors(MODEL, {one.seq: unit(1), two.seq: unit(1)})
        write(store, lambda writer: _mention_all(writer, "Joanna", [one, two]))
        set_status(store, one, "archived", when=at(20))
        for moment, expected in ((10, ["tea old"]), (20, ["tea new"])):
            where = Filter((ANN,), as_of=at(moment))
            assert found(store, "tea", as_of=at(moment)) == expected
            assert texts(store, store.by_vector(where, MODEL, unit(1), 10)) == expected
            assert texts(store, store.by_entity(where, ["joanna"], 10)) == expected

    def test_as_of_is_not_misled_by_changes_of_other_fields(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        change(store, one, when=at(5), confidence=0.5)
        set_status(store, one, "archived", when=at(10))
        change(store, one, when=at(15), title="Tea")
        assert (listed(store, as_of=at(7)), listed(store, as_of=at(12))) == (["tea"], [])

    def test_as_of_remembers_a_status_that_was_undone(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        set_status(store, one, "archived", run="run_archive", when=at(10))
        undo(store, "run_archive", when=at(20))
        assert [listed(store, as_of=at(moment)) for moment in (5, 15, 25)] == [["tea"], [], ["tea"]]


def _mention_all(writer: Writer, name: str, memories: Sequence[Memory], *aliases: str) -> None:
    ident = f"entity_{name}"
    writer.put_entity(Entity(ident, ANN, name, "person", START, aliases))
    for one in memories:
        writer.mention(ANN, entity=ident, memory=one.id)


class WordsContract:
    """The full-text index and its totals."""

    def test_one_of_the_terms_is_enough_and_more_are_better(self, store: Store) -> None:
        put(store, fact("green tea"), fact("black coffee"), fact("green grass"), fact("water"))
        assert found(store, "green tea") == ["green tea", "green grass"]
        assert set(found(store, "tea coffee")) == {"green tea", "black coffee"}

    def test_scores_lie_between_zero_and_one_best_first(self, store: Store) -> None:
        put(store, *(fact("tea " * (1 + number % 3) + "word " * (number % 7)) for number in range(20)))
        scores = [score for _, score in store.by_text(Filter((ANN,)), ["tea", "word"], 20)]
        assert len(scores) == 20
        assert scores == sorted(scores, reverse=True)
        assert 0.0 <= scores[-1] <= scores[0] <= 1.0

    def test_ties_come_in_insertion_order_and_the_limit_keeps_the_first(self, store: Store) -> None:
        stored = put(store, *(fact("green tea") for _ in range(9)), fact("water"))
        assert [seq for seq, _ in store.by_text(Filter((ANN,)), ["tea"], 4)] == [one.seq for one in stored[:4]]

    @pytest.mark.parametrize(
        ("text", "question"),
        [
            ("Она живёт в Москве", "Москва"),
            ("彼女は東京に住んでいる", "東京"),
            ("她喜欢绿茶", "绿茶"),
            ("그녀는 녹차를 좋아한다", "녹차"),
            ("Café crème à Genève", "cafe geneve"),
            ("Er wohnt in Zürich", "zurich"),
            ("Η Αθήνα είναι μεγάλη", "Αθήνα"),
            ("ﬁle system", "file"),
        ],
    )
    def test_words_of_every_script_are_found(self, store: Store, text: str, question: str) -> None:
        put(store, fact(text), fact("something else entirely"))
        assert found(store, question) == [text]

    def test_titles_and_tags_are_words_too(self, store: Store) -> None:
        one = put_one(store, fact("body", title="headline", tags=("label",)))
        assert found(store, "headline") == found(store, "label") == ["body"]
        change(store, one, title="banner", tags=("sticker",))
        assert found(store, "headline label") == []
        assert found(store, "banner") == found(store, "sticker") == ["body"]

    @pytest.mark.parametrize(
        "terms",
        [
            [], [""], ['"'], ['""'], ["'"], ["a\x00b"], ["AND", "OR", "NOT", "NEAR"], ["*"], ["-tea"], ["te*"],
            ["(", ")"], ["{x}:y"], ["^tea"], ["\\"], ["a b c"], ["~"], ["_"], ["%"], ["?"], ["\ud7ff"], ["x" * 5000],
            ["词"] * 3, [f"w{number}" for number in range(2000)],
        ],
        ids=lambda terms: f"{len(terms)} terms {str(terms)[:20]!a}",
    )  # fmt: skip
    def test_any_list_of_terms_is_legal(self, store: Store, terms: list[str]) -> None:
        put(store, fact("green tea"))
        assert store.by_text(Filter((ANN,)), terms, 10) == []
        assert [seq for seq, _ in store.by_text(Filter((ANN,)), [*terms, "tea"], 10)] == [1]
        assert set(store.corpus([ANN], terms).frequency.values()) <= {0}

    def test_a_memory_without_words_is_never_found_but_kept(self, store: Store) -> None:
        put(store, fact("?!"), fact("tea"))
        assert found(store, "tea ?!") == ["tea"]
        assert store.corpus([ANN], []).size == 2

    def test_corpus_tells_size_length_and_frequencies(self, store: Store) -> None:
        put(store, fact("green tea"), fact("green green grass grows"), fact("tea", scope=BOB))
        corpus = store.corpus([ANN], ["green", "tea", "nowhere"])
        assert (corpus.size, corpus.mean_length) == (2, 3.0)
        assert corpus.frequency == {"green": 2, "tea": 1, "nowhere": 0}
        assert store.corpus([ANN, BOB], ["tea"]).frequency == {"tea": 2}

    def test_an_empty_corpus_has_no_length(self, store: Store) -> None:
        assert store.corpus([ANN], ["tea"]) == replace(store.corpus([ANN], []), frequency={"tea": 0})
        assert (store.corpus([ANN], []).size, store.corpus([ANN], []).mean_length) == (0, 0.0)

    def test_corpus_follows_every_change(self, store: Store) -> None:
        def seen() -> tuple[int, float, int]:
            corpus = store.corpus([ANN], ["tea"])
            return corpus.size, corpus.size * corpus.mean_length, corpus.frequency["tea"]

        put(store, fact("water"))
        one = put_one(store, fact("green tea"), run="run_add")
        assert seen() == (2, 3, 1)
        set_status(store, one, "archived", run="run_archive")
        assert seen() == (1, 1, 0)
        undo(store, "run_archive")
        assert seen() == (2, 3, 1)
        one = change(store, one, tags=("tea", "hot"))
        assert seen() == (2, 5, 1)
        write(store, lambda writer: writer.remove(one), run="run_remove")
        assert seen() == (1, 1, 0)
        undo(store, "run_remove")
        assert seen() == (2, 5, 1)
        purge(store, one)
        assert seen() == (1, 1, 0)

    def test_archived_memories_are_found_when_asked_for(self, store: Store) -> None:
        one, _ = put(store, fact("green tea"), fact("black tea"))
        set_status(store, one, "archived")
        assert found(store, "tea") == ["black tea"]
        assert found(store, "tea", statuses=("archived",)) == ["green tea"]
        set_status(store, one, "active")
        assert sorted(found(store, "tea")) == ["black tea", "green tea"]


class VectorsContract:
    """Exact search by vector, cold and warm."""

    @pytest.mark.parametrize("size", [1, 7, 60])
    def test_the_nearest_are_exact_at_the_first_call_and_at_every_later_one(self, store: Store, size: int) -> None:
        vectors = vectorised(store, size)
        for attempt in range(4):
            query = unit(1000 + attempt)
            for limit in (1, 5, size, 500):
                ranked = store.by_vector(Filter((ANN,)), MODEL, query, limit)
                assert same_ranking(ranked, brute_force(vectors, query, limit))

    def test_the_length_of_the_question_does_not_matter(self, store: Store) -> None:
        vectors = vectorised(store, 20)
        for _ in range(3):
            ranked = store.by_vector(Filter((ANN,)), MODEL, unit(99) * 12.5, 20)
            assert same_ranking(ranked, brute_force(vectors, unit(99), 20))

    def test_opposites_and_empty_vectors_score_zero(self, store: Store) -> None:
        opposite, blank, same = put(store, fact("opposite"), fact("blank"), fact("same"))
        store.add_vectors(MODEL, {opposite.seq: -unit(1), blank.seq: unit(1) * 0, same.seq: unit(1)})
        for _ in range(3):
            (best, high), *rest = store.by_vector(Filter((ANN,)), MODEL, unit(1), 3)
            assert best == same.seq and high == pytest.approx(1.0)
            assert rest == [(opposite.seq, 0.0), (blank.seq, 0.0)]

    def test_equal_vectors_come_in_insertion_order(self, store: Store) -> None:
        stored = put(store, *(fact(str(number)) for number in range(30)))
        store.add_vectors(MODEL, {one.seq: unit(1) for one in reversed(stored)})
        for _ in range(3):
            ranked = store.by_vector(Filter((ANN,)), MODEL, unit(2), 10)
            assert [seq for seq, _ in ranked] == [one.seq for one in stored[:10]]

    def test_a_limit_of_zero_finds_nothing(self, store: Store) -> None:
        vectorised(store, 3)
        for _ in range(3):
            assert store.by_vector(Filter((ANN,)), MODEL, unit(1), 0) == []

    @pytest.mark.parametrize("other", [False, True], ids=["same store", "another store"])
    def test_search_follows_every_write(self, store: Store, again: Again, other: bool) -> None:
        vectors = vectorised(store, 12)
        writing = again() if other else store
        first, second, third, fourth, *_ = store.list(Filter((ANN,)), order="oldest")

        def agrees(expected: Mapping[int, Vector]) -> None:
            for limit in (3, 50):
                ranked = store.by_vector(Filter((ANN,)), MODEL, unit(77), limit)
                assert same_ranking(ranked, brute_force(expected, unit(77), limit))

        agrees(vectors)
        agrees(vectors)
        set_status(writing, first, "archived", run="run_archive")
        agrees(without(vectors, first))
        set_status(writing, first, "active")
        agrees(vectors)
        purge(writing, second)
        agrees(without(vectors, second))
        vectors |= vectorised(writing, 30, start=500)
        agrees(without(vectors, second))
        write(writing, lambda writer: writer.remove(third), run="run_remove")
        agrees(without(vectors, second, third))
        undo(writing, "run_remove")
        agrees(without(vectors, second, third))  # it is back, but its vector has to be made again
        writing.add_vectors(MODEL, {third.seq: vectors[third.seq]})
        agrees(without(vectors, second))
        set_status(writing, fourth, "archived")
        writing.add_vectors(MODEL, {fourth.seq: unit(4242)})
        agrees(without(vectors, second, fourth))
        set_status(writing, fourth, "active")
        agrees(without(vectors, second) | {fourth.seq: unit(4242)})

    def test_what_was_archived_before_the_first_search_comes_back_when_restored(self, store: Store) -> None:
        vectors = vectorised(store, 6)
        one = store.list(Filter((ANN,)))[0]
        set_status(store, one, "archived")
        for _ in range(3):
            assert one.seq not in dict(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10))
        set_status(store, one, "active")
        assert same_ranking(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), brute_force(vectors, unit(5), 10))

    def test_what_left_and_came_back_between_two_searches_has_no_vector(self, store: Store) -> None:
        vectors = vectorised(store, 6)
        one = store.list(Filter((ANN,)))[0]
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(5), 10)
        write(store, lambda writer: writer.remove(one), run="run_remove")
        undo(store, "run_remove")
        expected = brute_force(without(vectors, one), unit(5), 10)
        assert same_ranking(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), expected)

    def test_a_vector_can_be_replaced(self, store: Store) -> None:
        vectors = vectorised(store, 5)
        for _ in range(2):
            store.by_vector(Filter((ANN,)), MODEL, unit(5), 10)
        seq = next(iter(vectors))
        store.add_vectors(MODEL, {seq: unit(31)})
        expected = brute_force(vectors | {seq: unit(31)}, unit(5), 10)
        assert same_ranking(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), expected)

    @pytest.mark.parametrize("length", [0, 1, 15, 17, 64])
    def test_a_vector_of_another_length_matches_nothing(self, store: Store, length: int) -> None:
        vectorised(store, 5)
        for _ in range(3):
            assert store.by_vector(Filter((ANN,)), MODEL, np.ones(length, np.float32), 10) == []

    def test_an_unknown_model_matches_nothing(self, store: Store) -> None:
        vectorised(store, 5)
        assert store.by_vector(Filter((ANN,)), "test:unknown", unit(1), 10) == []

    @pytest.mark.parametrize("lengths", [(16, 8), (8, 8)], ids=["mixed", "other than before"])
    def test_vectors_of_two_lengths_are_refused_and_none_is_stored(self, store: Store, lengths: Sequence[int]) -> None:
        vectors = vectorised(store, 2)
        new = put(store, fact("x"), fact("y"))
        with pytest.raises(DimensionMismatchError):
            store.add_vectors(MODEL, {one.seq: unit(1, size) for one, size in zip(new, lengths, strict=True)})
        assert store.vectors(MODEL, [one.seq for one in new]) == {}
        assert store.coverage() == {MODEL: len(vectors)}

    def test_mixed_lengths_of_a_new_model_leave_no_trace(self, store: Store) -> None:
        one, two = put(store, fact("x"), fact("y"))
        with pytest.raises(DimensionMismatchError):
            store.add_vectors(MODEL, {one.seq: unit(1, 8), two.seq: unit(1, 16)})
        assert (store.models([ANN]), store.coverage()) == ({}, {})
        store.add_vectors(MODEL, {one.seq: unit(1, 8)})
        assert store.models([ANN]) == {MODEL: False}

    def test_vectors_come_back_as_they_were_stored(self, store: Store) -> None:
        vectors = vectorised(store, 3)
        stored = store.vectors(MODEL, [*vectors, 999_999])
        assert stored.keys() == vectors.keys()
        assert all(np.array_equal(stored[seq], vectors[seq]) for seq in vectors)
        assert store.vectors("test:unknown", list(vectors)) == {}

    def test_vectors_of_memories_that_are_gone_are_dropped(self, store: Store) -> None:
        one, two = put(store, fact("x"), fact("y"))
        purge(store, two)
        store.add_vectors(MODEL, {one.seq: unit(1), two.seq: unit(2), 999_999: unit(3)})
        assert set(store.vectors(MODEL, [one.seq, two.seq, 999_999])) == {one.seq}

    def test_models_coexist(self, store: Store) -> None:
        one, two = put(store, fact("x"), fact("y"))
        store.add_vectors("test:small", {one.seq: unit(1, 4), two.seq: unit(2, 4)})
        store.add_vectors("test:large", {one.seq: unit(2, 32)})
        for _ in range(3):
            assert [seq for seq, _ in store.by_vector(Filter((ANN,)), "test:small", unit(2, 4), 1)] == [two.seq]
            assert [seq for seq, _ in store.by_vector(Filter((ANN,)), "test:large", unit(1, 32), 5)] == [one.seq]
        assert store.models([ANN]) == {"test:small": True, "test:large": False}
        assert store.coverage([ANN]) == {"test:large": 1, "test:small": 2}

    def test_dropping_a_model_forgets_its_vectors_only(self, store: Store) -> None:
        vectors = vectorised(store, 5)
        store.add_vectors("test:other", {seq: unit(seq) for seq in vectors})
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)
        assert (store.drop_vectors(MODEL), store.drop_vectors(MODEL)) == (5, 0)
        assert store.by_vector(Filter((ANN,)), MODEL, unit(1), 10) == []
        assert store.models([ANN]) == {"test:other": True}
        assert len(store.without_vector(MODEL, 10)) == 5

    def test_dropping_a_model_in_one_scope_leaves_the_others(self, store: Store) -> None:
        ann, bob = put(store, fact("tea"), fact("tea", scope=BOB))
        store.add_vectors(MODEL, {ann.seq: unit(1), bob.seq: unit(1)})
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)
        assert store.drop_vectors(MODEL, [ANN]) == 1
        assert store.by_vector(Filter((ANN,)), MODEL, unit(1), 10) == []
        assert [seq for seq, _ in store.by_vector(Filter((BOB,)), MODEL, unit(1), 10)] == [bob.seq]

    def test_a_dropped_model_can_come_back_with_another_length(self, store: Store) -> None:
        (seq,) = vectorised(store, 1)
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)
        store.drop_vectors(MODEL)
        store.add_vectors(MODEL, {seq: unit(1, 4)})
        for _ in range(3):
            assert [found for found, _ in store.by_vector(Filter((ANN,)), MODEL, unit(1, 4), 10)] == [seq]

    def test_without_vector_gives_durable_kinds_first_then_the_newest(self, store: Store) -> None:
        put(
            store, turn("turn 1", "s", 0), fact("fact 1"), memory("doc", kind="document"), memory("rule", kind="rule"),
            turn("turn 2", "s", 1), fact("fact 2", status="archived"),
        )  # fmt: skip
        expected = ["fact 2", "rule", "fact 1", "turn 2", "doc", "turn 1"]
        assert [one.content for one in store.without_vector(MODEL, 10)] == expected
        assert [one.content for one in store.without_vector(MODEL, 2, [ANN])] == expected[:2]

    def test_embedding_in_steps_ends_and_marks_the_model_complete(self, store: Store) -> None:
        put(store, *(fact(str(number)) for number in range(7)), turn("t", "s", 0), fact("bob", scope=BOB))
        steps = 0
        while waiting := store.without_vector(MODEL, 3, [ANN]):
            store.add_vectors(MODEL, {one.seq: unit(one.seq) for one in waiting})
            steps += 1
            assert store.models([ANN]) == {MODEL: steps == 3}
        assert (steps, store.models([ANN, BOB])) == (3, {MODEL: True})

    def test_a_new_memory_makes_a_model_incomplete_until_it_is_embedded(self, store: Store) -> None:
        vectorised(store, 3)
        one = put_one(store, fact("new"))
        assert (store.models([ANN]), store.without_vector(MODEL, 5)) == ({MODEL: False}, [one])
        store.add_vectors(MODEL, {one.seq: unit(9)})
        assert (store.models([ANN]), store.without_vector(MODEL, 5)) == ({MODEL: True}, [])

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_a_model_is_complete_when_the_last_one_that_waited_is_gone(self, store: Store, place: int) -> None:
        stored = put(store, fact("a"), fact("b"), fact("c"))
        store.add_vectors(MODEL, {one.seq: unit(one.seq) for one in stored if one != stored[place]})
        assert store.models([ANN]) == {MODEL: False}
        purge(store, stored[place])
        assert (store.models([ANN]), store.without_vector(MODEL, 5)) == ({MODEL: True}, [])

    def test_what_comes_back_by_undo_waits_for_its_vector(self, store: Store) -> None:
        vectorised(store, 3)
        one = store.list(Filter((ANN,)), order="oldest")[0]
        write(store, lambda writer: writer.remove(one), run="run_remove")
        undo(store, "run_remove")
        assert store.models([ANN]) == {MODEL: False}
        assert [waiting.id for waiting in store.without_vector(MODEL, 5)] == [one.id]

    def test_coverage_counts_active_memories(self, store: Store) -> None:
        vectors = vectorised(store, 3)
        set_status(store, store.get([ANN], list(vectors))[0], "archived")
        assert store.coverage() == store.coverage([ANN]) == {MODEL: 2}

    def test_repair_keeps_good_vectors_and_their_marks(self, store: Store) -> None:
        vectors = vectorised(store, 3)
        expected = brute_force(vectors, unit(5), 10)
        store.repair()
        assert store.models([ANN]) == {MODEL: True}
        assert same_ranking(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), expected)


def vectorised(store: Store, size: int, *, start: int = 0) -> dict[int, Vector]:
    """Stores facts with vectors and returns the vectors by number."""
    stored = put(store, *(fact(f"note {start + number}") for number in range(size)))
    vectors = {one.seq: unit(start + number) for number, one in enumerate(stored)}
    store.add_vectors(MODEL, vectors)
    return vectors


def without(vectors: Mapping[int, Vector], *memories: Memory) -> dict[int, Vector]:
    """The vectors but those of some memories."""
    gone = {one.seq for one in memories}
    return {seq: vector for seq, vector in vectors.items() if seq not in gone}


class GraphContract:
    """Sessions, edges, entities."""

    def test_positions_count_from_zero_in_each_session(self, store: Store) -> None:
        def work(writer: Writer) -> list[int]:
            seen = [writer.next_position(ANN, "s")]
            writer.add(turn("a", "s", 0))
            writer.add(turn("b", "s", 1))
            elsewhere = [writer.next_position(ANN, "t"), writer.next_position(BOB, "s")]
            return [*seen, writer.next_position(ANN, "s"), *elsewhere]

        assert write(store, work) == [0, 2, 0, 0]

    def test_a_session_is_added_and_then_made_equal(self, store: Store) -> None:
        session = Session("s", ANN, START, START, agent="claude", metadata={"cwd": "/tmp"})
        write(store, lambda writer: writer.put_session(session))
        ended = replace(session, last_activity=at(5), ended_at=at(5), end_reason="idle", outcome="ok")
        write(store, lambda writer: writer.put_session(ended))
        assert store.sessions([ANN]) == [ended]
        assert write(store, lambda writer: writer.session(ANN, "s")) == ended
        assert write(store, lambda writer: writer.session(BOB, "s")) is None

    def test_sessions_come_most_recently_active_first(self, store: Store) -> None:
        sessions = [Session(name, ANN, START, at(activity)) for name, activity in (("a", 1), ("b", 3), ("c", 2))]
        sessions.append(Session("d", ANN, START, at(9), ended_at=at(9)))
        together(store, *(methodcaller("put_session", session) for session in sessions))
        assert [session.id for session in store.sessions([ANN])] == ["d", "b", "c", "a"]
        assert [session.id for session in store.sessions([ANN], open_only=True)] == ["b", "c", "a"]

    def test_adding_an_edge_twice_equals_once(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        edge = link(one, two)
        together(store, lambda writer: writer.link(edge), lambda writer: writer.link(edge))
        write(store, lambda writer: writer.link(replace(edge, created_at=at(9), reason="again")))
        assert store.edges(ANN, one.id) == store.edges(ANN, two.id) == [edge]
        assert [event.noun for event in store.events([ANN])].count("edge") == 1

    def test_an_edge_needs_both_its_ends(self, store: Store) -> None:
        one, two, theirs = put(store, fact("one"), fact("two"), fact("theirs", scope=BOB))
        purge(store, two)
        for edge in (link(one, two), link(two, one), link(one, theirs)):
            with pytest.raises(NotFound):
                together(store, methodcaller("link", edge))
        assert store.edges(ANN, one.id) == []

    def test_a_mention_needs_its_memory_and_its_entity(self, store: Store) -> None:
        one = put_one(store, fact("one"))
        write(store, lambda writer: _mention_all(writer, "Ann", []))
        for entity, target in (("entity_Ann", "fact_nobody"), ("entity_Nobody", one.id)):
            with pytest.raises(NotFound):
                together(store, methodcaller("mention", ANN, entity=entity, memory=target))
        assert list(store.rows("mention", ANN)) == []

    def test_edges_come_oldest_first(self, store: Store) -> None:
        one, two, three = put(store, fact("one"), fact("two"), fact("three"))
        edges = [link(one, two, created=at(5)), link(three, one, "supersedes", at(1)), link(two, three, created=at(3))]
        together(store, *(methodcaller("link", edge) for edge in edges))
        assert store.edges(ANN, one.id) == [edges[1], edges[0]]

    def test_entities_are_found_by_every_folded_name(self, store: Store) -> None:
        one = put_one(store, fact("met her"))
        write(store, lambda writer: _mention_all(writer, "Joanna Smith", [one], "Ｊｏ", "Штефан  Straße"))
        where = Filter((ANN,))
        for name in ("joanna smith", "jo", "штефан strasse"):
            assert store.by_entity(where, [name], 10) == [(one.seq, 1.0)]

    def test_ann_is_not_joanna(self, store: Store) -> None:
        anns, joannas = put(store, fact("met Ann"), fact("met Joanna"))
        write(store, lambda writer: _mention_all(writer, "Ann", [anns]))
        write(store, lambda writer: _mention_all(writer, "Joanna", [joannas]))
        where = Filter((ANN,))
        assert store.by_entity(where, ["ann"], 10) == [(anns.seq, 1.0)]
        assert store.by_entity(where, ["joanna"], 10) == [(joannas.seq, 1.0)]
        assert store.by_entity(where, ["anna"], 10) == store.by_entity(where, [], 10) == []

    def test_more_of_the_names_rank_first_and_equals_newest_first(self, store: Store) -> None:
        both, older, newer = put(store, fact("both"), fact("older"), fact("newer"))
        write(store, lambda writer: _mention_all(writer, "Ann", [both, older]))
        write(store, lambda writer: _mention_all(writer, "Bob", [both, newer]))
        expected = [(both.seq, 1.0), (newer.seq, 0.5), (older.seq, 0.5)]
        assert store.by_entity(Filter((ANN,)), ["ann", "bob"], 10) == expected
        assert store.by_entity(Filter((ANN,)), ["ann", "bob"], 2) == expected[:2]

    def test_noting_a_mention_twice_equals_once(self, store: Store) -> None:
        one = put_one(store, fact("one"))
        for _ in range(2):
            write(store, lambda writer: _mention_all(writer, "Ann", [one, one]))
        assert len(list(store.rows("mention", ANN))) == 1
        assert [event.noun for event in store.events([ANN])].count("mention") == 1

    def test_an_entity_is_made_equal_with_its_names(self, store: Store) -> None:
        one = put_one(store, fact("one"))
        write(store, lambda writer: _mention_all(writer, "Ann", [one], "Annie"))
        write(store, lambda writer: writer.put_entity(Entity("entity_Ann", ANN, "Anne", "person", START, ("Nan",))))
        where = Filter((ANN,))
        assert [bool(store.by_entity(where, [name], 5)) for name in ("ann", "annie", "anne", "nan")] == [0, 0, 1, 1]

    def test_removing_a_memory_takes_its_edges_and_mentions_along(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        together(store, methodcaller("link", link(one, two)), lambda writer: _mention_all(writer, "Ann", [one]))
        write(store, lambda writer: writer.remove(one))
        assert store.edges(ANN, two.id) == []
        assert store.by_entity(Filter((ANN,)), ["ann"], 5) == []


class TransactionContract:
    """A write is wholly there, or not at all."""

    def test_an_exception_leaves_nothing_behind(self, store: Store) -> None:
        kept = put_one(store, fact("kept"))
        before, journal = truth(store), store.events([ANN])

        def work(writer: Writer) -> None:
            added = writer.add(fact("kept out"))
            writer.change(kept, status="archived", title="changed")
            writer.link(link(added, kept))
            writer.put_session(Session("s", ANN, START, START))
            _mention_all(writer, "Joanna", [added])
            writer.add(fact("elsewhere", scope=BOB))
            raise KeyError("the caller's own error")

        with pytest.raises(KeyError):
            write(store, work)
        assert (truth(store), store.events([ANN]), store.scopes()) == (before, journal, [ANN])
        assert (found(store, "out changed"), found(store, "kept")) == ([], ["kept"])

    def test_a_batch_with_one_bad_memory_stores_none(self, store: Store) -> None:
        one = fact("first")
        with pytest.raises(HoldfastError):
            put(store, one, fact("second"), replace(one, content="the same id again"))
        assert (listed(store), store.events([ANN]), store.corpus([ANN], []).size) == ([], [], 0)

    def test_the_store_goes_on_after_a_failed_write(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            write(store, lambda writer: (writer.add(fact("lost")), 1 // 0))
        put(store, fact("kept"))
        assert listed(store) == ["kept"]

    def test_what_work_returns_is_returned(self, store: Store) -> None:
        assert write(store, lambda writer: 42) == 42

    def test_a_snapshot_shows_one_moment(self, store: Store, again: Again) -> None:
        put(store, fact("before"))
        other = again()
        with store.snapshot() as rows:
            put(other, fact("after"))
            assert [row["content"] for row in rows("memory", ANN)] == ["before"]
            assert len(list(rows("event", ANN))) == 1
            assert listed(store) == ["before", "after"]

    def test_snapshots_overlap_and_hold_up_no_write(self, store: Store) -> None:
        put(store, fact("before"))
        with store.snapshot() as first:
            half_read = first("memory", ANN)
            with store.snapshot() as second:
                put(store, fact("after"))
                for rows in (half_read, second("memory", ANN), first("memory", ANN)):
                    assert [row["content"] for row in rows] == ["before"]

    def test_a_snapshot_ends_when_its_body_fails(self, store: Store) -> None:
        with pytest.raises(KeyError), store.snapshot() as rows:
            list(rows("memory", ANN))
            raise KeyError
        put(store, fact("after"))
        assert listed(store) == ["after"]

    def test_another_store_object_sees_what_was_written(self, store: Store, again: Again) -> None:
        other = again()
        put(store, fact("green tea"))
        put(other, fact("black tea"))
        assert listed(store) == listed(other) == ["green tea", "black tea"]
        assert sorted(found(store, "tea")) == sorted(found(other, "tea")) == ["black tea", "green tea"]
        assert store.corpus([ANN], ["tea"]) == other.corpus([ANN], ["tea"])


class JournalContract:
    """Who changed what, when, in which run."""

    def test_each_change_has_an_entry_that_says_who_when_and_how(self, store: Store) -> None:
        author = Author("alice", "run_x", at(3), "remember")
        one = store.write(author, lambda writer: writer.add(fact("tea")))
        (event,) = store.events([ANN])
        expected = Event(event.seq, "run_x", at(3), "alice", "remember", ANN, "memory", one.id, None, None)
        assert event == expected

    def test_before_and_after_hold_only_what_changed(self, store: Store) -> None:
        one = put_one(store, fact("tea", confidence=0.5, title="T"))
        write(store, lambda writer: writer.change(one, confidence=0.75, title="T", category="drinks"))
        event = store.events([ANN])[0]
        assert event.before == {"confidence": 0.5, "category": "general"}
        assert event.after == {"confidence": 0.75, "category": "drinks"}

    def test_a_change_that_changes_nothing_is_not_journalled(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        write(store, lambda writer: writer.change(one, confidence=one.confidence, tags=one.tags))
        assert len(store.events([ANN])) == 1

    def test_a_removed_memory_lives_on_in_the_journal(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        write(store, lambda writer: writer.remove(one))
        event = store.events([ANN])[0]
        assert (event.target, event.after) == (one.id, None)
        assert event.before is not None and event.before["content"] == "tea"

    def test_events_come_newest_first_and_can_be_narrowed(self, store: Store) -> None:
        one, _ = put(store, fact("one"), fact("two"), run="run_a")
        change(store, one, run="run_b", title="T")
        numbers = [event.seq for event in store.events([ANN])]
        assert numbers == sorted(numbers, reverse=True)
        assert len(numbers) == 3
        assert [event.seq for event in store.events([ANN], limit=2)] == numbers[:2]
        assert {event.run for event in store.events([ANN], run="run_a")} == {"run_a"}
        assert [event.run for event in store.events([ANN], target=one.id)] == ["run_b", "run_a"]

    def test_all_changes_of_a_transaction_share_its_author(self, store: Store) -> None:
        def work(writer: Writer) -> None:
            one, two = writer.add(fact("one")), writer.add(fact("two"))
            writer.change(one, title="T")
            writer.link(link(one, two))
            writer.put_session(Session("s", ANN, START, START))
            _mention_all(writer, "Ann", [one])

        write(store, work, run="run_x", when=at(4), verb="busy", actor="bee")
        events = store.events([ANN])
        assert {(e.run, e.at, e.verb, e.actor) for e in events} == {("run_x", at(4), "busy", "bee")}
        nouns = ["mention", "entity_name", "entity", "session", "edge", "memory", "memory", "memory"]
        assert [event.noun for event in events] == nouns

    def test_purge_leaves_no_word_in_the_journal(self, store: Store) -> None:
        one = put_one(store, fact("zanzibar", title="zanzibar", tags=("zanzibar",), quote="zanzibar"))
        change(store, one, title="other zanzibar")
        set_status(store, one, "archived")
        write(store, lambda writer: writer.remove(one), run="run_remove")
        undo(store, "run_remove")
        purge(store, one)
        store.scrub()
        assert "zanzibar" not in str(store.events([ANN])) + str([list(store.rows(noun, ANN)) for noun in NOUNS])
        assert (listed(store), found(store, "zanzibar"), store.corpus([ANN], ["zanzibar"]).size) == ([], [], 0)

    def test_what_was_purged_cannot_come_back(self, store: Store) -> None:
        one = put_one(store, fact("tea"), run="run_add")
        set_status(store, one, "archived", run="run_archive")
        purge(store, one, run="run_purge")
        for run in ("run_purge", "run_archive", "run_add"):
            with pytest.raises((Refused, Conflict)):
                undo(store, run)
        assert store.get([ANN], [one.id]) == []


def _correct(writer: Writer, old: Memory) -> None:
    new = writer.add(fact("coffee after all", created=at(1)))
    writer.change(old, status="superseded", status_at=at(1), status_reason="corrected", updated_at=at(1))
    writer.link(link(new, old, "supersedes", at(1)))


def _capture(writer: Writer, _: Memory) -> None:
    writer.put_session(Session("fresh", ANN, START, START, agent="x"))
    for position in range(3):
        writer.add(turn(f"turn {position}", "fresh", position))


def _twice(writer: Writer, old: Memory) -> None:
    changed = writer.change(old, title="A", confidence=0.5, updated_at=at(1))
    writer.change(changed, title="B", tags=("x",), updated_at=at(2))


def _renamed(writer: Writer, _: Memory) -> None:
    writer.put_entity(Entity("entity_Ann", ANN, "Anne", "agent", START, ("Nan",), "a summary"))


def _ended(writer: Writer, _: Memory) -> None:
    session = writer.session(ANN, "s")
    assert session is not None
    writer.put_session(replace(session, ended_at=at(5), end_reason="idle", metadata={"k": "v"}))


def _linked(writer: Writer, old: Memory) -> None:
    writer.link(link(writer.add(fact("derived")), old))


VERBS: Mapping[str, Callable[[Writer, Memory], Any]] = {
    "add": lambda writer, old: writer.add(fact("more tea", tags=("x",), metadata={"a": {"b": 1}}, confidence=0.1)),
    "add with every field": lambda writer, old: writer.add(
        fact("x", triple=Triple("a", "b", "c"), valid_from=1, valid_until=2, decayed_at=3, protected=True, title="t")
    ),
    "archive": lambda writer, old: writer.change(old, status="archived", status_at=at(1), updated_at=at(1)),
    "change twice": _twice,
    "confirm": lambda writer, old: writer.change(old, protected=True, decay_rate=0.0, updated_at=at(1)),
    "correct": _correct,
    "remove": lambda writer, old: writer.remove(old),
    "link": _linked,
    "capture": _capture,
    "end a session": _ended,
    "new entity": lambda writer, old: _mention_all(writer, "Zoe", [old], "Zo"),
    "rename an entity": _renamed,
    "add and remove": lambda writer, old: writer.remove(writer.add(fact("fleeting"))),
}


def _scene(store: Store) -> Memory:
    """One of everything, so that undo has something to spoil."""
    one, two = put(store, fact("green tea", confidence=0.9, decay_rate=0.1, tags=("hot",)), fact("water"))

    def work(writer: Writer) -> None:
        writer.link(link(one, two))
        writer.put_session(Session("s", ANN, START, START))
        _mention_all(writer, "Ann", [one, two], "Annie")

    write(store, work)
    store.touch({one.seq: 3}, at(1))
    return store.get([ANN], [one.id])[0]


class UndoContract:
    """Undo takes a run back exactly; undo of the undo brings it back."""

    @pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
    def test_undo_is_exact_and_undo_of_undo_redoes(self, store: Store, verb: Callable[[Writer, Memory], Any]) -> None:
        old = _scene(store)
        before = truth(store)
        run = run_id()
        write(store, lambda writer: verb(writer, old), run=run, when=at(1))
        after = truth(store)
        back = undo(store, run, when=at(2))
        assert truth(store) == before
        forth = undo(store, back, when=at(3))
        assert truth(store) == after
        undo(store, forth, when=at(4))
        assert truth(store) == before

    @pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
    def test_a_run_that_was_redone_can_be_undone_again(
        self, store: Store, verb: Callable[[Writer, Memory], Any]
    ) -> None:
        old = _scene(store)
        before = truth(store)
        run = run_id()
        write(store, lambda writer: verb(writer, old), run=run, when=at(1))
        undo(store, undo(store, run, when=at(2)), when=at(3))
        undo(store, run, when=at(4))
        assert truth(store) == before

    @pytest.mark.parametrize("verb", [name for name in VERBS if name != "add and remove"])
    def test_a_run_is_undone_once(self, store: Store, verb: str) -> None:
        old, run = _scene(store), run_id()
        write(store, lambda writer: VERBS[verb](writer, old), run=run, when=at(1))
        undo(store, run)
        state = truth(store)
        with pytest.raises(Conflict):
            undo(store, run)
        assert truth(store) == state

    def test_an_unknown_run_is_not_found(self, store: Store) -> None:
        put(store, fact("tea"))
        with pytest.raises(NotFound):
            undo(store, "run_nobody")

    def test_undo_returns_what_it_took_back_newest_first_and_is_journalled(self, store: Store) -> None:
        put(store, fact("one"), fact("two"), run="run_add")
        added = store.events([ANN])
        assert write(store, lambda writer: writer.undo([ANN], "run_add"), run="run_undo") == added
        assert [event.run for event in store.events([ANN])] == ["run_undo"] * 2 + ["run_add"] * 2

    def test_undo_is_refused_when_a_later_run_changed_the_same_field(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        change(store, one, run="run_a", when=at(1), title="A", confidence=0.5)
        change(store, one, run="run_b", when=at(2), title="B")
        state = truth(store)
        with pytest.raises(Conflict):
            undo(store, "run_a")
        assert truth(store) == state

    def test_undo_leaves_other_fields_as_a_later_run_set_them(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        change(store, one, run="run_a", when=at(1), title="A")
        change(store, one, run="run_b", when=at(2), confidence=0.5)
        undo(store, "run_a")
        (now,) = store.get([ANN], [one.id])
        assert (now.title, now.confidence, now.updated_at) == ("", 0.5, at(2))

    def test_undo_is_allowed_and_exact_after_the_later_run_was_undone(self, store: Store) -> None:
        one = put_one(store, fact("tea"), run="run_add")
        before = truth(store)
        change(store, one, run="run_a", when=at(1), title="A")
        change(store, one, run="run_b", when=at(2), title="B")
        undo(store, "run_b", when=at(3))
        undo(store, "run_a", when=at(4))
        assert truth(store) == before
        undo(store, "run_add", when=at(5))
        assert listed(store) == []

    def test_an_add_cannot_be_undone_while_a_later_change_stands(self, store: Store) -> None:
        one = put_one(store, fact("tea"), run="run_add")
        set_status(store, one, "archived", run="run_archive")
        with pytest.raises(Conflict):
            undo(store, "run_add")
        undo(store, "run_archive")
        undo(store, "run_add")
        assert store.get([ANN], [one.id]) == []

    def test_an_add_cannot_be_undone_while_a_later_run_links_to_it(self, store: Store) -> None:
        one = put_one(store, fact("source"), run="run_add")
        write(store, lambda writer: _linked(writer, one), run="run_link")
        with pytest.raises(Conflict):
            undo(store, "run_add")
        undo(store, "run_link")
        undo(store, "run_add")
        assert listed(store) == []

    def test_a_session_cannot_be_undone_while_it_has_later_turns(self, store: Store) -> None:
        old = _scene(store)
        write(store, lambda writer: _capture(writer, old), run="run_first")
        put(store, turn("later", "fresh", 3), run="run_later")
        with pytest.raises(Conflict):
            undo(store, "run_first")
        undo(store, "run_later")
        undo(store, "run_first")
        assert [session.id for session in store.sessions([ANN])] == ["s"]

    def test_an_entity_cannot_be_undone_while_later_memories_mention_it(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        write(store, lambda writer: _mention_all(writer, "Zoe", [one]), run="run_first")
        write(store, lambda writer: writer.mention(ANN, entity="entity_Zoe", memory=two.id), run="run_later")
        with pytest.raises(Conflict):
            undo(store, "run_first")
        undo(store, "run_later")
        undo(store, "run_first")
        assert list(store.rows("entity", ANN)) == []

    @pytest.mark.parametrize("verb", ["link", "mention"])
    def test_what_points_to_a_purged_memory_cannot_come_back(self, store: Store, verb: str) -> None:
        one, two = put(store, fact("one"), fact("two"))
        write(store, lambda writer: _mention_all(writer, "Zoe", []))
        steps: dict[str, Callable[[Writer], None]] = {
            "link": lambda writer: writer.link(link(one, two)),
            "mention": lambda writer: writer.mention(ANN, entity="entity_Zoe", memory=two.id),
        }
        write(store, steps[verb], run="run_point")
        back = undo(store, "run_point")
        purge(store, two)
        with pytest.raises(Conflict):
            undo(store, back)

    def test_undo_of_a_run_takes_back_all_of_it_or_nothing(self, store: Store) -> None:
        one, _ = put(store, fact("one"), fact("two"), run="run_add")
        set_status(store, one, "archived")
        state = truth(store)
        with pytest.raises(Conflict):
            undo(store, "run_add")
        assert truth(store) == state

    def test_undo_covers_every_scope_of_the_run_that_is_named(self, store: Store) -> None:
        put(store, fact("ann"), fact("bob", scope=BOB), run="run_both")
        undo(store, "run_both", scopes=(ANN, BOB))
        assert listed(store, scopes=(ANN, BOB)) == []

    def test_uses_survive_an_undo(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        set_status(store, one, "archived", run="run_archive")
        store.touch({one.seq: 5}, at(3))
        undo(store, "run_archive")
        assert store.get([ANN], [one.id])[0].access_count == 5

    def test_uses_do_not_stand_in_the_way_of_an_undo(self, store: Store) -> None:
        one = put_one(store, fact("tea"), run="run_add")
        undo(store, undo(store, "run_add"))
        store.touch({one.seq: 5}, at(3))
        undo(store, "run_add")
        assert listed(store) == []


class JobsContract:
    """Background work under leases."""

    LEASE = 60 * SECOND

    def claim(self, store: Store, worker: str = "w", *, seconds: float = 0, kinds: Sequence[str] = ("tidy",)) -> Job:
        """A job that must be there."""
        job = store.claim(kinds, worker=worker, now=at(seconds), lease=self.LEASE)
        assert job is not None
        return job

    def none_due(self, store: Store, seconds: float = 0) -> bool:
        """Whether no job can be claimed."""
        return store.claim(["tidy"], worker="w", now=at(seconds), lease=self.LEASE) is None

    def finish(self, store: Store, job: Job, *, seconds: float = 1, output: str = "output") -> None:
        """Finishes a job with an output in the same transaction."""
        together(store, methodcaller("add", fact(output)), methodcaller("finish", job), when=at(seconds))

    def test_a_claimed_job_is_nobody_elses(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store, "first")
        assert (job.scope, job.kind, job.key, job.status, job.worker, job.watermark) == (
            ANN, "tidy", "k", "running", "first", 1,
        )  # fmt: skip
        assert job.lease_until == at(60)
        assert self.none_due(store, 59)

    def test_only_the_kinds_asked_for_are_claimed(self, store: Store) -> None:
        store.enqueue(ANN, "other", "k", watermark=1)
        assert self.none_due(store)
        assert self.claim(store, kinds=("tidy", "other")).kind == "other"

    def test_each_job_is_claimed_once(self, store: Store) -> None:
        for key in "abc":
            store.enqueue(ANN, "tidy", key, watermark=1)
        assert {self.claim(store).key for _ in range(3)} == set("abc")
        assert self.none_due(store)

    def test_an_expired_lease_lets_another_claim(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store, "first")
        held = self.claim(store, "second", seconds=60)
        assert (held.worker, held.token != lost.token) == ("second", True)
        assert self.none_due(store, 61)

    def test_a_heartbeat_keeps_the_lease(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        assert store.heartbeat(job, now=at(50), lease=self.LEASE)
        assert self.none_due(store, 100)
        self.claim(store, seconds=110)

    def test_a_lost_lease_has_no_heartbeat(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        assert not store.heartbeat(lost, now=at(60), lease=self.LEASE)
        held = self.claim(store, seconds=60)
        assert not store.heartbeat(lost, now=at(61), lease=self.LEASE)
        assert store.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_lost_lease_cannot_fail_the_job(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        held = self.claim(store, seconds=60)
        assert not store.fail(lost, error="too late", retry_at=at(70))
        assert store.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_finished_job_commits_with_its_outputs(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        self.finish(store, self.claim(store))
        assert listed(store) == ["output"]
        assert self.none_due(store, 1000)

    @pytest.mark.parametrize("seconds", [60, 61, 5000])
    def test_a_lease_that_ran_out_writes_nothing(self, store: Store, seconds: float) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        with pytest.raises(Conflict):
            self.finish(store, lost, seconds=seconds)
        assert listed(store) == []
        self.claim(store, seconds=seconds)

    def test_a_lease_that_was_taken_over_writes_nothing(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost, held = self.claim(store), self.claim(store, seconds=60)
        with pytest.raises(Conflict):
            self.finish(store, lost, seconds=61, output="late")
        self.finish(store, held, seconds=62, output="in time")
        assert listed(store) == ["in time"]

    def test_a_job_is_not_finished_twice(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        self.finish(store, job)
        with pytest.raises(Conflict):
            self.finish(store, job, output="again")
        assert listed(store) == ["output"]

    def test_an_exception_after_finishing_leaves_the_job_running(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        with pytest.raises(ZeroDivisionError):
            together(store, methodcaller("finish", job), lambda writer: 1 // 0, when=at(1))
        self.finish(store, job, seconds=2)

    def test_a_failed_job_comes_back_at_its_time_with_its_reason(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        assert store.fail(self.claim(store), error="no network", retry_at=at(30))
        assert self.none_due(store, 29)
        again = self.claim(store, seconds=30)
        assert (again.error, again.retries_left) == ("no network", 2)

    def test_retries_run_out_and_a_grown_watermark_renews_them(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        for _ in range(3):
            assert store.fail(self.claim(store), error="broken", retry_at=START)
        assert self.none_due(store, 10_000)
        store.enqueue(ANN, "tidy", "k", watermark=1)
        assert self.none_due(store, 10_000)
        store.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.claim(store).retries_left == 3

    def test_only_a_grown_watermark_renews_a_finished_job(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=5)
        self.finish(store, self.claim(store))
        for watermark in (4, 5):
            store.enqueue(ANN, "tidy", "k", watermark=watermark)
            assert self.none_due(store, 100)
        store.enqueue(ANN, "tidy", "k", watermark=6)
        job = self.claim(store, seconds=100)
        assert (job.watermark, job.done_watermark) == (6, 5)

    def test_what_grew_while_the_job_ran_is_done_next(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        store.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.none_due(store, 1)
        self.finish(store, job)
        following = self.claim(store, seconds=2)
        assert (following.watermark, following.done_watermark) == (2, 1)

    def test_jobs_of_two_scopes_are_two_jobs(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        store.enqueue(BOB, "tidy", "k", watermark=1)
        assert {self.claim(store).scope, self.claim(store).scope} == {ANN, BOB}


class ExportContract:
    """Rows go out and come back the same."""

    def test_rows_restored_elsewhere_are_the_same_rows(self, store: Store) -> None:
        old = _scene(store)
        write(store, lambda writer: _correct(writer, old), run="run_correct")
        write(store, lambda writer: writer.remove(writer.add(fact("fleeting"))))
        copy_scope(store, ANN, BOB, journal=False)
        for noun in (*NOUNS, "event"):
            assert list(store.rows(noun, BOB)) == list(store.rows(noun, ANN))
        assert found(store, "coffee", scopes=(BOB,)) == ["coffee after all"]
        assert store.corpus([BOB], ["tea", "coffee"]) == store.corpus([ANN], ["tea", "coffee"])

    def test_a_restored_history_can_be_undone(self, store: Store) -> None:
        old = _scene(store)
        before = truth(store)
        write(store, lambda writer: _correct(writer, old), run="run_correct")
        copy_scope(store, ANN, BOB, journal=False)
        undo(store, "run_correct", scopes=(BOB,))
        undo(store, "run_correct", scopes=(ANN,))
        assert list(store.rows("memory", BOB)) == list(store.rows("memory", ANN)) == before[f"memory {ANN}"]

    def test_a_restored_removal_can_be_undone_beside_the_original(self, store: Store) -> None:
        old = _scene(store)
        write(store, lambda writer: writer.remove(old), run="run_remove")
        copy_scope(store, ANN, BOB, journal=False)
        for scope in (BOB, ANN):
            undo(store, "run_remove", scopes=(scope,))
        assert sorted(listed(store, scopes=(BOB,))) == sorted(listed(store)) == ["green tea", "water"]

    def test_restoring_twice_equals_once(self, store: Store) -> None:
        _scene(store)
        assert copy_scope(store, ANN, BOB, journal=False) > 0
        state, journal = truth(store, BOB), store.events([BOB])
        assert copy_scope(store, ANN, BOB, journal=False) == 0
        assert (truth(store, BOB), store.events([BOB])) == (state, journal)

    def test_rows_without_their_history_are_journalled_as_new(self, store: Store) -> None:
        _scene(store)
        copy_scope(store, ANN, BOB, journal=True)
        assert {event.verb for event in store.events([BOB])} == {"import"}
        assert len(store.events([BOB], run="run_import")) == sum(len(list(store.rows(noun, BOB))) for noun in NOUNS)
        undo(store, "run_import", scopes=(BOB,))
        assert listed(store, scopes=(BOB,)) == []

    def test_another_row_under_the_same_key_is_a_conflict(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        row = {**next(store.rows("memory", ANN)), "scope": str(ANN)}
        with pytest.raises(Conflict):
            write(store, lambda writer: writer.restore_row("memory", {**row, "content": "coffee"}, journal=True))
        store.touch({one.seq: 1}, at(5))  # how often it was read does not make it another memory
        assert not write(store, lambda writer: writer.restore_row("memory", row, journal=True))
        assert listed(store) == ["tea"]

    def test_rows_carry_no_numbers_of_this_store(self, store: Store) -> None:
        put(store, fact("tea"))
        copy_scope(store, ANN, BOB, journal=False)
        assert all("seq" not in row and "number" not in row for row in store.rows("memory", BOB))

    def test_vectors_go_out_with_their_memory(self, store: Store) -> None:
        vectorised(store, 2)
        rows = list(store.rows("vector", ANN))
        assert [row["model"] for row in rows] == [MODEL, MODEL]
        assert {row["memory"] for row in rows} == {one.id for one in store.list(Filter((ANN,)))}


def copy_scope(store: Store, source: Scope, target: Scope, *, journal: bool) -> int:
    """Restores every row of one scope in another and says how many were new."""
    nouns = NOUNS if journal else (*NOUNS, "event")
    rows = [(noun, {**row, "scope": str(target)}) for noun in nouns for row in store.rows(noun, source)]
    return write(
        store,
        lambda writer: sum(writer.restore_row(noun, row, journal=journal) for noun, row in rows),
        run="run_import",
        verb="import",
    )


class LifeContract:
    """Opening, repairing, closing."""

    def test_a_new_store_is_empty_and_sound(self, store: Store) -> None:
        assert (list(store.check()), store.scopes(), store.events([ANN]), store.coverage()) == ([], [], [], {})

    def test_repairing_a_sound_store_changes_nothing(self, store: Store) -> None:
        old = _scene(store)
        set_status(store, old, "archived")
        put(store, fact("日本 tea"), fact("theirs", scope=BOB))
        state, journal, ranked = truth(store, ANN, BOB), store.events([ANN, BOB]), found(store, "tea water 日本")
        store.repair()
        assert (truth(store, ANN, BOB), store.events([ANN, BOB])) == (state, journal)
        assert found(store, "tea water 日本") == ranked

    def test_scrubbing_changes_nothing_that_is_kept(self, store: Store) -> None:
        old = _scene(store)
        purge(store, put_one(store, fact("gone")))
        state, ranked = truth(store), found(store, "tea water")
        store.scrub()
        assert (truth(store), found(store, "tea water")) == (state, ranked)
        assert store.get([ANN], [old.seq]) == [old]

    def test_what_was_written_is_there_after_reopening(self, store: Store, again: Again) -> None:
        old = _scene(store)
        other = again()
        state = truth(store)
        store.close()
        assert truth(other) == state
        assert other.get([ANN], [old.id]) == [old]

    def test_closing_twice_equals_once(self, store: Store) -> None:
        store.close()
        store.close()

    @pytest.mark.parametrize("read", READS.values(), ids=list(READS))
    def test_a_closed_store_says_so_to_every_read(self, store: Store, read: Callable[[Store, Scope], Any]) -> None:
        populate(store, ANN)
        store.close()
        with pytest.raises(StoreClosed):
            read(store, ANN)

    def test_a_closed_store_says_so_to_every_write(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = store.claim(["tidy"], worker="w", now=START, lease=SECOND)
        assert job is not None
        store.close()
        calls: list[Callable[[], Any]] = [
            lambda: put(store, fact("late")),
            lambda: store.add_vectors(MODEL, {one.seq: unit(1)}),
            lambda: store.drop_vectors(MODEL),
            lambda: store.touch({one.seq: 1}, START),
            lambda: store.enqueue(ANN, "tidy", "k", watermark=2),
            lambda: store.claim(["tidy"], worker="w", now=START, lease=SECOND),
            lambda: store.heartbeat(job, now=START, lease=SECOND),
            lambda: store.fail(job, error="", retry_at=START),
            lambda: list(store.check()),
            store.repair,
            store.scrub,
        ]
        for call in calls:
            with pytest.raises(StoreClosed):
                call()


class StoreContract(
    MemoriesContract,
    ScopesContract,
    FilterContract,
    WordsContract,
    VectorsContract,
    GraphContract,
    TransactionContract,
    JournalContract,
    UndoContract,
    JobsContract,
    ExportContract,
    LifeContract,
):
    """Every promise of a store. Subclass it in a test module that has the fixtures `store` and `again`."""

    @pytest.fixture(autouse=True)
    def all_is_well_afterwards(self, store: Store) -> Iterator[None]:
        """Whatever a test did to the store, its check-up finds nothing."""
        yield
        with suppress(StoreClosed):
            assert list(store.check()) == []
