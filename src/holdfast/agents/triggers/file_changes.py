"""File triggers: files that are added or changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, DefaultFilter, watch

from ... import config
from ...errors import InvalidInput
from ...storage.connect import is_server
from ...text.terminal import counted
from ..role import FileWatch, Role
from ..role_memory import place
from .base import Firing, TriggerThread, Wiring, excerpt

# Milliseconds between two checks of the file system.
STEP = 50
# A file that keeps changing fires after this multiple of its debounce time.
PATIENCE = 10
# Skips .git, node_modules and editors' temporary files.
_USUAL = DefaultFilter()
# A store and SQLite's files beside it.
_BESIDE = ("", "-wal", "-shm", "-journal")


class FileWatchThread(TriggerThread):
    """Fire for each added or changed file once it has been unchanged for `debounce_seconds`."""

    def __init__(self, trigger: FileWatch, wiring: Wiring) -> None:
        super().__init__(wiring, "file-watch")
        self._trigger = trigger
        self._folders = [_folder(wiring.role, path) for path in trigger.paths]
        self._endings = tuple(
            "." + extension.lower().lstrip(".") for extension in trigger.extensions
        )
        self._own = _own_files(wiring.role)
        # First and last change of each file.
        self._resting: dict[Path, tuple[float, float]] = {}
        places = ", ".join(map(str, self._folders))
        self.about = f"watching {places}" + (
            f" for {', '.join(self._endings)}" if self._endings else ""
        )
        self._changes = watch(
            *self._folders,
            # Our own filter knows which part of a path is inside the watched folder.
            watch_filter=None,
            debounce=STEP,
            step=STEP,
            rust_timeout=STEP,
            yield_on_timeout=True,
            stop_event=wiring.stop,
        )
        try:
            # The first call registers the watches: later changes are not missed.
            self._note(next(self._changes, set()))
        except (OSError, RuntimeError) as error:
            raise InvalidInput(f"Cannot watch {places}: {error}") from error

    def attend(self) -> None:
        """Follow changes until stopped."""
        if self._trigger.process_existing:
            for folder in self._folders:
                self._touched(_inside(folder))
        for changes in self._changes:
            self._note(changes)
            self._fire_rested()
        if self._resting:
            names = excerpt(", ".join(path.name for path in self._resting))
            self._wiring.report(
                f"file_watch: stopped before {counted(len(self._resting), 'changed file')} "
                f"had their turn: {names}"
            )

    def release(self) -> None:
        """Stop watching."""
        # The watcher is in use by its thread: it ends by itself.
        with suppress(ValueError):
            self._changes.close()

    def _note(self, changes: set[tuple[Change, str]]) -> None:
        for change, name in sorted(changes):
            self._touched([Path(name)])
            # Files may have been in a new folder before it was watched.
            if change is Change.added:
                self._touched(_inside(Path(name)))

    def _touched(self, paths: Iterable[Path]) -> None:
        # Real time, not the injected clock: it measures how other programs write files.
        now = time.monotonic()
        for path in paths:
            # Check existence instead of the kind of change: many programs save by replacing the
            # file.
            if self._wanted(path) and _is_file(path):
                first, _ = self._resting.get(path, (now, now))
                self._resting[path] = first, now

    def _wanted(self, path: Path) -> bool:
        if self._endings and not path.name.lower().endswith(self._endings):
            return False
        if path in self._own:
            # The agent's own memory must not trigger it again.
            return False
        inside = next(
            (path.relative_to(folder) for folder in self._folders if path.is_relative_to(folder)),
            path,
        )
        return _USUAL(Change.modified, str(inside))

    def _fire_rested(self) -> None:
        rest = self._trigger.debounce_seconds
        now = time.monotonic()
        for path, (first, last) in list(self._resting.items()):
            if now - last < rest and now - first < rest * PATIENCE:
                continue
            if _is_file(path) and not self._wiring.fire(self._firing(path)):
                # No room: the file stays queued, so that a full folder is processed and not
                # dropped.
                return
            del self._resting[path]

    def _firing(self, path: Path) -> Firing:
        # Not str.format: other braces in a prompt belong to its author.
        return Firing(
            "file_watch",
            self._trigger.prompt_template.replace("{path}", str(path)),
            {"path": str(path)},
        )


def _inside(folder: Path) -> list[Path]:
    """All files below a folder. Files that vanish or are unreadable are skipped."""
    return sorted(Path(parent, name) for parent, _, names in os.walk(folder) for name in names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # unreadable folder: continue with the others
        return False


def _folder(role: Role, path: str) -> Path:
    folder = role.beside(path)
    if not folder.exists():
        raise InvalidInput(
            f"The watched folder {folder} does not exist. Create it, or correct it in {role.file}."
        )
    if not folder.is_dir():
        raise InvalidInput(
            f"{folder} is a file. Watch its folder, and narrow it down by `extensions`."
        )
    # The resolved path, as the system reports it.
    return folder.resolve()


def _own_files(role: Role) -> frozenset[Path]:
    """Files of the agent's memory; none on a server."""
    if role.spec.memory is None:
        return frozenset()
    try:
        store = place(role, config.load())
    except InvalidInput:  # then the agent runs without memory, or not at all
        return frozenset()
    if is_server(store):
        return frozenset()
    file = Path(store).resolve()
    return frozenset(file.with_name(file.name + ending) for ending in _BESIDE)
