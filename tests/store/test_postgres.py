"""What only a server can suffer: owners side by side, missing rights, many that set it up at once,
no pgvector.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from psycopg import errors, sql
from test_sqlite import answer, answers, forked, scene

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import InvalidInput, StoreBusy, StoreError, StoreTooNew
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage import Filter, SQLiteStore, Store
from holdfast.storage import migrations_runner as migrations
from holdfast.storage.migrations_runner import Migration
from holdfast.storage.migrations_runner import migrations as known_migrations
from holdfast.storage.postgres import (
    PostgresStore,
    connections,
    driver_errors,
    schema,
    scoped_session,
)
from holdfast.storage.postgres.connections import Connections
from holdfast.storage.postgres.scoped_session import APP, WORKER
from holdfast.storage.postgres.vacuum import dead_rows
from holdfast.testing.narrowing import populate
from holdfast.testing.scene import (
    ANN,
    BOB,
    MODEL,
    START,
    at,
    change,
    fact,
    listed,
    purge,
    put,
    put_one,
    set_status,
    truth,
    unit,
    write,
)
from holdfast.testing.searching import VectorsContract, vectorised
from holdfast.types import Memory, Progress, Scope, Session
from patience import PATIENCE
from servers import PostgresServer, empty_tables, plain_binaries, start_server

TABLES = [
    name
    for step in known_migrations("postgres")
    for name in re.findall(r"^CREATE TABLE (\w+)", step.sql, re.M)
]
# What workers have to look at; nobody who acts for an owner reads or writes it.
UPKEEP = ("looks", "watches")
OWNED = [name for name in TABLES if name not in ("meta", "scopes", *UPKEEP)]
WORDS_ONLY = Settings(embedding_models="none")

Rows = list[tuple[Any, ...]]
Login = Callable[..., str]


def query(url: str, statement: str, *values: Any) -> Rows:
    """Runs one statement behind the store's back, and commits it."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def store(postgres_store_url: str) -> Iterator[PostgresStore]:
    """A store without a memory."""
    opened = PostgresStore(postgres_store_url, clock=lambda: START)
    yield opened
    opened.close()


