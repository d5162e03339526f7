"""LangGraph: the items of a store as JSON, each with namespace, key and value, or as the rows of
its `store` table.

They become items of `HoldfastStore`, under the same keys, and are recalled like all other memories.
LangMem keeps its memories in such a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import InvalidInput
from ..integrations.langgraph_items import Namespace, id_of, item_draft, leaves
from ..transcripts.json_fields import as_dict, micros, parsed
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The items in a file."""
    return each(text, _item, lists=("items", "store"))


def _item(one: Value) -> Iterable[ImportedItem]:
    item = object_in(one.value)
    namespace = _namespace(item)
    key = item.get("key")
    value = _value(item)
    if not isinstance(key, str) or not key:
        raise InvalidInput("there is no key in it")
    ttl = item.get("ttl_minutes")
    draft = item_draft(
        namespace,
        key,
        value,
        texts=[text for text in leaves(_said(value)) if text.strip()],
        ttl=float(ttl) if isinstance(ttl, int | float) else None,
        until=micros(item.get("expires_at")),
    )
    yield ImportedItem(
        one.line,
        draft,
        (*namespace, key),
        id_of(namespace, key),
        created_at=micros(item.get("created_at")),
        updated_at=micros(item.get("updated_at")),
    )


def _namespace(item: dict[str, Any]) -> Namespace:
    """A list of labels; in the table they stand in one text, with points between them."""
    told = item.get("namespace", item.get("prefix"))
    labels = told.split(".") if isinstance(told, str) else told
    if (
        not isinstance(labels, list)
        or not labels
        or not all(isinstance(one, str) and one for one in labels)
    ):
        raise InvalidInput("there is no namespace in it")
    return tuple(labels)


def _value(item: dict[str, Any]) -> dict[str, Any]:
    told = item.get("value")
    value = parsed(told) if isinstance(told, str) else told
    if not isinstance(value, dict):
        raise InvalidInput("its value is no object")
    return as_dict(value)


def _said(value: dict[str, Any]) -> Any:
    """Return the part of a value that is searched. LangMem stores the name of a schema beside each
    memory, which is no content.
    """
    is_memory = value.keys() == {"kind", "content"} and isinstance(value["content"], dict)
    return value["content"] if is_memory else value


LANGGRAPH = MemoryFile(
    "langgraph",
    "the items of a LangGraph store, as JSON",
    parse,
    marks=(("namespace", "key", "value"), ("prefix", "key", "value")),
)
