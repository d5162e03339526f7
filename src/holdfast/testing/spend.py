"""What language models were asked: booked by owner and day, never beyond what may be, and gone with
its owner.
"""

from __future__ import annotations

from ..storage.protocol import Store
from ..storage.store_types import Spent
from .scene import ANN, BOB, Again, truth, write

MONDAY = 20_500
TUESDAY = 20_501


class SpendContract:
    """Accounts: how much, for whom, on which day."""

    def test_what_is_booked_adds_up_by_owner_and_day(self, store: Store) -> None:
        assert store.spend.total([ANN], MONDAY) == Spent()
        assert store.spend.add(ANN, MONDAY, Spent(1, 100))
        assert store.spend.add(ANN, MONDAY, Spent(0, 30))
        store.spend.add(ANN, TUESDAY, Spent(1, 5))
        store.spend.add(BOB, MONDAY, Spent(1, 7))
        assert store.spend.total([ANN], MONDAY) == Spent(1, 130)
        assert store.spend.total([ANN], TUESDAY) == Spent(1, 5)
        assert store.spend.total([ANN, BOB], MONDAY) == Spent(2, 137)

    def test_what_everybody_used_is_told_by_day(self, store: Store) -> None:
        store.spend.add(ANN, MONDAY, Spent(1, 100))
        store.spend.add(BOB, MONDAY, Spent(1, 7))
        store.spend.add(ANN, TUESDAY, Spent(2, 5))
        told = sorted((str(one.scope), one.day, one.spent) for one in store.spend.since(TUESDAY))
        assert told == [(str(ANN), TUESDAY, Spent(2, 5))]
        assert {one.day for one in store.spend.since(MONDAY)} == {MONDAY, TUESDAY}
        assert len(store.spend.since(MONDAY)) == 3

    def test_nothing_is_booked_beyond_what_may_be(self, store: Store) -> None:
        assert not store.spend.add(ANN, MONDAY, Spent(1, 101), most=100)
        assert store.spend.add(ANN, MONDAY, Spent(1, 60), most=100)
        assert not store.spend.add(ANN, MONDAY, Spent(1, 41), most=100)
        assert store.spend.add(ANN, MONDAY, Spent(1, 40), most=100)
        assert store.spend.add(BOB, MONDAY, Spent(1, 100), most=100), (
            "one owner's account is not another's"
        )
        assert store.spend.total([ANN], MONDAY) == Spent(2, 100)

    def test_others_who_book_are_counted(self, store: Store, again: Again) -> None:
        other = again()
        assert store.spend.add(ANN, MONDAY, Spent(1, 60), most=100)
        assert not other.spend.add(ANN, MONDAY, Spent(1, 60), most=100)
        assert other.spend.total([ANN], MONDAY) == Spent(1, 60)

    def test_accounts_are_no_part_of_the_truth_and_go_with_their_owner(self, store: Store) -> None:
        before = truth(store)
        store.spend.add(ANN, MONDAY, Spent(1, 60))
        store.spend.add(BOB, MONDAY, Spent(1, 1))
        assert truth(store) == before
        write(store, lambda tx: tx.erasure.scope(ANN))
        assert store.spend.total([ANN], MONDAY) == Spent()
        assert store.spend.total([BOB], MONDAY) == Spent(1, 1)
