"""One transaction that updates the memories of a place from its files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..ingest import commit, entity_linking
from ..storage.protocol import Transaction
from ..storage.store_types import KnownFile
from ..types import Memory, Micros
from .markdown import OWN_METADATA, SECOND, Record
from .roots import RecordRoot, is_record
from .write_back import release

Known = dict[str, KnownFile]
"""Known files of a place, by path."""
# Fields that a file determines, besides text and metadata.
_TOLD = (
    "kind",
    "category",
    "title",
    "tags",
    "valid_until",
    "confidence",
    "status",
    "protected",
    "created_at",
    "updated_at",
    "event_time",
    "quote",
)


class Checkout(NamedTuple):
    """A place, the store's name for its folder, and the other folders that share its memories."""

    place: RecordRoot
    root: str
    others: Mapping[str, Path]


class Seen(NamedTuple):
    """A file that was read: its new state, and its record unless the content is unchanged."""

    file: KnownFile
    record: Record | None


class Taking:
    """One sync transaction. `held` maps each memory to its file, for files not read this time."""

    def __init__(
        self,
        tx: Transaction,
        checkout: Checkout,
        known: Known,
        held: Mapping[str, str],
        *,
        at: Micros,
    ) -> None:
        self._tx = tx
        self._place = checkout.place
        self._root = checkout.root
        self._checkout = checkout
        self._at = at
        self.known = dict(known)
        self.held = dict(held)
        self.added: list[str] = []
        self.changed: list[str] = []
        self.removed: list[str] = []
        self.warnings: list[str] = []
        self.given_up: set[str] = set()
        self._new: list[Memory] = []
        self._noted: list[KnownFile] = []
        self._known_at_first = bool(known)
        self._homes = {one.memory: path for path, one in known.items() if one.memory}

    def take(self, seen: Sequence[Seen]) -> None:
        """Update the memories of these files. A file that held an id before has precedence."""
        for one in sorted(seen, key=self._claim):
            holder = self.held.get(one.file.memory, one.file.path)
            if holder != one.file.path:
                self._report_copy(one.file, holder)
            elif one.record is None or self._take_in(one.record.memory, one.file):
                self.held[one.file.memory] = one.file.path
                self._noted.append(one.file)
        self._add_new()

    def let_go(self, gone: Iterable[str], given_up: Iterable[str]) -> None:
        """Remove memories whose files are gone, unless another checkout on this machine has
        them.
        """
        paths = [path for path in gone if path in self.known]
        memories = {*(self.known.pop(path).memory for path in paths), *given_up, *self.given_up}
        self._tx.files.drop(self._place.scope, self._root, paths)
        for id_ in sorted(memories - self.held.keys()):
            memory = self._tx.memory(self._place.scope, id_)
            if memory is not None and is_record(memory) and not self._elsewhere(id_):
                self._tx.remove(memory)
                self.removed.append(id_)
        if self.removed:
            release(self._tx, self._place.scope, set(self.removed))

    def finish(self) -> None:
        """Store the state of the files, and register this place as one that shares the memories."""
        mark = [KnownFile("", self._root, "", 0, 0, "")] if not self._known_at_first else []
        self.known.update({file.path: file for file in self._noted})
        self._tx.files.put(self._place.scope, [*mark, *self._noted])

    def _claim(self, seen: Seen) -> tuple[bool, bool, str]:
        path = seen.file.path
        id_ = seen.file.memory
        # False sorts first: the file that had the id, then one named after it. A copy comes last.
        return self._homes.get(id_) != path, not path.rsplit("/", 1)[-1].startswith(id_), path

    def _report_copy(self, file: KnownFile, holder: str) -> None:
        self.warnings.append(
            f"{self._place.root / file.path} has the same id as {holder} ({file.memory}), and is "
            "passed over. If it is "
            "a record of its own, delete the line 'id:' in it."
        )

    def _take_in(self, said: Memory, file: KnownFile) -> bool:
        """Update the memory from its file; return False, with a warning, if the file is ignored."""
        row = self._tx.memory(said.scope, said.id)
        if row is None and said.id in self._erased:
            self.warnings.append(
                f"{self._place.root / file.path} holds what was erased for good ({said.id}), and "
                "is passed over. "
                "Delete it, or give it another id to have it remembered again."
            )
            return False
        if row is None:
            self._new.append(said)
        elif not is_record(row):
            self.warnings.append(
                f"{self._place.root / file.path} has the id of another memory ({said.id}), and is "
                "passed over. Delete "
                "the line 'id:' in it."
            )
            return False
        elif said.id in self._homes or not self._newer_elsewhere(row, said):
            self._bring_up(row, said)
        self._give_up(said.id, file.path)
        return True

    def _bring_up(self, row: Memory, said: Memory) -> None:
        # The file determines only its own keys; others belong to the store.
        kept = {key: value for key, value in row.metadata.items() if key not in OWN_METADATA}
        wanted: dict[str, Any] = {name: getattr(said, name) for name in _TOLD}
        wanted["metadata"] = {**kept, **said.metadata}
        if row.status != said.status:
            wanted |= {"status_at": self._at, "status_reason": "changed in its file"}
        differing = {name: value for name, value in wanted.items() if getattr(row, name) != value}
        if row.content != said.content:
            again = commit.rewrite(self._tx, row, row.with_(content=said.content, **wanted))
            entity_linking.note(self._tx, [again], at=self._at)
        elif differing:
            self._tx.change(row, **differing)
        if differing or row.content != said.content:
            self.changed.append(row.id)

    def _add_new(self) -> None:
        added = self._tx.add_many(self._new) if self._new else []
        entity_linking.note(self._tx, added, at=self._at)
        self.added += [memory.id for memory in added]
        self._new = []

    def _give_up(self, memory: str, path: str) -> None:
        """Release the memory that a file held before, and forget the path that a file was moved
        from.
        """
        home = self._homes.get(memory)
        was = self.known.get(path)
        if home is not None and home != path and home in self.known:
            self._tx.files.drop(self._place.scope, self._root, [home])
            del self.known[home]
        if was is not None and was.memory != memory:
            self.given_up.add(was.memory)

    @cached_property
    def _erased(self) -> set[str]:
        """Ids of purged memories, in this store or in one that it syncs with."""
        return {
            target
            for noun, target in self._tx.replication.purges(self._place.scope, after=0)
            if noun == "memory"
        }

    # Other checkouts

    @cached_property
    def _others(self) -> list[dict[str, Path]]:
        here = {root: folder for root, folder in self._checkout.others.items() if folder.is_dir()}
        known = {
            folder: self._tx.files.list(self._place.scope, root) for root, folder in here.items()
        }
        return [
            {file.memory: folder / file.path for file in files} for folder, files in known.items()
        ]

    def _elsewhere(self, memory: str) -> bool:
        return any(memory in files and files[memory].is_file() for files in self._others)

    def _newer_elsewhere(self, row: Memory, said: Memory) -> bool:
        # Compared in whole seconds, the precision of a file. A checkout on an older commit must
        # not undo a newer edit.
        return bool(self._checkout.others) and row.updated_at // SECOND > said.updated_at // SECOND
