"""Protocol of importers, and what readers of transcripts return.

Transcripts are streamed: iterating `entries` reads the file, so a file may be larger than memory.
Fields that are "final at the end" are correct once the entries are exhausted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

from ..types import Micros

Role = Literal["user", "assistant", "tool"]
Item_co = TypeVar("Item_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the user or the assistant, or one tool call condensed with its result.

    `lines` are the first and last line in the file, counted from 1; in a file without lines, the
    number of the message in its conversation. `failed` is None if the result of a tool call is
    unknown. `branch` means that the conversation did not continue from here: another branch ends
    the file.
    """

    role: Role
    text: str
    at: Micros | None
    lines: tuple[int, int]
    tool: str = ""
    failed: bool | None = None
    branch: bool = False

    @property
    def hash(self) -> str:
        """A hash that is equal for every copy of this entry, for example in a resumed session.

        Identical entries within a session share the hash; only their order distinguishes them.
        """
        said = "\0".join((self.role, self.tool, str(self.at or ""), self.text))
        return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Read position in a source: enough to resume there, and to detect that the source was
    rewritten.

    In a file of lines, `position` counts bytes, `lines` the line ends before it, and `digest`
    covers those bytes. Elsewhere the meaning is private to the reader. Store it only after storing
    what was read.
    """

    position: int = 0
    lines: int = 0
    digest: str = ""


@dataclass(slots=True)
class Transcript:
    """One session of one agent.

    `entries` are in chronological order. `title`, `updated_at`, `skipped` (lines that could not be
    parsed) and `cursor` are final at the end of them. `continued` means that the entries follow
    those read before the given cursor, and that title and start may be missing; otherwise the
    entries are the whole session and replace what was read before. `private` means that nothing of
    it may be remembered: the agent's settings forbid it, no person took part, or Holdfast itself
    held the session. `note` tells a person why entries are missing. `copies` means that an entry
    with the text and time of one in another session is a copy of it, as when an agent resumes a
    session in a new file; otherwise equal entries of two sessions are distinct. `branched_from` are
    the ids of the sessions that this one began with a copy of, where a file says so.
    """

    id: str
    agent: str
    path: Path
    entries: Iterator[Entry] = field(default_factory=lambda: iter(()))
    cwd: str = ""
    title: str = ""
    started_at: Micros | None = None
    updated_at: Micros | None = None
    skipped: int = 0
    private: bool = False
    note: str = ""
    continued: bool = False
    cursor: Cursor | None = None
    copies: bool = True
    branched_from: tuple[str, ...] = ()


class Importer(Protocol[Item_co]):
    """One format of other programs' files: where they are, what they look like, what is in them.

    The registry is `importers.IMPORTERS`. Of a session reader the items are `Transcript`s, of a
    memory file `ImportedItem`s, and of a bundle its lines.
    """

    @property
    def name(self) -> str:
        """Name of the agent or of the format, for people and for options."""

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """Yield the files of this format on this machine, latest change first, without those of
        sub-agents; none if the user has to name the file.
        """

    def recognises(self, path: Path) -> bool:
        """Whether a file has this format, by its name and its first bytes. Never raises."""

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Item_co]:
        """Yield the items in `path`: all, or what is new since `cursor`; none if nothing is new.

        A file that cannot be read raises OSError, a memory file or bundle that is not UTF-8
        UnicodeDecodeError; nothing else is raised. Malformed parts never stop the rest: a session
        counts them in `skipped`, a memory file yields a `Problem` for each. Read the entries of
        one session before you ask for the next. If the file was rewritten, the cursor is ignored
        and everything is returned again.
        """


Reader: TypeAlias = Importer[Transcript]
"""A reader of sessions."""
