"""Conversion between mem0's items and memories: pure functions without a store.

Fields of an item that a memory lacks are stored under one key of its metadata.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from ...errors import InvalidInput
from ...types import Events, Kind, Memories, Memory, Micros, Scope, from_datetime, iso, to_datetime
from .ids import OWNERS, normalise_owner_id, without_ids

SOURCE = KEY = "mem0"
FEEDBACK = "feedback"
KINDS: tuple[Kind, ...] = ("fact", "rule", "skill", "reflection")
"""Kinds that are items; turns and summaries are not."""
# Prefix of a run id in the scope of items with neither user nor agent.
RUN = "run:"


@dataclass(frozen=True, slots=True)
class Owner:
    """Owner of an item: at least one of the three ids is set."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        if not (self.user_id or self.agent_id or self.run_id):
            raise InvalidInput(
                "At least one of 'user_id', 'agent_id', or 'run_id' must be provided."
            )

    @classmethod
    def of(
        cls,
        user_id: Any,
        agent_id: Any,
        run_id: Any,
    ) -> Owner:
        """Return the owner with these ids; InvalidInput for a blank id or one with spaces."""
        given = zip(OWNERS, (user_id, agent_id, run_id), strict=True)
        return cls(**{name: normalise_owner_id(name, value) for name, value in given})

    @property
    def scope(self) -> Scope:
        """Scope of the owner's items."""
        if self.user_id:
            return Scope("user", self.user_id)
        return (
            Scope("agent", self.agent_id)
            if self.agent_id
            else Scope("shared", f"{RUN}{self.run_id}")
        )

    @property
    def filters(self) -> dict[str, str]:
        """Filters that find the owner's items."""
        ids = {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id}
        return {name: value for name, value in ids.items() if value}


def ids_of(memory: Memory) -> dict[str, str]:
    """Return the owner of a memory as mem0 ids."""
    kept = _kept(memory)
    scope = memory.scope
    ids = {
        name: kept[name] for name in ("agent_id", "run_id", "actor_id", "role") if kept.get(name)
    }
    if scope.kind == "user":
        return {"user_id": scope.key, **ids}
    if scope.kind == "agent":
        return {"agent_id": scope.key, **ids}
    return {"run_id": scope.key.removeprefix(RUN), **ids}


def is_seen(scope: Scope) -> bool:
    """Whether the memories of a scope are items: scopes of users, agents and runs."""
    return scope.kind in ("user", "agent") or (scope.kind == "shared" and scope.key.startswith(RUN))


def item_of(memory: Memory) -> dict[str, Any]:
    """Convert a memory to a mem0 item."""
    kept = _kept(memory)
    if "metadata" in kept:
        own = kept["metadata"]
    else:
        # A memory from elsewhere: the policy's decision is our own business.
        own = {key: one for key, one in memory.metadata.items() if key not in ("policy", KEY)}
    item = {
        "id": memory.id,
        "memory": memory.content,
        # mem0 publishes the MD5 of the text; it is a checksum, not a protection.
        "hash": hashlib.md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": own or None,
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
        **ids_of(memory),
    }
    if memory.valid_until is not None:
        item["expiration_date"] = _last_day(memory.valid_until)
    return {**item, **kept.get(FEEDBACK, {})}


def note_of(
    owner: Owner,
    metadata: Mapping[str, Any] | None,
    **said: str | None,
) -> dict[str, Any]:
    """Return the metadata that makes a memory an item of its owner; `said` may contain its role and
    actor_id.
    """
    fields = {**owner.filters, **said}
    own = without_ids(metadata or {})
    # The user is the scope of the memory.
    ids = {name: value for name, value in fields.items() if value and name != "user_id"}
    return {KEY: {**ids, "metadata": own}}


