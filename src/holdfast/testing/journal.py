"""Edges, sessions, entities, transactions and the journal."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import methodcaller

import pytest

from ..errors import Conflict, HoldfastError, NotFound, Refused
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Filter
from ..types import Entity, Event, Memory, Scope, Session
from .scene import (
    ANN,
    BOB,
    NOUNS,
    START,
    Again,
    at,
    change,
    fact,
    found,
    link,
    listed,
    mention_all,
    purge,
    put,
    put_one,
    run_id,
    set_status,
    together,
    truth,
    turn,
    undo,
    write,
)


def begin(store: Store, session: Session) -> None:
    """Puts a session, in a transaction of its own."""
    write(store, lambda tx: tx.sessions.put(session))


def mention(
    tx: Transaction,
    *,
    entity: str,
    memory: str,
) -> None:
    """Notes a mention in Ann's scope."""
    tx.entities.mention(ANN, entity=entity, memory=memory)


class GraphContract:
    """Sessions, edges, entities."""

    def test_positions_count_from_zero_in_each_session(self, store: Store) -> None:
        def work(tx: Transaction) -> list[int]:
            seen = [tx.sessions.next_position(ANN, "s")]
            tx.add(turn("a", "s", 0))
            tx.add(turn("b", "s", 1))
            elsewhere = [tx.sessions.next_position(ANN, "t"), tx.sessions.next_position(BOB, "s")]
            return [*seen, tx.sessions.next_position(ANN, "s"), *elsewhere]

        assert write(store, work) == [0, 2, 0, 0]

    def test_what_stands_under_a_session_is_seen_by_position_in_any_status(
        self, store: Store
    ) -> None:
        put(
            store,
            turn("late", "s", 7),
            turn("early", "s", 2, status="archived"),
            fact("piece", session="s", position=4),
        )
        put(
            store,
            turn("elsewhere", "t", 0),
            turn("bob's", "s", 0, scope=BOB),
            fact("named", metadata={"session": "s"}),
        )

        def work(tx: Transaction) -> list[str]:
            tx.add(turn("now", "s", 9))
            return [one.content for one in tx.sessions.memories(ANN, "s")]

        assert write(store, work) == ["early", "piece", "late", "now"]

    def test_an_open_session_goes_on_behind_its_last_turn(self, store: Store) -> None:
        write(store, lambda tx: tx.sessions.put(Session("s", ANN, START, START)))
        write(store, lambda tx: tx.add(turn("a", "s", 6)))
        before = store.events([ANN])
        assert write(
            store, lambda tx: (tx.sessions.go_on(ANN, "s", at=at(5)), tx.sessions.get(ANN, "s"))
        ) == (
            7,
            Session("s", ANN, START, at(5)),
        )
        assert write(store, lambda tx: tx.sessions.go_on(ANN, "s", at=at(3))) == 7
        assert store.sessions.list([ANN]) == [Session("s", ANN, START, at(5))]
        # That somebody speaks is seen, not changed.
        assert store.events([ANN]) == before

    def test_only_an_open_session_goes_on(self, store: Store) -> None:
        ended = Session("ended", ANN, START, START, ended_at=START)
        together(
            store,
            lambda tx: tx.sessions.put(ended),
            lambda tx: tx.sessions.put(Session("begun", ANN, START, START)),
        )
        asked = [(ANN, "ended"), (ANN, "begun"), (ANN, "unheard"), (BOB, "begun")]
        went_on = write(
            store, lambda tx: [tx.sessions.go_on(*session, at=at(5)) for session in asked]
        )
        assert went_on == [None, 0, None, None]
        assert store.sessions.get(ANN, "ended") == ended

    def test_places_in_many_sessions_are_read_at_once(self, store: Store) -> None:
        ended = Session("ended", ANN, START, START, ended_at=START, metadata={"cwd": "/tmp"})
        begun = Session("begun", ANN, START, START)
        together(
            store,
            lambda tx: tx.sessions.put(ended),
            lambda tx: tx.sessions.put(begun),
            lambda tx: tx.sessions.put(Session("begun", BOB, START, at(1))),
        )
        put(store, turn("a", "ended", 0), turn("b", "ended", 4), turn("no session", "left", 2))
        asked = ["ended", "begun", "left", "unheard"]
        assert write(store, lambda tx: tx.sessions.places(ANN, asked)) == {
            "ended": (ended, 5),
            "begun": (begun, 0),
            "left": (None, 3),
            "unheard": (None, 0),
        }
        assert write(store, lambda tx: tx.sessions.places(ANN, [])) == {}

    def test_sessions_that_begin_together_are_undone_together(self, store: Store) -> None:
        begin(store, Session("before", ANN, START, START))
        was = truth(store)
        ended = Session("one", ANN, START, at(1), ended_at=at(2), end_reason="idle")
        other = Session("two", ANN, START, at(1), agent="claude", metadata={"cwd": "/tmp"})

        def work(tx: Transaction) -> list[Session | None]:
            tx.sessions.begin_many(ANN, [ended, other])
            tx.sessions.begin_many(ANN, [])
            return [tx.sessions.get(ANN, id_) for id_ in ("one", "two")]

        assert write(store, work, run="run_many") == [ended, other]
        assert store.sessions.get(ANN, "one") == ended
        assert [event.noun for event in store.events([ANN], run="run_many")] == ["session"] * 2
        undo(store, "run_many")
        assert truth(store) == was

    def test_a_session_is_added_and_then_made_equal(self, store: Store) -> None:
        session = Session("s", ANN, START, START, agent="claude", metadata={"cwd": "/tmp"})
        write(store, lambda tx: tx.sessions.put(session))
        ended = replace(session, last_activity=at(5), ended_at=at(5), end_reason="idle")
        write(store, lambda tx: tx.sessions.put(ended))
        assert store.sessions.list([ANN]) == [ended]
        assert write(store, lambda tx: tx.sessions.get(ANN, "s")) == ended
        assert write(store, lambda tx: tx.sessions.get(BOB, "s")) is None

    def test_sessions_come_most_recently_active_first(self, store: Store) -> None:
        sessions = [
            Session(name, ANN, START, at(activity))
            for name, activity in (("a", 1), ("b", 3), ("c", 2))
        ]
        sessions.append(Session("d", ANN, START, at(9), ended_at=at(9)))
        for session in sessions:
            begin(store, session)
        assert [session.id for session in store.sessions.list([ANN])] == ["d", "b", "c", "a"]
        assert [session.id for session in store.sessions.list([ANN], open_only=True)] == [
            "b",
            "c",
            "a",
        ]

    def test_adding_an_edge_twice_equals_once(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        edge = link(one, two)
        together(store, lambda tx: tx.link(edge), lambda tx: tx.link(edge))
        write(store, lambda tx: tx.link(replace(edge, created_at=at(9), reason="again")))
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
        write(store, lambda tx: mention_all(tx, "Ann", []))
        for entity, target in (("entity_Ann", "fact_nobody"), ("entity_Nobody", one.id)):
            with pytest.raises(NotFound):
                write(store, partial(mention, entity=entity, memory=target))
        assert list(store.rows("mention", ANN)) == []

    def test_edges_come_oldest_first(self, store: Store) -> None:
        one, two, three = put(store, fact("one"), fact("two"), fact("three"))
        edges = [
            link(one, two, created=at(5)),
            link(three, one, "supersedes", at(1)),
            link(two, three, created=at(3)),
        ]
        together(store, *(methodcaller("link", edge) for edge in edges))
        assert store.edges(ANN, one.id) == [edges[1], edges[0]]

    def test_sources_are_what_memories_were_derived_from(self, store: Store) -> None:
        one, two, three, theirs = put(
            store, fact("one"), fact("two"), fact("three"), fact("theirs", scope=BOB)
        )
        edges = [
            link(one, two, "derived_from"),
            link(one, three, "derived_from"),
            link(two, three, "supersedes"),
        ]
        together(store, *(methodcaller("link", edge) for edge in edges))
        every = [memory.id for memory in (one, two, three, theirs)]
        assert store.sources([ANN, BOB], every) == {one.id: {two.id, three.id}}
        assert store.sources([ANN], [two.id]) == store.sources([BOB], every) == {}
        assert store.sources([ANN], []) == {}

    def test_entities_are_found_by_every_folded_name(self, store: Store) -> None:
        one = put_one(store, fact("met her"))
        write(
            store,
            lambda tx: mention_all(tx, "Joanna Smith", [one], "Ｊｏ", "Штефан  Straße"),
        )
        where = Filter((ANN,))
        for name in ("joanna smith", "jo", "штефан strasse"):
            assert store.by_entity(where, [name], 10) == [(one.seq, 1.0)]

    def test_ann_is_not_joanna(self, store: Store) -> None:
        anns, joannas = put(store, fact("met Ann"), fact("met Joanna"))
        write(store, lambda tx: mention_all(tx, "Ann", [anns]))
        write(store, lambda tx: mention_all(tx, "Joanna", [joannas]))
        where = Filter((ANN,))
        assert store.by_entity(where, ["ann"], 10) == [(anns.seq, 1.0)]
        assert store.by_entity(where, ["joanna"], 10) == [(joannas.seq, 1.0)]
        assert store.by_entity(where, ["anna"], 10) == store.by_entity(where, [], 10) == []

    def test_more_of_the_names_rank_first_and_equals_newest_first(self, store: Store) -> None:
        both, older, newer = put(store, fact("both"), fact("older"), fact("newer"))
        write(store, lambda tx: mention_all(tx, "Ann", [both, older]))
        write(store, lambda tx: mention_all(tx, "Bob", [both, newer]))
        expected = [(both.seq, 1.0), (newer.seq, 0.5), (older.seq, 0.5)]
        assert store.by_entity(Filter((ANN,)), ["ann", "bob"], 10) == expected
        assert store.by_entity(Filter((ANN,)), ["ann", "bob"], 2) == expected[:2]

    def test_noting_a_mention_twice_equals_once(self, store: Store) -> None:
        one = put_one(store, fact("one"))
        for _ in range(2):
            write(store, lambda tx: mention_all(tx, "Ann", [one, one]))
        assert len(list(store.rows("mention", ANN))) == 1
        assert [event.noun for event in store.events([ANN])].count("mention") == 1

    def test_an_entity_is_made_equal_with_its_names(self, store: Store) -> None:
        one = put_one(store, fact("one"))
        write(store, lambda tx: mention_all(tx, "Ann", [one], "Annie"))
        write(
            store,
            lambda tx: tx.entities.put(
                Entity("entity_Ann", ANN, "Anne", "person", START, ("Nan",))
            ),
        )
        where = Filter((ANN,))
        assert [
            bool(store.by_entity(where, [name], 5)) for name in ("ann", "annie", "anne", "nan")
        ] == [0, 0, 1, 1]

    def test_removing_a_memory_takes_its_edges_and_mentions_along(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        together(
            store,
            methodcaller("link", link(one, two)),
            lambda tx: mention_all(tx, "Ann", [one]),
        )
        write(store, lambda tx: tx.remove(one))
        assert store.edges(ANN, two.id) == []
        assert store.by_entity(Filter((ANN,)), ["ann"], 5) == []


class TransactionContract:
    """A write is wholly there, or not at all."""

    def test_an_exception_leaves_nothing_behind(self, store: Store) -> None:
        kept = put_one(store, fact("kept"))
        before = truth(store)
        journal = store.events([ANN])

        def work(tx: Transaction) -> None:
            added = tx.add(fact("kept out"))
            tx.change(kept, status="archived", title="changed")
            tx.link(link(added, kept))
            tx.sessions.put(Session("s", ANN, START, START))
            mention_all(tx, "Joanna", [added])
            tx.add(fact("elsewhere", scope=BOB))
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

    def test_a_transaction_knows_what_it_has_touched_and_how_it_was(self, store: Store) -> None:
        run = run_id()
        kept = put_one(store, fact("kept", source="file"))
        gone = put_one(store, fact("gone", source="file", tags=("a",)), run=run)
        other = put_one(store, fact("other"))
        new = fact("new", source="file", scope=BOB)

        def work(tx: Transaction) -> dict[tuple[Scope, str], Memory | None]:
            tx.change(kept, title="first"), tx.change(kept, title="second")
            tx.change(other, title="third")
            tx.erasure.memory(gone)
            tx.add_many([new])
            return {(scope, id_): before for scope, id_, before in tx.touched("file")}

        touched = write(store, work)
        assert touched == {
            (ANN, kept.id): kept.with_(seq=0),
            (ANN, gone.id): gone.with_(seq=0),
            (BOB, new.id): None,
        }
        assert list(touched) == [(ANN, kept.id), (ANN, gone.id), (BOB, new.id)]

    def test_what_undo_brings_back_and_takes_away_is_touched(self, store: Store) -> None:
        run = run_id()
        gone = put_one(store, fact("gone", source="file"))
        new = fact("new", source="file")
        together(store, lambda tx: tx.remove(gone), lambda tx: tx.add(new), run=run)

        def work(tx: Transaction) -> dict[str, Memory | None]:
            tx.undo([ANN], run)
            return {id_: before for _, id_, before in tx.touched("file")}

        assert write(store, work) == {gone.id: None, new.id: new}

    def test_the_store_goes_on_after_a_failed_write(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            write(store, lambda tx: (tx.add(fact("lost")), 1 // 0))
        put(store, fact("kept"))
        assert listed(store) == ["kept"]

    def test_a_scope_that_a_failed_write_began_belongs_to_nobody(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            write(store, lambda tx: (tx.add(fact("lost")), 1 // 0))
        put(store, fact("tea", scope=BOB))
        put(store, fact("coffee"))
        assert [[one.content for one in store.list(Filter((scope,)))] for scope in (ANN, BOB)] == [
            ["coffee"],
            ["tea"],
        ]

    def test_what_work_returns_is_returned(self, store: Store) -> None:
        assert write(store, lambda tx: 42) == 42

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
        assert (
            sorted(found(store, "tea")) == sorted(found(other, "tea")) == ["black tea", "green tea"]
        )
        assert store.corpus([ANN], ["tea"]) == other.corpus([ANN], ["tea"])


class JournalContract:
    """Who changed what, when, in which run."""

    def test_each_change_has_an_entry_that_says_who_when_and_how(self, store: Store) -> None:
        author = Author("alice", "run_x", at(3), "remember")
        one = store.write(author, lambda tx: tx.add(fact("tea")))
        (event,) = store.events([ANN])
        expected = Event(
            event.seq, "run_x", at(3), "alice", "remember", ANN, "memory", one.id, None, None
        )
        assert event == expected

    def test_before_and_after_hold_only_what_changed(self, store: Store) -> None:
        one = put_one(store, fact("tea", confidence=0.5, title="T"))
        write(store, lambda tx: tx.change(one, confidence=0.75, title="T", category="drinks"))
        event = store.events([ANN])[0]
        assert event.before == {"confidence": 0.5, "category": "general"}
        assert event.after == {"confidence": 0.75, "category": "drinks"}

    def test_a_change_that_changes_nothing_is_not_journalled(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        write(store, lambda tx: tx.change(one, confidence=one.confidence, tags=one.tags))
        assert len(store.events([ANN])) == 1

    def test_a_removed_memory_lives_on_in_the_journal(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        write(store, lambda tx: tx.remove(one))
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

    def test_a_transaction_reads_what_happened_to_a_memory_oldest_first(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"), run="run_a")
        change(store, one, run="run_b", title="T")
        change(store, two, run="run_c", title="T")
        entries = write(store, lambda tx: tx.events([ANN], target=one.id, order="oldest"))
        assert [(event.run, event.target) for event in entries] == [
            ("run_a", one.id),
            ("run_b", one.id),
        ]
        assert write(store, lambda tx: tx.events([BOB], target=one.id)) == []

    def test_what_was_touched_is_told_for_all_sources_together(self, store: Store) -> None:
        old = put_one(store, fact("old", source="file"))

        def work(tx: Transaction) -> set[str]:
            tx.change(old, title="T")
            new = tx.add(fact("new", source="other"))
            touched = {id_ for _, id_, _ in tx.touched()}
            assert touched == {old.id, new.id}
            return touched

        assert len(write(store, work)) == 2

    def test_all_changes_of_a_transaction_share_its_author(self, store: Store) -> None:
        def work(tx: Transaction) -> None:
            one = tx.add(fact("one"))
            two = tx.add(fact("two"))
            tx.change(one, title="T")
            tx.link(link(one, two))
            tx.sessions.put(Session("s", ANN, START, START))
            mention_all(tx, "Ann", [one])

        write(store, work, run="run_x", when=at(4), verb="busy", actor="bee")
        events = store.events([ANN])
        assert {(e.run, e.at, e.verb, e.actor) for e in events} == {("run_x", at(4), "busy", "bee")}
        nouns = [
            "mention",
            "entity_name",
            "entity",
            "session",
            "edge",
            "memory",
            "memory",
            "memory",
        ]
        assert [event.noun for event in events] == nouns

    def test_purge_leaves_no_word_in_the_journal(self, store: Store) -> None:
        one = put_one(
            store, fact("zanzibar", title="zanzibar", tags=("zanzibar",), quote="zanzibar")
        )
        change(store, one, title="other zanzibar")
        set_status(store, one, "archived")
        write(store, lambda tx: tx.remove(one), run="run_remove")
        undo(store, "run_remove")
        purge(store, one)
        store.scrub()
        assert "zanzibar" not in str(store.events([ANN])) + str(
            [list(store.rows(noun, ANN)) for noun in NOUNS]
        )
        assert (
            listed(store),
            found(store, "zanzibar"),
            store.corpus([ANN], ["zanzibar"]).size,
        ) == ([], [], 0)

    def test_what_was_purged_cannot_come_back(self, store: Store) -> None:
        one = put_one(store, fact("tea"), run="run_add")
        set_status(store, one, "archived", run="run_archive")
        purge(store, one, run="run_purge")
        for run in ("run_purge", "run_archive", "run_add"):
            with pytest.raises((Refused, Conflict)):
                undo(store, run)
        assert store.get([ANN], [one.id]) == []
