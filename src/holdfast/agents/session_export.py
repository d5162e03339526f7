"""A conversation of our own as a past session of a project: told like those of other agents.

What memory tools were asked and answered is left out: it is known already, and must not be learned
a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ..base_client import BaseClient
from ..ingest.documents import session_documents
from ..storage.protocol import Author
from ..transcripts.assemble import Talk
from ..transcripts.base import Entry, Transcript
from ..types import Scope, new_id
from ..validation import micros

OWN_TOOLS = (
    "remember",
    "recall",
    "list_memories",
    "learn_procedure",
    "record_episode",
    "add_record",
    "read",
    "finish_task",
)


def export_session(hf: BaseClient, scope: Scope, transcript: Transcript) -> None:
    """Stores a conversation as a session of a project, to be read like any other when it has been
    silent for long.
    """
    at = hf.clock()
    name = f"holdfast run: {transcript.agent}"
    told = session_documents.session_document(
        transcript, name, scope, at=at, max_bytes=hf.settings.max_content_bytes
    )
    author = Author(hf.actor, new_id("run", at), at, "index")
    hf.store.write(author, lambda tx: session_documents.put(tx, told, at=at))


def transcript_of(
    messages: Sequence[ModelMessage], *, session: str, agent: str, folder: Path
) -> Transcript:
    """What was said and done in a conversation, in order."""
    transcript = Transcript(session, agent, folder, cwd=str(folder))
    transcript.entries = _entries(messages, Talk(transcript))
    return transcript


def _entries(messages: Sequence[ModelMessage], talk: Talk) -> Iterator[Entry]:
    for number, message in enumerate(messages, start=1):
        for part in message.parts:
            _hear(
                part, talk, None if isinstance(message, ModelRequest) else message.timestamp, number
            )
        yield from talk.ready()
    yield from talk.rest()


def _hear(part: object, talk: Talk, answered: datetime | None, number: int) -> None:
    match part:
        case UserPromptPart(content=content, timestamp=at):
            said = (
                content
                if isinstance(content, str)
                else "\n".join(one for one in content if isinstance(one, str))
            )
            talk.say("user", said, micros(at), number)
        case TextPart(content=text):
            talk.say("assistant", text, micros(answered), number)
        case ToolCallPart(tool_name=name) if name not in OWN_TOOLS:
            talk.call(part.tool_call_id, name, part.args_as_dict(), micros(answered), number)
        case ToolReturnPart(tool_name=name) if name not in OWN_TOOLS:
            talk.outcome(
                part.tool_call_id, part.model_response_str(), micros(part.timestamp), number
            )
        case RetryPromptPart(tool_name=str(name)) if name not in OWN_TOOLS:
            talk.outcome(
                part.tool_call_id,
                part.model_response(),
                micros(part.timestamp),
                number,
                failed=True,
            )
