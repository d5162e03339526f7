"""Agno: the user memories of its memory manager, in Holdfast.

    agent = Agent(
        memory_manager=MemoryManager(db=HoldfastDb(hf)), update_memory_on_run=True, db=SqliteDb(…)
    )

Agno decides what to remember; each user's memories are in the scope of that user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any
from uuid import uuid4

from ..client import Holdfast, check_open
from ..errors import MissingExtra
from ..ingest import commit
from ..ingest.commit import Draft
from ..storage import Filter, Transaction
from ..types import Memories, Memory, Scope
from .framework_memory import id_of, log_errors, put

try:
    from agno.db.in_memory import InMemoryDb
    from agno.db.in_memory.utils import apply_sorting
    from agno.db.schemas import UserMemory
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise MissingExtra("Memory for Agno needs Agno. Try: pip install agno") from error

SOURCE = "agno"
"""Source and category of the memories that are Agno's."""
Document = dict[str, Any]


class HoldfastDb(InMemoryDb):
    """Agno database whose user memories are in Holdfast.

    Sessions, metrics and whatever else Agno stores stay in this process, as in `InMemoryDb`: give
    the agent a database of its own for them. Listing never fails a run: an agent whose memory
    cannot be read goes on without it.
    """

    def __init__(self, hf: Holdfast) -> None:
        """Memories without a user are in the scope of `hf`."""
        super().__init__()
        self._hf = check_open(hf).scoped(hf.scopes[0])
        self._hf.actor = f"agent:{SOURCE}"

    def clear_memories(self) -> None:
        """Delete all user memories of Agno, of every user."""
        self._delete(self._list(None))

    def delete_user_memory(self, memory_id: str, user_id: str | None = None) -> None:
        """Delete a memory; with `user_id`, only if it is theirs."""
        self.delete_user_memories([memory_id], user_id)

    def delete_user_memories(self, memory_ids: list[str], user_id: str | None = None) -> None:
        """Delete memories; with `user_id`, only theirs."""
        self._delete(self._find(memory_ids, user_id))

    def get_all_memory_topics(self, user_id: str | None = None) -> list[str]:
        """Return the topics of a user's memories, or of all."""
        topics: dict[str, None] = {}
        for memory in self._list(user_id):
            topics |= dict.fromkeys(_document(memory).get("topics") or ())
        return list(topics)

    def get_user_memory(
        self, memory_id: str, deserialize: bool | None = True, user_id: str | None = None
    ) -> UserMemory | Document | None:
        """Return a memory, or None; with `user_id`, only if it is theirs."""
        for memory in self._find([memory_id], user_id):
            return _returned(_document(memory), deserialize)
        return None

    def get_user_memories(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        team_id: str | None = None,
        topics: list[str] | None = None,
        search_content: str | None = None,
        limit: int | None = None,
        page: int | None = None,
        sort_by: str | None = None,
        sort_order: str | None = None,
        deserialize: bool | None = True,
    ) -> list[UserMemory] | tuple[list[Document], int]:
        """Return the memories that pass the filters, oldest first unless sorted; not
        deserialized, with their number before the limit.
        """
        found: list[Document] = []
        with log_errors("memories were not listed"):
            found = [_document(memory) for memory in self._list(user_id)]
        wanted = {"agent_id": agent_id, "team_id": team_id}
        kept = [
            one
            for one in found
            if all(value in (None, one.get(key)) for key, value in wanted.items())
            and (topics is None or not set(topics).isdisjoint(one.get("topics") or ()))
            and (search_content or "").lower() in one["memory"].lower()
        ]
        shown = _paged(apply_sorting(kept, sort_by, sort_order), limit, page)
        return [UserMemory.from_dict(one) for one in shown] if deserialize else (shown, len(kept))

    def get_user_memory_stats(
        self, limit: int | None = None, page: int | None = None, user_id: str | None = None
    ) -> tuple[list[Document], int]:
        """Return the number of memories of each user and the time of the latest change."""
        stats: dict[str, Document] = {}
        for one in map(_document, self._list(user_id)):
            if not one.get("user_id"):
                continue
            new = {"user_id": one["user_id"], "total_memories": 0, "last_memory_updated_at": 0}
            stat = stats.setdefault(one["user_id"], new)
            stat["total_memories"] += 1
            latest = max(stat["last_memory_updated_at"], one["updated_at"])
            stat["last_memory_updated_at"] = latest
        ordered = sorted(stats.values(), key=itemgetter("last_memory_updated_at"), reverse=True)
        return _paged(ordered, limit, page), len(ordered)

    def upsert_user_memory(
        self, memory: UserMemory, deserialize: bool | None = True
    ) -> UserMemory | Document | None:
        """Store a memory, in place of one with the same id. Errors are raised: Agno's tools tell
        the model.
        """
        return _returned(self._upsert(memory), deserialize)

    def upsert_memories(
        self,
        memories: list[UserMemory],
        deserialize: bool | None = True,
        preserve_updated_at: bool = False,
    ) -> list[UserMemory | Document]:
        """Store memories; one that cannot be stored is logged and left out."""
        stored = []
        for memory in memories:
            with log_errors("a memory was not stored"):
                document = self._upsert(memory, preserve_updated_at=preserve_updated_at)
                stored.append(_returned(document, deserialize))
        return stored

    def _upsert(self, memory: UserMemory, *, preserve_updated_at: bool = False) -> Document:
        if not memory.memory_id:
            memory.memory_id = str(uuid4())
        hf = self._hf.scoped(self._scope(memory.user_id))
        at = hf.clock()
        document = to_jsonable_python(memory.to_dict(), fallback=str)
        document["created_at"] = memory.created_at
        kept = memory.updated_at if preserve_updated_at else None
        document["updated_at"] = at // 1_000_000 if kept is None else kept
        draft = Draft(
            content=memory.memory,
            category=SOURCE,
            source=SOURCE,
            event_time=(memory.created_at or 0) * 1_000_000,
            metadata={SOURCE: {key: one for key, one in document.items() if key != "memory"}},
        )
        limit = hf.settings.max_content_bytes
        built = commit.build(draft, hf.scopes[0], at=at, max_bytes=limit)
        built = built.with_(id=id_of(SOURCE, document["memory_id"]))
        # Of another user: it changes hands.
        self._delete(
            one for one in self._find([document["memory_id"]], None) if one.scope != built.scope
        )
        return _document(hf.admin.write("upsert", lambda tx: put(tx, built)))

    def _scope(self, user_id: str | None) -> Scope:
        return self._hf.scopes[0] if user_id is None else Scope("user", user_id)

    def _scopes(self, user_id: str | None) -> Sequence[Scope]:
        """Return where to look: the scope of a user, or all."""
        return self._hf.store.scopes() if user_id is None else [self._scope(user_id)]

    def _list(self, user_id: str | None) -> Memories:
        found: Memories = []
        for scope in self._scopes(user_id):
            where = Filter((scope,), kinds=("fact",), categories=(SOURCE,))
            found += self._hf.store.list(where, order="earliest")
        return [one for one in found if user_id in (None, _document(one).get("user_id"))]

    def _find(self, memory_ids: Iterable[str], user_id: str | None) -> Memories:
        ids = [id_of(SOURCE, one) for one in memory_ids]
        found = [one for scope in self._scopes(user_id) for one in self._hf.store.get([scope], ids)]
        return [
            one
            for one in found
            if one.status == "active" and user_id in (None, _document(one).get("user_id"))
        ]

    def _delete(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            hf = self._hf.scoped(memory.scope)

            def work(tx: Transaction, memory: Memory = memory) -> None:
                there = tx.memory(memory.scope, memory.id)
                if there is not None:
                    tx.remove(there)

            hf.admin.write("delete", work)


def _document(memory: Memory) -> Document:
    """Return a memory as Agno stores it."""
    return {**memory.metadata[SOURCE], "memory": memory.content}


def _returned(document: Document, deserialize: bool | None) -> UserMemory | Document:
    return UserMemory.from_dict(document) if deserialize else document


def _paged(found: list[Document], limit: int | None, page: int | None) -> list[Document]:
    if limit is None:
        return found
    start = ((page or 1) - 1) * limit
    return found[start : start + limit]
