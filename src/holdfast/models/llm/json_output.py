"""Extraction of JSON from a language model's answer, which may contain other text or be cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import ModelFailed
from .chat import Complete

T = TypeVar("T")
# Said the second time.
REMINDER = "Answer with the JSON that is asked for, and with nothing else."
# An object without nested objects: what can be recovered from a list that is cut off.
_FLAT = re.compile(r"\{[^{}]*\}", re.DOTALL)
# The beginning of an object, or of a list of objects.
_OPENING = re.compile(r"\{|\[\s*[\]{]")
# Models often leave a comma before a closing bracket, which JSON forbids.
_TRAILING_COMMA = re.compile(r",\s*(?=[}\]])")


def ask_for_json(
    complete: Complete,
    prompt: str,
    read: Callable[[str], T | None],
    what: str,
) -> T:
    """Ask a model, and ask it once more if `read` returns None for its answer.

    Model errors propagate. Raises ModelFailed if the second answer cannot be read either; `what`
    says what it should have been.
    """
    for asked in (prompt, f"{prompt}\n\n{REMINDER}"):
        found = read(complete(asked))
        if found is not None:
            return found
    raise ModelFailed(f"The model gave no {what}: it refused twice, or answered without JSON.")


def json_in(answer: str) -> Any:
    """Return the first object or list in an answer, ignoring fences and text around it; if it is
    cut off, a list of the objects that can be parsed. None if there is neither.

    >>> json_in('Sure! ```{"facts": [{"name": "Ann"},]}``` Anything else?')
    {'facts': [{'name': 'Ann'}]}
    >>> json_in("I cannot help with that.")
    """
    text = _TRAILING_COMMA.sub("", answer)
    start = _OPENING.search(text)
    if start is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start.start())[0]
    except (ValueError, RecursionError):
        return objects_in(text) or None


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
