"""Target and plan of an erasure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InvalidInput
from ..types import Scope
from .derived import Going, Kept


@dataclass(frozen=True, slots=True)
class Target:
    """What to erase: memories by id, one session, or everything of one owner. Exactly one of
    them.
    """

    refs: tuple[str | int, ...] = ()
    session: str | None = None
    owner: bool = False
    sources: bool = False
    """Whether to erase the sources of the named memories, too."""

    def __post_init__(self) -> None:
        if (bool(self.refs), self.session is not None, self.owner).count(True) != 1:
            raise InvalidInput(
                "Name what to erase: memory ids, a session, or the owner. Nothing was erased."
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """What an erasure deletes, what is derived again, and what stays nearby. Nothing was
    changed.
    """

    scope: Scope
    counts: Mapping[str, int]
    going: tuple[Going, ...] = ()
    again: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
