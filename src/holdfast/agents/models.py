"""Language models of a role, with advice if something is missing."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_ai.models import Model as AnyModel
from pydantic_ai.providers import infer_provider_class

from ..errors import InvalidInput, MissingKey
from ..models.llm.chat import chat_model
from .role import OFFLINE, Model, Role

_NO_KEY_NEEDED = (
    "To use a local model instead, set spec.model to {provider: ollama, name: llama3.2} or to "
    "an OpenAI-compatible base_url; {provider: offline} answers from memory without any model."
)


def answering(role: Role, environ: Mapping[str, str]) -> AnyModel:
    """Create the model of a role. Sends nothing; raises here if a key is missing."""
    try:
        return resolve(role.spec.model, environ)
    except MissingKey as error:
        raise MissingKey(
            f"{error} spec.model.api_key_env in {role.file.name} names another variable. "
            f"{_NO_KEY_NEEDED}"
        ) from error
    except InvalidInput as error:
        raise InvalidInput(f"spec.model in {role.file.name}: {error} {_NO_KEY_NEEDED}") from error


def consolidating(role: Role, environ: Mapping[str, str]) -> AnyModel:
    """Create the model that consolidates a role's episodes: its own, unless it names another."""
    override = role.spec.memory.consolidation.model_override if role.spec.memory else None
    if not override:
        return answering(role, environ)
    try:
        return resolve(_overriding(role.spec.model, override), environ)
    except (MissingKey, InvalidInput) as error:
        raise type(error)(
            f"spec.memory.consolidation.model_override in {role.file.name} is {override}: "
            f"{error} Without it the agent's own model consolidates."
        ) from error


def _overriding(own: Model, override: str) -> Model:
    """Parse a model override: of another provider, or of the same, whose names may contain
    colons.
    """
    provider, _, name = override.partition(":")
    if provider == OFFLINE or (
        name and provider != own.provider and _names_provider(provider, own)
    ):
        return Model(provider=provider, name=name)
    return own.model_copy(update={"name": name if provider == own.provider and name else override})


def _names_provider(word: str, own: Model) -> bool:
    """Whether the word before a colon is a provider, possibly misspelt, rather than part of a model
    name.
    """
    try:
        infer_provider_class(word)
    except ImportError:  # a provider that needs an optional package
        return True
    except ValueError:
        tagged = own.provider == "ollama" or own.base_url  # its models are called llama3.2:3b
        return not tagged and word != "ft" and word.replace("-", "").isalpha()
    return True


def resolve(wanted: Model, environ: Mapping[str, str]) -> AnyModel:
    """Create the model: built in, behind an OpenAI-compatible URL, or any that pydantic-ai
    knows.
    """
    if wanted.provider == OFFLINE:
        # Imported here because the scripted model is rarely needed.
        from .offline_model import offline_model  # noqa: PLC0415

        return offline_model()
    return chat_model(
        wanted.provider,
        wanted.name,
        base_url=wanted.base_url,
        key=_key(wanted, environ),
    )


def _key(wanted: Model, environ: Mapping[str, str]) -> str | None:
    if not wanted.api_key_env:
        return None
    if key := environ.get(wanted.api_key_env, "").strip():
        return key
    raise MissingKey(
        f"Environment variable {wanted.api_key_env} with the key for {wanted.provider} is "
        f"not set. Set it, e.g. `export {wanted.api_key_env}=…`."
    )
