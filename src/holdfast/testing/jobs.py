"""Jobs: planned, claimed, finished and failed under leases."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

import pytest

from ..errors import Conflict
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Enqueued, Look
from ..types import Job, Scope
from .scene import (
    ALL,
    ANN,
    BOB,
    MODEL,
    SECOND,
    START,
    TEAM,
    at,
    fact,
    listed,
    purge,
    put,
    together,
    unit,
    write,
)


class JobsContract:
    """Background work under leases."""

    LEASE = 60 * SECOND

    def claim(
        self,
        store: Store,
        worker: str = "w",
        *,
        seconds: float = 0,
        kinds: Sequence[str] = ("tidy",),
    ) -> Job:
        """A job that must be there."""
        job = store.jobs.claim(kinds, worker=worker, now=at(seconds), lease=self.LEASE)
        assert job is not None
        return job

    def none_due(self, store: Store, seconds: float = 0) -> bool:
        """Whether no job can be claimed."""
        return store.jobs.claim(["tidy"], worker="w", now=at(seconds), lease=self.LEASE) is None

    def finish(
        self,
        store: Store,
        job: Job,
        *,
        seconds: float = 1,
        output: str = "output",
    ) -> None:
        """Finishes a job with an output in the same transaction."""
        together(
            store,
            methodcaller("add", fact(output)),
            lambda tx: tx.jobs.finish(job),
            when=at(seconds),
        )

    def test_a_claimed_job_is_nobody_elses(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store, "first")
        assert (job.scope, job.kind, job.key, job.status, job.worker, job.watermark) == (
            ANN,
            "tidy",
            "k",
            "running",
            "first",
            1,
        )
        assert job.lease_until == at(60)
        assert self.none_due(store, 59)

    def test_jobs_are_counted_by_kind_status_and_worker(self, store: Store) -> None:
        for scope, kind in ((ANN, "tidy"), (BOB, "tidy"), (ANN, "other")):
            store.jobs.enqueue(scope, kind, "k", watermark=1)
        self.claim(store, "first")
        counted = {
            (one.kind, one.status, one.worker): (one.number, one.lease_until)
            for one in store.jobs.counts()
        }
        assert counted == {
            ("other", "pending", ""): (1, None),
            ("tidy", "pending", ""): (1, None),
            ("tidy", "running", "first"): (1, at(60)),
        }

    def test_jobs_of_one_status_are_listed_up_to_a_limit(self, store: Store) -> None:
        for key in "abc":
            store.jobs.enqueue(ANN, "tidy", key, watermark=1)
        failed = self.claim(store)
        store.jobs.fail(failed, error="broken", retry_at=at(5))
        assert [job.key for job in store.jobs.list(status="error")] == [failed.key]
        assert len(store.jobs.list([ANN], status="pending")) == 2
        assert len(store.jobs.list(limit=2)) == 2
        assert store.jobs.list([BOB], status="error") == []

    def test_only_the_kinds_asked_for_are_claimed(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "other", "k", watermark=1)
        assert self.none_due(store)
        assert self.claim(store, kinds=("tidy", "other")).kind == "other"

    def test_each_job_is_claimed_once(self, store: Store) -> None:
        for key in "abc":
            store.jobs.enqueue(ANN, "tidy", key, watermark=1)
        assert {self.claim(store).key for _ in range(3)} == set("abc")
        assert self.none_due(store)

    def test_jobs_are_claimed_in_the_order_of_their_watermarks(self, store: Store) -> None:
        for key, watermark in (("s10", 10), ("s2", 2), ("s1", 1)):
            store.jobs.enqueue(ANN, "tidy", key, watermark=watermark)
        assert [self.claim(store).key for _ in range(3)] == ["s1", "s2", "s10"]

    def test_owners_take_turns_however_many_jobs_one_of_them_has(self, store: Store) -> None:
        for scope, keys in ((ANN, "abcd"), (BOB, "a"), (TEAM, "ab")):
            for key in keys:
                store.jobs.enqueue(scope, "tidy", key, watermark=1)
        served: list[Scope | None] = [None]
        while job := store.jobs.claim(
            ["tidy"], worker="w", now=START, lease=self.LEASE, after=served[-1]
        ):
            served.append(job.scope)
        assert served[1:] == [ANN, BOB, TEAM, ANN, TEAM, ANN, ANN]

    def test_another_try_waits_for_its_turn_like_a_new_job(self, store: Store) -> None:
        for scope, key in ((ANN, "a"), (BOB, "failed"), (TEAM, "a")):
            store.jobs.enqueue(scope, "tidy", key, watermark=1)
        held = store.jobs.claim(["tidy"], scopes=[BOB], worker="w", now=START, lease=self.LEASE)
        assert held is not None
        store.jobs.fail(held, error="broken", retry_at=at(5))
        assert store.jobs.waiting("tidy", now=at(4)) == 2
        assert store.jobs.waiting("tidy", now=at(5)) == 3
        assert store.jobs.waiting("tidy", now=at(5), keys=["failed"]) == 1
        first = self.claim(store, seconds=5)
        second = store.jobs.claim(
            ["tidy"], worker="w", now=at(5), lease=self.LEASE, after=first.scope
        )
        assert second is not None
        assert (first.scope, second.scope, second.error) == (ANN, BOB, "broken")

    def test_many_jobs_are_enqueued_at_once(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "known", watermark=5)
        store.jobs.enqueue_all(
            [
                Enqueued(BOB, "tidy", "new", 1),
                Enqueued(ANN, "tidy", "known", 4),
                Enqueued(ANN, "tidy", "new", 2),
            ]
        )
        store.jobs.enqueue_all([])
        assert [(job.scope, job.key, job.watermark) for job in store.jobs.list(kind="tidy")] == [
            (ANN, "known", 5),
            (ANN, "new", 2),
            (BOB, "new", 1),
        ]
        assert store.jobs.list(kind="other") == []

    def test_an_expired_lease_lets_another_claim(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store, "first")
        held = self.claim(store, "second", seconds=60)
        assert (held.worker, held.token != lost.token) == ("second", True)
        assert self.none_due(store, 61)

    def test_a_heartbeat_keeps_the_lease(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        assert store.jobs.heartbeat(job, now=at(50), lease=self.LEASE)
        assert self.none_due(store, 100)
        self.claim(store, seconds=110)

    def test_a_lost_lease_has_no_heartbeat(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        assert not store.jobs.heartbeat(lost, now=at(60), lease=self.LEASE)
        held = self.claim(store, seconds=60)
        assert not store.jobs.heartbeat(lost, now=at(61), lease=self.LEASE)
        assert store.jobs.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_lost_lease_cannot_fail_the_job(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        held = self.claim(store, seconds=60)
        assert not store.jobs.fail(lost, error="too late", retry_at=at(70))
        assert store.jobs.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_finished_job_commits_with_its_outputs(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        self.finish(store, self.claim(store))
        assert listed(store) == ["output"]
        assert self.none_due(store, 1000)

    @pytest.mark.parametrize("seconds", [60, 61, 5000])
    def test_a_lease_that_ran_out_writes_nothing(self, store: Store, seconds: float) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        with pytest.raises(Conflict):
            self.finish(store, lost, seconds=seconds)
        assert listed(store) == []
        self.claim(store, seconds=seconds)

    def test_a_lease_that_was_taken_over_writes_nothing(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        held = self.claim(store, seconds=60)
        with pytest.raises(Conflict):
            self.finish(store, lost, seconds=61, output="late")
        self.finish(store, held, seconds=62, output="in time")
        assert listed(store) == ["in time"]

    def test_a_job_is_not_finished_twice(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        self.finish(store, job)
        with pytest.raises(Conflict):
            self.finish(store, job, output="again")
        assert listed(store) == ["output"]

    def test_an_exception_after_finishing_leaves_the_job_running(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        with pytest.raises(ZeroDivisionError):
            together(store, lambda tx: tx.jobs.finish(job), lambda tx: 1 // 0, when=at(1))
        self.finish(store, job, seconds=2)

    def test_a_failed_job_comes_back_at_its_time_with_its_reason(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        assert store.jobs.fail(self.claim(store), error="no network", retry_at=at(30))
        assert self.none_due(store, 29)
        again = self.claim(store, seconds=30)
        assert (again.error, again.retries_left) == ("no network", 2)

    def test_jobs_that_were_done_long_ago_are_forgotten_and_no_others(self, store: Store) -> None:
        for key, watermark in (("old", 1), ("new", 9), ("waiting", 1)):
            store.jobs.enqueue(ANN, "tidy", key, watermark=watermark)
        store.jobs.enqueue(BOB, "tidy", "theirs", watermark=1)
        for key in ("old", "new"):
            job = store.jobs.claim(["tidy"], keys=[key], worker="w", now=START, lease=self.LEASE)
            assert job is not None
            self.finish(store, job, output=key)
        assert store.jobs.forget_done("other", before=9) == 0
        assert store.jobs.forget_done("tidy", before=9, scopes=[BOB]) == 0
        assert (
            store.jobs.forget_done("tidy", before=9),
            store.jobs.forget_done("tidy", before=9),
        ) == (1, 0)
        assert {job.key for job in store.jobs.list()} == {"new", "waiting", "theirs"}

    def test_a_job_that_was_put_off_uses_up_no_try(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        for _ in range(5):
            assert store.jobs.fail(
                self.claim(store), error="not today", retry_at=START, tried=False
            )
        again = self.claim(store)
        assert (again.error, again.retries_left) == ("not today", 3)

    def test_retries_run_out_and_a_grown_watermark_renews_them(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        for _ in range(3):
            assert store.jobs.fail(self.claim(store), error="broken", retry_at=START)
        assert self.none_due(store, 10_000)
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        assert self.none_due(store, 10_000)
        store.jobs.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.claim(store).retries_left == 3

    def test_only_a_grown_watermark_renews_a_finished_job(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=5)
        self.finish(store, self.claim(store))
        for watermark in (4, 5):
            store.jobs.enqueue(ANN, "tidy", "k", watermark=watermark)
            assert self.none_due(store, 100)
        store.jobs.enqueue(ANN, "tidy", "k", watermark=6)
        job = self.claim(store, seconds=100)
        assert (job.watermark, job.done_watermark) == (6, 5)

    def test_what_grew_while_the_job_ran_is_done_next(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        store.jobs.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.none_due(store, 1)
        self.finish(store, job)
        following = self.claim(store, seconds=2)
        assert (following.watermark, following.done_watermark) == (2, 1)

    def test_jobs_of_two_scopes_are_two_jobs(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        store.jobs.enqueue(BOB, "tidy", "k", watermark=1)
        assert {self.claim(store).scope, self.claim(store).scope} == {ANN, BOB}

    def test_a_claim_can_be_narrowed_to_scopes(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        store.jobs.enqueue(BOB, "tidy", "k", watermark=1)
        job = store.jobs.claim(
            ["tidy"], worker="w", now=START, lease=self.LEASE, scopes=[BOB, TEAM]
        )
        assert job is not None
        assert job.scope == BOB
        for scopes in ([BOB], [TEAM], []):
            assert (
                store.jobs.claim(["tidy"], worker="w", now=START, lease=self.LEASE, scopes=scopes)
                is None
            )
        assert self.claim(store).scope == ANN

    def test_a_claim_can_be_narrowed_to_keys(self, store: Store) -> None:
        for key in "abc":
            store.jobs.enqueue(ANN, "tidy", key, watermark=1)
        for keys, expected in ((["c", "x"], "c"), (["b"], "b")):
            job = store.jobs.claim(
                ["tidy"], worker="w", now=START, lease=self.LEASE, keys=keys, scopes=[ANN]
            )
            assert job is not None
            assert job.key == expected
        assert (
            store.jobs.claim(["tidy"], worker="w", now=START, lease=self.LEASE, keys=["b", "c"])
            is None
        )
        assert store.jobs.claim(["tidy"], worker="w", now=START, lease=self.LEASE, keys=[]) is None

    def test_a_released_job_is_due_at_once_with_all_its_tries(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        given_back = self.claim(store, "first")
        assert store.jobs.release(given_back)
        assert not store.jobs.release(given_back)
        assert not store.jobs.heartbeat(given_back, now=at(1), lease=self.LEASE)
        with pytest.raises(Conflict):
            self.finish(store, given_back)
        assert [(job.status, job.worker, job.lease_until) for job in store.jobs.list([ANN])] == [
            ("pending", "", None)
        ]
        again = self.claim(store, "second")
        assert (again.worker, again.retries_left) == ("second", 3)

    def test_a_lost_lease_cannot_release_the_job(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        held = self.claim(store, seconds=60)
        assert not store.jobs.release(lost)
        assert store.jobs.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_lost_worker_costs_a_try_and_is_named(self, store: Store) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        self.claim(store, "host:12")
        again = self.claim(store, "host:13", seconds=60)
        assert (again.retries_left, again.error) == (2, "Its worker host:12 was lost.")

    @pytest.mark.parametrize("scopes", [None, (ANN,)])
    def test_a_job_that_loses_every_worker_ends_as_an_error(
        self, store: Store, scopes: Sequence[Scope] | None
    ) -> None:
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        for number in range(3):
            self.claim(store, f"host:{number}", seconds=60 * number)
        assert [job.status for job in store.jobs.list([ANN])] == ["running"]
        assert (
            store.jobs.claim(["tidy"], worker="w", now=at(180), lease=self.LEASE, scopes=scopes)
            is None
        )
        (job,) = store.jobs.list([ANN])
        assert (job.status, job.retries_left, job.worker, job.lease_until) == ("error", 0, "", None)
        assert (job.error, job.retry_at) == ("Its worker host:2 was lost.", at(180))
        store.jobs.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.claim(store, seconds=181).retries_left == 3

    def test_jobs_are_listed_with_how_they_stand(self, store: Store) -> None:
        assert store.jobs.list() == store.jobs.list([ANN]) == []
        for key in ("done", "failed", "held", "waiting"):
            store.jobs.enqueue(ANN, "tidy", key, watermark=1)
        store.jobs.enqueue(BOB, "other", "k", watermark=7)
        self.finish(store, self.claim(store))
        store.jobs.fail(self.claim(store), error="no network", retry_at=at(30))
        held = self.claim(store, "host:12", seconds=1)
        jobs = store.jobs.list([ANN])
        assert [(job.key, job.status) for job in jobs] == [
            ("done", "done"),
            ("failed", "error"),
            ("held", "running"),
            ("waiting", "pending"),
        ]
        assert (jobs[1].error, jobs[1].retries_left, jobs[1].retry_at) == ("no network", 2, at(30))
        assert jobs[2] == held
        assert store.jobs.list([TEAM]) == store.jobs.list([]) == []
        assert [job.scope for job in store.jobs.list()] == [ANN] * 4 + [BOB]

    # Looks

    def looks(
        self,
        store: Store,
        *keys: str,
        seconds: float = 0,
    ) -> list[Look]:
        """What is due for a worker that has heard of every change."""
        store.looks.watch("tidy", keys or ("k",))
        store.looks.gather()
        return store.looks.due("tidy", keys or ("k",), now=at(seconds), limit=10)

    def test_a_changed_scope_is_looked_at_once_for_everything_that_is_watched(
        self, store: Store
    ) -> None:
        put(store, fact("one"), fact("two", scope=BOB))
        found = self.looks(store, "k", "other")
        assert {(one.scope, one.kind, one.key) for one in found} == {
            (scope, "tidy", key) for scope in (ANN, BOB) for key in ("k", "other")
        }
        store.looks.settle([(one, None) for one in found if one.key == "k"])
        assert self.looks(store) == []
        assert {one.scope for one in self.looks(store, "other")} == {ANN, BOB}
        put(store, fact("three", scope=BOB))
        assert [one.scope for one in self.looks(store)] == [BOB]

    def test_what_is_watched_later_is_looked_for_everywhere(self, store: Store) -> None:
        put(store, fact("one"), fact("two", scope=BOB))
        store.looks.settle([(one, None) for one in self.looks(store)])
        assert (self.looks(store), store.looks.gather()) == ([], 0)
        assert {one.scope for one in self.looks(store, "new")} == {ANN, BOB}
        assert self.looks(store) == []

    def test_a_change_during_a_look_brings_another(self, store: Store) -> None:
        put(store, fact("one"))
        (look,) = self.looks(store)
        put(store, fact("two"))
        (again,) = self.looks(store)
        assert again != look
        store.looks.settle([(look, None)])
        assert self.looks(store) == [again]
        store.looks.settle([(look, at(9))])
        assert self.looks(store) == [again]
        store.looks.settle([(again, None)])
        assert self.looks(store) == []

    def test_a_look_that_is_put_off_comes_back_at_its_time(self, store: Store) -> None:
        put(store, fact("one"))
        (look,) = self.looks(store)
        store.looks.settle([(look, at(9))])
        assert (self.looks(store, seconds=8), self.looks(store, seconds=9)) == ([], [look])
        put(store, fact("two"))
        assert [one.scope for one in self.looks(store)] == [ANN]

    def test_what_a_look_found_is_enqueued_with_its_end(self, store: Store) -> None:
        put(store, fact("one"), fact("two", scope=BOB))
        found = self.looks(store)
        store.looks.settle([(one, None) for one in found], [Enqueued(BOB, "tidy", "k", 3)])
        assert self.looks(store) == []
        assert [(job.scope, job.watermark) for job in store.jobs.list()] == [(BOB, 3)]

    def test_vectors_that_are_dropped_and_a_repair_bring_a_look(self, store: Store) -> None:
        (one,) = put(store, fact("one"))
        store.vectors.add([ANN], MODEL, {one.seq: unit(1)})
        for change in (lambda: store.vectors.drop(MODEL, [ANN]), store.repair):
            store.looks.settle([(look, None) for look in self.looks(store)])
            assert self.looks(store) == []
            change()
            assert [look.scope for look in self.looks(store)] == [ANN]

    def test_a_write_that_fails_brings_no_look(self, store: Store) -> None:
        put(store, fact("one"))
        store.looks.settle([(look, None) for look in self.looks(store)])

        def fail(tx: Transaction) -> None:
            tx.add(fact("two"))
            raise Conflict("no")

        with pytest.raises(Conflict):
            write(store, fail)
        assert self.looks(store) == []

    def test_scopes_are_behind_until_every_memory_has_its_vector(self, store: Store) -> None:
        one, two, theirs = put(store, fact("one"), fact("two"), fact("theirs", scope=BOB))
        assert store.vectors.behind(MODEL) == {ANN: two.seq, BOB: theirs.seq}
        assert (store.vectors.behind(MODEL, [ANN, TEAM]), store.vectors.behind(MODEL, [])) == (
            {ANN: two.seq},
            {},
        )
        store.vectors.add(ALL, MODEL, {two.seq: unit(1), theirs.seq: unit(2)})
        assert store.vectors.behind(MODEL) == {ANN: two.seq}
        assert store.vectors.behind("other", [BOB]) == {BOB: theirs.seq}
        store.vectors.add(ALL, MODEL, {one.seq: unit(3)})
        assert store.vectors.behind(MODEL) == {}
        store.vectors.drop(MODEL, [ANN])
        assert store.vectors.behind(MODEL, ALL) == {ANN: two.seq}

    def test_a_memory_that_was_removed_leaves_nobody_behind(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        store.vectors.add(ALL, MODEL, {two.seq: unit(1)})
        purge(store, one)
        assert (store.vectors.behind(MODEL), store.vectors.behind(MODEL, [ANN])) == ({}, {})
