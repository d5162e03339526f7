"""Providers of remote embedding models: URLs and the environment variables of their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Provider(NamedTuple):
    """Base URL of a provider and the variable with its key."""

    base_url: str
    key_env: str = ""
    key: str = ""


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "google": Provider("https://generativelanguage.googleapis.com", "GOOGLE_API_KEY"),
    "ollama": Provider("http://localhost:11434/v1", key="ollama"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
}
