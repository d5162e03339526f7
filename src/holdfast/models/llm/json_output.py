"""JSON in what a language model answered, which says more than it was asked for, or less."""

from __future__ import annotations

import json
import re
from typing import Any

_FLAT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_TRAILING_COMMA = re.compile(r",\s*(?=[}\]])")


def objects_in(answer: str) -> list[dict[str, Any]]:
    """The objects of the list in an answer; where it was cut off or is not quite JSON, each that
    can be read.

    >>> objects_in('Here you are: [{"name": "Ann"}, {"name": "B')
    [{'name': 'Ann'}]
    """
    text = _TRAILING_COMMA.sub("", answer)
    start = text.find("[")
    end = text.rfind("]")
    whole = _read(text[start : end + 1]) if 0 <= start < end else None
    found = whole if isinstance(whole, list) else [_read(one) for one in _FLAT.findall(text)]
    return [one for one in found if isinstance(one, dict)]


def object_in(answer: str) -> dict[str, Any] | None:
    """The outermost object in an answer, whatever fences and chatter stand around it; None when
    there is none.

    >>> object_in('Sure! ```{"summary": "Tea"}```')
    {'summary': 'Tea'}
    """
    start = answer.find("{")
    end = answer.rfind("}")
    found = _read(answer[start : end + 1]) if 0 <= start < end else None
    if isinstance(found, dict):
        return found
    return None


def line(value: Any) -> str:
    """A text of an answer on one line; empty for what is no text."""
    if isinstance(value, str):
        return " ".join(value.split())
    return ""


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
