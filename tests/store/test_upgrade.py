"""Stores that version 0.1.0 wrote open with today's code: every noun, undo, recall, and the marks
of progress, so that nothing is extracted twice and nothing is left out.

`tests/fixtures/write_0_1_0.py` says what is in them.
"""

from __future__ import annotations

import gzip
import subprocess
from contextlib import closing, suppress
from pathlib import Path

import apsw
import psycopg
import pytest

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import ModelFailed
from holdfast.extraction.coding.project_settings import Building
from holdfast.extraction.job_types import Worker
from holdfast.extraction.policy import Policy
from holdfast.extraction.session_extraction import end_silent
from holdfast.extraction.vocabulary import vocabulary
from holdfast.maintenance import project_jobs
from holdfast.maintenance.job_runner import drain
from holdfast.models.embeddings.tiers import Tiers
from holdfast.records.roots import RecordRoot
from holdfast.records.session_notes import Extractor
from holdfast.storage import migrations_runner, open_store
from holdfast.storage.postgres.schema import migrate_tables
from holdfast.storage.sqlite.store import SQLiteStore
from holdfast.types import DAY, Scope

FIXTURES = Path(__file__).parents[1] / "fixtures"
# Two days after the last thing that was written.
LATER = 1_772_453_640_000_000 + 2 * DAY
UNREAD = ["private", "failed", "continued", "unread", "undone"]
EVERY = ("active", "held", "proposed", "archived", "superseded")


@pytest.fixture
def old_sqlite(tmp_path):
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress((FIXTURES / "holdfast-0.1.0.db.gz").read_bytes()))
    return path


@pytest.fixture
def old_postgres(postgres_server, postgres_url):
    """A database with the dump, which `psql` of the same server reads back."""
    # The roles of a server are not in the dump of a database.
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for role in ("holdfast_app", "holdfast_worker"):
            with suppress(psycopg.errors.DuplicateObject):
                connection.execute(f"CREATE ROLE {role} NOLOGIN".encode())
    subprocess.run(
        [postgres_server.binaries / "psql", "-q", "-v", "ON_ERROR_STOP=1", postgres_url],
        input=gzip.decompress((FIXTURES / "holdfast-0.1.0.pg.sql.gz").read_bytes()),
        check=True,
        capture_output=True,
    )
    migrate_tables(postgres_url)
    return postgres_url


@pytest.fixture(params=["sqlite", "postgres"])
def place(request):
    """Where a store of version 0.1.0 is."""
    return request.getfixturevalue(f"old_{request.param}")


@pytest.fixture
def hf(place):
    with Holdfast.open(
        place,
        scope="user:ann",
        settings=Settings(embedding_models="none"),
        clock=lambda: LATER,
        background=False,
    ) as opened:
        yield opened


@pytest.fixture
def shop(hf):
    """The project in the same store."""
    (scope,) = (one for one in hf.store.scopes() if one.kind == "project")
    return hf.scoped(scope)


def marks(hf, sink):
    """How far a sink has read each session."""
    found = hf.store.progress.list(hf.scopes[0])
    return {one.session: one for one in found if one.sink == sink}


def facts(hf):
    return [one.content for one in hf.list(kinds=["fact"], statuses=EVERY, limit=None)]


def test_every_noun_is_there(hf, shop):
    assert list(hf.admin.check()) == []
    kinds = hf.store.counts(hf.scopes)
    assert set(kinds) == {"turn", "fact", "rule", "episode"}
    assert set(kinds["fact"]) == {"active", "archived", "proposed", "superseded"}
    assert [one.content for one in hf.reviews.list()] == ["Ann is allergic to peanuts."]
    assert hf.entities.get("Robert Smith").entity.type == "person"
    assert [one.body["content"] for one in hf.sessions.messages("learned")] == [
        "My dog is called Rex."
    ]
    assert hf.sessions.profile()["enabled"] is True
    assert len(hf.sessions.list()) == 8
    assert {(job.kind, job.status) for job in hf.store.jobs.list()} >= {("project-build", "done")}
    assert {one.title for one in shop.list(kinds=["fact", "rule"]) if one.title} >= {
        "Run the tests",
        "Use Postgres instead of SQLite",
    }


def test_memories_are_recalled(hf):
    assert hf.recall("What does Ann drink in the morning?")[0].memory.content == (
        "Ann drinks black tea in the morning."
    )
    assert hf.recall("What is her dog called?")[0].memory.content.endswith("Rex")


def test_an_export_can_be_imported(hf, tmp_path):
    lines = list(hf.admin.export())
    with Holdfast.open(tmp_path / "new.db", scope="user:ann", background=False) as new:
        new.admin.import_(lines)
        assert list(new.admin.export()) == lines
        assert [one.id for one in new.store.sessions.unread(new.scopes)] == UNREAD


