"""What statements on an SQLite file have in common: how words stand in its index, and how its
counters grow.
"""

from __future__ import annotations

ADD_TO_META = (
    "INSERT INTO meta (key, value) VALUES (?, ?) "
    "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + excluded.value AS "
    "TEXT)"
)


def scope_prefix(number: int, *, active: bool) -> str:
    """What stands before each term of a memory in the full-text index."""
    return f"{number}~" if active else f"{number}_"


def quoted(term: str) -> str:
    """A term as an FTS5 string, whatever is in it: nothing in a term may end the string and reach
    other words.
    """
    return '"' + term.replace("\x00", " ").replace('"', '""') + '"'
