"""Letta: the memory blocks of an agent file (`.af`), and the passages of an archival memory as its API lists them.

An agent's messages are no memories of it and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...transcripts.values import as_dict, as_list, as_text, micros
from ...write.commit import Draft
from .base import Format, Found, object_in, text_in
from .json_values import Problem, Value
from .reading import each

BLOCKS = ("blocks", "core_memory", "memory_blocks")
PASSAGES = ("passages", "archival_memory", "archival_passages")


def read(text: str) -> Iterator[Found | Problem]:
    """The blocks and passages in a file."""
    return each(text, _record, lists=(*BLOCKS, *PASSAGES))


def _record(one: Value) -> Iterable[Found]:
    record = object_in(one.value)
    is_block = one.list_name in BLOCKS or "label" in record
    if is_block and not as_text(record.get("value")).strip():
        return []  # a block that nothing was written into yet
    draft = _block(record) if is_block else _passage(record)
    id_ = as_text(record.get("id"))
    key = (id_, draft.title, draft.content)
    created, updated = micros(record.get("created_at")), micros(record.get("updated_at"))
    return [Found(one.line, draft, key, created_at=created, updated_at=updated)]


def _block(block: dict[str, Any]) -> Draft:
    label, about = as_text(block.get("label")), as_text(block.get("description"))
    kept = {"letta": {"label": label, "description": about, **as_dict(block.get("metadata"))}}
    return Draft(content=text_in(block, "value"), title=label, category="core memory", source="letta", metadata=kept)


def _passage(passage: dict[str, Any]) -> Draft:
    tags = tuple(filter(None, map(as_text, as_list(passage.get("tags")))))
    about = {"letta": as_dict(passage.get("metadata") or passage.get("metadata_"))}
    return Draft(
        content=text_in(passage, "text", "content"), category="archival memory", source="letta", tags=tags,
        metadata=about if about["letta"] else {},
    )  # fmt: skip


LETTA = Format("letta", "an agent file of Letta, or its archival passages", read)
