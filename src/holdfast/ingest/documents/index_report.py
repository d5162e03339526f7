"""Input and report of an indexing run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .upsert import Changed


@dataclass(frozen=True, slots=True)
class Source:
    """A file to index."""

    path: Path
    name: str
    """How it is cited: as a path in its project, or in full."""
    named: bool = False
    """Whether somebody named this very file, and not a folder that it is in."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A file that was skipped in whole or in part, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Indexed:
    """What a run did, or would do."""

    files: int = 0
    """Files that were new or had changed."""
    unchanged: int = 0
    chunks: int = 0
    """Chunks and turns that were added."""
    removed: int = 0
    """Those that went, because their file says something else now, or is gone."""
    warnings: list[Warned] = field(default_factory=list)
    failed: list[Warned] = field(default_factory=list)
    """Sessions and transcripts that could not be stored, by the path of their file; the others are.
    They are tried again the next time."""
    sessions: list[str] = field(default_factory=list)
    """Ids of the sessions that are new or went on."""
    changes: dict[str, str] = field(default_factory=dict)
    """Of each file that is not as it was: whether it is new, changed or gone."""

    def note(
        self,
        name: str,
        what: str,
        changed: Changed,
    ) -> None:
        """Add the result of one file."""
        self.changes[name] = what
        self.files += what != "gone"
        self.chunks += changed.added
        self.removed += changed.removed
        self.sessions += [one for one in changed.sessions if one not in self.sessions]
