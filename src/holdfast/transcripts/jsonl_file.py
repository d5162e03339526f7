"""Shared code for agents that write one JSON lines file per session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidInput
from ..types import Micros
from .assemble import Talk
from .base import Cursor, Entry, Transcript
from .line_reader import Lines, first_objects

Object = dict[str, Any]


class Survey:
    """A first pass over all lines of a file, for what only later lines tell: titles, and what was
    removed.

    It stores a little per line, never the text.
    """

    title = ""

    def see(self, line: int, record: Object) -> None:
        """Process one line."""

    def left_out(self) -> set[int]:
        """Return the lines that do not count: removed by later ones, duplicates, older versions."""
        return set()

    def branches(self) -> set[int]:
        """Return the lines of branches: the conversation continued elsewhere."""
        return set()


class SessionFile:
    """Base reader; a subclass says what a session is, what a line adds, and which lines do not
    count.
    """

    name = ""
    survey: type[Survey] | None = None

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session of a file, as far as its first lines tell."""
        raise NotImplementedError

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add the content of one line to `talk`."""
        raise NotImplementedError

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`."""
        if not path.stat().st_size:
            return
        try:
            changes = _Changes(path, cursor, self.survey)
        except InvalidInput as error:
            # Packed in a way that cannot be unpacked here.
            transcript = self.session(path, [])
            transcript.note = str(error)
            yield transcript
            return
        if changes.none:
            return
        transcript = self.session(path, first_objects(path))
        transcript.continued = changes.cursor is not None
        transcript.entries = self._entries(transcript, changes)
        yield transcript

    def _entries(self, transcript: Transcript, changes: _Changes) -> Iterator[Entry]:
        talk = Talk(transcript)
        standing = changes.standing()
        transcript.title = changes.title or transcript.title
        with Lines(transcript.path, changes.cursor) as lines:
            for line, record in lines:
                if line not in standing.left_out:
                    talk.branch = line in standing.branches
                    self.tell(record, line, talk)
                    yield from talk.ready()
            yield from talk.rest()
            transcript.skipped, transcript.cursor = lines.skipped, lines.cursor
        transcript.updated_at = transcript.updated_at or modified(transcript.path)


class _Standing(NamedTuple):
    """Which lines of a file do not count, and which count only as branches."""

    left_out: set[int]
    branches: set[int]

    def until(self, last: int) -> _Standing:
        """The same for the lines up to `last`."""
        lines = range(last + 1)
        return _Standing(self.left_out.intersection(lines), self.branches.intersection(lines))


class _Changes:
    """What is new in a file since a cursor, computed before any entry is produced."""

    def __init__(
        self,
        path: Path,
        cursor: Cursor | None,
        survey: type[Survey] | None,
    ) -> None:
        self._path = path
        self._survey = survey
        self.cursor = cursor
        self.none = False
        self.title = ""
        self._known: _Standing | None = None
        with Lines(path, cursor) as lines:
            if not lines.fits:
                self.cursor = None
            elif cursor is not None:
                self.none = next(iter(lines), None) is None and lines.cursor == cursor
        if self.cursor is not None and not self.none:
            self._compare(self.cursor)

    def standing(self) -> _Standing:
        """How the lines of the whole file stand."""
        if self._known is None:
            self._known = self._look(None)[1]
        return self._known

    def _compare(self, cursor: Cursor) -> None:
        """When a new line changes how an old one stands, what was read before does not hold: all is
        told anew.
        """
        before, self._known = self._look(cursor)
        if before != self._known.until(cursor.lines):
            self.cursor = None

    def _look(self, cursor: Cursor | None) -> tuple[_Standing, _Standing]:
        """How the lines up to the cursor stood, as far as one could know then, and those of the
        whole file stand.
        """
        nothing = _Standing(set(), set())
        if self._survey is None:
            return nothing, nothing
        survey = self._survey()
        before = None
        with Lines(self._path) as lines:
            for line, record in lines:
                if before is None and cursor is not None and line > cursor.lines:
                    before = _Standing(survey.left_out(), survey.branches())
                survey.see(line, record)
        self.title = survey.title
        return before or nothing, _Standing(survey.left_out(), survey.branches())


def modified(path: Path) -> Micros | None:
    """Return the time of the last change of a file, for sessions whose lines have no time."""
    try:
        return path.stat().st_mtime_ns // 1000
    except OSError:
        return None


def newest_first(paths: Iterator[Path]) -> Iterator[Path]:
    """Sort files by change time, latest first; skip those that are gone or unreadable."""
    dated = []
    try:
        for path in paths:
            if (at := modified(path)) is not None:
                dated.append((at, path))
    except OSError:
        # A folder that may not be entered ends the search there.
        pass
    return (path for _, path in sorted(dated, key=lambda pair: (-pair[0], str(pair[1]))))
