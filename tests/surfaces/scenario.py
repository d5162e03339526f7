"""One story that every surface tells: remembered, recalled, explained, corrected, forgotten,
brought back.

A surface joins with a small class that has these verbs (`Surface`) and a function that opens it
(`Opening`); the story is the same for all of them, so that none can drift.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import apsw

from holdfast.client import Holdfast
from patience import PATIENCE

WORDS = {"HOLDFAST_EMBEDDING_MODELS": "none"}
DOWN = {
    "HOLDFAST_EMBEDDING_MODELS": "openai:text-embedding-3-small",
    "HOLDFAST_EMBEDDING_URL": "http://127.0.0.1:9/v1",  # nobody answers at the port for discarding
    "HOLDFAST_EMBEDDING_KEY_ENV": "SCENARIO_KEY",
    "SCENARIO_KEY": "x",
}


UNSEEN = "\u200b\u2060\u200d \ufeff\u3164"
JOINED = "می\u200cخواهم क्\u200dष 👩\u200d🚀"


class Surface(Protocol):
    """What a surface can do, whatever it calls it."""

    def remember(self, text: str) -> str:
        """Stores a text; the id of its memory."""

    def recall(self, question: str) -> list[str]:
        """What is found for a question, best first, as text."""

    def why(self, question: str, id: str) -> str:
        """Why a memory was, or was not, recalled, in words."""

    def correct(self, id: str, text: str) -> str:
        """Says something else instead; the id of the memory that says it."""

    def forget(self, id: str) -> str:
        """Forgets a memory; the run that did it."""

    def undo(self, run: str) -> None:
        """Takes back what a run did."""


Opening = Callable[[Path, str, Mapping[str, str]], AbstractContextManager[Surface]]
"""Opens a surface over a store file, for a scope, with an environment."""


@dataclass(frozen=True)
class World:
    """A store, and a way to open it."""

    opening: Opening
    store: Path

    def open(
        self, scope: str = "user:ann", environ: Mapping[str, str] = WORDS
    ) -> AbstractContextManager[Surface]:
        """The surface for an owner."""
        return self.opening(self.store, scope, {**os.environ, **environ})


def a_memory_lives(world: World) -> None:
    """It is remembered, recalled and explained, corrected, forgotten, brought back; and is there
    the next time.
    """
    with world.open() as ann:
        tea = ann.remember("Prefers green tea to coffee")
        other = ann.remember("Rides a red bicycle to work")
        assert ann.recall("what does she drink, tea?")[0] == "Prefers green tea to coffee"
        assert "rank 1" in ann.why("tea", tea)
        assert "not recalled" in ann.why("tea", other)
        oolong = ann.correct(tea, "Prefers oolong tea to coffee")
        assert oolong != tea
        assert ann.recall("tea") == ["Prefers oolong tea to coffee"]
        assert "superseded" in ann.why("tea", tea)
        run = ann.forget(oolong)
        assert ann.recall("tea") == []
        ann.undo(run)
        assert ann.recall("tea") == ["Prefers oolong tea to coffee"]
    with world.open() as again:
        assert again.recall("tea") == ["Prefers oolong tea to coffee"]


def owners_are_apart(world: World) -> None:
    """What is one owner's is not there for another, not even by its id."""
    with world.open("user:ann") as ann, world.open("user:bob") as bob:
        secret = ann.remember("The treasure lies in Zanzibar")
        assert bob.recall("treasure") == []
        for attempt in (
            lambda: bob.why("treasure", secret),
            lambda: bob.correct(secret, "The treasure lies elsewhere"),
            lambda: bob.forget(secret),
        ):
            assert "No memory" in refusal(attempt)
        assert ann.recall("treasure") == ["The treasure lies in Zanzibar"]


def an_embedder_is_down(world: World) -> None:
    """Texts are kept, and found by their words, while the model that embeds them cannot be
    reached.
    """
    with world.open(environ=DOWN) as ann:
        ann.remember("Prefers green tea to coffee")
        assert ann.recall("green tea") == ["Prefers green tea to coffee"]


def a_store_is_busy(world: World) -> None:
    """While another program writes, what is to be stored waits for its turn: it is neither refused
    nor lost.
    """
    with world.open() as ann, ThreadPoolExecutor(2) as pool:
        ann.remember("Prefers green tea to coffee")
        with _writing(world.store) as done:
            stored = pool.submit(ann.remember, "Rides a red bicycle to work")
            wait([stored], timeout=0.5)
            assert not stored.done()
            found = pool.submit(ann.recall, "tea")
            done()
        assert stored.result(timeout=PATIENCE)
        assert found.result(timeout=PATIENCE) == ["Prefers green tea to coffee"]
        assert ann.recall("bicycle") == ["Rides a red bicycle to work"]


# It reads as what it is.
class _writing:  # noqa: N801
    """Another program in the middle of a transaction, until it is told to be done."""

    def __init__(self, store: Path) -> None:
        self._connection = apsw.Connection(str(store))

    def __enter__(self) -> Callable[[], None]:
        self._connection.execute("begin immediate")
        return lambda: self._connection.execute("rollback") and None

    def __exit__(self, *_: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("rollback")
        self._connection.close()


def refusal(attempt: Callable[[], object]) -> str:
    """What is said when something is refused, however the surface says it."""
    try:
        attempt()
    except Exception as error:
        return str(error)
    raise AssertionError("nothing was refused")


def half_a_fence_costs_no_word(world: World) -> None:
    """A text with the closing tag of a memory block, and no block, is stored with every word."""
    with world.open() as ann:
        text = "Tea before </holdfast-memory> and coffee after"
        ann.remember(text)
        assert _stored(world) == [text]


def what_nobody_sees_is_refused(world: World) -> None:
    """A text of characters that are not seen is no memory, and cannot take the place of one."""
    with world.open() as ann:
        tea = ann.remember("Prefers green tea to coffee")
        for attempt in (lambda: ann.remember(UNSEEN), lambda: ann.correct(tea, UNSEEN)):
            assert "no character of the text is visible" in refusal(attempt)
        assert _stored(world) == ["Prefers green tea to coffee"]


def joiners_are_kept(world: World) -> None:
    """The joiners of Persian, Hindi and emoji are part of the text."""
    with world.open() as ann:
        ann.remember(JOINED)
        assert _stored(world) == [JOINED]


def _stored(world: World) -> list[str]:
    with Holdfast.open(world.store, scope="user:ann", background=False) as hf:
        return [memory.content for memory in hf.list()]


STORY = (
    a_memory_lives,
    owners_are_apart,
    an_embedder_is_down,
    a_store_is_busy,
    half_a_fence_costs_no_word,
    what_nobody_sees_is_refused,
    joiners_are_kept,
)
