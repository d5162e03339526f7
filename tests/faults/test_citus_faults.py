"""A Citus cluster whose machines are killed, whose shards move and whose tables are distributed
while processes write to it and read from it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
import worker
from test_postgres_faults import Crowd, everything, query

from holdfast.storage.postgres import PostgresStore, citus
from holdfast.types import Scope
from patience import wait_until
from servers import CITUS, CitusCluster, PostgresServer

if not CITUS:
    pytest.skip("CITUS_POSTGRES names no PostgreSQL with Citus", allow_module_level=True)

WRITERS = ("writer0", "writer1", "writer2", "writer3")


@pytest.fixture
def plain_url(citus_cluster: CitusCluster) -> str:
    """A database on the cluster with our tables, all of them on the coordinator."""
    url = citus_cluster.create_database(f"test_{uuid4().hex}")
    PostgresStore(url).close()
    return url


@pytest.fixture
def url(plain_url: str) -> str:
    """A database whose tables are distributed."""
    citus.distribute(plain_url)
    return plain_url


def shard_of(url: str, scope: str) -> tuple[int, int]:
    """The shard of a scope and the port of the machine that has it."""
    store = PostgresStore(url)
    (number,) = store.numbers([Scope.parse(scope)])
    store.close()
    ((shard, port),) = query(
        url,
        "SELECT shardid, nodeport FROM pg_dist_shard_placement WHERE shardid = "
        f"get_shard_id_for_distribution_column('holdfast.totals', {number})",
    )
    return shard, port


def others_of(url: str, scope: str) -> int:
    """How many scopes share the shard of this one."""
    shard, _ = shard_of(url, scope)
    ((count,),) = query(
        url,
        "SELECT count(*) FROM holdfast.scopes WHERE "
        f"get_shard_id_for_distribution_column('holdfast.totals', number) = {shard}",
    )
    return count - 1


def nothing_left_behind(url: str) -> bool:
    query(url, "CALL citus_cleanup_orphaned_resources()")
    return query(url, "SELECT count(*) FROM pg_dist_cleanup") == [(0,)]


@pytest.mark.parametrize(
    "victim",
    [lambda cluster: cluster.workers[0], lambda cluster: cluster.coordinator],
    ids=["worker", "coordinator"],
)
def test_a_machine_that_is_killed_and_comes_back_loses_and_doubles_nothing(
    citus_cluster: CitusCluster,
    url: str,
    tmp_path: Path,
    victim: Callable[[CitusCluster], PostgresServer],
) -> None:
    machine = victim(citus_cluster)
    with Crowd(url, tmp_path) as crowd:
        crowd.start(worker.write, *WRITERS)
        crowd.start(worker.read, "reader0")
        for _ in range(3):
            crowd.await_more(10)
            machine.kill()
            machine.start()
        crowd.await_more(10)
        crowd.end()


def test_tables_are_distributed_while_others_write(plain_url: str, tmp_path: Path) -> None:
    with Crowd(plain_url, tmp_path) as crowd:
        crowd.start(worker.write, *WRITERS)
        crowd.start(worker.read, "reader0")
        crowd.await_more(20)
        citus.distribute(plain_url)
        crowd.await_more(20)
        crowd.end()


def test_a_scope_gets_a_shard_of_its_own_and_moves_while_others_write(
    citus_cluster: CitusCluster, url: str, tmp_path: Path
) -> None:
    ports = [machine.port for machine in citus_cluster.workers]
    with Crowd(url, tmp_path) as crowd:
        crowd.start(worker.write, *WRITERS)
        crowd.start(worker.read, "reader0")
        crowd.await_more(20)
        store = PostgresStore(url)
        (ann,) = store.numbers([Scope.parse("user:ann")])
        store.close()
        # Writers wait: without that, Citus does not come to an end (its issue 6790).
        query(
            url,
            f"SELECT isolate_tenant_to_new_shard('holdfast.totals', {ann}, 'CASCADE', "
            "shard_transfer_mode => 'block_writes')",
        )
        assert others_of(url, "user:ann") == 0
        crowd.await_more(10)
        for _ in range(2):
            shard, port = shard_of(url, "user:ann")
            (other,) = (one for one in ports if one != port)
            query(
                url,
                f"SELECT citus_move_shard_placement({shard}, '127.0.0.1', {port}, '127.0.0.1', "
                f"{other}, shard_transfer_mode => 'force_logical')",
            )
            assert shard_of(url, "user:ann") != (shard, port)
            crowd.await_more(10)
            # What a move leaves behind goes when nobody reads it any more; before that, the
            # shard cannot come back.
            wait_until(lambda: nothing_left_behind(url), "the end of the old shard")
        crowd.end()
    assert everything(url)
