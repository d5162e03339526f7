"""ChatGPT: the export that a user requests. Messages form a tree, `mapping`; `current_node` is its
current end.
"""

from __future__ import annotations

from pathlib import Path

from ..types import Micros
from .assemble import Talk
from .base import Transcript
from .branches import path_to
from .exports import Export, Object
from .json_fields import as_dict, as_text, micros, said_in

# Thoughts, recaps of them, and what the person told the service about themselves in its settings.
_UNSAID = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")


class ChatGPT(Export):
    """Conversations of ChatGPT."""

    name = "chatgpt"
    mark = b'"mapping"'

    def conversation(self, path: Path, record: Object) -> Transcript:
        """Return the conversation; a temporary chat is private."""
        branched_from = _origins(record)
        return Transcript(
            as_text(record.get("conversation_id")) or as_text(record.get("id")),
            self.name,
            path,
            title=as_text(record.get("title")).strip(),
            started_at=micros(record.get("create_time")),
            updated_at=micros(record.get("update_time")),
            private=record.get("is_do_not_remember") is True
            or record.get("is_temporary_chat") is True,
            # Two chats may say the same at the same time, where times are whole seconds. Only a
            # chat that was branched off another holds copies.
            copies=bool(branched_from),
            branched_from=branched_from,
        )

    def tell(self, record: Object, talk: Talk) -> None:
        """Add the branch that the user saw last."""
        nodes = as_dict(record.get("mapping"))
        parents = {key: as_text(as_dict(node).get("parent")) for key, node in nodes.items()}
        leaf = as_text(record.get("current_node"))
        path = path_to(leaf if leaf in nodes else _latest(nodes), parents)
        for number, key in enumerate(reversed(path), 1):
            _tell(as_dict(as_dict(nodes.get(key)).get("message")), number, talk)


def _origins(record: Object) -> tuple[str, ...]:
    """Return the chats that this one was branched off; its messages say so."""
    origins = []
    for node in as_dict(record.get("mapping")).values():
        message = as_dict(as_dict(node).get("message"))
        metadata = as_dict(message.get("metadata"))
        origin = as_text(metadata.get("branching_from_conversation_id"))
        if origin and origin not in origins:
            origins.append(origin)
    return tuple(origins)


def _latest(nodes: Object) -> str:
    """Return the message that was written last."""
    times = {
        key: micros(as_dict(as_dict(node).get("message")).get("create_time")) or 0
        for key, node in nodes.items()
    }
    return max(times, key=lambda key: times[key], default="")


def _tell(
    message: Object,
    number: int,
    talk: Talk,
) -> None:
    content = as_dict(message.get("content"))
    at = micros(message.get("create_time"))
    hidden = as_dict(message.get("metadata")).get("is_visually_hidden_from_conversation")
    if hidden or content.get("content_type") in _UNSAID:
        return
    text = (
        said_in(content.get("parts"))
        or as_text(content.get("text"))
        or as_text(content.get("result"))
    )
    author = as_dict(message.get("author"))
    match author.get("role"):
        case "user":
            talk.say("user", text, at, number)
        case "assistant":
            _tell_assistant(message, text, at, number, talk)
        case "tool":
            talk.outcome(as_text(author.get("name")), text, at, number)


def _tell_assistant(
    message: Object,
    text: str,
    at: Micros | None,
    number: int,
    talk: Talk,
) -> None:
    """Add an answer; a message that is not for all is for a tool."""
    recipient = as_text(message.get("recipient")) or "all"
    if recipient == "all":
        talk.say("assistant", text, at, number)
    elif text:
        talk.call(recipient, recipient, text, at, number)
