"""Stored messages of conversations: what is stored, where a history may be cut, and pruning.

Messages are handled as JSON, so that commands which only list sessions load no framework.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..client import Holdfast
from ..ingest.sanitize import guard_data
from ..ingest.session_log import surplus
from ..types import Session

T = TypeVar("T")
Body = Mapping[str, Any]
INTERACTIVE = "interactive"
# Characters of a conversation's first line in a list.
PREVIEW = 80
# System prompts are generated for every run from the current role, so they are not stored.
_NOT_KEPT = ("system-prompt", "instruction")
_SAID = ("content", "args")
_SPEAKERS = {"user-prompt": "user", "text": "assistant"}


def new_session_id() -> str:
    """Return twelve hex digits."""
    return secrets.token_hex(6)


def kept(messages: Sequence[Body]) -> list[Body]:
    """Prepare messages for storage: no system prompts, no secrets; empty requests are dropped."""
    stored: list[Body] = []
    for message in messages:
        parts = [
            _guarded(part)
            for part in message["parts"]
            if not part["part_kind"].startswith(_NOT_KEPT)
        ]
        if not parts and message["kind"] == "request":
            continue
        entry = {**message, "parts": parts}
        # Instructions are part of the system prompt, which is generated for every run.
        if "instructions" in message:
            entry["instructions"] = None
        stored.append(entry)
    return stored


def _guarded(part: Body) -> Body:
    """Redact secrets in the text of a part. Ids and signatures look like secrets but are not."""
    guarded = dict(part)
    for key in _SAID:
        if key in guarded:
            guarded[key] = _guarded_said(guarded[key], key)
    return guarded


def _guarded_said(value: Any, name: str) -> Any:
    if not isinstance(value, list):
        return guard_data(value, name=name)
    guarded = []
    for one in value:
        if _is_complaint(one):
            guarded.append(_guarded_complaint(one))
        else:
            guarded.append(guard_data(one, name=name))
    return guarded


def _is_complaint(value: Any) -> bool:
    """Whether this is a validation error of tool arguments, with location and input."""
    return isinstance(value, Mapping) and {"loc", "input"} <= value.keys() and bool(value["loc"])


def _guarded_complaint(complaint: Mapping[str, Any]) -> Any:
    """Redact the input of an error together with its argument name, which helps to detect
    secrets.
    """
    name = str(complaint["loc"][-1])
    redacted = guard_data({name: complaint["input"]}, name="input")
    return {
        **guard_data({**complaint, "input": None}, name="content"),
        "input": next(iter(redacted.values())),
    }


def trimmed(
    messages: Sequence[T],
    most: int,
    opens: Callable[[T], bool],
    answers: Callable[[T], bool],
) -> list[T]:
    """Return at most `most` last messages, starting with a valid first one.

    A history must not begin with an answer or with the result of an earlier tool call. If a single
    turn is longer, keep its prompt and as much of its end as fits.
    """
    last = list(messages[-most:])
    first = next((at for at, message in enumerate(last) if opens(message)), None)
    if first is not None:
        return last[first:]
    prompt = next((message for message in reversed(messages) if opens(message)), None)
    end = next((last[at:] for at in range(1, len(last)) if answers(last[at])), [])
    return [prompt, *end] if prompt is not None and end else []


def opens(message: Body) -> bool:
    """Whether a stored message is a user prompt."""
    return message["kind"] == "request" and any(
        part["part_kind"] == "user-prompt" for part in message["parts"]
    )


def answers(message: Body) -> bool:
    """Whether a stored message is the model's."""
    return bool(message["kind"] == "response")


def of_agent(
    hf: Holdfast,
    agent: str,
    mode: str = INTERACTIVE,
) -> list[Session]:
    """Sessions of an agent, most recently active first."""
    return [
        one
        for one in hf.sessions.list()
        if one.agent == agent and one.metadata.get("mode", INTERACTIVE) == mode
    ]


def latest(
    hf: Holdfast,
    agent: str,
    most: int,
) -> list[Body] | None:
    """Return the end of the agent's latest resumable conversation, or None."""
    for session in of_agent(hf, agent):
        window = [message.body for message in hf.sessions.messages(session.id, last=most)]
        # One long turn: its prompt is further back.
        if not any(map(opens, window)):
            window = [message.body for message in hf.sessions.messages(session.id)]
        if gone_on_with := trimmed(window, most, opens, answers):
            return gone_on_with
    return None


def prune(
    hf: Holdfast,
    agent: str,
    keep: int,
) -> int:
    """Delete an agent's oldest sessions beyond `keep` per mode; return their number."""
    sessions = [one for one in hf.sessions.list() if one.agent == agent]
    modes = {one.metadata.get("mode", INTERACTIVE) for one in sessions}
    going: list[str] = []
    for mode in modes:
        going += [one.id for one in surplus(of_agent(hf, agent, mode), keep, hf.clock())]
    hf.sessions.purge(*going)
    return len(going)


def said(messages: Sequence[Body]) -> Iterator[tuple[str, str]]:
    """Yield speaker and text of these messages: `user` or `assistant`. Tool messages are
    skipped.
    """
    for message in messages:
        for part in message["parts"]:
            who = _SPEAKERS.get(part["part_kind"])
            if who and isinstance(part["content"], str) and part["content"].strip():
                yield who, part["content"]


def prompts(messages: Sequence[Body]) -> Iterator[str]:
    """Yield the user's prompts in these messages."""
    return (words for who, words in said(messages) if who == "user")


def preview(messages: Sequence[Body]) -> str:
    """First line of a conversation, shortened."""
    first = next(prompts(messages), "")
    return " ".join(first.split())[:PREVIEW] or "Untitled"
