"""Claude.ai: the export that a user requests. Messages are in order; if they name parents, one
branch counts.
"""

from __future__ import annotations

from pathlib import Path

from .assemble import Talk
from .base import Transcript
from .branches import path_to
from .exports import Export, Object
from .json_fields import as_text, dicts, micros
from .tool_calls import output_of


class ClaudeAi(Export):
    """Conversations of Claude.ai."""

    name = "claude.ai"
    mark = b'"chat_messages"'

    def conversation(self, path: Path, record: Object) -> Transcript:
        """Return the conversation."""
        return Transcript(
            as_text(record.get("uuid")),
            self.name,
            path,
            title=as_text(record.get("name")).strip(),
            started_at=micros(record.get("created_at")),
            updated_at=micros(record.get("updated_at")),
            # Nothing there copies a chat. ChatGPT does, when a person branches off a new one.
            copies=False,
        )

    def tell(self, record: Object, talk: Talk) -> None:
        """Add the messages on the branch of the last one, without attached files."""
        messages = list(dicts(record.get("chat_messages")))
        kept = _branch(messages, as_text(record.get("current_leaf_message_uuid")))
        for number, message in enumerate(messages, 1):
            if not kept or as_text(message.get("uuid")) in kept:
                _tell(message, number, talk)


def _branch(messages: list[Object], leaf: str) -> set[str]:
    """Return the messages on the branch of the last one, if all but the first name a parent in the
    list; otherwise None.
    """
    parents = {
        as_text(message.get("uuid")): as_text(message.get("parent_message_uuid"))
        for message in messages
    }
    if any(parent not in parents for parent in list(parents.values())[1:]):
        return set()
    last = leaf if leaf in parents else as_text(messages[-1].get("uuid")) if messages else ""
    return set(path_to(last, parents))


def _tell(
    message: Object,
    number: int,
    talk: Talk,
) -> None:
    at = micros(message.get("created_at"))
    if message.get("sender") == "human":
        said = output_of(message.get("content")) or as_text(message.get("text"))
        talk.say("user", said, at, number)
        return
    parts = list(dicts(message.get("content")))
    if not parts:
        talk.say("assistant", as_text(message.get("text")), at, number)
    for part in parts:
        key = as_text(part.get("tool_use_id") or part.get("id"))
        match part.get("type"):
            case "text":
                talk.say("assistant", as_text(part.get("text")), at, number)
            case "tool_use":
                talk.call(key, as_text(part.get("name")), part.get("input"), at, number)
            case "tool_result":
                failed = part.get("is_error") is True
                talk.outcome(key, output_of(part.get("content")), at, number, failed=failed)
