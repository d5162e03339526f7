"""Responses that stay open until the server ends, such as event streams to MCP clients."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

EVENTS = "text/event-stream"
GONE: Message = {"type": "http.disconnect"}
LAST: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class OpenStreams:
    """Application that ends its open event streams when told to. A server that stops would
    otherwise wait for clients that never leave, and cut them off in the end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._streams: set[_Stream] = set()
        self._is_ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stream = _Stream(receive, send)
        if self._is_ending:
            stream.end()
        self._streams.add(stream)
        try:
            await self._app(scope, stream.receive, stream.send)
        finally:
            self._streams.discard(stream)
        await stream.complete()

    def end(self) -> None:
        """End the open streams, and at once those that are still opened. Call it in the event
        loop.
        """
        self._is_ending = True
        for stream in self._streams:
            stream.end()


class _Stream:
    """One response, of which only its start says whether it is an event stream."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._is_open = False
        self._is_ending = False
        self._ended = asyncio.Event()

    def end(self) -> None:
        """End it if it is an event stream, or as soon as it proves to be one."""
        self._is_ending = True
        if self._is_open:
            self._ended.set()

    async def receive(self) -> Message:
        """Return the next part of the request; once an event stream is ended, that the client has
        gone, on which every framework stops.
        """
        request = asyncio.ensure_future(self._receive())
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({request, ended}, return_when=asyncio.FIRST_COMPLETED)
            return await request if request.done() else GONE
        finally:
            request.cancel()
            ended.cancel()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._is_open = kind.startswith(EVENTS)
            if self._is_ending:
                self.end()
        elif not message.get("more_body"):
            self._is_open = False
        await self._send(message)

    async def complete(self) -> None:
        """Send the end of a stream that was ended from here, so that its client sees no error."""
        if self._is_open and self._ended.is_set():
            await self._send(LAST)
