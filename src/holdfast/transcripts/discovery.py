"""What is on this machine: the sessions of all agents, as far as the heads of their files tell,
each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..types import Micros
from . import READERS
from .base import Reader, Transcript
from .jsonl_file import modified


@dataclass(frozen=True, slots=True)
class DiscoveredSessions:
    """A session that was found, as far as its file tells without being read."""

    agent: str
    id: str
    path: Path
    cwd: str
    title: str
    started_at: Micros | None
    changed_at: Micros | None
    private: bool = False
    note: str = ""


def found_sessions(
    home: Path, environ: Mapping[str, str], readers: Iterable[Reader] = READERS
) -> Iterator[DiscoveredSessions | OSError]:
    """Every session of every agent, each once; an OSError in the place of a file that cannot be
    read.
    """
    seen: set[tuple[str, str]] = set()
    for reader in readers:
        for path in reader.discover(home, environ):
            for one in sessions_in(reader, path):
                if isinstance(one, OSError):
                    yield one
                elif (key := (one.agent, one.id)) not in seen:
                    seen.add(key)
                    yield one


def sessions_in(reader: Reader, path: Path) -> Iterator[DiscoveredSessions | OSError]:
    """The sessions of one file; an OSError where it cannot be read."""
    try:
        for transcript in reader.read(path):
            yield _found(transcript)
    except OSError as error:
        yield error


def _found(transcript: Transcript) -> DiscoveredSessions:
    changed = transcript.updated_at or modified(transcript.path)
    return DiscoveredSessions(
        transcript.agent,
        transcript.id,
        transcript.path,
        transcript.cwd,
        transcript.title,
        transcript.started_at,
        changed,
        transcript.private,
        transcript.note,
    )
