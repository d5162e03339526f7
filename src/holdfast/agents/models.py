"""From what a role says about its model to a model that answers, or to words that say what is
missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_ai.models import Model as AnyModel
from pydantic_ai.providers import infer_provider_class

from ..errors import InvalidInput, MissingKey
from ..models.llm.chat import chat_model
from .role import OFFLINE, Model, Role

_NO_KEY_NEEDED = (
    "To use a local model instead, set spec.model to {provider: ollama, name: llama3.2} or to an "
    "OpenAI-compatible "
    "base_url; {provider: offline} answers from memory without any model."
)


def answering(role: Role, environ: Mapping[str, str]) -> AnyModel:
    """The model that a role talks with. Nothing is sent; a key that is missing is named here,
    before any work.
    """
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
    """The model that turns a role's episodes into facts: its own, unless it names another."""
    override = role.spec.memory.consolidation.model_override if role.spec.memory else None
    if not override:
        return answering(role, environ)
    try:
        return resolve(_overriding(role.spec.model, override), environ)
    except (MissingKey, InvalidInput) as error:
        raise type(error)(
            f"spec.memory.consolidation.model_override in {role.file.name} is {override}: {error} "
            "Without it the "
            "agent's own model consolidates."
        ) from error


def _overriding(own: Model, override: str) -> Model:
    """The model that is named instead: of another provider, or of the same, whose names may have
    colons too.
    """
    provider, _, name = override.partition(":")
    if provider == OFFLINE or (
        name and provider != own.provider and _names_provider(provider, own)
    ):
        return Model(provider=provider, name=name)
    return own.model_copy(update={"name": name if provider == own.provider and name else override})


def _names_provider(word: str, own: Model) -> bool:
    """Whether a word before a colon is a provider, perhaps a misspelt one, rather than a part of a
    model's name.
    """
    try:
        infer_provider_class(word)
    except ImportError:  # one that needs another package
        return True
    except ValueError:
        tagged = own.provider == "ollama" or own.base_url  # whose models are called llama3.2:3b
        return not tagged and word != "ft" and word.replace("-", "").isalpha()
    return True


def resolve(wanted: Model, environ: Mapping[str, str]) -> AnyModel:
    """The model that is meant: built in, behind an OpenAI-compatible address, or any that
    pydantic-ai knows.
    """
    if wanted.provider == OFFLINE:
        # What is scripted is rarely needed beside a real model.
        from .offline_model import offline_model  # noqa: PLC0415

        return offline_model()
    return chat_model(
        wanted.provider, wanted.name, base_url=wanted.base_url, key=_key(wanted, environ)
    )


def _key(wanted: Model, environ: Mapping[str, str]) -> str | None:
    if not wanted.api_key_env:
        return None
    if key := environ.get(wanted.api_key_env, "").strip():
        return key
    raise MissingKey(
        f"The key for {wanted.provider} is to be in {wanted.api_key_env}, which is not set. Set "
        "it, e.g. "
        f"`export {wanted.api_key_env}=…`."
    )
