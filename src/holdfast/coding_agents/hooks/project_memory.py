"""What past sessions of a project taught: told to a host whose session starts, built when one has
ended.

Only where holdfast.yaml has it enabled. Most projects have no such file, and then nothing is loaded
for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import config

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...storage import Store

# Tokens of what is said around a summary.
AROUND = 250


def taught(
    store: Store,
    folder: Path,
    *,
    tokens: int,
) -> str:
    """The Memory Guidance block of the project around a folder, within so many tokens; empty where
    there is none.
    """
    if not _may_be_enabled(folder):
        return ""
    from ...projects.project_folder import project_around  # noqa: PLC0415

    project = project_around(folder)
    on = project.enabled and store.profiles.get(project.scope).get("enabled", True)
    return project.guidance(most=tokens - AROUND) if on else ""


def build(hf: Holdfast, folder: Path) -> dict[str, Any]:
    """Builds the memory of the project around a folder, if that is enabled; what came of it, for
    the log.
    """
    if not _may_be_enabled(folder):
        return {}
    from ...namespaces.project_view import project_at  # noqa: PLC0415

    project = project_at(hf, folder)
    if not project.building.settings.enabled:
        return {}
    built = project.build()
    failed = {"error": built.failed[0].error} if built.failed else {}
    return {"sessions": built.read, "built": built.files, **failed}


def _may_be_enabled(folder: Path) -> bool:
    """Whether there is a file that may say so, of the project or of the person."""
    here = folder.absolute()
    places = (config.config_file().parent, here, *here.parents)
    return any((place / config.PROJECT_FILE).is_file() for place in places)
