"""Current files of a project: each read once, none outside it, none above the size limit.

Git locates renamed files, within a time limit; a project without git works too.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

Line = tuple[int, str]
"""Line number from 1, and the text without white space; blank lines are left out."""

GONE = "not there"
# Bytes; larger than any source file whose lines a person cites.
MOST_BYTES = 1_000_000
# Maximum number of files searched by name where git does not list them.
MOST_FILES = 20_000
# Seconds for git to answer.
PATIENCE = 2.0
# A project may have a thousand files named `__init__.py`.
MOST_NAMESAKES = 20
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_UNSEEN = ("node_modules", "__pycache__")


class Tree:
    """A project's folder during one command. `patience` is the time limit for git in seconds."""

    def __init__(self, root: Path, *, patience: float | None = None) -> None:
        self.root = root.resolve()
        self._patience = PATIENCE if patience is None else patience
        self._read: dict[str, list[Line] | str] = {}
        self._renames: dict[str, dict[str, str]] = {}

    def name_of(self, path: Path) -> str | None:
        """Return a file's path within the project, with slashes; None if it resolves outside."""
        there = path.resolve()
        return there.relative_to(self.root).as_posix() if there.is_relative_to(self.root) else None

    def lines(self, file: str) -> list[Line] | None:
        """Return the non-blank lines of a file; None where `trouble` gives the reason."""
        found = self._look(file)
        return None if isinstance(found, str) else found

    def trouble(self, file: str) -> str:
        """Return why a file cannot be read; empty if it can."""
        found = self._look(file)
        return found if isinstance(found, str) else ""

    def _look(self, file: str) -> list[Line] | str:
        if file not in self._read:
            self._read[file] = self._open(file)
        return self._read[file]

    def _open(self, file: str) -> list[Line] | str:
        try:
            path = (self.root / file).resolve()
            if not path.is_relative_to(self.root):
                return "outside the project"
            seen = path.stat()
            if not stat.S_ISREG(seen.st_mode):
                return "not a file"
            if seen.st_size > MOST_BYTES:
                return "too big to look through"
            return list(_written(path.read_bytes().decode("utf-8-sig", "replace")))
        except (
            OSError,
            ValueError,
            RuntimeError,
        ):
            # Not there, not for us, no name at all, links in a circle.
            return GONE

    @cached_property
    def commit(self) -> str:
        """Current commit of the project; empty without one."""
        return self._git("rev-parse", "--short=12", "HEAD").strip()

    @cached_property
    def files(self) -> list[str]:
        """File names: tracked or addable by git, else all files outside hidden folders."""
        listed = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return sorted(set(listed.split("\0")) - {""}) if listed else sorted(_walked(self.root))

    def namesakes(self, file: str) -> list[str]:
        """Return other files of the same name, those in the most similar folders first."""
        own = PurePosixPath(file).parts
        same = [one for one in self.files if one != file and one.rsplit("/", 1)[-1] == own[-1]]
        return sorted(same, key=lambda one: (-_alike(own, PurePosixPath(one).parts), one))[
            :MOST_NAMESAKES
        ]

    def renamed(self, file: str, since: str) -> str:
        """Return git's new name of a file since a commit; empty if unknown."""
        if not _COMMIT.fullmatch(since):
            # A record is untrusted, and git would take a leading hyphen for an option.
            return ""
        if since not in self._renames:
            said = self._git(
                "diff",
                "--no-ext-diff",
                "--relative",
                "--name-status",
                "-z",
                "--diff-filter=R",
                "-M",
                since,
            )
            parts = said.split("\0")
            self._renames[since] = dict(zip(parts[1::3], parts[2::3], strict=False))
        return self._renames[since].get(file, "")

    def _git(self, *args: str) -> str:
        # No file-system monitor and no optional locks: a check must not start a daemon or block
        # the user's own git commands.
        command = ["git", "-C", str(self.root), "-c", "core.fsmonitor=false", *args]
        environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
        try:
            done = subprocess.run(
                command, capture_output=True, env=environ, timeout=self._patience, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else ""


def _written(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if solid := "".join(line.split()):
            yield number, solid


def _walked(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and one not in _UNSEEN
        )
        for name in names:
            count += 1
            if count > MOST_FILES:
                return
            yield (Path(folder) / name).relative_to(root).as_posix()


def _alike(own: tuple[str, ...], other: tuple[str, ...]) -> int:
    return sum(1 for part in other if part in own)
