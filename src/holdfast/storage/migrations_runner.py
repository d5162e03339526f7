"""Numbered SQL migrations, each applied once, in order and atomically."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ..errors import StoreTooNew

_COMMENTS = re.compile(r"^[ \t]*--.*$", re.M)
_ENDS = re.compile(r";[ \t]*(?:--.*)?$", re.M)


class Migration(NamedTuple):
    """One migration step of the schema."""

    version: int
    name: str
    sql: str

    def statements(self) -> list[str]:
        """Its statements one by one: each ends with a semicolon at the end of a line, but for those
        inside a block in dollar signs.
        """
        found = [""]
        for place, part in enumerate(self.sql.split("$$")):
            if place % 2:
                found[-1] += f"$${part}$$"
                continue
            first, *others = _ENDS.split(_COMMENTS.sub("", part))
            found[-1] += first
            found += others
        return [one.strip() for one in found if one.strip()]


@cache
def migrations(backend: str) -> tuple[Migration, ...]:
    """Return the migrations of a backend, oldest first, numbered from 1 without gaps."""
    folder = Path(__file__).parent / "sql" / backend
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(number, name, (folder / name).read_text("utf-8"))
        for number, name in enumerate(names, start=1)
    )


def pending(
    backend: str,
    version: int,
    location: str,
) -> tuple[Migration, ...]:
    """Return the migrations that a store at `version` still needs; raises StoreTooNew if it is
    newer than this program.
    """
    steps = migrations(backend)
    if version > len(steps):
        raise StoreTooNew(
            f"{location} was written by a newer Holdfast (schema {version}, this one knows "
            f"{len(steps)}). "
            "Nothing was changed. Open it with that version, or a newer one."
        )
    return steps[version:]
