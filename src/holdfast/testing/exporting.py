"""Rows that leave a store for an export, and come back from one."""

from __future__ import annotations

import pytest

from ..errors import Conflict, InvalidInput
from ..storage.protocol import Store
from ..storage.store_types import Filter
from ..types import Memory, Scope
from .scene import (
    ALL,
    ANN,
    BOB,
    MODEL,
    NOUNS,
    TEAM,
    at,
    correct,
    fact,
    found,
    listed,
    put,
    put_one,
    tea_scene,
    truth,
    undo,
    unit,
    write,
)
from .searching import vectorised


class ExportContract:
    """Rows go out and come back the same."""

    def test_rows_restored_elsewhere_are_the_same_rows(self, store: Store) -> None:
        old = tea_scene(store)
        write(store, lambda tx: correct(tx, old), run="run_correct")
        write(store, lambda tx: tx.remove(tx.add(fact("fleeting"))))
        copy_scope(store, ANN, BOB, journal=False)
        for noun in (*NOUNS, "event"):
            assert list(store.rows(noun, BOB)) == list(store.rows(noun, ANN))
        assert found(store, "coffee", scopes=(BOB,)) == ["coffee after all"]
        assert store.corpus([BOB], ["tea", "coffee"]) == store.corpus([ANN], ["tea", "coffee"])

    def test_a_restored_history_can_be_undone(self, store: Store) -> None:
        old = tea_scene(store)
        before = truth(store)
        write(store, lambda tx: correct(tx, old), run="run_correct")
        copy_scope(store, ANN, BOB, journal=False)
        undo(store, "run_correct", scopes=(BOB,))
        undo(store, "run_correct", scopes=(ANN,))
        assert (
            list(store.rows("memory", BOB))
            == list(store.rows("memory", ANN))
            == before[f"memory {ANN}"]
        )

    def test_a_restored_removal_can_be_undone_beside_the_original(self, store: Store) -> None:
        old = tea_scene(store)
        write(store, lambda tx: tx.remove(old), run="run_remove")
        copy_scope(store, ANN, BOB, journal=False)
        for scope in (BOB, ANN):
            undo(store, "run_remove", scopes=(scope,))
        assert (
            sorted(listed(store, scopes=(BOB,))) == sorted(listed(store)) == ["green tea", "water"]
        )

    def test_restoring_twice_equals_once(self, store: Store) -> None:
        tea_scene(store)
        assert copy_scope(store, ANN, BOB, journal=False) > 0
        state = truth(store, BOB)
        journal = store.events([BOB])
        assert copy_scope(store, ANN, BOB, journal=False) == 0
        assert (truth(store, BOB), store.events([BOB])) == (state, journal)

    def test_rows_without_their_history_are_journalled_as_new(self, store: Store) -> None:
        tea_scene(store)
        copy_scope(store, ANN, BOB, journal=True)
        assert {event.verb for event in store.events([BOB])} == {"import"}
        assert len(store.events([BOB], run="run_import")) == sum(
            len(list(store.rows(noun, BOB))) for noun in NOUNS
        )
        undo(store, "run_import", scopes=(BOB,))
        assert listed(store, scopes=(BOB,)) == []

    def test_another_row_under_the_same_key_is_a_conflict(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        row = {**next(store.rows("memory", ANN)), "scope": str(ANN)}
        with pytest.raises(Conflict):
            write(
                store,
                lambda tx: tx.restore_row("memory", {**row, "content": "coffee"}, journal=True),
            )
        # How often it was read does not make it another memory.
        store.touch(ALL, {one.seq: 1}, at(5))
        assert not write(store, lambda tx: tx.restore_row("memory", row, journal=True))
        assert listed(store) == ["tea"]

    def test_many_rows_at_once_are_as_one_by_one(self, store: Store) -> None:
        tea_scene(store)
        copy_scope(store, ANN, BOB, journal=False)
        for noun in (*NOUNS, "event"):
            rows = list(store.rows(noun, ANN))
            write(store, lambda tx, noun=noun, rows=rows: tx.restore_many(noun, TEAM, rows))  # type: ignore[misc]
        for noun in (*NOUNS, "event"):
            assert list(store.rows(noun, TEAM)) == list(store.rows(noun, BOB))
        assert truth(store, TEAM)["totals"] == truth(store, BOB)["totals"]

    def test_rows_carry_no_numbers_of_this_store(self, store: Store) -> None:
        put(store, fact("tea"))
        copy_scope(store, ANN, BOB, journal=False)
        assert all("seq" not in row and "number" not in row for row in store.rows("memory", BOB))

    def restore(
        self,
        store: Store,
        one: Memory,
        seq: int | None,
    ) -> Memory:
        """Restores a memory of Ann's elsewhere under a number of our choice, and returns it as it
        is there.
        """
        row = next(row for row in store.rows("memory", ANN) if row["id"] == one.id) | {
            "scope": str(BOB)
        }
        assert write(store, lambda tx: tx.restore_row("memory", row, journal=True, seq=seq))
        return store.get([BOB], [one.id])[0]

    def keeps_numbers(self, store: Store) -> bool:
        """Whether a restored memory keeps its number here; where it does not, it gets a new one."""
        seq = self.restore(store, put_one(store, fact("which number?")), 1000).seq
        return seq == 1000

    def test_a_restored_memory_keeps_its_number_or_gets_a_new_one(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        far = self.restore(store, one, 500).seq
        low = self.restore(store, two, 40).seq
        new = self.restore(store, put_one(store, fact("three")), None).seq
        assert len({one.seq, two.seq, far, low, new}) == 5
        if self.keeps_numbers(store):
            assert (far, low, new > 500) == (500, 40, True)
        later = put_one(store, fact("later")).seq
        assert later > max(far, low, new)
        assert found(store, "one", scopes=(BOB,)) == ["one"]

    def test_a_number_that_is_taken_is_a_conflict_where_numbers_are_kept(
        self, store: Store
    ) -> None:
        one = put_one(store, fact("one"))
        if not self.keeps_numbers(store):
            pytest.skip("numbers are given by the store")
        with pytest.raises(Conflict, match=f"number {one.seq} is taken"):
            self.restore(store, one, one.seq)
        for impossible in (0, -1, 2**53, 2**63):
            with pytest.raises(InvalidInput, match="number"):
                self.restore(store, one, impossible)
        assert store.get([BOB], [one.id]) == []

    def test_a_memory_that_is_there_keeps_the_number_it_has(self, store: Store) -> None:
        one = put_one(store, fact("one"))
        row = {**next(store.rows("memory", ANN)), "scope": str(ANN)}
        assert not write(store, lambda tx: tx.restore_row("memory", row, journal=True, seq=77))
        assert store.get([ANN], [one.id])[0].seq == one.seq

    def test_a_removed_memory_comes_back_beside_one_that_got_its_number(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        write(store, lambda tx: tx.remove(one), run="run_remove")
        self.restore(store, two, one.seq)
        undo(store, "run_remove")
        assert sorted(listed(store, scopes=(ANN, BOB))) == ["one", "two", "two"]
        assert store.list(Filter((ANN, BOB))) == store.get(
            [ANN, BOB], [m.seq for m in store.list(Filter((ANN, BOB)))]
        )

    def test_a_restored_number_below_the_mark_is_embedded_too(self, store: Store) -> None:
        theirs = put(store, *(fact(f"theirs {n}", scope=BOB) for n in range(3)))
        gone = theirs[0]
        kept = theirs[1:]
        store.vectors.add(ALL, MODEL, {one.seq: unit(one.seq) for one in theirs})
        write(store, lambda tx: tx.remove(gone))
        restored = self.restore(store, put_one(store, fact("mine")), gone.seq)
        assert (store.vectors.models([BOB]), store.vectors.missing(MODEL, 9, [BOB])) == (
            {MODEL: False},
            [restored],
        )
        store.vectors.add(ALL, MODEL, {restored.seq: unit(99)})
        assert (store.vectors.models([BOB]), store.vectors.behind(MODEL, [BOB])) == (
            {MODEL: True},
            {},
        )
        ranked = store.by_vector(Filter((BOB,)), MODEL, unit(99), 3)
        assert (ranked[0][0], len(ranked)) == (restored.seq, 1 + len(kept))

    def test_vectors_go_out_with_their_memory(self, store: Store) -> None:
        vectorised(store, 2)
        rows = list(store.rows("vector", ANN))
        assert [row["model"] for row in rows] == [MODEL, MODEL]
        assert {row["memory"] for row in rows} == {one.id for one in store.list(Filter((ANN,)))}


def copy_scope(
    store: Store,
    source: Scope,
    target: Scope,
    *,
    journal: bool,
) -> int:
    """Restores every row of one scope in another and says how many were new."""
    nouns = NOUNS if journal else (*NOUNS, "event")
    rows = [
        (noun, {**row, "scope": str(target)}) for noun in nouns for row in store.rows(noun, source)
    ]
    return write(
        store,
        lambda tx: sum(tx.restore_row(noun, row, journal=journal) for noun, row in rows),
        run="run_import",
        verb="import",
    )
