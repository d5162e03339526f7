"""Aider: .aider.chat.history.md in the project folder, one file to which all sessions are appended.

A line that starts with `#### ` is the user, `> ` is the program, everything else is the model. Each
session starts with a heading that has the local time.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from pathlib import Path

from ..types import Micros, from_datetime
from .assemble import Talk
from .base import Cursor, Role, Transcript
from .json_documents import read_entries, whole
from .json_fields import with_last
from .jsonl_file import newest_first
from .line_reader import beginning
from .project_folders import project_folders

_NAME = ".aider.chat.history.md"
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
# What the program says that tells what became of the code; the rest is about tokens, models and
# files.
_DEED = re.compile(
    r"> (?:Applied edit to|Commit [0-9a-f]{6,}|Created |Running |Lint|Tests? "
    r"(?:failed|passed)|Undo)"
)

Line = tuple[int, str]


class Aider:
    """Sessions of Aider."""

    name = "aider"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`. Searches the home folder and three levels below it, without
        hidden folders.
        """
        given = (
            [Path(environ["AIDER_CHAT_HISTORY_FILE"])]
            if environ.get("AIDER_CHAT_HISTORY_FILE")
            else []
        )
        usual = (folder / _NAME for folder in project_folders(home))
        return newest_first(path for path in chain(given, usual) if path.is_file())

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix != ".md":
            return False
        return path.name == _NAME or beginning(path, 4096).lstrip().startswith(
            b"# aider chat started at "
        )

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`. Any change returns all sessions of the file again."""
        found = whole(path, cursor)
        if found is None:
            return
        lines = enumerate(found.data.decode("utf-8", "replace").split("\n"), 1)
        place = hashlib.sha256(str(path).encode("utf-8", "replace")).hexdigest()[:8]
        starts: Counter[str] = Counter()
        for (started, session), last in with_last(_sessions(lines)):
            at = _local(started)
            key = re.sub(r"\D", "", started) or "undated"
            starts[key] += 1
            # A script starts it several times in one second.
            if starts[key] > 1:
                key += f"-{starts[key]}"
            transcript = Transcript(
                f"{place}-{key}", self.name, path, cwd=str(path.parent), started_at=at
            )
            # All entries have the time of the start, which other sessions may share.
            transcript.copies = False
            tell = partial(_tell, session, at)
            transcript.entries = read_entries(transcript, tell, found.cursor if last else Cursor())
            yield transcript


def _sessions(lines: Iterable[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Yield the start time and the lines of each session; lines before the first start are a
    session too.
    """
    started = ""
    session: list[Line] = []
    for number, line in lines:
        if start := _START.match(line):
            if any(text.strip() for _, text in session):
                yield started, session
            started = start[1]
            session = []
        else:
            session.append((number, line))
    if any(text.strip() for _, text in session):
        yield started, session


def _tell(
    session: list[Line],
    at: Micros | None,
    talk: Talk,
) -> None:
    for role, group in groupby(session, key=lambda line: _role(line[1])):
        lines = list(group)
        first = lines[0][0]
        if role == "tool":
            deeds = [(number, line[2:].strip()) for number, line in lines if _DEED.match(line)]
            if deeds:
                told = "; ".join(deed for _, deed in deeds)
                talk.ran("aider", told, None, at, deeds[0][0], last=deeds[-1][0])
        else:
            said = "\n".join(
                line.removeprefix("####").strip() if role == "user" else line for _, line in lines
            )
            talk.say(role, said, at, first, lines=True)


def _role(line: str) -> Role:
    if line.startswith("####"):
        return "user"
    return "tool" if line.startswith(">") else "assistant"


def _local(started: str) -> Micros | None:
    """Parse a local time of this machine."""
    try:
        return from_datetime(datetime.fromisoformat(started).astimezone())
    except (ValueError, OverflowError, OSError):
        return None
