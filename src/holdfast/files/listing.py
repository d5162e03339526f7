"""The files of a place as its folders list them: one look at each folder, none at what lies behind a link."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG

from ..errors import HoldfastError
from .places import CATEGORIES, RECORDS, Place


class Unlistable(HoldfastError):
    """A folder of records cannot be listed. What was known of it stays."""


Stat = tuple[int, int]
"""What a folder's listing says of a file: its size, and when it was changed, in nanoseconds."""


_ABOUT = frozenset(("README.md", "Readme.md", "readme.md"))  # what a folder is for, not a record


def listed(place: Place, warnings: list[str]) -> dict[str, Stat]:
    """The records of a place by their path in it. What is passed over is told in `warnings`.

    Unlistable when a folder is there and cannot be looked into: that does not mean that its files are gone.
    """
    found: dict[str, Stat] = {}
    if place.records.is_symlink():
        raise Unlistable(f"{place.records} is a link, and nothing outside {place.root} is read")
    for folder in _entries(place.records):
        if folder.is_symlink():
            warnings.append(f"{folder.path} is a link, and passed over: nothing outside {place.root} is read.")
        elif folder.is_dir() and folder.name.casefold() in CATEGORIES:
            found.update(_files(folder, warnings))
        elif folder.is_dir() or (folder.name.endswith(".md") and folder.name not in _ABOUT):
            warnings.append(
                f"{folder.path} is passed over: records are in the folders {', '.join(CATEGORIES)}. Move it to one."
            )
    return found


def _files(folder: os.DirEntry[str], warnings: list[str]) -> dict[str, Stat]:
    prefix, found = f"{RECORDS}/{folder.name}/", dict[str, Stat]()
    for entry in _entries(folder.path):  # ten thousand times before each recall, so little is done here
        name = entry.name
        if not name.endswith(".md") or name in _ABOUT:
            continue
        try:
            seen = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted this very moment
            continue
        if not S_ISREG(seen.st_mode):
            warnings.append(f"{entry.path} is a link or no file, and passed over: only files of the place are read.")
        elif not (name.isascii() or _sayable(name)):
            warnings.append(f"{entry.path!a} is passed over: its name is not UTF-8. Rename it.")
        else:
            found[prefix + name] = (seen.st_size, seen.st_mtime_ns)
    return found


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.name[0] != "."]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Unlistable(f"{folder} cannot be read: {error.strerror}") from error


def _sayable(name: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in name)
