"""What a person does wrong, and what they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Mistake(NamedTuple):
    """One mistake: the command as it is typed, its exit code, and words that what is said must
    have.

    In a command `{id}` is the one memory that there is, and `{run}` the run that stored it.
    """

    does: str
    code: int
    says: tuple[str, ...]
    files: Mapping[str, str | bytes] = {}
    """What lies in the folder before."""
    env: Mapping[str, str] = {}
    stdin: str = ""


def names(mistakes: list[Mistake]) -> list[str]:
    """What to call each of them in a test report."""
    return [one.does for one in mistakes]
