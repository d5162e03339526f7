"""Embedding jobs: vectors for memories without one, in small steps that can stop and resume
anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..errors import EmbedderError, NotFound
from ..extraction.job_types import Due, Kind, Task, Worker
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..types import Names, Scope
from .embedding_catchup import embed_all

# Texts per transaction: a killed process repeats at most this many.
STEP = 256
# Smaller step for slow models, so that a worker can stop quickly.
SMALL_STEP = 16


def reembed(
    store: Store,
    tiers: Tiers,
    *,
    scopes: Sequence[Scope] | None = None,
    fresh: bool = False,
    progress: Callable[[str, int], None] = lambda model, done: None,
) -> dict[str, int]:
    """Embed every memory with every configured model. Raises EmbedderError if a model fails.

    It can be stopped at any point; the next call resumes. `fresh` starts over.
    """
    done: dict[str, int] = {}
    for embedder in tiers:
        # A manual run does not wait for the pause after a failure.
        tiers.wake(embedder.identity)
        if fresh:
            store.vectors.drop(embedder.identity, scopes)
        done[embedder.identity] = 0
        before = -1
        while (
            done[embedder.identity] > before
            # Memories written meanwhile are found in one more pass.
        ):
            before = done[embedder.identity]
            for count in embed_all(store, tiers, embedder, step=STEP, scopes=scopes):
                done[embedder.identity] += count
                progress(embedder.identity, count)
    if tiers.errors:
        model, error = next(iter(tiers.errors.items()))
        raise EmbedderError(
            f"{model}: {error} Vectors computed so far are kept; run it again to resume."
        )
    if not done:
        raise NotFound(
            "No embedding model is set. Set HOLDFAST_EMBEDDING_MODELS, e.g. to 'static,encoder'."
        )
    return done


def _due(worker: Worker) -> Iterator[Due]:
    for model in _usable(worker):
        for scope, newest in worker.store.vectors.behind(model, worker.scopes).items():
            yield Due(scope, model, newest)


def _usable(worker: Worker) -> Names:
    return [one.identity for one in worker.tiers if worker.tiers.usable(one.identity) is not None]


def _embed_scope(task: Task) -> None:
    """Embed what one scope has waiting for one model. Repeating a step is harmless."""
    store = task.worker.store
    tiers = task.worker.tiers
    model = task.job.key
    scopes = [task.job.scope]
    embedder = tiers.usable(model)
    if embedder is not None:
        step = STEP if embedder.quick else SMALL_STEP
        for count in embed_all(store, tiers, embedder, step=step, scopes=scopes):
            # Or this was the last step, and the worker can stop anyway.
            if count == step:
                task.heartbeat()
    if tiers.usable(model) is None:
        raise EmbedderError(tiers.errors.get(model) or f"{model} cannot be used here.")


EMBED = Kind("embed", due=_due, run=_embed_scope, keys=_usable, looks=_usable)
"""One job per scope and model: vectors for all memories that have none at that time."""
