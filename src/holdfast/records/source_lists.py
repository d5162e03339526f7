"""The indexed sources of a project: two editable lists of files, folders and globs, one per line.

`.holdfast/sources` lists what lies in the project and can be committed. The other list is in a
person's own data, for sources elsewhere, such as transcripts of coding agents. The index can be
rebuilt from both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import InvalidInput, reason
from ..storage.protocol import Store
from ..values import dataclass
from .roots import PROJECTS, RecordRoot

LIST = "sources"
# Verb of these changes in the journal.
INDEX = "index"
FOLLOWED = "lists"
"""Root in the files table that marks a store as fully indexed."""
_HEAD = (
    "# What `holdfast project index` follows: a file, a folder or a glob a line, seen from the "
    "project's folder.\n"
)


@dataclass(frozen=True)
class Sources:
    """The two lists of a project."""

    place: RecordRoot
    elsewhere: Path
    """List of sources outside the project."""

    @property
    def inside(self) -> Path:
        """List of sources in the project."""
        return self.place.root / LIST

    def patterns(self) -> list[str]:
        """Return every line of both lists as an absolute path, with wildcards."""
        lines = (line for file in (self.inside, self.elsewhere) for line in _lines(file))
        return [_absolute(line, self.place.folder) for line in lines]

    def note(self, paths: Iterable[Path]) -> None:
        """Add paths that no list covers yet, each to its list. Raises InvalidInput."""
        known = self.patterns()
        listed = set(known)
        for path in paths:
            if str(path) not in listed and not any(covers(pattern, str(path)) for pattern in known):
                # Do not create `.holdfast` in a repository only for a list.
                inside = path.is_relative_to(self.place.folder) and self.place.root.is_dir()
                _append(self.inside if inside else self.elsewhere, self._line(path))
                listed.add(str(path))
                known += [str(path)] if path.is_dir() else []

    def _line(self, path: Path) -> str:
        if "\n" in str(path) or "\r" in str(path):
            raise InvalidInput(
                f"The name of {str(path)!r} spans lines, so it cannot be listed. Nothing was "
                "indexed."
            )
        if path.is_relative_to(self.place.folder):
            return _unmistakable(path.relative_to(self.place.folder).as_posix())
        home = Path.home()
        return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)

    def name_of(self, path: Path) -> str:
        """Return the name by which a file is cited: relative in the project, else absolute."""
        folder = self.place.folder
        return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def sources_of(place: RecordRoot, data: Path) -> Sources:
    """Return the lists of a project, one of them in a person's `data`. Neither need exist."""
    return Sources(place, data / PROJECTS / place.scope.key / LIST)


def unfollowed(store: Store, sources: Sources) -> bool:
    """Whether lists exist that this store has never indexed: it is new, or was deleted."""
    if not (sources.inside.exists() or sources.elsewhere.exists()):
        return False
    return not store.files.list(sources.place.scope, FOLLOWED)


def covers(pattern: str, path: str) -> bool:
    """Whether a pattern names an absolute path or a folder around it."""
    inside = pattern.rstrip(os.sep) + os.sep
    return (
        path == pattern
        or path.startswith(inside)
        or fnmatchcase(path, pattern)
        or fnmatchcase(path, f"{inside}*")
    )


def _lines(file: Path) -> list[str]:
    """Return the lines of a list without comments; none if there is no file. Raises
    InvalidInput.
    """
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read {file}: {reason(error)}. Nothing was indexed.") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _absolute(line: str, folder: Path) -> str:
    return os.path.normpath(folder / Path(line).expanduser())


def _unmistakable(line: str) -> str:
    """Return a path that cannot be read as a comment or a home folder."""
    return f"./{line}" if line.startswith(("#", "~")) or line != line.strip() else line


def _append(file: Path, line: str) -> None:
    """Append a line; concurrent writers lose nothing."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a+", encoding="utf-8") as out:
            out.seek(0)
            text = out.read()
            start = _HEAD if not text else "" if text.endswith("\n") else "\n"
            out.write(f"{start}{line}\n")
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"Cannot write {file}: {error}. Nothing was indexed.") from error
