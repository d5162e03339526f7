"""A store some of whose memories are files as well: it follows the files before it is used, and
writes to them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from .. import records
from ..errors import Conflict
from ..storage.protocol import Author, Store, Transaction
from ..types import Scope
from ..values import replace
from .atomic_files import Changes
from .file_sync import Followed, Follower, Progress, follow
from .roots import RecordRoot

T = TypeVar("T")
# Verbs that take what another store says as it comes, also of files that are not here.
GIVEN = (
    "sync",
    "import",
)


class FileBackedStore:
    """A store that is opened together with places. Whatever is not said here is what the store
    itself does.
    """

    def __init__(
        self,
        store: Store,
        places: Sequence[RecordRoot],
        author: Callable[[str], Author],
        max_bytes: int,
    ) -> None:
        self.bare = store
        self._follower = Follower(store, author, max_bytes)
        self.places = tuple(places)
        self.followed = Followed()
        """What following brought before the first read or write."""
        self.deleted: list[Path] = []
        """The files that were deleted because their records were."""
        self._lock = threading.RLock()
        self._current = not places

    def as_store(self) -> Store:
        """The same, as what it is used for."""
        return cast("Store", self)

    def __getattr__(self, name: str) -> Any:
        self._follow_once()
        return getattr(self.bare, name)

    @property
    def location(self) -> str:
        """Where the store is, for people."""
        return self.bare.location

    def close(self) -> None:
        """Closes the store."""
        self.bare.close()

    def write(self, author: Author, work: Callable[[Transaction], T]) -> T:
        """As a store does, with the files of the records that changed. InvalidInput for one that is
        kept elsewhere.
        """
        self._follow_once()
        changes = Changes()

        def whole(tx: Transaction) -> T:
            # A second try begins with the files as they were.
            changes.take_back()
            result = work(tx)
            records.write_back.Mirror(
                tx, self.bare, self._by_scope, changes, self._follower.max_bytes
            ).write(strict=author.verb not in GIVEN)
            return result

        try:
            result = self.bare.write(author, whole)
        except BaseException as error:
            changes.take_back()
            self._current = self._current and not (isinstance(error, Conflict) and self.places)
            raise
        self.deleted += changes.deleted
        return result

    def follow(self, progress: Progress = lambda done, total: None) -> Followed:
        """Brings the memories of all places to what their files say now."""
        whole = Followed()
        with self._lock:
            for place in self.places:
                one = follow(replace(self._follower, progress=progress), place)
                for name in ("added", "changed", "removed", "warnings"):
                    getattr(whole, name).extend(getattr(one, name))
                whole.read += one.read
            self._current = True
        return whole

    def _follow_once(self) -> None:
        if not self._current:
            # Who comes second waits for the first.
            with self._lock:
                if not self._current:
                    self.followed = self.follow()

    @property
    def _by_scope(self) -> dict[Scope, RecordRoot]:
        return {place.scope: place for place in self.places}
