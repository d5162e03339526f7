"""What is set for a scope."""

from __future__ import annotations

import pytest

from ..errors import Conflict
from ..storage.protocol import Store, Transaction
from .scene import ANN, BOB, Again, run_id, truth, undo, write


class ProfilesContract:
    """Profiles: one JSON object for each scope."""

    def test_nothing_is_set_at_first_and_what_is_put_is_all_there_is(self, store: Store) -> None:
        assert store.profiles.get(ANN) == {}
        write(
            store,
            lambda tx: tx.profiles.put(ANN, {"proactive_recall": True, "tone": "warm"}),
        )
        write(store, lambda tx: tx.profiles.put(ANN, {"proactive_recall": False}))
        assert store.profiles.get(ANN) == {"proactive_recall": False}
        assert store.profiles.get(BOB) == {}

    def test_a_transaction_sees_what_it_put(self, store: Store) -> None:
        def work(tx: Transaction) -> list[object]:
            before = tx.profiles.get(ANN)
            tx.profiles.put(ANN, {"tone": "warm"})
            return [before, tx.profiles.get(ANN)]

        assert write(store, work) == [{}, {"tone": "warm"}]

    def test_two_writers_that_each_set_one_thing_both_have_their_way(
        self, store: Store, again: Again
    ) -> None:
        other = again()
        write(store, lambda tx: tx.profiles.put(ANN, {**tx.profiles.get(ANN), "tone": "warm"}))
        write(
            other,
            lambda tx: tx.profiles.put(ANN, {**tx.profiles.get(ANN), "proactive_recall": True}),
        )
        assert store.profiles.get(ANN) == {"tone": "warm", "proactive_recall": True}

    def test_undo_takes_back_the_first_setting_and_a_later_one(self, store: Store) -> None:
        nothing = truth(store)
        first = run_id()
        second = run_id()
        write(store, lambda tx: tx.profiles.put(ANN, {"tone": "warm"}), run=first)
        warm = truth(store)
        write(store, lambda tx: tx.profiles.put(ANN, {"tone": "brisk"}), run=second)
        undo(store, second)
        assert truth(store) == warm
        undo(store, first)
        assert truth(store) == nothing

    def test_an_import_brings_a_profile_once_and_never_over_another(self, store: Store) -> None:
        row = {"scope": str(ANN), "settings": {"tone": "warm"}}
        assert write(store, lambda tx: tx.restore_row("profile", row, journal=True))
        assert not write(store, lambda tx: tx.restore_row("profile", row, journal=True))
        with pytest.raises(Conflict):
            write(
                store,
                lambda tx: tx.restore_row(
                    "profile", {**row, "settings": {"tone": "brisk"}}, journal=True
                ),
            )
        assert store.profiles.get(ANN) == {"tone": "warm"}
