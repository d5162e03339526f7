"""Whether records that are to be told are still what their files say.

Only these files are looked at: a project may have ten thousand, and a host waits. One that was not
touched since a process of ours last followed them all is believed. That happens at the end of every
turn, and whenever this finds something that was changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...errors import InvalidInput
from ...records.atomic_files import read, root_of
from ...records.roots import CATEGORIES, RecordRoot
from ...storage.protocol import Store
from ...storage.store_types import KnownFile
from ...types import Memory, Micros, Scope
from .after_session import last_turn

# Two changes within this may have the same time on some disks.
UNSURE: Micros = 2_000_000
# When a file that could not be followed is tried again, though nobody touched it.
AGAIN: Micros = 60_000_000


class Files:
    """The files of records in some places, compared with what is known of them. Turns are noted for
    the first place.
    """

    def __init__(self, store: Store, places: Sequence[RecordRoot]) -> None:
        self._store = store
        self._places = {place.scope: place for place in places}
        self._last = last_turn(store, places[0].scope)
        self._known: dict[Scope, Mapping[str, KnownFile]] = {}
        self._behind: dict[tuple[Scope, str], Micros] = {}
        """Files that changed, and when."""

    def stands(self, memory: Memory) -> bool:
        """Whether a memory says what its file says, if it has one here."""
        path = memory.metadata.get("file")
        place = self._places.get(memory.scope)
        if not isinstance(path, str) or place is None:
            return True
        changed = self._changed(place, path)
        if changed is not None:
            self._behind[memory.scope, path] = changed
        return changed is None

    def want_following(self, now: Micros) -> bool:
        """Whether something was changed that nobody has just tried to follow."""
        folders = (folder for place in self._places.values() for folder in _folders(place))
        latest = max([*self._behind.values(), *map(_changed_at, folders)])
        return latest > self._last or (bool(self._behind) and now - self._last > AGAIN)

    def _changed(self, place: RecordRoot, path: str) -> Micros | None:
        """When a file was changed since it was followed; None when it was not. One that is gone has
        just changed.
        """
        try:
            seen = os.lstat(place.root / path)
        except OSError:
            return self._last + 1
        at = seen.st_mtime_ns // 1000
        if at < self._last - UNSURE:
            return None
        known = self._files(place).get(path)
        if known is None:
            return at
        same = (known.size, known.mtime) == (seen.st_size, seen.st_mtime_ns)
        return None if same or _holds(place, known) else at

    def _files(self, place: RecordRoot) -> Mapping[str, KnownFile]:
        if place.scope not in self._known:
            every = self._store.files.list(place.scope, root_of(self._store, place.root))
            self._known[place.scope] = {one.path: one for one in every}
        return self._known[place.scope]


def _holds(place: RecordRoot, known: KnownFile) -> bool:
    """Whether a file that was touched holds what it held."""
    try:
        content = read(place.root / known.path)
    except InvalidInput:
        return False
    return content is not None and content.hash == known.hash


def _folders(place: RecordRoot) -> Iterator[Path]:
    yield place.records
    yield from (place.records / category for category in CATEGORIES)


def _changed_at(folder: Path) -> Micros:
    """When something was added to a folder or taken out of it; 0 when it is not there."""
    try:
        return folder.stat().st_mtime_ns // 1000
    except OSError:
        return 0
