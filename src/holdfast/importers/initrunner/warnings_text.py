"""What is odd about a database, for a person: one line for each oddity, with the rows that have
it.
"""

from __future__ import annotations

from collections.abc import Sequence

# Rows that a line names.
_NAMED = 10


class Remarks:
    """Lines for a person, each of them once."""

    def __init__(self) -> None:
        self._rows: dict[str, list[str]] = {}

    def say(self, line: str) -> None:
        """Adds a line as it is."""
        self._rows.setdefault(line, [])

    def note(self, oddity: str, row: object) -> None:
        """Adds a row to those that have this oddity."""
        self._rows.setdefault(oddity, []).append(str(row))

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it, in the order in which it was first met."""
        return tuple(
            f"{oddity}: {_listed(rows)}." if rows else oddity for oddity, rows in self._rows.items()
        )


def _listed(rows: Sequence[str]) -> str:
    more = f", … ({len(rows)} in all)" if len(rows) > _NAMED else ""
    return ", ".join(rows[:_NAMED]) + more
