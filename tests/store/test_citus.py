"""The store on a real Citus cluster: a coordinator and two workers.

`HOLDFAST_TEST_CITUS` names the folder of a PostgreSQL that has Citus and pgvector; without it these
tests are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.storage.postgres import PostgresStore, citus
from holdfast.testing import StoreContract
from servers import CitusCluster, citus_cluster, empty_tables
from store.conftest import Opener

# Read at once: a test sees no variable of Holdfast from outside.
INSTALLED = os.environ.get("HOLDFAST_TEST_CITUS")
pytestmark = pytest.mark.skipif(
    not INSTALLED, reason="HOLDFAST_TEST_CITUS names no PostgreSQL with Citus"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[CitusCluster]:
    with citus_cluster(Path(INSTALLED or "") / "bin") as started:
        yield started


@pytest.fixture(scope="module")
def tables(cluster: CitusCluster) -> str:
    """A database whose tables are distributed."""
    url = cluster.create_database("distributed")
    PostgresStore(url).close()
    citus.distribute(url)
    return url


@pytest.fixture
def again(tables: str) -> Iterator[Opener]:
    """Opens one more store object on the data of this test; all of them are closed at its end."""
    empty_tables(tables)
    opened: list[PostgresStore] = []

    def open_one() -> PostgresStore:
        opened.append(PostgresStore(tables, clock=lambda: 0))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


class TestStoreOnCluster(StoreContract):
    """The whole contract of a store, on distributed tables."""
