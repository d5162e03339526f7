"""Embedding models behind an HTTP API, through pydantic-ai."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import EmbedderError, InvalidInput, MissingExtra
from ...floats import legible
from ..llm.run_sync import wait_for
from .checks import blank, checked
from .providers import PROVIDERS, Provider

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings

# 6,000 characters stay below 8,192 tokens in any script, and 32 such texts below the request limit
# of 300,000 tokens.
MAX_CHARACTERS = 6_000
BATCH = 32
# Suffix with the vector length. Vertex uses @ for versions, but those start with a zero:
# textembedding-gecko@003.
_SHORTENED = re.compile(r"(?P<model>.+)@(?P<numbers>[1-9]\d{0,4})")

_HINT = (
    "Embedding keys may differ from the chat model's key (Anthropic, for one, has no embeddings "
    "API); "
    "api_key_env names another variable. To stay local and need no key, use 'static' or 'arctic'."
)


class RemoteEmbedder:
    """A model behind the API of OpenAI, Google or Ollama, or any OpenAI-compatible `base_url`.

    A model such as `text-embedding-3-large@256` is asked for vectors of that length; longer ones
    are truncated. Nothing is sent before the first text. Keys are read once, from `environ`, and
    never shown.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        environ: Mapping[str, str],
        base_url: str | None = None,
        api_key_env: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
    ) -> None:
        """Prepare the client without sending anything.

        Raises EmbedderError without a key, MissingExtra without the package, InvalidInput for an
        unknown provider without a URL.
        """
        _need_package("pydantic_ai")
        shortened = _SHORTENED.fullmatch(model)
        self._provider = provider
        self._model_name = shortened["model"] if shortened else model
        self._base_url = base_url or _known(provider).base_url
        self._key = _api_key(
            provider, environ, custom=base_url is not None, api_key_env=api_key_env
        )
        self._timeout = timeout
        self._retries = retries
        self.identity = _identity(provider, model, base_url)
        self.quick = False
        self.dimensions: int | None = int(shortened["numbers"]) if shortened else None
        self._wanted = self.dimensions

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; blank texts get zero vectors and are not sent."""
        return self._embed(texts, "document")

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the query vector of `text`."""
        return self._embed([text], "query").ravel()

    def _embed(
        self, texts: Sequence[str], kind: Literal["query", "document"]
    ) -> NDArray[np.float32]:
        empty = blank(texts)
        wanted = [
            legible(text, MAX_CHARACTERS)
            for text, skip in zip(texts, empty, strict=True)
            if not skip
        ]
        rows = [self._ask(wanted[at : at + BATCH], kind) for at in range(0, len(wanted), BATCH)]
        if len(texts) and self.dimensions is None:
            # Only blank texts so far: one request is needed to learn the length of a zero vector.
            self._ask(["dimensions"], "document")
        matrix = np.zeros((len(texts), self.dimensions or 0), dtype=np.float32)
        if rows:
            matrix[~empty] = np.concatenate(rows)
        return matrix

    def _ask(self, texts: list[str], kind: Literal["query", "document"]) -> NDArray[np.float32]:
        try:
            model = self._model
            # The client has its own timeout and retries; this one stops a request that never ends.
            patience = (self._timeout + 10) * (self._retries + 1)
            wanted: EmbeddingSettings = {"dimensions": self._wanted} if self._wanted else {}
            answer = wait_for(
                model.embed(texts, input_type=kind, settings=wanted), timeout=patience
            )
        except MissingExtra:
            raise
        except Exception as error:
            # The errors of the HTTP, JSON and SDK libraries have no common base class.
            raise EmbedderError(f"{self.identity} failed: {self._without_key(error)}") from error
        embeddings = [row[: self._wanted] for row in answer.embeddings]
        rows = checked(
            embeddings, count=len(texts), dimensions=self.dimensions, identity=self.identity
        )
        self.dimensions = rows.shape[1]
        return rows

    def _without_key(self, error: Exception) -> str:
        message = str(error) or type(error).__name__
        return message.replace(self._key, "[key]")[:500]

    @cached_property
    def _model(self) -> EmbeddingModel:
        if self._provider == "google":
            return self._google()
        return self._openai()

    def _openai(self) -> EmbeddingModel:
        _need_package("openai")
        # Deferred imports of an optional extra.
        from openai import AsyncOpenAI  # noqa: PLC0415
        from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel  # noqa: PLC0415
        from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

        client = AsyncOpenAI(
            base_url=self._base_url,
            api_key=self._key,
            timeout=self._timeout,
            max_retries=self._retries,
        )
        return OpenAIEmbeddingModel(self._model_name, provider=OpenAIProvider(openai_client=client))

    def _google(self) -> EmbeddingModel:
        _need_package("google.genai")
        # Deferred imports of an optional extra.
        from google.genai import Client  # noqa: PLC0415
        from google.genai.types import HttpOptions, HttpRetryOptions  # noqa: PLC0415
        from pydantic_ai.embeddings.google import GoogleEmbeddingModel  # noqa: PLC0415
        from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

        options = HttpOptions(
            base_url=self._base_url,
            timeout=int(self._timeout * 1000),
            retry_options=HttpRetryOptions(attempts=self._retries + 1),
        )
        client = Client(
            vertexai=False,
            api_key=self._key,
            http_options=options,
        )
        return GoogleEmbeddingModel(self._model_name, provider=GoogleProvider(client=client))


def _need_package(name: str) -> None:
    try:
        found = find_spec(name)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise MissingExtra(f"Remote embedders need {name}: pip install 'holdfast-memory[llm]'")


def _known(provider: str) -> Provider:
    try:
        return PROVIDERS[provider]
    except KeyError:
        raise InvalidInput(
            f"Unknown embedding provider {provider!r}. Use one of {', '.join(PROVIDERS)}, or pass "
            "base_url, "
            "the address of an OpenAI-compatible server."
        ) from None


def _api_key(
    provider: str,
    environ: Mapping[str, str],
    *,
    custom: bool,
    api_key_env: str | None,
) -> str:
    if custom and not api_key_env:
        # Clients require a key, and a known provider's key must not be sent to another server.
        return "custom-provider"
    variable = api_key_env or _known(provider).key_env
    if not variable:
        return _known(provider).key
    if key := environ.get(variable, "").strip():
        return key
    raise EmbedderError(f"Embedding with {provider} needs an API key: set {variable}. {_HINT}")


def _identity(
    provider: str,
    model: str,
    base_url: str | None,
) -> str:
    if base_url is None:
        return f"{provider}:{model}"
    return f"{provider}:{model}:{hashlib.sha256(base_url.encode()).hexdigest()[:8]}"
