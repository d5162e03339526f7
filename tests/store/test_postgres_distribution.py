"""The schema keeps every rule that Citus has for tables that are spread over machines.

Citus itself is not on this server (test_citus.py has a cluster), so the rules are checked against
the catalogue: its documentation asks that unique and primary keys include the distribution column,
that foreign keys between spread tables include it on both sides in the same place, that reference
tables point to no spread table, and that the column has one type everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from holdfast.errors import StoreError
from holdfast.storage.postgres import citus
from holdfast.storage.postgres.citus import DISTRIBUTED, LOCAL, REFERENCE, UNKNOWN_TO_CITUS


@pytest.fixture
def catalogue(postgres_store_url: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(postgres_store_url) as connection:
        yield connection


def test_every_table_has_its_place(catalogue: psycopg.Connection[tuple[Any, ...]]) -> None:
    rows = catalogue.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'holdfast'")
    assert {name for (name,) in rows} == {*DISTRIBUTED, *REFERENCE, *LOCAL, *UNKNOWN_TO_CITUS}


def test_the_distribution_column_has_one_type_and_is_never_null(
    catalogue: psycopg.Connection[tuple[Any, ...]],
) -> None:
    rows = catalogue.execute(
        "SELECT table_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = 'holdfast' AND column_name = 'scope'"
    ).fetchall()
    rows = [row for row in rows if row[0] not in UNKNOWN_TO_CITUS]
    assert {name for name, *_ in rows} == {*DISTRIBUTED, *LOCAL}
    assert {(kind, nullable) for _, kind, nullable in rows} == {("bigint", "NO")}


@pytest.mark.parametrize("table", DISTRIBUTED)
def test_every_unique_key_starts_with_the_scope(
    catalogue: psycopg.Connection[tuple[Any, ...]], table: str
) -> None:
    rows = catalogue.execute(
        "SELECT i.indexrelid::regclass::text, (SELECT attname FROM pg_attribute a WHERE "
        "a.attrelid = i.indrelid "
        "AND a.attnum = i.indkey[0]) FROM pg_index i WHERE i.indrelid = %s::regclass AND "
        "i.indisunique",
        (f"holdfast.{table}",),
    ).fetchall()
    assert rows
    assert {column for _, column in rows} == {"scope"}


def test_foreign_keys_stay_on_one_machine_or_point_to_a_table_that_is_everywhere(
    catalogue: psycopg.Connection[tuple[Any, ...]],
) -> None:
    rows = catalogue.execute(
        "SELECT s.relname, t.relname, "
        "ARRAY(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY k (n, o) JOIN "
        "pg_attribute a "
        "ON a.attrelid = c.conrelid AND a.attnum = k.n ORDER BY k.o), "
        "ARRAY(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY k (n, o) JOIN "
        "pg_attribute a "
        "ON a.attrelid = c.confrelid AND a.attnum = k.n ORDER BY k.o), c.confdeltype::text "
        "FROM pg_constraint c JOIN pg_class s ON s.oid = c.conrelid JOIN pg_class t ON t.oid = "
        "c.confrelid "
        "WHERE c.contype = 'f' AND s.relnamespace = 'holdfast'::regnamespace"
    ).fetchall()
    assert rows
    for source, target, columns, targets, on_delete in rows:
        assert source not in REFERENCE
        if target in DISTRIBUTED:
            assert (columns[0], targets[0]) == ("scope", "scope"), source
            assert DISTRIBUTED.index(target) < DISTRIBUTED.index(source)
        else:
            assert target in REFERENCE
            assert on_delete == "a", "Citus does not cascade from a reference table"


def test_nothing_stands_on_what_citus_cannot_spread(
    catalogue: psycopg.Connection[tuple[Any, ...]],
) -> None:
    ((triggers, inherited, expressions),) = catalogue.execute(
        "SELECT (SELECT count(*) FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid WHERE NOT "
        "g.tgisinternal "
        "AND c.relnamespace = 'holdfast'::regnamespace), (SELECT count(*) FROM pg_inherits i JOIN "
        "pg_class c "
        "ON c.oid = i.inhrelid WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relkind = "
        "'r'), "
        "(SELECT count(*) FROM pg_constraint x JOIN pg_class c ON c.oid = x.conrelid WHERE "
        "x.contype = 'x' "
        "AND c.relnamespace = 'holdfast'::regnamespace)"
    ).fetchall()
    assert (triggers, inherited, expressions) == (0, 0, 0)


def test_the_plan_names_every_table_once_and_keeps_owners_together() -> None:
    plan = citus.statements()
    for table in (*DISTRIBUTED, *REFERENCE, *LOCAL):
        place = re.compile(rf"SELECT \w+\('holdfast\.{table}'")
        assert sum(place.match(statement) is not None for statement in plan) == 1
    spread = [statement for statement in plan if "create_distributed_table" in statement]
    assert all("'scope'" in statement for statement in spread)
    assert all("colocate_with => 'holdfast.totals'" in statement for statement in spread[1:])


def test_a_table_of_a_later_version_is_spread_beside_the_others() -> None:
    spread = [table for table in DISTRIBUTED if table != "messages"]
    policy, place = citus.statements(spread)
    assert policy.startswith("ALTER POLICY own ON holdfast.messages USING")
    assert place == (
        "SELECT create_distributed_table('holdfast.messages', 'scope', colocate_with => "
        "'holdfast.totals')"
    )
    assert citus.statements(DISTRIBUTED) == []


def test_the_plan_leaves_no_policy_with_a_subquery(
    catalogue: psycopg.Connection[tuple[Any, ...]],
) -> None:
    for statement in citus.statements():
        if statement.startswith("ALTER POLICY"):
            catalogue.execute(statement.encode())
    rows = catalogue.execute(
        "SELECT tablename, qual FROM pg_policies WHERE schemaname = 'holdfast'"
    ).fetchall()
    catalogue.rollback()
    assert len(rows) > len(DISTRIBUTED)
    assert [table for table, rule in rows if "SELECT" in rule] == []


def test_without_citus_nothing_is_changed_and_the_error_says_what_to_do(
    postgres_store_url: str,
) -> None:
    with pytest.raises(StoreError, match="CREATE EXTENSION citus"):
        citus.distribute(postgres_store_url)
