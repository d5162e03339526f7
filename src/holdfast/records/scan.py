"""Listing of a place's files: one stat per file, and no link is followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple

from ..errors import HoldfastError
from .roots import CATEGORIES, RECORDS, RecordRoot


class Unlistable(HoldfastError):
    """A folder of records cannot be listed; the known state stays."""


Stat = tuple[int, int]
"""Size and modification time (nanoseconds) of a listed file."""


# Files that describe a folder and are not records.
_ABOUT = frozenset(("README.md", "Readme.md", "readme.md"))


class _Folder(NamedTuple):
    """Content of a folder: names, and a flat list of mode, size and mtime for each."""

    path: Path
    names: list[str]
    numbers: list[int]

    def entries(self) -> Iterator[tuple[str, int, Stat]]:
        """Yield each name with its mode and its `Stat`."""
        each = iter(self.numbers)
        for name, mode, size, mtime in zip(self.names, each, each, each, strict=True):
            yield name, mode, (size, mtime)


class Listing:
    """Current content of a place's folders."""

    def __init__(self, place: RecordRoot) -> None:
        """List the folders. Raises Unlistable for one that cannot be read, which does not mean that
        its files are gone.
        """
        if place.records.is_symlink():
            raise Unlistable(f"{place.records} is a link, and nothing outside {place.root} is read")
        self._root = place.root
        self._top = _look(place.records)
        self._folders = [
            _look(place.records / name)
            for name, mode, _ in self._top.entries()
            if S_ISDIR(mode) and name.casefold() in CATEGORIES
        ]

    def seal(self) -> str:
        """Return a hash of all names, sizes and modification times."""
        # Only the mode of folders: their times also change with hidden files.
        names = [*self._top.names]
        numbers = self._top.numbers[::3]
        for folder in self._folders:
            names += folder.names
            numbers += len(folder.names), *folder.numbers
        # Python's hash of integers is the same in every process; that of strings is not.
        return f"{hash((int.from_bytes(os.fsencode('/'.join(names))), *numbers)):x}"

    def records(self, warnings: list[str]) -> dict[str, Stat]:
        """Return the records by path; add a message to `warnings` for each ignored entry."""
        for name, mode, _ in self._top.entries():
            path = self._top.path / name
            if S_ISLNK(mode):
                warnings.append(
                    f"{path} is a link, and passed over: nothing outside {self._root} is read."
                )
            elif name.casefold() not in CATEGORIES if S_ISDIR(mode) else _is_record(name):
                warnings.append(
                    f"{path} is passed over: records are in the folders "
                    f"{', '.join(CATEGORIES)}. "
                    "Move it to one."
                )
        found: dict[str, Stat] = {}
        for folder in self._folders:
            found.update(_records(folder, warnings))
        return found


def _records(folder: _Folder, warnings: list[str]) -> Iterator[tuple[str, Stat]]:
    prefix = f"{RECORDS}/{folder.path.name}/"
    for name, mode, seen in folder.entries():
        if not _is_record(name):
            continue
        if not S_ISREG(mode):
            warnings.append(
                f"{folder.path / name} is a link or no file, and passed over: only files of "
                "the "
                "place are read."
            )
        elif not (name.isascii() or _sayable(name)):
            warnings.append(
                f"{str(folder.path / name)!a} is passed over: its name is not UTF-8. Rename it."
            )
        else:
            yield prefix + name, seen


def _is_record(name: str) -> bool:
    return name.endswith(".md") and name not in _ABOUT


def _look(path: Path) -> _Folder:
    folder = _Folder(path, [], [])
    names = folder.names
    numbers = folder.numbers
    try:
        with _opened(path) as handle, os.scandir(handle) as entries:
            # Runs up to ten thousand times before each recall, so it does little.
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                try:
                    seen = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    # Deleted this very moment.
                    continue
                names.append(name)
                numbers += seen.st_mode, seen.st_size, seen.st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise Unlistable(f"{path} cannot be read: {error.strerror}") from error
    return folder


@contextmanager
def _opened(folder: Path) -> Iterator[int | Path]:
    """Open a folder, where supported, so that the kernel resolves its path only once."""
    if os.scandir not in os.supports_fd:
        yield folder
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield handle
    finally:
        os.close(handle)


def _sayable(name: str) -> bool:
    # Surrogates stand for bytes of a name that is not UTF-8; the store cannot hold them.
    return not any("\ud800" <= char <= "\udfff" for char in name)
