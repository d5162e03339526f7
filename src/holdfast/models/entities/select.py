"""Which recognisers look at a text: the quick one, ours, or all that there are."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

from ...errors import CapReached
from .base import EntityMatch, Recogniser, resolve
from .llm import LLMRecogniser
from .names import NameRecogniser
from .patterns import PatternRecogniser
from .spacy import SpacyRecogniser

log = logging.getLogger(__name__)

# Texts whose findings are remembered: a conversation is looked at more than once.
KEPT = 512
_Key = tuple[str, bytes]


class Recognition:
    """Strategies by name, each a list of recognisers; what they found in the latest texts is
    kept.
    """

    def __init__(self, strategies: Mapping[str, Sequence[Recogniser]]) -> None:
        self._strategies = strategies
        self._known: dict[_Key, tuple[EntityMatch, ...]] = {}
        self._lock = threading.Lock()

    def recognise(self, text: str, strategy: str = "fast") -> list[EntityMatch]:
        """What the recognisers of a strategy find in `text`, without overlaps, in order.

        An unknown strategy is the fast one. A recogniser that fails is left out, and the next call
        asks it again.
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
        """Whether the strategy 'accurate' has anything that 'fast' has not: our names, spaCy or a
        model.
        """
        quick = self._strategies.get("fast", ())
        return any(
            one.available() for one in self._strategies.get("accurate", ()) if one not in quick
        )

    def _ask(self, text: str, strategy: str) -> tuple[tuple[EntityMatch, ...], bool]:
        """What is found, and whether every recogniser could say what it finds."""
        found: list[EntityMatch] = []
        complete = True
        for recogniser in self._strategies[strategy]:
            try:
                if recogniser.available():
                    found += recogniser.recognise(text)
            except CapReached:
                # What it would find is not missing: it is looked for later.
                raise
            except (
                Exception
            ):  # whatever a model or a library raises, the others still have their say
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
    """The three strategies. `answer` asks a language model."""
    fast: list[Recogniser] = [PatternRecogniser()]
    local: list[Recogniser] = [*fast, NameRecogniser()]
    return Recognition(
        {
            "fast": fast,
            "local": local,
            "accurate": [*local, SpacyRecogniser(), LLMRecogniser(answer)],
        }
    )