def test_the_four_marks_are_progress_now(hf, shop):
    assert {name: one.position for name, one in marks(hf, "facts").items()} == {
        "considered": 1,
        "continued": 0,
        "failed": -1,
        "learned": 2,
        "private": 2,
        "undo-me": 0,
    }
    assert marks(hf, "facts")["private"].detail == {"private": True}
    assert marks(hf, "facts")["failed"].detail["failed"]["error"] == "The model is overloaded."
    assert marks(hf, "summary").keys() == {"continued", "learned", "undo-me"}
    assert marks(hf, "summary")["learned"].detail == {"outcome": "extracted"}
    assert marks(shop, "summary").keys() == {"indexed"}
    assert marks(shop, "records").keys() == {"extracted", "extracted-continued", "indexed"}
    assert marks(shop, "projects").keys() == {
        "built",
        "extracted",
        "extracted-continued",
        "indexed",
    }


def test_turns_that_were_considered_are_not_read_again(hf):
    judged = hf.sessions.extract("considered")
    assert [one.candidate.quote for one in judged] == ["My sister is called Ingrid"]
    assert hf.sessions.extract("considered") == []


def test_a_session_that_was_read_is_not_read_again_and_the_others_are(hf):
    assert [one.id for one in hf.store.sessions.unread(hf.scopes)] == UNREAD
    before = facts(hf)
    assert hf.sessions.learn("learned").new == 0
    assert facts(hf) == before
    assert hf.sessions.learn().new == 4
    learned = set(facts(hf)) - set(before)
    assert {one.split()[-1] for one in learned} == {"violin", "Olav", "Misty", "Volvo"}
    assert hf.store.sessions.unread(hf.scopes) == []


def test_what_was_private_stays_so(hf):
    hf.sessions.learn("private")
    assert not any("debt" in one for one in facts(hf))


def test_a_failure_is_still_told_and_tried_again(hf):
    assert hf.stats()["problems"] == {"session failed": "The model is overloaded."}
    hf.sessions.extract("failed")
    assert hf.stats()["problems"] == {}


def test_a_run_of_the_old_version_can_be_undone_with_its_marks(hf):
    (run,) = {
        event.run
        for event in hf.admin.log(limit=None)
        if event.verb == "learn" and event.target == '["undo-me"]'
    }
    hf.undo(run)
    assert "undo-me" not in marks(hf, "summary") | marks(hf, "facts")
    assert not any("Star" in one for one in facts(hf))
    assert "undo-me" in [one.id for one in hf.store.sessions.unread(hf.scopes)]
    hf.undo(hf.last_run)
    assert marks(hf, "summary")["undo-me"].detail == {"outcome": "extracted"}
    assert any("Star" in one for one in facts(hf))


def test_the_latest_run_is_one_that_somebody_began_and_not_the_upgrade(hf):
    assert {event.verb for event in hf.undo()} == {"consolidate"}


def test_an_episode_that_was_consolidated_is_not_read_again(hf):
    asked = []
    hf.admin.consolidate(lambda prompt: asked.append(prompt) or "fact: Saturdays are quiet.")
    assert "Rolled back on Saturday" in asked[0]
    assert "Deployed on Friday" not in asked[0]


def test_records_are_made_of_what_was_not_read_for_them(shop, tmp_path):
    root = RecordRoot("project", shop.scopes[0], tmp_path)
    extractor = Extractor(
        shop.store,
        shop.clock,
        "test",
        shop.admin.write,
        {"project": root},
        Policy(vocabulary("general")),
    )
    sessions = sorted(shop.sessions.list(), key=lambda one: one.id)
    done = extractor.run(sessions, plan=False, progress=lambda number, total: None)
    assert done.skipped == 2, "extracted and indexed"
    assert done.failures == {}
    assert {one.session for one in done.notes} == {"built", "built-later", "extracted-continued"}
    assert not any("small commits" in one.note.quote for one in done.notes)
    again = extractor.run(sessions, plan=False, progress=lambda number, total: None)
    assert (again.skipped, again.notes) == (5, [])


def test_only_a_session_that_is_new_is_read_for_the_memory_of_the_project(shop, tmp_path):
    building = Building(tmp_path)
    worker = Worker(shop.store, Tiers.of(), shop.clock, shop.scopes, name="w", building=building)
    assert [
        one.id for one in project_jobs.plan(shop.store, shop.scopes[0], building, LATER).read
    ] == ["built-later"]
    assert project_jobs.build_memory(worker).read == 1
    assert project_jobs.plan(shop.store, shop.scopes[0], building, LATER).read == []


def test_purging_a_session_takes_its_marks_along(hf):
    hf.admin.purge(session="learned")
    assert "learned" not in marks(hf, "facts") | marks(hf, "summary")
    assert not any("learned" in event.target for event in hf.admin.log(limit=None))


