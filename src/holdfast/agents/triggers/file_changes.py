"""Triggers by files that are added or changed."""

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

# Milliseconds between two looks at what changed on disk.
STEP = 50
# A file that never rests fires after so many times its debounce.
PATIENCE = 10
# Leaves out .git, node_modules, what editors put aside while saving.
_USUAL = DefaultFilter()
# A store, and what SQLite keeps beside it.
_BESIDE = ("", "-wal", "-shm", "-journal")


class FileWatchThread(TriggerThread):
    """Fires for each file that was added or changed, once it has rested for the time of
    `debounce_seconds`.
    """

    def __init__(self, trigger: FileWatch, wiring: Wiring) -> None:
        super().__init__(wiring, "file-watch")
        self._trigger = trigger
        self._folders = [_folder(wiring.role, path) for path in trigger.paths]
        self._endings = tuple(
            "." + extension.lower().lstrip(".") for extension in trigger.extensions
        )
        self._own = _own_files(wiring.role)
        # When each changed, first and last.
        self._resting: dict[Path, tuple[float, float]] = {}
        places = ", ".join(map(str, self._folders))
        self.about = f"watching {places}" + (
            f" for {', '.join(self._endings)}" if self._endings else ""
        )
        self._changes = watch(
            *self._folders,
            watch_filter=None,  # ours knows which part of a path lies inside the watched folder
            debounce=STEP,
            step=STEP,
            rust_timeout=STEP,
            yield_on_timeout=True,
            stop_event=wiring.stop,
        )
        try:
            # The first look is what makes the folders watched: nothing that changes from here on is
            # missed.
            self._note(next(self._changes, set()))
        except (OSError, RuntimeError) as error:
            raise InvalidInput(f"Cannot watch {places}: {error}") from error

    def attend(self) -> None:
        """Follows what changes until it is stopped."""
        if self._trigger.process_existing:
            for folder in self._folders:
                self._touched(_inside(folder))
        for changes in self._changes:
            self._note(changes)
            self._fire_rested()
        if self._resting:
            names = excerpt(", ".join(path.name for path in self._resting))
            self._wiring.told(
                f"file_watch: stopped before {counted(len(self._resting), 'changed file')} had "
                f"their turn: {names}"
            )

    def release(self) -> None:
        """Watches no longer."""
        # It is being read from: then it ends by itself.
        with suppress(ValueError):
            self._changes.close()

    def _note(self, changes: set[tuple[Change, str]]) -> None:
        for change, name in sorted(changes):
            self._touched([Path(name)])
            # Files may have been in a new folder before it was watched.
            if change is Change.added:
                self._touched(_inside(Path(name)))

    def _touched(self, paths: Iterable[Path]) -> None:
        # Real time, not the injected clock: this is about how programs write files, while they
        # write them.
        now = time.monotonic()
        for path in paths:
            # Whether it is there says more than the kind of change: many programs save by replacing
            # the file.
            if self._wanted(path) and _is_file(path):
                first, _ = self._resting.get(path, (now, now))
                self._resting[path] = first, now

    def _wanted(self, path: Path) -> bool:
        if self._endings and not path.name.lower().endswith(self._endings):
            return False
        if path in self._own:
            # What the agent remembers must not set it in motion again.
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
                # no room: it keeps its place, so that a folder full of files is worked off, not
                # dropped
                return
            del self._resting[path]

    def _firing(self, path: Path) -> Firing:
        # Not str.format: other braces in a prompt are the author's own.
        return Firing(
            "file_watch",
            self._trigger.prompt_template.replace("{path}", str(path)),
            {"path": str(path)},
        )


def _inside(folder: Path) -> list[Path]:
    """All that lies in a folder and its folders. What goes away meanwhile, or may not be looked at,
    is left out.
    """
    return sorted(Path(parent, name) for parent, _, names in os.walk(folder) for name in names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # it lies where nobody may look: no reason to look nowhere from now on
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
    # As the system reports what lies in it.
    return folder.resolve()


def _own_files(role: Role) -> frozenset[Path]:
    """The files that the agent's memory is in; none when it is on a server."""
    if role.spec.memory is None:
        return frozenset()
    try:
        store = place(role, config.load())
    except InvalidInput:  # then the agent runs without, or does not run
        return frozenset()
    if is_server(store):
        return frozenset()
    file = Path(store).resolve()
    return frozenset(file.with_name(file.name + ending) for ending in _BESIDE)
