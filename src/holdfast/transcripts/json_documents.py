"""Files that are one document: read as a whole, and again after any change."""

from __future__ import annotations

import codecs
import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .assemble import Talk
from .base import Cursor, Entry, Transcript
from .json_fields import as_dict
from .jsonl_file import modified

# Bytes; whatever holds one session and is larger is not text.
MOST_DOCUMENT = 256_000_000
_CHUNK = 1_048_576
# As zipfile has them.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A document and the cursor after it."""

    data: bytes
    cursor: Cursor


def whole(path: Path, cursor: Cursor | None = None) -> Document | None:
    """Return the content of `path`; None if it is empty, too large, or unchanged since `cursor`."""
    if not 0 < path.stat().st_size <= MOST_DOCUMENT:
        return None
    data = path.read_bytes()
    now = Cursor(len(data), 0, hashlib.blake2b(data, digest_size=16).hexdigest())
    return None if cursor == now else Document(data, now)


def document(
    transcript: Transcript,
    found: Document,
    tell: Callable[[Talk], None],
) -> Transcript:
    """Return `transcript` with the entries that `tell` adds. An empty document counts as one bad
    line.
    """
    transcript.entries = read_entries(transcript, tell, found.cursor)
    return transcript


def read_entries(
    transcript: Transcript,
    tell: Callable[[Talk], None],
    cursor: Cursor | None,
) -> Iterator[Entry]:
    """Yield the entries of a session that is in memory."""
    talk = Talk(transcript)
    tell(talk)
    entries = list(talk.rest())
    transcript.skipped += 0 if entries or transcript.started_at else 1
    transcript.updated_at = transcript.updated_at or modified(transcript.path)
    yield from entries
    transcript.cursor = cursor


def elements(file: IO[bytes]) -> Iterator[dict[str, Any] | None]:
    """Yield the objects of a JSON array, or a single object, each parsed on demand.

    Yields None last if the JSON is malformed. Only one element is in memory at a time.
    """
    text = _Text(file)
    single = text.next_sign() != "["
    if not single:
        text.pass_sign()
    while (sign := text.next_sign()) and sign != "]":
        if sign == ",":
            text.pass_sign()
            continue
        value = text.value()
        if value is None:
            yield None
            return
        yield as_dict(value[0])
        if single:
            return


class _Text:
    """Text of a file, read as far as needed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._buffer = ""
        self._at = 0
        self._more = True
        self._parse = json.JSONDecoder().raw_decode

    def next_sign(self) -> str:
        """Return the next non-space character, or an empty string at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at].isspace():
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._read(_CHUNK):
                return ""

    def pass_sign(self) -> None:
        """Skip the character that `next_sign` returned."""
        self._at += 1

    def value(self) -> tuple[Any] | None:
        """Return the next value, or None. Doubles the amount read until a value is complete."""
        size = _CHUNK
        while True:
            try:
                value, self._at = self._parse(self._buffer, self._at)
                return (value,)
            except (ValueError, RecursionError):
                size *= 2
                if not self._read(size) or len(self._buffer) > MOST_DOCUMENT:
                    return None

    def _read(self, size: int) -> bool:
        if not self._more:
            return False
        try:
            data = self._file.read(size)
        except _UNREADABLE:
            data = b""
        self._more = bool(data)
        self._buffer = self._buffer[self._at :] + self._decode(data, not data)
        self._at = 0
        return self._more


@contextmanager
def conversations(path: Path) -> Iterator[Iterator[IO[bytes]]]:
    """Open the `conversations*.json` of an export, a zip file or that file itself; none if the zip
    is broken.
    """
    if path.suffix.lower() != ".zip":
        with path.open("rb") as file:
            yield iter([file])
        return
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE:
        yield iter(())
        return
    with archive:
        yield _members(archive)


def is_conversations(name: str) -> bool:
    """Whether a file name is that of exported conversations, which may have several parts."""
    return name.startswith("conversations") and name.endswith(".json")


def _members(archive: zipfile.ZipFile) -> Iterator[IO[bytes]]:
    for name in sorted(archive.namelist()):
        if is_conversations(name.rsplit("/", 1)[-1]):
            try:
                file = archive.open(name)
            except _UNREADABLE:
                continue
            with file:
                yield file
