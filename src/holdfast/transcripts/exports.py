"""Exports of chat services: a zip file, or the `conversations.json` in it, with all conversations
of a user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ..text.terminal import counted
from .assemble import Talk
from .base import Cursor, Transcript
from .json_documents import conversations, elements, is_conversations, read_entries
from .json_fields import with_last

Object = dict[str, Any]


class Export:
    """Base reader of exports; a subclass parses one service's conversations."""

    name = ""
    # A key that conversations of this service have, and of no other.
    mark = b""

    def conversation(self, path: Path, record: Object) -> Transcript:
        """Return the conversation of a record in the export."""
        raise NotImplementedError

    def tell(self, record: Object, talk: Talk) -> None:
        """Add its messages to `talk`."""
        raise NotImplementedError

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG002
        """Nothing: the user names the file."""
        return iter(())

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix.lower() != ".zip" and not is_conversations(path.name):
            return False
        try:
            with conversations(path) as files:
                return any(self.mark in file.read(65_536) for file in files)
        except OSError:
            return False

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`. The cursor counts conversations, so that reading a large export can
        be interrupted.
        """
        size = path.stat().st_size
        digest = _digest(path)
        done = cursor.lines if cursor and cursor.digest == digest else 0
        if not size or (done and cursor and cursor.position == size):
            return
        with conversations(path) as files:
            records = chain.from_iterable(elements(file) for file in files)
            for number, (record, last) in enumerate(with_last(records), 1):
                if number > done:
                    yield self._transcript(
                        path, number, record, Cursor(size if last else 0, number, digest)
                    )

    def _transcript(
        self,
        path: Path,
        number: int,
        record: Object | None,
        cursor: Cursor,
    ) -> Transcript:
        if record is None:
            broken = Transcript(f"{path.name}-{number}", self.name, path, skipped=1, cursor=cursor)
            broken.note = (
                f"{path.name} stops being JSON behind "
                f"{counted(number - 1, 'conversation')}; the rest was left out."
            )
            return broken
        transcript = self.conversation(path, record)
        transcript.id = transcript.id or f"{path.name}-{number}"
        transcript.entries = read_entries(transcript, lambda talk: self.tell(record, talk), cursor)
        return transcript


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
