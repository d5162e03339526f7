"""Past sessions of coding agents on this machine: discover them, group them by project, import
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from ..ingest.documents import Indexed, Indexer, Source
from ..records.roots import RecordRoot, place_around
from ..records.source_lists import sources_of
from ..storage.protocol import Store
from ..storage.store_types import Author
from ..transcripts import READERS, Transcript, reader_for
from ..transcripts.discovery import (
    DiscoveredSessions,
    UnreadableFile,
    found_sessions,
    sessions_in,
)
from ..types import Micros, Scope


@dataclass(slots=True)
class PastProject:
    """Sessions found for one project: its place, whether or not it exists, and its sessions, newest
    first.
    """

    place: RecordRoot
    sessions: list[DiscoveredSessions] = field(default_factory=list)
    private: int = 0
    """Sessions excluded from memory."""
    named: bool = False
    """Whether the user named the file. Then it is read again if its import has been deleted."""

    @property
    def files(self) -> list[Path]:
        """Their files, newest sessions first."""
        return list(dict.fromkeys(one.path for one in self.sessions))

    @property
    def agents(self) -> dict[str, int]:
        """Number of sessions per agent, most first."""
        counts: dict[str, int] = {}
        for one in self.sessions:
            counts[one.agent] = counts.get(one.agent, 0) + 1
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    @property
    def changed_at(self) -> Micros:
        """Time of the latest session."""
        return max((one.changed_at or 0 for one in self.sessions), default=0)


@dataclass(frozen=True, slots=True)
class Survey:
    """All sessions on this machine."""

    projects: list[PastProject]
    """Most recently active project first."""
    homeless: list[DiscoveredSessions]
    """Sessions without a recorded folder."""
    unreadable: list[UnreadableFile]


def survey(
    home: Path,
    environ: Mapping[str, str],
    agents: Sequence[str] = (),
) -> Survey:
    """Discover past sessions of these agents, by default of all known ones. Reads only the heads of
    files.
    """
    readers = [reader for reader in READERS if not agents or reader.name in agents]
    return _sorted(found_sessions(home, environ, readers))


def survey_file(file: Path) -> Survey:
    """Group the sessions in one file by project. Reads only the heads of sessions."""
    reader = reader_for(file)
    found = _sorted(sessions_in(reader, file) if reader else ())
    for project in found.projects:
        project.named = True
    return found


def _sorted(sessions: Iterable[DiscoveredSessions | UnreadableFile]) -> Survey:
    """Group sessions by project, most recently active project first."""
    projects: dict[Scope, PastProject] = {}
    homeless = []
    unreadable = []
    for one in sessions:
        if isinstance(one, UnreadableFile):
            unreadable.append(one)
        elif one.cwd:
            place = place_of(one.cwd)
            project = projects.setdefault(place.scope, PastProject(place))
            project.private += one.private
            project.sessions += [] if one.private else [one]
        elif not one.private:
            homeless.append(one)
    for project in projects.values():
        project.sessions.sort(key=lambda session: (-(session.changed_at or 0), session.id))
    found = sorted(
        projects.values(), key=lambda project: (-project.changed_at, str(project.place.scope))
    )
    return Survey(
        [project for project in found if project.sessions],
        homeless,
        unreadable,
    )


@dataclass(slots=True)
class AgentOutcome:
    """What became of one agent's sessions: how many were found, new or grown, and failed."""

    agent: str
    found: int = 0
    new: int = 0
    failed: int = 0
    reason: str = ""
    """Why the first one failed."""

    def add_failure(self, reason: str) -> None:
        """Count a failure, and keep the reason of the first."""
        self.failed += 1
        self.reason = self.reason or reason


def outcomes(found: Survey, done: Sequence[tuple[PastProject, Indexed]]) -> list[AgentOutcome]:
    """What became of the sessions of each agent, most sessions first."""
    known: dict[str, AgentOutcome] = {}

    def outcome(agent: str) -> AgentOutcome:
        return known.setdefault(agent, AgentOutcome(agent))

    for project, indexed in done:
        owner = {str(one.path): one.agent for one in project.sessions}
        for session in project.sessions:
            outcome(session.agent).found += 1
            outcome(session.agent).new += session.id in indexed.sessions
        for failed in indexed.failed:
            if failed.path in owner:
                outcome(owner[failed.path]).add_failure(failed.reason)
    for file in found.unreadable:
        outcome(file.agent).add_failure(file.reason)
    return sorted(known.values(), key=lambda one: (-one.found, one.agent))


@cache
def place_of(cwd: str) -> RecordRoot:
    """Place of the project in which a session ran, from its recorded folder."""
    return place_around(Path(cwd))


def take_in(
    store: Store,
    project: PastProject,
    author: Author,
    *,
    data: Path,
    max_bytes: int,
    progress: Callable[[int], None] = lambda sessions: None,
) -> Indexed:
    """Import the sessions of a project and report the result.

    Unchanged files are skipped; of a grown file only the new part is read. Each session is imported
    atomically, so an interrupted import resumes.
    """
    sources = sources_of(project.place, data)
    scope = project.place.scope
    indexer = Indexer(
        store,
        scope,
        author,
        max_bytes=max_bytes,
        belongs=partial(belongs, scope=scope),
    )
    # By file: one that has not changed is not read, so its sessions are done at once.
    sessions = Counter(session.path for session in project.sessions)
    for path in project.files:
        if project.named:
            indexer.unlearn(sources.name_of(path))
        indexer.index(Source(path, sources.name_of(path)))
        progress(sessions[path])
    sources.note(path for path in project.files if sources.name_of(path) in indexer.done.changes)
    return indexer.done


def take_in_file(
    store: Store,
    scope: Scope,
    file: Path,
    author: Author,
    *,
    max_bytes: int,
    homeless: bool = False,
    progress: Callable[[int], None] = lambda sessions: None,
) -> Indexed:
    """Import the sessions of one file, whatever their project, and report the result.

    With `homeless`, only sessions without a recorded folder. `progress` is called with each session
    of the file.
    """
    indexer = Indexer(
        store,
        scope,
        author,
        max_bytes=max_bytes,
        belongs=lambda transcript: not transcript.cwd,
        progress=progress,
    )
    indexer.unlearn(str(file))
    indexer.index(Source(file, str(file), named=not homeless))
    return indexer.done


def belongs(transcript: Transcript, scope: Scope) -> bool:
    """Whether a session ran in a project."""
    return bool(transcript.cwd) and place_of(transcript.cwd).scope == scope


def agents() -> list[str]:
    """Agents whose sessions can be discovered or read."""
    return [reader.name for reader in READERS]
