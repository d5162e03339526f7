"""Getting and listing memories: what is found, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ..errors import HoldfastError, InvalidInput, NotFound
from ..storage.duplicates import same_content
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter
from ..types import Kind, Memory, Triple
from .scene import (
    ALL,
    ANN,
    BOB,
    TEAM,
    at,
    change,
    fact,
    found,
    listed,
    memory,
    purge,
    put,
    put_one,
    set_status,
    turn,
    write,
)


def around(
    store: Store,
    where: Filter,
    best: Sequence[Memory],
    reach: int,
) -> list[str]:
    """The texts of these memories and of the turns around them."""
    seqs = [one.seq for one in best]
    return [one.content for one in store.candidates(where, seqs, seqs, reach)]


class MemoriesContract:
    """Adding, reading and changing memories."""

    def test_a_memory_comes_back_exactly_as_it_was_stored(self, store: Store) -> None:
        full = fact(
            "Prefers green tea",
            category="preferences",
            title="Tea",
            author="Ann",
            role="user",
            tags=("drink", "été"),
            status="held",
            status_at=at(1),
            status_reason="waiting",
            session="s1",
            position=4,
            event_time=at(-9),
            valid_from=at(-5),
            valid_until=at(5),
            confidence=0.25,
            strength=0.75,
            decay_rate=0.125,
            decayed_at=at(2),
            protected=True,
            source="import",
            trust="tool",
            quote="green tea",
            triple=Triple("Ann", "likes", "tea", "person", "drink"),
            consolidated_at=at(3),
            outcome="done",
            metadata={"n": [1, 2.5, None, "日本"]},
            access_count=3,
            last_accessed=at(4),
        )
        stored = put_one(store, full)
        assert store.get([ANN], [full.id]) == [full.with_(seq=stored.seq)] == [stored]

    @pytest.mark.parametrize(
        "text", ["", " ", "\t\n", "Ж" * 5000, "a\u0301", "👩‍👩‍👧", "'; DROP TABLE memories;", '"']
    )
    def test_any_text_is_kept_as_it_is(self, store: Store, text: str) -> None:
        assert store.get([ANN], [put_one(store, fact(text)).id])[0].content == text

    def test_get_answers_in_the_order_asked_and_leaves_out_what_is_unknown(
        self, store: Store
    ) -> None:
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
        def work(tx: Transaction) -> tuple[Memory | None, Memory | None]:
            added = tx.add(fact("tea"))
            tx.change(added, confidence=0.5)
            return tx.memory(ANN, added.id), tx.memory(ANN, added.seq)

        by_id, by_number = write(store, work)
        assert by_id == by_number
        assert by_id is not None and by_id.confidence == 0.5

    def test_listing_runs_in_insertion_order_or_its_reverse(self, store: Store) -> None:
        stored = put(store, *(fact(str(number), event_time=at(-number)) for number in range(5)))
        where = Filter((ANN,))
        assert store.list(where, order="oldest") == stored
        assert store.list(where) == stored[::-1]

    def test_listing_by_time_goes_by_when_they_were_made_wherever_they_stand(
        self, store: Store
    ) -> None:
        """What is imported arrives late and may be old; the limit is taken afterwards."""
        late, early, same = put(store, *(fact(str(day), created_at=at(day)) for day in (9, 1, 1)))
        where = Filter((ANN,))
        assert store.list(where, order="latest") == [late, same, early]
        assert store.list(where, order="earliest", limit=2) == [early, same]

    @pytest.mark.parametrize("order", ["newest", "oldest"])
    def test_pages_of_a_listing_join_without_gap_or_overlap(self, store: Store, order: Any) -> None:
        put(store, *(fact(str(number)) for number in range(10)))
        where = Filter((ANN,))
        pages = []
        last = None
        while page := store.list(where, limit=3, after=last, order=order):
            pages += page
            last = page[-1].seq
        assert pages == store.list(where, order=order)
        assert len(pages) == 10

    def test_same_words_are_found_in_any_status_kind_and_category_but_not_in_turns_or_elsewhere(
        self, store: Store
    ) -> None:
        one, two = put(store, fact("tea"), memory(' "Tea". ', kind="rule", category="drinks"))
        put(store, fact("coffee"), turn("tea", "s", 0), fact("tea", scope=BOB))
        away = set_status(store, one, "archived")
        asked = fact("TEA")
        same = write(store, lambda tx: tx.same_words([asked, fact("milk")]))
        assert {id_: [one.id for one in twins] for id_, twins in same.items()} == {
            asked.id: [away.id, two.id]
        }

    def test_same_content_is_the_oldest_active_one_of_scope_and_kind(self, store: Store) -> None:
        gone, oldest, *_ = put(
            store,
            fact("Tea."),
            fact("tea"),
            fact("TEA"),
            fact("tea", scope=BOB),
            memory("tea", kind="rule"),
        )
        set_status(store, gone, "archived")
        assert write(store, lambda tx: list(same_content(tx, [fact(' "tea" ')]).values())) == [
            oldest
        ]
        assert write(store, lambda tx: same_content(tx, [fact("coffee")])) == {}

    def test_turns_have_no_twins(self, store: Store) -> None:
        put(store, turn("tea", "s", 0))
        assert write(store, lambda tx: same_content(tx, [fact("tea"), turn("tea", "s", 1)])) == {}

    def surplus(
        self,
        store: Store,
        keep: int,
        kinds: Sequence[Kind] = ("turn",),
        *,
        spare: bool = False,
    ) -> list[str]:
        """What would have to go for `keep` to stay."""
        found = write(store, lambda tx: tx.surplus(ANN, kinds, keep, spare_unconsolidated=spare))
        return [one.content for one in found]

    def test_the_surplus_is_the_oldest_beyond_what_stays(self, store: Store) -> None:
        ages = {"c": 3, "a": 1, "d": 3, "b": 2}
        put(
            store,
            *(turn(text, "s", n, created=at(age)) for n, (text, age) in enumerate(ages.items())),
        )
        put(
            store, fact("a fact", created=at(-1)), turn("theirs", "s", 0, scope=BOB, created=at(-1))
        )
        assert [self.surplus(store, keep) for keep in (0, 1, 2, 3, 4, 9)] == [
            ["a", "b", "c", "d"],
            ["a", "b", "c"],
            ["a", "b"],
            ["a"],
            [],
            [],
        ]
        assert self.surplus(store, 3, ("turn", "fact")) == ["a fact", "a"]
        assert self.surplus(store, 0, ("rule",)) == self.surplus(store, 0, ()) == []

    def test_the_surplus_comes_as_it_is_stored(self, store: Store) -> None:
        stored = put(store, *(fact(text, tags=(text,), metadata={"k": text}) for text in "ab"))
        assert (
            write(store, lambda tx: tx.surplus(ANN, ["fact"], 0, spare_unconsolidated=False))
            == stored
        )
        assert (
            write(store, lambda tx: tx.surplus(BOB, ["fact"], 0, spare_unconsolidated=False)) == []
        )

    def test_only_active_memories_count_as_surplus(self, store: Store) -> None:
        one, *_ = put(store, *(turn(text, "s", n) for n, text in enumerate("abc")))
        set_status(store, one, "archived")
        assert (self.surplus(store, 2), self.surplus(store, 1)) == ([], ["b"])

    def test_what_is_protected_counts_but_is_never_surplus(self, store: Store) -> None:
        put(store, *(turn(text, "s", n, protected=text in "ac") for n, text in enumerate("abcd")))
        assert [self.surplus(store, keep) for keep in (0, 2, 3, 4)] == [
            ["b", "d"],
            ["b", "d"],
            ["b"],
            [],
        ]

    def test_what_is_not_consolidated_can_be_spared(self, store: Store) -> None:
        done = {"b": at(1), "d": at(2)}
        put(
            store,
            *(turn(text, "s", n, consolidated_at=done.get(text)) for n, text in enumerate("abcde")),
        )
        assert [self.surplus(store, keep, spare=True) for keep in (0, 3, 4, 5)] == [
            ["b", "d"],
            ["b", "d"],
            ["b"],
            [],
        ]
        assert self.surplus(store, 3) == ["a", "b"]

    def test_a_writer_sees_its_own_changes_in_the_surplus(self, store: Store) -> None:
        def work(tx: Transaction) -> list[str]:
            one, _ = tx.add_many([turn("a", "s", 0), turn("b", "s", 1)])
            tx.change(one, protected=True)
            return [one.content for one in tx.surplus(ANN, ["turn"], 1, spare_unconsolidated=False)]

        assert write(store, work) == ["b"]

    def test_counts_are_by_kind_and_status(self, store: Store) -> None:
        one, *_ = put(store, fact("a"), fact("b"), turn("c", "s", 0), fact("d", scope=BOB))
        set_status(store, one, "archived")
        assert store.counts([ANN]) == {"fact": {"active": 1, "archived": 1}, "turn": {"active": 1}}
        assert store.counts([ANN, BOB])["fact"] == {"active": 2, "archived": 1}

    def test_authors_are_distinct_and_in_alphabetical_order(self, store: Store) -> None:
        put(
            store, *(fact(f"by {name}", author=name) for name in ("Zoe", "Ann", "Zoe", "", "Émile"))
        )
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
        assert store.get([ANN], [one.id, two.id]) == [
            one.with_(access_count=3, last_accessed=at(6)),
            two,
        ]
        assert store.events([ANN]) == journal

    def test_candidates_come_in_the_order_asked_for_with_what_ranking_needs(
        self, store: Store
    ) -> None:
        said = turn("one", "s", 0).with_(author="Ann", tags=("x",), metadata={"k": ["v"]})
        one, two = put(store, said, fact("two").with_(title="Two", confidence=0.5))
        found = store.candidates(Filter((ANN,)), [two.seq, 999_999, one.seq])
        assert [each.seq for each in found] == [two.seq, one.seq]
        names = {name.removesuffix("_json") for name in found[0]._fields} - {"scope"}
        for each, stored in zip(found, (two, one), strict=True):
            assert {name: getattr(each, name) for name in names} == {
                name: getattr(stored, name) for name in names
            }

    def test_candidates_come_with_the_active_turns_around_the_best(self, store: Store) -> None:
        turns = put(
            store, *(turn(str(number), "s", number) for number in range(7)), turn("other", "t", 3)
        )
        set_status(store, turns[4], "archived")
        assert around(store, Filter((ANN,)), [turns[3]], 2) == ["3", "1", "2", "5"]
        assert around(store, Filter((ANN,)), [turns[3], turns[2]], 1) == ["3", "2", "1"]

    def test_turns_around_what_is_not_active(self, store: Store) -> None:
        turns = put(store, *(turn(str(number), "s", number) for number in range(3)))
        away = set_status(store, turns[1], "archived")
        assert around(store, Filter((ANN,)), [turns[0]], 1) == ["0"]
        assert around(store, Filter((ANN,)), [away], 1) == ["1", "0", "2"]

    def test_turns_around_pass_the_filter(self, store: Store) -> None:
        turns = put(
            store, *(turn(str(n), "s", n).with_(event_time=at(n), author=f"a{n}") for n in range(4))
        )
        assert around(store, Filter((ANN,), since=at(1)), [turns[1]], 2) == ["1", "2", "3"]
        assert around(store, Filter((ANN,), authors=("a0", "a1")), [turns[1]], 2) == ["1", "0"]
        assert around(store, Filter((ANN,), as_of=at(9)), [turns[1]], 2) == ["1"]

    def test_nothing_is_around_what_is_in_no_session(self, store: Store) -> None:
        lone, _ = put(store, fact("alone"), turn("elsewhere", "s", 0))
        assert around(store, Filter((ANN,)), [lone], 3) == ["alone"]

    def test_scopes_come_in_the_order_they_were_first_used(self, store: Store) -> None:
        assert store.scopes() == []
        put(store, fact("one", scope=TEAM))
        put(store, fact("two", scope=BOB), fact("three", scope=ANN))
        assert store.scopes() == [TEAM, BOB, ANN]

    def test_reading_does_not_make_a_scope(self, store: Store) -> None:
        assert listed(store) == [] and found(store, "tea") == []
        assert write(store, lambda tx: tx.memory(ANN, "fact_nobody")) is None
        assert store.scopes() == []
