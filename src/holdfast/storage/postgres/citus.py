"""Distribute the tables over several machines with Citus, by scope, so that an owner's rows stay
together.

Every statement names its scopes, so Citus routes it to the machine that has them. Five tables are
not distributed: `scopes` and `meta` are small and replicated to every machine; `jobs` stays on the
coordinator, because Citus cannot skip locked rows across machines; and so do `looks` and `watches`,
which only workers read.
"""

from __future__ import annotations

from collections.abc import Container

from ...errors import InvalidInput, StoreError
from .connections import Connections
from .driver_errors import explained, without_password
from .schema import distributed_tables, state
from .scoped_session import APP, WORKER

REFERENCE = ("meta", "scopes")
LOCAL = ("jobs",)
# Tables that Citus need not know of: no foreign key joins them to the others.
UNKNOWN_TO_CITUS = ("looks", "watches")
# Ordered so that a table comes after those its foreign keys point to.
DISTRIBUTED = (
    "totals",
    "sessions",
    "messages",
    "progress",
    "memories",
    "edges",
    "entities",
    "entity_names",
    "mentions",
    "profiles",
    "files",
    "spend",
    "events",
    "models",
    "vectors",
    "embedded",
    "memory_terms",
)


# Citus allows no subquery in a policy, so the setting is read for each row; on one server the
# subquery of the migrations is quicker for several scopes. Compared as text, because the cast to
# bigint[] costs more for each row: first as a whole, which it is with one scope.
_SCOPES = "current_setting('holdfast.scopes', true)"
_OWN = (
    f"CASE WHEN scope::text = {_SCOPES} THEN true "
    f"WHEN strpos(',' || {_SCOPES} || ',', ',' || scope || ',') > 0 THEN true ELSE false END"
)
_OWN_SCOPE = (
    "kind || ':' || key = ANY (string_to_array(current_setting('holdfast.names', true), E'\\x1f'))"
)


def statements(spread: Container[str] = ()) -> list[str]:
    """Return the statements to run once on the coordinator, in order and in one transaction.

    `spread` are the tables that are distributed already; the result then covers only the tables
    that a later version added.
    """
    first, *others = DISTRIBUTED
    others = [table for table in others if table not in spread]
    together = [
        (
            f"SELECT create_distributed_table('holdfast.{table}', 'scope', colocate_with => "
            f"'holdfast.{first}')"
        )
        for table in others
    ]
    if first in spread:
        return [*map(_policy, others), *together]
    return [
        # Writers lock their row in `totals` first, so all of them wait here and none in between.
        f"LOCK TABLE holdfast.{first} IN EXCLUSIVE MODE",
        # Foreign keys to reference tables allow one connection for each worker.
        "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
        # Citus connects to the workers as the role that the transaction has assumed.
        *(f"ALTER ROLE {role} LOGIN" for role in (APP, WORKER)),
        *(f"ALTER ROLE {role} SET jit = off" for role in (APP, WORKER)),
        *map(_policy, (*LOCAL, first, *others)),
        f"ALTER POLICY own ON holdfast.scopes USING ({_OWN_SCOPE})",
        # Without a primary key, rows need it to be moved to another machine while they are written.
        "ALTER TABLE holdfast.memory_terms REPLICA IDENTITY USING INDEX memory_terms_by_term",
        # Otherwise all tables that point to `scopes` would become local ones of Citus in between,
        # which it cannot do with identity columns.
        "SET LOCAL citus.enable_local_reference_table_foreign_keys = off",
        *(f"ALTER TABLE holdfast.{table} DROP CONSTRAINT {table}_scope_fkey" for table in LOCAL),
        *(f"SELECT create_reference_table('holdfast.{table}')" for table in REFERENCE),
        f"SELECT create_distributed_table('holdfast.{first}', 'scope')",
        *together,
        "SET LOCAL citus.enable_local_reference_table_foreign_keys = on",
        *(f"SELECT citus_add_local_table_to_metadata('holdfast.{table}')" for table in LOCAL),
        *(
            f"ALTER TABLE holdfast.{table} ADD CONSTRAINT {table}_scope_fkey FOREIGN KEY (scope) "
            "REFERENCES holdfast.scopes (number)"
            for table in LOCAL
        ),
    ]


def _policy(table: str) -> str:
    return f"ALTER POLICY own ON holdfast.{table} USING ({_OWN})"


def distribute(url: str) -> list[str]:
    """Distribute the tables of a database with Citus atomically; return the statements that ran,
    none if all tables are distributed already.

    Needs the login that owns the tables, as a superuser. Raises StoreError without Citus,
    InvalidInput without tables.
    """
    connections = Connections(url, without_password(url))
    with connections.connect() as connection, explained(connections.location):
        now = state(connection)
        if not now.citus:
            raise StoreError(
                f"{connections.location} does not have the extension citus, so nothing was "
                "changed. Install it on "
                "every machine, run CREATE EXTENSION citus on the coordinator, add the workers, "
                "then try again. "
                "`holdfast store distribute --plan` shows what would run."
            )
        if not now.version:
            raise InvalidInput(
                f"{connections.location} has no tables yet. Make them with `holdfast store init`."
            )
        todo = statements(distributed_tables(connection))
        with connection.transaction():
            for statement in todo:
                connection.execute(statement.encode())
        return todo
