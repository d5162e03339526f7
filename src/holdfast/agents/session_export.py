"""Export of a conversation as a past session of a project, like those of other agents.

Calls of memory tools are left out: their content is stored already and must not be extracted again.
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
from ..storage.store_types import Author
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


def export_session(
    hf: BaseClient,
    scope: Scope,
    transcript: Transcript,
) -> None:
    """Store a conversation as a session of a project, to be read after it has been idle long
    enough.
    """
    at = hf.clock()
    name = f"holdfast run: {transcript.agent}"
    document = session_documents.session_document(
        transcript,
        name,
        scope,
        at=at,
        max_bytes=hf.settings.max_content_bytes,
    )
    author = Author(hf.actor, new_id("run", at), at, "index")
    hf.store.write(author, lambda tx: session_documents.put(tx, document, at=at))


def transcript_of(
    messages: Sequence[ModelMessage],
    *,
    session: str,
    agent: str,
    folder: Path,
) -> Transcript:
    """Texts and tool calls of a conversation, in order."""
    transcript = Transcript(session, agent, folder, cwd=str(folder))
    transcript.entries = _entries(messages, Talk(transcript))
    return transcript


def _entries(messages: Sequence[ModelMessage], talk: Talk) -> Iterator[Entry]:
    for number, message in enumerate(messages, start=1):
        # Only answers have a time of their own; requests have one per part.
        answered = None if isinstance(message, ModelRequest) else message.timestamp
        for part in message.parts:
            _hear(part, talk, answered, number)
        yield from talk.ready()
    yield from talk.rest()


def _hear(
    part: object,
    talk: Talk,
    answered: datetime | None,
    number: int,
) -> None:
    match part:
        case UserPromptPart(content=content, timestamp=at):
            # A prompt with pictures or files is a list; only its texts are exported.
            parts = [content] if isinstance(content, str) else content
            said = "\n".join(one for one in parts if isinstance(one, str))
            talk.say("user", said, micros(at), number)
        case TextPart(content=text):
            talk.say("assistant", text, micros(answered), number)
        case ToolCallPart(tool_name=name) if name not in OWN_TOOLS:
            talk.call(
                part.tool_call_id,
                name,
                part.args_as_dict(),
                micros(answered),
                number,
            )
        case ToolReturnPart(tool_name=name) if name not in OWN_TOOLS:
            talk.outcome(
                part.tool_call_id,
                part.model_response_str(),
                micros(part.timestamp),
                number,
            )
        case RetryPromptPart(tool_name=str(name)) if name not in OWN_TOOLS:
            talk.outcome(
                part.tool_call_id,
                part.model_response(),
                micros(part.timestamp),
                number,
                failed=True,
            )
