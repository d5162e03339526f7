"""Requests and answers of chat completions and responses: what was said, and where memory goes.

A request is a JSON object that is changed in two places only; what is not known here is left alone.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...context.blocks import join_blocks
from ...context.session_context import Context

Body = Mapping[str, Any]
SYSTEM = ("system", "developer")
# Encodings that the standard library can read; a client's others are not offered to the upstream.
ENCODINGS = ("gzip", "deflate", "identity")
# `zlib` recognises gzip and deflate itself with this window size.
ANY_HEADER = 47


@dataclass(frozen=True, slots=True)
class Format:
    """One API: the name of its messages, and of a text in a message of several parts."""

    path: str
    messages: str
    text_type: str


CHAT = Format("chat/completions", "messages", "text")
RESPONSES = Format("responses", "input", "input_text")
FORMATS = {one.path: one for one in (CHAT, RESPONSES)}


def messages_of(api: Format, body: Body) -> list[Body]:
    """Return the messages of a request, oldest first; a plain `input` is one of the user."""
    given = body.get(api.messages)
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []


def text_of(content: Any) -> str:
    """Return the text of a message, without pictures and files."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def prompt_of(messages: Sequence[Body]) -> str:
    """Return what the user said last."""
    at = _last_user(messages)
    return "" if at is None else text_of(messages[at].get("content"))


def is_new(messages: Sequence[Body]) -> bool:
    """Whether the user has just spoken; otherwise the request continues after a tool call."""
    said = [one for one in messages if one.get("role") not in SYSTEM]
    return bool(said) and said[-1].get("role") == "user"


def last_exchange(messages: Sequence[Body]) -> tuple[str, str] | None:
    """Return what the assistant said or called last, after what the user said: this identifies a
    conversation whose client repeats it.
    """
    for at in reversed(range(len(messages))):
        if reply := _reply(messages[at]):
            return prompt_of(messages[:at]).strip(), reply
    return None


def _reply(message: Body) -> str:
    if message.get("role") == "assistant":
        calls = message.get("tool_calls")
        first = calls[0] if isinstance(calls, list) and calls else {}
        called = first.get("id") if isinstance(first, Mapping) else None
        return text_of(message.get("content")).strip() or str(called or "")
    # An item of the responses API: a call, or its result, which has the same id.
    is_result = str(message.get("type")).endswith("_output")
    return "" if is_result else str(message.get("call_id") or "")


def with_memory(api: Format, body: Body, known: Context) -> Body:
    """Return the request with the stable block in the instructions and the other in the prompt."""
    return _with_stable(api, _with_turn(api, body, known.turn), known.stable)


def _with_turn(api: Format, body: Body, block: str) -> Body:
    given = body.get(api.messages)
    if not block:
        return body
    if isinstance(given, str):
        return {**body, api.messages: join_blocks(block, given)}
    messages = given if isinstance(given, list) else []
    at = _last_user(messages)
    if at is None:
        return body
    # In the message and not beside it: some models accept only turns that alternate.
    changed = _prefixed(messages[at], block, api.text_type)
    return {**body, api.messages: [*messages[:at], changed, *messages[at + 1 :]]}


def _prefixed(message: Body, block: str, text_type: str) -> Body:
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [{"type": text_type, "text": block}, *content]}
    return {**message, "content": join_blocks(block, content)}


def _with_stable(api: Format, body: Body, block: str) -> Body:
    if not block:
        return body
    if api is RESPONSES:
        return {**body, "instructions": join_blocks(body.get("instructions"), block)}
    messages = body["messages"]
    if _role(messages[0]) not in SYSTEM:
        return {**body, "messages": [{"role": "system", "content": block}, *messages]}
    first = messages[0]
    content = first.get("content")
    if isinstance(content, list):
        content = [*content, {"type": api.text_type, "text": block}]
    else:
        content = join_blocks(content, block)
    return {**body, "messages": [{**first, "content": content}, *messages[1:]]}


