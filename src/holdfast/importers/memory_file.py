"""Importers of other memory systems' files: what one of them is, and the items it returns."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..ingest.commit import Draft
from ..transcripts.base import Cursor
from ..transcripts.line_reader import beginning
from ..types import Memories, Memory, Micros, Scope
from .json_values import Problem

# Bytes: enough for the first record of any of these files.
_HEAD = 65_536
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class ImportedItem:
    """One memory in a file."""

    line: int
    draft: Draft
    key: tuple[str, ...]
    """What tells it from the others of its format: the same key is the same memory, however often
    it is read.
    """
    id: str | None = None
    """The id that it has there; kept, where ours may look like that."""
    scope: Scope | None = None
    """Whose it says it is."""
    created_at: Micros | None = None
    updated_at: Micros | None = None


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """An `Importer` of the file in which some other system writes memories down."""

    name: str
    about: str
    """What its files are, in a few words."""
    parse: Callable[[str], Iterable[ImportedItem | Problem]]
    """What is in the text of a file. Nothing here raises: what is malformed is a Problem, and the
    rest is read.
    """
    marks: tuple[tuple[str, ...], ...] = ()
    """Keys by which a JSON file is recognised: all keys of one of these groups are in it, and
    together in no other format.
    """
    beginning: re.Pattern[str] | None = None
    """How a file begins that is no JSON."""
    members: str = ""
    """The names of the files to read in a zip archive, as a regular expression."""
    write: Callable[[Memories], Iterator[str]] | None = None
    """The lines of a file with these memories; None where we only read."""
    same: Callable[[Memory], str] | None = None
    """What a memory is, where it may be there under another id as well; None where ids tell."""

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG002
        """Nothing: the user names the file."""
        return iter(())

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        head = beginning(path, _HEAD).removeprefix(b"\xef\xbb\xbf")
        if head.startswith(_ZIP):
            return bool(self._names(path))
        if head.lstrip()[:1] not in (b"{", b"["):
            return self._begins(head)
        return any(all(f'"{key}"'.encode() in head for key in group) for group in self.marks)

    def _begins(self, head: bytes) -> bool:
        text = head.decode("utf-8", "replace").replace("\r\n", "\n")
        return self.beginning is not None and self.beginning.match(text) is not None

    def _names(self, path: Path) -> list[str]:
        """The files of an archive that this importer reads; none if it cannot be opened."""
        if not self.members:
            return []
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, NotImplementedError):
            return []
        return sorted(name for name in names if re.fullmatch(self.members, name))

    def read(
        self,
        path: Path,
        cursor: Cursor | None = None,  # noqa: ARG002
    ) -> Iterator[ImportedItem | Problem]:
        """See `Importer.read`. The whole file each time: what is known already is not added."""
        names = self._names(path)
        return self._unpacked(path, names) if names else iter(self.parse(path.read_text("utf-8")))

    def _unpacked(self, path: Path, names: list[str]) -> Iterator[ImportedItem | Problem]:
        with zipfile.ZipFile(path) as archive:
            for name in names:
                try:
                    text = archive.read(name).decode("utf-8")
                # RuntimeError: it is encrypted, or Python does not know its compression.
                except (zipfile.BadZipFile, zlib.error, ValueError, OSError, RuntimeError) as error:
                    yield Problem(1, f"{name} cannot be read ({error})")
                    continue
                yield from self.parse(text)


def text_in(value: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds a text; InvalidInput where none does."""
    for name in names:
        if isinstance(found := value.get(name), str) and found.strip():
            return found
    raise InvalidInput(f"there is no {' or '.join(names)} in it")


def object_in(value: Any) -> dict[str, Any]:
    """A record; InvalidInput for what is no object."""
    if not isinstance(value, dict):
        raise InvalidInput("this is no record, which would be an object")
    return value