def test_a_store_that_is_synced_knows_what_was_read(hf, tmp_path):
    other = tmp_path / "other.db"
    hf.admin.sync(other)
    with Holdfast.open(other, scope="user:ann", background=False) as twin:
        for sink in ("facts", "summary"):
            assert marks(twin, sink) == marks(hf, sink)


def test_a_model_that_fails_again_leaves_the_position(hf):
    def fail(prompt):
        raise ModelFailed("Still overloaded.")

    hf.sessions.extract("considered", complete=fail)
    assert marks(hf, "facts")["considered"].position == 1
    assert [one.candidate.quote for one in hf.sessions.extract("considered")] == [
        "My sister is called Ingrid"
    ]


# The version before jobs had a time at which they are due


@pytest.fixture(params=["sqlite", "postgres"])
def before_due(request, tmp_path, monkeypatch):
    """A store of that schema with jobs of every status, of two owners, and how it is opened."""
    backend = request.param
    steps = migrations_runner.migrations(backend)
    (place,) = [at for at, one in enumerate(steps) if one.name.endswith("_due_jobs.sql")]
    with monkeypatch.context() as patched:
        patched.setattr(migrations_runner, "migrations", lambda backend: steps[:place])
        if backend == "sqlite":
            url = tmp_path / "memory.db"
            SQLiteStore(url).close()
        else:
            url = request.getfixturevalue("postgres_url")
            migrate_tables(url)
    jobs = [
        (1, "pending", None, None, 3, 0),
        (1, "done", None, None, 3, 9),
        (2, "running", 50, None, 3, 0),
        (2, "running", 150, None, 3, 0),
        (2, "error", None, 70, 2, 0),
        (2, "error", None, 30, 0, 0),
    ]
    rows = ", ".join(
        f"({scope}, 'tidy', 'k{key}', '{status}', 'token', 'w', {lease or 'NULL'}, "
        f"{retry or 'NULL'}, {left}, '', 9, {done})"
        for key, (scope, status, lease, retry, left, done) in enumerate(jobs)
    )
    filling = (
        "INSERT INTO scopes (number, kind, key, created_at) VALUES (1, 'user', 'ann', 0), "
        "(2, 'user', 'bob', 0)",
        "INSERT INTO sessions (scope, id, agent, started_at, last_activity, end_reason) "
        "VALUES (1, 's', '', 0, 0, '')",
        "INSERT INTO jobs (scope, kind, key, status, token, worker, lease_until, retry_at, "
        f"retries_left, error, watermark, done_watermark) VALUES {rows}",
    )
    if backend == "sqlite":
        connection = apsw.Connection(str(url))
        for statement in filling:
            connection.execute(statement)
        connection.close()
    else:
        with psycopg.connect(url, autocommit=True, options="-c search_path=holdfast") as connection:
            for statement in (*filling, "INSERT INTO totals (scope) VALUES (1), (2)"):
                connection.execute(statement.encode())
        migrate_tables(url)
    with closing(open_store(url)) as store:
        yield store


def test_jobs_that_were_waiting_are_claimed_when_their_time_has_come(before_due):
    claimed = []
    while job := before_due.jobs.claim(["tidy"], worker="w", now=100, lease=1000):
        claimed.append((str(job.scope), job.key, job.retries_left))
    assert claimed == [("user:ann", "k0", 3), ("user:bob", "k2", 2), ("user:bob", "k4", 2)]
    assert before_due.jobs.waiting("tidy", now=150) == 1
    assert list(before_due.check()) == []


def test_every_owner_is_looked_at_once(before_due):
    before_due.looks.watch("tidy", ["k"])
    assert before_due.looks.gather() == 2
    found = before_due.looks.due("tidy", ["k"], now=0, limit=10)
    assert [str(look.scope) for look in found] == ["user:ann", "user:bob"]
    before_due.looks.settle([(look, None) for look in found])
    assert (before_due.looks.gather(), before_due.looks.due("tidy", ["k"], now=0, limit=10)) == (
        0,
        [],
    )


def test_a_session_that_was_open_ends_when_it_has_been_idle(before_due):
    end_silent(Worker(before_due, Tiers.of(), lambda: LATER))
    ((session,), still_open) = (
        before_due.sessions.list([Scope("user", "ann")]),
        before_due.sessions.unled(),
    )
    assert (session.ended_at, still_open) == (LATER, [])


def test_a_worker_for_all_owners_finds_what_version_0_1_0_left(hf):
    worker = Worker(hf.store, hf.tiers, hf.clock)
    done = []
    drain(worker, done.append)
    read = {job.key for job in done if job.kind == "learn" and job.scope == hf.scopes[0]}
    assert read >= set(UNREAD)
    assert (drain(worker), hf.store.sessions.unread()) == (0, [])
