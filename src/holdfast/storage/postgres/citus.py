"""Spreading the tables over many machines with Citus: by scope, so that an owner's rows stay
together.

Every statement of the engine names its scopes, so each goes to the machine that has them. Three
tables are not spread: `scopes` and `meta` are small and copied everywhere; `jobs` stays where
workers claim them, for Citus cannot skip locked rows across machines.
"""

from __future__ import annotations

from collections.abc import Container

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from ...errors import InvalidInput, StoreError
from .connections import Connections
from .driver_errors import explained, without_password
from .schema import state
from .scoped_session import APP, WORKER

REFERENCE = ("meta", "scopes")
LOCAL = ("jobs",)
# Whatever a foreign key points to comes first.
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


def statements(database: str, spread: Container[str] = ()) -> list[str]:
    """What has to run on the coordinator, in order, once. All of it can be read before any of it is
    done.

    Where these tables are spread already, it is what those that a later version brought still need.
    """
    first, *others = DISTRIBUTED
    together = [
        (
            f"SELECT create_distributed_table('holdfast.{table}', 'scope', colocate_with => "
            f"'holdfast.{first}')"
        )
        for table in others
        if table not in spread
    ]
    if first in spread:
        return together
    return [
        # A setting of a transaction has to reach the machines that check it against the rows.
        (
            f"ALTER DATABASE {sql.Identifier(database).as_string(None)} SET "
            "citus.propagate_set_commands = 'local'"
        ),
        # Machines talk to each other in the name of the role that a transaction has taken.
        f"ALTER ROLE {APP} LOGIN",
        f"ALTER ROLE {WORKER} LOGIN",
        *(f"SELECT create_reference_table('holdfast.{table}')" for table in REFERENCE),
        *(f"SELECT citus_add_local_table_to_metadata('holdfast.{table}')" for table in LOCAL),
        f"SELECT create_distributed_table('holdfast.{first}', 'scope')",
        *together,
    ]


def plan(url: str) -> list[str]:
    """What `distribute` would run on a database that has not been spread; nothing is asked of the
    server.
    """
    return statements(str(conninfo_to_dict(url).get("dbname") or "postgres"))


def distribute(url: str) -> list[str]:
    """Spreads the tables of a database that has Citus, all or nothing, and says what ran; nothing,
    if they are spread.

    Raises StoreError when Citus or the tables are missing. Needs the login that owns the tables, as
    a superuser.
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
        # A table that a later version brought belongs to one machine until it is spread as well.
        # Until then Citus may know it, for it points to one that is everywhere; such a table has no
        # column by which it is spread.
        rows = connection.execute(
            "SELECT c.relname FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid "
            "WHERE c.relnamespace = 'holdfast'::regnamespace AND p.partmethod = 'h'"
        )
        todo = statements(connection.info.dbname, {name for (name,) in rows})
        with connection.transaction():
            for statement in todo:
                connection.execute(statement.encode())
        return todo
