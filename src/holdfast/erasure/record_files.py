"""Record files: the Markdown files of memories that are erased."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..records import atomic_files
from ..records.atomic_files import Changes
from ..records.roots import RecordRoot
from ..records.scan import Listing
from ..storage.protocol import ErasureTarget
from ..types import Scope


def delete_record_files(places: Sequence[RecordRoot], scope: Scope, changes: Changes) -> None:
    """Delete all record files of a scope; `changes` can take that back."""
    place = next((one for one in places if one.scope == scope), None)
    if place is None:
        return
    for path in Listing(place).records([]):
        content = atomic_files.read(place.root / path)
        if content is not None:
            changes.delete(place.root / path, content)


def describe_deleted(deleted: Sequence[Path], places: Sequence[RecordRoot]) -> ErasureTarget | None:
    """What a receipt says of files that were deleted; None if there were none."""
    if not deleted:
        return None
    # Their names hold words of what was erased, so they are not told.
    count = f"{len(deleted)} file{'s' if len(deleted) > 1 else ''} deleted."
    is_shared = any(
        place.name == "project" and file.is_relative_to(place.root)
        for file in deleted
        for place in places
    )
    if not is_shared:
        return ErasureTarget("record files", "clean", count)
    copies = " The history of git, and other checkouts, may still have what was in them."
    return ErasureTarget("record files", "beyond", count + copies)
