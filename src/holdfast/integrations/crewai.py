"""CrewAI's storage backend: the records of a crew's unified memory are memories of Holdfast.

    storage = HoldfastStorage(hf)
    crew = Crew(…, memory=Memory(storage=storage, embedder=storage.embed))

CrewAI decides what to remember and ranks what it recalls; the storage keeps records and vectors.
"""

from __future__ import annotations

import logging
from asyncio import to_thread
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..client import Holdfast, check_open
from ..errors import InvalidInput, MissingExtra, Nothing
from ..floats import unit
from ..ingest import commit
from ..ingest.commit import Draft
from ..storage import Filter, Transaction
from ..types import Memory, Micros, from_datetime, to_datetime
from .framework_memory import id_of, put

try:
    from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    from crewai.memory.types import MemoryRecord, ScopeInfo
except ImportError as error:
    raise MissingExtra("Memory for CrewAI needs CrewAI. Try: pip install crewai") from error

log = logging.getLogger(__name__)
SOURCE = "crewai"
"""Source and category of the memories that are records of CrewAI."""
# The text is the memory's own, and vectors have a table of their own.
_ELSEWHERE = {"content", "embedding", "created_at", "last_accessed"}


class HoldfastStorage:
    """CrewAI `StorageBackend` in one scope of an open memory, which stays open.

    Errors are raised: CrewAI reports a failed save or recall as an event, and the crew goes on.
    """

    def __init__(self, hf: Holdfast) -> None:
        self._hf = check_open(hf).scoped(hf.scopes[0])
        self._hf.actor = f"agent:{SOURCE}"

    def __deepcopy__(self, memo: object) -> HoldfastStorage:
        """Return itself: a copied crew shares the open memory."""
        return self

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return vectors of Holdfast's own model, as an `embedder` that needs no API key."""
        embedder = next(iter(self._hf.tiers), None)
        if embedder is None:
            raise InvalidInput(
                "This memory has no embedding model. Give CrewAI an embedder of its own, or set "
                "`embedding_models`."
            )
        return [[float(number) for number in one] for one in embedder.embed_documents(list(texts))]

    def save(self, records: list[MemoryRecord]) -> None:
        """Store records in one transaction; one without text is logged and left out."""
        built = [pair for record in records if (pair := self._built(record))]
        stored = self._hf.admin.write("save", lambda tx: [put(tx, one) for _, one in built])
        self._save_vectors([record for record, _ in built], stored)

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records most similar to a vector, with their cosine similarity."""
        if limit <= 0 or not query_embedding or not (dimensions := self._dimensions()):
            return []
        if len(query_embedding) not in dimensions:
            raise EmbeddingDimensionMismatchError(dimensions[0], len(query_embedding))
        wanted = _Wanted(scope_prefix, categories, metadata_filter)
        model, vector = _model(len(query_embedding)), unit(query_embedding)
        window = limit if wanted.everything else 4 * limit
        # The store filters by scope of Holdfast only: read more until enough pass the filter.
        while True:
            ranked = self._hf.store.by_vector(self._where(), model, vector, window)
            scores = {seq: score for seq, score in ranked if score >= min_score}
            found = self._hf.store.get(self._hf.scopes, list(scores))
            kept = [one for one in found if wanted.accepts(one)]
            if len(kept) >= limit or len(scores) < window:
                best = kept[:limit]
                return [
                    (record, scores[one.seq])
                    for one, record in zip(best, self._records(best), strict=True)
                ]
            window *= 4

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that meet all criteria; return their number."""
        wanted = _Wanted(scope_prefix, categories, metadata_filter, record_ids, older_than)
        gone = [one for one in self._memories() if wanted.accepts(one)]

        def work(tx: Transaction) -> int:
            there = [one for one in gone if tx.memory(one.scope, one.id) is not None]
            for one in there:
                tx.remove(one)
            return len(there)

        return self._hf.admin.write("delete", work) if gone else 0

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id; it keeps its vector unless it brings another."""
        if not record.embedding and (known := self.get_record(record.id)):
            record = record.model_copy(update={"embedding": known.embedding})
        self.save([record])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record with its vector, or None."""
        found = self._hf.store.get(self._hf.scopes, [id_of(SOURCE, record_id)])
        return next(iter(self._records([one for one in found if one.status == "active"])), None)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[MemoryRecord]:
        """Return the records of a scope, newest first."""
        if limit <= 0 or offset < 0:
            return []
        found = sorted(self._below(scope_prefix), key=lambda one: -one.event_time)
        return self._records(found[offset : offset + limit])

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return the number of records of a scope, their categories and times, and its children."""
        found = self._below(scope)
        times = [_naive(one.event_time) for one in found]
        return ScopeInfo(
            path=_path(scope),
            record_count=len(found),
            categories=sorted({name for one in found for name in _fields(one)["categories"]}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=_children(scope, found),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the immediate child scopes of a scope."""
        return _children(parent, self._below(parent))

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return the categories of a scope with the number of their records."""
        found = self._below(scope_prefix)
        return dict(Counter(name for one in found for name in _fields(one)["categories"]))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return the number of records of a scope."""
        return len(self._below(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records of a scope; `holdfast undo` can bring them back."""
        self.delete(scope_prefix=scope_prefix)
        if _path(scope_prefix) == "/":
            for dimension in self._dimensions():
                self._hf.store.vectors.drop(_model(dimension), self._hf.scopes)

    def touch_records(self, record_ids: list[str]) -> None:
        """Note that records were recalled."""
        found = self._hf.store.get(self._hf.scopes, [id_of(SOURCE, one) for one in record_ids])
        self._hf.store.touch(self._hf.scopes, {one.seq: 1 for one in found}, self._hf.clock())

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Same as `save`, awaitable."""
        await to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Same as `search`, awaitable."""
        return await to_thread(
            self.search,
            query_embedding,
            scope_prefix,
            categories,
            metadata_filter,
            limit,
            min_score,
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Same as `delete`, awaitable."""
        return await to_thread(
            self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter
        )

    def _where(self) -> Filter:
        return Filter(self._hf.scopes, kinds=("fact",), categories=(SOURCE,))

    def _memories(self) -> Iterable[Memory]:
        return self._hf.store.list(self._where())

    def _below(self, scope: str | None) -> list[Memory]:
        wanted = _Wanted(scope)
        return [one for one in self._memories() if wanted.accepts(one)]

    def _dimensions(self) -> list[int]:
        """Return the lengths of the stored vectors."""
        models = self._hf.store.vectors.dimensions(self._hf.scopes)
        return sorted(length for name, length in models.items() if name == _model(length))

    def _built(self, record: MemoryRecord) -> tuple[MemoryRecord, Memory] | None:
        draft = Draft(
            content=record.content,
            category=SOURCE,
            source=SOURCE,
            event_time=from_datetime(record.created_at),
            metadata={
                SOURCE: record.model_dump(mode="json", fallback=str, exclude=_ELSEWHERE),
            },
        )
        try:
            built = commit.build(
                draft,
                self._hf.scopes[0],
                at=self._hf.clock(),
                max_bytes=self._hf.settings.max_content_bytes,
            )
        except Nothing as empty:
            log.warning("record %s was not stored: %s", record.id, empty)
            return None
        used = from_datetime(record.last_accessed)
        return record, built.with_(id=id_of(SOURCE, record.id), last_accessed=used)

    def _save_vectors(self, records: Sequence[MemoryRecord], stored: Sequence[Memory]) -> None:
        by_length: dict[int, dict[int, Any]] = {}
        for record, memory in zip(records, stored, strict=True):
            if record.embedding:
                of_length = by_length.setdefault(len(record.embedding), {})
                of_length[memory.seq] = unit(record.embedding)
        known = self._dimensions()
        for length, vectors in by_length.items():
            if known and length not in known:
                raise EmbeddingDimensionMismatchError(known[0], length)
            self._hf.store.vectors.add(self._hf.scopes, _model(length), vectors)

    def _records(self, memories: Sequence[Memory]) -> list[MemoryRecord]:
        seqs = [one.seq for one in memories]
        vectors: dict[int, Any] = {}
        for length in self._dimensions():
            vectors |= self._hf.store.vectors.get(self._hf.scopes, _model(length), seqs)
        return [_record(one, vectors.get(one.seq)) for one in memories]


class _Wanted:
    """Which records a call means."""

    def __init__(
        self,
        scope: str | None = None,
        categories: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
        older_than: datetime | None = None,
    ) -> None:
        self._scope = _path(scope)
        self._categories = set(categories or ())
        self._metadata = metadata or {}
        self._ids = None if ids is None else set(ids)
        self._before = None if older_than is None else from_datetime(older_than)
        self.everything = self._scope == "/" and not self._categories and not self._metadata

    def accepts(self, memory: Memory) -> bool:
        """Whether a record meets all criteria; of several categories, one is enough."""
        fields = _fields(memory)
        return (
            f"{_path(fields['scope'])}/".startswith(f"{self._scope.rstrip('/')}/")
            and (not self._categories or not self._categories.isdisjoint(fields["categories"]))
            and all(fields["metadata"].get(key) == one for key, one in self._metadata.items())
            and (self._ids is None or fields["id"] in self._ids)
            and (self._before is None or memory.event_time < self._before)
        )


def _record(memory: Memory, vector: Iterable[float] | None) -> MemoryRecord:
    return MemoryRecord(
        **_fields(memory),
        content=memory.content,
        created_at=_naive(memory.event_time),
        last_accessed=_naive(memory.last_accessed or memory.event_time),
        embedding=None if vector is None else [float(number) for number in vector],
    )


def _children(parent: str, below: Sequence[Memory]) -> list[str]:
    """Return the immediate child scopes of a scope, from all records in and below it."""
    prefix = _path(parent).rstrip("/") + "/"
    below_it = [path for one in below if (path := _path(_fields(one)["scope"])).startswith(prefix)]
    names = {path.removeprefix(prefix).partition("/")[0] for path in below_it}
    return sorted(prefix + name for name in names if name)


def _fields(memory: Memory) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = memory.metadata[SOURCE]
    return fields


def _model(length: int) -> str:
    """Return the name under which vectors of this length are stored."""
    return f"{SOURCE}:{length}"


def _path(scope: str | None) -> str:
    """Return a scope path with a slash at its start only."""
    return "/" + (scope or "").strip("/")


def _naive(at: Micros) -> datetime:
    """Return a time as CrewAI writes it: in UTC, without saying so."""
    return to_datetime(at).replace(tzinfo=None)
