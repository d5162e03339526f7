"""Giving vectors to memories that have none yet: in small steps that can stop anywhere and go on
later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..errors import EmbedderError, NotFound
from ..extraction.job_types import Due, Kind, Task, Worker
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..types import Names, Scope
from .embedding_catchup import embed_all

# Texts per transaction: a killed process repeats at most this much.
STEP = 256
# For slow models, so that a worker that is to end waits for a moment only.
SMALL_STEP = 16


def reembed(
    store: Store,
    tiers: Tiers,
    *,
    scopes: Sequence[Scope] | None = None,
    fresh: bool = False,
    progress: Callable[[str, int], None] = lambda model, done: None,
) -> dict[str, int]:
    """Gives every memory a vector of every model in use; raises EmbedderError where a model fails.

    Stopping it at any point loses nothing: the next call goes on where it stopped. `fresh` starts
    over.
    """
    done: dict[str, int] = {}
    for embedder in tiers:
        # Whoever asks by hand does not want to wait until a failed model has rested.
        tiers.wake(embedder.identity)
        if fresh:
            store.vectors.drop(embedder.identity, scopes)
        done[embedder.identity] = 0
        before = -1
        while (
            done[embedder.identity] > before
        ):  # what was written meanwhile is found by going through once more
            before = done[embedder.identity]
            for count in embed_all(store, tiers, embedder, step=STEP, scopes=scopes):
                done[embedder.identity] += count
                progress(embedder.identity, count)
    if tiers.errors:
        model, error = next(iter(tiers.errors.items()))
        raise EmbedderError(
            f"{model}: {error} What was embedded so far is kept; run it again to go on."
        )
    if not done:
        raise NotFound(
            "No embedding model is set. Set HOLDFAST_EMBEDDING_MODELS, e.g. to 'static,arctic'."
        )
    return done


def _due(worker: Worker) -> Iterator[Due]:
    for model in _usable(worker):
        for scope, newest in worker.store.vectors.behind(model, worker.scopes).items():
            yield Due(scope, model, newest)


def _usable(worker: Worker) -> Names:
    return [one.identity for one in worker.tiers if worker.tiers.usable(one.identity) is not None]


def _embed_scope(task: Task) -> None:
    """Embeds what one scope has waiting for one model. A step that is done twice does no harm."""
    store = task.worker.store
    tiers = task.worker.tiers
    model = task.job.key
    scopes = [task.job.scope]
    embedder = tiers.usable(model)
    if embedder is not None:
        step = STEP if embedder.quick else SMALL_STEP
        for count in embed_all(store, tiers, embedder, step=step, scopes=scopes):
            # Or it was the last one, and nothing holds up the end any more.
            if count == step:
                task.heartbeat()
    if tiers.usable(model) is None:
        raise EmbedderError(tiers.errors.get(model) or f"{model} cannot be used here.")


EMBED = Kind("embed", due=_due, run=_embed_scope, keys=_usable)
"""One job for each scope and model: vectors for all memories that have none, as far as they are
there by then.
"""
