"""Sync from files to memories, after edits by people, editors and git.

The folders are listed and compared with the last known state; only files that look different are
read. With many files, one seal (a hash over the listing) shows that nothing changed, until the
store records or forgets a file. The new content and the new state are stored together. If a file
cannot be parsed, the last good memory stays and a warning says where to look.

Checkouts of one project share its memories: a record is removed when no checkout on this machine
has it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .. import records
from ..errors import InvalidInput, StoreBusy, StoreFull, StoreReadOnly
from ..storage.protocol import Store, Transaction
from ..storage.store_types import BEHIND, Author, KnownFile
from ..text.frontmatter import Broken
from ..values import dataclass, field, replace
from . import atomic_files
from .roots import RecordRoot
from .scan import Listing, Stat, Unlistable

if TYPE_CHECKING:
    from .file_transaction import Checkout, Known, Seen, Taking
    from .markdown import Record

VERB = "follow"
# Files per transaction, which bounds memory use.
CHUNK = 500
# Bytes of frontmatter allowed on top of the text limit.
FRONTMATTER = 64_000
# Another process may sync the same files at the same time; each loss costs one try.
TRIES = 5
# From this many files on, a seal is cheaper than comparing the listing.
MANY = 1_000
UNWRITABLE = (StoreBusy, StoreReadOnly, StoreFull)
Progress = Callable[[int, int], None]


@dataclass
class Followed:
    """Result of a sync: ids of memories, number of files read, and warnings for a person."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    read: int = 0


@dataclass(frozen=True)
class Follower:
    """Settings of a sync: the store, the author, the size limit and a progress callback."""

    store: Store
    author: Callable[[str], Author]
    max_bytes: int
    progress: Progress = lambda done, total: None


def follow(follower: Follower, place: RecordRoot) -> Followed:
    """Update the memories of a place from its files; a store that cannot be written stays
    as it is.
    """
    for _ in range(TRIES):
        followed = Followed()
        try:
            listing = Listing(place)
            root = atomic_files.root_of(follower.store, place.root)
            seal = KnownFile("", root, "", 0, 0, listing.seal())
            if seal in follower.store.files.list(place.scope, ""):
                # The common case, so it must cost no more than this one lookup.
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
    """One attempt to sync a place."""

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
        """Import all differences; return False if another process did so first and a retry is
        needed.
        """
        if not self._fresh and not self._gone:
            return True
        # Known files first: they keep their ids when a new file claims the same one.
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
            # Compared inside the transaction: if another process has synced since, this attempt
            # would apply stale content.
            now = {one.path: one for one in tx.files.list(self._place.scope, self._root)}
            if now != self._known or (last and self._came_back()):
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
            # The content is unchanged and only its state was to be noted; the next sync checks it
            # again.
            return True

    def _came_back(self) -> bool:
        """Whether a new listing has a file that ours lacks.

        Another process may add a record after the listing. It writes the file in its own
        transaction, so a listing inside ours is right. That a path exists says less: a directory
        may have its name, and on some disks `Tea.md` is there when only `tea.md` is.
        """
        return bool(self._gone) and not self._gone.keys().isdisjoint(
            Listing(self._place).records([])
        )

    def _bring_up(self, tx: Transaction, changes: atomic_files.Changes) -> None:
        """Write to files what a sync between stores changed in memories while the place was
        closed.
        """
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
        """Read a file; return None, with a warning, if it cannot be parsed."""
        file = self._place.root / path
        known = self._known.get(path)
        try:
            content = self._content(path, file)
            if content is None:
                # Deleted after the listing; the next sync sees that.
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
        # A file without an id keeps the one it had, even when it was renamed.
        was = self._known.get(path) or next(
            (one for one in self._gone.values() if one.hash == content.hash), None
        )
        return (
            replace(record, memory=record.memory.with_(id=was.memory))
            if was and was.memory
            else record
        )
