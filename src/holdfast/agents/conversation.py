"""A conversation with an agent: its history, saved after every turn, and how it begins and ends."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    UserPromptPart,
)

from .. import config
from ..context.blocks import Line, fence_block, render_line
from ..errors import HoldfastError, InvalidInput
from ..ingest.commit import check_session
from ..types import Memories
from . import chat_transcript, message_history
from .about import mentioning
from .agent_runner import RoleAgent, Turn, Watcher
from .conversation_project import ProjectMemory
from .memory_commands import Control
from .settings_command import settings

log = logging.getLogger(__name__)

# Messages, for an agent without memory.
NO_LIMIT = 1_000_000
# Last prompts that are asked with, characters of them, memories.
REMINDED_BY = 5
REMINDER_LENGTH = 500
REMINDERS = 10


class Conversation:
    """Turns with one agent, in order. An interrupted turn leaves no trace: the one before is the
    last.
    """

    def __init__(self, agent: RoleAgent, *, session: str = "") -> None:
        self.agent = agent
        self.session = session or message_history.new_session_id()
        self.history: list[ModelMessage] = []
        self.saved = True
        """Whether all that was said is on disk."""
        self._unsaved: list[ModelMessage] = []
        person = f"cli:{config.login()}"
        lasting = None if agent.memory is None or agent.memory.incognito else agent.memory
        self.control = Control(
            lasting, session=self.session, actor=person, forgot=self._drop_reminder
        )
        """What the person says to the memory itself, in plain words or with /memory."""
        self.project = ProjectMemory(agent, Path.cwd(), session=self.session)
        """What past sessions of the project taught, here and for the next session."""

    @property
    def most(self) -> int:
        """How many messages of the history go to the model."""
        return 2 * self.agent.memory.config.max_resume_messages if self.agent.memory else NO_LIMIT

    def resume(self) -> int:
        """Goes on with the agent's last conversation and says with how many messages; 0 when there
        is none.

        It becomes the beginning of this session, so that two who resume the same one do not write
        into each other's.
        """
        self.control.resume()
        bodies = self.agent.memory.latest() if self.agent.memory else None
        if not bodies:
            return 0
        try:
            self.history = ModelMessagesTypeAdapter.validate_json(json.dumps(bodies))
        except ValidationError as error:
            log.warning("the last conversation cannot be read by this version: %s", error)
            return 0
        self._unsaved = list(self.history)
        self.agent.recalled = self._reminder(bodies)
        return len(self.history)

    def say(
        self,
        prompt: str,
        *,
        watcher: Watcher | None = None,
        answered: Callable[[], object] = lambda: None,
    ) -> Turn:
        """Asks the agent, keeps what was said, and saves it. A failed save does not fail the turn:
        see `saved`.

        `answered` hears that the answer is complete, before it is saved. What is said to the memory
        itself is answered here: the agent does not hear of it, and no word of it is kept.
        """
        reply = self._controlled(prompt)
        rest = self.control.rest
        if reply is not None:
            (watcher or Watcher()).text(f"{reply.text}\n\n" if rest else reply.text)
        if reply is not None and not rest:
            answered()
            return reply
        turn = self.agent.run(rest or prompt, history=self.history, watcher=watcher)
        answered()
        self.history = message_history.trimmed(
            [*self.history, *turn.messages], self.most, opens, answers
        )
        if self.agent.memory is None or not self.agent.memory.paused:
            self._unsaved += turn.messages
            self.project.hear(turn.messages)
        self._save()
        return replace(turn, text=f"{reply.text}\n\n{turn.text}") if reply is not None else turn

    @property
    def waiting(self) -> bool:
        """Whether something was asked that the next words may answer."""
        return self.control.waiting or self.project.waiting

    def slash(self, rest: str) -> str | None:
        """The reply to `/memory …`; None when it names none of the forms, and is a search."""
        reply = self.project.slash(rest)
        return self.control.slash(rest) if reply is None else reply

    def command(self, name: str, rest: str) -> str | None:
        """The reply to `/search …`, `/summary`, `/settings …` or `/export …`; None for another
        command.
        """
        match name:
            case "search":
                return chat_transcript.search(self.agent.memory, self._said, rest)
            case "summary":
                return chat_transcript.summary(self.agent.memory, self._said)
            case "settings":
                return settings(self, rest)
            case "export":
                return chat_transcript.export(self.agent.role.name, self.session, self._said, rest)
        return None

    def about(self, words: str) -> Memories:
        """What is remembered about somebody or something: what has all of the words, or mentions
        whom they name.
        """
        memory = self.agent.memory
        if memory is None or not memory.exists:
            return []
        return mentioning(memory.hf.scoped(memory.scope), words)

    @property
    def _said(self) -> list[message_history.Body]:
        """The messages of this conversation, those that are not saved too; none has a secret."""
        memory = self.agent.memory
        saved = (
            [one.body for one in memory.hf.messages(self.session)]
            if memory and memory.exists
            else []
        )
        return [*saved, *message_history.kept(list(packed(self._unsaved)))]

    def following(self, rest: str) -> Conversation | None:
        """The conversation that `/end`, `/end new` or `/end new ID` asks for after this one; None
        where it is the last.

        InvalidInput for other words, and for an id that can be none or that another session has.
        """
        word, _, session = (part.strip() for part in rest.strip().partition(" "))
        if word not in ("", "new"):
            raise InvalidInput("It goes on after /end, /end new or /end new ID. Nothing was ended.")
        if not word:
            return None
        memory = self.agent.memory
        if session:
            check_session(session)
        if (
            memory is not None
            and memory.exists
            and any(one.id == session for one in memory.hf.sessions())
        ):
            raise InvalidInput(f"There is a session {session!r} already. Give another id, or none.")
        self.agent.recalled = self.agent.guidance = ""
        self.agent.project_tools = ()
        return Conversation(self.agent, session=session)

    def ask_once(self, prompt: str) -> Turn:
        """Asks the agent without a conversation: no message of it is kept."""
        reply = self._controlled(prompt)
        rest = self.control.rest
        if reply is not None and not rest:
            return reply
        turn = self.agent.run(rest or prompt)
        return replace(turn, text=f"{reply.text}\n\n{turn.text}") if reply is not None else turn

    def _controlled(self, prompt: str) -> Turn | None:
        """The answer to what is said to the memory itself; None when that is for the agent."""
        reply = self.project.answer(prompt)
        if reply is None:
            reply = self.control.hear(prompt)
        if reply is None:
            self.control.turn_begins()
        return None if reply is None else Turn(reply, ())

    def _save(self) -> None:
        if self.agent.memory is None:
            return
        self.saved = self.agent.memory.save(self.session, packed(self._unsaved))
        if self.saved:
            self._unsaved = []

    def end(self, *, reason: str = "ended", hurry: bool = False) -> list[str]:
        """The end of the session; see `RoleMemory.end_session`. Lines for a person come back.

        In a `hurry` no model is waited for: the episodes are consolidated another time.
        """
        self.project.end()
        memory = self.agent.memory
        if memory is None:
            return []
        if self.control.gone:
            memory.paused = False
            memory.remove_session(self.session)
            return []
        due = memory.config.consolidation.interval == "after_session" and not hurry
        return memory.end_session(self.session, reason=reason, consolidate=due)

    def _drop_reminder(self) -> None:
        """What was forgotten must not be told by the system prompt any more, nor be learned from
        this conversation.
        """
        self.agent.recalled = ""
        self.project.unhear()

    def _reminder(self, bodies: Sequence[message_history.Body]) -> str:
        """What memory knows about the last prompts, as a section of the system prompt."""
        memory = self.agent.memory
        asked = "\n".join(list(message_history.prompts(bodies))[-REMINDED_BY:])[:REMINDER_LENGTH]
        if memory is None or not asked.strip() or memory.recall_is_off:
            return ""
        try:
            found = memory.recall(asked, top_k=REMINDERS, types=["semantic", "episodic"])
        except HoldfastError as error:
            log.warning("nothing was recalled for the resumed conversation: %s", error)
            return ""
        if not found:
            return ""
        lines = [
            render_line(Line(one.memory.content, labels=(one.memory.category,))) for one in found
        ]
        text = "\n".join(("## Recalled Memories (from previous sessions)", *lines))
        return fence_block(text, label="recalled for a resumed conversation")


def packed(messages: Sequence[ModelMessage]) -> Iterator[message_history.Body]:
    """Messages as JSON, made when they are asked for, so that what goes wrong is the asker's to
    handle.
    """
    yield from ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", exclude_none=True)


def answers(message: ModelMessage) -> bool:
    """Whether a message is the model's."""
    return isinstance(message, ModelResponse)


def opens(message: ModelMessage) -> bool:
    """Whether a message is a request in which a person says something, so that a history may begin
    with it.
    """
    return isinstance(message, ModelRequest) and any(
        isinstance(part, UserPromptPart) for part in message.parts
    )
