"""Extraction of JSON from a language model's answer, which may contain other text or be cut off."""

from __future__ import annotations

import json
import re
from typing import Any

# An object without nested objects: what can be recovered from a list that is cut off.
_FLAT = re.compile(r"\{[^{}]*\}", re.DOTALL)
# Models often leave a comma before a closing bracket, which JSON forbids.
_TRAILING_COMMA = re.compile(r",\s*(?=[}\]])")


def objects_in(answer: str) -> list[dict[str, Any]]:
    """Return the objects of the list in an answer; if it is cut off or invalid, those that can be
    parsed.

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
    """Return the outermost object in an answer, ignoring fences and text around it; None if there
    is none.

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
    """Return a string of an answer on one line; empty for any other type."""
    if isinstance(value, str):
        return " ".join(value.split())
    return ""


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
