"""What coding agents tell a hook, and what they take for an answer.

A host sends one object on stdin: `session_id`, `transcript_path` (Codex may send null), `cwd`,
`hook_event_name`, and what the event adds, such as `source` for SessionStart and `prompt` for
UserPromptSubmit. It takes one object from stdout. Codex refuses an object with a key that it does
not know for the event, so an answer without context is the empty object.

That is the JSON of Claude Code and Codex. `DIALECTS` says where other agents differ: Gemini CLI has
other names for the events and counts milliseconds; Cursor calls a session a conversation, names the
folders of the workspace instead of one, and takes `additional_context`; opencode has plugins in
place of hooks, and ours (`opencode_plugin.js`) speaks like Claude Code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

START = "SessionStart"
PROMPT = "UserPromptSubmit"
OVER = "SessionEnd"
AFTER = ("PreCompact", "Stop", OVER)
"""Events after which the transcript is worth reading."""
EVENTS = (START, PROMPT, *AFTER)
"""The events that we are installed for."""
# No host event: `holdfast agent exec` does it before a command, without a deadline.
EXEC = "exec"
EMPTY = "{}"
# Seconds that we ask a host to wait for a hook; Codex allows no more at the end of a session.
TIMEOUT = 3
SHOWS_MESSAGES = ("claude-code", "gemini-cli")
"""Tools that show `systemMessage` to the person, whatever the event. Codex refuses keys that it
does not expect.
"""
WAS_LATE = (
    "Holdfast was late, so this was not told all that may help. `holdfast hook status` "
    "says how often that is."
)
# Claude Code puts what is longer than 10,000 characters into a file, Codex what is longer than
# 2,500 tokens, and the model sees a preview of it.
MOST_CHARACTERS = 9_500
MOST_TOKENS = 2_000


_SAME_NAMES = MappingProxyType({event: event for event in EVENTS})


class Dialect(NamedTuple):
    """How a tool writes hooks in its configuration, and takes their answers."""

    names: Mapping[str, str] = _SAME_NAMES
    """What the tool calls each of our events."""
    timeout: int | None = TIMEOUT
    """The time that we ask the tool to wait, in the tool's unit; None for what it waits anyway."""
    grouped: bool = True
    """Whether an event has groups of commands; otherwise it has the commands themselves."""
    new_file: str = ""
    """What a configuration file starts with, where an empty one is not enough."""
    nested_answer: bool = True
    """Whether the answer is in `hookSpecificOutput`; otherwise it is `additional_context`."""


DIALECTS = {
    "gemini-cli": Dialect(
        names={
            START: START,
            PROMPT: "BeforeAgent",
            "PreCompact": "PreCompress",
            "Stop": "AfterAgent",
            OVER: OVER,
        },
        timeout=TIMEOUT * 1000,
    ),
    "cursor": Dialect(
        names={
            START: "sessionStart",
            PROMPT: "beforeSubmitPrompt",
            "PreCompact": "preCompact",
            "Stop": "stop",
            OVER: "sessionEnd",
        },
        # Descriptions of the unit differ. A hook ends by itself in time.
        timeout=None,
        grouped=False,
        new_file='{\n  "version": 1\n}\n',
        nested_answer=False,
    ),
    # Our plugin asks by our names. A database holds all sessions of opencode, and reading one means
    # to copy it, so that is not done after every turn.
    "opencode": Dialect(names={event: event for event in EVENTS if event != "Stop"}),
}


def dialect(tool: str) -> Dialect:
    """How a tool speaks; like Claude Code, if nothing else is known."""
    return DIALECTS.get(tool, Dialect())


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
        session=_text(said, "session_id") or _text(said, "conversation_id"),
        cwd=_text(said, "cwd") or _first_text(said, "workspace_roots"),
        transcript=_text(said, "transcript_path"),
        prompt=_text(said, "prompt"),
        source=_text(said, "source"),
    )


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _first_text(said: dict[str, Any], name: str) -> str:
    values = said.get(name)
    first = values[0] if isinstance(values, list) and values else ""
    return first if isinstance(first, str) else ""


def answer_with(
    event: str,
    context: str,
    tool: str = "",
) -> str:
    """The answer that puts `context` before the model; the empty one when there is none."""
    if not context or len(context) > MOST_CHARACTERS:
        return EMPTY
    return json.dumps(_with_context(event, context, tool))


def late_answer(
    event: str,
    context: str,
    tool: str,
) -> str:
    """The answer when the rest was not ready in time: `context`, and for tools that show it a word
    to the person.
    """
    told = _with_context(event, context, tool)
    return json.dumps({**told, "systemMessage": WAS_LATE} if tool in SHOWS_MESSAGES else told)


def _with_context(
    event: str,
    context: str,
    tool: str,
) -> dict[str, Any]:
    spoken = dialect(tool)
    if spoken.nested_answer:
        name = spoken.names[event]
        return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
    # Cursor asks before a prompt whether to go on.
    return {**({"continue": True} if event == PROMPT else {}), "additional_context": context}
