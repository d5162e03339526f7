"""Shared parts of statements on an SQLite file: prefixes of full-text terms, and counters."""

from __future__ import annotations

ADD_TO_META = (
    "INSERT INTO meta (key, value) VALUES (?, ?) "
    "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + excluded.value AS "
    "TEXT)"
)


def scope_prefix(number: int, *, active: bool) -> str:
    """Return the prefix of a memory's terms in the full-text index: its scope and whether it is
    active.
    """
    return f"{number}~" if active else f"{number}_"


def quoted(term: str) -> str:
    """Quote a term as an FTS5 string. Escapes quotes, so that no term can end the string and match
    other scopes.
    """
    return '"' + term.replace("\x00", " ").replace('"', '""') + '"'
