"""Tables: how the nouns of `types` lie in SQL, the same on every backend."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..types import KINDS, STATUSES, Scope

Row = tuple[Any, ...]
Rows = list[Row]
ScopeOf = Callable[[int], Scope]


class Statements(Protocol):
    """How SQL runs inside one transaction."""

    def __call__(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Runs one statement and returns its rows."""

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Runs one statement for each row of values."""


class Table(NamedTuple):
    """A table whose rows are exported under the name `noun`, and journalled under it unless it only
    grows.
    """

    noun: str
    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    json: frozenset[str] = frozenset()
    # Observations, not changes: kept in the row, but never journalled.
    observed: frozenset[str] = frozenset()
    order: str = "rowid"
    journalled: bool = True
    # Condition for rows that belong to this store alone: neither journalled nor exported.
    local: str = ""


MEMORY_COLUMNS = (
    "id",
    "kind",
    "category",
    "status",
    "status_at",
    "status_reason",
    "title",
    "content",
    "author",
    "role",
    "session",
    "position",
    "event_time",
    "valid_from",
    "valid_until",
    "created_at",
    "updated_at",
    "confidence",
    "strength",
    "decay_rate",
    "decayed_at",
    "protected",
    "source",
    "trust",
    "quote",
    "triple",
    "consolidated_at",
    "outcome",
    "tags",
    "metadata",
    "access_count",
    "last_accessed",
)

MEMORIES = Table(
    "memory",
    "memories",
    ("id",),
    MEMORY_COLUMNS,
    json=frozenset(("triple", "tags", "metadata")),
    observed=frozenset(("access_count", "last_accessed")),
    order="seq",
)
SELECT_MEMORY = f"m.seq, m.scope, m.{', m.'.join(MEMORY_COLUMNS)}"
SESSIONS = Table(
    "session",
    "sessions",
    ("id",),
    (
        "id",
        "agent",
        "started_at",
        "last_activity",
        "ended_at",
        "end_reason",
        "metadata",
    ),
    json=frozenset(("metadata",)),
    observed=frozenset(("last_activity",)),
    order="started_at, id",
)
MESSAGES = Table(
    "message",
    "messages",
    ("session", "position"),
    ("session", "position", "body", "created_at"),
    json=frozenset(("body",)),
    order="session, position",
    journalled=False,
)
# The files of a project's memory are built on each machine, so each reads the sessions itself.
LOCAL_SINKS = ("projects",)
PROGRESS = Table(
    "progress",
    "progress",
    ("session", "sink"),
    ("session", "sink", "position", "at", "detail"),
    json=frozenset(("detail",)),
    order="session, sink",
    local="sink = 'projects'",
)
EDGES = Table(
    "edge",
    "edges",
    ("source", "target", "relation"),
    ("source", "target", "relation", "created_at", "reason"),
    order="created_at, source, target, relation",
)
ENTITIES = Table(
    "entity",
    "entities",
    ("id",),
    ("id", "name", "type", "summary", "created_at"),
    order="created_at, id",
)
ENTITY_NAMES = Table(
    "entity_name",
    "entity_names",
    ("folded", "entity"),
    ("folded", "entity", "name"),
    order="folded, entity",
)
MENTIONS = Table(
    "mention", "mentions", ("entity", "memory"), ("entity", "memory"), order="memory, entity"
)
PROFILES = Table(
    "profile", "profiles", (), ("settings",), json=frozenset(("settings",)), order="scope"
)
EVENTS = Table(
    "event",
    "events",
    (),
    ("run", "at", "actor", "verb", "noun", "target", "before", "after"),
    json=frozenset(("before", "after")),
    order="seq",
)

JOB_COLUMNS = (
    "kind",
    "key",
    "status",
    "token",
    "worker",
    "lease_until",
    "retry_at",
    "retries_left",
    "error",
    "watermark",
    "done_watermark",
)

# In the order in which an import must see them: whatever a row points to comes first.
TABLES: Mapping[str, Table] = {
    SESSIONS.noun: SESSIONS,
    MESSAGES.noun: MESSAGES,
    PROGRESS.noun: PROGRESS,
    MEMORIES.noun: MEMORIES,
    EDGES.noun: EDGES,
    ENTITIES.noun: ENTITIES,
    ENTITY_NAMES.noun: ENTITY_NAMES,
    MENTIONS.noun: MENTIONS,
    PROFILES.noun: PROFILES,
    EVENTS.noun: EVENTS,
}

# Columns that hold the id of a row elsewhere: it must be there.
POINTS_TO: Mapping[str, tuple[tuple[str, Table], ...]] = {
    "edge": (("source", MEMORIES), ("target", MEMORIES)),
    "mention": (("memory", MEMORIES), ("entity", ENTITIES)),
    "entity_name": (("entity", ENTITIES),),
    "message": (("session", SESSIONS),),
    "progress": (("session", SESSIONS),),
}
# Columns that hold one of a few words. Another word is damage: the tables take none when a row is
# written.
WORDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("memory", "kind"): frozenset(KINDS),
    ("memory", "status"): frozenset(STATUSES),
    ("edge", "relation"): frozenset(("derived_from", "supersedes", "conflicts_with")),
    ("event", "noun"): frozenset(TABLES),
}
# JSON columns that hold a list; all others hold an object.
LISTS = frozenset(("tags", "triple"))


def key_of(noun: str, target: str) -> tuple[Any, ...]:
    """The key of the row that the journal calls `target`: a memory goes by its id, anything else by
    its key as JSON.
    """
    return (target,) if noun == MEMORIES.noun else tuple(json.loads(target))


def promised(noun: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """An exported row without what is only observed: how often and when a memory was used, when a
    session was active.

    What is left is what undo brings back exactly, what a sync makes equal, and what a copy or an
    import compares.
    """
    observed = TABLES[noun].observed
    return {name: value for name, value in row.items() if name not in observed}
