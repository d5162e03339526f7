"""Prompts that a person picks in a client: recall, remember, handoff."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...client import Holdfast
from ...context.blocks import join_blocks
from ...errors import InvalidInput

PROMPTS: list[dict[str, Any]] = [
    {
        "name": "recall",
        "title": "What do we know about this?",
        "description": "Puts what is remembered about a topic before the model.",
        "arguments": [
            {"name": "topic", "description": "A question, a task or a few words.", "required": True}
        ],
    },
    {
        "name": "remember",
        "title": "Remember this",
        "description": "Has the model store something, compared with what is known.",
        "arguments": [{"name": "what", "description": "What to remember.", "required": True}],
    },
    {
        "name": "handoff",
        "title": "Hand over to the next session",
        "description": (
            "Has the model store what the next session must know: decisions, open "
            "ends, how to go on."
        ),
        "arguments": [
            {
                "name": "focus",
                "description": "What the next session will be about.",
                "required": False,
            }
        ],
    },
]
WORDING = Path(__file__).parent / "wording"


def got(
    hf: Holdfast,
    name: str,
    arguments: Mapping[str, str],
) -> dict[str, Any]:
    """Return a prompt with its arguments; InvalidInput if it is unknown or lacks an argument."""
    prompt = next((one for one in PROMPTS if one["name"] == name), None)
    if prompt is None:
        raise InvalidInput(
            f"There is no prompt {name!r}. There are: {', '.join(one['name'] for one in PROMPTS)}."
        )
    for one in prompt["arguments"]:
        if one["required"] and not arguments.get(one["name"]):
            raise InvalidInput(f"The prompt {name} needs {one['name']}.")
    content = {"type": "text", "text": _filled(hf, name, arguments)}
    return {
        "description": prompt["description"],
        "messages": [{"role": "user", "content": content}],
    }


def _filled(
    hf: Holdfast,
    name: str,
    arguments: Mapping[str, str],
) -> str:
    if name == "remember":
        return _wording(name).format(what=arguments["what"])
    if name == "handoff":
        focus = arguments.get("focus", "").strip()
        return _wording(name).format(
            focus=f"; the next one will be about: {focus}" if focus else ""
        )
    known = hf.context(arguments["topic"])
    blocks = join_blocks(known.stable, known.turn)
    return f"{blocks or 'Nothing is remembered about that.'}\n\n{arguments['topic']}"


def _wording(name: str) -> str:
    return (WORDING / f"{name}.md").read_text("utf-8").strip()
