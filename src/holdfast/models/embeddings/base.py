"""Embedder protocol, and the registry that maps a spec to an embedder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ...errors import InvalidInput
from ...floats import Vector
from . import packs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOCAL = "local:"
"""How the identities of models begin that run in this process out of a pack."""
VALID_SPECS = (
    "'static' (local, fast), 'encoder' (local, better), 'none' (words only), 'fake' (tests), "
    "or 'provider:model' such as 'openai:text-embedding-3-small', 'google:gemini-embedding-001', "
    "'ollama:nomic-embed-text'; other providers need base_url, the address of an "
    "OpenAI-compatible server"
)
# Specs of local models by their identity, so that a store can bring back what made its vectors.
_LOCAL = {
    "local:memory-static-8M2": "static",
    "local:memory-embed-s3": "encoder",
    "local:potion-base-8M": "potion",
    "local:arctic-embed-s": "arctic",
}


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    Thread-safe. Every failure raises EmbedderError; a vector of unexpected length raises
    DimensionMismatchError. A local embedder is deterministic.
    """

    @property
    def identity(self) -> str:
        """Identity of the model: `provider:model`, plus `:` and eight hex digits of the sha256 of
        the base URL if that is not the provider's own. Vectors of different identities are never
        compared.
        """

    @property
    def dimensions(self) -> int | None:
        """Length of every vector; None for a remote model that has not answered yet."""

    @property
    def quick(self) -> bool:
        """Whether it embeds thousands of texts a second, so that a recall may wait for it."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text, in order; a text without words gets a zero vector.

        Texts over the model's limit are truncated, never rejected.
        """

    def embed_query(self, text: str) -> Vector:
        """Return the query vector of `text`, to compare with document vectors."""


def embedder_for(
    spec: str,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    api_key_env: str | None = None,
) -> Embedder | None:
    """Return the embedder that `spec` names; None for 'none'. Nothing is loaded or sent before
    first use.

    The identity of a local embedder is a valid spec, so a store can find the model that made its
    vectors.
    """
    match _LOCAL.get(spec, spec):
        case "none":
            return None
        case "static" | "potion" as name:
            # Numpy loads on first use.
            from .static import StaticEmbedder  # noqa: PLC0415

            return StaticEmbedder(packs.STATIC if name == "static" else packs.EARLIER_STATIC)
        case "encoder" | "arctic" as name:
            from .onnx import OnnxEmbedder, check_installed  # noqa: PLC0415

            check_installed()
            return OnnxEmbedder(packs.ENCODER if name == "encoder" else packs.EARLIER_ENCODER)
        case "fake" | "fake:bag-of-words":
            from ..fake import FakeEmbedder  # noqa: PLC0415

            return FakeEmbedder()
    provider, _, model = spec.partition(":")
    if not provider or not model or provider in ("local", "fake"):
        raise InvalidInput(f"Unknown embedder {spec!r}. Use {VALID_SPECS}.")
    from .remote import RemoteEmbedder  # noqa: PLC0415

    return RemoteEmbedder(
        provider, model, environ=environ, base_url=base_url, api_key_env=api_key_env
    )
