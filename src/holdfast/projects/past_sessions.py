"""Past sessions of the coding agents on this machine: found, told by project, and taken in, each
where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from ..ingest.documents import Indexed, Indexer, Source
from ..records.roots import RecordRoot, place_around
from ..records.source_lists import sources_of
from ..storage.protocol import Author, Store
from ..transcripts import READERS, Transcript, reader_for
from ..transcripts.discovery import DiscoveredSessions, found_sessions, sessions_in
from ..types import Micros, Scope


@dataclass(slots=True)
class PastProject:
    """What was found of one project: its place, whether or not anything is there, and its sessions,
    newest first.
    """

    place: RecordRoot
    sessions: list[DiscoveredSessions] = field(default_factory=list)
    private: int = 0
    """Sessions of which nothing is to be remembered."""
    named: bool = False
    """Whether a person named the file: then it is read again if what was taken in of it is not
    there any more.
    """

    @property
    def files(self) -> list[Path]:
        """The files they are in, those of the newest sessions first."""
        return list(dict.fromkeys(one.path for one in self.sessions))

    @property
    def agents(self) -> dict[str, int]:
        """How many sessions each agent has here, most first."""
        counts: dict[str, int] = {}
        for one in self.sessions:
            counts[one.agent] = counts.get(one.agent, 0) + 1
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    @property
    def changed_at(self) -> Micros:
        """When the latest of them went on."""
        return max((one.changed_at or 0 for one in self.sessions), default=0)


@dataclass(frozen=True, slots=True)
class Survey:
    """What is on this machine."""

    projects: list[PastProject]
    """The one that was worked on last first."""
    homeless: list[DiscoveredSessions]
    """Sessions of which nobody noted where they were held."""
    unreadable: list[str]


def survey(home: Path, environ: Mapping[str, str], agents: Sequence[str] = ()) -> Survey:
    """Every past session of these agents, or of all that are known, by project. Only the heads of
    files are read.
    """
    readers = [reader for reader in READERS if not agents or reader.name in agents]
    return _sorted(found_sessions(home, environ, readers))


def survey_file(file: Path) -> Survey:
    """The sessions in one file, by project. Only the heads of sessions are read."""
    reader = reader_for(file)
    found = _sorted(sessions_in(reader, file) if reader else ())
    for project in found.projects:
        project.named = True
    return found


def _sorted(sessions: Iterable[DiscoveredSessions | OSError]) -> Survey:
    """Sessions by the project they were held in, those of the one that was worked on last first."""
    projects: dict[Scope, PastProject] = {}
    homeless = []
    unreadable = []
    for one in sessions:
        if isinstance(one, OSError):
            unreadable.append(f"{one.filename or 'a file'}: {one.strerror or one}")
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
    return Survey([project for project in found if project.sessions], homeless, unreadable)


@cache
def place_of(cwd: str) -> RecordRoot:
    """The place of the project that a session worked in, by the folder that it noted."""
    return place_around(Path(cwd))


def take_in(
    store: Store,
    project: PastProject,
    author: Author,
    *,
    data: Path,
    max_bytes: int,
    progress: Callable[[Path], None] = lambda path: None,
) -> Indexed:
    """Takes in the sessions of a project, and says what was done.

    Files that are as they were are not read, and of one that grew only what is new. Stopped
    anywhere, every session is wholly there or not at all, and the next time goes on.
    """
    sources = sources_of(project.place, data)
    scope = project.place.scope
    indexer = Indexer(
        store, scope, author, max_bytes=max_bytes, belongs=partial(belongs, scope=scope)
    )
    for path in project.files:
        if project.named:
            indexer.unlearn(sources.name_of(path))
        indexer.index(Source(path, sources.name_of(path)))
        progress(path)
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
) -> Indexed:
    """Takes in the sessions of one file, whatever project they were held in, and says what was
    done.

    With `homeless` only those of which nobody noted where they were held.
    """
    indexer = Indexer(
        store, scope, author, max_bytes=max_bytes, belongs=lambda transcript: not transcript.cwd
    )
    indexer.unlearn(str(file))
    indexer.index(Source(file, str(file), named=not homeless))
    return indexer.done


def belongs(transcript: Transcript, scope: Scope) -> bool:
    """Whether a session was held in a project."""
    return bool(transcript.cwd) and place_of(transcript.cwd).scope == scope


def agents() -> list[str]:
    """The agents whose sessions can be found or read."""
    return [reader.name for reader in READERS]
