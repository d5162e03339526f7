"""Record files: the Markdown files of erased memories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..records import atomic_files
from ..records.atomic_files import Changes
from ..records.roots import RecordRoot
from ..records.scan import Listing
from ..storage.store_types import ErasureTarget
from ..types import Scope


def delete_record_files(
    places: Sequence[RecordRoot],
    scope: Scope,
    changes: Changes,
) -> None:
    """Delete all record files of a scope; `changes` can roll it back."""
    place = next((one for one in places if one.scope == scope), None)
    if place is None:
        return
    for path in Listing(place).records([]):
        content = atomic_files.read(place.root / path)
        if content is not None:
            changes.delete(place.root / path, content)


def describe_deleted(deleted: Sequence[Path], places: Sequence[RecordRoot]) -> ErasureTarget | None:
    """Receipt entry for deleted files; None if there were none."""
    if not deleted:
        return None
    # Their names contain words of what was erased, so the receipt does not list them.
    count = f"{len(deleted)} file{'s' if len(deleted) > 1 else ''} deleted."
    shared_roots = [place.root for place in places if place.name == "project"]
    is_shared = False
    for root in shared_roots:
        is_shared = is_shared or any(file.is_relative_to(root) for file in deleted)
    if not is_shared:
        return ErasureTarget("record files", "clean", count)
    copies = "The git history and other checkouts may still contain them."
    return ErasureTarget("record files", "beyond", count + copies)
