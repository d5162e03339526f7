"""What every reader of transcripts gives, and what a caller may rely on.

A transcript is streamed: `entries` is read from the file while it is iterated, so a file larger
than memory is no matter, and what is marked "final at the end" is right once the entries are
exhausted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from ..types import Micros

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing said or done, in the words of the person, the assistant, or of a tool call
    condensed with its outcome.

    `lines` are the first and last line of the file it was read from, counted from 1; where a file
    is not made of lines, the number of the message in its conversation. `failed` is None where
    nobody said how a tool call went. `branch` means that the conversation was not continued from
    here: another branch of it ends the file.
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
        """The same for every copy of this entry, such as one in a resumed session, wherever it
        stands there.

        Entries that repeat each other within a session have it in common too: only their order
        tells them apart.
        """
        said = "\0".join((self.role, self.tool, str(self.at or ""), self.text))
        return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source was read: enough to go on there, and to notice when it was rewritten
    meanwhile.

    In a file of lines, `position` counts bytes and `lines` the ends of lines before it, and
    `digest` is of those bytes. Elsewhere the reader alone knows what they mean. Keep it only after
    what was read is kept.
    """

    position: int = 0
    lines: int = 0
    digest: str = ""


@dataclass(slots=True)
class Transcript:
    """One session of one agent.

    `entries` come in the order in which they were said. `title`, `updated_at`, `skipped` (lines
    that could not be understood) and `cursor` are final at the end of them. `continued` means that
    the entries follow those read before `cursor` was given, and title and start may be missing;
    otherwise they are the whole session and replace whatever was read of it. `private` means that
    nothing of it is to be remembered: the agent's settings say so, no person spoke in it, or
    Holdfast itself held it. `note` says, for a person, why entries are missing. `copies` means that
    an entry with the text and the time of one in another session is a copy of it, as when an agent
    resumes a session in a new file; without it equal entries of two sessions are two.
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


class Reader(Protocol):
    """What knows the transcripts of one agent. Whatever a file holds, none of these raises more
    than OSError.
    """

    @property
    def name(self) -> str:
        """The agent, as in `Transcript.agent`."""

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """Where this agent keeps sessions on this machine, most recently changed first; sub-agents'
        are left out.
        """

    def claims(self, path: Path) -> bool:
        """Whether this reader understands `path`, by its name and its first bytes."""

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """The sessions in `path`: all, or what is new since `cursor`; none where nothing is new.

        Read the entries of one before you ask for the next; later they are gone. After a rewrite
        the cursor is useless, and the session is given anew, as if there had been none. Malformed
        lines are skipped and counted.
        """
