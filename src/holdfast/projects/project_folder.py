"""The project that a folder belongs to, and how its memory is built, as its holdfast.yaml says. No
model is loaded.
"""

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
    """A project, whether or not it keeps records."""

    scope: Scope
    building: Building
    models: dict[str, str]
    """Which model has which role, by what the file says."""

    @property
    def enabled(self) -> bool:
        """Whether its memory is built and told without being asked for."""
        return self.building.settings.enabled

    def wanted(self, profile: Mapping[str, Any]) -> bool:
        """The same, given what is set for the project in the store: who switched it on or off there
        has the say.
        """
        return bool(profile.get("enabled", self.enabled))

    def guidance(self, *, most: int | None = None) -> str:
        """What an agent is told when it begins, with so many tokens of the summary at `most`; empty
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
    """The project that a folder belongs to: one that keeps records, else the repository, else the
    folder itself.

    InvalidInput when its holdfast.yaml, or the person's own, says something that cannot be.
    """
    place = place_around(folder)
    told = config.project_file(place.folder)
    building = Building(
        data or config.data_folder(),
        settings_from(told["memories"], config.PROJECT_FILE),
        prompts=Path(told["prompts"]) if told["prompts"] else None,
    )
    return Around(place.scope, building, told["models"])
