"""Commands for whole stores: create, migrate, inspect, optimize, copy, distribute."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import config
from ...errors import InvalidInput, NotFound
from ...text.terminal import counted
from ...types import Scope
from .. import output
from ..app import UPKEEP, Json, KeyFile, Store, app, complete_scopes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...replication.copy import Copied
    from ...storage.schema_status import Status

stores = typer.Typer(
    help="""Create, migrate, inspect, sync and copy whole stores. A store is a SQLite file or a
Postgres database.

Example: holdfast store status""",
)
app.add_typer(stores, name="store", rich_help_panel=UPKEEP, no_args_is_help=True)


_WHAT = "A file or a postgresql:// URL."
StoreArgument = Annotated[
    str | None,
    typer.Argument(metavar="STORE", show_default=False, help=f"{_WHAT} Default: --store."),
]
From = Annotated[str, typer.Argument(metavar="FROM", help=f"{_WHAT} It is only read.")]
To = Annotated[
    str, typer.Argument(metavar="TO", help=f"{_WHAT} It is created if it does not exist.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="KIND:KEY",
        help="Only this scope (repeatable). Default: every scope.",
        autocompletion=complete_scopes,
    ),
]

ToKeyFile = Annotated[
    str | None,
    typer.Option(
        "--to-key-file",
        metavar="FILE",
        help="Key file, keyring:NAME or none for TO. Default: as for FROM.",
    ),
]


@stores.command()
def init(
    place: StoreArgument = None,
    distributed: Annotated[
        bool,
        typer.Option("--distribute", help="Also distribute the tables over the Citus cluster."),
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Create the tables of a store, and on Postgres its roles. What exists stays as it is.

    Example: holdfast store init memory.db
    """
    from ...storage import open_store

    where = _server_place(place, store) if distributed else store_place(place, store)
    made = _is_new(where)
    open_store(where, key_file=_key_file()).close()
    if distributed:
        from ...storage.postgres import citus

        citus.distribute(where)
    now = _status(where)
    if as_json:
        output.emit({"made": made, **_json(now)})
        return
    print(
        f"{now.location} is ready, schema {now.version}."
        if made
        else f"{now.location} was ready already."
    )
    _tell_extension(now)
    _tell_cluster(now)


