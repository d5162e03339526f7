"""Undo: exact, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ..errors import Conflict, NotFound, Refused
from ..ingest.commit import rewrite
from ..storage.protocol import Store, Transaction
from ..types import Entity, Memory, Session, Triple
from .scene import (
    ALL,
    ANN,
    BOB,
    START,
    at,
    change,
    correct,
    fact,
    link,
    listed,
    mention_all,
    purge,
    put,
    put_one,
    run_id,
    set_status,
    tea_scene,
    truth,
    turn,
    undo,
    write,
)


def _rewritten(tx: Transaction, old: Memory) -> None:
    rewrite(tx, old, fact("white tea, for Zoe", title="tea", created=at(1)))
    mention_all(tx, "Zoe", [old])


def _capture(tx: Transaction, _: Memory) -> None:
    tx.sessions.put(Session("fresh", ANN, START, START, agent="x"))
    for position in range(3):
        tx.add(turn(f"turn {position}", "fresh", position))


def _twice(tx: Transaction, old: Memory) -> None:
    changed = tx.change(old, title="A", confidence=0.5, updated_at=at(1))
    tx.change(changed, title="B", tags=("x",), updated_at=at(2))


def _renamed(tx: Transaction, _: Memory) -> None:
    tx.entities.put(Entity("entity_Ann", ANN, "Anne", "agent", START, ("Nan",), "a summary"))


def _ended(tx: Transaction, _: Memory) -> None:
    session = tx.sessions.get(ANN, "s")
    assert session is not None
    tx.sessions.put(replace(session, ended_at=at(5), end_reason="idle", metadata={"k": "v"}))


def _linked(tx: Transaction, old: Memory) -> None:
    tx.link(link(tx.add(fact("derived")), old))


VERBS: Mapping[str, Callable[[Transaction, Memory], Any]] = {
    "add": lambda tx, old: tx.add(
        fact("more tea", tags=("x",), metadata={"a": {"b": 1}}, confidence=0.1)
    ),
    "add with every field": lambda tx, old: tx.add(
        fact(
            "x",
            triple=Triple("a", "b", "c"),
            valid_from=1,
            valid_until=2,
            decayed_at=3,
            protected=True,
            title="t",
        )
    ),
    "archive": lambda tx, old: tx.change(old, status="archived", status_at=at(1), updated_at=at(1)),
    "change twice": _twice,
    "confirm": lambda tx, old: tx.change(old, protected=True, decay_rate=0.0, updated_at=at(1)),
    "correct": correct,
    "rewrite": _rewritten,
    "remove": lambda tx, old: tx.remove(old),
    "link": _linked,
    "capture": _capture,
    "end a session": _ended,
    "new entity": lambda tx, old: mention_all(tx, "Zoe", [old], "Zo"),
    "rename an entity": _renamed,
    "add and remove": lambda tx, old: tx.remove(tx.add(fact("fleeting"))),
}


class UndoContract:
    """Undo takes a run back exactly; undo of the undo brings it back."""

    @pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
    def test_undo_is_exact_and_undo_of_undo_redoes(
        self, store: Store, verb: Callable[[Transaction, Memory], Any]
    ) -> None:
        old = tea_scene(store)
        before = truth(store)
        run = run_id()
        write(store, lambda tx: verb(tx, old), run=run, when=at(1))
        after = truth(store)
        back = undo(store, run, when=at(2))
        assert truth(store) == before
        forth = undo(store, back, when=at(3))
        assert truth(store) == after
        undo(store, forth, when=at(4))
        assert truth(store) == before

    @pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
    def test_a_run_that_was_redone_can_be_undone_again(
        self, store: Store, verb: Callable[[Transaction, Memory], Any]
    ) -> None:
        old = tea_scene(store)
        before = truth(store)
        run = run_id()
        write(store, lambda tx: verb(tx, old), run=run, when=at(1))
        undo(store, undo(store, run, when=at(2)), when=at(3))
        undo(store, run, when=at(4))
        assert truth(store) == before

    @pytest.mark.parametrize("verb", [name for name in VERBS if name != "add and remove"])
    def test_a_run_is_undone_once(self, store: Store, verb: str) -> None:
        old = tea_scene(store)
        run = run_id()
        write(store, lambda tx: VERBS[verb](tx, old), run=run, when=at(1))
        undo(store, run)
        state = truth(store)
        with pytest.raises(Conflict):
            undo(store, run)
        assert truth(store) == state

    def test_an_unknown_run_is_not_found(self, store: Store) -> None:
        put(store, fact("tea"))
        with pytest.raises(NotFound):
            undo(store, "run_nobody")

    def test_undo_returns_what_it_took_back_newest_first_and_is_journalled(
        self, store: Store
    ) -> None:
        put(store, fact("one"), fact("two"), run="run_add")
        added = store.events([ANN])
        assert write(store, lambda tx: tx.undo([ANN], "run_add"), run="run_undo") == added
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
        write(store, lambda tx: _linked(tx, one), run="run_link")
        with pytest.raises(Conflict):
            undo(store, "run_add")
        undo(store, "run_link")
        undo(store, "run_add")
        assert listed(store) == []

    def test_a_session_cannot_be_undone_while_it_has_later_turns(self, store: Store) -> None:
        old = tea_scene(store)
        write(store, lambda tx: _capture(tx, old), run="run_first")
        put(store, turn("later", "fresh", 3), run="run_later")
        with pytest.raises(Conflict):
            undo(store, "run_first")
        undo(store, "run_later")
        undo(store, "run_first")
        assert [session.id for session in store.sessions.list([ANN])] == ["s"]

    def test_an_entity_stays_while_memories_of_other_runs_mention_it(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        write(store, lambda tx: mention_all(tx, "Zoe", [one]), run="run_first")
        write(
            store,
            lambda tx: tx.entities.mention(ANN, entity="entity_Zoe", memory=two.id),
            run="run_later",
        )
        undo(store, "run_first")
        assert [row["memory"] for row in store.rows("mention", ANN)] == [two.id]
        assert [row["name"] for row in store.rows("entity", ANN)] == ["Zoe"]
        assert [row["name"] for row in store.rows("entity_name", ANN)] == ["Zoe"]

    def test_an_entity_that_nobody_else_mentions_goes_with_its_run(self, store: Store) -> None:
        one = put(store, fact("one"))[0]
        write(store, lambda tx: mention_all(tx, "Zoe", [one]), run="run_first")
        undo(store, "run_first")
        assert list(store.rows("entity", ANN)) == []
        assert list(store.rows("entity_name", ANN)) == []

    @pytest.mark.parametrize("verb", ["link", "mention"])
    def test_what_points_to_a_purged_memory_cannot_come_back(self, store: Store, verb: str) -> None:
        one, two = put(store, fact("one"), fact("two"))
        write(store, lambda tx: mention_all(tx, "Zoe", []))
        steps: dict[str, Callable[[Transaction], None]] = {
            "link": lambda tx: tx.link(link(one, two)),
            "mention": lambda tx: tx.entities.mention(ANN, entity="entity_Zoe", memory=two.id),
        }
        write(store, steps[verb], run="run_point")
        back = undo(store, "run_point")
        purge(store, two)
        with pytest.raises((Conflict, Refused)):
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
        store.touch(ALL, {one.seq: 5}, at(3))
        set_status(store, store.get([ANN], [one.id])[0], "archived", run="run_archive")
        undo(store, "run_archive")
        assert store.get([ANN], [one.id])[0].access_count == 5

    def test_uses_do_not_stand_in_the_way_of_an_undo(self, store: Store) -> None:
        one = put_one(store, fact("tea"), run="run_add")
        undo(store, undo(store, "run_add"))
        store.touch(ALL, {one.seq: 5}, at(3))
        undo(store, "run_add")
        assert listed(store) == []
