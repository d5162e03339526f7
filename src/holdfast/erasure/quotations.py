"""Quotations: text of erased memories and names of erased sessions in rows that stay."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..storage.protocol import Transaction
from ..storage.session_table import session_entry
from ..types import Memory, Scope

ERASED = "(erased)"
# Bytes. A shorter text, such as 'tea', occurs in many unrelated rows, so it is replaced only where
# it is the whole value.
SHORTEST = 12


def redact_quotations(
    tx: Transaction,
    scope: Scope,
    memories: Iterable[Memory] = (),
    sessions: Iterable[str] = (),
) -> None:
    """Replace the text of these memories and the names of these sessions throughout a scope."""
    replacements = _memory_replacements(memories)
    for session in sessions:
        replacements[session_entry(session)] = session_entry(ERASED)
    tx.erasure.redact(scope, replacements)


def _memory_replacements(memories: Iterable[Memory]) -> dict[str, str]:
    """Search strings in JSON encoding, with their replacements."""
    replacements: dict[str, str] = {}
    for memory in memories:
        for text in filter(None, (memory.content, memory.quote, memory.title)):
            written = json.dumps(text, ensure_ascii=False)
            if len(text.encode("utf-8", "surrogatepass")) >= SHORTEST:
                replacements[written[1:-1]] = ERASED
            else:
                replacements[written] = f'"{ERASED}"'
    return replacements
