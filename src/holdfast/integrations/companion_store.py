"""Records by owner, layer and key: the store protocol of companion agents.

A record is a memory. Its id is derived from layer and key. Replacing the text of a record creates a
memory that supersedes the first, so every change is journalled and `undo` reverses it. Other
memories of an owner have their id as the key. Vectors are computed by Holdfast; vectors from
callers are ignored.
"""

from __future__ import annotations

import hashlib
from asyncio import to_thread
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from .. import config
from ..async_client import AsyncHoldfast
from ..client import Holdfast
from ..errors import InvalidInput, StoreClosed
from ..extraction.candidate import Candidate
from ..extraction.similarity import dedup
from ..ingest import entity_linking
from ..storage import Filter, Transaction
from ..storage.merge import is_purged
from ..types import DAY, ID_PREFIXES, Edge, Edges, Kind, Memory, Scope
from .companion_records import HIDDEN, KINDS, Namespace, Record, memory_of, place_of, record_of

T = TypeVar("T")
S = TypeVar("S", bound=dedup.Statement)
OVERWRITTEN = "overwritten"
# Fields that a new value with the same text updates.
TAKEN = (
    "category",
    "confidence",
    "quote",
    "triple",
    "event_time",
    "source",
    "status",
    "status_at",
    "status_reason",
)


class LayeredStore:
    """Records of many owners in three layers. A namespace is `(owner, "semantic" | "episodic" |
    "procedural")`.
    """

    def __init__(self, holdfast: Holdfast | AsyncHoldfast) -> None:
        """Wrap an open memory, which stays open when this store is closed."""
        self._hf = holdfast.blocking if isinstance(holdfast, AsyncHoldfast) else holdfast
        self._own = self._closed = False

    @classmethod
    async def open(
        cls, path: str | Path | None = None, *, settings: config.Settings | None = None
    ) -> LayeredStore:
        """Open the memory at a path or a postgresql:// URL; `aclose` closes it."""
        opened = cls(await to_thread(Holdfast.open, path, scope="shared:layers", settings=settings))
        opened._own = True
        return opened

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        embedding: Sequence[float] | None = None,
        embedding_model: str | None = None,
    ) -> None:
        """Store a JSON object under a key, replacing an existing one."""
        await self.aput_batch([(namespace, key, value, embedding, embedding_model)])

    async def aput_batch(self, items: Iterable[Sequence[Any]]) -> None:
        """Store `(namespace, key, value)` tuples of any owners atomically."""
        await self._run(_put, list(items))

    async def aget(self, namespace: Namespace, key: str) -> Record | None:
        """Return the record under a key, even if searches hide it; None if there is none."""
        found = await self._run(_find, namespace, key)
        return None if found is None else record_of(namespace, found)

    async def asearch(
        self,
        namespace: Namespace,
        query: str | None = None,
        *,
        limit: int = 10,
    ) -> list[Record]:
        """Return the visible records of a namespace in insertion order, or those that a query
        recalls.
        """
        if query is not None:
            return await self.asearch_similar(namespace, query, limit=limit)
        return [
            record_of(namespace, memory) for memory in await self._run(_oldest, namespace, limit)
        ]

    async def asearch_similar(
        self,
        namespace: Namespace,
        query_text: str,
        *,
        limit: int = 10,
        max_age_days: float | None = None,
        categories: Sequence[str] = (),
        exclude_session: str | None = None,
        query_embedding: Sequence[float] | None = None,  # noqa: ARG002
        embedding_model: str | None = None,  # noqa: ARG002
    ) -> list[Record]:
        """Return the visible records for a query, best first: `Holdfast.recall`, filtered before
        the limit.
        """

        def recall(hf: Holdfast) -> list[Record]:
            since = None if max_age_days is None else hf.clock() - round(max_age_days * DAY)
            scope, kind = place_of(namespace)
            hits = hf.scoped(scope).recall(
                query_text,
                kinds=[kind],
                limit=limit,
                since=since,
                categories=categories,
                exclude_session=exclude_session,
                min_score=0.0,
            )
            return [record_of(namespace, hit.memory, hit.score) for hit in hits]

        return await self._run(recall)

    async def adelete(self, namespace: Namespace, key: str) -> bool:
        """Forget a record, like `Holdfast.forget`; False if there is none."""
        return await self._run(_forget, namespace, key)

    async def alatest(self, namespace: Namespace) -> Record | None:
        """Return the newest visible record; None if there is none, and after closing."""
        scope, kind = place_of(namespace)
        if self._closed:
            return None
        newest = await self._run(lambda hf: hf.scoped(scope).list(kinds=[kind], limit=1))
        return record_of(namespace, newest[0]) if newest else None

    async def arecord_count(self, namespace: Namespace | None = None) -> int:
        """Count the visible records of a namespace, or all; 0 after closing."""
        return 0 if self._closed else await self._run(_count, namespace)

    async def anamespaces(self) -> list[Namespace]:
        """Return the namespaces with visible records; none after closing."""
        if self._closed:
            return []
        return await self._run(lambda hf: [name for name, n in _counts(hf) if n])

    async def aclose(self) -> None:
        """Close this store, and the memory if `open` opened it. Idempotent."""
        if self._own and not self._closed:
            await to_thread(self._hf.close)
        self._closed = True

    async def _run(self, work: Callable[..., T], *args: Any) -> T:
        if self._closed:
            raise StoreClosed()
        return await to_thread(work, self._hf, *args)