def test_a_larger_batch_takes_no_more_statements(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    execute = psycopg.Connection.execute

    def counting(self: Any, statement: Any, *args: Any, **options: Any) -> Any:
        ran.append(statement)
        return execute(self, statement, *args, **options)

    def batch(owner: str, sessions: int) -> int:
        mine = hf.scoped(owner)
        mine.capture("first", "user", "hello")
        ran.clear()
        mine.capture_many(
            [
                {
                    "session": f"s{number}",
                    "role": "user",
                    "author": f"Speaker {number}",
                    "text": f"@friend{number}{turn} and #topic{number}{turn} met.",
                }
                for number in range(sessions)
                for turn in range(3)
            ]
        )
        assert len(mine.entities.list()) == sessions * (1 + 2 * 3)
        return len(ran)

    with Holdfast(store, [ANN], settings=WORDS_ONLY, background=False) as hf:
        monkeypatch.setattr(psycopg.Connection, "execute", counting)
        # Twice, because the first time has types to look up.
        batch("user:warm", 2)
        assert batch("user:large", 40) == batch("user:small", 4)


def test_a_memory_without_a_vector_is_found_by_the_key_of_the_vectors(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the scope alone, each memory would be compared with every vector of it."""
    first, *rest = put(store, *(fact(f"number {number}") for number in range(20)))
    store.vectors.add([ANN], MODEL, {one.seq: unit(one.seq) for one in rest})
    asked: list[tuple[Any, ...]] = []
    read = store.read

    def reading(reach: Any, statement: str, values: Any = ()) -> Rows:
        asked.append((reach, statement, values))
        return read(reach, statement, values)

    monkeypatch.setattr(store, "read", reading)
    assert store.vectors.missing(MODEL, 1, [ANN]) == [first]
    looks = [one for one in asked if "FROM vectors v" in one[1]]
    assert looks
    for reach, statement, values in looks:
        plan = [line for (line,) in read(reach, f"EXPLAIN {statement}", values)]
        assert [line for line in plan if "Index Cond" in line and "seq = m.seq" in line]


def test_memories_without_a_vector_are_read_in_order_and_not_sorted(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To sort them, every step of an embedding would read all that are left."""
    stored = put(store, *(fact(f"number {number}") for number in range(20)))
    plans: list[str] = []
    read = store.read_in_order

    def reading(reach: Any, statement: str, values: Any = ()) -> Rows:
        plans.extend(line for (line,) in read(reach, f"EXPLAIN {statement}", values))
        return read(reach, statement, values)

    monkeypatch.setattr(store, "read_in_order", reading)
    waiting = store.vectors.missing(MODEL, 5, [ANN])
    assert waiting == stored[:-6:-1]
    assert store.vectors.missing(MODEL, 5, [ANN], after=waiting[-1]) == stored[-6:-11:-1]
    assert any("Index Scan Backward" in line for line in plans)
    assert not any("Sort" in line for line in plans)


@pytest.mark.parametrize(
    "values",
    [
        ("a", "b"),
        ('"', "\\", '\\"', "\\\\"),
        ("NULL", None, "null", ""),
        ("{}", "a,b", " a ", "'", "%s", "\n\t\r", "🎈"),
        (None,),
    ],
)
def test_texts_of_an_array_arrive_as_they_were_sent(
    postgres_store_url: str, values: tuple[str | None, ...]
) -> None:
    sent = scoped_session._array("text", values)
    ((arrived,),) = query(postgres_store_url, "SELECT %s::text[]", sent)
    assert arrived == list(values)


def test_other_values_of_an_array_arrive_as_they_were_sent(postgres_store_url: str) -> None:
    def arrived(kind: str, *values: Any) -> Any:
        sent = scoped_session._array(kind, values)
        return query(postgres_store_url, f"SELECT %s::{kind}[]", sent)[0][0]

    assert arrived("bigint", 1, None, -(2**63)) == [1, None, -(2**63)]
    assert arrived("double precision", 0.1, 1e300, 3, None) == [0.1, 1e300, 3.0, None]
    assert arrived("bytea", b"\x00\xff\\", b"", None) == [b"\x00\xff\\", b"", None]
    # One value, not two; and nothing is rounded.
    for value in ("1,2", 1.5, True):
        with pytest.raises(errors.InvalidTextRepresentation):
            arrived("bigint", value)
    for kind, value in (("text", {"a": 1}), ("double precision", float("nan"))):
        with pytest.raises(psycopg.DataError):
            arrived(kind, value)


@contextmanager
def database(server: PostgresServer) -> Iterator[str]:
    """The URL of a new, empty database."""
    name = f"test_{uuid4().hex}"
    server.create_database(name)
    try:
        yield server.url(name)
    finally:
        server.drop_database(name)


@contextmanager
def new_logins(server: PostgresServer) -> Iterator[Login]:
    """Makes logins: `login(url, "CREATEROLE", APP)` has an attribute and a role, and its URL is the
    answer.
    """
    made: list[str] = []

    def make(url: str, *rights: str) -> str:
        made.append(f"login_{uuid4().hex[:12]}")
        roles = [right for right in rights if right in (APP, WORKER)]
        query(
            url,
            (
                f"CREATE ROLE {made[-1]} LOGIN "
                f"{' '.join(right for right in rights if right not in roles)}"
            ),
        )
        for role in roles:
            query(url, f"GRANT {role} TO {made[-1]}")
        return url.replace("//admin@", f"//{made[-1]}@")

    try:
        yield make
    finally:
        for name in made:
            query(server.url("postgres"), f"DROP OWNED BY {name}")
            query(server.url("postgres"), f"DROP ROLE {name}")


@pytest.fixture
def login(postgres_server: PostgresServer) -> Iterator[Login]:
    """Makes logins on the server that all tests share; ask for it before the database that they
    use.
    """
    with new_logins(postgres_server) as make:
        yield make


def user_of(url: str) -> str:
    """The login in a URL."""
    return re.split("[/@:]+", url)[1]


# Owners side by side


@pytest.fixture(scope="module")
def shared(postgres_server: PostgresServer) -> Iterator[tuple[str, int, int]]:
    """A database in which Ann and Bob have a row in every table, and their numbers. What a test
    changes, it undoes.
    """
    with database(postgres_server) as url:
        yield filled(url)


def filled(url: str) -> tuple[str, int, int]:
    """The URL of a database into which it put rows of Ann and Bob in every table, and their
    numbers.
    """
    store = PostgresStore(url, clock=lambda: START)
    for scope in (ANN, BOB):
        populate(store, scope)
        store.jobs.enqueue(scope, "tidy", "k", watermark=1)
        mark = Progress(scope, "s", "facts", 1, START)
        write(store, lambda tx, mark=mark: tx.progress.put(mark))
        profile = {"scope": str(scope), "settings": {"of": scope.key}}
        write(store, lambda tx, row=profile: tx.restore_row("profile", row, journal=True))
    ann, bob = store.numbers([ANN, BOB])
    store.close()
    return url, ann, bob


@contextmanager
def acting(
    url: str, *numbers: int | str, names: str | None = None, role: str = APP
) -> Iterator[Any]:
    """A connection that acts as one of our roles for some scopes, by hand; whatever it does is
    undone.
    """
    with psycopg.connect(url) as connection:
        # A cluster is told to pass the settings on to its workers; a single server ignores it.
        connection.execute(
            f"SET LOCAL citus.propagate_set_commands = 'local'; SET LOCAL ROLE {role}; "
            "SET LOCAL search_path = holdfast, public".encode()
        )
        if numbers:
            connection.execute(
                f"SET LOCAL holdfast.scopes = '{','.join(map(str, numbers))}'".encode()
            )
        if names is not None:
            connection.execute(sql.SQL("SET LOCAL holdfast.names = {}").format(names))
        yield connection
        connection.rollback()


def counted(url: str, table: str) -> dict[int, int]:
    """How many rows each scope has, as an administrator sees it."""
    return dict(query(url, f"SELECT scope, count(*) FROM holdfast.{table} GROUP BY scope"))


class TestIsolation:
    """Proven with plain SQL: nothing here passes through the store, unless it says so."""

    can_login = False
    refused = (errors.InsufficientPrivilege, "row-level security")

    def moving_is_refused(self) -> AbstractContextManager[Any]:
        """How a row in the scope of another is refused."""
        return pytest.raises(self.refused[0], match=self.refused[1])

    def test_every_table_is_looked_at_here(self, shared: tuple[str, int, int]) -> None:
        there = query(
            shared[0],
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f') "
            "AND relnamespace = 'holdfast'::regnamespace",
        )
        assert sorted(name for (name,) in there) == sorted(TABLES)

    @pytest.mark.parametrize("table", TABLES)
    def test_every_table_has_row_level_security(
        self, shared: tuple[str, int, int], table: str
    ) -> None:
        ((enabled, forced, policies),) = query(
            shared[0],
            "SELECT relrowsecurity, relforcerowsecurity, (SELECT count(*) FROM pg_policy p WHERE "
            "p.polrelid = c.oid) "
            "FROM pg_class c WHERE oid = %s::regclass",
            f"holdfast.{table}",
        )
        assert (enabled, forced, policies >= 1) == (True, table != "meta", True)

    @pytest.mark.parametrize("role", [APP, WORKER])
    def test_the_roles_own_nothing_and_have_no_powers(
        self, shared: tuple[str, int, int], role: str
    ) -> None:
        url = shared[0]
        assert query(
            url,
            "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, "
            "rolcanlogin FROM pg_roles "
            "WHERE rolname = %s",
            role,
        ) == [(*(False,) * 5, self.can_login)]
        owns = "SELECT 1 FROM pg_shdepend WHERE refobjid = %s::regrole AND deptype = 'o'"
        assert query(url, owns, role) == []
        above = "SELECT roleid::regrole::text FROM pg_auth_members WHERE member = %s::regrole"
        assert query(url, above, role) == []

    @pytest.mark.parametrize("table", OWNED)
    def test_only_the_rows_of_the_named_scopes_are_there(
        self, shared: tuple[str, int, int], table: str
    ) -> None:
        url, ann, bob = shared
        everything = counted(url, table)
        assert everything.keys() == {ann, bob}
        look = f"SELECT scope, count(*) FROM {table} GROUP BY scope".encode()
        for numbers in ((ann,), (bob,), (ann, bob), (ann, 999_999), (999_999,)):
            with acting(url, *numbers) as connection:
                seen = dict(connection.execute(look).fetchall())
                assert seen == {
                    number: everything[number] for number in numbers if number in everything
                }

    @pytest.mark.parametrize("table", UPKEEP)
    @pytest.mark.parametrize(
        "statement",
        ["SELECT * FROM {}", "DELETE FROM {}", "UPDATE {} SET key = ''", "INSERT INTO {} SELECT"],
    )
    def test_what_is_for_upkeep_is_closed_to_owners(
        self, shared: tuple[str, int, int], table: str, statement: str
    ) -> None:
        url, ann, bob = shared
        refused = pytest.raises(errors.InsufficientPrivilege, match=f"table {table}")
        with acting(url, ann, bob) as connection, refused:
            connection.execute(statement.format(table).encode())

    @pytest.mark.parametrize("table", ["scopes", *OWNED])
    def test_who_names_nothing_sees_nothing(self, shared: tuple[str, int, int], table: str) -> None:
        url, ann, bob = shared
        look = f"SELECT * FROM {table}".encode()
        with acting(url) as connection:
            assert connection.execute(look).fetchall() == []
        with acting(url, "", names="") as connection:
            assert connection.execute(look).fetchall() == []
        with psycopg.connect(
            url
        ) as connection:  # having named something before, in another transaction
            connection.execute(f"BEGIN; SET LOCAL holdfast.scopes = '{ann},{bob}'; COMMIT".encode())
            connection.execute(
                f"BEGIN; SET LOCAL ROLE {APP}; SET LOCAL search_path = holdfast".encode()
            )
            assert connection.execute(look).fetchall() == []

    @pytest.mark.parametrize("table", OWNED)
    def test_changes_without_a_condition_touch_only_the_named_scope(
        self, shared: tuple[str, int, int], table: str
    ) -> None:
        url, ann, bob = shared
        before = counted(url, table)
        for statement in (f"UPDATE {table} SET scope = scope", f"DELETE FROM {table}"):
            with acting(url, ann) as connection:
                assert connection.execute(statement.encode()).rowcount == before[ann]
                connection.execute(f"SET LOCAL holdfast.scopes = '{bob}'".encode())
                rows = connection.execute(
                    f"SELECT count(*) FROM {table} WHERE scope = {bob}".encode()
                ).fetchall()
                assert rows == [(before[bob],)]

    @pytest.mark.parametrize("table", OWNED)
    def test_the_rows_of_others_cannot_be_addressed(
        self, shared: tuple[str, int, int], table: str
    ) -> None:
        url, ann, bob = shared
        for statement in (f"UPDATE {table} SET scope = scope", f"DELETE FROM {table}"):
            with acting(url, ann) as connection:
                assert connection.execute(f"{statement} WHERE scope = {bob}".encode()).rowcount == 0

    @pytest.mark.parametrize("table", OWNED)
    def test_nothing_is_put_or_moved_into_the_scope_of_another(
        self, shared: tuple[str, int, int], table: str
    ) -> None:
        url, ann, bob = shared
        with psycopg.connect(url) as connection:
            cursor = connection.execute(
                f"SELECT * FROM holdfast.{table} WHERE scope = {bob} LIMIT 1".encode()
            )
            (values,) = cursor.fetchall()
            row = dict(
                zip((column.name for column in cursor.description or ()), values, strict=True)
            )
        for number in ("number", "seq"):
            if number in row:
                row[number] += 1_000_000
        # The server computes it.
        row.pop("due_at", None)
        with acting(url, ann) as connection, self.moving_is_refused():
            marks = ", ".join(["%s"] * len(row))
            connection.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})".encode(),
                tuple(row.values()),
            )
        with acting(url, ann) as connection, self.moving_is_refused():
            connection.execute(f"UPDATE {table} SET scope = {bob}".encode())

    def test_a_scope_is_found_only_by_whoever_names_it(self, shared: tuple[str, int, int]) -> None:
        url, ann, bob = shared
        by_name = b"SELECT number FROM scopes WHERE kind = 'user' AND key = 'bob'"
        with acting(url, ann, bob, names=str(ANN)) as connection:
            assert connection.execute(by_name).fetchall() == []
            assert connection.execute("SELECT number FROM scopes").fetchall() == [(ann,)]
        with acting(url, names=f"{ANN}\x1f{BOB}") as connection:
            assert connection.execute(by_name).fetchall() == [(bob,)]

    def test_a_scope_is_made_only_by_whoever_names_it(self, shared: tuple[str, int, int]) -> None:
        url, ann, _ = shared
        make = b"INSERT INTO scopes (kind, key, created_at) VALUES ('user', %s, 0)"
        for name in ("cem", "bob"):  # whether there is one or not, the answer is the same
            refused = pytest.raises(errors.InsufficientPrivilege, match="row-level security")
            with acting(url, ann, names=str(ANN)) as connection, refused:
                connection.execute(make, (name,))
        with acting(url, names="user:cem") as connection:
            assert connection.execute(make, ("cem",)).rowcount == 1

    @pytest.mark.parametrize("role", [APP, WORKER])
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE scopes SET key = 'x'",
            "DELETE FROM scopes",
            "DELETE FROM meta",
            "UPDATE meta SET value = '9'",
            "INSERT INTO meta VALUES ('a', 'b')",
            "TRUNCATE memories",
            "CREATE TABLE holdfast.mine (n int)",
            "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
            "DROP POLICY own ON memories",
            "DROP TABLE memories",
            "COPY memories TO PROGRAM 'cat'",
            f"ALTER ROLE {APP} BYPASSRLS",
        ],
    )
    def test_the_roles_cannot_change_the_rules(
        self, shared: tuple[str, int, int], role: str, statement: str
    ) -> None:
        url, ann, _ = shared
        refused = pytest.raises(errors.InsufficientPrivilege)
        with acting(url, ann, names=str(ANN), role=role) as connection, refused:
            connection.execute(statement.encode())

    @pytest.mark.parametrize("table", OWNED)
    def test_a_wrong_query_inside_the_engine_stays_in_its_scope(
        self, shared: tuple[str, int, int], table: str
    ) -> None:
        url, ann, bob = shared
        before = counted(url, table)
        store = PostgresStore(url)
        assert store.read((ann,), f"SELECT DISTINCT scope FROM {table}") == [(ann,)]
        assert store.read((ann,), f"SELECT * FROM {table} WHERE scope = ?", (bob,)) == []
        assert store.read((), f"SELECT * FROM {table}") == []
        assert {row[0] for row in store.stream((ann,), f"SELECT scope FROM {table}", ())} == {ann}
        for statement in (
            f"UPDATE {table} SET scope = scope",
            f"DELETE FROM {table} WHERE scope = {bob}",
        ):
            store.transact((ann,), lambda execute, statement=statement: execute(statement))
        with pytest.raises(StoreError, match=self.refused[1]):
            store.transact((ann,), lambda execute: execute(f"UPDATE {table} SET scope = {bob}"))
        assert counted(url, table) == before
        store.close()

    def test_a_snapshot_and_a_shared_read_stay_in_their_scopes(
        self, shared: tuple[str, int, int]
    ) -> None:
        url, ann, _ = shared
        store = PostgresStore(url)
        with store.reading([ANN]):
            assert store.read((ann,), "SELECT DISTINCT scope FROM memories") == [(ann,)]
        with store.snapshot() as rows:
            for noun in ("memory", "session", "message", "edge", "profile", "event", "vector"):
                anns, bobs = list(rows(noun, ANN)), list(rows(noun, BOB))
                assert anns and bobs and not [row for row in anns if row in bobs]
        store.close()

    def test_what_a_transaction_may_see_ends_with_it(
        self, shared: tuple[str, int, int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url, ann, bob = shared
        monkeypatch.setattr(connections, "CONNECTIONS", 1)  # the same one is lent each time
        store = PostgresStore(url)

        def nothing_is_left() -> bool:
            with store._primary.lent() as connection:
                setting = "SELECT current_setting('holdfast.{}', true)"
                kept = [
                    connection.execute(setting.format(name)).fetchall()
                    for name in ("scopes", "names")
                ]
                (login,) = connection.execute("SELECT current_user").fetchall()
                connection.execute(f"BEGIN; SET LOCAL ROLE {APP}".encode())
                seen = connection.execute("SELECT * FROM holdfast.memories").fetchall()
                connection.execute("ROLLBACK")
            return (kept, login, seen) == ([[("",)], [("",)]], ("admin",), [])

        assert store.read((ann, bob), "SELECT 1") == [(1,)]
        assert nothing_is_left()
        store.find_scopes([ANN, BOB])
        assert nothing_is_left()
        with pytest.raises(StoreError):
            store.read((ann,), "SELECT no_such_column FROM memories")
        assert nothing_is_left()
        with pytest.raises(ZeroDivisionError):
            write(store, lambda tx: (tx.memory(ANN, 1), 1 // 0))
        assert nothing_is_left()
        next(store.stream((ann,), "SELECT * FROM memories", ())), next(store.rows("memory", BOB))
        assert nothing_is_left()
        write(store, lambda tx: tx.memory(BOB, 1))
        assert nothing_is_left()
        store.close()

    @pytest.mark.parametrize(
        "key",
        [
            "o'brien",
            "back\\slash",
            "\\'; DROP TABLE memories; --",
            "';RESET ROLE;--",
            'ann","user:bob',
            "%s %(x)s",
            "1,2",
            "{ann}",
            "$1",
            "ann user:bob",
            "москва",
            "👩‍👩‍👧",
            "a:b:c",
            "\u2028",
            "x" * 200,
        ],
    )
    def test_any_name_of_a_scope_names_just_that_scope(
        self, store: PostgresStore, key: str
    ) -> None:
        odd = Scope("user", key)
        put(store, fact("of ann"), fact("of bob", scope=BOB))
        put(store, fact("odd", scope=odd))
        assert listed(store, scopes=(odd,)) == ["odd"]
        other = PostgresStore(store._primary.url)
        assert (listed(other, scopes=(odd,)), listed(other, scopes=(ANN,))) == (["odd"], ["of ann"])
        assert other.scopes() == [ANN, BOB, odd]
        other.close()


class TestLogins:
    """Who may do what, by the roles that a login has."""

    def test_a_login_with_the_first_role_does_everything_in_its_scopes(
        self, login: Login, postgres_store_url: str
    ) -> None:
        url = login(postgres_store_url, APP)
        with Holdfast.open(url, scope="user:ann", settings=WORDS_ONLY, background=False) as hf:
            tea = hf.remember("Prefers green tea", tags=("drinks",))
            hf.capture("s", "user", "Hello there")
            new = hf.correct(tea.id, "Prefers black tea")
            hf.archive(new.id), hf.restore(new.id), hf.confirm(new.id)
            assert [hit.memory.id for hit in hf.recall("which tea?")] == [new.id]
            hf.forget(new.id), hf.undo()
            populate(hf.store, BOB)
            assert hf.admin.purge(tea.id).memories == 1
            assert (
                len(hf.admin.log()) > 5
                and len(hf.sessions.list()) == 1
                and hf.stats()["active"] == 2
            )
            lines = list(hf.admin.export(vectors=True))
            assert hf.scoped("user:cem").admin.import_(lines, into="user:cem").added["memory"] == 2
            hf.store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
            job = hf.store.jobs.claim(
                ["tidy"], worker="w", now=START, lease=1_000_000, scopes=[ANN]
            )
            assert job is not None
            assert hf.store.jobs.heartbeat(job, now=START, lease=1_000_000)
            assert hf.store.jobs.fail(job, error="", retry_at=START)
        with PostgresStore(postgres_store_url)._primary.connect() as connection:
            assert connection.execute("SELECT count(*) FROM holdfast.scopes").fetchone() == (3,)

    @pytest.mark.parametrize(
        "upkeep",
        [
            methodcaller("scopes"),
            lambda store: store.jobs.claim(["tidy"], worker="w", now=START, lease=1),
            methodcaller("repair"),
            lambda store: list(store.check()),
            lambda store: store.vectors.coverage(),
            lambda store: store.vectors.missing(MODEL, 5),
            lambda store: store.vectors.drop(MODEL),
        ],
        ids=["scopes", "claim", "repair", "check", "coverage", "without_vector", "drop_vectors"],
    )
    def test_a_login_without_the_second_role_is_told_so_when_it_asks_for_all_scopes(
        self, login: Login, postgres_store_url: str, upkeep: Callable[[Any], Any]
    ) -> None:
        store = PostgresStore(login(postgres_store_url, APP))
        populate(store, ANN)
        before = truth(store)
        with pytest.raises(StoreError, match=f"GRANT .*{WORKER}"):
            upkeep(store)
        assert truth(store) == before
        store.close()

    def test_a_login_with_both_roles_does_upkeep(
        self, login: Login, postgres_store_url: str
    ) -> None:
        store = PostgresStore(login(postgres_store_url, APP, WORKER))
        populate(store, ANN)
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        store.repair()
        assert (store.scopes(), list(store.check()), store.vectors.coverage()) == (
            [ANN],
            [],
            {MODEL: 1},
        )
        assert store.jobs.claim(["tidy"], worker="w", now=START, lease=1) is not None
        store.close()

    def test_a_login_without_roles_is_told_what_it_needs(
        self, login: Login, postgres_store_url: str
    ) -> None:
        url = login(postgres_store_url)
        with pytest.raises(StoreError, match=f"{user_of(url)}.*GRANT {APP} TO {user_of(url)}"):
            PostgresStore(url)


@pytest.fixture(scope="module")
def crowded(postgres_server: PostgresServer) -> Iterator[PostgresStore]:
    """Ann among twenty owners who have all the memories but her few."""
    with database(postgres_server) as url:
        store = PostgresStore(url)
        words = ("tea", "river", "seven", "blue", "note", "garden", "winter", "train")
        for owner in range(20):
            scope = ANN if owner == 10 else Scope("user", f"owner{owner}")
            stored = put(
                store,
                *(fact(f"{words[n % 8]} {words[n % 7]} item {n}", scope=scope) for n in range(200)),
            )
            store.vectors.add([scope], MODEL, {one.seq: unit(one.seq) for one in stored})
        query(url, "ANALYZE")
        yield store
        store.close()


class TestPlans:
    """Row-level security must not keep the indexes from being used."""

    @pytest.mark.parametrize(
        "narrower", [{}, {"valid_at": at(5)}, {"kinds": ("fact",)}, {"statuses": ("archived",)}]
    )
    @pytest.mark.parametrize("way", ["words", "vectors"])
    def test_a_search_reads_by_index(
        self,
        crowded: PostgresStore,
        monkeypatch: pytest.MonkeyPatch,
        way: str,
        narrower: dict[str, Any],
    ) -> None:
        asked: list[tuple[Any, ...]] = []
        original = crowded.read

        def noted(reach: Any, sql: str, values: Any = ()) -> Rows:
            asked.append((reach, sql, values))
            return original(reach, sql, values)

        monkeypatch.setattr(crowded, "read", noted)
        where = Filter((ANN,), **narrower)
        if way == "words":
            ranked = crowded.by_text(where, ["tea", "river"], 20)
        else:
            ranked = crowded.by_vector(where, MODEL, unit(3), 20)
        assert bool(ranked) == (narrower != {"statuses": ("archived",)})
        for reach, statement, values in asked:
            plan = "\n".join(line for (line,) in original(reach, f"EXPLAIN {statement}", values))
            assert not re.search(r"Seq Scan on (memory_terms|memories|vectors)\b", plan), plan


# Setting up


def shape(url: str) -> Rows:
    """Everything that the migrations make: tables, columns, indexes, policies, rights, versions."""
    return query(
        url,
        "SELECT 'column', format('%s %s %s %s', c.relname, c.relkind, attname, "
        "format_type(atttypid, atttypmod)), "
        "  c.relacl::text FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND "
        "attnum > 0 "
        "  AND NOT attisdropped WHERE relnamespace = 'holdfast'::regnamespace "
        "UNION ALL SELECT 'policy', format('%s %s', tablename, policyname), qual FROM pg_policies "
        "  WHERE schemaname = 'holdfast' "
        "UNION ALL SELECT 'meta', key, value FROM holdfast.meta ORDER BY 1, 2, 3",
    )


def nothing_was_made(url: str) -> bool:
    """Whether a database is as empty as before."""
    return query(url, "SELECT to_regnamespace('holdfast') IS NULL") == [(True,)]


def step(sql: str) -> tuple[Migration, ...]:
    """The migrations there are, and one more."""
    steps = known_migrations("postgres")
    return (*steps, Migration(len(steps) + 1, "next.sql", sql))


NEXT = """
CREATE TABLE extra (scope bigint NOT NULL REFERENCES scopes (number), note text);
GRANT SELECT, INSERT ON extra TO holdfast_app, holdfast_worker;
CREATE POLICY own ON extra TO holdfast_app
    USING (scope::text = current_setting('holdfast.scopes', true));
ALTER TABLE extra ENABLE ROW LEVEL SECURITY;
ALTER TABLE extra FORCE ROW LEVEL SECURITY;
"""
LATEST = len(known_migrations("postgres"))


class TestSettingUp:
    @pytest.mark.parametrize(
        "option", ["", "?options=-c%20default_transaction_isolation%3Dserializable"]
    )
    def test_eight_processes_that_open_an_empty_database_agree(
        self, postgres_url: str, option: str
    ) -> None:
        gate, opening = os.pipe()

        def make(one: Memory) -> str:
            os.close(opening)
            os.read(gate, 1)  # all of them start when the parent lets go
            store = PostgresStore(postgres_url + option)
            put(store, one)
            store.close()
            return "made"

        children = [
            forked(lambda one=one: make(one)) for one in [fact(f"by {n}") for n in range(8)]
        ]
        os.close(opening)
        assert [answer(child) for child in children] == ["made"] * 8
        os.close(gate)
        store = PostgresStore(postgres_url)
        assert sorted(listed(store)) == [f"by {n}" for n in range(8)]
        assert (store.state.version, list(store.check())) == (LATEST, [])
        store.close()

    def test_threads_that_open_empty_databases_of_a_new_server_agree(
        self, own_server: PostgresServer
    ) -> None:
        with ExitStack() as stack:
            urls = [stack.enter_context(database(own_server)) for _ in range(3)]
            query(urls[0], f"DROP ROLE IF EXISTS {APP}, {WORKER}")
            failed = in_threads([lambda url=url: PostgresStore(url).close() for url in urls * 3])
            assert failed == []
            assert len({str(shape(url)) for url in urls}) == 1

    def test_setting_up_twice_equals_once(
        self, store: PostgresStore, postgres_store_url: str
    ) -> None:
        populate(store, ANN)
        before, state = shape(postgres_store_url), truth(store)
        for _ in range(2):
            assert schema.initialise(Connections(postgres_store_url, "here")) == store.state
        assert (shape(postgres_store_url), truth(store), list(store.check())) == (before, state, [])

    def test_a_store_of_a_newer_version_is_left_alone(self, postgres_url: str) -> None:
        PostgresStore(postgres_url).close()
        query(postgres_url, "UPDATE holdfast.meta SET value = '99' WHERE key = 'schema'")
        before = shape(postgres_url)
        with pytest.raises(StoreTooNew, match=r"99.*Open it with that version, or a newer one"):
            PostgresStore(postgres_url)
        with pytest.raises(StoreTooNew):
            schema.initialise(Connections(postgres_url, "here"))
        assert shape(postgres_url) == before

    def test_a_store_of_an_older_version_is_brought_up_to_date_only_when_told(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = PostgresStore(postgres_url)
        populate(store, ANN)
        before, state = shape(postgres_url), truth(store)
        store.close()
        monkeypatch.setattr(migrations, "migrations", lambda backend: step(NEXT))
        with pytest.raises(
            StoreError, match=rf"schema {LATEST}\).*Nothing was changed.*holdfast store migrate"
        ):
            PostgresStore(postgres_url)
        assert shape(postgres_url) == before
        assert schema.initialise(Connections(postgres_url, "here")).version == LATEST + 1
        store = PostgresStore(postgres_url)
        assert (store.state.version, truth(store), list(store.check())) == (LATEST + 1, state, [])
        store.close()

    def test_a_store_of_the_first_version_gets_what_came_since_and_keeps_the_rest(
        self, postgres_url: str
    ) -> None:
        old = PostgresStore(postgres_url)
        put(old, fact("tea"))
        write(old, lambda tx: tx.sessions.put(Session("s", ANN, START, START)))
        before = [list(old.rows(noun, ANN)) for noun in ("session", "memory", "event")]
        old.close()
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(
                "DROP TABLE holdfast.progress, holdfast.spend, holdfast.files, holdfast.messages, "
                "holdfast.looks, holdfast.watches"
            )
            connection.execute(
                "DROP INDEX holdfast.memories_by_namespace, holdfast.memories_by_moment, "
                "holdfast.sessions_open"
            )
            connection.execute("ALTER TABLE holdfast.memories DROP COLUMN strength")
            connection.execute("ALTER TABLE holdfast.jobs DROP COLUMN due_at")
            connection.execute("ALTER TABLE holdfast.totals DROP COLUMN changed_at")
            connection.execute(
                "ALTER TABLE holdfast.sessions ADD COLUMN consolidated_at bigint, "
                "ADD COLUMN outcome text NOT NULL DEFAULT ''"
            )
            connection.execute("UPDATE holdfast.meta SET value = '1' WHERE key = 'schema'")
        with pytest.raises(StoreError, match="holdfast store migrate"):
            PostgresStore(postgres_url)
        looked_at = schema.status(postgres_url)
        assert (looked_at.version, looked_at.pending) == (
            1,
            tuple(one.name for one in known_migrations("postgres")[1:]),
        )
        assert looked_at.rows is not None and "message" not in looked_at.rows
        schema.migrate_tables(postgres_url)
        store = PostgresStore(postgres_url)
        assert [list(store.rows(noun, ANN)) for noun in ("session", "memory", "event")] == before
        assert write(store, lambda tx: tx.sessions.add_messages(ANN, "s", [{"n": 1}])) == 1
        assert list(store.check()) == []
        store.close()
        assert (schema.status(postgres_url).rows or {})["message"] == 1

    def test_a_step_that_fails_leaves_nothing(
        self, postgres_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = step(
            "CREATE TABLE half (n int); ALTER TABLE memories ADD COLUMN half int; CREATE TABLE "
            "jobs (n int)"
        )
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "migrations", lambda backend: broken)
            with pytest.raises(StoreError, match="jobs"):
                PostgresStore(postgres_url)
            assert nothing_was_made(postgres_url)
        store = PostgresStore(postgres_url)
        populate(store, ANN)
        before = shape(postgres_url)
        with monkeypatch.context() as patch:
            patch.setattr(migrations, "migrations", lambda backend: broken)
            with pytest.raises(StoreError, match="jobs"):
                schema.initialise(Connections(postgres_url, "here"))
        assert (shape(postgres_url), list(store.check())) == (before, [])
        store.close()

    @pytest.mark.parametrize(
        "rights", [(), (APP, WORKER), ("CREATEROLE",), ("CREATEDB",)], ids=" ".join
    )
    def test_a_login_that_may_not_make_tables_is_told_so(
        self, login: Login, postgres_url: str, rights: tuple[str, ...]
    ) -> None:
        url = login(postgres_url, *rights)
        with pytest.raises(
            StoreError,
            match=rf"{user_of(url)} may not make .*GRANT {APP} TO {user_of(url)}",
        ):
            PostgresStore(url)
        assert nothing_was_made(postgres_url)

    def test_a_login_that_may_make_tables_but_not_join_the_roles_is_told_so(
        self, login: Login, postgres_url: str
    ) -> None:
        url = login(postgres_url)
        query(
            postgres_url,
            f"GRANT CREATE ON DATABASE {postgres_url.rpartition('/')[2]} TO {user_of(url)}",
        )
        with pytest.raises(StoreError, match="may not make"):
            PostgresStore(url)
        assert nothing_was_made(postgres_url)

    def test_a_login_that_may_make_roles_and_tables_sets_up_a_new_server(
        self, setting: PostgresServer
    ) -> None:
        with new_logins(setting) as login, database(setting) as url:
            query(url, f"DROP ROLE IF EXISTS {APP}, {WORKER}")
            own = login(url, "CREATEROLE")
            query(url, f"GRANT CREATE ON DATABASE {url.rpartition('/')[2]} TO {user_of(own)}")
            store = PostgresStore(own)
            populate(store, ANN), populate(store, BOB)
            assert (store.scopes(), list(store.check())) == ([ANN, BOB], [])
            store.close()
            query(url, f"REASSIGN OWNED BY {user_of(own)} TO admin; DROP OWNED BY {user_of(own)}")

    @pytest.mark.usefixtures("postgres_store_url")  # The roles have to be there.
    def test_a_schema_that_an_administrator_has_made_is_enough(
        self, login: Login, postgres_url: str
    ) -> None:
        url = login(postgres_url, APP, WORKER)
        query(postgres_url, f"CREATE SCHEMA holdfast AUTHORIZATION {user_of(url)}")
        store = PostgresStore(url)
        populate(store, ANN)
        assert (store.state.vectors, list(store.check())) == ("bytea", [])
        store.close()
        query(postgres_url, f"REASSIGN OWNED BY {user_of(url)} TO admin")

    def test_roles_that_pass_over_row_level_security_are_found(
        self, own_server: PostgresServer
    ) -> None:
        with database(own_server) as url:
            store = PostgresStore(url)
            query(url, f"ALTER ROLE {APP} BYPASSRLS")
            assert [finding.detail for finding in store.check()] == [
                f"the role {APP} passes over row-level security"
            ]
            query(
                url,
                (
                    f"ALTER ROLE {APP} NOBYPASSRLS; ALTER TABLE holdfast.edges NO FORCE ROW LEVEL "
                    "SECURITY"
                ),
            )
            assert [finding.detail for finding in store.check()] == [
                "edges is not kept apart by row-level security"
            ]
            store.close()


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that the tests of this module may set differently, with few connections."""
    with start_server(
        options={"max_connections": "12", "superuser_reserved_connections": "3"}
    ) as server:
        yield server


@pytest.fixture(scope="module")
def plain_server() -> Iterator[PostgresServer]:
    """A server without pgvector."""
    binaries = plain_binaries()
    if binaries is None:
        pytest.skip("needs Debian's PostgreSQL")
    with start_server(binaries=binaries) as server:
        yield server


@pytest.fixture(params=["own_server", "plain_server"])
def setting(request: pytest.FixtureRequest) -> PostgresServer:
    """Servers on which our roles can be taken away: the newest release, and an older one without
    pgvector.
    """
    server: PostgresServer = request.getfixturevalue(request.param)
    return server


def in_threads(works: list[Callable[[], object]]) -> list[BaseException]:
    """Does all of these at once, and says what went wrong."""
    failed: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


# Without pgvector


def library(store: Store) -> None:
    """Memories of all sorts with vectors, the same each time, under the same ids."""
    themes = (
        "green tea",
        "black coffee",
        "the river Isar",
        "seven blue boats",
        "a garden in winter",
        "tea and rivers",
    )
    memories = [
        Memory(
            f"fact_{n:03d}",
            ANN if n % 5 else BOB,
            "fact",
            (f"{themes[n % 6]} and {themes[n % 4]}, note {n}"),
            created_at=at(n),
            updated_at=at(n),
            event_time=at(n),
            valid_until=at(50) if n % 11 == 0 else None,
            tags=("even",) if n % 2 == 0 else (),
        )
        for n in range(90)
    ]
    stored = put(store, *memories)
    store.vectors.add(
        [ANN, BOB], MODEL, {one.seq: unit(number) for number, one in enumerate(stored)}
    )
    for one in stored[::9]:
        set_status(store, one, "archived")


FILTERS = [
    Filter((ANN,)),
    Filter((ANN, BOB)),
    Filter((ANN, BOB), valid_at=at(70)),
    Filter((ANN,), tags=("even",)),
    Filter((ANN,), statuses=("active", "archived")),
    Filter((BOB,), since=at(20), until=at(60)),
    Filter((ANN,), as_of=at(3)),
]


def rankings(store: Store) -> list[list[tuple[str, float]]]:
    """What searches find: ids and scores. For words, ids in their own order: each backend weighs
    rarity as it can.
    """
    names = {
        one.seq: one.id for one in store.list(Filter((ANN, BOB), statuses=("active", "archived")))
    }
    found = []
    for where in FILTERS * 2:  # the second time vectors may come from a cache
        for terms in (["tea"], ["river", "boat", "winter"], ["coffe", "tea", "isar"]):
            found.append(sorted((names[seq], 1.0) for seq, _ in store.by_text(where, terms, 100)))
        for seed in range(3):
            found.append(
                [
                    (names[seq], score)
                    for seq, score in store.by_vector(where, MODEL, unit(1000 + seed), 25)
                ]
            )
    return found


def differing(store: Store, other: Store) -> list[Any]:
    """Where two stores do not find the same in the same order with the same scores, but for
    rounding.
    """
    return [
        (number, mine, theirs)
        for number, (mine, theirs) in enumerate(zip(rankings(store), rankings(other), strict=True))
        if [one for one, _ in mine] != [one for one, _ in theirs]
        or any(abs(a - b) > 1e-4 for (_, a), (_, b) in zip(mine, theirs, strict=True))
    ]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SQLiteStore]:
    """The library in a file."""
    store = SQLiteStore(tmp_path / "memory.db", clock=lambda: START)
    library(store)
    yield store
    store.close()


@pytest.fixture
def plain_url(plain_server: PostgresServer) -> Iterator[str]:
    """An empty database on a server without pgvector."""
    with database(plain_server) as url:
        yield url


class TestWithoutVectorType:
    def test_words_and_vectors_find_the_same_as_in_a_file(
        self, plain_url: str, file: SQLiteStore
    ) -> None:
        store = PostgresStore(plain_url)
        library(store)
        assert (store.state.extension, store.state.vectors, store.has_extension) == (
            None,
            "bytea",
            False,
        )
        assert differing(store, file) == []
        assert list(store.check()) == []
        store.close()

    def test_with_the_type_they_find_the_same_too(
        self, store: PostgresStore, file: SQLiteStore
    ) -> None:
        library(store)
        assert store.has_extension
        assert differing(store, file) == []

    def test_recall_ranks_the_same_as_in_a_file(
        self, plain_url: str, file: SQLiteStore, fake: Any
    ) -> None:
        store = PostgresStore(plain_url)
        library(store)
        both = [
            Holdfast(
                one, (ANN, BOB), tiers=Tiers.of(fake, clock=lambda: at(100)), clock=lambda: at(100)
            )
            for one in (store, file)
        ]
        for question in ("tea in the garden", "blue boats on the river", "note 17"):
            mine, theirs = ([hit.memory.id for hit in hf.recall(question)] for hf in both)
            assert mine == theirs != []
        store.close()

    def test_vectors_of_others_are_followed(self, plain_url: str) -> None:
        store, other = PostgresStore(plain_url), PostgresStore(plain_url)
        library(store)
        file = SQLiteStore(":memory:")
        library(file)
        assert differing(store, file) == []
        for one in (other, file):
            first, second, third, *_ = one.list(Filter((ANN,)), order="oldest")
            set_status(one, first, "archived")
            write(one, lambda tx, gone=second: tx.remove(gone), run="gone")
            change(one, third, title="renamed")
            new = put_one(
                one, Memory("fact_new", ANN, "fact", "a new boat", at(1), at(1), event_time=at(1))
            )
            one.vectors.add([ANN], MODEL, {new.seq: unit(1001), third.seq: unit(1002)})
        assert differing(store, file) == []
        for one in (other, file):
            write(one, lambda tx: tx.undo([ANN], "gone"))
            one.vectors.drop(MODEL, [BOB])
        assert differing(store, file) == []
        for each in (store, other, file):
            each.close()

    @pytest.mark.parametrize("place", ["public", "extensions", '"Odd ""name"'])
    def test_the_type_can_come_later_and_loses_nothing(
        self, login: Login, postgres_url: str, file: SQLiteStore, place: str
    ) -> None:
        url = login(postgres_url, APP, WORKER)
        query(postgres_url, f"CREATE SCHEMA holdfast AUTHORIZATION {user_of(url)}")
        store = PostgresStore(url)
        library(store)
        assert (store.state.extension, store.has_extension) == (None, False)
        assert differing(store, file) == []
        before, words = vectors_of(store), store.by_text(Filter((ANN, BOB)), ["tea", "boat"], 50)
        store.close()
        query(
            postgres_url,
            f"CREATE SCHEMA IF NOT EXISTS {place}; GRANT USAGE ON SCHEMA {place} TO PUBLIC",
        )
        query(postgres_url, f"CREATE EXTENSION vector SCHEMA {place}")
        state = schema.initialise(Connections(url, "here"))
        assert (state.extension is not None, state.vectors) == (True, "vector")
        store = PostgresStore(url)
        assert store.has_extension
        assert vectors_of(store) == before
        assert store.by_text(Filter((ANN, BOB)), ["tea", "boat"], 50) == words
        assert differing(store, file) == []
        assert list(store.check()) == []
        vectorised(store, 3)
        store.close()
        assert schema.initialise(Connections(url, "here")) == state
        query(postgres_url, f"REASSIGN OWNED BY {user_of(url)} TO admin")

    def test_who_opened_the_store_before_the_type_came_is_told_to_open_it_again(
        self, login: Login, postgres_url: str
    ) -> None:
        url = login(postgres_url, APP, WORKER)
        query(postgres_url, f"CREATE SCHEMA holdfast AUTHORIZATION {user_of(url)}")
        store = PostgresStore(url)
        vectors = vectorised(store, 5)
        before = vectors_of(store)
        query(postgres_url, "CREATE EXTENSION vector")
        schema.initialise(Connections(url, "here"))
        calls: list[Callable[[], Any]] = [
            lambda: store.by_vector(Filter((ANN,), kinds=("fact",)), MODEL, unit(1), 3),
            lambda: store.vectors.get([ANN], MODEL, list(vectors)),
            lambda: store.vectors.add([ANN], MODEL, vectors),
            lambda: list(store.check()),
            store.repair,
        ]
        for call in calls:
            with pytest.raises(StoreError, match="Open it again"):
                call()
        store.close()
        store = PostgresStore(url)
        assert vectors_of(store) == before
        store.close()
        query(postgres_url, f"REASSIGN OWNED BY {user_of(url)} TO admin")

    def test_a_type_out_of_reach_is_not_used(self, login: Login, postgres_url: str) -> None:
        query(postgres_url, "CREATE SCHEMA hidden")
        query(postgres_url, "CREATE EXTENSION vector SCHEMA hidden")
        url = login(postgres_url, APP, WORKER)
        query(postgres_url, f"CREATE SCHEMA holdfast AUTHORIZATION {user_of(url)}")
        store = PostgresStore(url)
        assert not store.has_extension
        vectors = vectorised(store, 5)
        assert len(store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)) == len(vectors)
        store.close()
        # An administrator has the right to let our roles in.
        assert schema.initialise(Connections(postgres_url, "here")).vectors == "vector"
        store = PostgresStore(url)
        assert (store.has_extension, vectors_of(store).keys()) == (True, vectors.keys())
        assert len(store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)) == len(vectors)
        store.close()
        query(postgres_url, f"REASSIGN OWNED BY {user_of(url)} TO admin")


def vectors_of(store: Store) -> dict[int, bytes]:
    """Every stored vector, to the last bit."""
    seqs = [one.seq for one in store.list(Filter((ANN, BOB), statuses=("active", "archived")))]
    return {
        seq: np.asarray(v).tobytes()
        for seq, v in store.vectors.get([ANN, BOB], MODEL, seqs).items()
    }


@pytest.fixture(scope="module")
def plain_tables(plain_server: PostgresServer) -> Iterator[str]:
    """A database with our tables on a server without pgvector."""
    with database(plain_server) as url:
        PostgresStore(url).close()
        yield url


class TestContractWithoutVectorType(VectorsContract):
    """The promises about vectors, on a server without pgvector."""

    @pytest.fixture
    def again(self, plain_tables: str) -> Iterator[Callable[[], Store]]:
        empty_tables(plain_tables)
        opened: list[Store] = []

        def open_one() -> Store:
            opened.append(PostgresStore(plain_tables, clock=lambda: 0))
            return opened[-1]

        yield open_one
        for store in opened:
            assert list(store.check()) == []
            store.close()

    @pytest.fixture
    def store(self, again: Callable[[], Store]) -> Store:
        return again()


# The check-up

MENDED = {
    "a missing posting": "DELETE FROM memory_terms WHERE seq = 2",
    "a posting too many": "INSERT INTO memory_terms VALUES (1, 3, 1, 2, '~nothing')",
    "a posting of nothing": "INSERT INTO memory_terms VALUES (1, 777, 1, 1, '~note')",
    "a posting in another status": (
        "UPDATE memory_terms SET term = '_' || substr(term, 2) WHERE seq = 1"
    ),
    "a wrong count in a posting": "UPDATE memory_terms SET times = 9 WHERE seq = 3",
    "a wrong length in a posting": "UPDATE memory_terms SET length = 9 WHERE seq = 3",
    "the total of memories": "UPDATE totals SET active = active + 1",
    "the total of words": "UPDATE totals SET terms = 0 WHERE scope = 1",
    "the total of entries": "UPDATE totals SET entries = entries - 1",
    "totals that are gone": "DELETE FROM totals WHERE scope = 1",
    "a length": "UPDATE memories SET terms = 99 WHERE seq = 3",
    "an edge to nowhere": (
        "INSERT INTO edges VALUES (1, 'fact_gone', 'fact_gone_too', 'derived_from', 1, '')"
    ),
    "a mention of nobody": "INSERT INTO mentions VALUES (1, 'nobody', 'nothing')",
    "a name of nobody": "INSERT INTO entity_names VALUES (1, 'x', 'nobody', 'X')",
    "the file of no memory": "INSERT INTO files VALUES (1, '/home', 'a.md', 'rec_gone', 1, 1, '')",
}
VECTOR_DAMAGE = {
    "a vector that is too short": "UPDATE vectors SET vector = '[1]' WHERE number = 2",
    "a vector of another length than one": (
        f"UPDATE vectors SET vector = '[{'7,' * 15}7]' WHERE number = 2"
    ),
    "a vector that is missing": "DELETE FROM vectors WHERE number = 3",
}
FOR_PEOPLE = {
    "a lost journal entry": ("DELETE FROM events WHERE before IS NOT NULL", "journal"),
    "a memory deleted by hand": ("DELETE FROM memories WHERE seq = 5", "journal"),
    "a message deleted by hand": (
        "INSERT INTO messages VALUES (1, 's', 0, '{}', 1), (1, 's', 2, '{}', 1)",
        "messages",
    ),
    "messages without their session": (
        "INSERT INTO messages VALUES (1, 'nobody', 0, '{}', 1)",
        "messages",
    ),
    "a missing table": ("DROP TABLE profiles", "schema"),
    "a missing index": ("DROP INDEX memories_by_hash", "schema"),
    "a table that everybody sees": ("ALTER TABLE edges DISABLE ROW LEVEL SECURITY", "schema"),
    "a table without a policy": ("DROP POLICY own ON edges; DROP POLICY upkeep ON edges", "schema"),
    "a policy that hides nothing": (f"ALTER POLICY own ON edges TO {APP} USING (true)", "schema"),
    "one more policy": ("CREATE POLICY more ON edges USING (true)", "schema"),
    "a policy that lets rows in": (
        f"CREATE POLICY more ON edges FOR INSERT TO {APP} WITH CHECK (true)",
        "schema",
    ),
}


class TestDoctor:
    """The check-up finds each damage; the repair mends what can be rebuilt."""

    @pytest.fixture
    def sound(self, store: PostgresStore) -> tuple[Any, ...]:
        scene(store)  # type: ignore[arg-type]
        assert list(store.check()) == []
        return answers(store)  # type: ignore[arg-type]

    @pytest.mark.parametrize("statements", MENDED.values(), ids=list(MENDED))
    def test_damage_is_found_and_mended(
        self, store: PostgresStore, sound: tuple[Any, ...], postgres_store_url: str, statements: str
    ) -> None:
        query(postgres_store_url, f"SET search_path = holdfast, public; {statements}")
        findings = list(store.check())
        assert findings and all(finding.repairable for finding in findings), findings
        store.repair()
        assert (list(store.check()), answers(store)) == ([], sound)  # type: ignore[arg-type]

    @pytest.mark.parametrize("statements", VECTOR_DAMAGE.values(), ids=list(VECTOR_DAMAGE))
    def test_vectors_that_cannot_be_used_are_dropped_and_made_again(
        self, store: PostgresStore, sound: tuple[Any, ...], postgres_store_url: str, statements: str
    ) -> None:
        query(postgres_store_url, f"SET search_path = holdfast, public; {statements}")
        findings = list(store.check())
        assert findings and all(finding.repairable for finding in findings), findings
        store.repair()
        assert (list(store.check()), answers(store)) == ([], sound)  # type: ignore[arg-type]
        waiting = store.vectors.missing(MODEL, 50, [ANN])
        store.vectors.add([ANN], MODEL, {one.seq: unit(one.seq) for one in waiting})
        assert (store.vectors.models([ANN]), store.vectors.missing(MODEL, 50, [ANN])) == (
            {MODEL: True},
            [],
        )
        assert len(store.by_vector(Filter((ANN,)), MODEL, unit(1), 50)) == 11

    @pytest.mark.parametrize(("statements", "check"), FOR_PEOPLE.values(), ids=list(FOR_PEOPLE))
    def test_what_cannot_be_rebuilt_is_found_and_said_to_be_so(
        self, postgres_url: str, statements: str, check: str
    ) -> None:
        store = PostgresStore(postgres_url)
        scene(store)  # type: ignore[arg-type]
        for statement in statements.split("; "):
            query(f"{postgres_url}?options=-csearch_path%3Dholdfast,public", statement)
        found = [finding for finding in store.check() if not finding.repairable]
        assert [finding.check for finding in found][:1] == [check]
        store.close()


# Many at once


class TestManyAtOnce:
    def test_threads_write_at_once(self, store: PostgresStore) -> None:
        failed = in_threads(
            [
                lambda name=name: [put(store, fact(f"{name} {n}")) for n in range(10)]
                for name in "abcdefgh"
            ]
        )
        assert failed == []
        assert sorted(listed(store)) == sorted(
            f"{name} {n}" for name in "abcdefgh" for n in range(10)
        )
        assert list(store.check()) == []

    def test_threads_make_the_same_scope_at_once(self, store: PostgresStore) -> None:
        for round_ in range(5):
            scope = Scope("user", f"new {round_}")
            works = [lambda n=n: put(store, fact(f"by {n}", scope=scope)) for n in range(6)]  # noqa: B023
            works += [lambda: store.jobs.enqueue(scope, "tidy", "k", watermark=1)] * 2  # noqa: B023
            assert in_threads(works) == []
            assert len(listed(store, scopes=(scope,))) == 6
        assert len(store.scopes()) == 5
        assert list(store.check()) == []

    def test_the_first_writers_of_a_scope_see_each_other(self, postgres_store_url: str) -> None:
        for round_ in range(6):
            scope = Scope("user", f"new {round_}")
            opened = [
                Holdfast.open(
                    postgres_store_url, scope=scope, settings=WORDS_ONLY, background=False
                )
                for _ in range(5)
            ]
            works = [
                lambda hf=hf: (hf.capture("s", "user", "Hello"), hf.remember("Likes tea"))
                for hf in opened
            ]
            assert in_threads(works) == []
            kept = opened[0].list()
            assert sorted(one.content for one in kept) == ["Hello"] * 5 + ["Likes tea"]
            assert sorted(one.position for one in kept if one.kind == "turn") == [0, 1, 2, 3, 4]
            for hf in opened:
                hf.close()

    def test_the_same_vectors_are_added_at_once(self, postgres_store_url: str) -> None:
        stores = [PostgresStore(postgres_store_url) for _ in range(6)]
        stored = put(stores[0], *(fact(f"note {n}") for n in range(40)))
        vectors = {one.seq: unit(one.seq) for one in stored}
        assert (
            in_threads([lambda one=one: one.vectors.add([ANN], MODEL, vectors) for one in stores])
            == []
        )
        assert vectors_of(stores[0]) == {seq: vector.tobytes() for seq, vector in vectors.items()}
        assert (stores[0].vectors.models([ANN]), list(stores[0].check())) == ({MODEL: True}, [])
        for one in stores:
            one.close()

    def test_vectors_are_added_while_memories_come_and_go(self, postgres_store_url: str) -> None:
        stores = [PostgresStore(postgres_store_url) for _ in range(4)]
        stored = put(stores[0], *(fact(f"note {n}") for n in range(60)))
        done = threading.Event()

        def embed(store: PostgresStore) -> None:
            while not done.is_set() or store.vectors.missing(MODEL, 1, [ANN]):
                waiting = store.vectors.missing(MODEL, 7, [ANN])
                store.vectors.add([ANN], MODEL, {one.seq: unit(one.seq) for one in waiting})

        def come_and_go(store: PostgresStore) -> None:
            try:
                for n, one in enumerate(stored):
                    write(store, lambda tx, one=one: tx.remove(one), run=f"remove {n}")
                    if n % 2:
                        write(store, lambda tx, n=n: tx.undo([ANN], f"remove {n}"))
                    put(store, fact(f"new {n}"))
            finally:
                done.set()

        first, *others = stores
        assert (
            in_threads(
                [lambda: come_and_go(first), *(lambda one=one: embed(one) for one in others)]
            )
            == []
        )
        assert (
            first.vectors.models([ANN]),
            first.vectors.coverage([ANN]),
            list(first.check()),
        ) == (
            {MODEL: True},
            {MODEL: 90},
            [],
        )
        for one in stores:
            one.close()

    def test_repair_waits_for_writers_and_they_for_it(self, store: PostgresStore) -> None:
        put(store, *(fact(f"note {n}") for n in range(50)))
        writers = [
            lambda name=name: [put(store, fact(f"{name} {n}")) for n in range(8)] for name in "abc"
        ]
        assert in_threads([store.repair, *writers, store.repair]) == []
        assert (len(listed(store)), list(store.check())) == (74, [])

    def test_more_recalls_at_once_than_connections(
        self, postgres_store_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connections, "CONNECTIONS", 2)
        monkeypatch.setattr(connections, "PATIENCE", 10.0)
        # One of the scopes is not there, so it is looked for at each step.
        with Holdfast.open(
            postgres_store_url,
            scope=["user:ann", "shared:nowhere"],
            settings=WORDS_ONLY,
            background=False,
        ) as hf:
            hf.remember("Prefers green tea")
            asking = [lambda: [hf.recall("which tea?")[0] for _ in range(5)]] * 8
            assert in_threads(asking) == []

    def test_other_defaults_of_the_server_change_nothing(self, postgres_store_url: str) -> None:
        options = (
            "-c default_transaction_isolation=serializable -c row_security=off -c "
            "search_path=nowhere"
        )
        option = "?options=" + options.replace(" ", "%20").replace("=", "%3D")
        stores = [PostgresStore(postgres_store_url + option) for _ in range(4)]
        works = [
            lambda n=n, one=one: [put(one, fact(f"{n} {m}")) for m in range(5)]
            for n, one in enumerate(stores)
        ]
        assert in_threads(works) == []
        assert (
            len(listed(stores[0])),
            listed(stores[1], scopes=(BOB,)),
            list(stores[2].check()),
        ) == (20, [], [])
        for one in stores:
            one.close()


# Errors


SECRET = "Ge7heim"


class TestErrors:
    @pytest.mark.parametrize(
        ("url", "location"),
        [
            (
                f"postgresql://ann:{SECRET}@db.example:5433/notes",
                "postgresql://ann@db.example:5433/notes",
            ),
            (
                f"postgres://ann:{SECRET}@db.example/notes?sslmode=require",
                "postgresql://ann@db.example/notes",
            ),
            (
                f"postgresql://db.example/notes?user=ann&password={SECRET}",
                "postgresql://ann@db.example/notes",
            ),
            (f"postgresql:///notes?host=/run/pg&password={SECRET}", "postgresql:///run/pg/notes"),
            (f"postgresql://ann:{SECRET}@one:1,two:2/notes", "postgresql://ann@one,two:1,2/notes"),
            (
                f"postgresql://ann:%40{SECRET}%2F@[::1]:5433/notes",
                "postgresql://ann@::1:5433/notes",
            ),
            (f"postgresql://ann:{SECRET}@db.example", "postgresql://ann@db.example/"),
        ],
    )
    def test_a_location_has_no_password(self, url: str, location: str) -> None:
        assert driver_errors.without_password(url) == location
        assert SECRET not in repr(Connections(url, location))

    @pytest.mark.parametrize(
        "url",
        [
            f"postgresql://ann:x/{SECRET}@127.0.0.1:1/notes",
            f"postgresql://ann:{SECRET}/x@127.0.0.1:1/notes",
            f"postgresql://ann:x@{SECRET}@127.0.0.1:1/notes",
            (f"postgresql://ann:{SECRET} x@127.0.0.1:1/notes"),
            f"postgresql://ann:{SECRET}@[127.0.0.1:1/notes",
            f"postgresql://ann:{SECRET}%zz@127.0.0.1:1/notes",
            f"postgresql://ann:{SECRET}@127.0.0.1:1/notes?nonsense=1",
            f"postgresql://ann:{SECRET}@127.0.0.1:port/notes",
        ],
    )
    def test_a_url_that_cannot_be_understood_is_not_repeated(
        self, url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.raises(InvalidInput, match="percent sign") as raised:
            PostgresStore(url)
        assert SECRET not in told(raised.value) + caplog.text + driver_errors.without_password(url)

    def test_a_password_is_in_no_error_and_no_log(
        self,
        own_server: PostgresServer,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        caplog.set_level(logging.DEBUG)
        monkeypatch.setattr(connections, "PATIENCE", 0.5)
        with database(own_server) as admin, new_logins(own_server) as login:
            PostgresStore(admin).close()
            url = login(admin, APP, "PASSWORD 'x'").replace("@", f":{SECRET}@")
            rules = own_server.data / "pg_hba.conf"
            trusting = rules.read_text()
            rules.write_text(f"host all {user_of(url)} all scram-sha-256\n{trusting}")
            query(admin, "SELECT pg_reload_conf()")
            raised = until_raised(lambda: PostgresStore(url).close())
            assert "refused the login. Check user and password" in str(raised)
            rules.write_text(trusting)
            query(admin, "SELECT pg_reload_conf()")
            store = until_done(lambda: PostgresStore(url))
            calls: list[Callable[[], Any]] = [
                store.scopes,
                lambda: store.read((), "SELECT nonsense"),
                lambda: put(store, fact("a\0b")),
                lambda: write(store, lambda tx: tx._rows.execute("SELECT 1/0")),
            ]
            told_ = [told(raised)]
            for call in calls:
                with pytest.raises((StoreError, InvalidInput)) as failing:
                    call()
                told_.append(told(failing.value))
            query(admin, f"ALTER ROLE {user_of(url)} NOLOGIN")
            query(
                admin,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> 'admin'",
            )
            # A connection may outlive its end by a moment.
            refused = until_raised(lambda: listed(store))
            assert "refused the login" in str(refused)
            told_.append(told(refused))
            store.close()
            assert SECRET not in "".join(told_) + caplog.text + store.location + repr(
                store._primary
            )

    def test_a_database_that_is_not_there(self, postgres_server: PostgresServer) -> None:
        with pytest.raises(StoreError, match="nowhere does not exist"):
            PostgresStore(postgres_server.url("nowhere"))
        with pytest.raises(
            StoreError, match=rf"{postgres_server.port}/ does not exist"
        ):  # that of the login's name
            PostgresStore(f"postgresql://admin@127.0.0.1:{postgres_server.port}")
        with pytest.raises(StoreError, match="refused the login"):
            PostgresStore(postgres_server.url("postgres", user="nobody_here"))

    def test_a_socket_and_options_in_the_url(
        self, postgres_server: PostgresServer, postgres_store_url: str
    ) -> None:
        name, folder = postgres_store_url.rpartition("/")[2], postgres_server.data.parent
        url = f"postgresql:///{name}?host={folder}&port={postgres_server.port}&user=admin&application_name=notes"
        store = PostgresStore(url)
        put(store, fact("tea"))
        assert listed(store) == ["tea"]
        assert store.read((), "SELECT current_setting('application_name')") == [("notes",)]
        assert store.location == f"postgresql://admin@{folder}:{postgres_server.port}/{name}"
        store.close()

    def test_any_encoding_in_the_url_stores_any_text(self, postgres_store_url: str) -> None:
        store = PostgresStore(f"{postgres_store_url}?client_encoding=LATIN1")
        put(store, fact("日本 tea 👩‍👩‍👧"))
        assert listed(store) == ["日本 tea 👩‍👩‍👧"]
        store.close()

    def test_a_write_to_a_shard_that_moves_is_tried_again(self, postgres_url: str) -> None:
        store = PostgresStore(postgres_url)
        put(store, fact("tea"))
        with store._primary.connect() as admin:
            # A sequence does not roll back, so only the first attempt fails.
            admin.execute(
                "CREATE SEQUENCE holdfast.attempts; GRANT ALL ON holdfast.attempts TO public"
            )
            admin.execute(
                """
                CREATE FUNCTION holdfast.fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                  IF nextval('holdfast.attempts') = 1 THEN
                    RAISE EXCEPTION 'could not find valid entry for shard 102042'
                    USING ERRCODE = 'XX000';
                  END IF;
                  RETURN NEW;
                END $$;
                CREATE TRIGGER fail_once BEFORE INSERT ON holdfast.memories
                FOR EACH ROW EXECUTE FUNCTION holdfast.fail_once()
                """
            )
        put(store, fact("coffee"))
        assert sorted(listed(store)) == ["coffee", "tea"]
        assert list(store.check()) == []
        store.close()

    def test_no_free_connection_says_busy(
        self, own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connections, "CONNECTIONS", 1)
        with database(own_server) as url:
            store = PostgresStore(url)
            with ExitStack() as stack, monkeypatch.context() as patch:
                patch.setattr(connections, "PATIENCE", 1.0)
                with pytest.raises(psycopg.OperationalError, match="too many clients"):
                    while True:
                        stack.enter_context(psycopg.connect(url))
                with pytest.raises(StoreBusy, match="no free connection"):
                    PostgresStore(url)
                with pytest.raises(StoreBusy, match="no free connection"):
                    put(store, fact("coffee"))
            put(store, fact("tea"))
            with store._primary.lent(), monkeypatch.context() as patch:
                patch.setattr(connections, "PATIENCE", 0.5)
                with pytest.raises(StoreBusy, match="no free connection"):
                    put(store, fact("coffee"))
            assert listed(store) == ["tea"]
            store.close()

    @pytest.mark.parametrize("text", ["tea\0time", "tea\ud800time"])
    def test_text_that_no_table_can_hold(self, store: PostgresStore, text: str) -> None:
        writes: list[Callable[[], Any]] = [
            lambda: put(store, fact(text)),
            lambda: put(store, fact("tea", title=text)),
            lambda: put(store, fact("tea", author=text)),
            lambda: put(store, fact("tea", session=text, position=0)),
            lambda: store.jobs.enqueue(ANN, text, "k", watermark=1),
        ]
        one = put_one(store, fact("green tea"))
        writes.append(lambda: change(store, one, title=text))
        for each in writes:
            with pytest.raises(InvalidInput):
                each()
        assert listed(store) == ["green tea"]
        where = Filter((ANN,), sessions=(text,), authors=(text,), tags=(text,), categories=(text,))
        assert (
            store.get([ANN], [text]),
            store.list(where),
            store.by_text(Filter((ANN,)), [text], 5),
        ) == ([], [], [])
        assert (store.by_entity(Filter((ANN,)), [text], 5), store.events([ANN], run=text)) == (
            [],
            [],
        )
        assert (store.edges(ANN, text), store.vectors.get([ANN], text, [1])) == ([], {})
        assert list(store.check()) == []

    @pytest.mark.parametrize(
        "text", ["tea\0time", "tea\ud800time", "\0", "%s ? $1 \\ ' \" :name {}", "٣ ½ ﷺ"]
    )
    def test_any_text_can_be_remembered_and_asked(
        self, postgres_store_url: str, fake: Any, text: str
    ) -> None:
        with Holdfast.open(
            postgres_store_url, scope="user:ann", settings=WORDS_ONLY, background=False
        ) as hf:
            kept = hf.remember(
                f"green {text} leaves", title=text, tags=(text,), metadata={text: text}
            )
            hf.capture("s", "user", f"hello {text}")
            assert hf.recall(f"green {text} leaves")[0].memory.id == kept.id
            hf.recall(text), hf.context(text)
            assert hf.get(kept.id).content.startswith("green ")
            assert hf.admin.check() == []

    def test_a_batch_of_long_texts_is_stored_in_pieces(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(scoped_session, "BYTES_TOGETHER", 10_000)
        put(store, *(fact(f"note {n} " + "x" * (n * 700)) for n in range(40)))
        assert [len(text) for text in listed(store)] == [
            len(f"note {n} ") + n * 700 for n in range(40)
        ]
        assert list(store.check()) == []

    def test_a_transaction_that_only_appended_messages_is_told_from_another_with_its_number(
        self, store: PostgresStore, postgres_store_url: str
    ) -> None:
        write(store, lambda tx: tx.sessions.put(Session("s", ANN, START, START)))
        traces: list[connections.Trace | None] = []

        def work(tx: Any) -> None:
            tx.sessions.add_messages(ANN, "s", [{"n": 1}, {"n": 2}])
            traces.append(tx._rows.trace(store._sight(())))

        write(store, work, when=at(1))
        ((transaction,),) = query(
            postgres_store_url, "SELECT DISTINCT xmin::text FROM holdfast.messages"
        )
        (trace,) = traces
        assert trace is not None and trace.message is not None
        assert store._primary.outcome(transaction, trace) == "committed"
        number, session, position, time_ = trace.message
        for other in (
            (number, session, position + 1, time_),
            (number, session, position, time_ + 1),
        ):
            assert store._primary.outcome(transaction, replace(trace, message=other)) == "aborted"


class TestScrubbing:
    def test_scrubbing_says_that_a_reader_of_an_older_state_holds_it_up(
        self, store: PostgresStore
    ) -> None:
        one = put_one(store, fact("tea"))
        with store.snapshot() as rows:
            assert len(list(rows("memory", ANN))) == 1
            purge(store, one)
            assert {place.name: place.state for place in store.scrub()}["dead rows"] == "pending"
            put(store, fact("coffee"))  # nobody waits for it meanwhile
        assert {place.name: place.state for place in store.scrub()}["dead rows"] == "clean"
        assert listed(store) == ["coffee"]

    @pytest.mark.parametrize(
        ("said", "state"),
        [
            ('WARNING 01000 permission denied to vacuum "memories", skipping it', "beyond"),
            ("WARNING 01000 a connection to a worker was slow", "pending"),
            ("INFO 00000 tuples: 1 removed, 5 remain, 2 are dead but not yet removable", "pending"),
            ("INFO 00000 tuples: 1 removed, 5 remain, 0 are dead but not yet removable", "clean"),
        ],
    )
    def test_what_a_vacuum_says_decides_what_is_promised(self, said: str, state: str) -> None:
        assert dead_rows([said]).state == state

    def test_scrubbing_does_not_wait_for_ever(
        self, store: PostgresStore, postgres_store_url: str
    ) -> None:
        put(store, fact("tea"))
        with psycopg.connect(postgres_store_url) as other:
            other.execute("LOCK TABLE holdfast.memories IN SHARE UPDATE EXCLUSIVE MODE")
            assert store.scrub(wait=0.01)[0].state == "pending"

    def test_who_does_not_own_the_tables_is_told_who_can_clean_them(
        self, store: PostgresStore
    ) -> None:
        states = {place.name: (place.state, place.detail) for place in store.scrub()}
        assert states["server files"][0] == states["server log"][0] == "beyond"
        assert (
            "VACUUM (FULL)" in states["server files"][1]
            and "pg_switch_wal" in states["server log"][1]
        )


def told(error: BaseException) -> str:
    """All that an error and those behind it say."""
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{error!r} {error}\n" + (told(behind) if behind else "")


def until_raised(call: Callable[[], object]) -> StoreError:
    """The error that comes, once the server has read its rules anew."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            call()
        except StoreError as error:
            return error
    raise AssertionError("nothing was raised")


def until_done(call: Callable[[], Any]) -> Any:
    """What the call returns, once the server has read its rules anew."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            return call()
        except StoreError:
            continue
    raise AssertionError("it was always refused")
