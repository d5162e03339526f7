"""The project of a folder and its build settings from holdfast.yaml. Loads no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from .. import config
from ..extraction.coding.project_settings import Building, settings_from
from ..records.roots import place_around
from ..types import Scope
from .guidance import guidance


class Around(NamedTuple):
    """A project, whether or not it has records."""

    scope: Scope
    building: Building
    models: dict[str, str]
    """Models by role, as configured in the file."""

    @property
    def enabled(self) -> bool:
        """Whether its memory is built and injected automatically."""
        return self.building.settings.enabled

    def wanted(self, profile: Mapping[str, Any]) -> bool:
        """The same, with the project's own switch in the store taking precedence."""
        return bool(profile.get("enabled", self.enabled))

    def guidance(self, *, most: int | None = None) -> str:
        """Guidance for an agent at session start, with at most `most` tokens of the summary; empty
        without one.
        """
        building = self.building
        if most is not None:
            fewer = min(most, building.settings.summary_injection_token_limit)
            building = replace(
                building, settings=replace(building.settings, summary_injection_token_limit=fewer)
            )
        return guidance(building.folder(self.scope), building)


def project_around(folder: Path, *, data: Path | None = None) -> Around:
    """Find the project of a folder: the nearest one with records, else the repository, else the
    folder.

    Raises InvalidInput if its holdfast.yaml, or the user's own, is invalid.
    """
    place = place_around(folder)
    configured = config.project_file(place.folder)
    building = Building(
        data or config.data_folder(),
        settings_from(configured["memories"], config.PROJECT_FILE),
        prompts=Path(configured["prompts"]) if configured["prompts"] else None,
        repository=place.folder,
    )
    return Around(place.scope, building, configured["models"])
