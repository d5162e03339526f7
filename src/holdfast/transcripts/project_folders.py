"""Folders that may be projects, for agents that keep their sessions in the project itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_NO_PROJECTS = {
    "node_modules",
    "Library",
    "AppData",
    "venv",
    "site-packages",
    "target",
    "build",
    "dist",
}
# Levels below the home folder: deeper searches take long and find copies.
_DEPTH = 3


def project_folders(folder: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """Yield a folder and those up to `depth` levels below it, without hidden ones."""
    yield folder
    if not depth:
        return
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if _may_hold_projects(entry):
            yield from project_folders(entry, depth - 1)


def _may_hold_projects(entry: Path) -> bool:
    hidden = entry.name.startswith(".") or entry.name in _NO_PROJECTS
    return not hidden and entry.is_dir() and not entry.is_symlink()
