"""Files of lines, read one line at a time: any size, while they grow, compressed or not.

A `Cursor` into such a file has the number of bytes read, the number of lines that ended there, and
a digest of those bytes, so that reading resumes, or restarts if the file was replaced.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import zlib
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from ..errors import InvalidInput
from .base import Cursor
from .json_fields import parsed

# Bytes; a longer line is an image or a mishap, and never somebody's words.
MOST_LINE = 16_000_000
_HEAD = 131_072
# Objects: what a session says about itself stands among them.
_FIRST = 40
_CHUNK = 1_048_576
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)


class Lines:
    """A pass over the JSON objects of a file, one per line, from a cursor on.

    `cursor` is after the last object that was returned, or after what was skipped behind it;
    `skipped` counts lines that are not objects. An incomplete last line is skipped and read again
    by the next pass.
    """

    def __init__(self, path: Path, cursor: Cursor | None = None) -> None:
        """Raise OSError if the file cannot be opened, InvalidInput if it cannot be decompressed
        here.
        """
        self.skipped = 0
        self.cursor = cursor or Cursor()
        self._digest = hashlib.blake2b(digest_size=16)
        self._file, self._broken = _opened(path)
        self._fits = self._skip(self.cursor.position)

    def __enter__(self) -> Lines:
        """Return the pass; the block closes its file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    @property
    def fits(self) -> bool:
        """Whether the bytes before the cursor are those that were read then."""
        return self._fits

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each object with its line number."""
        for number, data, ended in self._lines():
            value = parsed(data) if data is not None else None
            if isinstance(value, dict):
                self._pass(data or b"", ended)
                yield number, value
                continue
            self.skipped += 1 if data is None or data.strip() else 0
            if not ended:
                return
            if data is not None:
                self._pass(data, ended)

    def _lines(self) -> Iterator[tuple[int, bytes | None, bool]]:
        """Yield number, bytes and completeness of each line; None for the bytes of an overlong
        line.
        """
        while True:
            data = self._some(MOST_LINE)
            if not data:
                return
            number = self.cursor.lines + 1
            if data.endswith(b"\n") or len(data) < MOST_LINE:
                yield number, data, data.endswith(b"\n")
            else:
                yield number, None, self._drain(data)

    def _drain(self, data: bytes) -> bool:
        """Read to the end of an overlong line; return False if the file ends first, without passing
        the line.
        """
        digest = self._digest.copy()
        length = 0
        while data:
            digest.update(data)
            length += len(data)
            if data.endswith(b"\n"):
                self._digest = digest
                self.cursor = self._at(length, True)
                return True
            data = self._some(_CHUNK)
        return False

    def _some(self, limit: int) -> bytes:
        try:
            return self._file.readline(limit)
        except self._broken:
            self.skipped += 1
            return b""

    def _pass(self, data: bytes, ended: bool) -> None:
        self._digest.update(data)
        self.cursor = self._at(len(data), ended)

    def _at(self, length: int, ended: bool) -> Cursor:
        return Cursor(
            self.cursor.position + length, self.cursor.lines + ended, self._digest.hexdigest()
        )

    def _skip(self, length: int) -> bool:
        """Skip what is known already; return whether it is unchanged."""
        while length > 0:
            try:
                data = self._file.read(min(length, _CHUNK))
            except self._broken:
                return False
            if not data:
                return False
            self._digest.update(data)
            length -= len(data)
        return not self.cursor.position or self._digest.hexdigest() == self.cursor.digest


def beginning(path: Path, limit: int = _HEAD) -> bytes:
    """Return the first bytes of a file, decompressed; empty if it is unreadable."""
    try:
        file, broken = _opened(path)
    except (OSError, InvalidInput):
        return b""
    failures: tuple[type[Exception], ...] = (OSError, *broken)
    with closing(file):
        try:
            return file.read(limit)
        except failures:
            return b""


def first_objects(path: Path, limit: int = _HEAD) -> list[dict[str, Any]]:
    """Return the JSON objects on the first complete lines of a file."""
    values = (parsed(line) for line in beginning(path, limit).split(b"\n"))
    return list(islice((value for value in values if isinstance(value, dict)), _FIRST))


def _opened(path: Path) -> tuple[IO[bytes], tuple[type[Exception], ...]]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path)), _BROKEN
    if path.suffix == ".zst":
        return _zstandard(path)
    return path.open("rb"), _BROKEN


def _zstandard(path: Path) -> tuple[IO[bytes], tuple[type[Exception], ...]]:
    """Return the zstandard module: part of Python since 3.14, a backport before."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = importlib.import_module(name)
        except ImportError:
            continue
        return zstd.open(path), (*_BROKEN, zstd.ZstdError)
    raise InvalidInput(
        f"{path.name} is compressed with zstd, which this Python cannot unpack. It was left out. "
        "Use Python 3.14, or install the package backports.zstd."
    )
