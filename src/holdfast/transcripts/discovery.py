"""Discovery of all agents' sessions on this machine, from the heads of their files, each once."""

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
    """A session that was found, as far as the head of its file tells."""

    agent: str
    id: str
    path: Path
    cwd: str
    title: str
    started_at: Micros | None
    changed_at: Micros | None
    private: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file of an agent's sessions that could not be read, and why."""

    agent: str
    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def found_sessions(
    home: Path,
    environ: Mapping[str, str],
    readers: Iterable[Reader] = READERS,
) -> Iterator[DiscoveredSessions | UnreadableFile]:
    """Yield every session of every agent once; in place of an unreadable file, why it is that."""
    seen: set[tuple[str, str]] = set()
    for reader in readers:
        for path in reader.discover(home, environ):
            for one in sessions_in(reader, path):
                if isinstance(one, UnreadableFile):
                    yield one
                elif (key := (one.agent, one.id)) not in seen:
                    seen.add(key)
                    yield one


def sessions_in(reader: Reader, path: Path) -> Iterator[DiscoveredSessions | UnreadableFile]:
    """Yield the sessions of one file; if it is unreadable, why."""
    try:
        for transcript in reader.read(path):
            yield _found(transcript)
    except OSError as error:
        yield UnreadableFile(reader.name, path, error.strerror or str(error))


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
