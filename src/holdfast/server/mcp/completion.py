"""Completion of what a person types: arguments of prompts, and parts of a memory's URL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...client import Holdfast
from ...errors import InvalidInput
from ...types import KINDS
from .prompts import PROMPTS
from .resources import TEMPLATES, skills

MOST = 100
"""Values in one answer, as many as the protocol allows."""
# Arguments of prompts that are about something with a name.
TOPICS = {"topic", "focus"}


def complete(hf: Holdfast, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may follow; InvalidInput for a prompt, a template or an argument that is unknown.

    Values that begin with what was typed, in any case; names that are mentioned most come first.
    """
    ref = params.get("ref") or {}
    argument = params.get("argument") or {}
    name = str(argument.get("name", ""))
    typed = str(argument.get("value", "")).casefold()
    known = _prompt_values if ref.get("type") == "ref/prompt" else _template_values
    values = [
        value for value in dict.fromkeys(known(hf, ref, name)) if value.casefold().startswith(typed)
    ]
    return {"values": values[:MOST], "total": len(values), "hasMore": len(values) > MOST}


def _prompt_values(
    hf: Holdfast,
    ref: Mapping[str, Any],
    name: str,
) -> Iterable[str]:
    prompt = next((one for one in PROMPTS if one["name"] == ref.get("name")), None)
    if prompt is None or name not in {one["name"] for one in prompt["arguments"]}:
        raise InvalidInput(f"There is no prompt {ref.get('name')!r} with an argument {name!r}.")
    return (entity.name for entity in hf.entities.list(limit=None)) if name in TOPICS else ()


def _template_values(
    hf: Holdfast,
    ref: Mapping[str, Any],
    name: str,
) -> Iterable[str]:
    template = str(ref.get("uri", ""))
    if template not in {one["uriTemplate"] for one in TEMPLATES} or f"{{{name}}}" not in template:
        raise InvalidInput(f"There is no template {template!r} with a part {name!r}.")
    match name:
        case "scope":
            return map(str, hf.scopes)
        case "kind":
            return KINDS
        case "id":
            return (memory.id for memory in hf.list(limit=MOST))
        case _:
            return skills(hf)
