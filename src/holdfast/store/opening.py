"""From what a person writes after --store to an open store."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import InvalidInput
from ..types import Clock, system_clock
from .base import Store
from .sqlite import SQLiteStore

SERVERS = ("postgresql://", "postgres://")


def is_server(place: str | Path) -> bool:
    """Whether a place is the URL of a database server, rather than a path."""
    return str(place).startswith(SERVERS)


def open_store(place: str | Path, *, replica: str = "", clock: Clock = system_clock) -> Store:
    """The store at a path or a URL. A file that is not there is made, and so are the tables of an empty database."""
    if is_server(place):
        try:
            from .postgres import PostgresStore  # noqa: PLC0415 (its driver is an extra, and takes time to load)
        except ImportError as error:
            raise InvalidInput(
                f"A Postgres store needs its driver ({error}). Install it with: pip install 'holdfast[postgres]'"
            ) from error
        return PostgresStore(str(place), replica=replica, clock=clock)
    if "://" in str(place):
        shown = re.sub(r"//.*@", "//…@", str(place))  # what stands there may be a password
        raise InvalidInput(f"{shown} is no store. Give the path of a file, or a URL that starts with postgresql://")
    return SQLiteStore(place, clock=clock)
