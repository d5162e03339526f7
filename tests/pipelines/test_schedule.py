"""Maintenance by the clock: at its times, made up for once when missed, shared by workers."""

from __future__ import annotations

import threading

import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import InvalidInput
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.schedule import Entry, maintain, next_time, once, schedule
from holdfast.models.embeddings.tiers import Tiers
from holdfast.types import iso

OFFLINE = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def test_the_default_is_the_schedule_of_the_document():
    assert schedule(OFFLINE.maintenance) == [
        Entry("enrich", "0 2 * * *"),
        Entry("consolidate", "0 3 * * *"),
        Entry("decay", "0 4 * * *"),
        Entry("reflect", "0 3 * * 0"),
    ]


@pytest.mark.parametrize("text", ["sleep 0 2 * * *", "decay", "decay 0 2 * *", "decay 99 2 * * *"])
def test_what_cannot_be_scheduled_is_named(text):
    with pytest.raises(InvalidInput):
        schedule(text)


def test_times_are_in_utc(clock):
    assert iso(next_time(Entry("decay", "0 4 * * *"), clock.now)) == "2026-03-19T04:00:00+00:00"
    assert iso(next_time(Entry("reflect", "0 3 * * 0"), clock.now)) == "2026-03-22T03:00:00+00:00"


def test_a_worker_keeps_the_times_and_makes_up_for_a_missed_one_once(hf, clock):
    hf.remember("Likes tea", decay_rate=0.1)
    done, rounds = [], iter(range(6))
    stop = threading.Event()

    class Stop:
        """The clock moves half a day at each look at it."""

        def wait(self, interval):
            clock.forward(hours=12)
            return next(rounds, None) is None

        def is_set(self):
            return stop.is_set()

    worker = Worker(hf.store, Tiers([], environ={}), clock, scopes=hf.scopes, stop=Stop())
    maintain(
        worker,
        [Entry("decay", "0 4 * * *")],
        interval=0,
        report=lambda job: done.append((job.kind, iso(clock.now))),
    )
    assert [kind for kind, _ in done] == ["decay"] * 3
    assert hf.list()[0].confidence < 1


def test_a_task_can_be_done_at_once(hf, clock):
    hf.capture("s1", "user", "I love green tea.")
    hf.sessions.end("s1")
    worker = Worker(hf.store, Tiers([], environ={}), clock, scopes=hf.scopes)
    assert once(worker, ["consolidate"]) == 1
    assert once(worker, ["consolidate", "reflect"]) == 0
