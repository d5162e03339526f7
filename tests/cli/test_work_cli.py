"""`holdfast worker`: what its commands do, print and return, alone and as several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast.extraction.job_types import worker_name
from holdfast.maintenance import schedule
from holdfast.maintenance.embedding_jobs import STEP
from holdfast.models.embeddings import tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import open_store
from holdfast.types import Scope
from patience import PATIENCE

MODEL = "fake:bag-of-words"
ANN, BOB = Scope("user", "ann"), Scope("user", "bob")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path, monkeypatch):
    """Where the store of this test is; every command finds it."""
    found = str(tmp_path / "memory.db")
    if request.param == "postgres":
        found = request.getfixturevalue("postgres_store_url")
    monkeypatch.setenv("HOLDFAST_STORE", found)
    return found


@pytest.fixture(autouse=True)
def _settings(monkeypatch):
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "fake")
    monkeypatch.setenv("HOLDFAST_MAINTENANCE", "decay 0 4 * * *")
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def store(place):
    opened = open_store(place)
    yield opened
    opened.close()


def remember(*scopes, count=1):
    from holdfast import Holdfast
    from holdfast.config import load

    for scope in scopes:
        with Holdfast.open(scope=scope, settings=load(), background=False) as hf:
            hf.remember_many([f"note {number} of {scope}" for number in range(count)])


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def command(*args):
    return [sys.executable, "-m", "holdfast", *args]


def test_once_does_what_is_due_in_every_scope_and_stops(cli, store):
    remember("user:ann", "user:bob")
    assert cli("worker", "once") == (
        0,
        f"Done: embed {MODEL} for user:ann.\nDone: embed {MODEL} for user:bob.\n",
        "",
    )
    assert store.vectors.coverage() == {MODEL: 2}
    assert cli("worker", "once") == (0, "Nothing is due.\n", "")
    assert cli("worker", "once", "--json") == (0, "", "")


def test_scopes_narrow_the_work_and_the_list(cli, store):
    remember("user:ann", "user:bob", "user:eve")
    done = cli("worker", "once", "--json", "--scope", "user:bob", "--scope", "user:eve")
    assert [(job["scope"], job["status"]) for job in lines(done.out)] == [
        ("user:bob", "done"),
        ("user:eve", "done"),
    ]
    assert store.vectors.coverage([ANN]) == {}
    assert [
        job["scope"]
        for job in json.loads(cli("worker", "jobs", "--json", "--scope", "user:eve").out)
    ] == ["user:eve"]


def test_jobs_are_listed_for_people_and_for_scripts(cli, store):
    assert cli("worker", "jobs") == (0, "No jobs.\n", "")
    assert json.loads(cli("worker", "jobs", "--json").out) == []
    remember("user:ann")
    cli("worker", "once")
    assert cli("worker", "jobs").out.rstrip("\n").split("\t") == [
        "user:ann",
        "embed",
        MODEL,
        "done",
        "3",
        "",
        "",
        "",
        "",
    ]
    assert json.loads(cli("worker", "jobs", "--json").out) == [
        {
            "scope": "user:ann",
            "kind": "embed",
            "key": MODEL,
            "status": "done",
            "retries_left": 3,
            "lease_until": None,
            "retry_at": None,
            "worker": "",
            "error": "",
        }
    ]


def test_a_job_whose_worker_was_lost_says_so(cli, store):
    store.jobs.enqueue(ANN, "embed", MODEL, watermark=1)
    store.jobs.claim(["embed"], worker="host:12", now=0, lease=1)
    (job,) = json.loads(cli("worker", "jobs", "--json").out)
    assert (job["status"], job["error"]) == ("error", "Its worker host:12 was lost.")
    assert cli("worker", "once").out == f"Done: embed {MODEL} for user:ann.\n"


def test_a_job_that_failed_is_told_with_its_reason_and_its_next_try(cli, store, monkeypatch):
    monkeypatch.setattr(tiers, "embedder_for", lambda spec, **options: FakeEmbedder(fault="down"))
    remember("user:ann")
    done = cli("worker", "once")
    assert done.code == 0
    said = f"Failed: embed {MODEL} for user:ann. {MODEL} cannot be reached. Next try after 20"
    assert done.out.startswith(said)
    (job,) = json.loads(cli("worker", "jobs", "--json").out)
    assert (job["status"], job["error"], job["retries_left"]) == (
        "error",
        f"{MODEL} cannot be reached.",
        2,
    )
    assert job["retry_at"]
    assert cli("worker", "once").out == "Nothing is due.\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_work_after_its_step_and_gives_the_job_back(
    cli, store, monkeypatch, number
):
    class Interrupted(FakeEmbedder):
        """The first request of a model is also the moment of the signal."""

        def embed_documents(self, texts):
            signal.getsignal(number)(number, None)
            return super().embed_documents(texts)

    monkeypatch.setattr(tiers, "embedder_for", lambda spec, **options: Interrupted())
    remember("user:ann", count=STEP + 1)
    before = signal.getsignal(number)
    done = cli("worker", "run")
    assert (done.code, done.out) == (0, f"Given back: embed {MODEL} for user:ann.\n")
    assert signal.getsignal(number) is before
    (job,) = store.jobs.list()
    assert (job.status, job.worker, job.retries_left) == ("pending", "", 3)
    assert store.vectors.coverage() == {MODEL: STEP}


@contextmanager
def working(*args):
    """A worker in a process of its own, as soon as it has begun."""
    process = subprocess.Popen(
        command("worker", "run", *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        first = process.stderr.readline()
        assert first.startswith("Working on "), first
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_without_work_ends_at_once_when_told_to(place, number):
    with working("--interval", "600") as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "Stopped.\n")


def test_a_worker_finds_what_is_written_while_it_waits(place, store):
    with working("--interval", "0.05", "--json") as process:
        remember("user:ann", "user:bob")
        found = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert Counter(job["scope"] for job in found) == {"user:ann": 1, "user:bob": 1}
        assert {job["worker"].split(":")[1] for job in found} == {str(process.pid)}
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert store.vectors.coverage() == {MODEL: 2}


def test_a_worker_runs_the_tasks_of_its_schedule(cli, store, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MAINTENANCE", "decay 0 4 * * *; reflect 0 3 * * 0")
    monkeypatch.setattr(schedule, "next_time", lambda entry, after: after)
    ran = []

    def once(worker, tasks, told):
        ran.append(tasks)
        worker.stop.set()
        return 0

    monkeypatch.setattr(schedule, "once", once)
    remember("user:ann")
    done = cli("worker", "run", "--interval", "0.01")
    assert (done.code, ran) == (0, [["decay", "reflect"]])
    assert done.out == f"Done: embed {MODEL} for user:ann.\n"
    said = "Schedule (UTC): decay 0 4 * * *; reflect 0 3 * * 0. Ctrl-C ends it.\nStopped.\n"
    assert done.err.endswith(said)


def test_an_invalid_schedule_is_refused(cli, place, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MAINTENANCE", "sleep 0 4 * * *")
    done = cli("worker", "run")
    assert (done.code, "Unknown task 'sleep'" in done.err) == (2, True)


def test_several_workers_do_every_job_exactly_once(place, store):
    scopes = [f"user:number-{number}" for number in range(12)]
    remember(*scopes, count=5)
    options = {"stdout": subprocess.PIPE, "text": True}
    crew = [subprocess.Popen(command("worker", "once", "--json"), **options) for _ in range(3)]
    finished = [job for process in crew for job in lines(process.communicate(timeout=PATIENCE)[0])]
    assert [process.returncode for process in crew] == [0, 0, 0]
    assert Counter((job["status"], job["scope"]) for job in finished) == Counter(
        ("done", scope) for scope in scopes
    )
    assert store.vectors.coverage() == {MODEL: 12 * 5}


def test_a_login_without_rights_of_upkeep_is_told_what_to_grant(
    cli, monkeypatch, postgres_server, postgres_store_url
):
    import psycopg

    name = f"app_{uuid4().hex}"
    monkeypatch.setenv("HOLDFAST_STORE", postgres_server.url(Path(postgres_store_url).name, name))
    with psycopg.connect(postgres_store_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN IN ROLE holdfast_app")
        remember("user:ann")
        for args in (("worker", "run"), ("worker", "once"), ("worker", "jobs")):
            done = cli(*args)
            assert (done.code, done.out) == (1, "")
            assert "GRANT holdfast_app, holdfast_worker TO" in done.err
        assert (
            cli("worker", "once", "--scope", "user:ann").out
            == f"Done: embed {MODEL} for user:ann.\n"
        )
        assert cli("worker", "jobs", "--scope", "user:ann").out.startswith("user:ann\tembed")
        connection.execute(f"DROP ROLE {name}")


def test_the_commands_explain_themselves(cli):
    for name in ("run", "once", "plan", "jobs", "decay"):
        done = cli("worker", name, "--help")
        assert (done.code, f"Usage: holdfast worker {name}" in done.out, "--json" in done.out) == (
            0,
            True,
            True,
        )


def test_an_interval_of_nothing_is_refused(cli):
    assert cli("worker", "run", "--interval", "0").code == 2


def test_a_worker_is_named_by_its_host_and_process():
    assert worker_name().rsplit(":", 1)[1] == str(os.getpid())
