"""Settings of project memory, and the resources to build it with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput, meant
from ...types import DAY, Micros, Scope

if TYPE_CHECKING:
    from ...models.llm.chat import Complete

MEMORY = "MEMORY.md"
SUMMARY = "memory_summary.md"
RAW = "raw_memories.md"
SECOND: Micros = 1_000_000
HOUR = DAY // 24


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The keys under `memories:` with their defaults; camelCase is accepted in files."""

    enabled: bool = False
    """Whether memory is built and injected without being asked for. Commands work regardless."""
    max_rollout_age_days: int = 30
    """Sessions older than this are not processed."""
    min_rollout_idle_hours: int = 12
    """Sessions that were active more recently than this are skipped."""
    max_rollouts_per_startup: int = 64
    """How many sessions are processed in one go, at most."""
    summary_injection_token_limit: int = 5_000
    """How many tokens of the summary go before a model, at most."""
    thread_scan_limit: int = 300
    """How many sessions are looked at, the latest first."""
    max_raw_memories_for_global: int = 200
    """How many sessions the project's memory is made of, the latest first."""
    stage1_concurrency: int = 8
    """How many sessions a model reads at a time."""
    stage1_lease_seconds: int = 120
    stage1_retry_delay_seconds: int = 120
    phase2_lease_seconds: int = 180
    phase2_retry_delay_seconds: int = 180
    phase2_heartbeat_seconds: int = 30
    rollout_payload_percent: float = 0.7
    """Which share of a model's window a session may take."""
    fallback_token_limit: int = 16_000
    """A model's window, where nobody says how large it is."""
    context_window: int = 0
    """How many tokens the model takes; 0: not known."""

    @property
    def window(self) -> int:
        """The model's assumed context window, in tokens."""
        return max(self.context_window or self.fallback_token_limit, 2_048)


@dataclass(frozen=True)
class Building:
    """Resources for building a project's memory, and where its files go."""

    data: Path
    """The folder of the person's data, under which every project has a folder of its own."""
    settings: ProjectSettings = field(default_factory=ProjectSettings)
    default: Complete | None = None
    """The model that reads sessions; None: rules do."""
    smol: Complete | None = None
    """The model that puts them together; None: the one that reads them, or the composer that needs
    none.
    """
    prompts: Path | None = None
    """A folder whose prompts stand in for ours."""
    skipped: frozenset[str] = frozenset()
    """Sessions that are not read: the one that goes on at the moment."""
    repository: Path | None = None
    """The project's folder, against which commands are checked; None where it is not known."""

    def folder(self, scope: Scope) -> Path:
        """Folder of a project's files."""
        return memory_folder(self.data, scope)


def memory_folder(data: Path, scope: Scope) -> Path:
    """Folder of a project's memory files in a person's data directory."""
    name = re.sub(r"^\.|[^A-Za-z0-9._-]", lambda odd: f"%{ord(odd[0]):x}", scope.key)
    return data / "projects" / name / "memory"


def unlimited(settings: ProjectSettings) -> ProjectSettings:
    """The same settings without limits on age and number."""
    most = 10**6
    return replace(
        settings,
        max_rollout_age_days=most,
        min_rollout_idle_hours=0,
        max_rollouts_per_startup=most,
        thread_scan_limit=most,
    )


def settings_from(values: Mapping[str, Any], where: str) -> ProjectSettings:
    """Parse the settings of a file. Raises InvalidInput for an unknown key or bad value."""
    known = {one.name: one for one in fields(ProjectSettings)}
    chosen: dict[str, Any] = {}
    for written, value in values.items():
        name = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda letter: f"_{letter[1].lower()}", str(written))
        if name not in known:
            hint = meant(name, known) or f" There are: {', '.join(known)}."
            raise InvalidInput(f"memories has no key {written!r} ({where}).{hint}")
        chosen[name] = _checked(name, value, known[name].default, where)
    return ProjectSettings(**chosen)


def _checked(
    name: str,
    value: Any,
    default: Any,
    where: str,
) -> Any:
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise InvalidInput(f"memories.{name} must be true or false, not {value!r} ({where}).")
    if isinstance(default, float):
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
            return float(value)
        raise InvalidInput(
            f"memories.{name} must be a share above 0, up to 1, not {value!r} ({where})."
        )
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InvalidInput(f"memories.{name} must be a whole number, not {value!r} ({where}).")