def with_metadata(memory: Memory, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a memory after an update of its item; the owner does not change."""
    kept = _kept(memory)
    own = {**(kept.get("metadata") or {}), **without_ids(metadata)}
    return {**memory.metadata, KEY: {**kept, "metadata": own}}


def with_feedback(memory: Memory, feedback: str | None, reason: str | None) -> dict[str, Any]:
    """Return the metadata of a memory after feedback on its item; None withdraws an earlier one."""
    kept = {name: value for name, value in _kept(memory).items() if name != FEEDBACK}
    if feedback is not None:
        kept[FEEDBACK] = {"feedback": feedback, "feedback_reason": reason}
    return {**memory.metadata, KEY: kept}


def entities_of(memories: Memories) -> list[dict[str, Any]]:
    """Return the users, agents and runs of some memories, each with its number and times."""
    found: dict[tuple[str, str], Memories] = {}
    for memory in memories:
        ids = ids_of(memory)
        for name in OWNERS:
            if name in ids:
                found.setdefault((name, ids[name]), []).append(memory)
    # Users come first, then agents, then runs.
    ordered = sorted(found, key=lambda one: (OWNERS.index(one[0]), one[1]))
    return [
        {
            "type": name.removesuffix("_id"),
            "id": id_,
            "total_memories": len(found[name, id_]),
            "created_at": iso(min(one.created_at for one in found[name, id_])),
            "updated_at": iso(max(one.updated_at for one in found[name, id_])),
        }
        for name, id_ in ordered
    ]


def _kept(memory: Memory) -> Mapping[str, Any]:
    found = memory.metadata.get(KEY)
    return found if isinstance(found, Mapping) else {}


def until(day: Any) -> Micros | None:
    """Return the end of an expiration date, the last day of an item."""
    if day is None:
        return None
    try:
        # A datetime is a date as well, so it is checked first.
        if isinstance(day, datetime):
            last = day.date()
        elif isinstance(day, date):
            last = day
        else:
            last = date.fromisoformat(day)
        return from_datetime(datetime.combine(last + timedelta(days=1), datetime.min.time()))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput("expiration_date must be a valid date in YYYY-MM-DD format.") from error


def _last_day(valid_until: Micros) -> str:
    # The end is exclusive: the last valid microsecond names the day.
    return to_datetime(valid_until - 1).date().isoformat()


def history_of(memory: Memory, events: Events) -> list[dict[str, Any]]:
    """Return the journal of a memory as mem0 events, oldest first: ADD, UPDATE, DELETE."""
    entries: list[dict[str, Any]] = []
    text: str | None = memory.content
    # Backwards from the current text: the journal has the text before a change.
    for event in reversed(events):
        before = event.before or {}
        after = event.after or {}
        if event.before is None:
            gone = _rewritten(events, event.run)
            verb = "UPDATE" if gone else "ADD"
            entries.append(_entry(memory, event.seq, event.at, verb, gone, text))
            text = gone
        elif before.get("status") == "active" and after.get("status") not in (None, "active"):
            entries.append(_entry(memory, event.seq, event.at, "DELETE", text, None))
        elif after.get("status") == "active":
            entries.append(_entry(memory, event.seq, event.at, "ADD", None, text))
        elif event.verb == "update" and event.after is not None:
            entries.append(_entry(memory, event.seq, event.at, "UPDATE", text, text))
    return entries[::-1]


def _rewritten(events: Events, run: str) -> str | None:
    """Return the text of a memory before a run replaced it."""
    before = (one.before or {} for one in events if one.run == run)
    return next((str(row["content"]) for row in before if "content" in row), None)


def _entry(
    memory: Memory,
    number: int,
    at: Micros,
    event: str,
    old: str | None,
    new: str | None,
) -> dict[str, Any]:
    ids = ids_of(memory)
    return {
        "id": str(number),
        "memory_id": memory.id,
        "old_memory": old,
        "new_memory": new,
        "event": event,
        "created_at": iso(memory.created_at),
        "updated_at": iso(at),
        "is_deleted": event == "DELETE",
        "actor_id": ids.get("actor_id"),
        "role": ids.get("role"),
    }


def messages_in(messages: Any) -> Sequence[Mapping[str, Any]]:
    """Parse messages as mem0 accepts them: a text, one message, or several."""
    match messages:
        case str():
            return [{"role": "user", "content": messages}]
        case Mapping():
            return [messages]
        case list() if all(isinstance(one, Mapping) for one in messages):
            return messages
    raise InvalidInput("messages must be str, dict, or list[dict]. Nothing was stored.")
