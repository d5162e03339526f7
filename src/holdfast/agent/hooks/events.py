"""What Claude Code and Codex tell a hook, and what they take for an answer. Both speak the same JSON.

A host sends one object on stdin: `session_id`, `transcript_path` (Codex may send null), `cwd`, `hook_event_name`, and
what the event adds, such as `source` for SessionStart and `prompt` for UserPromptSubmit. It takes one object from
stdout. Codex refuses an object with a key that it does not know for the event, so an answer without context is the
empty object.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

TOOLS = {"claude-code": "Claude Code", "codex": "Codex"}
"""The tools that hooks can be installed for, and what people call them."""
START, PROMPT = "SessionStart", "UserPromptSubmit"
OVER = "SessionEnd"
AFTER = ("PreCompact", "Stop", OVER)
"""Events after which the transcript is worth reading."""
EVENTS = (START, PROMPT, *AFTER)
"""The events that we are installed for."""
EXEC = "exec"  # no event of a host: `holdfast exec` does the same before a command, and is in no hurry
EMPTY = "{}"
# Claude Code puts what is longer than 10,000 characters into a file, Codex what is longer than 2,500 tokens, and the
# model sees a preview of it.
MOST_CHARACTERS = 9_500
MOST_TOKENS = 2_000


class Call(NamedTuple):
    """What a host said. Everything may be missing: hosts change, and a hook must not mind."""

    event: str
    session: str = ""
    cwd: str = ""
    transcript: str = ""
    prompt: str = ""
    source: str = ""


def read_call(text: str | bytes, event: str) -> Call:
    """What the JSON of a host says about `event`; ValueError when it is no JSON object."""
    said = json.loads(text)
    if not isinstance(said, dict):
        raise ValueError("the host sent no JSON object")
    return Call(
        event,
        session=_text(said, "session_id"),
        cwd=_text(said, "cwd"),
        transcript=_text(said, "transcript_path"),
        prompt=_text(said, "prompt"),
        source=_text(said, "source"),
    )


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def answer_with(event: str, context: str) -> str:
    """The answer that puts `context` before the model; the empty one when there is none."""
    if not context or len(context) > MOST_CHARACTERS:
        return EMPTY
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})
