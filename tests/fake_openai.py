"""A stand-in for an OpenAI-compatible API on this machine: it records requests and answers as told.

Its answers are bytes, so that a test can compare what a client gets with what was sent.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON, EVENTS = "application/json", "text/event-stream; charset=utf-8"


@dataclass
class Reply:
    """One answer: a body of known length, or chunks. `breaks` closes the connection after them;
    `endless` repeats the last one until the client is gone.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": JSON})
    chunks: list[bytes] | None = None
    breaks: bool = False
    endless: bool = False


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class FakeOpenAI:
    """The server, what it was asked, and how it answers next."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[Received] = []
        self.reply: Callable[[Received], Reply] = said("Noted.")
        self.gone = threading.Event()
        """Set when a client closes its connection during an endless answer."""

    @property
    def last(self) -> Received:
        return self.received[-1]


@contextmanager
def fake_openai() -> Iterator[FakeOpenAI]:
    """Runs the server on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Received(self.command, self.path, headers, body)
            fake.received.append(asked)
            self.answer(fake.reply(asked))

        def do_GET(self) -> None:
            self.handle_any()

        def do_POST(self) -> None:
            self.handle_any()

        def do_DELETE(self) -> None:
            self.handle_any()

        def answer(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.chunks is None:
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.send_chunks(reply)

        def send_chunks(self, reply: Reply) -> None:
            for chunk in reply.chunks or []:
                self.chunk(chunk)
            try:
                while reply.endless:
                    self.chunk((reply.chunks or [b""])[-1])
            except OSError:
                fake.gone.set()
                self.close_connection = True
                return
            if reply.breaks:
                self.close_connection = True
            else:
                self.chunk(b"")

        def chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake = FakeOpenAI(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def said(text: str) -> Callable[[Received], Reply]:
    """Answers any request with this text, in the shape and the way that the request asks for."""

    def reply(asked: Received) -> Reply:
        if not asked.path.endswith(("/chat/completions", "/responses")):
            return document({"object": "list", "data": []})
        chat, stream = asked.path.endswith("/chat/completions"), asked.json.get("stream")
        if chat:
            return chat_events(text) if stream else document(chat_completion(text))
        return response_events(text) if stream else document(response(text))

    return reply


def document(value: Any, **more: Any) -> Reply:
    """A JSON answer, with spaces that nobody would write again in the same way."""
    return Reply(json.dumps(value, indent=3).encode() + b"\n", **more)


def packed(reply: Reply) -> Reply:
    """The same answer, compressed."""
    reply.headers = {**reply.headers, "Content-Encoding": "gzip"}
    if reply.chunks is None:
        reply.body = gzip.compress(reply.body)
    else:
        whole = gzip.compress(b"".join(reply.chunks))
        reply.chunks = [whole[at : at + 20] for at in range(0, len(whole), 20)]
    return reply


def chat_completion(text: str | None, **message: Any) -> dict[str, Any]:
    """A chat completion."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "logprobs": None,
        "message": {"role": "assistant", "content": text, "refusal": None, **message},
    }
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"} | {
        "choices": [choice],
        "x_unknown": {"kept": [1, 2.50]},
    }


def chat_events(*texts: str, **more: Any) -> Reply:
    """A streamed chat completion: one event per text, cut into chunks at odd places."""
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        *({"content": text} for text in texts),
        {},
    ]
    events = [
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    return _events(*map(_data, events), b"data: [DONE]\n\n", **more)


def response(text: str, *items: dict[str, Any], id_: str = "resp_1") -> dict[str, Any]:
    """A response."""
    return {
        "id": id_,
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "error": None,
        "output": [*([message(text)] if text else []), *items],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def message(text: str) -> dict[str, Any]:
    """An output item with a text."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def response_events(*texts: str, **more: Any) -> Reply:
    """A streamed response."""
    whole = response("".join(texts))
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    empty = {**message(""), "content": [], "status": "in_progress"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": empty},
        *(
            {"type": "response.output_text.delta", "delta": text, "logprobs": [], **place}
            for text in texts
        ),
        {"type": "response.completed", "response": whole},
    ]
    numbered = [{**event, "sequence_number": at} for at, event in enumerate(events)]
    lines = [f"event: {one['type']}\n".encode() + _data(one) for one in numbered]
    return _events(*lines, **more)


def _data(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def _events(*events: bytes, **more: Any) -> Reply:
    whole = b"".join(events)
    # Not at the ends of events: a network does not know them.
    chunks = [whole[at : at + 37] for at in range(0, len(whole), 37)]
    return Reply(headers={"Content-Type": EVENTS}, chunks=chunks, **more)
