"""LangGraph's `BaseStore`: items by namespace and key, semantic search, TTL.

An item is a memory, so it is journalled, undoable and found by recall. The store belongs to one
scope; namespaces divide it further.

    graph = builder.compile(store=HoldfastStore(hf))
"""

from __future__ import annotations

from asyncio import Task, create_task, to_thread, wrap_future
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from itertools import islice, takewhile
from typing import Any

from ..client import Holdfast, check_open
from ..errors import MissingExtra
from ..ingest import commit, entity_linking
from ..storage import Filter, Transaction
from ..types import MINUTE, Memory, Micros, to_datetime
from .hit_similarity import descending_similarities
from .langgraph_items import Namespace, check_filter, check_item, id_of, item_draft, leaves, matches
from .ttl_sweeper import Sweeper

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ImportError as error:
    raise MissingExtra(
        "LangGraph's store needs an optional package. Try: pip install 'holdfast-memory[langgraph]'"
    ) from error

# End of a lifetime too long to compute; it still fits a 64-bit column.
LAST: Micros = 1 << 62
# Items read per page while a filter is applied.
PAGE = 500
# Hits requested from recall if a filter will drop some.
MOST = 300
# Default minutes between two sweeps, as in LangGraph's own stores.
SWEEP_MINUTES = 5.0


class Swept(int):
    """Number of items that a sweep removed. Awaitable, like the sweeps of LangGraph's asynchronous
    stores.
    """

    def __await__(self) -> Generator[None, None, int]:
        # A generator without a value: awaiting it never suspends.
        yield from ()
        return int(self)


