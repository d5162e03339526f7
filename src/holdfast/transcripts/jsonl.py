"""Agents that write one file of JSON lines for each session: what their readers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..types import Micros
from .base import Cursor, Entry, Transcript
from .lines import Lines, first_objects
from .talk import Talk

Object = dict[str, Any]


class Survey:
    """A first look at all lines of a file, for what only later lines tell: titles, and what was taken back.

    It keeps a little for each line, never its text.
    """

    title = ""

    def see(self, line: int, record: Object) -> None:
        """Looks at one line."""

    def left_out(self) -> set[int]:
        """The lines that later ones took back: replaced prompts, abandoned branches, older versions."""
        return set()


class SessionFile:
    """A reader of one format says what a session is, what a line adds to it, and which lines do not count."""

    name = ""
    survey: type[Survey] | None = None

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """The session of a file, as far as its first lines tell."""
        raise NotImplementedError

    def tell(self, record: Object, line: int, talk: Talk) -> None:
        """Adds to `talk` what one line says."""
        raise NotImplementedError

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Reader.read`."""
        if not path.stat().st_size:
            return
        try:
            changes = _Changes(path, cursor, self.survey)
        except InvalidInput as error:  # packed in a way that cannot be unpacked here
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
        talk, left_out = Talk(transcript), changes.left_out()
        transcript.title = changes.title or transcript.title
        with Lines(transcript.path, changes.cursor) as lines:
            for line, record in lines:
                if line not in left_out:
                    self.tell(record, line, talk)
                    yield from talk.ready()
            yield from talk.rest()
            transcript.skipped, transcript.cursor = lines.skipped, lines.cursor
        transcript.updated_at = transcript.updated_at or modified(transcript.path)


class _Changes:
    """What is new in a file since a cursor, looked up before anything is told."""

    def __init__(self, path: Path, cursor: Cursor | None, survey: type[Survey] | None) -> None:
        self._path, self._survey = path, survey
        self.cursor, self.none, self.title = cursor, False, ""
        self._known: set[int] | None = None
        with Lines(path, cursor) as lines:
            if not lines.fits:
                self.cursor = None
            elif cursor is not None:
                self.none = next(iter(lines), None) is None and lines.cursor == cursor
        if self.cursor is not None and not self.none:
            self._compare(self.cursor)

    def left_out(self) -> set[int]:
        """The lines not to be told."""
        if self._known is None:
            self._known = self._look(None)[1]
        return self._known

    def _compare(self, cursor: Cursor) -> None:
        """When a new line takes back an old one, what was read before does not hold: all is told anew."""
        before, self._known = self._look(cursor)
        if before != {line for line in self._known if line <= cursor.lines}:
            self.cursor = None

    def _look(self, cursor: Cursor | None) -> tuple[set[int], set[int]]:
        """What is left out up to the cursor, as far as one could know then, and in the whole file."""
        if self._survey is None:
            return set(), set()
        survey, before = self._survey(), None
        with Lines(self._path) as lines:
            for line, record in lines:
                if before is None and cursor is not None and line > cursor.lines:
                    before = survey.left_out()
                survey.see(line, record)
        self.title = survey.title
        return before or set(), survey.left_out()


def modified(path: Path) -> Micros | None:
    """When a file was last changed, for sessions whose lines carry no time."""
    try:
        return path.stat().st_mtime_ns // 1000
    except OSError:
        return None


def newest_first(paths: Iterator[Path]) -> Iterator[Path]:
    """The most recently changed files first; those that are gone, or cannot be looked at, are passed over."""
    dated = []
    try:
        for path in paths:
            if (at := modified(path)) is not None:
                dated.append((at, path))
    except OSError:  # a folder that may not be entered ends the search there
        pass
    return (path for _, path in sorted(dated, key=lambda pair: (-pair[0], str(pair[1]))))
