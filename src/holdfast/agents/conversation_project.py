"""The memory of the project that a conversation is held in: told to the agent, built meanwhile,
seen to with /memory.

All of it is read once, when the conversation begins, so that the system prompt is the same until it
ends. What is built meanwhile is for the next one. Nothing that goes wrong here keeps anybody from
talking.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_ai import Tool
from pydantic_ai.messages import ModelMessage

from .. import config
from ..client import Holdfast
from ..context.blocks import escape_document
from ..errors import HoldfastError
from ..ingest import owner_profile
from ..namespaces.project_view import NO_GUIDANCE, Project, project_at
from ..projects.project_folder import project_around
from ..storage.connect import is_server
from ..text.spoken_commands import answer as meant
from ..text.terminal import counted
from .memory_commands import GUEST
from .role import OFFLINE
from .session_export import export_session, transcript_of

if TYPE_CHECKING:
    from .agent_runner import RoleAgent

log = logging.getLogger(__name__)

TITLE = "Memory Injection Payload"
NEWER = "What was built since this session began is told to the next one."
CLEARED = "Memory data cleared and system prompt refreshed."
KEPT = "Okay, nothing was cleared."
ENQUEUED = "Memory consolidation enqueued."
USAGE = "Usage: /memory <view|clear|reset|enqueue|rebuild>"
# Seconds for a build to be given back: between two steps it takes none.
PATIENCE = 3.0


class ProjectMemory:
    """One conversation's share in the memory of the project around it. Nothing is opened before it
    is needed.
    """

    def __init__(self, agent: RoleAgent, folder: Path, *, session: str) -> None:
        self._agent = agent
        self._folder = folder
        self._session = session
        self._builder: threading.Thread | None = None
        self._stop = threading.Event()
        self.waiting = False
        """Whether it was asked if all is to be cleared, which the next words may answer."""
        self._trouble = ""
        self._heard: list[ModelMessage] = []

    @cached_property
    def enabled(self) -> bool:
        """Whether this is a project that wants its memory built and told without being asked
        for.
        """
        try:
            if not self._lasts:
                return False
            around = project_around(self._folder)
            # Where there is no store yet nobody has switched anything, and looking makes none.
            chosen = (
                self._project.memory.store.profiles.get(around.scope) if self._has_store else {}
            )
            return around.wanted(chosen)
        except (HoldfastError, OSError) as error:  # in its holdfast.yaml, or in the store
            self._failed(error)
            return False

    @property
    def _has_store(self) -> bool:
        memory = self._agent.memory
        place = memory.settings.store if memory is not None else ""
        return (bool(place) and is_server(place)) or Path(place or config.default_store()).exists()

    @property
    def is_on(self) -> bool:
        """Whether the memory of this project is not switched off as a whole."""
        return not self._has_store or self._project.is_on

    def switch(self, on: bool) -> str:
        """Switches the memory of this project on or off, for this conversation and for all that
        follow.
        """
        if not self._lasts:
            return GUEST
        return _tried("switch", lambda: self._switched(on=on))

    def _switched(self, *, on: bool) -> str:
        scope = self._project.scope
        self._project.memory.write(
            "profile", lambda tx: owner_profile.change(tx, scope, {"enabled": on})
        )
        self.enabled = on
        if on:
            self.begin()
            return (
                f"Memory of {self._project.scope} is on: its past sessions are read, and told "
                "to the agent."
            )
        self._end_building()
        self._heard.clear()
        self._tell("")
        return f"Memory of {self._project.scope} is off. What was built stays where it is."

    @property
    def _lasts(self) -> bool:
        memory = self._agent.memory
        return memory is not None and not memory.incognito

    @cached_property
    def _project(self) -> Project:
        memory = self._agent.memory
        assert memory is not None
        hf = Holdfast.open(
            scope=f"user:{config.login()}",
            settings=memory.settings,
            clock=memory.clock,
            background=False,
            actor=f"agent:{memory.role.name}",
        )
        scripted = memory.role.spec.model.provider == OFFLINE
        return project_at(hf, self._folder, session_model=None if scripted else memory.complete)

    def _failed(self, error: Exception) -> None:
        self._trouble = str(error) or type(error).__name__
        log.warning("the memory of this project is left out: %s", self._trouble)

    # While it lasts

    def begin(self, *, build: bool = True) -> None:
        """Tells the agent what past sessions taught, and reads those that are new in the
        background.

        Where that is not wanted, or cannot be, nothing happens; `/memory diagnose` says why.
        """
        try:
            if not self.enabled or not self._project.is_on:
                return
            self._tell(self._project.guidance())
        except (HoldfastError, OSError) as error:
            self._failed(error)
            return
        if build:
            self._builder = threading.Thread(
                target=self._build, name="holdfast-project", daemon=True
            )
            self._builder.start()

    def _tell(self, guidance: str) -> None:
        self._agent.guidance = guidance
        # What it is told names files: without any there is nothing to read.
        self._agent.project_tools = [Tool(self.read, takes_ctx=False)] if guidance else []

    def _build(self) -> None:
        try:
            self._project.without(self._session).build(stop=self._stop)
        except (
            Exception
        ) as error:  # nobody waits for it, and a warning would go into what is being typed
            self._trouble = f"{type(error).__name__}: {error}"
            log.info("building the memory of %s", self._folder, exc_info=True)

    def hear(self, messages: Sequence[ModelMessage]) -> None:
        """What was just said: when the conversation ends it is a past session of the project, as
        others are.
        """
        if self.enabled:
            self._heard += messages

    def unhear(self) -> None:
        """Something that was said is not to be remembered: nothing of the conversation so far
        is.
        """
        self._heard.clear()

    def _keep_heard(self) -> None:
        heard = self._heard
        self._heard = []
        try:
            if heard and self._project.is_on:
                name = self._agent.role.name
                told = transcript_of(heard, session=self._session, agent=name, folder=self._folder)
                export_session(self._project.memory, self._project.scope, told)
        except (
            Exception
        ) as error:  # a conversation that has ended is not failed by what becomes of it
            self._failed(error)

    def end(self) -> None:
        """Gives back what is being built, for the next session to do, and closes what was
        opened.
        """
        self._end_building()
        self._keep_heard()
        if "_project" in vars(self) and not (self._builder and self._builder.is_alive()):
            self._project.memory.close()

    def _end_building(self) -> None:
        self._stop.set()
        if self._builder is not None:
            self._builder.join(PATIENCE)

    def read(self, url: str) -> str:
        """Read a file of this project's memory.

        Args:
            url: memory://root for the summary, memory://root/MEMORY.md for all that is known,
                memory://root/skills/<name>/SKILL.md for a playbook.
        """
        try:
            return escape_document(self._project.read(url).text)
        except HoldfastError as error:
            return str(error)

    # What a person says to it

    def slash(self, rest: str) -> str | None:
        """The reply to `/memory …` where that names something of the project; None where it does
        not.

        One word is the project's if it is one of ours; no word at all is `view` where memories are
        enabled.
        """
        self.waiting = False
        words = rest.lower().split()
        ways: Mapping[str, tuple[str, Callable[[], str]]] = {
            "view": ("view", self._view),
            "clear": ("clear", self._ask_to_clear),
            "reset": ("clear", self._ask_to_clear),
            "enqueue": ("enqueue", self._enqueue),
            "rebuild": ("enqueue", self._enqueue),
            "stats": ("stats", self._stats),
            "diagnose": ("diagnose", self._diagnose),
        }
        word = words[0] if len(words) == 1 else "view" if not words and self.enabled else ""
        if word not in ways:
            return None
        return _tried(*ways[word]) if self._lasts else GUEST

    @property
    def usage(self) -> str:
        """What is said of a word that names nothing, where memories are enabled; elsewhere
        empty.
        """
        return USAGE if self.enabled else ""

    def answer(self, text: str) -> str | None:
        """The reply to an answer to what was asked; None when it is none, and nothing is
        cleared.
        """
        asked = self.waiting
        self.waiting = False
        said = meant(text) if asked else None
        if said == "yes":
            return _tried("clear", self._clear)
        return KEPT if asked and (said is not None or not text.strip()) else None

    def _view(self) -> str:
        told = self._agent.guidance
        shown = f"{TITLE}\n\n{told}" if told else NO_GUIDANCE
        return f"{shown}\n\n{NEWER}" if self.enabled and self._project.guidance() != told else shown

    def _ask_to_clear(self) -> str:
        stands = self._project.standing()
        sessions = counted(stands.sessions, "past session")
        self.waiting = True
        return (
            f"This takes away what {stands.outputs} of {sessions} taught this project: MEMORY.md, "
            "memory_summary.md, skills. The sessions stay, and so does all that the agent "
            "remembers. "
            "Say yes to clear it [y/N]."
        )

    def _clear(self) -> str:
        self._end_building()
        self._project.clear()
        self._tell("")
        return CLEARED

    def _enqueue(self) -> str:
        self._project.enqueue()
        return ENQUEUED

    def _stats(self) -> str:
        told = [("project", str(self._project.scope)), *self._project.standing().told()]
        return "\n".join(f"{name}: {value}" for name, value in told if value)

    def _diagnose(self) -> str:
        told = [f"This session: {self._trouble}"] if self._trouble else []
        return "\n".join(told + self._project.diagnose()) or f"All is well: {self._project.folder}"


def _tried(name: str, work: Callable[[], str]) -> str:
    try:
        return work()
    except (HoldfastError, OSError) as error:
        return f"Memory {name} failed: {error}"
