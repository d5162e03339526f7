"""Erasing for good where memories are files as well: the files go too, and the receipt says what
may be left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .. import config
from ..extraction.coding.project_settings import Building
from ..projects.artifacts import remove_files, replace_files
from ..projects.build import enqueue, file_set
from ..projects.stage1_outputs import outputs
from ..records import atomic_files
from ..records.atomic_files import Changes
from ..records.file_backed_store import FileBackedStore
from ..records.roots import RecordRoot
from ..records.scan import Listing
from ..storage import protocol
from ..storage.protocol import Author
from ..types import Scope
from . import purge as erase_
from .hook_log import erase_from_log
from .purge import Target
from .receipt import Receipt


def erase(
    files: FileBackedStore, scopes: Sequence[Scope], target: Target, author: Author, *, wait: float
) -> Receipt:
    """Erases as `erasure/purge.py` does, and the files of the records among it."""
    changes = Changes()
    store = files.as_store()
    place = next((one for one in files.places if one.scope == scopes[0]), None)
    before = len(files.deleted)
    try:
        if target.owner and place is not None:
            # Before the memories: a file that was left would bring its memory back.
            _delete_all(place, changes)
        receipt = erase_.erase(store, scopes, target, author, wait=wait)
    except BaseException:
        changes.take_back()
        raise
    deleted = [*changes.deleted, *files.deleted[before:]]
    told = [_told(deleted, files.places)] if deleted else []
    told += [
        made for scope in scopes if (made := _made_again(store, scope, target, author)) is not None
    ]
    logged = erase_from_log(scopes[0], target, receipt)
    told += [logged] if logged is not None else []
    return replace(receipt, places=(*receipt.places, *told)) if told else receipt


def _made_again(
    store: protocol.Store, scope: Scope, target: Target, author: Author
) -> protocol.ErasureTarget | None:
    """The memory that was built of a project, without what was erased; None where none was built.

    It is put together by rules at once, whoever wrote it before, and again in the usual way by the
    next build. Of an owner that is gone nothing is.
    """
    building = Building(config.data_folder())
    folder = building.folder(scope)
    if scope.kind != "project" or not folder.is_dir():
        return None
    if target.owner:
        remove_files(folder)
        return protocol.ErasureTarget(
            "built memory", "clean", "The files built of the project's sessions were deleted."
        )
    kept = outputs(store, scope, building.settings.max_raw_memories_for_global)
    replace_files(folder, file_set(kept, building, scope), author.run)
    enqueue(store, scope, author)
    return protocol.ErasureTarget(
        "built memory", "clean", "The files built of the project's sessions were made again."
    )


def _delete_all(place: RecordRoot, changes: Changes) -> None:
    for path in Listing(place).records([]):
        content = atomic_files.read(place.root / path)
        if content is not None:
            changes.delete(place.root / path, content)


def _told(deleted: Sequence[Path], places: Sequence[RecordRoot]) -> protocol.ErasureTarget:
    # Their names hold words of what was erased, so they are not told.
    count = f"{len(deleted)} file{'s' if len(deleted) > 1 else ''} deleted."
    shared = any(
        place.name == "project" and file.is_relative_to(place.root)
        for file in deleted
        for place in places
    )
    copies = (
        " The history of git, and other checkouts, may still have what was in them."
        if shared
        else ""
    )
    return protocol.ErasureTarget("record files", "beyond" if shared else "clean", count + copies)
