"""Open the store at a path or URL, as given after --store."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import InvalidInput, NotFound
from ..types import Clock, system_clock
from .protocol import Store
from .sqlite.store import IN_MEMORY, SQLiteStore

SERVERS = ("postgresql://", "postgres://")


def is_server(place: str | Path) -> bool:
    """Whether a place is the URL of a database server rather than a path."""
    return str(place).startswith(SERVERS)


def check_place(place: str | Path) -> None:
    """Raise InvalidInput for an unsupported URL, which would otherwise become a folder."""
    # Two letters at least before the colon, so that a Windows drive (C:/) still counts as a path.
    if not is_server(place) and re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", str(place)):
        raise InvalidInput(
            f"{shown(place)} is no store. Give the path of a file, or a URL that starts with "
            "postgresql://"
        )


def shown(place: str | Path) -> str:
    """Return a place for display, without anything that may be a password."""
    if is_server(place):
        parts = urlsplit(str(place))
        who = f"{parts.username}@" if parts.username else ""
        return f"postgresql://{who}{parts.netloc.rpartition('@')[2]}{parts.path}"
    # Greedy up to the last @: a password may contain an @ itself.
    return re.sub(r"^([a-zA-Z][a-zA-Z0-9+.-]+:/+).*@", r"\1…@", str(place))


def location_of(place: str | Path) -> str:
    """Return the `location` of a store at this place, without opening it."""
    if not is_server(place):
        return str(Path(place).expanduser().absolute())
    try:
        # The driver is an optional extra.
        from .postgres.driver_errors import without_password  # noqa: PLC0415
    except ImportError:
        return shown(place)
    return without_password(str(place))


def open_store(
    place: str | Path,
    *,
    replica: str = "",
    key_file: str | Path = "",
    clock: Clock = system_clock,
    create: bool = True,
) -> Store:
    """Open the store at a path or URL; creates a missing file, and the tables of an empty database,
    unless `create` is false: then NotFound is raised.

    `key_file` holds the key of an encrypted file; a database server has no use for it. Raises
    WrongKey if it does not open the file; InvalidInput for an unsupported URL or when the Postgres
    driver is not installed.
    """
    if is_server(place):
        try:
            # The driver is an optional extra and slow to import.
            from .postgres import PostgresStore  # noqa: PLC0415
        except ImportError as error:
            raise InvalidInput(
                f"A Postgres store needs its driver ({error}). Install it with: pip install "
                "'holdfast-memory[postgres]'"
            ) from error
        return PostgresStore(str(place), replica=replica, clock=clock, create=create)
    check_place(place)
    file = Path(place).expanduser().absolute()
    if not create and str(place) != IN_MEMORY and not file.exists():
        raise NotFound(f"There is no store at {file}, and none was made.")
    return SQLiteStore(place, key_file=key_file, clock=clock)
