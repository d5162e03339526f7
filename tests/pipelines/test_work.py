"""Maintenance jobs: shared by workers, given back, taken over, failed and tried again."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
import worker_process

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import Conflict, EmbedderError, StoreBusy, StoreClosed, StoreError
from holdfast.extraction.job_types import LEASE, REVIVAL, Due, Kind, Worker, worker_name
from holdfast.maintenance import job_runner, schedule
from holdfast.maintenance.embedding_jobs import STEP
from holdfast.maintenance.job_runner import BACKOFF, Upgrader, drain, plan, work_once
from holdfast.models.embeddings.tiers import REST_AFTER_FAILURE, Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import Filter, open_store
from holdfast.types import Memory, Scope
from patience import PATIENCE

ANN, BOB, EVE = Scope("user", "ann"), Scope("user", "bob"), Scope("user", "eve")
MODEL = "fake:bag-of-words"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return (
        str(tmp_path / "memory.db")
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_store_url")
    )


class Yard:
    """One store, seen by the workers of a test."""

    def __init__(self, place, clock):
        self.place, self.clock = place, clock
        self.store = open_store(place, clock=clock)

    def remember(self, *scopes, count=1):
        for scope in scopes:
            hf = Holdfast(
                self.store, [scope], settings=Settings(), tiers=self.tiers(), clock=self.clock
            )
            hf.remember_many(
                [f"note {number} of {scope} at {self.clock()}" for number in range(count)]
            )

    def tiers(self, *embedders):
        return Tiers.of(*embedders, clock=self.clock)

    def worker(self, *embedders, scopes=None, **more):
        return Worker(
            self.store, self.tiers(*(embedders or (FakeEmbedder(),))), self.clock, scopes, **more
        )

    def drain(self, worker):
        """Drains, and says what became of each job."""
        said = []
        drain(worker, lambda job: said.append((job.status, str(job.scope), job.key)))
        return said

    def job(self, scope=ANN, model=MODEL):
        (found,) = [job for job in self.store.jobs.list([scope]) if job.key == model]
        return found

    def embedded(self, model=MODEL, scopes=None):
        return self.store.vectors.coverage(scopes).get(model, 0)


@pytest.fixture
def yard(place, clock):
    yard = Yard(place, clock)
    yield yard
    yard.store.close()


class Calling(FakeEmbedder):
    """Does something before it embeds."""

    def __init__(self, before, **options):
        super().__init__(**options)
        self.before = before

    def embed_documents(self, texts):
        self.before()
        return super().embed_documents(texts)


# Several processes


class Process:
    """A worker of worker_process.py."""

    def __init__(self, yard):
        program = [sys.executable, worker_process.__file__, yard.place, str(yard.clock())]
        self.process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def has_a_job(self):
        return self.process.stdout.readline().strip() == worker_process.HOLDING

    def rest(self):
        """Lets it go on to its end, and returns what it said."""
        out, _ = self.process.communicate("go\n", timeout=PATIENCE)
        assert self.process.returncode == 0
        return out.splitlines()


def test_three_processes_share_a_backlog_and_do_each_job_once(yard):
    scopes = [Scope("user", f"number-{number}") for number in range(9)]
    yard.remember(*scopes, count=12)
    # Planned before: one that comes while another one plans finds nothing to do, and ends.
    plan(yard.worker())
    with Process(yard) as one, Process(yard) as two, Process(yard) as three:
        crew = (one, two, three)
        assert all(process.has_a_job() for process in crew)
        assert len({job.worker for job in yard.store.jobs.list() if job.status == "running"}) == 3
        logs = [process.rest() for process in crew]
    assert all(logs)
    assert Counter(line for log in logs for line in log) == Counter(
        f"done {scope} {MODEL}" for scope in scopes
    )
    assert yard.embedded() == 9 * 12
    assert {job.status for job in yard.store.jobs.list()} == {"done"}


def test_a_job_whose_worker_was_killed_is_taken_over_when_its_lease_has_ended(yard):
    yard.remember(ANN, count=3)
    with Process(yard) as doomed:
        assert doomed.has_a_job()
        pid = doomed.process.pid
    held = yard.job()
    assert (held.status, held.worker.endswith(f":{pid}"), held.lease_until) == (
        "running",
        True,
        yard.clock() + LEASE,
    )
    assert yard.drain(yard.worker()) == []
    yard.clock.now += LEASE
    taken = []
    other = yard.worker(Calling(lambda: taken.append(yard.job())))
    assert yard.drain(other) == [("done", "user:ann", MODEL)]
    assert (taken[0].worker, taken[0].retries_left) == (worker_name(), 2)
    assert taken[0].error == f"Its worker {held.worker} was lost."
    assert (yard.embedded(), yard.job().error) == (3, "")


# Planning


def test_a_plan_has_one_job_for_each_scope_and_model_that_lack_vectors(yard):
    yard.remember(ANN, BOB)
    worker = yard.worker(FakeEmbedder(), FakeEmbedder(identity="fake:better"))
    assert (plan(worker), plan(worker)) == (4, 4)
    jobs = yard.store.jobs.list()
    assert {(job.scope, job.kind, job.key, job.status) for job in jobs} == {
        (scope, "embed", model, "pending")
        for scope in (ANN, BOB)
        for model in (MODEL, "fake:better")
    }
    assert {job.watermark for job in jobs if job.scope == ANN} == {
        yard.store.list(Filter((ANN,)))[0].seq
    }
    assert drain(worker) == 4
    assert (plan(worker), drain(worker)) == (0, 0)


def test_a_worker_for_some_scopes_leaves_the_others_alone(yard):
    yard.remember(ANN, BOB)
    plan(yard.worker())
    assert yard.drain(yard.worker(scopes=[BOB, EVE])) == [("done", "user:bob", MODEL)]
    assert (yard.embedded(), yard.job(ANN).status) == (1, "pending")


def test_a_job_of_a_model_that_is_not_in_use_here_is_left_for_who_has_it(yard):
    yard.remember(ANN)
    better = yard.worker(FakeEmbedder(identity="fake:better"))
    plan(better)
    assert yard.drain(yard.worker()) == [("done", "user:ann", MODEL)]
    assert yard.drain(better) == [("done", "user:ann", "fake:better")]


def test_the_quickest_model_goes_first_everywhere(yard):
    yard.remember(ANN, BOB)
    worker = yard.worker(FakeEmbedder(identity="fake:z"), FakeEmbedder(identity="fake:a"))
    assert [key for *_, key in yard.drain(worker)] == ["fake:z", "fake:z", "fake:a", "fake:a"]


def test_new_memories_renew_a_finished_job(yard):
    for count in (1, 2):
        yard.remember(ANN)
        assert yard.drain(yard.worker()) == [("done", "user:ann", MODEL)]
        assert yard.embedded() == count
        yard.clock.forward(seconds=1)


def test_vectors_that_were_dropped_are_made_again_and_later_memories_still_count(yard):
    worker = yard.worker()
    yard.remember(ANN)
    drain(worker)
    for _ in range(2):
        yard.store.vectors.drop(MODEL)
        assert drain(worker) == 1
    yard.clock.forward(seconds=1)
    yard.remember(ANN)
    assert (drain(worker), drain(worker), yard.embedded()) == (1, 0, 2)


def test_what_is_written_while_a_job_runs_is_done_next(yard):
    def another():
        if not others:
            others.append(yard.clock.forward(seconds=1))
            yard.remember(ANN)
            assert plan(yard.worker()) == 1

    others = []
    yard.remember(ANN)
    assert drain(yard.worker(Calling(another))) == 2
    assert (yard.embedded(), yard.job().status) == (2, "done")


def test_a_round_in_which_nothing_changed_looks_at_nobody_and_writes_nothing(yard, monkeypatch):
    scopes = [Scope("user", f"number-{number}") for number in range(20)]
    yard.remember(*scopes)
    worker = yard.worker()
    assert drain(worker) == 20
    drain(worker)  # the jobs themselves were the last change
    seen, written = [], []
    real_read, real_transact = yard.store.read, yard.store.transact
    monkeypatch.setattr(
        yard.store, "read", lambda *args: (seen.append(args[1]), real_read(*args))[1]
    )
    monkeypatch.setattr(
        yard.store, "transact", lambda *args: (written.append(1), real_transact(*args))[1]
    )
    assert (drain(worker), written) == (0, [])
    quiet = len(seen)
    yard.remember(*(Scope("user", f"late-{number}") for number in range(20)))
    drain(worker)
    drain(worker)
    seen.clear()
    # As many questions with twice as many owners.
    assert (drain(worker), len(seen)) == (0, quiet)


def test_a_greedy_owner_does_not_keep_the_others_waiting(yard, monkeypatch):
    jobs = {ANN: 5, BOB: 1, EVE: 2}
    for scope, count in jobs.items():
        for number in range(count):
            yard.store.jobs.enqueue(scope, "sum", f"k{number}", watermark=1)
    monkeypatch.setitem(
        job_runner.KINDS, "sum", Kind("sum", due=lambda worker: (), run=lambda task: None)
    )
    worker, served = yard.worker(), []
    drain(worker, lambda job: served.append(job.scope), ["sum"])
    assert served == [ANN, BOB, EVE, ANN, EVE, ANN, ANN, ANN]


def test_a_planner_that_is_cut_off_leaves_what_it_has_not_settled_to_the_next(yard, monkeypatch):
    yard.remember(ANN, BOB)
    worker = yard.worker()

    def cut_off(*args):
        raise StoreBusy("away")

    with monkeypatch.context() as patched:
        patched.setattr(yard.store.looks, "settle", cut_off)
        with pytest.raises(StoreBusy):
            plan(worker)
    assert yard.store.jobs.list() == []
    assert drain(yard.worker()) == 2


def test_a_model_that_is_new_to_the_store_is_looked_for_everywhere(yard):
    yard.remember(ANN, BOB)
    drain(yard.worker())
    assert drain(yard.worker()) == 0
    newcomer = yard.worker(FakeEmbedder(identity="fake:better"))
    assert yard.drain(newcomer) == [
        ("done", "user:ann", "fake:better"),
        ("done", "user:bob", "fake:better"),
    ]
    # Who has only the first model does not end the looks of who has the other.
    yard.clock.forward(seconds=1)
    yard.remember(BOB)
    assert yard.drain(yard.worker()) == [("done", "user:bob", MODEL)]
    assert yard.drain(newcomer) == [("done", "user:bob", "fake:better")]


def test_what_is_written_while_a_worker_looks_is_looked_at_next(yard, monkeypatch):
    yard.remember(ANN)
    drain(yard.worker())
    yard.clock.forward(seconds=1)
    yard.remember(ANN)
    real, late = yard.store.vectors.behind, []

    def behind(*args):
        found = real(*args)
        if not late:
            late.append(1)
            yard.remember(BOB)
            plan(yard.worker())
        return found

    monkeypatch.setattr(yard.store.vectors, "behind", behind)
    assert sorted(yard.drain(yard.worker())) == [
        ("done", "user:ann", MODEL),
        ("done", "user:bob", MODEL),
    ]


# Ending early


def test_a_worker_that_is_stopped_gives_its_job_back_after_the_step_it_is_in(yard):
    yard.remember(ANN, count=STEP + 5)
    stop = threading.Event()
    assert yard.drain(yard.worker(Calling(stop.set), stop=stop)) == [("pending", "user:ann", MODEL)]
    job = yard.job()
    assert (job.status, job.worker, job.lease_until, job.retries_left) == ("pending", "", None, 3)
    assert yard.embedded() == STEP
    other = FakeEmbedder()
    assert yard.drain(yard.worker(other)) == [("done", "user:ann", MODEL)]
    assert (yard.embedded(), other.calls) == (STEP + 5, 1)


def test_a_worker_that_loses_its_lease_does_no_further_step(yard):
    yard.remember(ANN, count=2 * STEP + 5)
    slow = Calling(lambda: yard.clock.forward(seconds=LEASE / 1_000_000))
    assert work_once_planned(yard.worker(slow)) == "running"
    assert (slow.calls, yard.embedded()) == (1, STEP)
    assert yard.drain(yard.worker()) == [("done", "user:ann", MODEL)]
    assert yard.embedded() == 2 * STEP + 5


def work_once_planned(worker):
    plan(worker)
    return work_once(worker).status


def test_a_worker_that_loses_its_lease_in_the_last_step_does_not_finish_the_job(yard):
    yard.remember(ANN)
    assert work_once_planned(yard.worker(Calling(lambda: yard.clock.forward(hours=1)))) == "running"
    assert yard.job().done_watermark == 0
    assert yard.drain(yard.worker()) == [("done", "user:ann", MODEL)]


def test_a_heartbeat_after_each_step_keeps_a_long_job(yard):
    yard.remember(ANN, count=3 * STEP)
    slow = Calling(lambda: yard.clock.forward(seconds=0.6 * LEASE / 1_000_000))
    assert yard.drain(yard.worker(slow)) == [("done", "user:ann", MODEL)]
    assert slow.calls == 3


# Failing


def test_a_job_whose_model_fails_shows_the_reason_and_is_tried_again_later(yard):
    yard.remember(ANN)
    fake = FakeEmbedder(fault="down")
    worker = yard.worker(fake)
    assert yard.drain(worker) == [("error", "user:ann", MODEL)]
    job = yard.job()
    assert (job.status, job.error, job.retries_left) == ("error", f"{MODEL} cannot be reached.", 2)
    assert job.retry_at == yard.clock() + BACKOFF
    fake.fault = None
    assert yard.drain(yard.worker()) == []
    yard.clock.now += max(BACKOFF, REST_AFTER_FAILURE)
    assert yard.drain(worker) == [("done", "user:ann", MODEL)]
    assert (yard.job().error, yard.embedded()) == ("", 1)


def test_the_times_between_tries_double_until_none_is_left(yard):
    yard.remember(ANN)
    worker = yard.worker(FakeEmbedder(fault="down"))
    for doubled in (1, 2, 4):
        assert yard.drain(worker) == [("error", "user:ann", MODEL)]
        assert yard.job().retry_at == yard.clock() + BACKOFF * doubled
        yard.clock.now += BACKOFF * doubled
    assert (yard.drain(worker), yard.job().retries_left) == ([], 0)


def test_a_job_without_tries_gets_new_ones_for_new_memories(yard):
    yard.remember(ANN)
    worker = yard.worker(FakeEmbedder(fault="down"))
    for _ in range(3):
        drain(worker)
        yard.clock.now = yard.job().retry_at
    yard.remember(ANN)
    assert yard.drain(yard.worker()) == [("done", "user:ann", MODEL)]
    assert yard.embedded() == 2


def test_a_job_without_tries_gets_new_ones_after_a_long_rest(yard):
    yard.remember(ANN)
    worker = yard.worker(FakeEmbedder(fault="down"))
    for _ in range(3):
        drain(worker)
        yard.clock.now = yard.job().retry_at
    yard.clock.now += REVIVAL - 1
    assert yard.drain(yard.worker()) == []
    yard.clock.now += 1
    assert yard.drain(yard.worker()) == [("done", "user:ann", MODEL)]


def test_a_fault_in_a_job_fails_that_job_only_and_is_logged(yard, caplog):
    yard.remember(ANN, BOB)
    calls = iter([1, 0])
    assert yard.drain(yard.worker(Calling(lambda: 1 // (1 - next(calls))))) == [
        ("error", "user:ann", MODEL),
        ("done", "user:bob", MODEL),
    ]
    assert yard.job().error.startswith("ZeroDivisionError: ")
    assert "embed fake:bag-of-words of user:ann" in caplog.text


def test_a_model_that_rests_is_neither_planned_for_nor_claimed(yard):
    yard.remember(ANN)
    worker = yard.worker()
    worker.tiers.rest(MODEL, EmbedderError("tired"))
    assert (plan(worker), work_once(worker), yard.store.jobs.list()) == (0, None, [])
    plan(yard.worker())
    assert (plan(worker), work_once(worker), yard.job().status) == (0, None, "pending")


# Other kinds


@pytest.fixture
def summing(yard, monkeypatch):
    """A kind of job that any worker can do, and that writes one fact."""
    now = yard.clock()
    fact = Memory("fact_sum", ANN, "fact", "sum", created_at=now, updated_at=now, event_time=now)
    kind = Kind(
        "sum",
        due=lambda worker: [Due(ANN, "any", 1)],
        run=lambda task: lambda tx: tx.add(fact),
    )
    monkeypatch.setitem(job_runner.KINDS, "sum", kind)
    return kind


def test_what_a_job_writes_is_there_together_with_its_end(yard, summing):
    worker = yard.worker()
    assert plan(worker, ["sum"]) == 1
    assert work_once(worker, ["sum"]).status == "done"
    assert [memory.content for memory in yard.store.list(Filter((ANN,)))] == ["sum"]
    (event,) = yard.store.events([ANN])
    assert (event.verb, event.actor) == ("sum", f"worker:{worker_name()}")


def test_what_a_job_writes_is_not_there_when_its_lease_was_lost(yard, summing, monkeypatch):
    def slowly(task):
        yard.clock.now += LEASE
        return summing.run(task)

    monkeypatch.setitem(job_runner.KINDS, "sum", Kind("sum", due=summing.due, run=slowly))
    worker = yard.worker()
    plan(worker, ["sum"])
    assert work_once(worker, ["sum"]).status == "running"
    assert yard.store.list(Filter((ANN,))) == []


def test_a_conflict_in_what_a_job_writes_fails_it(yard, summing, monkeypatch):
    def refused(tx):
        raise Conflict("changed meanwhile")

    monkeypatch.setitem(
        job_runner.KINDS, "sum", Kind("sum", due=summing.due, run=lambda task: refused)
    )
    plan(yard.worker(), ["sum"])
    assert work_once(yard.worker(), ["sum"]).error == "changed meanwhile"


# Going on for ever


def test_a_worker_looks_for_new_work_until_it_is_stopped(yard):
    yard.remember(ANN)
    worker, told = yard.worker(), []

    def tell(job):
        told.append(job.scope)
        if job.scope == ANN:
            yard.remember(BOB)
        else:
            worker.stop.set()

    schedule.maintain(worker, interval=0, report=tell)
    assert told == [ANN, BOB]


def test_a_store_that_is_away_for_a_while_is_waited_for(yard, monkeypatch, caplog):
    worker, real = yard.worker(), yard.store.jobs.claim
    rest = ["works"] * (len(job_runner.ALWAYS) - 1)  # each round asks for every kind of job
    answers = iter(["works", *rest, "away", *rest, "end"])

    def claim(*args, **options):
        answer = next(answers)
        if answer == "end":
            worker.stop.set()
        if answer == "away":
            raise StoreBusy("away")
        return real(*args, **options)

    monkeypatch.setattr(yard.store.jobs, "claim", claim)
    schedule.maintain(worker, interval=0)
    assert next(answers, None) is None
    assert "retrying in 0 seconds: away" in caplog.text


def test_a_store_that_does_not_work_at_first_or_was_closed_ends_the_worker(yard, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(yard.store.jobs, "claim", lambda *args, **options: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            schedule.maintain(yard.worker(), interval=0)
    yard.remember(ANN)
    with pytest.raises(StoreClosed):
        schedule.maintain(yard.worker(), interval=0, report=lambda job: yard.store.close())


# In the background of a program


def upgrade(yard, *embedders):
    return Upgrader(yard.store, yard.tiers(*embedders), clock=yard.clock, delay=0)


def test_the_background_leaves_alone_what_another_process_embeds(yard):
    yard.remember(ANN, BOB)
    plan(yard.worker(scopes=[ANN]))
    held = yard.store.jobs.claim(["embed"], worker="other", now=yard.clock(), lease=LEASE)
    assert held.scope == ANN
    begun = threading.Event()
    upgrader = upgrade(yard, Calling(begun.set))
    upgrader.nudge([ANN])
    upgrader.nudge([BOB])
    assert begun.wait(PATIENCE)
    upgrader.stop()
    assert (yard.embedded(scopes=[ANN]), yard.embedded(scopes=[BOB])) == (0, 1)
    assert yard.store.jobs.heartbeat(held, now=yard.clock(), lease=LEASE)


def test_the_background_may_be_told_to_end_from_within(yard):
    """As when a memory that nobody closed is collected in that very thread."""
    yard.remember(ANN)
    ended = threading.Event()

    def end():
        upgrader.stop()
        ended.set()

    upgrader = upgrade(yard, Calling(end))
    upgrader.nudge([ANN])
    assert ended.wait(PATIENCE)
    upgrader.stop()


def test_the_background_gives_its_job_back_when_it_is_stopped(yard):
    yard.remember(ANN, count=STEP + 5)
    begun, stopping = threading.Event(), threading.Event()

    def step():
        begun.set()
        stopping.wait(PATIENCE)

    upgrader = upgrade(yard, Calling(step))
    upgrader.nudge([ANN])
    assert begun.wait(PATIENCE)
    stopper = threading.Thread(target=upgrader.stop)
    stopper.start()
    assert upgrader._stop.wait(PATIENCE)
    stopping.set()
    stopper.join()
    job = yard.job()
    assert (job.status, job.worker, job.retries_left, yard.embedded()) == ("pending", "", 3, STEP)


def test_the_background_tells_the_log_why_a_job_failed(yard, caplog):
    yard.remember(ANN)
    begun = threading.Event()
    upgrader = upgrade(yard, Calling(begun.set, fault="down"))
    upgrader.nudge([ANN])
    assert begun.wait(PATIENCE)
    upgrader.stop()
    assert f"background embedding of user:ann failed: {MODEL} cannot be reached." in caplog.text


def test_an_open_memory_nudges_for_its_own_scopes_and_those_of_its_views(place):
    begun = threading.Event()
    with Holdfast(
        open_store(place), [ANN], tiers=Tiers.of(Calling(begun.set)), background=True
    ) as hf:
        hf._upgrader._delay = 0
        hf.scoped(BOB).remember("Bob's tea")
        assert begun.wait(PATIENCE)
    store = open_store(place)
    assert (store.vectors.coverage(), [job.scope for job in store.jobs.list()]) == (
        {MODEL: 1},
        [BOB],
    )
    store.close()


# Rights


@pytest.fixture
def app_only(postgres_server, postgres_store_url):
    """The URL of a login that may use its scopes, and has no rights of upkeep."""
    import psycopg

    name, database = f"app_{uuid4().hex}", Path(postgres_store_url).name
    with psycopg.connect(postgres_store_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN IN ROLE holdfast_app")
        yield postgres_server.url(database, name)
        connection.execute(f"DROP ROLE {name}")


def test_a_login_without_rights_of_upkeep_embeds_its_own_scopes_in_the_background(app_only, clock):
    yard = Yard(app_only, clock)
    yard.remember(ANN, BOB)
    done = threading.Event()
    upgrader = upgrade(yard, FakeEmbedder(), Calling(done.set, identity="fake:last"))
    upgrader.nudge([ANN])
    assert done.wait(PATIENCE)
    upgrader.stop()
    assert (
        yard.embedded(scopes=[ANN]),
        yard.embedded("fake:last", [ANN]),
        yard.embedded(scopes=[BOB]),
    ) == (1, 1, 0)
    assert [job.status for job in yard.store.jobs.list([ANN])] == ["done", "done"]
    assert yard.drain(yard.worker(scopes=[BOB])) == [("done", "user:bob", MODEL)]
    with pytest.raises(StoreError, match="GRANT holdfast_app, holdfast_worker TO"):
        drain(yard.worker())
    yard.store.close()
