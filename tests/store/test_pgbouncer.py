"""A server behind PgBouncer in transaction mode: each transaction may get another session."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from holdfast.storage import Filter
from holdfast.storage.postgres import PostgresStore
from holdfast.testing import StoreContract
from holdfast.testing.scene import ANN, BOB, fact, listed, put
from holdfast.types import Scope
from servers import PostgresServer, pgbouncer
from store.conftest import Opener

if not shutil.which("pgbouncer"):
    pytest.skip("PgBouncer is not installed", allow_module_level=True)


SESSIONS = 4


@pytest.fixture(scope="module")
def port(postgres_server: PostgresServer) -> Iterator[int]:
    """PgBouncer with fewer sessions than a store has connections."""
    with pgbouncer(postgres_server, sessions=SESSIONS) as port:
        yield port


@pytest.fixture
def url(postgres_server: PostgresServer, postgres_store_url: str, port: int) -> str:
    return postgres_store_url.replace(f":{postgres_server.port}/", f":{port}/")


class TestContract(StoreContract):
    """The whole contract of a store."""

    @pytest.fixture
    def again(self, url: str) -> Iterator[Opener]:
        opened: list[PostgresStore] = []

        def open_one() -> PostgresStore:
            opened.append(PostgresStore(url, clock=lambda: 0))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, again: Opener) -> PostgresStore:
        store = again()
        assert isinstance(store, PostgresStore)
        return store


def test_a_store_is_made_through_the_pooler(
    postgres_server: PostgresServer, postgres_url: str, port: int
) -> None:
    store = PostgresStore(postgres_url.replace(f":{postgres_server.port}/", f":{port}/"))
    put(store, fact("tea"))
    assert list(store.check()) == []
    store.close()


def test_statements_are_not_mixed_up_between_sessions(url: str) -> None:
    stores = [PostgresStore(url) for _ in range(3)]
    # So many times that the driver would have prepared each statement, in another order each.
    for round_ in range(12):
        for n, store in enumerate(stores):
            mine = Scope("user", f"owner {n}")
            put(store, fact(f"note {round_} of {n}", scope=mine))
            assert len(listed(store, scopes=(mine,))) == round_ + 1
            if (round_ + n) % 2:
                assert store.by_text(Filter((mine,)), ["note"], 50)
    for store in stores:
        store.close()


def test_upkeep_leaves_no_setting_in_a_session(url: str) -> None:
    store = PostgresStore(url)
    put(store, fact("tea"), fact("coffee", scope=BOB))
    settings = ("lock_timeout", "search_path", "statement_timeout", "role", "holdfast.scopes")

    def seen() -> set[tuple[str, ...]]:
        """The settings of every session, all of which are asked at once."""
        with ExitStack() as stack:
            connections = [stack.enter_context(psycopg.connect(url)) for _ in range(SESSIONS)]
            return {
                tuple(
                    connection.execute("SELECT current_setting(%s, true)", (name,)).fetchall()[0][0]
                    or ""
                    for name in settings
                )
                for connection in connections
            }

    before = seen()
    store.tend()
    assert {place.name: place.state for place in store.scrub()}["dead rows"] == "clean"
    store.repair()
    assert list(store.check()) == []
    assert listed(store, scopes=(ANN,)) == ["tea"]
    assert seen() == before
    store.close()
