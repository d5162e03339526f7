"""The registry of entities: found by every name, counted by what is active, removed with all that
points to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ..errors import Conflict, NotFound, Refused
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter
from ..types import Entity, Memory, Scope
from .scene import (
    ANN,
    BOB,
    START,
    TEAM,
    at,
    fact,
    mention_all,
    purge,
    put,
    put_one,
    run_id,
    set_status,
    together,
    truth,
    undo,
    write,
)

ZOE = Entity("ent_zoe", ANN, "Zoe", "person", START, ("@zoe", "Zoë Müller"), "a friend")


def known(
    store: Store,
    *entities: Entity,
    run: str = "",
) -> None:
    """Adds entities that nothing mentions yet."""
    together(store, *(_putting(entity) for entity in entities), run=run)


def mentioned(
    store: Store,
    entity: Entity,
    *memories: Memory,
    run: str = "",
) -> None:
    """Notes that these memories mention an entity."""
    together(store, *(_mentioning(entity, one) for one in memories), run=run)


def _putting(entity: Entity) -> Callable[[Transaction], None]:
    return lambda tx: tx.entities.put(entity)


def _mentioning(entity: Entity, memory: Memory) -> Callable[[Transaction], None]:
    return lambda tx: tx.entities.mention(entity.scope, entity=entity.id, memory=memory.id)


def names(entities: Sequence[Entity]) -> list[str]:
    """What entities are called."""
    return [entity.name for entity in entities]


def _moved(tx: Transaction, one: Memory) -> None:
    """What a merge does: Zoe's names and mentions go to another, and Zoe goes."""
    tx.entities.put(Entity("ent_new", ANN, "New", "person", START, ("Zoe", "@zoe")))
    tx.entities.mention(ANN, entity="ent_new", memory=one.id)
    tx.entities.remove(ZOE)


def _renewed(tx: Transaction, _: Memory) -> None:
    tx.entities.remove(ZOE)
    tx.entities.put(ZOE)


CHANGES: Mapping[str, Callable[[Transaction, Memory], Any]] = {
    "remove an entity": lambda tx, one: tx.entities.remove(ZOE),
    "take back a mention": lambda tx, one: tx.entities.unmention(ANN, entity=ZOE.id, memory=one.id),
    "merge": _moved,
    "rename by case only": lambda tx, one: tx.entities.put(replace(ZOE, name="ZOE")),
    "other names": lambda tx, one: tx.entities.put(replace(ZOE, aliases=("Zo",))),
    "remove and add again": _renewed,
}


