"""LangGraph's `BaseStore` over the one engine: items by namespace and key, found by meaning, with times to live.

An item is a memory, so it has a journal, can be undone, and is found by recall like any other. The store belongs to one
scope; namespaces divide it further.

    graph = builder.compile(store=HoldfastStore(hf))
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from ..errors import MissingExtra
from ..memory import Holdfast, check_open
from ..store import Filter, Writer
from ..types import MINUTE, Memory, Micros, to_datetime
from ..write import commit, entities
from .items import SOURCE, Namespace, check_item, id_of, item_draft, leaves

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
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
    raise MissingExtra("LangGraph's store needs another package. Try: pip install 'holdfast[langgraph]'") from error

LAST: Micros = 1 << 62
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip


class HoldfastStore(BaseStore):
    """A LangGraph store in an open memory, which stays open when this is let go."""

    supports_ttl = True

    def __init__(self, holdfast: Holdfast, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        """`index` may say which `fields` are searched (all, unless it does); vectors are the engine's own, so its
        `embed` is not used. `ttl` says how long items live."""
        self._hf = check_open(holdfast)
        self._scope = self._hf.scopes[0]
        self._fields = list((index or {}).get("fields") or ["$"])
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads, then writes: the writes are one transaction, and of two to one key the later counts."""
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
            results.append(None if isinstance(op, PutOp) else self._read(op))
        if puts:
            self._put(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, awaitable."""
        return await to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Takes out what has expired, and says how many items that were."""
        gone = [one for one in self._items((), expired=True) if self._has_expired(one)]

        def work(writer: Writer) -> None:
            for memory in gone:
                writer.remove(memory)

        if gone:
            self._hf.write("expire", work)
        return len(gone)

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
        every = [one for one in self._items(op.namespace_prefix) if matches(one.metadata["value"], op.filter)]
        found = self._ranked(op.query, every) if op.query else [(one, None) for one in every]
        page = found[op.offset : op.offset + op.limit]
        self._refresh([one for one, _ in page], refresh=op.refresh_ttl)
        return [_search_item(one, score) for one, score in page]

    def _ranked(self, query: str, items: Sequence[Memory]) -> list[tuple[Memory, float | None]]:
        """Items by how well they answer; behind them, without a score, those that nothing is searched in."""
        wanted = {one.id: one for one in items}
        categories = sorted({one.category for one in items})
        hits = self._hf.recall(query, categories=categories, limit=len(items)) if items else []
        scores = {hit.memory.id: hit.score for hit in hits if hit.memory.id in wanted}
        ranked: list[tuple[Memory, float | None]] = [
            (wanted[id_], score) for id_, score in scores.items() if wanted[id_].metadata["searched"]
        ]
        return ranked + [(one, None) for one in items if not any(one is known for known, _ in ranked)]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        every = {tuple(one.metadata["namespace"]) for one in self._items(())}
        found = {name for name in every if all(is_match(condition, name) for condition in op.match_conditions or ())}
        cut = {name[: op.max_depth] for name in found} if op.max_depth is not None else found
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _items(self, prefix: Namespace, *, expired: bool = False) -> list[Memory]:
        """The items below a namespace, in the order in which they were first put."""
        where = Filter((self._scope,), kinds=("fact",))
        found = [
            one
            for one in self._hf.store.list(where, order="oldest")
            if one.source == SOURCE and tuple(one.metadata["namespace"][: len(prefix)]) == prefix
        ]
        return [one for one in found if expired or not self._is_hidden(one)]

    # Times to live

    def _has_expired(self, memory: Memory) -> bool:
        return memory.valid_until is not None and memory.valid_until <= self._hf.clock()

    def _is_hidden(self, memory: Memory) -> bool:
        return self._has_expired(memory) and bool((self.ttl_config or {}).get("omit_expired", True))

    def _refresh(self, items: Sequence[Memory], *, refresh: bool) -> None:
        """Lets what was read live on, unless it is not to be so."""
        living = [one for one in items if refresh and one.metadata.get("ttl") and not self._has_expired(one)]
        if not living:
            return
        now = self._hf.clock()

        def work(writer: Writer) -> None:
            for one in living:
                fresh = writer.memory(one.scope, one.id)
                if fresh is not None:
                    writer.change(fresh, valid_until=until(now, one.metadata["ttl"]))

        self._hf.write("refresh", work)

    # Writing

    def _put(self, ops: Sequence[PutOp]) -> None:
        at = self._hf.clock()
        new = {id_of(op.namespace, op.key): self._memory(op, at) for op in ops}

        def work(writer: Writer) -> None:
            for id_, memory in new.items():
                old = writer.memory(self._scope, id_)
                if memory is None:
                    writer.remove(old) if old is not None else None
                elif old is None:
                    entities.note(writer, [writer.add(memory)], at=at)
                else:
                    kept = commit.rewrite(writer, old, memory.with_(created_at=old.created_at))
                    entities.note(writer, [kept], at=at)

        self._hf.write("put", work)

    def _memory(self, op: PutOp, at: Micros) -> Memory | None:
        """The memory that holds an item; None for one that is to go."""
        if op.value is None:
            return None
        check_item(op.key, op.value)
        texts = self._texts(op)
        ttl = op.ttl
        draft = item_draft(
            op.namespace, op.key, op.value, texts=texts, ttl=ttl, until=None if ttl is None else until(at, ttl)
        )
        built = commit.build(draft, self._scope, at=at, max_bytes=self._hf.settings.max_content_bytes)
        return built.with_(id=id_of(op.namespace, op.key))

    def _texts(self, op: PutOp) -> list[str]:
        """What of an item is searched."""
        if op.index is False:
            return []
        fields = self._fields if op.index is None else list(op.index)
        found = (leaves(op.value) if one == "$" else get_text_at_path(op.value, tokenize_path(one)) for one in fields)
        return [text for texts in found for text in texts if text.strip()]


def until(at: Micros, minutes: float) -> Micros:
    """When something that lives for so many minutes ends; what outlives every clock ends with it."""
    return min(LAST, at + int(minutes * MINUTE)) if minutes < 1e12 else LAST


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether an item's value is as a filter wants it: equal, or by operators such as `$gte`."""
    return all(_agrees(value.get(key), one) for key, one in (wanted or {}).items())


def _agrees(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if not any(key.startswith("$") for key in wanted):
        return isinstance(value, Mapping) and all(_agrees(value.get(key), one) for key, one in wanted.items())
    return all(_compares(value, operator, one) for operator, one in wanted.items())


def _compares(value: Any, operator: str, wanted: Any) -> bool:
    if operator not in OPERATORS:
        raise ValueError(f"Unsupported operator: {operator}. Use one of: {', '.join(OPERATORS)}.")
    if operator in ("$eq", "$ne"):
        return OPERATORS[operator](value, wanted)
    try:
        return OPERATORS[operator](float(value), float(wanted))
    except (TypeError, ValueError):
        return False


def is_match(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins, or ends, like a path in which `*` stands for any label."""
    path, name = tuple(condition.path), namespace
    if condition.match_type == "suffix":
        path, name = path[::-1], name[::-1]
    elif condition.match_type != "prefix":
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    return len(name) >= len(path) and all(one in ("*", label) for one, label in zip(path, name, strict=False))


def _times(memory: Memory) -> dict[str, datetime]:
    return {"created_at": to_datetime(memory.created_at), "updated_at": to_datetime(memory.updated_at)}


def _item(memory: Memory) -> Item:
    kept = memory.metadata
    return Item(value=dict(kept["value"]), key=kept["key"], namespace=tuple(kept["namespace"]), **_times(memory))


def _search_item(memory: Memory, score: float | None) -> SearchItem:
    kept = memory.metadata
    return SearchItem(tuple(kept["namespace"]), kept["key"], dict(kept["value"]), **_times(memory), score=score)
