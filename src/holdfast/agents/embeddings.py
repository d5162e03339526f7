"""Embedding models of an agent, and whether the stored vectors match them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import NamedTuple

from ..errors import (
    DimensionMismatchError,
    EmbedderError,
    EmbeddingModelChangedError,
    InvalidInput,
    MissingExtra,
)
from ..models.embeddings.base import Embedder, embedder_for
from ..models.embeddings.providers import PROVIDERS
from ..models.embeddings.tiers import Tiers
from ..storage.protocol import Store
from ..types import Clock, Scope
from .role import MemoryConfig, Role

LOCAL = ("static", "encoder")
DEFAULTS: Mapping[str, str] = {
    "openai": "openai:text-embedding-3-small",
    "anthropic": "openai:text-embedding-3-small",  # it offers no embeddings
    "google": "google:text-embedding-004",
    "ollama": "ollama:nomic-embed-text",
}
# Names of models that run in this process.
_IN_PROCESS: Mapping[str, tuple[str, ...]] = {
    "local": LOCAL,
    "offline": LOCAL,
    "fake": ("fake",),
    "none": ("none",),
}


class Chosen(NamedTuple):
    """Models of an agent, fastest first, and how to reach a remote one."""

    specs: tuple[str, ...]
    base_url: str = ""
    key_env: str = ""


def choose(role: Role) -> Chosen:
    """Choose the models: the role's embedding model, else its embedding provider's default, else
    its model provider's.

    A provider without known embeddings gets the bundled models, which need no key.
    """
    wanted = (role.spec.memory or MemoryConfig()).embeddings
    provider = wanted.provider or role.spec.model.provider
    if provider in _IN_PROCESS and not wanted.base_url:
        return Chosen((wanted.model,) if wanted.model else _IN_PROCESS[provider])
    if wanted.model:
        spec = _spec(wanted.model, provider, named=bool(wanted.provider))
    elif provider in DEFAULTS:
        spec = DEFAULTS[provider]
    elif wanted.base_url:
        raise InvalidInput(
            f"spec.memory.embeddings.base_url in {role.file.name} needs a model. Add model "
            "beside it."
        )
    else:
        return Chosen(LOCAL)
    return Chosen((spec,), wanted.base_url, wanted.api_key_env)


def _spec(
    model: str,
    provider: str,
    *,
    named: bool,
) -> str:
    """Return a model with its provider. The part before a colon is a provider or part of the name:
    nomic-embed-text:v1.5.
    """
    embedding = DEFAULTS[provider].partition(":")[0] if provider in DEFAULTS else provider
    said, _, rest = model.partition(":")
    whole = bool(rest) and (said == embedding if named else said in {**PROVIDERS, **_IN_PROCESS})
    return model if whole else f"{embedding}:{model}"


def tiers(
    role: Role,
    environ: Mapping[str, str],
    clock: Clock,
) -> Tiers:
    """Models of an agent, each loaded on first use."""
    chosen = choose(role)
    return Tiers(
        chosen.specs,
        environ=environ,
        base_url=chosen.base_url,
        key_env=chosen.key_env,
        clock=clock,
    )


def check_keys(role: Role, environ: Mapping[str, str]) -> None:
    """Raise EmbedderError with advice if the key of a model is missing."""
    chosen = choose(role)
    for spec in chosen.specs:
        remote = spec not in (*LOCAL, "fake", "none")
        try:
            embedder_for(
                spec,
                environ=environ,
                base_url=(chosen.base_url or None) if remote else None,
                api_key_env=(chosen.key_env or None) if remote else None,
            )
        except MissingExtra:
            raise
        except EmbedderError as error:
            raise EmbedderError(
                f"{error} In {role.file.name}: spec.memory.embeddings.api_key_env names the "
                "variable, and spec.memory.embeddings.provider: local needs no key."
            ) from error


def check_model(
    role: Role,
    store: Store,
    scope: Scope,
    using: Tiers,
) -> None:
    """Raise EmbeddingModelChangedError if the memories were embedded by models that the role does
    not use.

    Raises DimensionMismatchError if a model's vectors now have another length.
    """
    there = store.vectors.dimensions([scope])
    ours = [embedder.identity for embedder in using]
    if there and ours and not there.keys() & set(ours):
        raise EmbeddingModelChangedError(
            f"The memories of {role.name} were embedded by {', '.join(sorted(there))}, but "
            f"{role.file.name} says {', '.join(ours)}. {way_out(role)}"
        )
    for embedder in using:
        check_length(role, store, scope, embedder)


def check_length(
    role: Role,
    store: Store,
    scope: Scope,
    embedder: Embedder,
) -> None:
    """Raise DimensionMismatchError if a model's vectors now have another length than the stored
    ones.
    """
    stored = store.vectors.dimensions([scope]).get(embedder.identity)
    if stored is not None and embedder.dimensions not in (None, stored):
        raise DimensionMismatchError(
            f"The memories of {role.name} have vectors of {stored} numbers by "
            f"{embedder.identity}, which makes {embedder.dimensions} now. {way_out(role)}"
        )


def way_out(role: Role) -> str:
    """Advice for memories that do not match the model."""
    return (
        f"Embed them again with `{remedy(role)}`, or go back to the old model under "
        "spec.memory.embeddings."
    )


def remedy(role: Role) -> str:
    """Command that embeds the memories of a role again, from any folder."""
    return shlex.join(["holdfast", "memory", "reembed", str(role.file)])
