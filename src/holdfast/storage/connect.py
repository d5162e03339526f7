"""From what a person writes after --store to an open store."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import InvalidInput
from ..types import Clock, system_clock
from .protocol import Store
from .sqlite.store import SQLiteStore

SERVERS = ("postgresql://", "postgres://")


def is_server(place: str | Path) -> bool:
    """Whether a place is the URL of a database server, rather than a path."""
    return str(place).startswith(SERVERS)


def check_place(place: str | Path) -> None:
    """Raises InvalidInput for what looks like a URL but is none of ours; as a path it would become
    a folder.
    """
    if not is_server(place) and re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", str(place)):
        raise InvalidInput(
            f"{shown(place)} is no store. Give the path of a file, or a URL that starts with "
            "postgresql://"
        )


def shown(place: str | Path) -> str:
    """A place for people: whatever in it may be a password is left out."""
    if is_server(place):
        parts = urlsplit(str(place))
        who = f"{parts.username}@" if parts.username else ""
        return f"postgresql://{who}{parts.netloc.rpartition('@')[2]}{parts.path}"
    return re.sub(r"^([a-zA-Z][a-zA-Z0-9+.-]+:/+).*@", r"\1…@", str(place))


def location_of(place: str | Path) -> str:
    """What a store at this place says of where it is, open or not."""
    if not is_server(place):
        return str(Path(place).expanduser().absolute())
    try:
        # Its driver is an extra.
        from .postgres.driver_errors import without_password  # noqa: PLC0415
    except ImportError:
        return shown(place)
    return without_password(str(place))


def open_store(
    place: str | Path,
    *,
    replica: str = "",
    clock: Clock = system_clock,
) -> Store:
    """The store at a path or a URL. A file that is not there is made, and so are the tables of an
    empty database.
    """
    if is_server(place):
        try:
            # Its driver is an extra, and takes time to load.
            from .postgres import PostgresStore  # noqa: PLC0415
        except ImportError as error:
            raise InvalidInput(
                f"A Postgres store needs its driver ({error}). Install it with: pip install "
                "'holdfast[postgres]'"
            ) from error
        return PostgresStore(str(place), replica=replica, clock=clock)
    check_place(place)
    return SQLiteStore(place, clock=clock)
