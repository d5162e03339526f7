"""What one store takes in from another that is kept equal to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..storage import InMemoryStore
from ..storage.merge import Lineage
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Adopted, Met
from ..types import Entity, Session
from .scene import (
    ANN,
    BOB,
    LATER,
    MUCH_LATER,
    change,
    fact,
    link,
    listed,
    purge,
    put_one,
    run_id,
    truth,
    undo,
    write,
)


def lineages(store: Store, *things: tuple[str, str]) -> list[Lineage]:
    """What a store knows of things; of all that its journal speaks of, unless told."""

    def work(tx: Transaction) -> list[Lineage]:
        return tx.replication.lineages(
            ANN, things or [(e.noun, e.target) for e in tx.events([ANN], order="oldest")]
        )

    return write(store, work)


def adopt(
    store: Store,
    source: Store,
    *things: tuple[str, str],
) -> Adopted:
    """Lets a store take in what another one knows."""
    found = lineages(source, *things)
    return write(store, lambda tx: tx.replication.apply(ANN, found), when=MUCH_LATER, verb="sync")


class PeersContract:
    """Lineages, and how far another store was read."""

    @pytest.fixture
    def elsewhere(self) -> Iterator[Store]:
        """Another store, with nothing in it."""
        store = InMemoryStore(clock=lambda: 0)
        yield store
        store.close()

    def test_a_row_comes_with_its_whole_journal_and_nothing_is_said_twice(
        self, store: Store, elsewhere: Store
    ) -> None:
        tea = put_one(elsewhere, fact("green tea"))
        change(elsewhere, tea, category="drinks")
        assert adopt(store, elsewhere).memories == [tea.id]
        (taken,) = store.get([ANN], [tea.id])
        assert taken.category == "drinks"
        told = [
            [(e.run, e.at, e.before, e.after) for e in s.events([ANN])] for s in (store, elsewhere)
        ]
        assert told[0] == told[1]
        assert listed(store) == ["green tea"]
        assert adopt(store, elsewhere).count == {}

    def test_other_scopes_see_nothing_of_it(self, store: Store, elsewhere: Store) -> None:
        put_one(elsewhere, fact("green tea"))
        adopt(store, elsewhere)
        assert listed(store, scopes=(BOB,)) == []

    def test_each_field_is_as_its_latest_change_left_it(
        self, store: Store, elsewhere: Store
    ) -> None:
        tea = put_one(elsewhere, fact("green tea"))
        adopt(store, elsewhere)
        change(store, tea, when=LATER + 1, category="here", title="Here")
        change(elsewhere, tea, when=LATER + 2, category="there")
        adopt(store, elsewhere)
        adopt(elsewhere, store)
        for side in (store, elsewhere):
            (now,) = side.get([ANN], [tea.id])
            assert (now.category, now.title) == ("there", "Here")

    def test_what_was_removed_goes_with_what_points_to_it(
        self, store: Store, elsewhere: Store
    ) -> None:
        run = run_id()
        tea = put_one(elsewhere, fact("green tea"), run=run)
        adopt(store, elsewhere)
        cup = put_one(store, fact("a cup"))
        write(store, lambda tx: tx.link(link(cup, tea)))
        undo(elsewhere, run)
        adopt(store, elsewhere)
        assert listed(store) == ["a cup"]
        assert store.edges(ANN, cup.id) == []

    def test_a_link_to_what_is_gone_here_is_left_out_and_said_to_be(
        self, store: Store, elsewhere: Store
    ) -> None:
        run = run_id()
        tea = put_one(elsewhere, fact("green tea"), run=run)
        cup = put_one(elsewhere, fact("a cup"))
        adopt(store, elsewhere)
        undo(store, run)
        write(elsewhere, lambda tx: tx.link(link(cup, tea)))
        adopt(store, elsewhere)
        adopt(elsewhere, store)
        for side in (store, elsewhere):
            assert side.edges(ANN, cup.id) == []

    def test_what_was_purged_elsewhere_is_purged_and_none_of_its_words_are_taken(
        self, store: Store, elsewhere: Store
    ) -> None:
        tea = put_one(elsewhere, fact("green tea"))
        adopt(store, elsewhere)
        change(store, tea, title="heliotrope")
        purge(elsewhere, tea)
        done = adopt(store, elsewhere)
        assert [memory.content for memory in done.erased] == ["green tea"]
        assert listed(store, statuses=("active", "archived")) == []
        adopt(elsewhere, store)
        for side in (store, elsewhere):
            assert "heliotrope" not in str(list(side.rows("event", ANN)))

    def test_an_entity_that_is_spoken_of_here_stays(self, store: Store, elsewhere: Store) -> None:
        tea = put_one(elsewhere, fact("Bob brought tea"))
        bob = Entity("ent_bob", ANN, "Bob", "person", LATER)
        write(elsewhere, lambda tx: tx.entities.put(bob))
        write(elsewhere, lambda tx: tx.entities.mention(ANN, entity=bob.id, memory=tea.id))
        adopt(store, elsewhere)
        cup = put_one(store, fact("Bob brought a cup"))
        write(store, lambda tx: tx.entities.mention(ANN, entity=bob.id, memory=cup.id))
        purge(elsewhere, tea)
        adopt(store, elsewhere)
        adopt(elsewhere, store)
        for side in (store, elsewhere):
            assert [(one.name, one.mentions) for one in side.entities.list([ANN])] == [("Bob", 1)]

    def test_messages_of_two_records_become_one(self, store: Store, elsewhere: Store) -> None:
        session = Session("talk", ANN, LATER, LATER)
        write(elsewhere, lambda tx: tx.sessions.put(session))
        write(elsewhere, lambda tx: tx.sessions.add_messages(ANN, "talk", [{"n": 1}]), when=LATER)
        adopt(store, elsewhere)
        self._talk(store, elsewhere)
        write(store, lambda tx: tx.sessions.add_messages(ANN, "talk", [{"n": 3}]), when=LATER + 3)
        write(
            elsewhere, lambda tx: tx.sessions.add_messages(ANN, "talk", [{"n": 2}]), when=LATER + 2
        )
        assert self._talk(store, elsewhere)
        assert self._talk(elsewhere, store)
        assert not self._talk(store, elsewhere)
        for side in (store, elsewhere):
            assert [one.body for one in side.sessions.messages(ANN, "talk")] == [
                {"n": 1},
                {"n": 2},
                {"n": 3},
            ]

    @staticmethod
    def _talk(store: Store, source: Store) -> bool:
        theirs = source.sessions.messages(ANN, "talk")
        return write(
            store, lambda tx: tx.replication.take_messages(ANN, "talk", theirs, journal=True)
        )

    def test_how_far_another_journal_was_read_is_kept_by_scope_and_with_what_was_read(
        self, store: Store
    ) -> None:
        met = Met(7, "run_7", LATER)
        assert write(
            store, lambda tx: (tx.replication.position(ANN, "peer"), tx.replication.replica_id(ANN))
        ) == (
            Met(),
            "",
        )

        def work(tx: Transaction) -> None:
            tx.replication.set_position(ANN, "peer", met, own="me")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            write(store, work)
        assert write(store, lambda tx: tx.replication.position(ANN, "peer")) == Met()
        write(store, lambda tx: tx.replication.set_position(ANN, "peer", met, own="me"))
        assert write(
            store, lambda tx: (tx.replication.position(ANN, "peer"), tx.replication.replica_id(ANN))
        ) == (
            met,
            "me",
        )
        assert write(store, lambda tx: tx.replication.position(BOB, "peer")) == Met()

    def test_a_failure_to_sync_is_noted_until_it_is_taken_back(self, store: Store) -> None:
        write(store, lambda tx: tx.replication.note_error(ANN, "elsewhere", "away"))
        assert [(job.key, job.error) for job in store.jobs.list([ANN])] == [("elsewhere", "away")]
        write(store, lambda tx: tx.replication.note_error(ANN, "elsewhere", ""))
        assert store.jobs.list([ANN]) == []

    def test_sessions_by_their_last_activity(self, store: Store) -> None:

        def work(tx: Transaction) -> None:
            for number in range(3):
                tx.sessions.put(Session(f"s{number}", ANN, LATER, LATER + number))

        write(store, work)
        assert [one.id for one in store.sessions.list([ANN], active_since=LATER + 1)] == [
            "s2",
            "s1",
        ]

    def test_taking_in_is_all_or_nothing(self, store: Store, elsewhere: Store) -> None:
        put_one(elsewhere, fact("green tea"))
        before = truth(store)
        found = lineages(elsewhere)
        with pytest.raises(ZeroDivisionError):
            write(store, lambda tx: (tx.replication.apply(ANN, found), 1 / 0))
        assert truth(store) == before
