"""Project files: rebuild what was built from a project's sessions without what was erased."""

from __future__ import annotations

from .. import config
from ..extraction.coding.project_settings import Building
from ..extraction.progress import PROJECTS
from ..projects import build, stage1, stage1_outputs
from ..projects.artifacts import remove_files, replace_files
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, ErasureTarget
from ..types import Scope
from .target import Target

PLACE = "built memory"


def rebuild_project_files(
    store: Store,
    scope: Scope,
    target: Target,
    author: Author,
) -> ErasureTarget | None:
    """Rebuild a project's files, or delete them with their owner; None if there are none.

    Rules rebuild them at once, even if a model built them before; the next build uses the model
    again.
    """
    building = Building(config.data_folder())
    folder = building.folder(scope)
    if scope.kind != "project" or not folder.is_dir():
        return None
    if target.owner:
        remove_files(folder)
        detail = "The files built from the project's sessions were deleted."
        return ErasureTarget(PLACE, "clean", detail)
    kept = stage1_outputs.outputs(
        store,
        scope,
        building.settings.max_raw_memories_for_global,
    )
    replace_files(folder, build.file_set(kept, building, scope), author.run)
    build.enqueue(store, scope, author)
    detail = "The files built from the project's sessions were rebuilt."
    return ErasureTarget(PLACE, "clean", detail)


def clear_project_memory(
    store: Store,
    scope: Scope,
    building: Building,
    author: Author,
) -> int:
    """Erase everything built for a project, in the store and on disk. Returns the number of
    sessions.

    The sessions themselves stay, and the next build reads them again.
    """
    known = stage1_outputs.kept_as(store, scope)
    marks = [mark for mark in store.progress.list(scope) if mark.sink == PROJECTS]

    def purge_outputs(tx: Transaction) -> None:
        for memory in known:
            tx.erasure.memory(memory)
        for mark in marks:
            tx.progress.drop(scope, mark.session, PROJECTS)
        tx.jobs.drop(scope, (stage1.NAME, build.NAME))

    store.write(author, purge_outputs)
    remove_files(building.folder(scope))
    return len(known)