def _last_user(messages: Sequence[Any]) -> int | None:
    places = reversed(range(len(messages)))
    return next((at for at in places if _role(messages[at]) == "user"), None)


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


@dataclass(slots=True)
class Answer:
    """What an answer says so far, as messages that a client would repeat in its next request."""

    id: str = ""
    failed: bool = False
    _items: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What the assistant said."""
        return "".join(text_of(one.get("content")) for one in self.messages)

    @property
    def messages(self) -> list[Body]:
        """The messages and calls of the answer, in order."""
        return [self._items[at] for at in sorted(self._items)]

    def add_chat(self, chunk: Body) -> None:
        """Add a chat completion, or a chunk of one. Of several choices the first is read."""
        self.failed |= bool(chunk.get("error"))
        for choice in _objects(chunk.get("choices")):
            said = choice.get("message") or choice.get("delta")
            if choice.get("index", 0) == 0 and isinstance(said, Mapping):
                self._say(0, said.get("content"))
                calls = [one for one in _objects(said.get("tool_calls")) if one.get("id")]
                if calls:
                    self._items[0].setdefault("tool_calls", []).extend(calls)

    def add_response(self, response: Body) -> None:
        """Add a whole response."""
        self.id = str(response.get("id") or "")
        self.failed |= bool(response.get("error"))
        for at, item in enumerate(_objects(response.get("output"))):
            self._add_item(at, item)

    def add_event(self, event: Body) -> None:
        """Add one event of a streamed response."""
        at = event.get("output_index")
        match event.get("type"):
            case "response.output_text.delta" if isinstance(at, int):
                self._say(at, event.get("delta"))
            case "response.output_item.added" if isinstance(at, int):
                self._add_item(at, event.get("item") or {})
            case "response.created":
                self.id = str((event.get("response") or {}).get("id") or "")
            case "error" | "response.failed":
                self.failed = True

    def _add_item(self, at: int, item: Body) -> None:
        if item.get("type") == "message":
            parts = _objects(item.get("content"))
            self._say(at, "".join(str(one.get("text", "")) for one in parts))
        elif item.get("call_id"):
            self._items[at] = {"call_id": item["call_id"]}

    def _say(self, at: int, content: Any) -> None:
        message = self._items.setdefault(at, {"role": "assistant", "content": ""})
        message["content"] += text_of(content)


def _objects(values: Any) -> Iterable[Body]:
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, list) else []


class AnswerReader:
    """Reads an answer while its bytes pass by: a JSON document, or a stream of events."""

    def __init__(self, api: Format, content_type: str, encoding: str) -> None:
        self.answer = Answer()
        self._api = api
        self._streams = content_type.lower().startswith("text/event-stream")
        packed = encoding.strip().lower() in ("gzip", "deflate", "x-gzip")
        self._unpack = zlib.decompressobj(ANY_HEADER) if packed else None
        self._left = b""

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        self._reading(lambda: self._read(data))

    def end(self) -> Answer:
        """Return what was read, after the last bytes."""
        self._reading(self._read_rest)
        return self.answer

    def _reading(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:  # the client gets an answer that we cannot read, too
            self.answer.failed = True

    def _read(self, data: bytes) -> None:
        self._left += self._unpack.decompress(data) if self._unpack else data
        if self._streams:
            *lines, self._left = self._left.split(b"\n")
            for line in lines:
                self._read_line(line)

    def _read_rest(self) -> None:
        if self._streams:
            self._read_line(self._left)
            return
        document = json.loads(self._left)
        if self._api is CHAT:
            self.answer.add_chat(document)
        else:
            self.answer.add_response(document)

    def _read_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        # The last event of chat completions is the word [DONE].
        if name != b"data" or not value.lstrip().startswith(b"{"):
            return
        event = json.loads(value)
        if self._api is CHAT:
            self.answer.add_chat(event)
        else:
            self.answer.add_event(event)
