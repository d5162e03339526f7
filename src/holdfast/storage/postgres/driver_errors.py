"""What a server or its driver says, told to people: errors with what to do next, URLs without their
password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from ...errors import InvalidInput, StoreBusy, StoreError, StoreFull, StoreReadOnly
from .scoped_session import APP, CHANGED, WORKER

# What the server says when it ends a connection: shut down, crashed, not ready yet, idle for too
# long.
_GONE = ("57P01", "57P02", "57P03", "57P05", "25P03")


def lost(error: BaseException) -> bool:
    """Whether an error means that the connection is gone, rather than that the server said no."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate in _GONE or error.sqlstate.startswith("08")


def well_formed(url: str) -> bool:
    """Whether a URL says what it seems to say; one whose password has a bare @ or / in it does
    not.
    """
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
    """A URL for people: no password, nor any other parameter that could hold one."""
    if not well_formed(url):
        # There is no telling which part of it is the password.
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
    ((errors.DatatypeMismatch,), StoreError, CHANGED),
    (
        (errors.InvalidCatalogName,),
        StoreError,
        "does not exist. Create the database first, e.g. with createdb.",
    ),
)
# The driver does not say which error kept it from connecting, but the server's words are in its
# message.
_REFUSALS: tuple[tuple[str, type[psycopg.Error]], ...] = (
    ("too many clients|remaining connection slots|too many connections", errors.TooManyConnections),
    (r'database "[^"]*" does not exist', errors.InvalidCatalogName),
    (r"authentication failed|no password supplied|no pg_hba\.conf entry", errors.InvalidPassword),
    (r'role "[^"]*" does not exist|not permitted to log in', errors.InvalidPassword),
)


@contextmanager
def explained(location: str) -> Iterator[None]:
    """Turns the server's and the driver's errors into ours, with what to do next."""
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
