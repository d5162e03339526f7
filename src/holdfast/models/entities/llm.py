"""Entity recognition by a language model, through any function from prompt to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ..llm.json_output import line, objects_in
from .base import NOWHERE, TYPES, EntityMatch, EntityType

# Above all rules of `name_rules.py`; see `resolve`.
CONFIDENCE = 0.9
# Characters. Longer texts are documents, whose beginning names the main entities.
_LONGEST_TEXT = 20_000
_LONGEST_NAME = 200
_OTHER_WORDS: Mapping[str, EntityType] = {
    "per": "person",
    "people": "person",
    "human": "person",
    "org": "organization",
    "organisation": "organization",
    "company": "organization",
    "institution": "organization",
    "team": "organization",
    "loc": "location",
    "place": "location",
    "city": "location",
    "country": "location",
    "gpe": "location",
    "address": "location",
    "e-mail": "email",
    "link": "url",
    "time": "date",
    "repository": "project",
}


class LLMRecogniser:
    """Asks a language model for names without positions. Reads as much as possible of an answer
    that is not valid JSON.
    """

    name = "llm"

    def __init__(self, answer: Callable[[str], str] | None = None) -> None:
        self._answer = answer

    def available(self) -> bool:
        return self._answer is not None

    def recognise(self, text: str) -> list[EntityMatch]:
        if self._answer is None or not text.strip():
            return []
        return list(_findings(self._answer(_prompt().replace("{text}", text[:_LONGEST_TEXT]))))


@cache
def _prompt() -> str:
    return (files(__package__) / "prompt.md").read_text("utf-8").strip()


def _findings(answer: str) -> Iterable[EntityMatch]:
    for item in objects_in(answer):
        name, raw = (_label(item.get(key)) for key in ("name", "raw"))
        if name or raw:
            yield EntityMatch(
                name or raw, _type(item.get("type")), NOWHERE, NOWHERE, CONFIDENCE, raw or name
            )


def _label(value: Any) -> str:
    """Return a name from an answer on one line; empty if it is not a plausible name."""
    label = line(value)
    if len(label) <= _LONGEST_NAME:
        return label
    return ""


def _type(value: Any) -> EntityType:
    word = value.strip().casefold() if isinstance(value, str) else ""
    return next((known for known in TYPES if known == word), _OTHER_WORDS.get(word, "other"))
