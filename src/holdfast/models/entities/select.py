"""Strategies of entity recognition: patterns only, patterns and names, or all recognisers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

from ...errors import CapReached
from .base import EntityMatch, Recogniser, resolve
from .entity_patterns import PatternRecogniser
from .llm import LLMRecogniser
from .names import NameRecogniser
from .spacy import SpacyRecogniser

log = logging.getLogger(__name__)

# Texts whose results are cached, because a conversation is processed more than once.
KEPT = 512
_Key = tuple[str, bytes]


class Recognition:
    """Strategies by name, each a list of recognisers, with a cache of recent results."""

    def __init__(self, strategies: Mapping[str, Sequence[Recogniser]]) -> None:
        self._strategies = strategies
        self._known: dict[_Key, tuple[EntityMatch, ...]] = {}
        # Two threads that evict at once could remove the same entry.
        self._lock = threading.Lock()

    def recognise(self, text: str, strategy: str = "fast") -> list[EntityMatch]:
        """Return the matches of a strategy's recognisers, without overlaps, in text order.

        An unknown strategy falls back to 'fast'. A recogniser that fails is skipped, and called
        again the next time.
        """
        if strategy not in self._strategies:
            log.warning("There is no strategy %r to recognise entities; using 'fast'.", strategy)
            strategy = "fast"
        key = strategy, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._known.get(key)
        if known is None:
            known, complete = self._ask(text, strategy)
            if complete:
                self._keep(key, known)
        return list(known)

    def accurate_available(self) -> bool:
        """Whether the strategy 'accurate' has a recogniser that 'fast' lacks: names, spaCy or a
        model.
        """
        quick = self._strategies.get("fast", ())
        return any(
            one.available() for one in self._strategies.get("accurate", ()) if one not in quick
        )

    def _ask(self, text: str, strategy: str) -> tuple[tuple[EntityMatch, ...], bool]:
        """Return the matches, and whether every recogniser succeeded."""
        found: list[EntityMatch] = []
        complete = True
        for recogniser in self._strategies[strategy]:
            try:
                if recogniser.available():
                    found += recogniser.recognise(text)
            except CapReached:
                # Not a failure: the text is processed again when the budget allows it.
                raise
            except Exception:
                # Whatever a model or library raises, the other recognisers still run.
                log.exception(
                    "The recogniser %r failed; its findings are missing.", recogniser.name
                )
                complete = False
        return tuple(resolve(found, text)), complete

    def _keep(self, key: _Key, found: tuple[EntityMatch, ...]) -> None:
        with self._lock:
            while len(self._known) >= KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = found


def standard(*, answer: Callable[[str], str] | None = None) -> Recognition:
    """Return the three strategies. `answer` calls a language model."""
    fast: list[Recogniser] = [PatternRecogniser()]
    local: list[Recogniser] = [*fast, NameRecogniser()]
    return Recognition(
        {
            "fast": fast,
            "local": local,
            "accurate": [*local, SpacyRecogniser(), LLMRecogniser(answer)],
        }
    )
