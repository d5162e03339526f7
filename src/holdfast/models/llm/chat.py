"""Language models: any provider that pydantic-ai supports, as a function from prompt to answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...errors import InvalidInput, MissingExtra, MissingKey, ModelFailed
from .run_sync import wait_for

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

Complete = Callable[[str], str]
"""Calls a model with a prompt and returns its text. Errors are raised."""
# Seconds to wait for one answer.
PATIENCE = 300.0
OLLAMA = "http://localhost:11434/v1"


def chat_model(
    provider: str,
    name: str,
    *,
    base_url: str | None = None,
    key: str | None = None,
) -> Model:
    """Return the model of a provider, or behind an OpenAI-compatible URL. Sends nothing.

    Without `key`, the provider reads its usual variable. Raises MissingKey with the name of the
    variable, InvalidInput for an unknown provider, MissingExtra without its package.
    """
    try:
        # Deferred imports of an optional extra.
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415
        from pydantic_ai.models import infer_model  # noqa: PLC0415

        if base_url or provider == "ollama":
            return _compatible(provider, name, base_url, key)
        try:
            return infer_model(
                f"{provider}:{name}", provider_factory=lambda known: _provider(known, key)
            )
        except UserError as error:
            raise _without_key(error, provider) from error
        except ValueError as error:
            # pydantic-ai raises ValueError for an unknown provider.
            raise InvalidInput(f"{error}.") from error
    except ImportError as error:
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra(
            f"Models of {provider} need another package: {error}. Try: "
            "pip install 'holdfast-memory[llm]'"
        ) from error


def completing(model: Model) -> Complete:
    """Return the model as a function from prompt to answer."""
    # Deferred import of an optional extra.
    from pydantic_ai import Agent  # noqa: PLC0415

    agent = Agent(model)

    def complete(prompt: str) -> str:
        return wait_for(agent.run(prompt), timeout=PATIENCE).output

    return complete


def complete_for(
    spec: str,
    *,
    environ: Mapping[str, str],
    base_url: str = "",
    key_env: str = "",
) -> Complete | None:
    """Return the model of a setting such as `openai:gpt-5-mini`, created on first use; None if the
    setting is empty.

    Calls raise ModelFailed if the model does not answer.
    """
    if not spec:
        return None
    _parts(spec)
    made: list[Complete] = []

    def complete(prompt: str) -> str:
        if not made:
            made.append(
                completing(
                    model_for(
                        spec,
                        environ=environ,
                        base_url=base_url,
                        key_env=key_env,
                    )
                )
            )
        try:
            return made[0](prompt)
        except Exception as error:
            # Errors of providers, their clients and pydantic-ai have no common base class.
            raise ModelFailed(f"{spec} did not answer: {error or type(error).__name__}") from error

    return complete


def model_for(
    spec: str,
    *,
    environ: Mapping[str, str],
    base_url: str = "",
    key_env: str = "",
) -> Model:
    """Return the model of a setting without sending anything; raises like `chat_model`."""
    provider, name = _parts(spec)
    key = _key(environ, key_env) if key_env else None
    return chat_model(provider, name, base_url=base_url or None, key=key)


def _parts(spec: str) -> tuple[str, str]:
    provider, _, name = spec.partition(":")
    if not name:
        raise InvalidInput(
            f"{spec!r} names no model. Write it as provider:name, such as openai:gpt-5-mini."
        )
    return provider, name


def _key(environ: Mapping[str, str], variable: str) -> str:
    if key := environ.get(variable, "").strip():
        return key
    raise MissingKey(
        f"The key is to be in {variable}, which is not set. Set it, e.g. `export {variable}=…`."
    )


def _provider(name: str, key: str | None) -> Provider[object]:
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415

    made = infer_provider_class(name)
    if key:
        return made(api_key=key)  # type: ignore[call-arg]
    return made()


def _compatible(
    provider: str,
    name: str,
    base_url: str | None,
    key: str | None,
) -> Model:
    # Deferred imports: they load a large client.
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    if provider == "ollama":
        return OpenAIChatModel(
            name, provider=OllamaProvider(base_url=base_url or OLLAMA, api_key=key or "ollama")
        )
    # Clients require a key, and a known provider's key must not be sent to another server.
    return OpenAIChatModel(
        name, provider=OpenAIProvider(base_url=base_url, api_key=key or "custom-provider")
    )


def _without_key(error: Exception, provider: str) -> InvalidInput | MissingKey:
    variable = re.search(r"`([A-Z][A-Z0-9_]*(?:KEY|TOKEN)[A-Z0-9_]*)`", str(error))
    if variable is None:
        return InvalidInput(str(error))
    name = variable[1]
    return MissingKey(f"No key for {provider}: set {name}, e.g. `export {name}=…`.", variable=name)
