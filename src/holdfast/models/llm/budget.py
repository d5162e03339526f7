"""Token budget: the metered client through which all LLM calls of memory go.

Tokens are reserved before each call, so that they count for concurrent callers and if the process
dies before the answer. They are estimated, because not every model reports its usage. Calls of an
agent in its own conversation are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import overload

from ...errors import CapReached
from ...storage.protocol import Store
from ...storage.store_types import Spent
from ...text.token_count import count_tokens
from ...types import DAY, Clock, Micros, Scope, iso
from .chat import Complete

# Assumed tokens of an answer before it is known; answers are lists of a few lines.
ANSWER = 500
# An answer that every parser reads as "nothing".
SILENCE = '{"arc": null}'
KEPT = "Nothing is lost: it is done later."


@dataclass(frozen=True, slots=True)
class Caps:
    """Maximum tokens, prompts and answers together, per run and per owner and day."""

    per_run: int
    per_day: int


@dataclass
class Estimate:
    """Stand-in for a model that estimates the cost: counts prompts and answers nothing."""

    calls: int = 0
    tokens: int = 0

    def __call__(self, prompt: str) -> str:
        self.calls += 1
        self.tokens += count_tokens(prompt) + ANSWER
        return SILENCE

    @property
    def spent(self) -> Spent:
        """Return the estimated usage."""
        return Spent(self.calls, self.tokens)


@dataclass
class Meter:
    """Enforces the caps and records the usage. One meter per run."""

    store: Store
    clock: Clock
    caps: Caps
    used: int = 0
    """Tokens used in this run."""
    # Checking the cap and adding to `used` must be atomic across threads.
    _lock: Lock = field(default_factory=Lock)

    def anew(self) -> Meter:
        """Return a meter for another run."""
        return Meter(self.store, self.clock, self.caps)

    @overload
    def through(self, complete: Complete, scope: Scope) -> Complete: ...
    @overload
    def through(self, complete: None, scope: Scope) -> None: ...
    @overload
    def through(self, complete: Complete | None, scope: Scope) -> Complete | None: ...

    def through(self, complete: Complete | None, scope: Scope) -> Complete | None:
        """Wrap a model so that its calls are metered for this owner; a call over a cap raises
        CapReached.
        """
        if complete is None:
            return None

        def asked(prompt: str) -> str:
            self._book(scope, prompt)
            answer = complete(prompt)
            self._note(scope, answer)
            return answer

        return asked

    def _book(self, scope: Scope, prompt: str) -> None:
        tokens = count_tokens(prompt)
        now = self.clock()
        with self._lock:
            if self.used + tokens > self.caps.per_run:
                raise CapReached(self._told("run", self.used, self.caps.per_run))
            if not self.store.spend.add(
                scope, now // DAY, Spent(1, tokens), most=self.caps.per_day
            ):
                tomorrow = (now // DAY + 1) * DAY
                used = self.store.spend.total([scope], now // DAY).tokens
                raise CapReached(
                    self._told("day", used, self.caps.per_day, tomorrow), until=tomorrow
                )
            self.used += tokens

    def _note(self, scope: Scope, answer: str) -> None:
        tokens = count_tokens(answer)
        with self._lock:
            self.used += tokens
            self.store.spend.add(scope, self.clock() // DAY, Spent(0, tokens))

    def _told(
        self,
        which: str,
        used: int,
        most: int,
        until: Micros | None = None,
    ) -> str:
        when = f" Until {iso(until)[:16]}Z the model rests, or" if until else " For more at once,"
        return (
            f"The language model has taken {used:,} of the {most:,} tokens that it may take in a "
            f"{which}, and the next "
            f"question is too much.{when} raise model_tokens_per_{which}. {KEPT}"
        )
