"""Scopes and filters: what must never be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ..errors import NotFound, ScopeError
from ..storage.duplicates import same_content
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter, KnownFile, Spent
from ..text.tokens import index_terms
from ..types import Edge, Entity, Memory, Scope, Session
from .scene import (
    ALL,
    ANN,
    BOB,
    MODEL,
    START,
    TEAM,
    at,
    change,
    fact,
    found,
    item,
    listed,
    memory,
    mention_all,
    put,
    put_one,
    set_status,
    texts,
    turn,
    undo,
    unit,
    write,
)


def _dots(store: Store, scope: Scope) -> list[int]:
    return [seq for seq, _ in store.by_vector(Filter((scope,)), MODEL, unit(1), 10)]


SOME_DAY = 20_500
READS: Mapping[str, Callable[[Store, Scope], Any]] = {
    "get": lambda store, scope: [one.seq for one in store.get([scope], list(range(1, 30)))],
    "list": lambda store, scope: [one.seq for one in store.list(Filter((scope,)))],
    "by_text": lambda store, scope: [
        seq for seq, _ in store.by_text(Filter((scope,)), ["tea"], 10)
    ],
    "by_text, narrow": lambda store, scope: [
        seq for seq, _ in store.by_text(Filter((scope,), kinds=("fact",)), ["tea"], 10)
    ],
    "by_vector, first": _dots,
    "by_vector, again": lambda store, scope: (_dots(store, scope), _dots(store, scope))[1],
    "by_vector, narrow": lambda store, scope: [
        seq for seq, _ in store.by_vector(Filter((scope,), kinds=("fact",)), MODEL, unit(1), 10)
    ],
    "by_entity": lambda store, scope: [
        seq for seq, _ in store.by_entity(Filter((scope,)), ["joanna"], 10)
    ],
    "candidates": lambda store, scope: [
        one.seq for one in store.candidates(Filter((scope,)), range(1, 30))
    ],
    "authors": lambda store, scope: store.authors([scope]),
    "without_vector": lambda store, scope: [
        one.seq for one in store.vectors.missing("other", 10, [scope])
    ],
    "sessions": lambda store, scope: [one.agent for one in store.sessions.list([scope])],
    "session": lambda store, scope: [one.agent for one in [store.sessions.get(scope, "s")] if one],
    "messages": lambda store, scope: [
        one.body["text"] for one in store.sessions.messages(scope, "s")
    ],
    "message rows": lambda store, scope: [str(row) for row in store.rows("message", scope)],
    "edges": lambda store, scope: [
        edge.reason for one in store.list(Filter((scope,))) for edge in store.edges(scope, one.id)
    ],
    "events": lambda store, scope: [event.seq for event in store.events([scope])],
    "spent": lambda store, scope: [
        tokens for tokens in [store.spend.total([scope], SOME_DAY).tokens] if tokens
    ],
    "files": lambda store, scope: [file.hash for file in store.files.list(scope, "/home")],
    "similarities": lambda store, scope: list(
        store.vectors.similarities([scope], MODEL, unit(1), list(range(1, 30)))
    ),
    "events of a target": lambda store, scope: [
        event.seq for event in store.events([scope], target="fact_same")
    ],
    "rows": lambda store, scope: [str(row) for row in store.rows("memory", scope)],
    "vector rows": lambda store, scope: [row["vector"] for row in store.rows("vector", scope)],
    "scopes": lambda store, scope: [one for one in store.scopes() if one == scope],
}


def populate(store: Store, scope: Scope) -> Memory:
    """The same shape of everything in a scope, under the same ids, with values of its own."""
    name = scope.key

    def work(tx: Transaction) -> Memory:
        place: dict[str, Any] = {"scope": scope, "session": "s"}
        one = tx.add(
            replace(fact(f"tea of {name}", author=name, position=0, **place), id="fact_same")
        )
        two = tx.add(replace(fact(f"more tea of {name}", position=1, **place), id="fact_other"))
        tx.sessions.put(Session("s", scope, START, START, agent=name))
        tx.sessions.add_messages(scope, "s", [{"text": f"message of {name}"}])
        tx.link(Edge(scope, one.id, two.id, "derived_from", START, f"reason of {name}"))
        tx.entities.put(Entity("e", scope, "Joanna", "person", START))
        tx.entities.mention(scope, entity="e", memory=one.id)
        tx.files.put(scope, [KnownFile("/home", "tea.md", one.id, len(name), 1, name)])
        return one

    stored = write(store, work)
    store.vectors.add(ALL, MODEL, {stored.seq: unit(len(name) * 7 + ord(name[0]))})
    store.spend.add(scope, SOME_DAY, Spent(1, ord(name[0])))
    return stored


class ScopesContract:
    """No scope sees another's memories."""

    @pytest.mark.parametrize("read", READS.values(), ids=list(READS))
    def test_scopes_do_not_leak(self, store: Store, read: Callable[[Store, Scope], Any]) -> None:
        populate(store, ANN), populate(store, BOB)
        anns = read(store, ANN)
        bobs = read(store, BOB)
        assert anns and bobs
        assert not set(anns) & set(bobs)
        assert not read(store, TEAM)

    def test_neighbours_stay_in_their_scope(self, store: Store) -> None:
        anns = populate(store, ANN)
        _ = populate(store, BOB)
        found = store.candidates(Filter((ANN,)), [anns.seq], [anns.seq], 5)
        assert len(found) == 2
        assert [one.scope for one in store.get([ANN, BOB], [each.seq for each in found])] == [
            ANN,
            ANN,
        ]

    def test_the_corpus_and_the_counts_are_those_of_the_scope(self, store: Store) -> None:
        populate(store, ANN), populate(store, BOB)
        assert store.corpus([ANN], ["tea", "bob"]).frequency == {"tea": 2, "bob": 0}
        assert (store.corpus([ANN], []).size, store.corpus([TEAM], []).size) == (2, 0)
        assert (store.counts([ANN]), store.counts([TEAM])) == ({"fact": {"active": 2}}, {})
        assert (
            store.sessions.message_counts(ANN, ["s"]),
            store.sessions.message_counts(TEAM, ["s"]),
        ) == (
            {"s": 1},
            {},
        )

    def test_each_owner_has_a_size(self, store: Store) -> None:
        populate(store, ANN)
        put(store, fact("green tea with milk", scope=BOB))
        sizes = store.sizes()
        assert sizes.bytes > 0
        told = {
            one.scope: (one.memories, one.words, one.last_activity)
            for one in sizes.owners
            if one.memories
        }
        words = len(index_terms("tea of ann")) + len(index_terms("more tea of ann"))
        assert told == {
            ANN: (2, words, START),
            BOB: (1, len(index_terms("green tea with milk")), None),
        }

    def test_models_and_coverage_are_those_of_the_scope(self, store: Store) -> None:
        one, _ = put(store, fact("ann"), fact("bob", scope=BOB))
        store.vectors.add(ALL, MODEL, {one.seq: unit(1)})
        assert (store.vectors.models([ANN]), store.vectors.models([BOB])) == ({MODEL: True}, {})
        assert (store.vectors.coverage([ANN]), store.vectors.coverage([BOB])) == ({MODEL: 1}, {})
        assert (store.vectors.dimensions([ANN]), store.vectors.dimensions([BOB])) == (
            {MODEL: 16},
            {},
        )

    def test_no_word_reaches_into_another_scope(self, store: Store) -> None:
        put(store, fact("mine"), fact("secret", scope=BOB))
        number = store.get([BOB], [2])[0].seq
        for term in (
            '" OR "2~secret',
            "2~secret",
            "secret",
            f'x" OR "{number}~secret" OR "y',
            "* OR secret",
        ):
            assert store.by_text(Filter((ANN,)), [term], 10) == []

    def test_a_writer_finds_nothing_of_another_scope(self, store: Store) -> None:
        anns = put_one(store, fact("tea"))
        assert write(store, lambda tx: tx.memory(BOB, anns.id)) is None
        assert write(store, lambda tx: tx.memory(BOB, anns.seq)) is None
        assert write(store, lambda tx: same_content(tx, [fact("tea", scope=BOB)])) == {}

    @pytest.mark.parametrize("verb", ["change", "remove", "purge"])
    def test_a_writer_changes_nothing_of_another_scope(self, store: Store, verb: str) -> None:
        foreign = put_one(store, fact("tea")).with_(scope=BOB)
        verbs: dict[str, Callable[[Transaction], Any]] = {
            "change": lambda tx: tx.change(foreign, confidence=0.1),
            "remove": lambda tx: tx.remove(foreign),
            "purge": lambda tx: tx.erasure.memory(foreign),
        }
        with pytest.raises(NotFound):
            write(store, verbs[verb])
        assert listed(store) == ["tea"]

    def test_undo_reaches_only_the_scopes_it_names(self, store: Store) -> None:
        put(store, fact("tea"), run="run_ann")
        with pytest.raises(NotFound):
            undo(store, "run_ann", scopes=(BOB,))
        assert listed(store) == ["tea"]

    def test_several_scopes_are_read_together_and_naming_one_twice_equals_once(
        self, store: Store
    ) -> None:
        anns, bobs = put(store, fact("tea"), fact("tea", scope=BOB))
        store.vectors.add(ALL, MODEL, {anns.seq: unit(1), bobs.seq: unit(1)})
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
        store.vectors.add(ALL, MODEL, {one.seq: unit(1) for one in twins})
        put_away = twins[:25] + twins[26:]
        write(store, lambda tx: [tx.change(one, status="archived") for one in put_away])
        where = Filter((ANN,))
        expected = [twins[25].seq]
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == expected
        for _ in range(3):
            assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == expected
        assert [one.seq for one in store.list(where, limit=1)] == expected

    def test_turns_hide_no_fact(self, store: Store) -> None:
        *turns, wanted = put(
            store, *(turn("tea tea tea", "s", n) for n in range(40)), fact("tea, and much else")
        )
        store.vectors.add(ALL, MODEL, {one.seq: unit(1) for one in turns} | {wanted.seq: unit(2)})
        where = Filter((ANN,), kinds=("fact",))
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == [wanted.seq]
        assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == [wanted.seq]
        assert store.list(where, limit=1) == [wanted]

    def test_what_was_learned_from_a_session_hides_nothing_when_that_session_is_left_out(
        self, store: Store
    ) -> None:
        *learned, wanted = put(
            store,
            *(fact("tea", metadata={"session": "s1"}) for _ in range(40)),
            fact("tea, and much else"),
        )
        store.vectors.add(ALL, MODEL, {one.seq: unit(1) for one in learned} | {wanted.seq: unit(2)})
        where = Filter((ANN,), excluded_sessions=("s1",))
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == [wanted.seq]
        assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == [wanted.seq]
        assert store.list(where) == [wanted]

    def test_entities_are_filtered_before_the_limit(self, store: Store) -> None:
        stored = put(store, *(fact(f"note {number}") for number in range(10)))
        write(store, lambda tx: mention_all(tx, "Joanna", stored))
        write(store, lambda tx: [tx.change(one, status="archived") for one in stored[1:]])
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
            (
                {"statuses": ("active", "held")},
                ["tea plain", "tea tagged", "tea said", "tea rule", "tea held"],
            ),
            ({"statuses": ()}, []),
            ({"consolidated": True}, ["tea said"]),
            ({"consolidated": False}, ["tea plain", "tea tagged", "tea rule"]),
            ({"consolidated": False, "kinds": ("turn",)}, []),
            ({"consolidated": None}, ["tea plain", "tea tagged", "tea said", "tea rule"]),
            ({"kinds": ("fact",), "tags": ("sweet",), "since": at(1)}, ["tea tagged"]),
            ({"namespace": ("users",)}, ["tea tagged", "tea rule"]),
            ({"namespace": ("users", "ann")}, ["tea tagged"]),
            ({"namespace": ("user",)}, []),
            ({"namespace": ()}, ["tea tagged", "tea rule"]),
            ({"namespace": ("users",), "kinds": ("rule",)}, ["tea rule"]),
            ({"ended_by": at(40)}, ["tea plain"]),
            ({"ended_by": at(39)}, []),
        ],
        ids=str,
    )
    def test_each_way_to_search_obeys_the_filter(
        self,
        store: Store,
        narrower: dict[str, Any],
        expected: list[str],
    ) -> None:
        stored = put(
            store,
            fact("tea plain", valid_until=at(40), metadata={"namespace": ["users"]}),
            fact("tea tagged", tags=("hot", "sweet"), event_time=at(10), **item("users", "ann")),
            turn("tea said", "s1", 0, author="Ann", event_time=at(20), consolidated_at=at(50)),
            memory(
                "tea rule",
                kind="rule",
                category="drinks",
                author="Bob",
                event_time=at(30),
                **item("users"),
            ),
            fact("tea held", status="held"),
        )
        store.vectors.add(ALL, MODEL, {one.seq: unit(1) for one in stored})
        write(store, lambda tx: mention_all(tx, "Joanna", stored))
        where = Filter((ANN,), **narrower)
        assert listed(store, **narrower) == expected
        assert sorted(found(store, "tea", **narrower)) == sorted(expected)
        for _ in range(2):
            assert texts(store, store.by_vector(where, MODEL, unit(1), 10)) == expected
        assert texts(store, store.by_entity(where, ["joanna"], 10)) == expected[::-1]

    def test_namespaces_are_listed_once_and_as_they_were_given(self, store: Store) -> None:
        names = [
            ("users", "ann"),
            ("users", "ann", "notes"),
            ("users", 'a"n,n]'),
            ("users^",),
            ("é", "ü"),
        ]
        put(
            store,
            *(fact(f"tea {place}", **item(*name)) for place, name in enumerate([*names, names[0]])),
        )
        put(
            store,
            fact("of Bob", scope=BOB, **item("users", "bob")),
            fact("no item", metadata={"namespace": ["x"]}),
        )
        put(store, fact("put away", status="archived", **item("gone")))
        assert sorted(store.namespaces(Filter((ANN,), namespace=()))) == sorted(names)
        assert sorted(store.namespaces(Filter((ANN,), namespace=("users",)))) == sorted(names[:3])
        assert store.namespaces(Filter((ANN,), namespace=("users", 'a"n,n]'))) == [names[2]]
        assert store.namespaces(Filter((ANN,), namespace=("é",))) == [names[4]]

    def test_a_page_of_a_namespace_begins_behind_the_last(self, store: Store) -> None:
        put(
            store,
            *(fact(f"tea {number}", **item("a" if number % 2 else "b")) for number in range(10)),
        )
        where = Filter((ANN,), namespace=("a",))
        seen = list[str]()
        after = None
        while page := store.list(where, limit=2, after=after, order="oldest"):
            seen = [*seen, *(one.content for one in page)]
            after = page[-1].seq
        assert seen == [f"tea {number}" for number in range(1, 10, 2)]

    def test_validity_begins_at_its_first_moment_and_ends_before_its_last(
        self, store: Store
    ) -> None:
        stored = put(
            store,
            fact("tea always"),
            fact("tea from", valid_from=at(10)),
            fact("tea until", valid_until=at(20)),
            fact("tea between", valid_from=at(10), valid_until=at(20)),
        )
        store.vectors.add(ALL, MODEL, {one.seq: unit(1) for one in stored})
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
        for moment, status in (
            (20, "archived"),
            (30, "active"),
            (40, "superseded"),
            (50, "active"),
            (60, "faded"),
        ):
            set_status(store, one, status, when=at(moment))
        seen = {
            moment: listed(store, as_of=at(moment))
            for moment in (9, 10, 19.9, 20, 29.9, 30, 40, 49.9, 50, 60, 99)
        }
        there = ["tea"]
        away = list[str]()
        assert list(seen.values()) == [
            away,
            there,
            there,
            away,
            away,
            there,
            away,
            away,
            there,
            away,
            away,
        ]
        assert listed(store, as_of=at(45), statuses=("superseded",)) == ["tea"]

    def test_as_of_serves_every_way_to_search(self, store: Store) -> None:
        one, two = put(store, fact("tea old"), fact("tea new", created=at(20)))
        store.vectors.add(ALL, MODEL, {one.seq: unit(1), two.seq: unit(1)})
        write(store, lambda tx: mention_all(tx, "Joanna", [one, two]))
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
