"""A conversation with an agent: history, saved after every turn, start and end."""

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
    TextPart,
    UserPromptPart,
)

from .. import config
from ..context.blocks import Line, fence_block, render_line
from ..errors import HoldfastError, InvalidInput
from ..ingest.commit import check_session
from ..types import Memories
from . import chat_transcript, message_history
from .about import mentioning
from .agent_runner import RoleAgent, Turn
from .answer_memories import AnswerMemory
from .conversation_project import ProjectMemory
from .memory_commands import Control
from .settings_command import settings
from .watcher import Watcher

log = logging.getLogger(__name__)

# Messages, for an agent without memory.
NO_LIMIT = 1_000_000
# For a resumed conversation: prompts used as the query, its length in characters, and memories.
REMINDED_BY = 5
REMINDER_LENGTH = 500
REMINDERS = 10


class Conversation:
    """Turns with one agent. An interrupted turn leaves no trace in the history."""

    ends = ("end", "quit", "exit")
    """Commands that end the session. The first is in the lists; the others are typed out of
    habit.
    """

    def __init__(self, agent: RoleAgent, *, session: str = "") -> None:
        self.agent = agent
        self.session = session or message_history.new_session_id()
        self.history: list[ModelMessage] = []
        self.saved = True
        """Whether all messages are on disk."""
        self._unsaved: list[ModelMessage] = []
        self._reminders: list[AnswerMemory] = []
        person = f"cli:{config.login()}"
        stored_memory = None if agent.memory is None or agent.memory.incognito else agent.memory
        self.control = Control(
            stored_memory,
            session=self.session,
            actor=person,
            forgot=self._drop_reminder,
        )
        """Handles what the user says about memory, in plain words or with /memory."""
        self.project = ProjectMemory(agent, Path.cwd(), session=self.session)
        """Memory of the project, for this session and the next."""

    @property
    def most(self) -> int:
        """Number of history messages sent to the model."""
        return 2 * self.agent.memory.config.max_resume_messages if self.agent.memory else NO_LIMIT

    def resume(self) -> int:
        """Resume the agent's last conversation; return its number of messages, 0 if there is none.

        The messages are copied into this session, so that two programs can resume the same one.
        """
        self.control.resume()
        bodies = self.agent.memory.latest() if self.agent.memory else None
        if not bodies:
            return 0
        try:
            self.history = ModelMessagesTypeAdapter.validate_json(json.dumps(bodies))
        except ValidationError as error:
            log.warning("the last conversation has an unreadable format: %s", error)
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
        """Run the agent on a prompt and save the turn. A failed save does not fail the turn: see
        `saved`.

        `answered` is called when the answer is complete, before it is saved. Requests about memory
        are answered here: the agent does not see them, and they are not stored.
        """
        reply = self._controlled(prompt)
        rest = self.control.rest
        if reply is not None:
            (watcher or Watcher()).text(f"{reply.text}\n\n" if rest else reply.text)
        if reply is not None and not rest:
            answered()
            return reply
        if self.agent.memory is not None:
            self.agent.memory.answer_memories.begin(self._reminders)
        turn = self.agent.run(
            rest or prompt,
            history=self.history,
            watcher=watcher,
        )
        answered()
        self.history = message_history.trimmed(
            [*self.history, *turn.messages], self.most, opens, answers
        )
        if self.agent.memory is None or not self.agent.memory.paused:
            self._unsaved += turn.messages
            self.project.hear(turn.messages)
        self._save()
        return replace(turn, text=f"{reply.text}\n\n{turn.text}") if reply is not None else turn

    def exchanges(self) -> list[tuple[str, list[str]]]:
        """Messages so far: each prompt with its answers."""
        return list(_exchanges(self.history))

    @property
    def waiting(self) -> bool:
        """Whether a question to the user is open."""
        return self.control.waiting or self.project.waiting

    def slash(self, rest: str) -> str | None:
        """Answer `/memory …`; None if it is no known form and thus a search."""
        reply = self.project.slash(rest)
        return self.control.slash(rest) if reply is None else reply

    def command(self, name: str, rest: str) -> str | None:
        """Answer `/search …`, `/summary`, `/settings …` or `/export …`; None for another
        command.
        """
        match name:
            case "search":
                return chat_transcript.search(
                    self.agent.memory,
                    self._said,
                    rest,
                )
            case "summary":
                return chat_transcript.summary(self.agent.memory, self._said)
            case "settings":
                return settings(self, rest)
            case "export":
                return chat_transcript.export(
                    self.agent.role.name,
                    self.session,
                    self._said,
                    rest,
                )
        return None

    def about(self, words: str) -> Memories:
        """Return memories with all of the words, or about the entity they name."""
        memory = self.agent.memory
        if memory is None or not memory.exists:
            return []
        return mentioning(memory.hf.scoped(memory.scope), words)

    @property
    def _said(self) -> list[message_history.Body]:
        """Messages of this conversation, including unsaved ones, without secrets."""
        memory = self.agent.memory
        saved = []
        if memory and memory.exists:
            saved = [one.body for one in memory.hf.sessions.messages(self.session)]
        return [*saved, *message_history.kept(list(packed(self._unsaved)))]

    def following(self, rest: str) -> Conversation | None:
        """Return the conversation requested by `/end new [ID]`; None for a plain `/end`.

        Raises InvalidInput for other words, and for an invalid or existing session id.
        """
        word, _, session = (part.strip() for part in rest.strip().partition(" "))
        if word not in ("", "new"):
            raise InvalidInput("Use /end, /end new or /end new ID. Nothing was ended.")
        if not word:
            return None
        memory = self.agent.memory
        if session:
            check_session(session)
        if (
            memory is not None
            and memory.exists
            and any(one.id == session for one in memory.hf.sessions.list())
        ):
            raise InvalidInput(f"Session {session!r} already exists. Give another id, or none.")
        # They belong to the conversation that ends, but the agent is used again.
        self.agent.recalled = self.agent.guidance = ""
        self.agent.project_tools = ()
        return Conversation(self.agent, session=session)

    def ask_once(self, prompt: str) -> Turn:
        """Run the agent without a conversation: no message is stored."""
        reply = self._controlled(prompt)
        rest = self.control.rest
        if reply is not None and not rest:
            return reply
        turn = self.agent.run(rest or prompt)
        return replace(turn, text=f"{reply.text}\n\n{turn.text}") if reply is not None else turn

    def _controlled(self, prompt: str) -> Turn | None:
        """Answer a request about memory; None if the prompt is for the agent."""
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
        """End the session; see `RoleMemory.end_session`. Returns lines for the user.

        With `hurry`, do not wait for a model: episodes are consolidated later.
        """
        self.project.end()
        memory = self.agent.memory
        if memory is None:
            return []
        if self.control.gone:
            # The pause was for this conversation; the agent may start another.
            memory.paused = False
            memory.remove_session(self.session)
            return []
        due = memory.config.consolidation.interval == "after_session" and not hurry
        return memory.end_session(self.session, reason=reason, consolidate=due)

    def _drop_reminder(self) -> None:
        """Remove forgotten memories from the system prompt, and extract nothing from this
        conversation.
        """
        self.agent.recalled = ""
        self._reminders = []
        self.project.unhear()

    def _reminder(self, bodies: Sequence[message_history.Body]) -> str:
        """System prompt section with memories about the last prompts."""
        memory = self.agent.memory
        asked = "\n".join(list(message_history.prompts(bodies))[-REMINDED_BY:])[:REMINDER_LENGTH]
        if memory is None or not asked.strip() or memory.recall_is_off:
            return ""
        try:
            found = memory.recall(
                asked,
                top_k=REMINDERS,
                types=["semantic", "episodic"],
            )
        except HoldfastError as error:
            log.warning("recall for the resumed conversation failed: %s", error)
            return ""
        if not found:
            return ""
        reason = "about the resumed conversation"
        self._reminders = [AnswerMemory(one.memory, reason) for one in found]
        lines = [
            render_line(Line(one.memory.content, labels=(one.memory.category,))) for one in found
        ]
        text = "\n".join(("## Recalled Memories (from previous sessions)", *lines))
        return fence_block(text, label="recalled for a resumed conversation")


def packed(messages: Sequence[ModelMessage]) -> Iterator[message_history.Body]:
    """Yield messages as JSON. A generator, so that errors are raised in the caller's handler."""
    yield from ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", exclude_none=True)


def answers(message: ModelMessage) -> bool:
    """Whether a message is the model's."""
    return isinstance(message, ModelResponse)


def opens(message: ModelMessage) -> bool:
    """Whether a message is a user prompt, so that a history may begin with it."""
    return isinstance(message, ModelRequest) and any(
        isinstance(part, UserPromptPart) for part in message.parts
    )


def _exchanges(history: Sequence[ModelMessage]) -> Iterator[tuple[str, list[str]]]:
    prompt = ""
    replies = list[str]()
    for message in history:
        if not isinstance(message, ModelRequest):
            replies += [
                part.content
                for part in message.parts
                if isinstance(part, TextPart) and part.content
            ]
            continue
        said = [_said(part) for part in message.parts if isinstance(part, UserPromptPart)]
        if said:
            if prompt or replies:
                yield prompt, replies
            prompt = "\n".join(said)
            replies = []
    if prompt or replies:
        yield prompt, replies


def _said(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n".join(piece for piece in part.content if isinstance(piece, str))
