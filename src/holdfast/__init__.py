"""Long-term memory for AI agents: one SQLite file, no server, no API key.

Belongs here: the nouns, the errors, the settings, and what every layer stands on. Does not:
anything that only one layer needs.

    from holdfast import Holdfast

    with Holdfast.open("memory.db", scope="user:me") as hf:
        hf.remember("Prefers dark mode in every editor", category="preferences")
        for hit in hf.recall("which theme does she like?"):
            print(hit.score, hit.memory.content, hit.why)

Importing this package loads nothing heavy; each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from .async_client import AsyncHoldfast
    from .client import Holdfast
    from .config import Settings
    from .context.session_context import Context
    from .erasure.receipt import Receipt
    from .errors import Conflict, HoldfastError, InvalidInput, NotFound, Refused, StoreError
    from .retrieval.explain import Why
    from .types import Edge, Event, Hit, Memory, Scope, Session

_HOMES = {
    "Holdfast": "client",
    "AsyncHoldfast": "async_client",
    "Settings": "config",
    "Context": "context.session_context",
    "Why": "retrieval.explain",
    "Receipt": "erasure.receipt",
    **dict.fromkeys(("Edge", "Event", "Hit", "Memory", "Scope", "Session"), "types"),
    **dict.fromkeys(
        ("Conflict", "HoldfastError", "InvalidInput", "NotFound", "Refused", "StoreError"), "errors"
    ),
}

__all__ = [
    "AsyncHoldfast",
    "Conflict",
    "Context",
    "Edge",
    "Event",
    "Hit",
    "Holdfast",
    "HoldfastError",
    "InvalidInput",
    "Memory",
    "NotFound",
    "Receipt",
    "Refused",
    "Scope",
    "Session",
    "Settings",
    "StoreError",
    "Why",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
