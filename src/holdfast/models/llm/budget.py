"""What memory may ask of a language model: the one way that every call of it goes, counted in the
store.

Tokens are booked before a model is asked, so that they count for whoever else asks meanwhile, and
when the process does not live to hear the answer. They are counted by our own estimate, for not
every model says what it took. What an agent says in its own conversation is no business of memory,
and is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import overload

from ...errors import CapReached
from ...storage.protocol import Store
from ...storage.store_types import Spent
from ...text.budget import count_tokens
from ...types import DAY, Clock, Micros, Scope, iso
from .chat import Complete

ANSWER = (
    500  # tokens that an answer is taken to have before it is known: they are lists of a few lines
)
# What every reader of answers takes for "nothing".
SILENCE = '{"arc": null}'
KEPT = "Nothing is lost: it is done later."


@dataclass(frozen=True, slots=True)
class Caps:
    """How many tokens a language model may be asked, there and back: in one run, and for one owner
    in a day.
    """

    per_run: int
    per_day: int


@dataclass
class Estimate:
    """Stands in for a model, to find out what asking it would cost: it counts the questions and has
    nothing to say.
    """

    calls: int = 0
    tokens: int = 0

    def __call__(self, prompt: str) -> str:
        self.calls += 1
        self.tokens += count_tokens(prompt) + ANSWER
        return SILENCE

    @property
    def spent(self) -> Spent:
        """What it would have been."""
        return Spent(self.calls, self.tokens)


@dataclass
class Meter:
    """Holds models to caps, and keeps the account. One meter is one run."""

    store: Store
    clock: Clock
    caps: Caps
    used: int = 0
    """Tokens of this run."""
    _lock: Lock = field(default_factory=Lock)

    def anew(self) -> Meter:
        """The meter of another run."""
        return Meter(self.store, self.clock, self.caps)

    @overload
    def through(self, complete: Complete, scope: Scope) -> Complete: ...
    @overload
    def through(self, complete: None, scope: Scope) -> None: ...
    @overload
    def through(self, complete: Complete | None, scope: Scope) -> Complete | None: ...

    def through(self, complete: Complete | None, scope: Scope) -> Complete | None:
        """The same model for an owner, held to the caps: CapReached when a call would go beyond one
        of them.
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
