"""The store on a real Citus cluster: a coordinator and two workers.

`CITUS_POSTGRES` names the folder of a PostgreSQL that has Citus and pgvector; without it these
tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import test_postgres
from psycopg import errors
from test_postgres import Login, filled, new_logins, query, step

from holdfast.errors import StoreError
from holdfast.replication import copy
from holdfast.storage import SQLiteStore
from holdfast.storage import migrations_runner as migrations
from holdfast.storage.postgres import PostgresStore, citus, schema
from holdfast.storage.postgres.citus import DISTRIBUTED, LOCAL, REFERENCE
from holdfast.testing import StoreContract
from holdfast.testing.narrowing import populate
from holdfast.testing.scene import ANN, BOB, START, fact, listed, put, truth
from patience import wait_until
from servers import CITUS, CitusCluster, PostgresServer, empty_tables
from store.conftest import Opener

if not CITUS:
    pytest.skip("CITUS_POSTGRES names no PostgreSQL with Citus", allow_module_level=True)

PLACES = {
    **dict.fromkeys(DISTRIBUTED, "distributed"),
    **dict.fromkeys(REFERENCE, "reference"),
    **dict.fromkeys(LOCAL, "local"),
}


@pytest.fixture
def new_url(citus_cluster: CitusCluster) -> str:
    """A fresh, empty database on the cluster."""
    return citus_cluster.create_database(f"test_{uuid4().hex}")


@pytest.fixture(scope="module")
def tables(citus_cluster: CitusCluster) -> str:
    """A database whose tables are distributed."""
    url = citus_cluster.create_database(f"tables_{uuid4().hex}")
    PostgresStore(url).close()
    citus.distribute(url)
    return url


def places(url: str) -> dict[str, str]:
    """Where Citus keeps each of our tables, and whether those of a scope are kept together."""
    rows = query(
        url,
        "SELECT table_name::text, citus_table_type, colocation_id FROM citus_tables "
        "WHERE table_name::text LIKE 'holdfast.%%'",
    )
    assert len({together for _, kind, together in rows if kind == "distributed"}) <= 1
    return {name.removeprefix("holdfast."): kind for name, kind, _ in rows}


# The tests of one server, on distributed tables


@pytest.fixture
def postgres_server(citus_cluster: CitusCluster) -> PostgresServer:
    return citus_cluster.coordinator


@pytest.fixture
def postgres_store_url(tables: str) -> str:
    empty_tables(tables)
    return tables


@pytest.fixture
def postgres_url(new_url: str) -> str:
    PostgresStore(new_url).close()
    citus.distribute(new_url)
    return new_url


@pytest.fixture
def store(postgres_store_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres_store_url, clock=lambda: 0)
    yield opened
    opened.close()


@pytest.fixture
def login(postgres_server: PostgresServer) -> Iterator[Login]:
    with new_logins(postgres_server) as make:
        yield make


@pytest.fixture(scope="module")
def shared(citus_cluster: CitusCluster) -> tuple[str, int, int]:
    url = citus_cluster.create_database(f"isolation_{uuid4().hex}")
    PostgresStore(url).close()
    citus.distribute(url)
    return filled(url)


class TestContract(StoreContract):
    """The whole contract of a store."""

    @pytest.fixture
    def again(self, postgres_store_url: str) -> Iterator[Opener]:
        opened: list[PostgresStore] = []

        def open_one() -> PostgresStore:
            opened.append(PostgresStore(postgres_store_url, clock=lambda: 0))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, again: Opener) -> Any:
        return again()


class TestIsolation(test_postgres.TestIsolation):
    # Citus logs in to the workers with the roles, and moves no row to another scope.
    can_login = True
    refused = (
        (errors.InsufficientPrivilege, errors.FeatureNotSupported),
        "row-level security|modifying the partition value",
    )


class TestLogins(test_postgres.TestLogins):
    pass


class TestDoctor(test_postgres.TestDoctor):
    pass


class TestManyAtOnce(test_postgres.TestManyAtOnce):
    pass


class TestScrubbing(test_postgres.TestScrubbing):
    pass


# Distribution


def test_a_store_is_distributed_with_everything_in_it(new_url: str) -> None:
    filled(new_url)
    store = PostgresStore(new_url)
    before = truth(store, ANN, BOB)
    assert places(new_url) == {}
    assert citus.distribute(new_url)
    assert places(new_url) == PLACES
    # The store that was open goes on.
    assert truth(store, ANN, BOB) == before
    put(store, fact("one more"))
    assert "one more" in listed(store)
    assert list(store.check()) == []
    store.close()
    assert citus.distribute(new_url) == []


def test_a_distribution_that_is_cut_off_changes_nothing_and_can_be_run_again(new_url: str) -> None:
    filled(new_url)
    told: list[StoreError] = []

    def attempt() -> None:
        try:
            citus.distribute(new_url)
        except StoreError as error:
            told.append(error)

    with psycopg.connect(new_url) as reader:
        # It gets as far as the last of the tables.
        reader.execute("SELECT 1 FROM holdfast.memory_terms")
        distributing = Thread(target=attempt)
        distributing.start()
        waiting = (
            "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%memory_terms%%'"
        )
        wait_until(lambda: query(new_url, f"SELECT 1 {waiting}") != [])
        query(new_url, f"SELECT pg_terminate_backend(pid) {waiting}")
        distributing.join()
    assert len(told) == 1
    assert places(new_url) == {}
    store = PostgresStore(new_url)
    before = truth(store, ANN, BOB)
    assert list(store.check()) == []
    citus.distribute(new_url)
    assert places(new_url) == PLACES
    assert truth(store, ANN, BOB) == before
    store.close()


def test_a_table_of_a_later_version_waits_on_the_coordinator_until_it_is_distributed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (like,) = (one.sql for one in migrations.migrations("postgres") if one.name == "0006_spend.sql")
    steps = step(like.replace("spend", "later"))
    monkeypatch.setattr(migrations, "migrations", lambda backend: steps)
    monkeypatch.setattr(citus, "DISTRIBUTED", (*DISTRIBUTED, "later"))
    schema.migrate_tables(postgres_url)
    assert "later" not in places(postgres_url)
    citus.distribute(postgres_url)
    assert places(postgres_url) == PLACES | {"later": "distributed"}
    store = PostgresStore(postgres_url)
    put(store, fact("one"))
    assert list(store.check()) == []
    store.close()


def test_a_cluster_of_the_version_before_finds_its_jobs_by_their_time(
    new_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = migrations.migrations("postgres")
    (place,) = [at for at, one in enumerate(steps) if one.name.endswith("_due_jobs.sql")]
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "migrations", lambda backend: steps[:place])
        schema.migrate_tables(new_url)
        citus.distribute(new_url)
        for number, name in ((1, "ann"), (2, "bob")):
            query(
                new_url,
                "INSERT INTO holdfast.scopes (number, kind, key, created_at) "
                f"VALUES ({number}, 'user', '{name}', 0)",
            )
            query(new_url, f"INSERT INTO holdfast.totals (scope) VALUES ({number})")
            query(
                new_url,
                "INSERT INTO holdfast.jobs (scope, kind, key, status, token, worker, retries_left, "
                "error, watermark, done_watermark) "
                f"VALUES ({number}, 'tidy', 'k', 'pending', '', '', 3, '', 1, 0)",
            )
    schema.migrate_tables(new_url)
    assert places(new_url) == PLACES
    store = PostgresStore(new_url, clock=lambda: START)
    store.looks.watch("tidy", ["k"])
    assert store.looks.gather() == 2
    found = store.looks.due("tidy", ["k"], now=0, limit=10)
    assert [look.scope for look in found] == [ANN, BOB]
    store.looks.settle([(look, None) for look in found])
    put(store, fact("one", scope=BOB))
    assert (store.looks.gather(), store.looks.gather()) == (1, 0)
    claimed = [
        store.jobs.claim(["tidy"], worker="w", now=START, lease=1, after=after)
        for after in (None, ANN)
    ]
    assert [one and one.scope for one in claimed] == [ANN, BOB]
    store.close()


def test_a_file_is_copied_to_a_cluster_and_an_interrupted_copy_goes_on(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cut(Exception):
        pass

    copied = count()

    def cut(rows: int) -> None:
        if next(copied) == 5:
            raise Cut

    monkeypatch.setattr(copy, "STEP", 1)
    source, target = SQLiteStore(tmp_path / "memory.db"), PostgresStore(postgres_url)
    for scope in (ANN, BOB):
        populate(source, scope)
    with pytest.raises(Cut):
        copy.copy_store(source, target, progress=cut)
    done = copy.copy_store(source, target)
    assert sum(done.already_there.values()) > 0
    assert truth(target, ANN, BOB) == truth(source, ANN, BOB)
    assert list(target.check()) == []
    source.close()
    target.close()


def test_the_commands_of_the_how_to_work_on_a_cluster(new_url: str, cli: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "postgres.md").read_text("utf-8")
    lines = page.split("## Citus cluster")[1].splitlines()
    commands = [line.split("#")[0].split()[1:] for line in lines if line.startswith("holdfast ")]
    assert {command[1] for command in commands} == {"init", "distribute"}
    for command in commands:
        words = [new_url if "://" in word else word for word in command]
        assert cli(*words).code == 0, command
    assert places(new_url) == PLACES


def test_init_offers_distribution_and_status_says_what_was_done(new_url: str, cli: Any) -> None:
    done = cli("store", "init", new_url)
    assert f"2 workers, {len(DISTRIBUTED)} tables not distributed yet" in done.out
    assert f"`holdfast store distribute {new_url}`" in done.out
    empty = json.loads(cli("store", "status", new_url, "--json").out)
    done = cli("store", "init", new_url, "--distribute")
    assert (done.code, places(new_url)) == (0, PLACES)
    assert "citus: distributed over 2 workers" in done.out
    filled(new_url)
    now = json.loads(cli("store", "status", new_url, "--json").out)
    assert (now["workers"], now["distributed"]) == (2, sorted(DISTRIBUTED))
    assert now["bytes"] > empty["bytes"]


def test_the_rows_of_an_owner_are_on_one_worker(citus_cluster: CitusCluster, new_url: str) -> None:
    _, ann, bob = filled(new_url)
    citus.distribute(new_url)
    for scope in (ann, bob):
        nodes = query(
            new_url,
            "SELECT DISTINCT s.nodeport FROM citus_shards s JOIN pg_dist_partition p ON "
            "p.logicalrelid = s.table_name WHERE p.partmethod = 'h' AND s.shardid = "
            f"get_shard_id_for_distribution_column(s.table_name, {scope})",
        )
        assert len(nodes) == 1
        assert nodes[0][0] in [worker.port for worker in citus_cluster.workers]