class EntitiesContract:
    """Entities, their names and who mentions them."""

    def test_an_entity_comes_back_with_its_names_and_mentions(self, store: Store) -> None:
        one, two = put(store, fact("met Zoe"), fact("Zoë Müller called"))
        known(store, ZOE)
        mentioned(store, ZOE, one, two)
        expected = replace(ZOE, mentions=2)
        assert store.entities.get(ANN, ZOE.id) == expected
        assert store.entities.list([ANN]) == [expected]
        assert store.entities.get(ANN, "ent_nobody") is None

    @pytest.mark.parametrize("name", ["zoe", "@zoe", "zoë müller"])
    def test_entities_are_found_by_any_whole_name(self, store: Store, name: str) -> None:
        known(store, ZOE)
        assert names(store.entities.list([ANN], names=[name])) == ["Zoe"]
        assert names(store.entities.list([ANN], names=["nobody", name, name])) == ["Zoe"]

    @pytest.mark.parametrize(
        "name", ["ann", "Zoe", "zo", "müller", "zoe ", "%", "_oe", "", "'; --", "zoe\0"]
    )
    def test_a_part_of_a_name_finds_nobody(self, store: Store, name: str) -> None:
        known(store, ZOE, Entity("ent_joanna", ANN, "Joanna", "person", START))
        assert store.entities.list([ANN], names=[name]) == []

    def test_names_that_are_none_find_nobody(self, store: Store) -> None:
        known(store, ZOE)
        assert store.entities.list([ANN], names=[]) == []

    def test_entities_may_be_narrowed_by_type(self, store: Store) -> None:
        project = Entity("ent_apollo", ANN, "Apollo", "project", START)
        god = Entity("ent_god", ANN, "Apollo", "person", START)
        known(store, ZOE, project, god)
        assert names(store.entities.list([ANN], types=["project"])) == ["Apollo"]
        assert names(store.entities.list([ANN], types=["person", "project"])) == [
            "Apollo",
            "Apollo",
            "Zoe",
        ]
        assert store.entities.list([ANN], names=["apollo"], types=("person",)) == [god]
        assert store.entities.list([ANN], types=["place"]) == []

    def test_the_most_mentioned_comes_first_then_the_name(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        rare, often, never, nor = (
            Entity(f"ent_{name}", ANN, name, "person", START)
            for name in ("Rare", "Often", "Never", "Äther")
        )
        known(store, rare, often, nor, never)
        mentioned(store, often, one, two)
        mentioned(store, rare, two)
        assert names(store.entities.list([ANN])) == ["Often", "Rare", "Never", "Äther"]
        assert [entity.mentions for entity in store.entities.list([ANN])] == [2, 1, 0, 0]
        assert names(store.entities.list([ANN], limit=2)) == ["Often", "Rare"]
        assert store.entities.list([ANN], limit=0) == store.entities.list([ANN], limit=-1) == []

    def test_entities_may_be_narrowed_to_some(self, store: Store) -> None:
        known(store, ZOE, Entity("ent_joanna", ANN, "Joanna", "person", START))
        assert names(store.entities.list([ANN], ids=["ent_joanna", "ent_nobody"])) == ["Joanna"]
        assert store.entities.list([ANN], ids=[]) == []

    def test_who_is_mentioned_with_whom_is_counted_by_memory(self, store: Store) -> None:
        one, two, past = put(store, fact("one"), fact("two"), fact("past"))
        zoe, bea, tom, far = (
            Entity(f"ent_{name}", ANN, name, "person", START) for name in ("a", "b", "c", "d")
        )
        known(store, zoe, bea, tom, far)
        mentioned(store, zoe, one, two, past)
        mentioned(store, bea, one, two, past)
        mentioned(store, tom, two)
        mentioned(store, far, past)
        set_status(store, past, "archived")
        assert store.entities.companions(ANN, "ent_a", limit=9, most=9) == (
            {"ent_b": 2, "ent_c": 1},
            True,
        )
        assert list(store.entities.companions(ANN, "ent_a", limit=1, most=9)[0]) == ["ent_b"]
        assert store.entities.pairs(ANN, ["ent_a", "ent_b", "ent_c"], latest=9) == (
            [("ent_a", "ent_b", 2), ("ent_a", "ent_c", 1), ("ent_b", "ent_c", 1)],
            True,
        )
        assert store.entities.companions(BOB, "ent_a", limit=9, most=9) == ({}, True)

    def test_a_count_says_when_not_every_mention_was_read(self, store: Store) -> None:
        many = put(store, fact("one"), fact("two"), fact("three"))
        known(store, ZOE)
        mentioned(store, ZOE, *many)
        assert store.entities.companions(ANN, ZOE.id, limit=9, most=3)[1]
        assert not store.entities.companions(ANN, ZOE.id, limit=9, most=2)[1]
        assert store.entities.pairs(ANN, [ZOE.id], latest=3)[1]
        assert not store.entities.pairs(ANN, [ZOE.id], latest=2)[1]

    def test_who_was_mentioned_lately_is_counted_in_the_latest_memories(self, store: Store) -> None:
        old, new, newest = put(store, fact("old"), fact("new"), fact("newest"))
        bea = Entity("ent_bea", ANN, "Bea", "person", START)
        known(store, ZOE, bea)
        mentioned(store, ZOE, old)
        mentioned(store, bea, new, newest)
        assert store.entities.recently_mentioned([ANN], latest=3, limit=9) == {
            "ent_bea": 2,
            ZOE.id: 1,
        }
        assert store.entities.recently_mentioned([ANN], latest=2, limit=9) == {"ent_bea": 2}
        set_status(store, newest, "archived")
        assert store.entities.recently_mentioned([ANN], latest=2, limit=9) == {"ent_bea": 1}
        assert store.entities.recently_mentioned([BOB], latest=2, limit=9) == {}

    def test_only_active_memories_count_as_mentions(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        known(store, ZOE)
        mentioned(store, ZOE, one, two)
        set_status(store, one, "archived")
        assert store.entities.list([ANN])[0].mentions == 1
        purge(store, two)
        assert store.entities.list([ANN])[0].mentions == 0

    def test_many_entities_come_with_their_own_names(self, store: Store) -> None:
        many = [
            Entity(f"ent_{n}", ANN, f"Name {n:04}", "person", START, (f"Alias {n}",))
            for n in range(1201)
        ]
        known(store, *many)
        assert store.entities.list([ANN]) == many

    def test_memories_that_mention_an_entity_come_newest_first(self, store: Store) -> None:
        stored = put(store, *(fact(f"Zoe {n}", created=at(-n)) for n in range(4)), fact("nobody"))
        known(store, ZOE)
        mentioned(store, ZOE, *stored[:4])
        set_status(store, stored[1], "archived")

        def told(**narrower: Any) -> list[str]:
            return [one.content for one in store.entities.mentioning(ANN, ZOE.id, **narrower)]

        assert told() == ["Zoe 3", "Zoe 2", "Zoe 0"]
        assert told(limit=2) == ["Zoe 3", "Zoe 2"]
        assert told(limit=1, statuses=("archived",)) == ["Zoe 1"]
        assert told(statuses=("active", "archived")) == ["Zoe 3", "Zoe 2", "Zoe 1", "Zoe 0"]
        assert told(limit=0) == told(statuses=()) == []
        assert store.entities.mentioning(ANN, "ent_nobody") == []

    def test_which_entities_memories_mention(self, store: Store) -> None:
        one, two, three = put(store, fact("one"), fact("two"), fact("three"))
        other = Entity("ent_bob", ANN, "Bob", "person", START)
        known(store, ZOE, other)
        mentioned(store, ZOE, one, two)
        mentioned(store, other, two)
        asked = [three.id, two.id, one.id, "fact_nobody", *(f"fact_more_{n}" for n in range(1000))]
        assert store.entities.mentions_of(ANN, asked) == {
            one.id: ["ent_zoe"],
            two.id: ["ent_bob", "ent_zoe"],
        }
        assert store.entities.mentions_of(ANN, []) == {}

    def test_a_scope_sees_only_its_own_entities(self, store: Store) -> None:
        def fill(scope: Scope) -> Memory:
            one = put_one(store, replace(fact(f"Zoe of {scope.key}", scope=scope), id="fact_same"))
            own = replace(ZOE, scope=scope, aliases=(scope.key,))
            known(store, own)
            mentioned(store, own, one)
            return one

        for scope in (ANN, BOB):
            fill(scope)
            write(store, lambda tx: tx.entities.get(TEAM, ZOE.id))
        for scope in (ANN, BOB):
            own = replace(ZOE, scope=scope, aliases=(scope.key,), mentions=1)
            assert store.entities.list([scope], names=["zoe"]) == [own]
            assert store.entities.get(scope, ZOE.id) == own
            assert [one.scope for one in store.entities.mentioning(scope, ZOE.id)] == [scope]
            assert store.entities.mentions_of(scope, ["fact_same"]) == {"fact_same": [ZOE.id]}
        assert [entity.scope for entity in store.entities.list([ANN, BOB], names=["zoe"])] == [
            ANN,
            BOB,
        ]
        assert store.entities.list([ANN, BOB], names=["bob"]) == [
            replace(ZOE, scope=BOB, aliases=("bob",), mentions=1)
        ]
        assert store.entities.list([ANN], names=["bob"]) == store.entities.list([TEAM]) == []
        assert (
            store.entities.get(TEAM, ZOE.id),
            store.entities.mentions_of(TEAM, ["fact_same"]),
        ) == (None, {})
        assert store.entities.mentioning(TEAM, ZOE.id) == []

    def test_a_writer_finds_an_entity_by_any_name_and_its_type(self, store: Store) -> None:
        known(store, ZOE, Entity("ent_tool", ANN, "Zoe", "project", START))

        def work(tx: Transaction) -> list[Entity | None]:
            asked = (
                ("zoe", "person"),
                ("@zoe", "person"),
                ("zoe", "project"),
                ("zo", "person"),
                ("@zoe", "project"),
            )
            return [tx.entities.named(ANN, name, type_) for name, type_ in asked]

        found = write(store, work)
        assert found[:2] == [ZOE, ZOE]
        assert [entity and entity.id for entity in found[2:]] == ["ent_tool", None, None]
        assert write(store, lambda tx: tx.entities.named(BOB, "zoe", "person")) is None
        assert store.scopes() == [ANN]

    def test_a_name_of_its_own_comes_before_an_alias_and_the_oldest_first(
        self, store: Store
    ) -> None:
        alias = Entity("ent_1", ANN, "Zoe Smith", "person", at(0), ("Zoe",))
        later = Entity("ent_2", ANN, "Zoe", "person", at(2))
        older = Entity("ent_3", ANN, "ZOE", "person", at(1))

        def put_and_find(entity: Entity) -> str | None:
            known(store, entity)
            found = write(store, lambda tx: tx.entities.named(ANN, "zoe", "person"))
            return found.id if found else None

        assert [put_and_find(entity) for entity in (alias, later, older)] == [
            "ent_1",
            "ent_2",
            "ent_3",
        ]

    def test_many_entities_are_found_by_any_of_their_names(self, store: Store) -> None:
        ann = Entity("ent_ann", ANN, "Ann", "person", START, ("@ann", "Annie"))
        annie = Entity("ent_annie", ANN, "ANNIE", "project", START)
        bobs = Entity("ent_bobs", BOB, "Ann", "person", START)
        known(store, ann, annie, ZOE, bobs)

        def found(tx: Transaction, *asked: str) -> list[Entity]:
            return sorted(tx.entities.with_names(ANN, asked), key=lambda one: one.id)

        assert write(store, lambda tx: found(tx, "annie", "nobody", "ann")) == [ann, annie]
        assert write(store, lambda tx: found(tx, "nobody")) == []
        assert write(store, found) == []
        ids = ["ent_ann", "ent_bobs", ZOE.id, "ent_none"]
        assert write(store, lambda tx: tx.entities.existing(ANN, ids)) == {"ent_ann", ZOE.id}

    def test_entities_that_are_added_together_are_undone_together(self, store: Store) -> None:
        known(store, ZOE)
        before = truth(store)
        ann = Entity("ent_ann", ANN, "Ann", "person", START, ("Annie",))
        bob = Entity("ent_bob", ANN, 'Bob "the \\ builder"', "person", START)

        def work(tx: Transaction) -> list[Entity]:
            tx.entities.add_many(ANN, [ann, bob])
            tx.entities.add_many(ANN, [])
            return tx.entities.with_names(ANN, ["annie"])

        assert write(store, work, run="run_many") == [ann]
        assert store.entities.get(ANN, bob.id) == bob
        told = sorted(event.noun for event in store.events([ANN], run="run_many"))
        assert told == ["entity"] * 2 + ["entity_name"] * 3
        undo(store, "run_many")
        assert truth(store) == before

    def test_a_writer_sees_what_it_wrote(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        set_status(store, one, "archived")

        def work(tx: Transaction) -> tuple[Any, ...]:
            tx.entities.put(ZOE)
            for memory in (two, one):
                tx.entities.mention(ANN, entity=ZOE.id, memory=memory.id)
            found = (
                tx.entities.get(ANN, ZOE.id),
                [one.id for one in tx.entities.mentioning(ANN, ZOE.id, statuses=None)],
            )
            tx.entities.remove(ZOE)
            return (*found, tx.entities.get(ANN, ZOE.id), tx.entities.mentioning(ANN, ZOE.id))

        assert write(store, work) == (ZOE, [two.id, one.id], None, [])

    def test_many_mentions_are_noted_at_once_each_once(self, store: Store) -> None:
        one, two = put(store, fact("met Zoe"), fact("met Zoe and Bob"))
        bob = Entity("ent_bob", ANN, "Bob", "person", START)
        known(store, ZOE, bob)
        mentioned(store, ZOE, one)
        before = truth(store)
        pairs = [(ZOE.id, one.id), (ZOE.id, two.id), (bob.id, two.id), (ZOE.id, two.id)]
        write(store, lambda tx: tx.entities.mention_many(ANN, pairs), run="run_many")
        assert store.entities.mentions_of(ANN, [one.id, two.id]) == {
            one.id: [ZOE.id],
            two.id: sorted((ZOE.id, bob.id)),
        }
        told = [event.noun for event in store.events([ANN], run="run_many")]
        assert told == ["mention", "mention"]
        undo(store, "run_many")
        assert truth(store) == before

    def test_mentions_of_a_memory_that_was_just_added_are_noted_each_once(
        self, store: Store
    ) -> None:
        bob = Entity("ent_bob", ANN, "Bob", "person", START)
        known(store, ZOE, bob)
        before = truth(store)

        def work(tx: Transaction) -> str:
            (one,) = tx.add_many([fact("met Zoe and Bob")])
            tx.entities.mention_many(ANN, [(ZOE.id, one.id)])
            tx.entities.mention_many(ANN, [(ZOE.id, one.id), (bob.id, one.id)])
            return one.id

        id_ = write(store, work, run="run_added")
        assert store.entities.mentions_of(ANN, [id_]) == {id_: sorted((ZOE.id, bob.id))}
        told = [event.noun for event in store.events([ANN], run="run_added")]
        assert sorted(told) == ["memory", "mention", "mention"]
        undo(store, "run_added")
        assert truth(store) == before

    def test_a_removed_entity_takes_its_names_and_mentions_along(self, store: Store) -> None:
        one = put_one(store, fact("met Zoe"))
        other = Entity("ent_other", ANN, "Other", "person", START, ("Zoe",))
        known(store, ZOE, other)
        mentioned(store, ZOE, one)
        mentioned(store, other, one)
        write(store, lambda tx: tx.entities.remove(ZOE))
        assert store.entities.list([ANN]) == [replace(other, mentions=1)]
        assert [row["entity"] for row in store.rows("entity_name", ANN)] == [
            "ent_other",
            "ent_other",
        ]
        assert store.by_entity(Filter((ANN,)), ["@zoe"], 5) == []

    def test_an_entity_that_is_not_there_cannot_be_removed(self, store: Store) -> None:
        known(store, replace(ZOE, scope=BOB))
        with pytest.raises(NotFound):
            write(store, lambda tx: tx.entities.remove(ZOE))
        assert names(store.entities.list([BOB])) == ["Zoe"]

    def test_a_mention_taken_back_twice_equals_once(self, store: Store) -> None:
        one = put_one(store, fact("met Zoe"))
        known(store, ZOE)
        mentioned(store, ZOE, one)
        for _ in range(2):
            write(store, lambda tx: tx.entities.unmention(ANN, entity=ZOE.id, memory=one.id))
        write(store, lambda tx: tx.entities.unmention(BOB, entity=ZOE.id, memory=one.id))
        assert store.entities.mentioning(ANN, ZOE.id) == []
        assert [event.noun for event in store.events([ANN])].count("mention") == 2

    @pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
    def test_changes_of_entities_are_undone_exactly(
        self, store: Store, change: Callable[[Transaction, Memory], Any]
    ) -> None:
        one = put_one(store, fact("met Zoe"))
        known(store, ZOE)
        mentioned(store, ZOE, one)
        before = truth(store)
        run = run_id()
        write(store, lambda tx: change(tx, one), run=run)
        after = truth(store)
        back = undo(store, run, when=at(2))
        assert truth(store) == before
        undo(store, back, when=at(3))
        assert truth(store) == after

    def test_a_new_entity_stays_while_a_later_run_mentions_it(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        known(store, ZOE)
        mentioned(store, ZOE, one)
        write(store, lambda tx: _moved(tx, one), run="run_merge")
        write(
            store,
            lambda tx: tx.entities.mention(ANN, entity="ent_new", memory=two.id),
            run="run_later",
        )
        undo(store, "run_merge")
        assert [memory.id for memory in store.entities.mentioning(ANN, "ent_new")] == [two.id]
        assert [memory.id for memory in store.entities.mentioning(ANN, ZOE.id)] == [one.id]

    def test_purging_the_only_memory_that_mentions_somebody_erases_the_name(
        self, store: Store
    ) -> None:
        one, two = put(store, fact("met Zoe"), fact("met Zoe again"))
        known(store, ZOE)
        mentioned(store, ZOE, one, two)
        purge(store, one)
        assert [entity.id for entity in store.entities.list([ANN])] == [ZOE.id]
        purge(store, two)
        assert store.entities.list([ANN]) == []
        told = " ".join(
            f"{event.target} {event.before} {event.after}" for event in store.events([ANN])
        )
        assert ZOE.name.casefold() not in told.casefold().replace(ZOE.id, "")

    def test_the_mention_of_a_purged_memory_does_not_come_back(self, store: Store) -> None:
        one = put_one(store, fact("met Zoe"))
        known(store, ZOE)
        mentioned(store, ZOE, one)
        write(store, lambda tx: tx.entities.remove(ZOE), run="run_remove")
        purge(store, one)
        with pytest.raises((Conflict, Refused)):
            undo(store, "run_remove")
        assert store.entities.list([ANN]) == []

    def test_the_registry_is_exported_and_restored(self, store: Store) -> None:
        one = put_one(store, fact("met Zoe"))
        write(store, lambda tx: mention_all(tx, "Zoe", [one], "Zo"))
        rows = [
            (noun, row)
            for noun in ("memory", "entity", "entity_name", "mention")
            for row in store.rows(noun, ANN)
        ]

        def restore(tx: Transaction) -> None:
            for noun, row in rows:
                tx.restore_row(noun, {**row, "scope": "user:bob"}, journal=True)

        write(store, restore)
        assert store.entities.list([BOB]) == [
            replace(entity, scope=BOB) for entity in store.entities.list([ANN])
        ]