@stores.command()
def migrate(
    place: StoreArgument = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be done. Change nothing.")
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Migrate the schema of a store, atomically. Stop older versions of Holdfast that use the store
    first.

    Example: holdfast store migrate memory.db --plan
    """
    where = store_place(place, store)
    before = existing_store(where)
    if not plan:
        _migrate(where)
    now = _status(where)
    if as_json:
        done = [step for step in before.pending if step not in now.pending]
        output.emit({"from": before.version, "done": done, **_json(now)})
        return
    for step in before.pending:
        print(f"{'Pending' if step in now.pending else 'Done'}: {step}")
    if not before.pending:
        print(f"{now.location} is up to date, schema {now.version}.")
    _tell_extension(now)
    _tell_cluster(now)


@stores.command()
def status(
    place: StoreArgument = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Show the location, size, content and schema version of a store. Nothing is changed.

    Example: holdfast store status memory.db
    """
    now = _status(store_place(place, store))
    if as_json:
        output.emit(_json(now))
        return
    output.fields(
        (
            ("kind", now.kind),
            ("location", now.location),
            ("schema", _schema(now)),
            ("size", output.size(now.size)),
        )
    )
    if now.kind == "sqlite":
        output.fields((("encrypted", "yes" if _is_encrypted(now.location) else "no"),))
    if now.kind == "postgres":
        output.fields((("pgvector", _extension(now)), ("citus", _cluster(now))))
    if now.rows is None:
        if now.version:
            print("What is in it cannot be counted: this login lacks the role holdfast_worker.")
        return
    jobs = ", ".join(f"{count} {status}" for status, count in now.jobs.items()) or "none"
    counts = {"memories": "memory", "vectors": "vector", "journal": "event"}
    output.fields(
        (
            ("scopes", now.scopes),
            *((name, now.rows[noun]) for name, noun in counts.items()),
            ("jobs", jobs),
        )
    )


@stores.command()
def copy(
    source: From,
    target: To,
    scope: Only = None,
    key_file: KeyFile = None,
    to_key_file: ToKeyFile = None,
    as_json: Json = False,
) -> None:
    """Copy a store with its history and vectors into another store, and compare both. An
    interrupted copy resumes when run again.

    Example: holdfast store copy memory.db backup.db
    """
    from ...replication.copy import check_source, copy_store
    from ...storage import open_store
    from ...storage.damage import Damages

    # Damaged rows are listed at the end instead of logged one by one.
    Damages.logged = False
    source = store_place(source, None)
    target = store_place(target, None)
    if _identity(source) == _identity(target):
        raise InvalidInput("FROM and TO are one store. Nothing was copied.")
    scopes = [Scope.parse(text) for text in scope or ()]
    given = _key_file() if key_file is None else key_file
    # FROM may be older than the key: what is not encrypted needs none to be read.
    from_key = given if _is_encrypted(source) else ""
    to_key = given if to_key_file is None else to_key_file
    rows = existing_store(source, scopes, key_file=from_key).rows
    total = None if rows is None else sum(rows.values())
    with closing(open_store(source, key_file=from_key)) as from_:
        # Before the target is made: a copy that is refused leaves no file behind.
        check_source(from_, scopes or None)
        with (
            closing(open_store(target, key_file=to_key)) as to,
            output.progress("copying", total) as bar,
        ):
            places = from_.location, to.location
            done = copy_store(
                from_, to, scopes=scopes or None, progress=lambda rows: output.advance(bar, rows)
            )
        left_out = from_.damaged(done.scopes if scopes else None)
    if as_json:
        output.emit(_copied_json(done, *places) | {"left_out": [str(one) for one in left_out]})
    else:
        _tell_copied(done, target, *places, key_file=to_key)
    output.left_out(left_out, f"holdfast doctor --store {places[0]}")


@stores.command()
def optimize(
    place: StoreArgument = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Build or merge indexes that keep recall fast in large scopes. It is safe at any time.

    Example: holdfast store optimize memory.db
    """
    from ...storage import open_store

    where = store_place(place, store)
    existing_store(where)
    with closing(open_store(where, key_file=_key_file())) as opened:
        done = opened.tend()
    if as_json:
        output.emit({"done": done})
    else:
        print(
            "\n".join(f"{one[0].upper()}{one[1:]}." for one in done) or "There was nothing to do."
        )


@stores.command()
def distribute(
    place: StoreArgument = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the statements. Run nothing.")
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Distribute the tables of a Postgres store over a Citus cluster, by scope. --plan shows the
    statements first.

    Example: holdfast store distribute postgresql://db.example.org/memory --plan
    """
    where = _server_place(place, store)
    from ...storage.postgres import citus

    done = citus.statements() if plan else citus.distribute(where)
    if as_json:
        output.emit({"statements": done, "ran": not plan})
    else:
        print("\n".join(f"{statement};" for statement in done) or "The tables are spread already.")


def _copied_json(
    done: Copied,
    source: str,
    target: str,
) -> dict[str, Any]:
    return {
        "from": source,
        "to": target,
        "scopes": [str(scope) for scope in done.scopes],
        "copied": dict(done.copied),
        "already_there": dict(done.already_there),
        "vectors": done.vectors,
        "sha256": done.digest,
    }


def _tell_copied(
    done: Copied,
    place: str,
    source: str,
    target: str,
    *,
    key_file: str,
) -> None:
    from ...storage.sqlite.encryption import NO_KEY, absolute

    counts = done.copied
    already = counted(sum(done.already_there.values()), "row was", "rows were")
    others = sum(counts.values()) - counts["memory"] - counts["event"] - done.vectors
    print(
        f"Copied {counted(counts['memory'], 'memory')}, "
        f"{counted(counts['event'], 'journal entry')}, {counted(done.vectors, 'vector')} and "
        f"{counted(others, 'other row')} from {source} to {target}; {already} already there."
    )
    print(f"Both sides are equal, SHA-256 {done.digest}.")
    more = (
        ""
        if place == target or not _is_server(place)
        else " (with password and options as in the URL you gave)"
    )
    encrypted = key_file not in ("", NO_KEY) and not _is_server(place)
    key = f" HOLDFAST_KEY_FILE={shlex.quote(str(absolute(key_file)))}" if encrypted else ""
    print(f"Switch over with: HOLDFAST_STORE={shlex.quote(str(target))}{key}{more}")


# Places


def store_place(place: str | None, store: str | None) -> str:
    """Return the path or URL of the store. Raises InvalidInput for one that cannot be used."""
    from ...storage import open_store

    if place and store:
        raise InvalidInput("Give the store once: after the command, or with --store.")
    chosen = place or store or config.load().store or str(config.default_store())
    if chosen == ":memory:":
        raise InvalidInput(
            "A store in memory ends with this command. Give the path of a file or a URL."
        )
    if not _usable(chosen):
        # Raises the error that says what is wrong with it.
        open_store(chosen, key_file=_key_file()).close()
    return chosen


def _server_place(place: str | None, store: str | None) -> str:
    """Return the URL of the store. Raises InvalidInput if it is a file."""
    where = store_place(place, store)
    if not _is_server(where):
        raise InvalidInput(
            f"{where} is a file. Only a Postgres store can be spread: give its postgresql:// URL."
        )
    return where


def _usable(place: str) -> bool:
    if not _is_server(place):
        return "://" not in place
    try:
        import_module("holdfast.storage.postgres")
    except ImportError:
        return False
    return True


def _is_server(place: str) -> bool:
    from ...storage.connect import is_server

    return is_server(place)


def _identity(place: str) -> str:
    """Return a value that is equal for two names of one store."""
    if not _is_server(place):
        return str(Path(place).expanduser().resolve())
    from ...storage.postgres.driver_errors import without_password

    # The login does not matter: two users of one database share the store.
    return re.sub(r"//[^@/]*@", "//", without_password(place))


def _is_encrypted(place: str) -> bool:
    if _is_server(place):
        return False
    from ...storage.sqlite.connection import form_of

    return form_of(Path(place).expanduser()) == "encrypted"


def _is_new(place: str) -> bool:
    """Whether there is no store yet."""
    return (
        not (_is_server(place) or Path(place).expanduser().exists()) or not _status(place).version
    )


def row_counts(store: str | None, scopes: Sequence[Scope]) -> Mapping[str, int] | None:
    """Rows by noun in these scopes; None if the login may not count."""
    return _status(store or config.load().store or str(config.default_store()), scopes).rows


def existing_store(
    place: str,
    scopes: Sequence[Scope] = (),
    *,
    key_file: str | None = None,
) -> Status:
    """Return the status of a store. Raises NotFound if it has no tables."""
    found = _status(place, scopes, key_file=key_file)
    if not found.version:
        raise NotFound(
            f"{found.location} has no Holdfast tables. Make them with `holdfast store init`."
        )
    return found


def _key_file() -> str:
    """Return the key file of the setting, or of --key-file."""
    return config.load().key_file


def _status(
    place: str,
    scopes: Sequence[Scope] = (),
    *,
    key_file: str | None = None,
) -> Status:
    if _is_server(place):
        from ...storage.postgres import schema

        return schema.status(place, scopes)
    from ...storage.sqlite import connection
    from ...storage.sqlite.encryption import read_key

    key = read_key(_key_file() if key_file is None else key_file)
    return connection.status(place, scopes, key=key)


def _migrate(place: str) -> None:
    if _is_server(place):
        from ...storage.postgres import schema

        schema.migrate_tables(place)
    else:
        from ...storage import SQLiteStore

        # Opening a file migrates it.
        SQLiteStore(place, key_file=_key_file()).close()


# Display of a status


def _json(now: Status) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": now.kind,
        "location": now.location,
        "schema": now.version,
        "pending": list(now.pending),
        "bytes": now.size,
        "scopes": now.scopes,
        "rows": now.rows if now.rows is None else dict(now.rows),
        "jobs": dict(now.jobs),
    }
    if now.kind == "sqlite":
        told["encrypted"] = _is_encrypted(now.location)
    if now.kind == "postgres":
        told |= {"pgvector": now.extension, "citus": now.citus}
        told |= {"workers": now.workers, "distributed": sorted(now.distributed)}
    return told


def _schema(now: Status) -> str:
    if not now.version:
        return "none yet: make it with `holdfast store init`"
    if now.pending:
        return f"{now.version}, pending: {', '.join(now.pending)}. Run `holdfast store migrate`"
    return f"{now.version}, up to date"


def _tell_extension(now: Status) -> None:
    if now.kind == "postgres":
        print(f"pgvector: {_extension(now)}")


def _tell_cluster(now: Status) -> None:
    if now.workers:
        print(f"citus: {_cluster(now)}")


def _cluster(now: Status) -> str:
    if not now.workers:
        return "yes, without workers" if now.citus else "no"
    from ...storage.postgres.citus import DISTRIBUTED

    waiting = len(set(DISTRIBUTED) - now.distributed)
    workers = counted(now.workers, "worker")
    if not waiting:
        return f"distributed over {workers}"
    return (
        f"{workers}, {counted(waiting, 'table')} not distributed yet: "
        f"run `holdfast store distribute {now.location}`"
    )


def _extension(now: Status) -> str:
    from ...storage.postgres.schema import NO_EXTENSION, USE_EXTENSION

    if now.vectors == "vector" or not now.version:
        return now.extension or ""
    return (
        "not in use yet: run `holdfast store migrate`"
        if USE_EXTENSION in now.pending
        else NO_EXTENSION
    )
