"""Getting, listing and filtering: what is found, and what must never be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ..errors import (
    HoldfastError,
    InvalidInput,
    NotFound,
    ScopeError,
)
from ..store.base import Filter, KnownFile, Store, Writer
from ..types import Edge, Entity, Kind, Memory, Scope, Session, Triple
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
    listed,
    memory,
    mention_all,
    purge,
    put,
    put_one,
    set_status,
    texts,
    turn,
    undo,
    unit,
    write,
)


class MemoriesContract:
    """Adding, reading and changing memories."""

    def test_a_memory_comes_back_exactly_as_it_was_stored(self, store: Store) -> None:
        full = fact(
            "Prefers green tea", category="preferences", title="Tea", author="Ann", role="user", tags=("drink", "été"),
            status="held", status_at=at(1), status_reason="waiting", session="s1", position=4, event_time=at(-9),
            valid_from=at(-5), valid_until=at(5), confidence=0.25, strength=0.75, decay_rate=0.125,
            decayed_at=at(2), protected=True, source="import", trust="tool", quote="green tea",
            triple=Triple("Ann", "likes", "tea", "person", "drink"),
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

    def test_turns_have_no_twins(self, store: Store) -> None:
        put(store, turn("tea", "s", 0))
        assert write(store, lambda writer: writer.same_content([fact("tea"), turn("tea", "s", 1)])) == {}

    def surplus(self, store: Store, keep: int, kinds: Sequence[Kind] = ("turn",), *, spare: bool = False) -> list[str]:
        """What would have to go for `keep` to stay."""
        found = write(store, lambda writer: writer.surplus(ANN, kinds, keep, spare_unconsolidated=spare))
        return [one.content for one in found]

    def test_the_surplus_is_the_oldest_beyond_what_stays(self, store: Store) -> None:
        ages = {"c": 3, "a": 1, "d": 3, "b": 2}
        put(store, *(turn(text, "s", n, created=at(age)) for n, (text, age) in enumerate(ages.items())))
        put(store, fact("a fact", created=at(-1)), turn("theirs", "s", 0, scope=BOB, created=at(-1)))
        assert [self.surplus(store, keep) for keep in (0, 1, 2, 3, 4, 9)] == [
            ["a", "b", "c", "d"], ["a", "b", "c"], ["a", "b"], ["a"], [], [],
        ]  # fmt: skip
        assert self.surplus(store, 3, ("turn", "fact")) == ["a fact", "a"]
        assert self.surplus(store, 0, ("rule",)) == self.surplus(store, 0, ()) == []

    def test_the_surplus_comes_as_it_is_stored(self, store: Store) -> None:
        stored = put(store, *(fact(text, tags=(text,), metadata={"k": text}) for text in "ab"))
        assert write(store, lambda writer: writer.surplus(ANN, ["fact"], 0, spare_unconsolidated=False)) == stored
        assert write(store, lambda writer: writer.surplus(BOB, ["fact"], 0, spare_unconsolidated=False)) == []

    def test_only_active_memories_count_as_surplus(self, store: Store) -> None:
        one, *_ = put(store, *(turn(text, "s", n) for n, text in enumerate("abc")))
        set_status(store, one, "archived")
        assert (self.surplus(store, 2), self.surplus(store, 1)) == ([], ["b"])

    def test_what_is_protected_counts_but_is_never_surplus(self, store: Store) -> None:
        put(store, *(turn(text, "s", n, protected=text in "ac") for n, text in enumerate("abcd")))
        assert [self.surplus(store, keep) for keep in (0, 2, 3, 4)] == [["b", "d"], ["b", "d"], ["b"], []]

    def test_what_is_not_consolidated_can_be_spared(self, store: Store) -> None:
        done = {"b": at(1), "d": at(2)}
        put(store, *(turn(text, "s", n, consolidated_at=done.get(text)) for n, text in enumerate("abcde")))
        assert [self.surplus(store, keep, spare=True) for keep in (0, 3, 4, 5)] == [["b", "d"], ["b", "d"], ["b"], []]
        assert self.surplus(store, 3) == ["a", "b"]

    def test_a_writer_sees_its_own_changes_in_the_surplus(self, store: Store) -> None:
        def work(writer: Writer) -> list[str]:
            one, _ = writer.add_many([turn("a", "s", 0), turn("b", "s", 1)])
            writer.change(one, protected=True)
            return [one.content for one in writer.surplus(ANN, ["turn"], 1, spare_unconsolidated=False)]

        assert write(store, work) == ["b"]

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
        store.touch(ALL, {one.seq: 2, 999_999: 1}, at(5))
        store.touch(ALL, {one.seq: 1}, at(6))
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
    "session": lambda store, scope: [one.agent for one in [store.session(scope, "s")] if one],
    "messages": lambda store, scope: [one.body["text"] for one in store.messages(scope, "s")],
    "message rows": lambda store, scope: [str(row) for row in store.rows("message", scope)],
    "edges": lambda store, scope: [
        edge.reason for one in store.list(Filter((scope,))) for edge in store.edges(scope, one.id)
    ],
    "events": lambda store, scope: [event.seq for event in store.events([scope])],
    "files": lambda store, scope: [file.hash for file in store.files(scope, "/home")],
    "similarities": lambda store, scope: list(store.similarities([scope], MODEL, unit(1), list(range(1, 30)))),
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
        writer.add_messages(scope, "s", [{"text": f"message of {name}"}])
        writer.link(Edge(scope, one.id, two.id, "derived_from", START, f"reason of {name}"))
        writer.put_entity(Entity("e", scope, "Joanna", "person", START))
        writer.mention(scope, entity="e", memory=one.id)
        writer.put_files(scope, [KnownFile("/home", "tea.md", one.id, len(name), 1, name)])
        return one

    stored = write(store, work)
    store.add_vectors(ALL, MODEL, {stored.seq: unit(len(name) * 7 + ord(name[0]))})
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
        assert (store.message_counts(ANN, ["s"]), store.message_counts(TEAM, ["s"])) == ({"s": 1}, {})

    def test_models_and_coverage_are_those_of_the_scope(self, store: Store) -> None:
        one, _ = put(store, fact("ann"), fact("bob", scope=BOB))
        store.add_vectors(ALL, MODEL, {one.seq: unit(1)})
        assert (store.models([ANN]), store.models([BOB])) == ({MODEL: True}, {})
        assert (store.coverage([ANN]), store.coverage([BOB])) == ({MODEL: 1}, {})
        assert (store.dimensions([ANN]), store.dimensions([BOB])) == ({MODEL: 16}, {})

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
        store.add_vectors(ALL, MODEL, {anns.seq: unit(1), bobs.seq: unit(1)})
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
        store.add_vectors(ALL, MODEL, {one.seq: unit(1) for one in twins})
        put_away = twins[:25] + twins[26:]
        write(store, lambda writer: [writer.change(one, status="archived") for one in put_away])
        where, expected = Filter((ANN,)), [twins[25].seq]
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == expected
        for _ in range(3):
            assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == expected
        assert [one.seq for one in store.list(where, limit=1)] == expected

    def test_turns_hide_no_fact(self, store: Store) -> None:
        *turns, wanted = put(store, *(turn("tea tea tea", "s", n) for n in range(40)), fact("tea, and much else"))
        store.add_vectors(ALL, MODEL, {one.seq: unit(1) for one in turns} | {wanted.seq: unit(2)})
        where = Filter((ANN,), kinds=("fact",))
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == [wanted.seq]
        assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == [wanted.seq]
        assert store.list(where, limit=1) == [wanted]

    def test_what_was_learned_from_a_session_hides_nothing_when_that_session_is_left_out(self, store: Store) -> None:
        *learned, wanted = put(
            store, *(fact("tea", metadata={"session": "s1"}) for _ in range(40)), fact("tea, and much else")
        )
        store.add_vectors(ALL, MODEL, {one.seq: unit(1) for one in learned} | {wanted.seq: unit(2)})
        where = Filter((ANN,), excluded_sessions=("s1",))
        assert [seq for seq, _ in store.by_text(where, ["tea"], 1)] == [wanted.seq]
        assert [seq for seq, _ in store.by_vector(where, MODEL, unit(1), 1)] == [wanted.seq]
        assert store.list(where) == [wanted]

    def test_entities_are_filtered_before_the_limit(self, store: Store) -> None:
        stored = put(store, *(fact(f"note {number}") for number in range(10)))
        write(store, lambda writer: mention_all(writer, "Joanna", stored))
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
            ({"consolidated": True}, ["tea said"]),
            ({"consolidated": False}, ["tea plain", "tea tagged", "tea rule"]),
            ({"consolidated": False, "kinds": ("turn",)}, []),
            ({"consolidated": None}, ["tea plain", "tea tagged", "tea said", "tea rule"]),
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
            turn("tea said", "s1", 0, author="Ann", event_time=at(20), consolidated_at=at(50)),
            memory("tea rule", kind="rule", category="drinks", author="Bob", event_time=at(30)),
            fact("tea held", status="held"),
        )
        store.add_vectors(ALL, MODEL, {one.seq: unit(1) for one in stored})
        write(store, lambda writer: mention_all(writer, "Joanna", stored))
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
        store.add_vectors(ALL, MODEL, {one.seq: unit(1) for one in stored})
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
        store.add_vectors(ALL, MODEL, {one.seq: unit(1), two.seq: unit(1)})
        write(store, lambda writer: mention_all(writer, "Joanna", [one, two]))
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
