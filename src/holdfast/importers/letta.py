"""Letta: memory blocks and messages of an agent file (`.af`), and archival passages as its API
lists them.

Of the messages, what people and the agent said to each other is taken in, as turns; what system and
tools said is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..ingest.commit import Draft
from ..transcripts.json_fields import as_dict, as_list, as_text, micros, parsed
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in, text_in

BLOCKS = ("blocks", "core_memory", "memory_blocks")
# Older files have the messages of their one agent at the top.
MESSAGES = "messages"
AGENTS = "agents"
PASSAGES = ("passages", "archival_memory", "archival_passages")


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The blocks, messages and passages in a file."""
    return each(text, _record, lists=(*BLOCKS, *PASSAGES, MESSAGES, AGENTS))


def _record(one: Value) -> Iterable[ImportedItem]:
    record = object_in(one.value)
    if one.list_name == AGENTS:
        said = map(as_dict, as_list(record.get(MESSAGES)))
        return [found for message in said for found in _message(one.line, message)]
    if one.list_name == MESSAGES or "role" in record:
        return _message(one.line, record)
    is_block = one.list_name in BLOCKS or "label" in record
    if is_block and not as_text(record.get("value")).strip():
        # A block that nothing was written into yet.
        return []
    draft = _block(record) if is_block else _passage(record)
    id_ = as_text(record.get("id"))
    key = (id_, draft.title, draft.content)
    created = micros(record.get("created_at"))
    updated = micros(record.get("updated_at"))
    return [ImportedItem(one.line, draft, key, created_at=created, updated_at=updated)]


def _message(line: int, message: dict[str, Any]) -> Iterable[ImportedItem]:
    role = as_text(message.get("role"))
    said = _said(message.get("content"))
    if role not in ("user", "assistant") or not said:
        return []
    at = micros(message.get("created_at"))
    draft = Draft(
        content=said,
        kind="turn",
        category="conversation",
        role=role,
        source="letta",
        event_time=at,
        trust="user" if role == "user" else "agent",
    )
    return [
        ImportedItem(
            line, draft, (as_text(message.get("id")) or str(at), role, said), created_at=at
        )
    ]


def _said(content: Any) -> str:
    """The words of a message. Letta wraps what a person says in JSON, and what only happened, a
    login say, too.
    """
    parts = as_list(content) if isinstance(content, list) else [{"text": as_text(content)}]
    text = "\n".join(filter(None, (as_text(as_dict(part).get("text")) for part in parts))).strip()
    wrapped = as_dict(parsed(text)) if text.startswith("{") else {}
    if "type" not in wrapped:
        return text
    return as_text(wrapped.get("message")).strip() if wrapped["type"] == "user_message" else ""


def _block(block: dict[str, Any]) -> Draft:
    label = as_text(block.get("label"))
    about = as_text(block.get("description"))
    kept = {"letta": {"label": label, "description": about, **as_dict(block.get("metadata"))}}
    return Draft(
        content=text_in(block, "value"),
        title=label,
        category="core memory",
        source="letta",
        metadata=kept,
    )


def _passage(passage: dict[str, Any]) -> Draft:
    tags = tuple(filter(None, map(as_text, as_list(passage.get("tags")))))
    about = {"letta": as_dict(passage.get("metadata") or passage.get("metadata_"))}
    return Draft(
        content=text_in(passage, "text", "content"),
        category="archival memory",
        source="letta",
        tags=tags,
        metadata=about if about["letta"] else {},
    )


LETTA = MemoryFile(
    "letta",
    "an agent file of Letta, or its archival passages",
    parse,
    marks=(
        ("agents", "blocks"),
        ("core_memory",),
        ("memory_blocks",),
        ("archival_memory",),
        ("archival_passages",),
    ),
)
