"""The files of a place as its folders list them: one look at each of them, none at what lies behind
a link.
"""

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
    """A folder of records cannot be listed. What was known of it stays."""


Stat = tuple[int, int]
"""What a folder's listing says of a file: its size, and when it was changed, in nanoseconds."""


# What a folder is for, not a record.
_ABOUT = frozenset(("README.md", "Readme.md", "readme.md"))


class _Folder(NamedTuple):
    """What lies in a folder: names, and for each of them mode, size and time of change, one behind
    the other.
    """

    path: Path
    names: list[str]
    numbers: list[int]

    def entries(self) -> Iterator[tuple[str, int, Stat]]:
        """Each name with its mode, and with what tells whether it was changed."""
        each = iter(self.numbers)
        for name, mode, size, mtime in zip(self.names, each, each, each, strict=True):
            yield name, mode, (size, mtime)


class Listing:
    """What lies in the folders of a place at this moment."""

    def __init__(self, place: RecordRoot) -> None:
        """Unlistable when a folder is there and cannot be looked into: that does not mean that its
        files are gone.
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
        """What stays the same as long as every name, size and time of change does, and changes with
        any of them.
        """
        # Of the folders themselves what they are, and no times: those change with hidden files as
        # well.
        names = [*self._top.names]
        numbers = self._top.numbers[::3]
        for folder in self._folders:
            names += folder.names
            numbers += len(folder.names), *folder.numbers
        # Python hashes numbers, however long, alike in every process; texts it does not.
        return f"{hash((int.from_bytes(os.fsencode('/'.join(names))), *numbers)):x}"

    def records(self, warnings: list[str]) -> dict[str, Stat]:
        """The records by their path in the place. What is passed over is told in `warnings`."""
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
            # Ten thousand times before each recall, so little is done here.
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                try:
                    seen = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # deleted this very moment
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
    """A folder as it is looked at quickest: opened, where that can be, so that no file in it is
    sought from the top.
    """
    if os.scandir not in os.supports_fd:
        yield folder
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield handle
    finally:
        os.close(handle)


def _sayable(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)
