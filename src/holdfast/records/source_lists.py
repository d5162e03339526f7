"""What a project has indexed: two lists of files, folders and globs, one a line, that people may
edit.

`.holdfast/sources` lists what lies in the project and can be committed with it; the other list is
kept with a person's own data, for what lies elsewhere, such as the transcripts of their coding
agents. From both an index can be made anew.
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
# The verb that the journal has for it.
INDEX = "index"
FOLLOWED = "lists"
"""Under what the files table keeps that the lists were followed to their end."""
_HEAD = (
    "# What `holdfast project index` follows: a file, a folder or a glob a line, seen from the "
    "project's folder.\n"
)


@dataclass(frozen=True)
class Sources:
    """The two lists of a project."""

    place: RecordRoot
    elsewhere: Path
    """The list of what lies outside the project."""

    @property
    def inside(self) -> Path:
        """The list of what lies in the project."""
        return self.place.root / LIST

    def patterns(self) -> list[str]:
        """Every line of both lists, as an absolute path that may hold wildcards."""
        lines = (line for file in (self.inside, self.elsewhere) for line in _lines(file))
        return [_absolute(line, self.place.folder) for line in lines]

    def note(self, paths: Iterable[Path]) -> None:
        """Adds what neither list covers yet, each to the list that it belongs to."""
        known = self.patterns()
        listed = set(known)
        for path in paths:
            if str(path) not in listed and not any(covers(pattern, str(path)) for pattern in known):
                # A list is no reason to begin a folder of ours in somebody's repository.
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
        """How a file is cited: by its path in the project, or in full."""
        folder = self.place.folder
        return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def sources_of(place: RecordRoot, data: Path) -> Sources:
    """The lists of a project, one of them in the folder of a person's `data`. Neither need be
    there.
    """
    return Sources(place, data / PROJECTS / place.scope.key / LIST)


def unfollowed(store: Store, sources: Sources) -> bool:
    """Whether there are lists that were never followed into this store: it is new, or was
    deleted.
    """
    if not (sources.inside.exists() or sources.elsewhere.exists()):
        return False
    return not store.files.list(sources.place.scope, FOLLOWED)


def covers(pattern: str, path: str) -> bool:
    """Whether an absolute path is what a pattern names, or lies in a folder that it names."""
    inside = pattern.rstrip(os.sep) + os.sep
    return (
        path == pattern
        or path.startswith(inside)
        or fnmatchcase(path, pattern)
        or fnmatchcase(path, f"{inside}*")
    )


def _lines(file: Path) -> list[str]:
    """The lines of a list that say something; none where there is no list."""
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
    """A path that is not taken for a comment or for somebody's home."""
    return f"./{line}" if line.startswith(("#", "~")) or line != line.strip() else line


def _append(file: Path, line: str) -> None:
    """Adds a line at the end: whoever does the same at the same moment takes nothing away."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a+", encoding="utf-8") as out:
            out.seek(0)
            text = out.read()
            start = _HEAD if not text else "" if text.endswith("\n") else "\n"
            out.write(f"{start}{line}\n")
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"Cannot write {file}: {error}. Nothing was indexed.") from error
