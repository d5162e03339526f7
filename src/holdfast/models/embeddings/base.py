"""Embedders: what they promise, and which one a spec names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ...errors import InvalidInput
from ...floats import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VALID_SPECS = (
    "'static' (local, fast), 'arctic' (local, better), 'none' (words only), 'fake' (tests), "
    "or 'provider:model' such as 'openai:text-embedding-3-small', 'google:gemini-embedding-001', "
    "'ollama:nomic-embed-text'; other providers need base_url, the address of an "
    "OpenAI-compatible server"
)
_LOCAL = {"local:potion-base-8M": "static", "local:arctic-embed-s": "arctic"}


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    Safe to call from several threads. Every failure is an EmbedderError; a vector of another length
    than `dimensions` is a DimensionMismatchError. The same text gets the same vector from a local
    embedder.
    """

    @property
    def identity(self) -> str:
        """Names the model that made a vector: `provider:model`, plus `:` and eight hex digits of
        the sha256 of the base URL where that is not the provider's own. Vectors of two identities
        never compare."""

    @property
    def dimensions(self) -> int | None:
        """The length of every vector; None for a remote model that has not answered yet."""

    @property
    def quick(self) -> bool:
        """Whether it does thousands of texts a second, so that a recall may wait for it."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, in order, each of length one; a text without words is a row of zeros.

        Texts over the model's limit are cut, never refused.
        """

    def embed_query(self, text: str) -> Vector:
        """The vector to compare with document vectors when looking for what answers `text`."""


def embedder_for(
    spec: str,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    api_key_env: str | None = None,
) -> Embedder | None:
    """The embedder that `spec` names, None for 'none'. Nothing is loaded or sent before its first
    use.

    The identity of a local embedder is a spec too, so a store can bring back the model that made
    its vectors.
    """
    match _LOCAL.get(spec, spec):
        case "none":
            return None
        case "static":
            # Numpy loads on first use.
            from .static import StaticEmbedder  # noqa: PLC0415

            return StaticEmbedder()
        case "arctic":
            from .onnx import OnnxEmbedder  # noqa: PLC0415

            return OnnxEmbedder()
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
