"""The PostgreSQL servers that other tests rely on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from patience import PATIENCE
from servers import PostgresServer, plain_binaries, shared_server, start_server


def query(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Runs one statement and commits it."""
    with psycopg.connect(url, connect_timeout=10) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_answers(postgres_url: str) -> None:
    assert query(postgres_url, "SELECT 1") == [(1,)]


def test_has_vectors(postgres_url: str) -> None:
    query(postgres_url, "CREATE EXTENSION vector")
    # Eight numbers: with fewer, this build of pgvector takes instructions that not every processor
    # has.
    far = "'[0, 3, 0, 0, 0, 0, 0, 0]'::vector <=> '[4, 0, 0, 0, 0, 0, 0, 0]'"
    assert query(postgres_url, f"SELECT {far}") == [(1.0,)]


def test_databases_are_separate(postgres_server: PostgresServer, postgres_url: str) -> None:
    query(postgres_url, "CREATE TABLE t AS SELECT 7 AS n")
    name = postgres_url.rpartition("/")[2]
    empty, copy = f"{name}_empty", f"{name}_copy"
    postgres_server.create_database(empty)
    postgres_server.create_database(copy, template=name)
    try:
        assert query(postgres_server.url(copy), "SELECT n FROM t") == [(7,)]
        with pytest.raises(psycopg.errors.UndefinedTable):
            query(postgres_server.url(empty), "SELECT n FROM t")
    finally:
        postgres_server.drop_database(empty)
        postgres_server.drop_database(copy)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A durable server that a test may treat as it likes, if it runs afterwards."""
    with start_server(durable=True) as server:
        yield server
    assert not server.running()
    assert not server.data.parent.exists()


def test_a_commit_survives_a_kill(own_server: PostgresServer) -> None:
    url = own_server.url("postgres")
    query(url, "CREATE TABLE kept (n int)")
    with psycopg.connect(url) as connection:
        query(url, "INSERT INTO kept VALUES (7)")
        own_server.kill()
        assert not own_server.running()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        query(url, "SELECT 1")
    own_server.start()
    assert query(url, "SELECT n FROM kept") == [(7,)]


def test_stops_and_starts_again(own_server: PostgresServer) -> None:
    own_server.stop()
    assert not own_server.running()
    own_server.start()
    assert query(own_server.url("postgres"), "SELECT 1") == [(1,)]
    with pytest.raises(RuntimeError, match="Is another postmaster"):
        own_server.start()


def test_a_replica_follows(own_server: PostgresServer) -> None:
    with own_server.replica() as replica:
        query(own_server.url("postgres"), "CREATE TABLE followed AS SELECT 7 AS n")
        wait_until(
            lambda: (
                query(replica.url("postgres"), "SELECT to_regclass('followed') IS NOT NULL")
                == [(True,)]
            )
        )
        assert query(replica.url("postgres"), "SELECT n FROM followed") == [(7,)]
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            query(replica.url("postgres"), "INSERT INTO followed VALUES (8)")


@pytest.mark.skipif(plain_binaries() is None, reason="needs Debian's PostgreSQL")
def test_a_plain_server_has_no_vectors_but_takes_options() -> None:
    with start_server(binaries=plain_binaries(), options={"application_name": "it's"}) as server:
        assert query(server.url("postgres"), "SHOW application_name") == [("it's",)]
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            query(server.url("postgres"), "CREATE EXTENSION vector")


def test_the_last_one_out_removes_a_shared_server(tmp_path: Path) -> None:
    with shared_server(tmp_path, owner=os.getpid()) as first:
        with shared_server(tmp_path, owner=os.getpid()) as second:
            assert second == first
        assert first.running()
    assert not first.running()
    assert not first.data.parent.exists()


def test_a_server_goes_when_its_owner_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        server = start_server(owner=owner.pid)
        owner.kill()
    wait_until(lambda: not server.data.parent.exists())
    assert not server.running()


def test_a_failed_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: str(folder))
    with pytest.raises(FileNotFoundError):
        start_server(binaries=tmp_path / "no" / "such" / "bin")
    assert not folder.exists()
