"""Memory of the project in which a conversation takes place: injected, built in the background,
managed with /memory.

It is read once at the start of the conversation, so that the system prompt stays the same. What is
built meanwhile is for the next session. Errors here never interrupt the conversation.
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
from ..base_client import write
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
# Seconds for a build to release its job; between two steps it needs none.
PATIENCE = 3.0


class ProjectMemory:
    """Project memory of one conversation. Everything is opened lazily."""

    def __init__(
        self,
        agent: RoleAgent,
        folder: Path,
        *,
        session: str,
    ) -> None:
        self._agent = agent
        self._folder = folder
        self._session = session
        self._builder: threading.Thread | None = None
        self._stop = threading.Event()
        self.waiting = False
        """Whether the user was asked to confirm clearing."""
        self._trouble = ""
        self._heard: list[ModelMessage] = []

    @cached_property
    def enabled(self) -> bool:
        """Whether this project wants its memory built and injected automatically."""
        try:
            if not self._lasts:
                return False
            around = project_around(self._folder)
            # Without a store nothing is switched off, and looking must not create one.
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
        """Whether the memory of this project is enabled."""
        return not self._has_store or self._project.is_on

    def switch(self, on: bool) -> str:
        """Enable or disable the memory of this project, for this and later conversations."""
        if not self._lasts:
            return GUEST
        return _tried("switch", lambda: self._switched(on=on))

    def _switched(self, *, on: bool) -> str:
        scope = self._project.scope
        write(
            self._project.memory,
            "profile",
            lambda tx: owner_profile.change(tx, scope, {"enabled": on}),
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
        return project_at(
            hf,
            self._folder,
            session_model=None if scripted else memory.complete,
        )

    def _failed(self, error: Exception) -> None:
        self._trouble = str(error) or type(error).__name__
        log.warning("the memory of this project is left out: %s", self._trouble)

    # During the conversation

    def begin(self, *, build: bool = True) -> None:
        """Inject the project's memory and read new sessions in the background.

        Does nothing if disabled or impossible; `/memory diagnose` says why.
        """
        try:
            if not self.enabled or not self._project.is_on:
                return
            self._tell(self._project.guidance())
        except (HoldfastError, OSError) as error:
            self._failed(error)
            return
        if build:
            # A daemon thread: a slow model must not keep the process alive.
            self._builder = threading.Thread(
                target=self._build, name="holdfast-project", daemon=True
            )
            self._builder.start()

    def _tell(self, guidance: str) -> None:
        self._agent.guidance = guidance
        # The block names files: without any there is nothing to read.
        self._agent.project_tools = [Tool(self.read, takes_ctx=False)] if guidance else []

    def _build(self) -> None:
        try:
            self._project.without(self._session).build(stop=self._stop)
        except Exception as error:
            # Nobody waits for it, and a warning would appear in the user's input line.
            self._trouble = f"{type(error).__name__}: {error}"
            log.info("building the memory of %s", self._folder, exc_info=True)

    def hear(self, messages: Sequence[ModelMessage]) -> None:
        """Record a turn: after its end the conversation is a past session of the project."""
        if self.enabled:
            self._heard += messages

    def unhear(self) -> None:
        """Exclude the conversation so far: the user asked not to remember something."""
        self._heard.clear()

    def _keep_heard(self) -> None:
        messages = self._heard
        self._heard = []
        try:
            if messages and self._project.is_on:
                name = self._agent.role.name
                transcript = transcript_of(
                    messages,
                    session=self._session,
                    agent=name,
                    folder=self._folder,
                )
                export_session(
                    self._project.memory,
                    self._project.scope,
                    transcript,
                )
        except Exception as error:  # errors must not fail a conversation that has ended
            self._failed(error)

    def end(self) -> None:
        """Release a build in progress to the next session, and close everything."""
        self._end_building()
        self._keep_heard()
        # A build that did not stop in time still uses the store.
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

    # Commands

    def slash(self, rest: str) -> str | None:
        """Answer `/memory …` if it concerns the project, else None.

        A single word is the project's if it is known here; without a word it is `view` where
        memories are enabled.
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
        word = ""
        if len(words) == 1:
            word = words[0]
        elif not words and self.enabled:
            word = "view"
        if word not in ways:
            return None
        return _tried(*ways[word]) if self._lasts else GUEST

    @property
    def usage(self) -> str:
        """Usage for an unknown word where memories are enabled; empty elsewhere."""
        return USAGE if self.enabled else ""

    def answer(self, text: str) -> str | None:
        """Handle the answer to a confirmation; None if it is not one, and nothing is cleared."""
        asked = self.waiting
        self.waiting = False
        said = meant(text) if asked else None
        if said == "yes":
            return _tried("clear", self._clear)
        return KEPT if asked and (said is not None or not text.strip()) else None

    def _view(self) -> str:
        current = self._agent.guidance
        shown = f"{TITLE}\n\n{current}" if current else NO_GUIDANCE
        return (
            f"{shown}\n\n{NEWER}" if self.enabled and self._project.guidance() != current else shown
        )

    def _ask_to_clear(self) -> str:
        stands = self._project.standing()
        sessions = counted(stands.sessions, "past session")
        self.waiting = True
        return (
            f"This takes away what {stands.outputs} of {sessions} taught this project: "
            "MEMORY.md, memory_summary.md, skills. The sessions stay, and so does all that the "
            "agent remembers. Say yes to clear it [y/N]."
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
        fields = [("project", str(self._project.scope)), *self._project.standing().told()]
        return "\n".join(f"{name}: {value}" for name, value in fields if value)

    def _diagnose(self) -> str:
        lines = [f"This session: {self._trouble}"] if self._trouble else []
        return "\n".join(lines + self._project.diagnose()) or f"All is well: {self._project.folder}"


def _tried(name: str, work: Callable[[], str]) -> str:
    try:
        return work()
    except (HoldfastError, OSError) as error:
        return f"Memory {name} failed: {error}"
