"""The memory of one project, as its sessions built it: planned, built, looked at, read, cleared."""

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
    """A project's memory: what its past sessions taught, as files that people and agents read."""

    memory: BaseClient
    scope: Scope
    building: Building

    @property
    def folder(self) -> Path:
        """Where its files are: MEMORY.md, memory_summary.md, skills."""
        return self.building.folder(self.scope)

    @property
    def is_on(self) -> bool:
        """Whether the memory of this project is not switched off as a whole."""
        return bool(self.memory.store.profiles.get(self.scope).get("enabled", True))

    def without(self, *sessions: str) -> Project:
        """The same, but for sessions that are not to be read, such as the one that goes on."""
        return replace(
            self, building=replace(self.building, skipped=self.building.skipped | set(sessions))
        )

    def of_any_age(self) -> Project:
        """The same, but for the limits of age and number: every session is read that was not read
        before.
        """
        return replace(
            self, building=replace(self.building, settings=unlimited(self.building.settings))
        )

    def plan(self) -> project_jobs.Plan:
        """What `build` would do; nothing is changed."""
        return project_jobs.plan(self.memory.store, self.scope, self.building, self.memory.clock())

    def build(
        self, told: JobListener = lambda job: None, *, stop: Event | None = None
    ) -> project_jobs.Built:
        """Reads past sessions that are to be read, then makes the files anew if there is more to
        say.

        Of several builders at once each does a part, and one makes the files. `told` hears of each
        job. When `stop` is set, what is under way is given back, for another builder to do; no
        model is waited for.
        """
        memory = self.memory
        stop = stop or Event()
        meter = meter_of(self.memory)
        default, smol = (
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
        """Has the files made again by the next build, though nothing may have changed."""
        build.enqueue(self.memory.store, self.scope, author_of(self.memory, "project"))

    def clear(self) -> int:
        """Takes away all that was built, here and on disk; says what of how many sessions that was.

        The sessions themselves stay, and the next build reads them anew.
        """
        return clear_project_memory(
            self.memory.store, self.scope, self.building, author_of(self.memory, "project")
        )

    def standing(self) -> project_jobs.Standing:
        """How it stands: sessions, files, failures."""
        return project_jobs.standing(self.memory.store, self.scope, self.building)

    def diagnose(self) -> list[str]:
        """Why there is nothing, or not the latest, in sentences; none when all is well."""
        return project_jobs.diagnose(
            self.memory.store, self.scope, self.building, self.memory.clock()
        )

    def guidance(self) -> str:
        """What an agent is told when it begins; empty when there is no summary. The same until the
        files change.
        """
        return guidance(self.folder, self.building)

    def read(self, url: str) -> Artifact:
        """A file by its URL, such as memory://root/MEMORY.md."""
        return read_url(url, self.folder)


def project_at(
    memory: BaseClient,
    folder: Path,
    *,
    data: Path | None = None,
    session_model: Complete | None = None,
) -> Project:
    """The memory of the project that a folder belongs to, whether or not it keeps records.

    `session_model` reads sessions where neither holdfast.yaml nor the settings name a model. An
    empty name there means that none is wanted.
    """
    around = project_around(folder, data=data)
    models = _models(around.models, memory)
    own = models["default"] or (None if "default" in around.models else session_model)
    building = replace(around.building, default=own, smol=models.get("smol"))
    return Project(memory, around.scope, building)


def project_of(memory: BaseClient, *, data: Path | None = None) -> Project:
    """The memory of the project that is among the scopes of an open memory."""
    found = [scope for scope in memory.scopes if scope.kind == "project"]
    if not found:
        raise NotFound(
            "None of these scopes is a project's. Open a memory with one, such as project:shop."
        )
    return Project(memory, found[0], Building(data or config.data_folder()))


def _models(named: dict[str, str], memory: BaseClient) -> dict[str, Complete | None]:
    """The models of the roles; the setting `model` stands in for the default one."""
    if unknown := [role for role in named if role not in ROLES]:
        raise InvalidInput(f"models has no role {unknown[0]!r}. There are: {', '.join(ROLES)}.")
    specs = {"default": memory.settings.model, **named}
    return {role: model_of(memory, spec or "") for role, spec in specs.items()}
