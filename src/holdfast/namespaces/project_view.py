"""Memory of one project, built from its sessions: plan, build, inspect, read, clear."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from .. import config
from ..base_client import BaseClient, author_of
from ..erasure.project_files import clear_project_memory
from ..errors import InvalidInput, NotFound
from ..extraction.coding.project_settings import Building, unlimited
from ..extraction.job_types import Worker
from ..maintenance import project_jobs
from ..maintenance.job_runner import JobListener
from ..model_access import meter_of, model_of
from ..models.llm.chat import Complete
from ..projects import build
from ..projects.guidance import guidance
from ..projects.llm_output import stoppable
from ..projects.project_folder import project_around
from ..records.memory_urls import Artifact, read_url
from ..types import Scope

ROLES = ("default", "smol")
NO_GUIDANCE = "Memory payload is empty (memories disabled or no memory summary found)."


@dataclass(frozen=True)
class Project:
    """Memory of a project: what its past sessions taught, as files for people and agents."""

    memory: BaseClient
    scope: Scope
    building: Building

    @property
    def folder(self) -> Path:
        """Folder of its files: MEMORY.md, memory_summary.md, skills."""
        return self.building.folder(self.scope)

    @property
    def is_on(self) -> bool:
        """Whether the memory of this project is enabled."""
        return bool(self.memory.store.profiles.get(self.scope).get("enabled", True))

    def without(self, *sessions: str) -> Project:
        """Return a copy that skips these sessions, such as the one in progress."""
        return replace(
            self, building=replace(self.building, skipped=self.building.skipped | set(sessions))
        )

    def of_any_age(self) -> Project:
        """Return a copy without limits of age and number: every unread session is due."""
        return replace(
            self, building=replace(self.building, settings=unlimited(self.building.settings))
        )

    def plan(self) -> project_jobs.Plan:
        """Return what `build` would do. Read-only."""
        return project_jobs.plan(self.memory.store, self.scope, self.building, self.memory.clock())

    def build(
        self, told: JobListener = lambda job: None, *, stop: Event | None = None
    ) -> project_jobs.Built:
        """Read the past sessions that are due, then rebuild the files if anything changed.

        Concurrent builders share the sessions, and one of them writes the files. `told` is called
        with each job. When `stop` is set, unfinished jobs are released to other builders without
        waiting for a model.
        """
        memory = self.memory
        stop = stop or Event()
        meter = meter_of(self.memory)
        default, smol = (
            # The meter is inside: an answer that arrives after `stop` is discarded, but its tokens
            # count.
            stoppable(meter.through(model, self.scope), stop)
            for model in (self.building.default, self.building.smol)
        )
        worker = Worker(
            memory.store,
            memory.tiers,
            memory.clock,
            [self.scope],
            stop=stop,
            building=replace(self.building, default=default, smol=smol),
            max_bytes=memory.settings.max_content_bytes,
        )
        return project_jobs.build_memory(worker, told)

    def enqueue(self) -> None:
        """Request a rebuild of the files with the next build, even if nothing changed."""
        build.enqueue(self.memory.store, self.scope, author_of(self.memory, "project"))

    def clear(self) -> int:
        """Delete everything built for the project, in the store and on disk; return the number of
        sessions.

        The sessions themselves stay, and the next build reads them again.
        """
        return clear_project_memory(
            self.memory.store, self.scope, self.building, author_of(self.memory, "project")
        )

    def standing(self) -> project_jobs.Standing:
        """Return the status: sessions, files, failures."""
        return project_jobs.standing(self.memory.store, self.scope, self.building)

    def diagnose(self) -> list[str]:
        """Explain in sentences why there is no current memory; empty if all is well."""
        return project_jobs.diagnose(
            self.memory.store, self.scope, self.building, self.memory.clock()
        )

    def guidance(self) -> str:
        """Return the text for an agent at session start; empty without a summary. Stable until the
        files change.
        """
        return guidance(self.folder, self.building)

    def read(self, url: str) -> Artifact:
        """Return a file by its URL, such as memory://root/MEMORY.md."""
        return read_url(url, self.folder)


def project_at(
    memory: BaseClient,
    folder: Path,
    *,
    data: Path | None = None,
    session_model: Complete | None = None,
) -> Project:
    """Return the memory of the project that a folder belongs to, with or without records.

    `session_model` reads sessions if neither holdfast.yaml nor the settings name a model. An empty
    name there disables the model.
    """
    around = project_around(folder, data=data)
    models = _models(around.models, memory)
    # A default role with an empty name means "no model", so the fallback must not replace it.
    own = models["default"] or (None if "default" in around.models else session_model)
    building = replace(around.building, default=own, smol=models.get("smol"))
    return Project(memory, around.scope, building)


def project_of(memory: BaseClient, *, data: Path | None = None) -> Project:
    """Return the memory of the first project among the scopes; raises NotFound if there is none."""
    found = [scope for scope in memory.scopes if scope.kind == "project"]
    if not found:
        raise NotFound(
            "None of these scopes is a project's. Open a memory with one, such as project:shop."
        )
    return Project(memory, found[0], Building(data or config.data_folder()))


def _models(named: dict[str, str], memory: BaseClient) -> dict[str, Complete | None]:
    """Create the models of the roles; the setting `model` is the fallback of the default one.

    Raises InvalidInput for an unknown role.
    """
    if unknown := [role for role in named if role not in ROLES]:
        raise InvalidInput(f"models has no role {unknown[0]!r}. There are: {', '.join(ROLES)}.")
    specs = {"default": memory.settings.model, **named}
    return {role: model_of(memory, spec or "") for role, spec in specs.items()}
