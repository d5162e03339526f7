"""Large scopes on a server: an index of their own, exact search for everyone else."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.errors import StoreError
from holdfast.storage.postgres import PostgresStore, hnsw
from holdfast.storage.store_types import Filter
from holdfast.testing.scene import ANN, BOB, MODEL, brute_force, fact, put, set_status, unit

SIZE = 400


@pytest.fixture
def store(postgres_store_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """A store in which Ann has more vectors than are compared one by one, and Bob has few."""
    monkeypatch.setattr(hnsw, "EXACT_UP_TO", 100)
    store = PostgresStore(postgres_store_url)
    for scope, count in ((ANN, SIZE), (BOB, 20)):
        stored = put(store, *(fact(f"number {number}", scope=scope) for number in range(count)))
        store.vectors.add([scope], MODEL, {one.seq: unit(one.seq) for one in stored})
    yield store
    with psycopg.connect(postgres_store_url, autocommit=True) as connection:
        for name in index_names(postgres_store_url):
            connection.execute(f"DROP INDEX holdfast.{name}".encode())
    store.close()


def index_names(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = 'holdfast' AND indexname LIKE "
            "'vectors_near_%'"
        )
        return [name for (name,) in rows]


def test_an_index_is_built_for_the_large_scope_only_and_only_once(
    store: PostgresStore, postgres_store_url: str
) -> None:
    assert len(store.tend()) == len(index_names(postgres_store_url)) == 1
    assert store.tend() == []
    assert list(store.check()) == []


def test_the_index_finds_nearly_all_that_exact_search_finds(store: PostgresStore) -> None:
    vectors = {one.seq: unit(one.seq) for one in store.list(Filter((ANN,)))}
    store.tend()
    shares = []
    for seed in range(5_000, 5_020):
        found = [seq for seq, _ in store.by_vector(Filter((ANN,)), MODEL, unit(seed), 10)]
        exact = [seq for seq, _ in brute_force(vectors, unit(seed), 10)]
        shares.append(len({*found} & {*exact}) / 10)
    assert sum(shares) / len(shares) >= 0.95


def test_the_planner_takes_the_index_and_sorts_nothing(store: PostgresStore) -> None:
    store.tend()
    plan = explained_search(store)
    assert "vectors_near_" in plan
    assert "Sort" not in plan


def explained_search(store: PostgresStore) -> str:
    sight = store._sight(store.numbers([ANN]))
    number = store.numbers([ANN])[0]
    with store._primary.transaction(sight) as connection:
        ((model,),) = connection.execute("SELECT number FROM models").fetchall()
        connection.execute(hnsw.SEARCHING)
        rows = connection.execute(
            f"EXPLAIN SELECT v.seq FROM vectors v WHERE v.scope = {number} AND v.model = {model} "
            "AND v.seq NOT IN "
            f"(SELECT m.seq FROM memories m WHERE m.scope = {number} AND m.status <> 'active') "
            "ORDER BY v.vector::vector(16) <=> %s LIMIT 10".encode(),
            (unit(1),),
        ).fetchall()
    return "\n".join(line for (line,) in rows)


def test_what_is_put_away_is_not_found_by_the_index(store: PostgresStore) -> None:
    store.tend()
    (nearest, _), *_ = store.by_vector(Filter((ANN,)), MODEL, unit(7), 5)
    (memory,) = store.get([ANN], [nearest])
    set_status(store, memory, "archived")
    assert nearest not in [seq for seq, _ in store.by_vector(Filter((ANN,)), MODEL, unit(7), 50)]


def test_a_strict_filter_still_gets_exact_answers(store: PostgresStore) -> None:
    rare = put(store, *(fact(f"rare {number}", category="rare") for number in range(3)))
    # As far from the question as can be.
    store.vectors.add([ANN], MODEL, {one.seq: -unit(9) for one in rare})
    store.tend()
    found = store.by_vector(Filter((ANN,), categories=("rare",)), MODEL, unit(9), 10)
    assert {seq for seq, _ in found} == {one.seq for one in rare}


def test_an_index_that_is_no_longer_needed_goes_away(
    store: PostgresStore, postgres_store_url: str
) -> None:
    store.tend()
    store.vectors.drop(MODEL, [ANN])
    assert [done.split()[0] for done in store.tend()] == ["removed"]
    assert index_names(postgres_store_url) == []


def test_an_index_that_was_not_finished_is_built_again(
    store: PostgresStore, postgres_store_url: str
) -> None:
    store.tend()
    (name,) = index_names(postgres_store_url)
    with psycopg.connect(postgres_store_url) as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass",
            (f"holdfast.{name}",),
        )
    assert ["not built to its end" in finding.detail for finding in store.check()] == [True]
    assert [done.split()[0] for done in store.tend()] == ["removed", "built"]
    assert list(store.check()) == []


def test_a_login_that_does_not_own_the_tables_is_told_so(
    store: PostgresStore, postgres_store_url: str
) -> None:
    with psycopg.connect(postgres_store_url, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS index_guest")
        admin.execute("CREATE ROLE index_guest LOGIN IN ROLE holdfast_app, holdfast_worker")
    guest = PostgresStore(postgres_store_url.replace("admin@", "index_guest@"))
    with pytest.raises(StoreError, match="owner"):
        guest.tend()
    guest.close()
