"""Errors of the server and driver as Holdfast errors with advice, and URLs without passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from ...errors import InvalidInput, StoreBusy, StoreError, StoreFull, StoreReadOnly
from .scoped_session import APP, CHANGED, WORKER

# Codes with which the server ends a connection: shutdown, crash, starting up, idle timeout.
_GONE = ("57P01", "57P02", "57P03", "57P05", "25P03")
# The end of its server as Citus notices it while it waits for a worker, an internal error.
_ENDED = "postmaster was shut down"
# What Citus answers, as an internal error, to a statement planned for a shard that has just been
# split or moved.
_MOVED = "could not find valid entry for shard"


def lost(error: BaseException) -> bool:
    """Whether an error means a lost connection rather than a rejected statement."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return (
        error.sqlstate in _GONE or error.sqlstate.startswith("08") or str(error).startswith(_ENDED)
    )


def conflicting(error: BaseException) -> bool:
    """Whether a transaction failed because of what others did meanwhile, so that it may succeed if
    it is run again.
    """
    if isinstance(error, errors.SerializationFailure | errors.DeadlockDetected):
        return True
    return isinstance(error, errors.InternalError_) and str(error).startswith(_MOVED)


def well_formed(url: str) -> bool:
    """Whether a URL parses as intended; one with an unescaped @ or / in its password does not."""
    try:
        known = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.Error:
        return False
    host = known.get("host", "")
    database = known.get("dbname", "")
    return (
        all(not port or port.isdecimal() for port in known.get("port", "").split(","))
        and "@" not in host[1:]
        and ("@" not in database or "%40" in url)
    )


def without_password(url: str) -> str:
    """Return a URL for display, without the password or any parameter that could hold one."""
    if not well_formed(url):
        # It is unknown which part is the password, so nothing is shown.
        return "postgresql://…"
    known = conninfo_to_dict(url)
    user = f"{known['user']}@" if known.get("user") else ""
    port = f":{known['port']}" if known.get("port") else ""
    return f"postgresql://{user}{known.get('host', 'localhost')}{port}/{known.get('dbname', '')}"


_ADVICE: tuple[tuple[tuple[type[psycopg.Error], ...], type[StoreError], str], ...] = (
    (
        (errors.LockNotAvailable, errors.QueryCanceled),
        StoreBusy,
        "took too long to answer. Try again in a moment.",
    ),
    ((errors.TooManyConnections,), StoreBusy, "has no free connection. Try again in a moment."),
    (
        (errors.DiskFull,),
        StoreFull,
        "could not grow: its disk is full. The change was not made; free some space.",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        StoreReadOnly,
        "is read-only, as a replica is. Write to the primary.",
    ),
    (
        (errors.InsufficientPrivilege,),
        StoreError,
        f"refused: this login lacks a right. It needs the role {APP}, and {WORKER} for upkeep of "
        "all scopes: "
        f"GRANT {APP}, {WORKER} TO the_login",
    ),
    (
        (errors.InvalidPassword, errors.InvalidAuthorizationSpecification),
        StoreError,
        "refused the login. Check user and password in the URL.",
    ),
    (
        (errors.SqlserverRejectedEstablishmentOfSqlconnection,),
        StoreError,
        "refused this login without encryption. Add sslmode=require to the URL, or check its user "
        "and database.",
    ),
    ((errors.DatatypeMismatch,), StoreError, CHANGED),
    (
        (errors.InvalidCatalogName,),
        StoreError,
        "does not exist. Create the database first, e.g. with createdb.",
    ),
)
# A failed connection has no error code; only the server's message tells the reason.
_REFUSALS: tuple[tuple[str, type[psycopg.Error]], ...] = (
    ("too many clients|remaining connection slots|too many connections", errors.TooManyConnections),
    (r'database "[^"]*" does not exist', errors.InvalidCatalogName),
    (
        r"no pg_hba\.conf entry .*, no encryption",
        errors.SqlserverRejectedEstablishmentOfSqlconnection,
    ),
    (r"authentication failed|no password supplied|no pg_hba\.conf entry", errors.InvalidPassword),
    (r'role "[^"]*" does not exist|not permitted to log in', errors.InvalidPassword),
)


@contextmanager
def explained(location: str) -> Iterator[None]:
    """Turn errors of the server and the driver into Holdfast errors with advice."""
    try:
        yield
    except (errors.DataError, UnicodeEncodeError) as error:
        raise InvalidInput(f"Postgres cannot store this: {_first_line(error)}.") from error
    except psycopg.Error as error:
        kind = _kind(error)
        for kinds, ours, advice in _ADVICE:
            if issubclass(kind, kinds):
                raise ours(f"{location} {advice} ({_first_line(error)})") from error
        if lost(error):
            raise StoreError(
                f"{location} cannot be reached: {_first_line(error)}. Check that the server "
                "runs "
                "and the URL is right."
            ) from error
        raise StoreError(f"{location}: {_first_line(error)}") from error


def _kind(error: psycopg.Error) -> type[psycopg.Error]:
    if error.sqlstate is None:
        for words, kind in _REFUSALS:
            if re.search(words, str(error)):
                return kind
    return type(error)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