class Items(BaseStore):
    """Items of one scope of an open memory, which stays open."""

    supports_ttl = True

    def __init__(
        self,
        holdfast: Holdfast,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """`index` may name the searched `fields` (default: all), also as `text_fields`, which is
        what `SqliteStore` reads. Vectors are Holdfast's own, so its `embed` is ignored. `ttl`
        configures how long items live.
        """
        self._hf = check_open(holdfast)
        self._scope = self._hf.scopes[0]
        self._fields = _searched_fields(index or {})
        self.index_config = index
        self.ttl_config = ttl
        self._sweeper = Sweeper(self._sweep)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute reads, then writes. The writes are one transaction; of two to one key the later
        wins.
        """
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in map(checked, ops):
            if isinstance(op, PutOp):
                # Reads see the state before the batch, as LangGraph's own stores have it.
                puts[op.namespace, op.key] = op
            results.append(None if isinstance(op, PutOp) else self._read(op))
        if puts:
            self._put(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Same as `batch`, awaitable."""
        return await to_thread(self.batch, list(ops))

    def _start(self, minutes: float | None) -> Future[None]:
        # No TTL is configured.
        if not self.ttl_config:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        return self._sweeper.start(
            float(minutes or self.ttl_config.get("sweep_interval_minutes") or SWEEP_MINUTES)
        )

    def _sweep(self) -> int:
        now = self._hf.clock()
        gone = self._hf.store.list(
            Filter((self._scope,), namespace=(), ended_by=now), order="oldest"
        )

        def work(tx: Transaction) -> int:
            removed = 0
            for one in gone:
                # Read again inside the transaction: a reader may have extended its lifetime.
                fresh = tx.memory(one.scope, one.id)
                if fresh is None or fresh.valid_until is None or fresh.valid_until > now:
                    continue
                tx.remove(fresh)
                removed += 1
            return removed

        return self._hf.admin.write("expire", work) if gone else 0

    # Reading

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _get(self, op: GetOp) -> Item | None:
        found = self._hf.store.get([self._scope], [id_of(op.namespace, op.key)])
        if not found or found[0].status != "active" or self._is_hidden(found[0]):
            return None
        self._refresh(found, refresh=op.refresh_ttl)
        return _item(found[0])

    def _search(self, op: SearchOp) -> list[SearchItem]:
        # Checked first: without a match no operator would be evaluated, and a typo would go
        # unnoticed.
        check_filter(op.filter or {})
        most = op.offset + op.limit
        found = self._ranked(op, most) if op.query else []
        known = {one.id for one, _ in found}
        # LangGraph fills the page with unranked items if the query matches fewer than the limit.
        more = (
            one
            for one in self._items(op.namespace_prefix, most + len(known))
            if one.id not in known
        )
        passing = (one for one in more if matches(one.metadata["value"], op.filter))
        found += [(one, None) for one in islice(passing, max(0, most - len(found)))]
        page = found[op.offset : most]
        self._refresh([one for one, _ in page], refresh=op.refresh_ttl)
        return [_search_item(one, score) for one, score in page]

    def _ranked(self, op: SearchOp, most: int) -> list[tuple[Memory, float | None]]:
        """Return items by relevance, up to the limit; items without searchable text are left
        out.
        """
        # The memory may read several scopes; the store owns only the first.
        view = self._hf.scoped(self._scope)
        shows_expired = not self._omits_expired()
        # Filters on values are applied after recall. The second round asks for more hits only if
        # the filter dropped too many.
        for limit in (most, MOST):
            hits = view.recall(
                op.query or "",
                namespace=op.namespace_prefix,
                limit=limit,
                expired=shows_expired,
                min_score=0.0,
            )
            searched = [hit for hit in hits if hit.memory.metadata["searched"]]
            kept = [hit for hit in searched if matches(hit.memory.metadata["value"], op.filter)]
            if len(kept) >= most or len(hits) < limit:
                break
        best = kept[:most]
        return [
            (hit.memory, one) for hit, one in zip(best, descending_similarities(best), strict=True)
        ]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        every = self._hf.store.namespaces(self._where(_literal_prefix(conditions)))
        found: set[Namespace] = set()
        for name in every:
            if all(is_match(condition, name) for condition in conditions):
                found.add(name if op.max_depth is None else name[: op.max_depth])
        return sorted(found)[op.offset : op.offset + op.limit]

    def _where(self, prefix: Namespace) -> Filter:
        shown = self._hf.clock() if self._omits_expired() else None
        return Filter(
            (self._scope,),
            kinds=("fact",),
            namespace=prefix,
            valid_at=shown,
        )

    def _items(self, prefix: Namespace, first: int) -> Iterator[Memory]:
        """Return the items below a namespace in insertion order, page by page."""
        where = self._where(prefix)
        # The first page is usually enough, so it is no larger than the caller needs.
        limit = min(max(first, 1), PAGE)
        after = None
        while page := self._hf.store.list(where, order="oldest", limit=limit, after=after):
            yield from page
            if len(page) < limit:
                return
            after = page[-1].seq
            limit = PAGE

    # Time to live

    def _has_expired(self, memory: Memory) -> bool:
        return memory.valid_until is not None and memory.valid_until <= self._hf.clock()

    def _omits_expired(self) -> bool:
        return bool((self.ttl_config or {}).get("omit_expired", True))

    def _is_hidden(self, memory: Memory) -> bool:
        return self._has_expired(memory) and self._omits_expired()

    def _refresh(self, items: Sequence[Memory], *, refresh: bool) -> None:
        """Extend the lifetime of items that were read, unless disabled."""
        living = [
            one
            for one in items
            if refresh and one.metadata.get("ttl") and not self._has_expired(one)
        ]
        if not living:
            return
        now = self._hf.clock()

        def work(tx: Transaction) -> None:
            for one in living:
                fresh = tx.memory(one.scope, one.id)
                if fresh is not None:
                    tx.change(fresh, valid_until=until(now, one.metadata["ttl"]))

        self._hf.admin.write("refresh", work)

    # Writing

    def _put(self, ops: Sequence[PutOp]) -> None:
        at = self._hf.clock()
        new = {id_of(op.namespace, op.key): self._memory(op, at) for op in ops}

        def work(tx: Transaction) -> None:
            for id_, memory in new.items():
                old = tx.memory(self._scope, id_)
                if memory is None:
                    tx.remove(old) if old is not None else None
                elif old is None:
                    entity_linking.note(tx, [tx.add(memory)], at=at)
                else:
                    kept = commit.rewrite(
                        tx,
                        old,
                        # LangGraph keeps the creation time of an item across puts.
                        memory.with_(created_at=old.created_at),
                    )
                    entity_linking.note(tx, [kept], at=at)

        self._hf.admin.write("put", work)

    def _memory(self, op: PutOp, at: Micros) -> Memory | None:
        """Return the memory that holds an item; None to delete it."""
        if op.value is None:
            return None
        check_item(op.namespace, op.key, op.value)
        texts = self._texts(op)
        ttl = op.ttl
        draft = item_draft(
            op.namespace,
            op.key,
            op.value,
            texts=texts,
            ttl=ttl,
            until=None if ttl is None else until(at, ttl),
        )
        built = commit.build(
            draft,
            self._scope,
            at=at,
            max_bytes=self._hf.settings.max_content_bytes,
        )
        return built.with_(id=id_of(op.namespace, op.key))

    def _texts(self, op: PutOp) -> list[str]:
        """Return the searchable texts of an item."""
        if op.index is False:
            return []
        fields = self._fields if op.index is None else list(op.index)
        texts: list[str] = []
        for field in fields:
            # LangGraph's path for the whole value.
            if field == "$":
                texts += leaves(op.value)
            else:
                texts += get_text_at_path(op.value, tokenize_path(field))
        return [text for text in texts if text.strip()]


class HoldfastStore(Items):
    """LangGraph store in an open memory, for graphs run with `invoke` or `ainvoke`."""

    def sweep_ttl(self) -> Swept:
        """Remove expired items; return their number."""
        return Swept(self._sweep())

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep at an interval in a thread; cancel the returned future to stop."""
        return self._start(sweep_interval_minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping; return whether it ended within the timeout."""
        return self._sweeper.stop(timeout)


class AsyncHoldfastStore(Items):
    """The same with awaitable sweeps, like LangGraph's asynchronous stores."""

    async def sweep_ttl(self) -> int:
        """Remove expired items; return their number."""
        return await to_thread(self._sweep)

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Task[None]:
        """Sweep at an interval; cancel the returned task to stop."""
        done = wrap_future(self._start(sweep_interval_minutes))

        async def sweeping() -> None:
            await done

        return create_task(sweeping(), name="ttl_sweeper")

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping; return whether it ended within the timeout."""
        return await to_thread(self._sweeper.stop, timeout)


def _searched_fields(index: Mapping[str, Any]) -> list[str]:
    fields = index.get("fields") or index.get("text_fields") or ["$"]
    return [fields] if isinstance(fields, str) else list(fields)


def checked(op: Op) -> Op:
    """Return an operation whose namespaces are tuples; InvalidNamespaceError if they cannot be.

    A list is as good as a tuple; a string is refused, because its letters would become labels.
    """
    match op:
        case GetOp() | PutOp():
            op = op._replace(namespace=_labels(op.namespace))
        case SearchOp():
            op = op._replace(namespace_prefix=_labels(op.namespace_prefix))
        case ListNamespacesOp(match_conditions=conditions) if conditions:
            asked = tuple(MatchCondition(one.match_type, _path(one.path)) for one in conditions)
            op = op._replace(match_conditions=asked)
    validate_op_namespace(op)
    return op


def _labels(namespace: Any) -> Namespace:
    if isinstance(namespace, str):
        raise InvalidNamespaceError(
            f"A namespace consists of labels, not {namespace!r}. Write ({namespace!r},)."
        )
    return tuple(namespace)


def _path(path: Any) -> Namespace:
    """Return the path to compare a namespace with; a single label is allowed, as in LangGraph's
    examples.
    """
    return (path,) if isinstance(path, str) else tuple(path)


def _literal_prefix(conditions: Sequence[MatchCondition]) -> Namespace:
    """Return the prefix that the conditions require, up to the first wildcard."""
    paths = [one.path for one in conditions if one.match_type == "prefix"]
    # The store filters by a literal prefix only; the longest one leaves the fewest namespaces for
    # `is_match`.
    return max((tuple(takewhile("*".__ne__, path)) for path in paths), key=len, default=())


def until(at: Micros, minutes: float) -> Micros:
    """Return the end of a lifetime in minutes, capped at the latest possible time."""
    # Beyond this the product may be infinite, which `int` refuses.
    return min(LAST, at + int(minutes * MINUTE)) if minutes < 1e12 else LAST


def is_match(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace starts, or ends, with a path in which `*` matches any label."""
    path = tuple(condition.path)
    name = namespace
    if condition.match_type == "suffix":
        path = path[::-1]
        name = name[::-1]
    elif condition.match_type != "prefix":
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    return len(name) >= len(path) and all(
        one in ("*", label) for one, label in zip(path, name, strict=False)
    )


def _times(memory: Memory) -> dict[str, datetime]:
    return {
        "created_at": to_datetime(memory.created_at),
        "updated_at": to_datetime(memory.updated_at),
    }


def _item(memory: Memory) -> Item:
    kept = memory.metadata
    return Item(
        value=dict(kept["value"]),
        key=kept["key"],
        namespace=tuple(kept["namespace"]),
        **_times(memory),
    )


def _search_item(memory: Memory, score: float | None) -> SearchItem:
    kept = memory.metadata
    return SearchItem(
        tuple(kept["namespace"]),
        kept["key"],
        dict(kept["value"]),
        **_times(memory),
        score=score,
    )
