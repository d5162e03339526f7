"""Typed values from foreign JSON: a value of the requested type, or an empty one. Nothing here
raises.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ..types import Micros, from_iso

T = TypeVar("T")
# In seconds; whatever is later was never a time.
_YEAR_3000 = 32_503_680_000


def as_text(value: Any) -> str:
    """Return `value` if it is storable text, otherwise an empty string; a lone surrogate becomes a
    question mark.
    """
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def as_dict(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return `value` if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def as_int(value: Any) -> int | None:
    """Return `value` if it is an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list and skip the rest."""
    return (item for item in as_list(value) if isinstance(item, dict))


def parsed(data: str | bytes) -> Any:
    """Parse `data` as JSON, or return None."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def said_in(content: Any) -> str:
    """Return the text of a message: a string, or the text parts of a list, without images, thinking
    and files.
    """
    if isinstance(content, str):
        return as_text(content)
    if isinstance(content, dict):
        return as_text(content.get("text"))
    parts = (
        part if isinstance(part, str) else _text_part(as_dict(part)) for part in as_list(content)
    )
    return "\n".join(text for text in map(as_text, parts) if text)


def _text_part(part: dict[str, Any]) -> Any:
    known = part.get("type") in (None, "text", "input_text", "output_text") and not part.get(
        "thought"
    )
    return part.get("text") if known else ""


def micros(value: Any) -> Micros | None:
    """A moment written as ISO 8601 or as seconds, milli- or microseconds since 1970; None for
    anything else.

    >>> micros("2026-03-01T12:00:00Z") == micros(1772366400) == micros(1772366400000)
    True
    """
    if isinstance(value, str):
        try:
            return from_iso(value)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    for unit in (1_000_000, 1_000, 1):
        if 0 < value * unit < _YEAR_3000 * 1_000_000:
            return round(value * unit)
    return None


def with_last(items: Iterable[T]) -> Iterator[tuple[T, bool]]:
    """Each item, and whether it is the last one.

    >>> list(with_last("ab"))
    [('a', False), ('b', True)]
    """
    iterator = iter(items)
    for item in iterator:
        for following in iterator:
            yield item, False
            item = following  # noqa: PLW2901
        yield item, True
