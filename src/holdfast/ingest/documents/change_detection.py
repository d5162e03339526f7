"""File state on disk: whether a file can be indexed, and whether it has changed."""

from __future__ import annotations

import hashlib
import stat
from contextlib import suppress
from pathlib import Path

from ... import transcripts
from ...errors import InvalidInput
from ...storage.mtime import sure
from ...storage.store_types import KnownFile
from ...types import Micros
from ..sanitize import clean
from . import markdown_documents
from .index_report import Source

ROOT = "sources"
"""Under what the files table keeps what was indexed; the paths are names of sources."""
_TALKS = frozenset((".jsonl",))
_PACKED = frozenset((".db", ".gz", ".zst"))


def can_be_indexed(path: Path) -> bool:
    """Whether a file nobody named is worth indexing, by its name or its compressed content."""
    suffix = path.suffix.lower()
    if suffix in _PACKED:
        return transcripts.reader_for(path) is not None
    return suffix in markdown_documents.TEXTS | markdown_documents.TICKETS | _TALKS


def looked_at(source: Source) -> KnownFile:
    """A file's state without reading it; a database includes its write-ahead log."""
    if source.name != clean(source.name):
        raise InvalidInput("its name is not UTF-8")
    status = source.path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput("it is neither a file nor a folder")
    size = status.st_size
    mtime = status.st_mtime_ns
    with suppress(OSError):
        log = _log_of(source.path).stat()
        size = size + log.st_size
        mtime = max(mtime, log.st_mtime_ns)
    return KnownFile(
        ROOT,
        source.name,
        "",
        size,
        mtime,
        "",
    )


def changed_at(source: Source) -> Micros:
    """Modification time of a file, for a text that has no date of its own."""
    return source.path.stat().st_mtime_ns // 1000


def read(file: KnownFile, path: Path) -> KnownFile:
    """The same with the content hash, and with the modification time only if it is reliable."""
    return file._replace(mtime=sure(file.mtime), hash=_hash(path))


def _hash(path: Path) -> str:
    """SHA-256 of a file, and of its log if it is a database that has one."""
    told = hashlib.sha256()
    for file in (path, _log_of(path)):
        with suppress(FileNotFoundError), file.open("rb") as data:
            while block := data.read(1 << 20):
                told.update(block)
    return told.hexdigest()


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
