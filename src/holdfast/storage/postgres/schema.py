"""Tables on a server: creation, migration and status. Needs a login that may create roles and
tables.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
import psycopg
from psycopg import errors, sql

from ...errors import StoreError
from ...types import Scope
from .. import migrations_runner
from ..schema_status import Status, jobs_by_status, rows_by_noun
from .connections import Connections
from .driver_errors import explained, without_password
from .scoped_session import APP, WORKER, Connection, PostgresStatements, Sight

# Key of the advisory lock that serialises migrations.
MIGRATING = 0x484C4446
NO_EXTENSION = (
    "The extension 'vector' (pgvector) is not installed and this login cannot install it. Recall "
    "works: words as ever, "
    "meaning by exact search in this process. For large memories have an administrator run CREATE "
    "EXTENSION vector "
    "in this database, then `holdfast store migrate`."
)
USE_EXTENSION = "vectors become pgvector's type"


@dataclass(frozen=True, slots=True)
class State:
    """Version of the tables of a database (0 without tables) and its extensions."""

    version: int
    extension: str | None
    """Version of pgvector; None without it."""
    extension_schema: str
    """Schema of pgvector, quoted if necessary."""
    vectors: str
    """Type of the vector column: vector or bytea; empty if there is none yet."""
    citus: bool

    @property
    def search_path(self) -> str:
        """Search path of statements: our tables, then pgvector's type and operators."""
        return f"holdfast, {self.extension_schema}"


def state(connection: Connection) -> State:
    """Return the current state of the database."""
    with allowed(connection):
        return _state(connection)


def _state(connection: Connection) -> State:
    ((there, column, citus),) = connection.execute(
        "SELECT to_regclass('holdfast.meta') IS NOT NULL, (SELECT format_type(atttypid, NULL) "
        "FROM pg_attribute "
        "WHERE attrelid = to_regclass('holdfast.vectors') AND attname = 'vector'), "
        "EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')"
    ).fetchall()
    version = 0
    if there:
        rows = connection.execute("SELECT value FROM holdfast.meta WHERE key = 'schema'").fetchall()
        version = int(rows[0][0]) if rows else 0
    extension = connection.execute(
        "SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON "
        "n.oid = e.extnamespace "
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
    """Raise StoreError with the missing grant if the login may not read the tables."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        user = connection.info.user
        # Not the role that sees every scope: few logins need it, and it would void the isolation.
        raise StoreError(
            f"The login {user} may not use the Holdfast tables here. Have an administrator run: "
            f"GRANT {APP} TO {user}"
        ) from error


def status(url: str, scopes: Sequence[Scope] = ()) -> Status:
    """Return the status of the database at `url`, whatever the version of its tables.

    Counts rows in these scopes, or in all if none is named.
    """
    location = without_password(url)
    with Connections(url, location).connect() as connection, explained(location):
        now = state(connection)
        pending = [
            step.name for step in migrations_runner.pending("postgres", now.version, location)
        ]
        if now.vectors == "bytea" and _may_use_extension(connection):
            pending.append(USE_EXTENSION)
        tables: dict[str, int] = dict(
            connection.execute(
                "SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN "
                "pg_namespace n "
                "ON n.oid = c.relnamespace WHERE n.nspname = 'holdfast' AND c.relkind IN ('r', 'p')"
            ).fetchall()
        )
        found = Status("postgres", location, now.version, tuple(pending), sum(tables.values()))
        found = found._replace(extension=now.extension, vectors=now.vectors, citus=now.citus)
        if now.citus:
            found = found._replace(
                workers=_workers(connection),
                distributed=distributed_tables(connection),
                size=found.size + _size_elsewhere(connection),
            )
        return _counted(connection, found, tables, scopes) if now.version else found


def distributed_tables(connection: Connection) -> frozenset[str]:
    """Return our tables that Citus has distributed by scope."""
    # Only those by hash ('h'): Citus may list a table that a later version added, because it refers
    # to a reference table, but that table has no distribution column yet.
    rows = connection.execute(
        "SELECT c.relname FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid "
        "WHERE c.relnamespace = to_regnamespace('holdfast') AND p.partmethod = 'h'"
    )
    return frozenset(name for (name,) in rows)


def _workers(connection: Connection) -> int:
    ((count,),) = connection.execute(
        "SELECT count(*) FROM pg_dist_node WHERE noderole = 'primary' AND groupid <> 0"
    ).fetchall()
    return int(count)


def _size_elsewhere(connection: Connection) -> int:
    """Return the bytes of our tables on the workers."""
    ((size,),) = connection.execute(
        "SELECT coalesce(sum(citus_total_relation_size(p.logicalrelid)), 0)::bigint "
        "FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid "
        "WHERE c.relnamespace = to_regnamespace('holdfast') AND p.partmethod = 'h'"
    ).fetchall()
    return int(size)


def _may_use_extension(connection: Connection) -> bool:
    """Whether pgvector is installed, or this login may install it."""
    ((may,),) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') OR EXISTS ("
        "SELECT 1 FROM pg_available_extension_versions v JOIN pg_roles r ON r.rolname = "
        "current_user WHERE "
        "v.name = 'vector' AND (r.rolsuper OR v.trusted AND "
        "has_database_privilege(current_database(), 'CREATE')))"
    ).fetchall()
    return bool(may)


def _counted(
    connection: Connection,
    found: Status,
    tables: Container[str],
    scopes: Sequence[Scope],
) -> Status:
    """Add row and job counts to a status if the login may see all rows."""
    execute = PostgresStatements(connection, Sight(None))
    with suppress(errors.InsufficientPrivilege), connection.transaction():
        execute(f"SET LOCAL ROLE {WORKER}")
        execute("SET LOCAL search_path = holdfast, public")
        return found._replace(
            rows=rows_by_noun(execute, tables, scopes),
            scopes=execute("SELECT count(*) FROM scopes")[0][0],
            jobs=jobs_by_status(execute),
        )
    return found


def migrate_tables(url: str) -> None:
    """Migrate the tables at `url`; create them if there are none."""
    initialise(Connections(url, without_password(url)))


def initialise(connections: Connections) -> State:
    """Create or migrate the tables atomically. Safe to call from several processes at once."""
    with connections.connect() as connection, explained(connections.location):
        # A stricter level would take its snapshot before the lock and miss what others migrated.
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        with _permitted(connection), connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
            # The version is read inside the lock: another process may have migrated meanwhile.
            _migrate(connection, connections.location)
        return state(connection)


@contextmanager
def _permitted(connection: Connection) -> Iterator[None]:
    """Raise StoreError with the missing grant if the login may not create tables or roles."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        user = connection.info.user
        raise StoreError(
            f"The login {user} may not make the tables of Holdfast here "
            f"({str(error).splitlines()[0]}). Nothing was "
            "changed. Run `holdfast store init` with an administrator's URL once, and let the "
            "administrator "
            f"GRANT {APP} TO {user}"
        ) from error


def _migrate(connection: Connection, location: str) -> None:
    now = state(connection)
    steps = migrations_runner.pending("postgres", now.version, location)
    if steps:
        _make_roles(connection)
        # Checked first, because IF NOT EXISTS requires the right to create a schema even if it
        # exists.
        if connection.execute("SELECT to_regnamespace('holdfast') IS NULL").fetchall() == [(True,)]:
            connection.execute("CREATE SCHEMA holdfast")
    connection.execute("SET LOCAL search_path = holdfast, public")
    if now.citus:
        # A new table stays on the coordinator until `citus.distribute`; Citus would not accept its
        # policies, nor its identity columns, if it took the table at once.
        connection.execute("SET LOCAL citus.enable_local_reference_table_foreign_keys = off")
    for step in steps:
        # One by one: Citus sends its workers the whole text, of which they take one statement.
        for statement in step.statements():
            connection.execute(statement.encode())
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
                    connection.execute(
                        sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role))
                    )
            except (errors.DuplicateObject, errors.UniqueViolation):
                # Roles belong to the whole server: another database was initialised at the same
                # time.
                pass
    _join_roles(connection)


