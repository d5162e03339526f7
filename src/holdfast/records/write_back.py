"""Write the changes of a transaction to record files before it is committed.

The file comes first. If the process dies before the commit, the next sync updates the memory from
the file; if the commit fails, the file is restored. A file that somebody else has changed is never
overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..errors import Conflict, InvalidInput
from ..storage.protocol import Store, Transaction
from ..storage.store_types import KnownFile
from ..text import frontmatter
from ..text.frontmatter import Broken, Document
from ..text.secrets import find_secrets
from ..types import Memory, Scope
from . import atomic_files
from .atomic_files import Changes, Content
from .markdown import derived_id, document_of, entries, patched, record_of
from .roots import RECORDS, SOURCE, RecordRoot, is_record

WAS = "was"
"""Metadata key for the original text of a file, where patching could not restore it exactly."""


@dataclass
class Mirror:
    """Write-back of one transaction to the files of some places."""

    tx: Transaction
    store: Store
    places: Mapping[Scope, RecordRoot]
    changes: Changes
    max_bytes: int
    _known: dict[Scope, dict[str, KnownFile]] = field(default_factory=dict)

    def write(self, *, strict: bool) -> None:
        """Write all changes. With `strict`, raise InvalidInput for a record whose place is not
        open.
        """
        for scope, id_, before in self.tx.touched(SOURCE):
            after = self.tx.memory(scope, id_)
            place = self.places.get(scope)
            was = before if before is not None and is_record(before) else None
            if place is None:
                if strict and was is not None and _told(was) != (_told(after) if after else None):
                    raise elsewhere(was)
            elif after is not None and is_record(after):
                self._put(place, was, after)
            elif was is not None:
                self._drop(place, was)

    def _put(
        self,
        place: RecordRoot,
        before: Memory | None,
        after: Memory,
    ) -> None:
        known = self._files(place).get(after.id) or self._unclaimed(place, after)
        if known is None:
            self._create(place, after)
        elif before is None or _told(before) != _told(after):
            self._change(place, known, before or after, after)

    def _create(self, place: RecordRoot, after: Memory) -> None:
        path = str(after.metadata["file"])
        kept = after.metadata.get(WAS)
        text = (
            kept
            if isinstance(kept, str) and self._says(kept, path, place, after)
            else document_of(after, place).text
        )
        content = text.encode()
        now = atomic_files.read(_file(place, path))
        if now is None or now.bytes != content:
            self.changes.create(_file(place, path), content)
        if WAS in after.metadata:
            self.tx.change(after, metadata=_without_was(after))
        self._note(place, path, after.id)

    def _change(
        self,
        place: RecordRoot,
        known: KnownFile,
        before: Memory,
        after: Memory,
    ) -> None:
        old = self._content(place, known)
        document = frontmatter.split(frontmatter.decode(old.bytes))
        path = _path(known.path, after)
        new = self._text(place, document, before, after, path)
        if path == known.path:
            self.changes.replace(_file(place, path), old, new.encode())
        else:
            # Create before delete: a crash in between leaves a copy rather than no file.
            self.changes.create(_file(place, path), new.encode())
            self.changes.delete(_file(place, known.path), old)
            # It was moved, not deleted.
            self.changes.deleted.pop()
            self.tx.files.drop(after.scope, known.root, [known.path])
        metadata = {**_without_was(after), "file": path}
        if not _undone_by_patching(new, document, before, after, place):
            metadata[WAS] = document.text
        if metadata != after.metadata:
            self.tx.change(after, metadata=metadata)
        self._note(place, path, after.id)

    def bring_up(self, place: RecordRoot, file: KnownFile) -> None:
        """Update a file from its memory, which changed while the file was not available."""
        after = self.tx.memory(place.scope, file.memory)
        old = atomic_files.read(_file(place, file.path))
        if old is None:
            return
        said = record_of(
            old.bytes, file.path, place, at=old.changed_at, max_bytes=self.max_bytes
        ).memory
        if after is None or not is_record(after):
            self._drop(place, said)
        elif _told(said) != _told(after):
            self._change(place, file, said, after)

    def _unclaimed(self, place: RecordRoot, record: Memory) -> KnownFile | None:
        """Return the file of a restored record that had been deleted in another checkout."""
        path = str(record.metadata["file"])
        content = atomic_files.read(_file(place, path))
        if content is None or _id_in(content, path) != record.id:
            return None
        return atomic_files.noted(
            atomic_files.root_of(self.store, place.root), path, record.id, content
        )

    def _text(
        self,
        place: RecordRoot,
        document: Document,
        before: Memory,
        after: Memory,
        path: str,
    ) -> str:
        kept = before.metadata.get(WAS)
        if isinstance(kept, str) and self._says(kept, path, place, after):
            return kept
        return patched(document, before, after, place).text

    def _drop(self, place: RecordRoot, before: Memory) -> None:
        known = self._files(place).get(before.id)
        path = known.path if known else str(before.metadata["file"])
        old = atomic_files.read(_file(place, path))
        if known is not None:
            if old is not None and old.hash != atomic_files.hash_noted(known):
                raise atomic_files.changed_meanwhile(_file(place, path))
            self.tx.files.drop(before.scope, known.root, [path])
            release(self.tx, before.scope, {before.id})
        elif old is not None and _id_in(old, path) != before.id:
            # The path holds another record by now, or the store has purged this one.
            return
        if old is not None:
            self.changes.delete(_file(place, path), old)

    def _content(self, place: RecordRoot, known: KnownFile) -> Content:
        content = atomic_files.read(_file(place, known.path))
        if content is None or content.hash != atomic_files.hash_noted(known):
            raise atomic_files.changed_meanwhile(_file(place, known.path))
        return content

    def _says(
        self,
        text: str,
        path: str,
        place: RecordRoot,
        memory: Memory,
    ) -> bool:
        """Whether a file with this text would produce exactly this memory."""
        try:
            said = record_of(
                text.encode(), path, place, at=memory.created_at, max_bytes=self.max_bytes
            ).memory
        except InvalidInput:
            return False
        return _told(said) == _told(memory)

    def _files(self, place: RecordRoot) -> dict[str, KnownFile]:
        if place.scope not in self._known:
            root = atomic_files.root_of(self.store, place.root)
            self._known[place.scope] = {
                one.memory: one for one in self.tx.files.list(place.scope, root)
            }
        return self._known[place.scope]

    def _note(
        self,
        place: RecordRoot,
        path: str,
        memory: str,
    ) -> None:
        content = atomic_files.read(_file(place, path))
        assert content is not None, path
        root = atomic_files.root_of(self.store, place.root)
        mark = KnownFile("", root, "", 0, 0, "")
        self.tx.files.put(place.scope, [mark, atomic_files.noted(root, path, memory, content)])


def release(
    tx: Transaction,
    scope: Scope,
    memories: Set[str],
) -> None:
    """Detach these deleted memories from files of other checkouts, which may stay."""
    for mark in tx.files.list(scope, ""):
        held = [file for file in tx.files.list(scope, mark.path) if file.memory in memories]
        if held:
            tx.files.put(scope, [file._replace(memory="") for file in held])


def elsewhere(record: Memory) -> InvalidInput:
    """Return the error for a record that cannot be changed from here."""
    return InvalidInput(
        f"{record.id} is a record of {record.scope}, kept in {record.metadata['file']}. Change it "
        "there: in an editor, "
        "or by running this in that project. Nothing was changed."
    )


def _file(place: RecordRoot, path: str) -> Path:
    """Return the path of a file. Raises InvalidInput if a link leads out of the place."""
    file = place.root / path
    if place.records.is_symlink() or file.parent.is_symlink():
        raise InvalidInput(
            f"{file.parent} is a link, and nothing outside {place.root} is written. Nothing "
            "was "
            "changed."
        )
    return file


def _told(memory: Memory) -> tuple[object, ...]:
    """Return the fields that a record's file determines."""
    return (*entries(memory).values(), memory.content)


def _without_was(memory: Memory) -> dict[str, object]:
    return {key: value for key, value in memory.metadata.items() if key != WAS}


def _path(path: str, memory: Memory) -> str:
    """Return where a record's file belongs: its category's folder, under its current name."""
    here = PurePosixPath(path)
    return (
        path
        if here.parent.name.casefold() == memory.category
        else f"{RECORDS}/{memory.category}/{here.name}"
    )


def _undone_by_patching(
    new: str,
    old: Document,
    before: Memory,
    after: Memory,
    place: RecordRoot,
) -> bool:
    """Whether reversing the patch restores the old text exactly, or it contains a secret."""
    try:
        back = patched(frontmatter.split(new), after, before, place).text
    except (Broken, Conflict):
        return False
    return back == old.text or bool(find_secrets(old.text))


def _id_in(content: Content, path: str) -> str:
    try:
        said = frontmatter.read(frontmatter.split(frontmatter.decode(content.bytes)))
    except Broken:
        return ""
    return str(said.get("id") or derived_id(path))
