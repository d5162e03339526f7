"""What is erased is gone from every table and from the journal, and says nothing any more."""

from __future__ import annotations

import pytest

from ..errors import NotFound, Refused
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Filter
from ..types import Edge, Entity, Session
from .scene import (
    ALL,
    ANN,
    BOB,
    MODEL,
    NOUNS,
    START,
    change,
    fact,
    found,
    link,
    listed,
    purge,
    put,
    put_one,
    turn,
    undo,
    unit,
    write,
)

ZOE = Entity("ent_zoe", ANN, "Zoe", "person", START, ("Zo",))


def told(store: Store) -> str:
    """Everything that Ann's tables and journal say."""
    rows = [list(store.rows(noun, ANN)) for noun in NOUNS]
    return f"{rows} {store.events([ANN])} {store.jobs.list([ANN])}".lower()


def met(
    store: Store,
    *names: str,
    entity: Entity = ZOE,
) -> None:
    """Stores a memory for each of these texts, all of which mention the entity."""
    stored = put(store, *(fact(name) for name in names))

    def work(tx: Transaction) -> None:
        tx.entities.put(entity)
        for one in stored:
            tx.entities.mention(ANN, entity=entity.id, memory=one.id)

    write(store, work)


class ErasingContract:
    """Purged memories, sessions, names and scopes; what is quoted elsewhere; what a transaction
    says it erased.
    """

    def test_the_reason_of_a_link_goes_with_its_memory(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        because = Edge(ANN, two.id, one.id, "supersedes", START, "because of zanzibar")
        write(store, lambda tx: tx.link(because), run="run_link")
        undo(store, undo(store, "run_link"))
        purge(store, two)
        assert "zanzibar" not in told(store)

    def test_a_removed_memory_is_known_to_the_journal_until_it_is_purged(
        self, store: Store
    ) -> None:
        one = put_one(store, fact("zanzibar", title="zanzibar"))
        assert write(store, lambda tx: tx.erasure.removed(ANN, one.id)) is None
        write(store, lambda tx: tx.remove(one), run="run_remove")
        kept = write(store, lambda tx: tx.erasure.removed(ANN, one.id))
        assert kept is not None and (kept.id, kept.content, kept.title) == (
            one.id,
            "zanzibar",
            "zanzibar",
        )
        purge(store, kept)
        assert write(store, lambda tx: tx.erasure.removed(ANN, one.id)) is None
        assert "zanzibar" not in told(store)
        with pytest.raises(Refused):
            undo(store, "run_remove")
        with pytest.raises(NotFound):
            purge(store, kept)

    def test_the_id_of_a_purged_session_leaves_the_journal_and_its_jobs_go(
        self, store: Store
    ) -> None:
        write(
            store,
            lambda tx: tx.sessions.put(Session("zanzibar", ANN, START, START)),
            run="run_begin",
        )
        store.jobs.enqueue(ANN, "learn", "zanzibar", watermark=1)
        write(store, lambda tx: tx.erasure.session(ANN, "zanzibar"))
        assert "zanzibar" not in told(store)
        assert store.jobs.list([ANN]) == []
        with pytest.raises(Refused):
            undo(store, "run_begin")

    def test_names_that_an_entity_no_longer_has_go_with_a_memory_that_mentions_it(
        self, store: Store
    ) -> None:
        met(store, "met Zoe")
        write(store, lambda tx: tx.entities.put(Entity(ZOE.id, ANN, "Mia", "person", START)))
        met(store, "met Mia", entity=Entity(ZOE.id, ANN, "Mia", "person", START))
        (first,) = store.list(Filter((ANN,)), limit=1, order="oldest")
        purge(store, first)
        assert "'zo'" not in told(store) and "zoe" not in told(store).replace(ZOE.id, "")
        assert [entity.name for entity in store.entities.list([ANN])] == ["Mia"]

    def test_one_name_of_an_entity_can_be_erased(self, store: Store) -> None:
        met(store, "met Zo")
        write(store, lambda tx: tx.erasure.entity(ZOE, ["zoe"]))
        assert [(entity.name, entity.aliases) for entity in store.entities.list([ANN])] == [
            ("Zo", ())
        ]
        assert "zoe" not in told(store).replace(ZOE.id, "")
        write(store, lambda tx: tx.erasure.entity(ZOE, ["zo"]))
        assert store.entities.list([ANN]) == []

    def test_whom_a_memory_mentions_or_mentioned(self, store: Store) -> None:
        met(store, "met Zoe")
        (one,) = store.list(Filter((ANN,)))
        write(store, lambda tx: tx.entities.unmention(ANN, entity=ZOE.id, memory=one.id))
        assert [
            entity.id for entity in write(store, lambda tx: tx.erasure.entities_of(ANN, one.id))
        ] == [ZOE.id]

    def test_the_memories_of_a_session_and_those_that_name_it(self, store: Store) -> None:
        said = turn("said", "s_1", 0)
        learned = fact("learned", metadata={"session": "s_1"})
        put(
            store,
            said,
            fact("other", metadata={"session": "sx1"}),
            learned,
            turn("elsewhere", "sx1", 0),
        )
        members = write(store, lambda tx: tx.sessions.memories(ANN, "s_1", named=True))
        assert [one.content for one in members] == ["said", "learned"]
        assert write(store, lambda tx: tx.sessions.memories(BOB, "s_1", named=True)) == []

    def test_quotations_are_replaced_wherever_they_are(self, store: Store) -> None:
        one, two = put(store, fact("one", metadata={"said": 'the "big" fish'}), fact("two"))
        write(
            store,
            lambda tx: tx.sessions.put(
                Session("s", ANN, START, START, metadata={"on": "big fish"})
            ),
        )
        write(
            store,
            lambda tx: tx.sessions.add_messages(
                ANN, "s", [{"text": "a big fish", "deep": ['{"a": "big fish"}']}]
            ),
        )
        write(
            store,
            lambda tx: tx.link(Edge(ANN, one.id, two.id, "conflicts_with", START, "big fish")),
        )
        change(store, two, title="kept", status_reason="a big fish", metadata={"why": "big fish"})
        change(store, two, status_reason="")
        instead = {"big fish": "(x)", r"the \"big\" fish": "(y)"}
        # Both changes of one memory among them.
        assert write(store, lambda tx: tx.erasure.redact(ANN, instead)) == 7
        assert "fish" not in told(store)
        assert store.get([ANN], [one.id])[0].metadata == {"said": "(y)"}

    def test_redacting_nothing_changes_nothing(self, store: Store) -> None:
        put(store, fact("one", metadata={"a": "b"}))
        before = told(store)
        assert write(
            store, lambda tx: (tx.erasure.redact(ANN, {}), tx.erasure.redact(ANN, {"absent": "x"}))
        ) == (
            0,
            0,
        )
        assert told(store) == before

    def test_everything_that_a_scope_says(self, store: Store) -> None:
        one = put_one(store, fact("one"))
        met(store, "two")
        write(store, lambda tx: tx.sessions.put(Session("s", ANN, START, START)))
        write(store, lambda tx: tx.sessions.add_messages(ANN, "s", [{"a": 1}]))
        said = write(store, lambda tx: list(tx.erasure.contents(ANN)))
        assert said[0] == ("memory", one.id, "one") and ("entity", ZOE.id, "Zoe") in said
        assert {("session", "", "s"), ("message", "", '{"a":1}')} <= set(said)
        assert write(store, lambda tx: list(tx.erasure.contents(BOB))) == []

    def test_a_purged_scope_is_empty_and_the_others_are_as_they_were(self, store: Store) -> None:
        met(store, "met Zoe", "and again")
        one, other = put(store, fact("of ann"), fact("of bob", scope=BOB))
        store.vectors.add(ALL, MODEL, {one.seq: unit(1), other.seq: unit(2)})
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        before = [list(store.rows(noun, BOB)) for noun in NOUNS]
        said: list[int] = []

        def work(tx: Transaction) -> tuple[dict[str, int], dict[str, int]]:
            sizes = tx.erasure.sizes(ANN)
            tx.erasure.scope(ANN, progress=said.append)
            return sizes, dict(tx.erasure.erased)

        sizes, erased = write(store, work, run="run_purge", verb="purge")
        assert sizes == erased and (sizes["memories"], sizes["vectors"], sizes["jobs"]) == (3, 1, 1)
        assert said == sorted(said) and said[-1] == sum(sizes.values())
        assert [noun for noun in NOUNS if list(store.rows(noun, ANN))] == []
        assert [(event.run, event.before) for event in store.events([ANN])] == [
            ("run_purge", {"purged": True})
        ]
        assert (
            listed(store),
            found(store, "ann zoe"),
            store.corpus([ANN], ["ann"]).size,
            store.jobs.list([ANN]),
        ) == (
            [],
            [],
            0,
            [],
        )
        assert store.by_vector(Filter((ANN,)), MODEL, unit(1), 5) == []
        assert [list(store.rows(noun, BOB)) for noun in NOUNS] == before
        with pytest.raises(Refused):
            undo(store, "run_purge")
        put(store, fact("anew"))
        assert listed(store) == ["anew"]

    def test_a_purge_says_what_it_erased(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        write(store, lambda tx: tx.link(link(one, two)))
        store.vectors.add([ANN], MODEL, {one.seq: unit(1)})

        def work(tx: Transaction) -> dict[str, int]:
            tx.erasure.memory(one)
            return dict(tx.erasure.erased)

        assert write(store, work) == {"memories": 1, "links": 1, "vectors": 1, "journal": 2}

    def test_a_job_is_there_with_the_changes_of_its_transaction_or_not_at_all(
        self, store: Store
    ) -> None:
        def half(tx: Transaction) -> None:
            tx.jobs.enqueue(ANN, "scrub", "files", watermark=1)
            raise NotFound("on the way")

        with pytest.raises(NotFound):
            write(store, half)
        assert store.jobs.list([ANN]) == []
        write(store, lambda tx: tx.jobs.enqueue(ANN, "scrub", "files", watermark=1))
        assert [(job.kind, job.key, job.status) for job in store.jobs.list([ANN])] == [
            ("scrub", "files", "pending")
        ]

    def test_jobs_are_dropped_as_if_nobody_had_tried_them(self, store: Store) -> None:
        for kind in ("read", "build", "other"):
            store.jobs.enqueue(ANN, kind, "k", watermark=1)
        store.jobs.enqueue(BOB, "read", "k", watermark=1)
        held = store.jobs.claim(["read"], worker="w", now=1, lease=100, scopes=[ANN])
        assert held is not None
        assert write(store, lambda tx: tx.jobs.drop(ANN, ("read", "build", "none"))) == 2
        assert [(job.scope, job.kind) for job in store.jobs.list([ANN, BOB])] == [
            (ANN, "other"),
            (BOB, "read"),
        ]
        assert not store.jobs.heartbeat(held, now=2, lease=100)
        assert write(store, lambda tx: tx.jobs.drop(ANN, ())) == 0

    def test_scrubbing_says_of_each_place_whether_it_is_clean(self, store: Store) -> None:
        purge(store, put_one(store, fact("tea")))
        places = store.scrub(wait=1)
        assert places and all(place.state in ("clean", "beyond") for place in places)
        assert all(place.detail for place in places if place.state == "beyond")
