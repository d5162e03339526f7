"""The life of a store object: opening, tending, repairing, closing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from ..errors import StoreBusy, StoreClosed
from ..storage.protocol import Store
from ..storage.store_types import Filter
from ..types import Scope
from .narrowing import READS, populate
from .scene import (
    ALL,
    ANN,
    BOB,
    MODEL,
    SECOND,
    START,
    Again,
    fact,
    found,
    purge,
    put,
    put_one,
    set_status,
    tea_scene,
    truth,
    unit,
    write,
)


class LifeContract:
    """Opening, repairing, closing."""

    def test_tending_changes_nothing_that_is_kept(self, store: Store) -> None:
        tea_scene(store)
        before = truth(store)
        store.tend()
        assert truth(store) == before

    def test_who_is_in_a_hurry_is_done_at_once_or_told_that_the_store_is_busy(
        self, store: Store, again: Again
    ) -> None:
        one = put_one(store, fact("tea"))
        other = again()

        def note() -> bool:
            with suppress(StoreBusy), other.short_busy_timeout():
                other.touch([ANN], {one.seq: 1}, START)
                return True
            return False

        done = write(store, lambda tx: note())
        assert store.get([ANN], [one.id])[0].access_count == int(done)
        assert note(), "nobody is in the way any more"

    def test_a_new_store_is_empty_and_sound(self, store: Store) -> None:
        assert (
            list(store.check()),
            store.scopes(),
            store.events([ANN]),
            store.vectors.coverage(),
        ) == (
            [],
            [],
            [],
            {},
        )

    def test_a_check_reports_the_rows_that_it_has_read(self, store: Store) -> None:
        def reports() -> list[tuple[int, int]]:
            said: list[tuple[int, int]] = []
            assert list(store.check(progress=lambda done, total: said.append((done, total)))) == []
            return said

        put(store, *(fact(f"tea number {number}") for number in range(100)))
        few = reports()
        put(store, *(fact(f"coffee number {number}") for number in range(900)))
        many = reports()
        for said in (few, many):
            (total,) = {total for _, total in said}
            shares = [done for done, _ in said]
            assert shares == sorted(shares) and (shares[0], shares[-1]) == (0, total)
        assert 5 < many[0][1] / few[0][1] < 15
        # Within a check too, not only at its end.
        assert max(after - done for (done, _), (after, _) in pairwise(many)) < many[0][1] / 4

    def test_repairing_a_sound_store_changes_nothing(self, store: Store) -> None:
        old = tea_scene(store)
        set_status(store, old, "archived")
        put(store, fact("日本 tea"), fact("theirs", scope=BOB))
        state = truth(store, ANN, BOB)
        journal = store.events([ANN, BOB])
        ranked = found(store, "tea water 日本")
        store.repair()
        assert (truth(store, ANN, BOB), store.events([ANN, BOB])) == (state, journal)
        assert found(store, "tea water 日本") == ranked

    def test_scrubbing_changes_nothing_that_is_kept(self, store: Store) -> None:
        old = tea_scene(store)
        purge(store, put_one(store, fact("gone")))
        state = truth(store)
        ranked = found(store, "tea water")
        store.scrub()
        assert (truth(store), found(store, "tea water")) == (state, ranked)
        assert store.get([ANN], [old.seq]) == [old]

    def test_what_was_written_is_there_after_reopening(self, store: Store, again: Again) -> None:
        old = tea_scene(store)
        other = again()
        state = truth(store)
        store.close()
        assert truth(other) == state
        assert other.get([ANN], [old.id]) == [old]

    def test_texts_that_are_added_together_stay_as_they_are(self, store: Store) -> None:
        said = [
            'say "hi"',
            "a\\b",
            '\\"',
            "{a,b}",
            "NULL",
            "null",
            " ",
            "ünï 🎈",
            "a\nb\tc",
            "'; --",
        ]
        memories = [
            fact(text, title=text, quote=text, tags=(text,), metadata={"of": text}) for text in said
        ]
        plain = [fact("plain"), fact("said", kind="turn", session="s", position=0)]
        stored = write(store, lambda tx: tx.add_many([*memories, *plain]))
        assert store.get([ANN], [one.id for one in stored]) == stored
        assert [one.with_(seq=0) for one in stored] == [
            one.with_(seq=0) for one in (*memories, *plain)
        ]
        found = {seq for seq, _ in store.by_text(Filter((ANN,)), ["plain"], 5)}
        assert found == {stored[len(said)].seq}

    def test_closing_twice_equals_once(self, store: Store) -> None:
        store.close()
        store.close()

    @pytest.mark.parametrize("read", READS.values(), ids=list(READS))
    def test_a_closed_store_says_so_to_every_read(
        self, store: Store, read: Callable[[Store, Scope], Any]
    ) -> None:
        populate(store, ANN)
        store.close()
        with pytest.raises(StoreClosed):
            read(store, ANN)

    def test_a_closed_store_says_so_to_every_write(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        job = store.jobs.claim(["tidy"], worker="w", now=START, lease=SECOND)
        assert job is not None
        store.close()
        calls: list[Callable[[], Any]] = [
            lambda: put(store, fact("late")),
            lambda: write(store, lambda tx: tx.sessions.add_messages(ANN, "s", [{}])),
            lambda: store.vectors.add(ALL, MODEL, {one.seq: unit(1)}),
            lambda: store.vectors.drop(MODEL),
            lambda: store.touch(ALL, {one.seq: 1}, START),
            lambda: store.jobs.enqueue(ANN, "tidy", "k", watermark=2),
            lambda: store.jobs.claim(["tidy"], worker="w", now=START, lease=SECOND),
            lambda: store.jobs.heartbeat(job, now=START, lease=SECOND),
            lambda: store.jobs.fail(job, error="", retry_at=START),
            lambda: store.jobs.release(job),
            lambda: store.jobs.list([ANN]),
            lambda: store.vectors.behind(MODEL, [ANN]),
            lambda: list(store.check()),
            store.repair,
            store.scrub,
        ]
        for call in calls:
            with pytest.raises(StoreClosed):
                call()
