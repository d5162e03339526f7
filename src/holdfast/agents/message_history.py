"""Conversations on disk: what is kept of each message, where a history may be cut, and which
sessions go.

Messages are handled here as JSON, so that commands which only look at sessions load no framework.
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
PREVIEW = 80
# What the role and the framework say to the model is said anew each time, by the role as it is
# then.
_NOT_KEPT = ("system-prompt", "instruction")
_SAID = ("content", "args")
_SPEAKERS = {"user-prompt": "user", "text": "assistant"}


def new_session_id() -> str:
    """Twelve hex digits."""
    return secrets.token_hex(6)


def kept(messages: Sequence[Body]) -> list[Body]:
    """Messages as they are stored: without system prompts and secrets; a request that had nothing
    else is left out.
    """
    stored: list[Body] = []
    for message in messages:
        parts = [
            _guarded(part)
            for part in message["parts"]
            if not part["part_kind"].startswith(_NOT_KEPT)
        ]
        if parts or message["kind"] != "request":
            stored.append(
                {**message, "parts": parts}
                | ({"instructions": None} if "instructions" in message else {})
            )
    return stored


def _guarded(part: Body) -> Body:
    """A part with the secrets in what was said taken out; ids and signatures look like secrets but
    are none.
    """
    return {
        key: _guarded_said(value, key) if key in _SAID else value for key, value in part.items()
    }


def _guarded_said(value: Any, name: str) -> Any:
    if not isinstance(value, list):
        return guard_data(value, name=name)
    return [
        _guarded_complaint(one) if _is_complaint(one) else guard_data(one, name=name)
        for one in value
    ]


def _is_complaint(value: Any) -> bool:
    """Whether this is what a model is told about arguments it got wrong: what was wrong, and
    where.
    """
    return isinstance(value, Mapping) and {"loc", "input"} <= value.keys() and bool(value["loc"])


def _guarded_complaint(complaint: Mapping[str, Any]) -> Any:
    """A value is judged together with the name it was given under, here as anywhere."""
    name = str(complaint["loc"][-1])
    told = guard_data({name: complaint["input"]}, name="input")
    return {
        **guard_data({**complaint, "input": None}, name="content"),
        "input": next(iter(told.values())),
    }


def trimmed(
    messages: Sequence[T], most: int, opens: Callable[[T], bool], answers: Callable[[T], bool]
) -> list[T]:
    """The last messages, `most` of them at most, from one on that may stand at the beginning.

    A history may not begin with an answer, nor with the result of a tool that was called before the
    cut. A single turn may be longer than that, with all the tools it called: then its prompt stays,
    and as much of its end as fits.
    """
    last = list(messages[-most:])
    first = next((at for at, message in enumerate(last) if opens(message)), None)
    if first is not None:
        return last[first:]
    prompt = next((message for message in reversed(messages) if opens(message)), None)
    end = next((last[at:] for at in range(1, len(last)) if answers(last[at])), [])
    return [prompt, *end] if prompt is not None and end else []


def opens(message: Body) -> bool:
    """Whether a stored message is a request in which a person says something."""
    return message["kind"] == "request" and any(
        part["part_kind"] == "user-prompt" for part in message["parts"]
    )


def answers(message: Body) -> bool:
    """Whether a stored message is the model's."""
    return bool(message["kind"] == "response")


def of_agent(hf: Holdfast, agent: str, mode: str = INTERACTIVE) -> list[Session]:
    """The sessions of an agent, the most recently active first."""
    return [
        one
        for one in hf.sessions()
        if one.agent == agent and one.metadata.get("mode", INTERACTIVE) == mode
    ]


def latest(hf: Holdfast, agent: str, most: int) -> list[Body] | None:
    """The end of the agent's most recent conversation, None when there is none that could be gone
    on with.
    """
    for session in of_agent(hf, agent):
        window = [message.body for message in hf.messages(session.id, last=most)]
        # One long turn: where it began lies further back.
        if not any(map(opens, window)):
            window = [message.body for message in hf.messages(session.id)]
        if gone_on_with := trimmed(window, most, opens, answers):
            return gone_on_with
    return None


def prune(hf: Holdfast, agent: str, keep: int) -> int:
    """Removes an agent's oldest sessions beyond `keep` of each mode, and says how many."""
    modes = {one.metadata.get("mode", INTERACTIVE) for one in hf.sessions() if one.agent == agent}
    going = [
        one.id for mode in modes for one in surplus(of_agent(hf, agent, mode), keep, hf.clock())
    ]
    hf.purge_sessions(*going)
    return len(going)


def said(messages: Sequence[Body]) -> Iterator[tuple[str, str]]:
    """Who said what in these messages, in order: the `user`, or the agent as `assistant`. Tools say
    nothing.
    """
    for message in messages:
        for part in message["parts"]:
            who = _SPEAKERS.get(part["part_kind"])
            if who and isinstance(part["content"], str) and part["content"].strip():
                yield who, part["content"]


def prompts(messages: Sequence[Body]) -> Iterator[str]:
    """What a person said in these messages, in order."""
    return (words for who, words in said(messages) if who == "user")


def preview(messages: Sequence[Body]) -> str:
    """What a conversation is about, in one short line: how it began."""
    first = next(prompts(messages), "")
    return " ".join(first.split())[:PREVIEW] or "Untitled"
