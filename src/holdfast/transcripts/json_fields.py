"""Values out of somebody else's JSON: of the kind that is asked for, or empty. Nothing here ever
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
    """`value` if it is text that can be stored, otherwise nothing; half a character becomes a
    question mark.
    """
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def as_dict(value: Any) -> dict[str, Any]:
    """`value` if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """`value` if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def as_int(value: Any) -> int | None:
    """`value` if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a list; whatever else is in it is passed over."""
    return (item for item in as_list(value) if isinstance(item, dict))


def parsed(data: str | bytes) -> Any:
    """What `data` says as JSON, or None when it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def said_in(content: Any) -> str:
    """The text of a message: a text, or the text parts of a list of parts. Images, thinking and
    files are not text.
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
