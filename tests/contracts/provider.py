"""A model provider on this machine: a server that speaks OpenAI's chat (whole and streamed) and
embedding formats.
"""

from __future__ import annotations

import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


class Provider(ThreadingHTTPServer):
    """Answers each chat request with the next of `script`: a text, or (tool name, arguments).

    When the script is at its end, the answer is "done". Vectors have `width` numbers and depend on
    the text.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[str | tuple[str, dict[str, Any]]] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.width = 8
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def step(self, body: dict[str, Any]) -> str | tuple[str, dict[str, Any]]:
        """What a chat request is answered with."""
        return self.script.pop(0) if self.script else "done"

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The chat requests so far."""
        return [request for request in self.requests if "messages" in request]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = cast(Provider, self.server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.requests.append(body)
        server.keys.append(self.headers["Authorization"])
        if server.status != 200:
            self._send(
                server.status,
                "application/json",
                json.dumps({"error": {"message": "out of order"}}),
            )
        elif "input" in body:
            self._send(200, "application/json", json.dumps(_vectors(server, body)))
        else:
            step = server.step(body)
            if body.get("stream"):
                self._send(200, "text/event-stream", _streamed(step, body["model"]))
            else:
                self._send(200, "application/json", json.dumps(_whole(step, body["model"])))

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def _call(step: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    name, arguments = step
    return {
        "id": "call-1",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def _frame(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": kind, "created": 1, "model": model}


def _whole(step: str | tuple[str, dict[str, Any]], model: str) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": step if isinstance(step, str) else None}
    if not isinstance(step, str):
        said["tool_calls"] = [_call(step)]
    choice = {
        "index": 0,
        "message": said,
        "finish_reason": "stop" if isinstance(step, str) else "tool_calls",
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {**_frame(model, "chat.completion"), "choices": [choice], "usage": usage}


def _streamed(step: str | tuple[str, dict[str, Any]], model: str) -> str:
    if isinstance(step, str):
        pieces: list[dict[str, Any]] = [{"content": word + " "} for word in step.split(" ")]
        pieces[-1]["content"] = pieces[-1]["content"].rstrip(" ")
        end = "stop"
    else:
        pieces, end = [{"tool_calls": [{"index": 0, **_call(step)}]}], "tool_calls"
    choices = [
        {"index": 0, "delta": {"role": "assistant", **piece}, "finish_reason": None}
        for piece in pieces
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": end})
    frame = _frame(model, "chat.completion.chunk")
    lines = [json.dumps({**frame, "choices": [choice]}) for choice in choices]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])


def _vectors(server: Provider, body: dict[str, Any]) -> dict[str, Any]:
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    rows = [
        [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[: server.width]]
        for text in texts
    ]
    data = [
        {"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)
    ]
    return {
        "object": "list",
        "model": body["model"],
        "data": data,
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }
