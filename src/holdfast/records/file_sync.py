"""From files to memories: whatever people, editors and git did to the records of a place, its
memories follow.

The folders are listed and compared with what was known of them; only files that look different are
read. Where there are many files, a seal over all of them tells that none does, until the store
notes or forgets one. What they say goes into the store together with what is known of them now. Of
a file that cannot be understood the last good memory stays, and a warning says where to look.
Checkouts of one project share its memories: a record goes when no checkout on this machine has it
any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .. import records
from ..errors import InvalidInput, StoreBusy, StoreFull, StoreReadOnly
from ..storage.protocol import BEHIND, Author, KnownFile, Store, Transaction
from ..text.frontmatter import Broken
from ..values import dataclass, field, replace
from . import atomic_files
from .roots import RecordRoot
from .scan import Listing, Stat, Unlistable

if TYPE_CHECKING:
    from .file_transaction import Checkout, Known, Seen, Taking
    from .markdown import Record

VERB = "follow"
# Files that are read and taken in at a time: no more than that is in memory.
CHUNK = 500
# Bytes that a file may hold besides its text.
FRONTMATTER = 64_000
TRIES = 5
# Files: so many are sealed, for fewer comparing takes less time than that.
MANY = 1_000
UNWRITABLE = (StoreBusy, StoreReadOnly, StoreFull)
Progress = Callable[[int, int], None]


@dataclass
class Followed:
    """What following brought: ids of memories, how many files were read for it, and what a person
    should know.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    read: int = 0


@dataclass(frozen=True)
class Follower:
    """Who follows files: into which store, as whom, and how long a text may be. `progress` hears
    how far it is.
    """

    store: Store
    author: Callable[[str], Author]
    max_bytes: int
    progress: Progress = lambda done, total: None


def follow(follower: Follower, place: RecordRoot) -> Followed:
    """Brings the memories of a place to what its files say; a store that cannot be written stays as
    it is.
    """
    for _ in range(TRIES):
        followed = Followed()
        try:
            listing = Listing(place)
            root = atomic_files.root_of(follower.store, place.root)
            seal = KnownFile("", root, "", 0, 0, listing.seal())
            if seal in follower.store.files.list(place.scope, ""):
                # As nearly always, so no more than this is asked for it.
                return followed
            tree = listing.records(followed.warnings)
            if follower.store.files.stats(place.scope, root) == tree:
                if len(tree) >= MANY and not followed.warnings:
                    _put_seal(follower, place, tree, seal)
                return followed
            if _Run(follower, place, tree, followed).whole():
                return followed
        except UNWRITABLE as error:
            followed.warnings.append(
                f"What changed in {place.records} is not taken in yet. {error}"
            )
            return followed
        except Unlistable as error:
            followed.warnings.append(
                f"{error}. What was known of the records in {place.records} stays."
            )
            return followed
    followed.warnings.append(
        f"Others keep changing {place.records}. What changed last is taken in the next time."
    )
    return followed


def _put_seal(
    follower: Follower,
    place: RecordRoot,
    tree: dict[str, Stat],
    seal: KnownFile,
) -> None:
    """Notes that all files are known as they are, so that the next look need not compare them one
    by one.
    """

    def work(tx: Transaction) -> None:
        known = {one.path: (one.size, one.mtime) for one in tx.files.list(place.scope, seal.path)}
        # What was noted meanwhile may wait to be looked at.
        if known == tree:
            tx.files.put(place.scope, [seal])

    with suppress(*UNWRITABLE), follower.store.short_busy_timeout():
        follower.store.write(follower.author(VERB), work)


class _Run:
    """One try at following a place."""

    def __init__(
        self,
        follower: Follower,
        place: RecordRoot,
        tree: dict[str, Stat],
        followed: Followed,
    ) -> None:
        self._follower = follower
        self._place = place
        self._tree = tree
        self.followed = followed
        self._root = atomic_files.root_of(follower.store, place.root)
        self._known: Known = {
            one.path: one for one in follower.store.files.list(place.scope, self._root)
        }
        seen = {path: (one.size, one.mtime) for path, one in self._known.items()}
        self._fresh = [path for path, now in self._tree.items() if seen.get(path) != now]
        self._gone = {path: self._known[path] for path in self._known.keys() - self._tree.keys()}
        self._given_up: set[str] = set()
        self._behind: list[KnownFile] = []
        unread = {*self._fresh, *self._gone}
        self._held = (
            {one.memory: path for path, one in self._known.items() if path not in unread}
            if unread
            else {}
        )

    def whole(self) -> bool:
        """Takes in all that is different; False when somebody else did the same, so that it must be
        looked at anew.
        """
        if not self._fresh and not self._gone:
            return True
        paths = sorted(self._fresh, key=lambda path: (path not in self._known, path))
        chunks = [paths[start : start + CHUNK] for start in range(0, len(paths), CHUNK)] or [[]]
        for number, chunk in enumerate(chunks, 1):
            seen = [one for path in chunk if (one := self._read(path)) is not None]
            if not self._take_in(seen, last=number == len(chunks)):
                return False
            if chunk:
                self._follower.progress(min(number * CHUNK, len(paths)), len(paths))
        return True

    def _take_in(self, seen: Sequence[Seen], *, last: bool) -> bool:
        if not seen and not (last and self._gone):
            return True
        author = self._follower.author(VERB)
        changes = atomic_files.Changes()

        def work(tx: Transaction) -> Taking | None:
            now = {one.path: one for one in tx.files.list(self._place.scope, self._root)}
            if now != self._known:
                return None
            taking = records.file_transaction.Taking(
                tx, self._checkout(tx), self._known, self._held, at=author.at
            )
            taking.take(seen)
            if last:
                taking.let_go(self._gone, self._given_up)
            taking.finish()
            self._bring_up(tx, changes)
            return taking

        try:
            return self._note(self._follower.store.write(author, work))
        except BaseException as error:
            changes.take_back()
            news = self._behind or (last and self._gone) or any(one.record for one in seen)
            if news or not isinstance(error, UNWRITABLE):
                raise
            # It says what it said before, and is looked at once more.
            return True

    def _bring_up(self, tx: Transaction, changes: atomic_files.Changes) -> None:
        """Writes to files what a sync changed in memories while the place was not open."""
        changes.take_back()
        if self._behind:
            by_scope = {self._place.scope: self._place}
            mirror = records.write_back.Mirror(
                tx, self._follower.store, by_scope, changes, self._follower.max_bytes
            )
            for note in self._behind:
                mirror.bring_up(self._place, note)

    def _checkout(self, tx: Transaction) -> Checkout:
        roots = [
            mark.path for mark in tx.files.list(self._place.scope, "") if mark.path != self._root
        ]
        return records.file_transaction.Checkout(
            self._place,
            self._root,
            {root: atomic_files.folder_of(self._follower.store, root) for root in roots},
        )

    def _note(self, taking: Taking | None) -> bool:
        if taking is None:
            return False
        self._known = taking.known
        self._held = taking.held
        self._behind = []
        self._given_up |= taking.given_up
        for name in ("added", "changed", "removed", "warnings"):
            getattr(self.followed, name).extend(getattr(taking, name))
        return True

    def _read(self, path: str) -> Seen | None:
        """What a file says; None, and a warning, when it says nothing that could be understood."""
        file = self._place.root / path
        known = self._known.get(path)
        try:
            content = self._content(path, file)
            if content is None:
                # Deleted since it was listed: the next time sees that.
                return None
            if known is not None and atomic_files.hash_noted(known) == content.hash:
                note = atomic_files.noted(self._root, path, known.memory, content)
                self._behind += [note] if known.hash.startswith(BEHIND) else []
                return records.file_transaction.Seen(note, None)
            record = self._record(path, content)
        except InvalidInput as error:
            where = f"{file}:{error.line}: " if isinstance(error, Broken) else ""
            self.followed.warnings.append(
                f"{where}{str(error).rstrip('.')}. What was known of it stays."
            )
            if known is not None:
                self._held[known.memory] = path
            return None
        return records.file_transaction.Seen(
            atomic_files.noted(self._root, path, record.memory.id, content), record
        )

    def _content(self, path: str, file: Path) -> atomic_files.Content | None:
        limit, (size, _) = self._follower.max_bytes, self._tree[path]
        if size > limit + FRONTMATTER:
            raise InvalidInput(
                f"{file} is over the limit of {limit:,} bytes. Split it, or raise "
                "max_content_bytes."
            )
        content = atomic_files.read(file)
        self.followed.read += content is not None
        return content

    def _record(self, path: str, content: atomic_files.Content) -> Record:
        at = content.changed_at
        record = records.markdown.record_of(
            content.bytes, path, self._place, at=at, max_bytes=self._follower.max_bytes
        )
        for line, warning in record.warnings:
            self.followed.warnings.append(f"{self._place.root / path}:{line}: {warning}.")
        if record.named:
            return record
        # It has the id that it had, also when it was given another name.
        was = self._known.get(path) or next(
            (one for one in self._gone.values() if one.hash == content.hash), None
        )
        return (
            replace(record, memory=record.memory.with_(id=was.memory))
            if was and was.memory
            else record
        )
