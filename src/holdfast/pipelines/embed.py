"""Giving vectors to memories that have none yet: in small steps that can stop anywhere and go on later."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from ..errors import EmbedderError, HoldfastError, NotFound
from ..models.embed import Embedder
from ..models.tiers import Tiers
from ..store.base import Store
from ..store.rows import indexed_text
from ..types import Memory, Scope

log = logging.getLogger(__name__)

STEP = 256  # texts per transaction: a killed process repeats at most this much
DELAY = 1.0  # seconds: short scripts end before and never pay for loading a model
BACKGROUND_STEP = 16  # smaller, so that closing waits for a moment only


def embed_some(
    store: Store, tiers: Tiers, embedder: Embedder, *, limit: int, scopes: Sequence[Scope] | None = None
) -> int:
    """Embeds up to `limit` memories that have no vector of this model, and says how many it did.

    A model that fails loses nothing: the memories simply stay without a vector until it works again.
    """
    if tiers.usable(embedder.identity) is None:
        return 0
    waiting = store.without_vector(embedder.identity, limit, scopes)
    if not waiting:
        return 0
    try:
        rows = embedder.embed_documents([embedded_text(memory) for memory in waiting])
        vectors = {memory.seq: row for memory, row in zip(waiting, rows, strict=True)}
        store.add_vectors(list(dict.fromkeys(memory.scope for memory in waiting)), embedder.identity, vectors)
    except EmbedderError as error:
        tiers.rest(embedder.identity, error)
        return 0
    tiers.works(embedder.identity)
    return len(waiting)


def embedded_text(memory: Memory) -> str:
    """What a model sees of a memory: its own words. Author and role are fields, never a prefix."""
    return indexed_text(memory.title, memory.content, ())


def catch_up(store: Store, tiers: Tiers, scopes: Sequence[Scope], *, limit: int) -> None:
    """Embeds what was written since the last recall with the quickest model, if that takes but a moment."""
    for embedder in tiers:
        if embedder.quick:
            while limit > 0 and (done := embed_some(store, tiers, embedder, limit=min(limit, 1000), scopes=scopes)):
                limit -= done
        return


def reembed(
    store: Store,
    tiers: Tiers,
    *,
    scopes: Sequence[Scope] | None = None,
    fresh: bool = False,
    progress: Callable[[str, int], None] = lambda model, done: None,
) -> dict[str, int]:
    """Gives every memory a vector of every model in use; raises EmbedderError where a model fails.

    Stopping it at any point loses nothing: the next call goes on where it stopped. `fresh` starts over.
    """
    done: dict[str, int] = {}
    for embedder in tiers:
        tiers.works(embedder.identity)  # whoever asks by hand does not want to wait until a failed model has rested
        if fresh:
            store.drop_vectors(embedder.identity, scopes)
        done[embedder.identity] = 0
        while count := embed_some(store, tiers, embedder, limit=STEP, scopes=scopes):
            done[embedder.identity] += count
            progress(embedder.identity, count)
    if tiers.errors:
        model, error = next(iter(tiers.errors.items()))
        raise EmbedderError(f"{model}: {error} What was embedded so far is kept; run it again to go on.")
    if not done:
        raise NotFound("No embedding model is set. Set HOLDFAST_EMBEDDING_MODELS, e.g. to 'static,arctic'.")
    return done


class Upgrader:
    """A thread that embeds in the background while the program lives. It starts at the first nudge."""

    def __init__(self, store: Store, tiers: Tiers, *, delay: float = DELAY) -> None:
        self._store, self._tiers, self._delay = store, tiers, delay
        self._wake, self._stop, self._starting = threading.Event(), threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None

    def nudge(self) -> None:
        """Says that there may be something to embed."""
        self._wake.set()
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._work, name="holdfast-embed", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the step it is in."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        self._stop.wait(self._delay)
        while self._wake.wait():
            # Cleared before looking at `stop`, which is set before `wake`: so neither can be missed.
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                while not self._stop.is_set() and self._step():
                    pass
            except HoldfastError as error:
                log.warning("embedding in the background paused: %s", error)

    def _step(self) -> int:
        for embedder in self._tiers:
            limit = STEP if embedder.quick else BACKGROUND_STEP
            if done := embed_some(self._store, self._tiers, embedder, limit=limit):
                return done
        return 0
