"""Jobs, export rows, and the life of a store object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import pytest

from ..errors import (
    Conflict,
    InvalidInput,
    StoreClosed,
)
from ..store.base import Filter, Store
from ..types import Job, Memory, Scope
from .reading import READS, populate
from .scene import (
    ALL,
    ANN,
    BOB,
    MODEL,
    NOUNS,
    SECOND,
    START,
    TEAM,
    Again,
    at,
    fact,
    found,
    listed,
    purge,
    put,
    put_one,
    set_status,
    together,
    truth,
    undo,
    unit,
    write,
)
from .searching import vectorised
from .undoing import _correct, _scene


class JobsContract:
    """Background work under leases."""

    LEASE = 60 * SECOND

    def claim(self, store: Store, worker: str = "w", *, seconds: float = 0, kinds: Sequence[str] = ("tidy",)) -> Job:
        """A job that must be there."""
        job = store.claim(kinds, worker=worker, now=at(seconds), lease=self.LEASE)
        assert job is not None
        return job

    def none_due(self, store: Store, seconds: float = 0) -> bool:
        """Whether no job can be claimed."""
        return store.claim(["tidy"], worker="w", now=at(seconds), lease=self.LEASE) is None

    def finish(self, store: Store, job: Job, *, seconds: float = 1, output: str = "output") -> None:
        """Finishes a job with an output in the same transaction."""
        together(store, methodcaller("add", fact(output)), methodcaller("finish", job), when=at(seconds))

    def test_a_claimed_job_is_nobody_elses(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store, "first")
        assert (job.scope, job.kind, job.key, job.status, job.worker, job.watermark) == (
            ANN, "tidy", "k", "running", "first", 1,
        )  # fmt: skip
        assert job.lease_until == at(60)
        assert self.none_due(store, 59)

    def test_only_the_kinds_asked_for_are_claimed(self, store: Store) -> None:
        store.enqueue(ANN, "other", "k", watermark=1)
        assert self.none_due(store)
        assert self.claim(store, kinds=("tidy", "other")).kind == "other"

    def test_each_job_is_claimed_once(self, store: Store) -> None:
        for key in "abc":
            store.enqueue(ANN, "tidy", key, watermark=1)
        assert {self.claim(store).key for _ in range(3)} == set("abc")
        assert self.none_due(store)

    def test_an_expired_lease_lets_another_claim(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store, "first")
        held = self.claim(store, "second", seconds=60)
        assert (held.worker, held.token != lost.token) == ("second", True)
        assert self.none_due(store, 61)

    def test_a_heartbeat_keeps_the_lease(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        assert store.heartbeat(job, now=at(50), lease=self.LEASE)
        assert self.none_due(store, 100)
        self.claim(store, seconds=110)

    def test_a_lost_lease_has_no_heartbeat(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        assert not store.heartbeat(lost, now=at(60), lease=self.LEASE)
        held = self.claim(store, seconds=60)
        assert not store.heartbeat(lost, now=at(61), lease=self.LEASE)
        assert store.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_lost_lease_cannot_fail_the_job(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        held = self.claim(store, seconds=60)
        assert not store.fail(lost, error="too late", retry_at=at(70))
        assert store.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_finished_job_commits_with_its_outputs(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        self.finish(store, self.claim(store))
        assert listed(store) == ["output"]
        assert self.none_due(store, 1000)

    @pytest.mark.parametrize("seconds", [60, 61, 5000])
    def test_a_lease_that_ran_out_writes_nothing(self, store: Store, seconds: float) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost = self.claim(store)
        with pytest.raises(Conflict):
            self.finish(store, lost, seconds=seconds)
        assert listed(store) == []
        self.claim(store, seconds=seconds)

    def test_a_lease_that_was_taken_over_writes_nothing(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost, held = self.claim(store), self.claim(store, seconds=60)
        with pytest.raises(Conflict):
            self.finish(store, lost, seconds=61, output="late")
        self.finish(store, held, seconds=62, output="in time")
        assert listed(store) == ["in time"]

    def test_a_job_is_not_finished_twice(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        self.finish(store, job)
        with pytest.raises(Conflict):
            self.finish(store, job, output="again")
        assert listed(store) == ["output"]

    def test_an_exception_after_finishing_leaves_the_job_running(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        with pytest.raises(ZeroDivisionError):
            together(store, methodcaller("finish", job), lambda writer: 1 // 0, when=at(1))
        self.finish(store, job, seconds=2)

    def test_a_failed_job_comes_back_at_its_time_with_its_reason(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        assert store.fail(self.claim(store), error="no network", retry_at=at(30))
        assert self.none_due(store, 29)
        again = self.claim(store, seconds=30)
        assert (again.error, again.retries_left) == ("no network", 2)

    def test_retries_run_out_and_a_grown_watermark_renews_them(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        for _ in range(3):
            assert store.fail(self.claim(store), error="broken", retry_at=START)
        assert self.none_due(store, 10_000)
        store.enqueue(ANN, "tidy", "k", watermark=1)
        assert self.none_due(store, 10_000)
        store.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.claim(store).retries_left == 3

    def test_only_a_grown_watermark_renews_a_finished_job(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=5)
        self.finish(store, self.claim(store))
        for watermark in (4, 5):
            store.enqueue(ANN, "tidy", "k", watermark=watermark)
            assert self.none_due(store, 100)
        store.enqueue(ANN, "tidy", "k", watermark=6)
        job = self.claim(store, seconds=100)
        assert (job.watermark, job.done_watermark) == (6, 5)

    def test_what_grew_while_the_job_ran_is_done_next(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = self.claim(store)
        store.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.none_due(store, 1)
        self.finish(store, job)
        following = self.claim(store, seconds=2)
        assert (following.watermark, following.done_watermark) == (2, 1)

    def test_jobs_of_two_scopes_are_two_jobs(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        store.enqueue(BOB, "tidy", "k", watermark=1)
        assert {self.claim(store).scope, self.claim(store).scope} == {ANN, BOB}

    def test_a_claim_can_be_narrowed_to_scopes(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        store.enqueue(BOB, "tidy", "k", watermark=1)
        job = store.claim(["tidy"], worker="w", now=START, lease=self.LEASE, scopes=[BOB, TEAM])
        assert job is not None
        assert job.scope == BOB
        for scopes in ([BOB], [TEAM], []):
            assert store.claim(["tidy"], worker="w", now=START, lease=self.LEASE, scopes=scopes) is None
        assert self.claim(store).scope == ANN

    def test_a_claim_can_be_narrowed_to_keys(self, store: Store) -> None:
        for key in "abc":
            store.enqueue(ANN, "tidy", key, watermark=1)
        for keys, expected in ((["c", "x"], "c"), (["b"], "b")):
            job = store.claim(["tidy"], worker="w", now=START, lease=self.LEASE, keys=keys, scopes=[ANN])
            assert job is not None
            assert job.key == expected
        assert store.claim(["tidy"], worker="w", now=START, lease=self.LEASE, keys=["b", "c"]) is None
        assert store.claim(["tidy"], worker="w", now=START, lease=self.LEASE, keys=[]) is None

    def test_a_released_job_is_due_at_once_with_all_its_tries(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        given_back = self.claim(store, "first")
        assert store.release(given_back)
        assert not store.release(given_back)
        assert not store.heartbeat(given_back, now=at(1), lease=self.LEASE)
        with pytest.raises(Conflict):
            self.finish(store, given_back)
        assert [(job.status, job.worker, job.lease_until) for job in store.jobs([ANN])] == [("pending", "", None)]
        again = self.claim(store, "second")
        assert (again.worker, again.retries_left) == ("second", 3)

    def test_a_lost_lease_cannot_release_the_job(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        lost, held = self.claim(store), self.claim(store, seconds=60)
        assert not store.release(lost)
        assert store.heartbeat(held, now=at(61), lease=self.LEASE)

    def test_a_lost_worker_costs_a_try_and_is_named(self, store: Store) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        self.claim(store, "host:12")
        again = self.claim(store, "host:13", seconds=60)
        assert (again.retries_left, again.error) == (2, "Its worker host:12 was lost.")

    @pytest.mark.parametrize("scopes", [None, (ANN,)])
    def test_a_job_that_loses_every_worker_ends_as_an_error(self, store: Store, scopes: Sequence[Scope] | None) -> None:
        store.enqueue(ANN, "tidy", "k", watermark=1)
        for number in range(3):
            self.claim(store, f"host:{number}", seconds=60 * number)
        assert [job.status for job in store.jobs([ANN])] == ["running"]
        assert store.claim(["tidy"], worker="w", now=at(180), lease=self.LEASE, scopes=scopes) is None
        (job,) = store.jobs([ANN])
        assert (job.status, job.retries_left, job.worker, job.lease_until) == ("error", 0, "", None)
        assert (job.error, job.retry_at) == ("Its worker host:2 was lost.", at(180))
        store.enqueue(ANN, "tidy", "k", watermark=2)
        assert self.claim(store, seconds=181).retries_left == 3

    def test_jobs_are_listed_with_how_they_stand(self, store: Store) -> None:
        assert store.jobs() == store.jobs([ANN]) == []
        for key in ("done", "failed", "held", "waiting"):
            store.enqueue(ANN, "tidy", key, watermark=1)
        store.enqueue(BOB, "other", "k", watermark=7)
        self.finish(store, self.claim(store))
        store.fail(self.claim(store), error="no network", retry_at=at(30))
        held = self.claim(store, "host:12", seconds=1)
        jobs = store.jobs([ANN])
        assert [(job.key, job.status) for job in jobs] == [
            ("done", "done"), ("failed", "error"), ("held", "running"), ("waiting", "pending"),
        ]  # fmt: skip
        assert (jobs[1].error, jobs[1].retries_left, jobs[1].retry_at) == ("no network", 2, at(30))
        assert jobs[2] == held
        assert store.jobs([TEAM]) == store.jobs([]) == []
        assert [job.scope for job in store.jobs()] == [ANN] * 4 + [BOB]

    def test_scopes_are_behind_until_every_memory_has_its_vector(self, store: Store) -> None:
        one, two, theirs = put(store, fact("one"), fact("two"), fact("theirs", scope=BOB))
        assert store.behind(MODEL) == {ANN: two.seq, BOB: theirs.seq}
        assert (store.behind(MODEL, [ANN, TEAM]), store.behind(MODEL, [])) == ({ANN: two.seq}, {})
        store.add_vectors(ALL, MODEL, {two.seq: unit(1), theirs.seq: unit(2)})
        assert store.behind(MODEL) == {ANN: two.seq}
        assert store.behind("other", [BOB]) == {BOB: theirs.seq}
        store.add_vectors(ALL, MODEL, {one.seq: unit(3)})
        assert store.behind(MODEL) == {}
        store.drop_vectors(MODEL, [ANN])
        assert store.behind(MODEL, ALL) == {ANN: two.seq}

    def test_a_memory_that_was_removed_leaves_nobody_behind(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        store.add_vectors(ALL, MODEL, {two.seq: unit(1)})
        purge(store, one)
        assert (store.behind(MODEL), store.behind(MODEL, [ANN])) == ({}, {})


class ExportContract:
    """Rows go out and come back the same."""

    def test_rows_restored_elsewhere_are_the_same_rows(self, store: Store) -> None:
        old = _scene(store)
        write(store, lambda writer: _correct(writer, old), run="run_correct")
        write(store, lambda writer: writer.remove(writer.add(fact("fleeting"))))
        copy_scope(store, ANN, BOB, journal=False)
        for noun in (*NOUNS, "event"):
            assert list(store.rows(noun, BOB)) == list(store.rows(noun, ANN))
        assert found(store, "coffee", scopes=(BOB,)) == ["coffee after all"]
        assert store.corpus([BOB], ["tea", "coffee"]) == store.corpus([ANN], ["tea", "coffee"])

    def test_a_restored_history_can_be_undone(self, store: Store) -> None:
        old = _scene(store)
        before = truth(store)
        write(store, lambda writer: _correct(writer, old), run="run_correct")
        copy_scope(store, ANN, BOB, journal=False)
        undo(store, "run_correct", scopes=(BOB,))
        undo(store, "run_correct", scopes=(ANN,))
        assert list(store.rows("memory", BOB)) == list(store.rows("memory", ANN)) == before[f"memory {ANN}"]

    def test_a_restored_removal_can_be_undone_beside_the_original(self, store: Store) -> None:
        old = _scene(store)
        write(store, lambda writer: writer.remove(old), run="run_remove")
        copy_scope(store, ANN, BOB, journal=False)
        for scope in (BOB, ANN):
            undo(store, "run_remove", scopes=(scope,))
        assert sorted(listed(store, scopes=(BOB,))) == sorted(listed(store)) == ["green tea", "water"]

    def test_restoring_twice_equals_once(self, store: Store) -> None:
        _scene(store)
        assert copy_scope(store, ANN, BOB, journal=False) > 0
        state, journal = truth(store, BOB), store.events([BOB])
        assert copy_scope(store, ANN, BOB, journal=False) == 0
        assert (truth(store, BOB), store.events([BOB])) == (state, journal)

    def test_rows_without_their_history_are_journalled_as_new(self, store: Store) -> None:
        _scene(store)
        copy_scope(store, ANN, BOB, journal=True)
        assert {event.verb for event in store.events([BOB])} == {"import"}
        assert len(store.events([BOB], run="run_import")) == sum(len(list(store.rows(noun, BOB))) for noun in NOUNS)
        undo(store, "run_import", scopes=(BOB,))
        assert listed(store, scopes=(BOB,)) == []

    def test_another_row_under_the_same_key_is_a_conflict(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        row = {**next(store.rows("memory", ANN)), "scope": str(ANN)}
        with pytest.raises(Conflict):
            write(store, lambda writer: writer.restore_row("memory", {**row, "content": "coffee"}, journal=True))
        store.touch(ALL, {one.seq: 1}, at(5))  # how often it was read does not make it another memory
        assert not write(store, lambda writer: writer.restore_row("memory", row, journal=True))
        assert listed(store) == ["tea"]

    def test_many_rows_at_once_are_as_one_by_one(self, store: Store) -> None:
        _scene(store)
        copy_scope(store, ANN, BOB, journal=False)
        for noun in (*NOUNS, "event"):
            rows = list(store.rows(noun, ANN))
            write(store, lambda writer, noun=noun, rows=rows: writer.restore_many(noun, TEAM, rows))  # type: ignore[misc]
        for noun in (*NOUNS, "event"):
            assert list(store.rows(noun, TEAM)) == list(store.rows(noun, BOB))
        assert truth(store, TEAM)["totals"] == truth(store, BOB)["totals"]

    def test_rows_carry_no_numbers_of_this_store(self, store: Store) -> None:
        put(store, fact("tea"))
        copy_scope(store, ANN, BOB, journal=False)
        assert all("seq" not in row and "number" not in row for row in store.rows("memory", BOB))

    def restore(self, store: Store, one: Memory, seq: int | None, *, scope: Scope = BOB) -> Memory:
        """Restores a memory of Ann's elsewhere under a number of our choice, and returns it as it is there."""
        row = next(row for row in store.rows("memory", ANN) if row["id"] == one.id) | {"scope": str(scope)}
        assert write(store, lambda writer: writer.restore_row("memory", row, journal=True, seq=seq))
        return store.get([scope], [one.id])[0]

    def keeps_numbers(self, store: Store) -> bool:
        """Whether a restored memory keeps its number here; where it does not, it gets a new one."""
        seq = self.restore(store, put_one(store, fact("which number?")), 1000).seq
        return seq == 1000

    def test_a_restored_memory_keeps_its_number_or_gets_a_new_one(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        far, low = self.restore(store, one, 500).seq, self.restore(store, two, 40).seq
        new = self.restore(store, put_one(store, fact("three")), None).seq
        assert len({one.seq, two.seq, far, low, new}) == 5
        if self.keeps_numbers(store):
            assert (far, low, new > 500) == (500, 40, True)
        later = put_one(store, fact("later")).seq
        assert later > max(far, low, new)
        assert found(store, "one", scopes=(BOB,)) == ["one"]

    def test_a_number_that_is_taken_is_a_conflict_where_numbers_are_kept(self, store: Store) -> None:
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
        assert not write(store, lambda writer: writer.restore_row("memory", row, journal=True, seq=77))
        assert store.get([ANN], [one.id])[0].seq == one.seq

    def test_a_removed_memory_comes_back_beside_one_that_got_its_number(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        write(store, lambda writer: writer.remove(one), run="run_remove")
        self.restore(store, two, one.seq)
        undo(store, "run_remove")
        assert sorted(listed(store, scopes=(ANN, BOB))) == ["one", "two", "two"]
        assert store.list(Filter((ANN, BOB))) == store.get([ANN, BOB], [m.seq for m in store.list(Filter((ANN, BOB)))])

    def test_a_restored_number_below_the_mark_is_embedded_too(self, store: Store) -> None:
        theirs = put(store, *(fact(f"theirs {n}", scope=BOB) for n in range(3)))
        gone, kept = theirs[0], theirs[1:]
        store.add_vectors(ALL, MODEL, {one.seq: unit(one.seq) for one in theirs})
        write(store, lambda writer: writer.remove(gone))
        restored = self.restore(store, put_one(store, fact("mine")), gone.seq)
        assert (store.models([BOB]), store.without_vector(MODEL, 9, [BOB])) == ({MODEL: False}, [restored])
        store.add_vectors(ALL, MODEL, {restored.seq: unit(99)})
        assert (store.models([BOB]), store.behind(MODEL, [BOB])) == ({MODEL: True}, {})
        ranked = store.by_vector(Filter((BOB,)), MODEL, unit(99), 3)
        assert (ranked[0][0], len(ranked)) == (restored.seq, 1 + len(kept))

    def test_vectors_go_out_with_their_memory(self, store: Store) -> None:
        vectorised(store, 2)
        rows = list(store.rows("vector", ANN))
        assert [row["model"] for row in rows] == [MODEL, MODEL]
        assert {row["memory"] for row in rows} == {one.id for one in store.list(Filter((ANN,)))}


def copy_scope(store: Store, source: Scope, target: Scope, *, journal: bool) -> int:
    """Restores every row of one scope in another and says how many were new."""
    nouns = NOUNS if journal else (*NOUNS, "event")
    rows = [(noun, {**row, "scope": str(target)}) for noun in nouns for row in store.rows(noun, source)]
    return write(
        store,
        lambda writer: sum(writer.restore_row(noun, row, journal=journal) for noun, row in rows),
        run="run_import",
        verb="import",
    )


class LifeContract:
    """Opening, repairing, closing."""

    def test_tending_changes_nothing_that_is_kept(self, store: Store) -> None:
        _scene(store)
        before = truth(store)
        store.tend()
        assert truth(store) == before

    def test_a_new_store_is_empty_and_sound(self, store: Store) -> None:
        assert (list(store.check()), store.scopes(), store.events([ANN]), store.coverage()) == ([], [], [], {})

    def test_repairing_a_sound_store_changes_nothing(self, store: Store) -> None:
        old = _scene(store)
        set_status(store, old, "archived")
        put(store, fact("日本 tea"), fact("theirs", scope=BOB))
        state, journal, ranked = truth(store, ANN, BOB), store.events([ANN, BOB]), found(store, "tea water 日本")
        store.repair()
        assert (truth(store, ANN, BOB), store.events([ANN, BOB])) == (state, journal)
        assert found(store, "tea water 日本") == ranked

    def test_scrubbing_changes_nothing_that_is_kept(self, store: Store) -> None:
        old = _scene(store)
        purge(store, put_one(store, fact("gone")))
        state, ranked = truth(store), found(store, "tea water")
        store.scrub()
        assert (truth(store), found(store, "tea water")) == (state, ranked)
        assert store.get([ANN], [old.seq]) == [old]

    def test_what_was_written_is_there_after_reopening(self, store: Store, again: Again) -> None:
        old = _scene(store)
        other = again()
        state = truth(store)
        store.close()
        assert truth(other) == state
        assert other.get([ANN], [old.id]) == [old]

    def test_closing_twice_equals_once(self, store: Store) -> None:
        store.close()
        store.close()

    @pytest.mark.parametrize("read", READS.values(), ids=list(READS))
    def test_a_closed_store_says_so_to_every_read(self, store: Store, read: Callable[[Store, Scope], Any]) -> None:
        populate(store, ANN)
        store.close()
        with pytest.raises(StoreClosed):
            read(store, ANN)

    def test_a_closed_store_says_so_to_every_write(self, store: Store) -> None:
        one = put_one(store, fact("tea"))
        store.enqueue(ANN, "tidy", "k", watermark=1)
        job = store.claim(["tidy"], worker="w", now=START, lease=SECOND)
        assert job is not None
        store.close()
        calls: list[Callable[[], Any]] = [
            lambda: put(store, fact("late")),
            lambda: write(store, lambda writer: writer.add_messages(ANN, "s", [{}])),
            lambda: store.add_vectors(ALL, MODEL, {one.seq: unit(1)}),
            lambda: store.drop_vectors(MODEL),
            lambda: store.touch(ALL, {one.seq: 1}, START),
            lambda: store.enqueue(ANN, "tidy", "k", watermark=2),
            lambda: store.claim(["tidy"], worker="w", now=START, lease=SECOND),
            lambda: store.heartbeat(job, now=START, lease=SECOND),
            lambda: store.fail(job, error="", retry_at=START),
            lambda: store.release(job),
            lambda: store.jobs([ANN]),
            lambda: store.behind(MODEL, [ANN]),
            lambda: list(store.check()),
            store.repair,
            store.scrub,
        ]
        for call in calls:
            with pytest.raises(StoreClosed):
                call()
