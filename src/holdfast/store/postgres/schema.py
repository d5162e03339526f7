"""The tables on a server: made, brought up to date, looked at. Needs a login that may make roles and tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import psycopg
from psycopg import errors, sql

from ...errors import StoreError
from .. import migrate
from .connections import APP, WORKER, Connection, Connections, explained

MIGRATING = 0x484C4446  # the number of the lock that migrators take turns on
NO_EXTENSION = (
    "The extension 'vector' (pgvector) is not installed and this login cannot install it. Recall works: words as ever, "
    "meaning by exact search in this process. For large memories have an administrator run CREATE EXTENSION vector "
    "in this database, then `holdfast store migrate`."
)


@dataclass(frozen=True, slots=True)
class State:
    """How a database stands: the version of its tables (0: none), and what it can do."""

    version: int
    extension: str | None
    """Version of pgvector, None without it."""
    extension_schema: str
    vectors: str
    """Type of the vectors' column: vector or bytea; empty before there is one."""
    citus: bool

    @property
    def search_path(self) -> str:
        """Where statements look for names: our tables, then pgvector's type and operators."""
        return f"holdfast, {self.extension_schema}"


def state(connection: Connection) -> State:
    """How the database stands now."""
    ((there, column, citus),) = connection.execute(
        "SELECT to_regclass('holdfast.meta') IS NOT NULL, (SELECT format_type(atttypid, NULL) FROM pg_attribute "
        "WHERE attrelid = to_regclass('holdfast.vectors') AND attname = 'vector'), "
        "EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')"
    ).fetchall()
    version = 0
    if there:
        with allowed(connection):
            rows = connection.execute("SELECT value FROM holdfast.meta WHERE key = 'schema'").fetchall()
        version = int(rows[0][0]) if rows else 0
    extension = connection.execute(
        "SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchall()
    return State(
        version,
        extension[0][0] if extension else None,
        extension[0][1] if extension else "public",
        (column or "").split(".")[-1],
        citus,
    )


@contextmanager
def allowed(connection: Connection) -> Iterator[None]:
    """Says what a login is missing when it may not even look."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        user = connection.info.user
        raise StoreError(
            f"The login {user} may not use the Holdfast tables here. Have an administrator run: "
            f"GRANT {APP}, {WORKER} TO {user}"
        ) from error


def initialise(connections: Connections) -> State:
    """Makes whatever is missing and brings the rest up to date, all or nothing; many may call it at once."""
    with connections.connect() as connection, explained(connections.location):
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
            # Asked inside the lock: another one may have migrated while we waited.
            _migrate(connection, connections.location)
        return state(connection)


def _migrate(connection: Connection, location: str) -> None:
    steps = migrate.pending("postgres", state(connection).version, location)
    if steps:
        _make_roles(connection)
        connection.execute("CREATE SCHEMA IF NOT EXISTS holdfast")
    connection.execute("SET LOCAL search_path = holdfast, public")
    for step in steps:
        connection.execute(step.sql.encode())
        connection.execute(
            "INSERT INTO meta (key, value) VALUES ('schema', %s) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(step.version),),
        )
    _use_extension(connection)


def _make_roles(connection: Connection) -> None:
    for role in (APP, WORKER):
        known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchall()
        if not known:
            try:
                with connection.transaction():
                    connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
            except (errors.DuplicateObject, errors.UniqueViolation):
                pass  # another database of this server was set up at the same moment
            except errors.InsufficientPrivilege as error:
                raise StoreError(
                    f"The login {connection.info.user} may not create the role {role}. Nothing was changed. "
                    "Run `holdfast store init` with an administrator's URL once."
                ) from error
    _join_roles(connection)


def _join_roles(connection: Connection) -> None:
    """Lets the login act as the roles. A superuser may anyway."""
    for role in (APP, WORKER):
        ((member,),) = connection.execute("SELECT pg_has_role(current_user, %s, 'MEMBER')", (role,)).fetchall()
        if not member:
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))


def _use_extension(connection: Connection) -> None:
    """Turns the column of vectors into pgvector's type where that can be had. What is in it is kept."""
    now = state(connection)
    if now.extension is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION vector SCHEMA public")
        except psycopg.Error:
            return  # not installed on the server, or not allowed: `holdfast store status` says so
        now = state(connection)
    if now.vectors == "vector":
        return
    kind = sql.Identifier(now.extension_schema, "vector")
    connection.execute(sql.SQL("ALTER TABLE vectors ADD COLUMN made {}").format(kind))
    _convert(connection)
    connection.execute("ALTER TABLE vectors DROP COLUMN vector")
    connection.execute("ALTER TABLE vectors RENAME COLUMN made TO vector")
    connection.execute("ALTER TABLE vectors ALTER COLUMN vector SET NOT NULL")


def _convert(connection: Connection) -> None:
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(WORKER)))
    with connection.cursor(name="old_vectors") as cursor:
        for scope, model, seq, packed in cursor.execute("SELECT scope, model, seq, vector FROM vectors"):
            text = "[" + ",".join(map(repr, np.frombuffer(packed, np.float32).astype(float).tolist())) + "]"
            connection.execute(
                "UPDATE vectors SET made = %s::text::vector WHERE scope = %s AND model = %s AND seq = %s",
                (text, scope, model, seq),
            )
    connection.execute("RESET ROLE")
