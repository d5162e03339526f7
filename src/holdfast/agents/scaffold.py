"""Create a role file from a template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from ..errors import InvalidInput, Refused
from .role import NAME, OFFLINE

TEMPLATES = ("memory", "daemon", "basic")
# The first provider with a key; otherwise the scripted agent, which needs none.
_MODELS: Mapping[str, tuple[str, str]] = {
    "openai": ("OPENAI_API_KEY", "gpt-5-mini"),
    "anthropic": ("ANTHROPIC_API_KEY", "claude-sonnet-4-5"),
    "google": ("GOOGLE_API_KEY", "gemini-2.5-flash"),
    "ollama": ("", "llama3.2"),
}
# Words with a special meaning in YAML.
_WORDS = (
    "null",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
)


def write_role(
    path: Path,
    *,
    name: str,
    template: str = "memory",
    provider: str = "",
    model: str = "",
    environ: Mapping[str, str],
    force: bool = False,
) -> str:
    """Write a role file that runs at once and return its provider: the named one, or one whose key
    is set.

    An existing file is kept unless forced.
    """
    if not re.fullmatch(NAME, name):
        raise InvalidInput(f"Invalid name {name!r}: use lower-case letters, digits, '-' and '_'.")
    if template not in TEMPLATES:
        raise InvalidInput(f"Unknown template {template!r}. Use one of: {', '.join(TEMPLATES)}.")
    if path.exists() and not force:
        raise Refused(
            f"{path} already exists. Write elsewhere with --output, or overwrite it with --force."
        )
    chosen = provider or _with_key(environ)
    text = (files(__package__) / "templates" / f"{template}.yaml").read_text("utf-8")
    filled = text.replace("{name}", _quoted(name)).replace("{model}", _model_lines(chosen, model))
    try:
        path.write_text(filled, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"Cannot write {path}: {error.strerror}.") from error
    return chosen


def _with_key(environ: Mapping[str, str]) -> str:
    return next(
        (one for one, (variable, _) in _MODELS.items() if variable and environ.get(variable)),
        OFFLINE,
    )


def _model_lines(provider: str, model: str) -> str:
    if provider == OFFLINE:
        return (
            "    provider: offline        # answers from memory, no model; or openai, "
            "anthropic, google, ollama, …"
        )
    name = model or _MODELS.get(provider, ("", ""))[1]
    if not name:
        raise InvalidInput(f"Which model of {provider}? Name it with --model.")
    return f"    provider: {_quoted(provider)}\n    name: {_quoted(name)}"


def _quoted(text: str) -> str:
    """Quote a text for YAML, so that 007 and null stay text."""
    return (
        text if re.fullmatch(r"[a-z][a-z0-9_-]*", text) and text not in _WORDS else json.dumps(text)
    )
