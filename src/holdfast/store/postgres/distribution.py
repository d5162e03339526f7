"""Spreading the tables over many machines with Citus: by scope, so that an owner's rows stay together.

Every statement of the engine names its scopes, so each goes to the machine that has them. Three tables are not
spread: `scopes` and `meta` are small and copied everywhere; `jobs` stays where workers claim them, for Citus
cannot skip locked rows across machines.
"""

from __future__ import annotations

from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from ...errors import InvalidInput, StoreError
from .connections import APP, WORKER, Connections, explained, without_password
from .schema import state

REFERENCE = ("meta", "scopes")
LOCAL = ("jobs",)
# Whatever a foreign key points to comes first.
DISTRIBUTED = (
    "totals", "sessions", "memories", "edges", "entities", "entity_names", "mentions", "profiles", "events", "models",
    "vectors", "embedded", "memory_terms",
)  # fmt: skip


def statements(database: str) -> list[str]:
    """What has to run on the coordinator, in order, once. All of it can be read before any of it is done."""
    first, *others = DISTRIBUTED
    return [
        # A setting of a transaction has to reach the machines that check it against the rows.
        f"ALTER DATABASE {sql.Identifier(database).as_string(None)} SET citus.propagate_set_commands = 'local'",
        # Machines talk to each other in the name of the role that a transaction has taken.
        f"ALTER ROLE {APP} LOGIN",
        f"ALTER ROLE {WORKER} LOGIN",
        *(f"SELECT create_reference_table('holdfast.{table}')" for table in REFERENCE),
        *(f"SELECT citus_add_local_table_to_metadata('holdfast.{table}')" for table in LOCAL),
        f"SELECT create_distributed_table('holdfast.{first}', 'scope')",
        *(
            f"SELECT create_distributed_table('holdfast.{table}', 'scope', colocate_with => 'holdfast.{first}')"
            for table in others
        ),
    ]


def plan(url: str) -> list[str]:
    """What `distribute` would run on a database that has not been spread; nothing is asked of the server."""
    return statements(str(conninfo_to_dict(url).get("dbname") or "postgres"))


def distribute(url: str) -> list[str]:
    """Spreads the tables of a database that has Citus, all or nothing, and says what ran; nothing, if they are spread.

    Raises StoreError when Citus or the tables are missing. Needs the login that owns the tables, as a superuser.
    """
    connections = Connections(url, without_password(url))
    with connections.connect() as connection, explained(connections.location):
        now = state(connection)
        if not now.citus:
            raise StoreError(
                f"{connections.location} does not have the extension citus, so nothing was changed. Install it on "
                "every machine, run CREATE EXTENSION citus on the coordinator, add the workers, then try again. "
                "`holdfast store distribute --plan` shows what would run."
            )
        if not now.version:
            raise InvalidInput(f"{connections.location} has no tables yet. Make them with `holdfast store init`.")
        # All tables were spread in one transaction, so one tells of all.
        spread = "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass(%s)"
        if connection.execute(spread, (f"holdfast.{DISTRIBUTED[0]}",)).fetchall():
            return []
        todo = statements(connection.info.dbname)
        with connection.transaction():
            for statement in todo:
                connection.execute(statement.encode())
        return todo