def find_near_duplicate(candidate: str | dedup.Statement, memories: Iterable[S]) -> S | None:
    """Return the candidate that says the same: equal text, or equal triple and 0.85 of the words
    (`write.dedup`).
    """
    found = dedup.first_duplicate(
        Candidate(candidate, "") if isinstance(candidate, str) else candidate, memories
    )
    return found[0] if found else None


# Writing


def _put(hf: Holdfast, items: Sequence[Sequence[Any]]) -> None:
    built = [_built(hf, item) for item in items]
    if not built:
        return

    def work(tx: Transaction) -> None:
        for first, memory in built:
            entity_linking.note(
                tx,
                [_store(tx, memory, first)],
                at=memory.created_at,
            )

    hf.scoped(*(memory.scope for _, memory in built)).admin.write("put", work)


def _built(hf: Holdfast, item: Sequence[Any]) -> tuple[str, Memory]:
    """Return the id of the first memory under an item's key, and the memory for its value."""
    if not isinstance(item, Sequence) or len(item) < 3:
        raise InvalidInput(
            f"An item must be a namespace, a key and a value, not {item!r:.80}. Nothing was stored."
        )
    namespace, key, value = item[:3]
    memory = memory_of(
        namespace,
        key,
        value,
        at=hf.clock(),
        max_bytes=hf.settings.max_content_bytes,
    )
    return _first_id(hf, memory.scope, memory.kind, key), memory


def _store(
    tx: Transaction,
    new: Memory,
    first: str,
) -> Memory:
    """Store the value of a key: the same text keeps the memory, another text creates a new one."""
    scope = new.scope
    at = new.created_at
    old = _current(scope, first, tx.memory, tx.edges)
    if old is not None and old.content == new.content:
        fields = {
            name: getattr(new, name)
            for name in TAKEN
            # A confirmed memory keeps full confidence, whatever its record says.
            if not (old.protected and name == "confidence")
        }
        metadata = {**old.metadata, **new.metadata}
        return tx.change(
            old,
            **fields,
            strength=None,
            metadata=metadata,
            updated_at=at,
        )
    if old is not None:
        tx.change(
            old,
            status="superseded",
            status_at=at,
            status_reason=OVERWRITTEN,
            updated_at=at,
        )
    if tx.memory(scope, first) is None:
        return tx.add(new.with_(id=first))
    added = tx.add(new)
    tx.link(Edge(scope, added.id, first, "supersedes", at, OVERWRITTEN))
    return added


def _forget(
    hf: Holdfast,
    namespace: Namespace,
    key: str,
) -> bool:
    found = _find(hf, namespace, key)
    return found is not None and bool(hf.scoped(found.scope).forget(found.id))


# Reading


def _first_id(
    hf: Holdfast,
    scope: Scope,
    kind: Kind,
    key: str,
) -> str:
    """Return the id of the first memory under a key. A purged id is never reused, so that a sync
    keeps it erased.
    """

    def usable(id: str) -> bool:
        known = hf.store.get([scope], [id])
        return bool(known) or not any(map(is_purged, hf.store.events([scope], target=id)))

    identity = (
        hashlib.blake2b(f"{kind}\n{turn}\n{key}".encode("utf-8", "surrogatepass"), digest_size=13)
        for turn in count()
    )
    return next(id for one in identity if usable(id := f"{ID_PREFIXES[kind]}_{one.hexdigest()}"))


def _current(
    scope: Scope,
    id: str,
    get: Callable[[Scope, str], Memory | None],
    edges: Callable[[Scope, str], Edges],
) -> Memory | None:
    """Return the memory with this id, or the latest that superseded it, if it still exists."""
    level = [id]
    while level:
        # The successor linked last is the latest value.
        for one in reversed(level):
            memory = get(scope, one)
            if memory is not None and _there(memory):
                return memory
        successors = []
        for one in level:
            for edge in edges(scope, one):
                if edge.relation == "supersedes" and edge.target == one:
                    successors.append(edge.source)
        level = successors
    return None


def _find(
    hf: Holdfast,
    namespace: Namespace,
    key: str,
) -> Memory | None:
    """Return the memory under a key, or the active one of that layer with that id."""
    scope, kind = place_of(namespace)

    def get(scope: Scope, id: str) -> Memory | None:
        return next(iter(hf.store.get([scope], [id])), None)

    first = _first_id(hf, scope, kind, key)
    # Memories that were not written through this store have their id as the key.
    known = _current(scope, first, get, hf.store.edges) or get(scope, key)
    if known is None or known.kind != kind:
        return None
    return known if _there(known) else None


def _there(memory: Memory) -> bool:
    return memory.status == "active" or memory.status_reason == HIDDEN


def _oldest(
    hf: Holdfast,
    namespace: Namespace,
    limit: int,
) -> list[Memory]:
    scope, kind = place_of(namespace)
    return hf.store.list(
        Filter((scope,), kinds=(kind,)),
        limit=max(limit, 0),
        order="oldest",
    )


def _counts(hf: Holdfast) -> list[tuple[Namespace, int]]:
    """Count active memories by namespace."""
    found: list[tuple[Namespace, int]] = []
    for scope in hf.store.scopes():
        # Namespaces belong to owners; other scopes of the store are not records.
        if scope.kind != "user":
            continue
        counts = hf.store.counts([scope])
        for layer, kind in KINDS.items():
            active = counts.get(kind, {}).get("active", 0)
            found.append(((scope.key, layer), active))
    return found


def _count(hf: Holdfast, namespace: Namespace | None) -> int:
    if namespace is None:
        return sum(number for _, number in _counts(hf))
    scope, kind = place_of(namespace)
    return hf.store.counts([scope]).get(kind, {}).get("active", 0)