def _join_roles(connection: Connection) -> None:
    """Make the login a member of both roles. A superuser needs no membership."""
    # Since Postgres 16 the creator of a role may grant it, but needs the SET option to assume it.
    acting = "SET" if connection.info.server_version >= 16_00_00 else "MEMBER"
    for role in (APP, WORKER):
        ((member,),) = connection.execute(
            "SELECT pg_has_role(current_user, %s, %s)", (role, acting)
        ).fetchall()
        if not member:
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))


def _use_extension(connection: Connection) -> None:
    """Convert the vector column to pgvector's type if the extension is available. Keeps the
    vectors.
    """
    now = state(connection)
    if now.extension is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION vector SCHEMA public")
        except psycopg.Error:
            # Not installed or not permitted; `holdfast store status` reports it.
            return
        now = state(connection)
    if now.vectors == "vector" or not _within_reach(connection, now.extension_schema):
        return
    connection.execute(f"SET LOCAL search_path = {now.search_path}".encode())
    connection.execute("ALTER TABLE vectors ADD COLUMN made vector")
    _convert(connection)
    connection.execute("ALTER TABLE vectors DROP COLUMN vector")
    connection.execute("ALTER TABLE vectors RENAME COLUMN made TO vector")
    connection.execute("ALTER TABLE vectors ALTER COLUMN vector SET NOT NULL")


def _within_reach(connection: Connection, schema: str) -> bool:
    """Whether our roles may use the schema in which an administrator installed the extension; tries
    to grant it.
    """
    try:
        with connection.transaction():
            for role in (APP, WORKER):
                usable = "SELECT has_schema_privilege(%s, (%s::text)::regnamespace, 'USAGE')"
                if connection.execute(usable, (role, schema)).fetchall() == [(False,)]:
                    connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}".encode())
                    if connection.execute(usable, (role, schema)).fetchall() == [(False,)]:
                        return False
    except errors.InsufficientPrivilege:
        return False
    return True


def _convert(connection: Connection) -> None:
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(WORKER)))
    with connection.cursor(name="old_vectors") as cursor:
        for scope, model, seq, packed in cursor.execute(
            "SELECT scope, model, seq, vector FROM vectors"
        ):
            text = (
                "["
                + ",".join(map(repr, np.frombuffer(packed, np.float32).astype(float).tolist()))
                + "]"
            )
            connection.execute(
                (
                    "UPDATE vectors SET made = %s::text::vector WHERE scope = %s AND model = %s "
                    "AND "
                    "seq = %s"
                ),
                (text, scope, model, seq),
            )
    connection.execute("RESET ROLE")
