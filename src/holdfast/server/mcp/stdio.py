"""Stdio transport: one JSON-RPC message per line, in both protocol generations.

Clients up to 2025 start with a handshake, `initialize`; those from 2026 on send their version and
name with every request. The official SDK does all of that, but importing it takes longer than a
client waits for a memory. This module implements what a memory needs, and the SDK's own client
tests it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, BinaryIO

from .dispatch import (
    CACHED,
    CAPABILITIES,
    INVALID_PARAMS,
    LOGGING,
    SERVER,
    WARNINGS,
    Methods,
    Rejected,
)
from .subscriptions import MESSAGE, UPDATED, Subscriptions

log = logging.getLogger(__name__)

# Protocol versions with an `initialize` handshake, and those without.
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
META = "io.modelcontextprotocol/"
LISTEN = "subscriptions/listen"
Notify = Callable[[str, dict[str, Any]], None]
"""Sends a notification: its method and its parameters."""
# Error codes of JSON-RPC 2.0; the last one is MCP's own.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022
# Concurrent requests of one client.
AT_ONCE = 4
UNREADABLE = object()


class Conversation:
    """State of the client at the other end of the pipe, and the answer to each of its messages."""

    def __init__(self, methods: Methods, notify: Notify) -> None:
        self._methods = methods
        self._notify = notify
        self._client = ""
        self._subscriptions = Subscriptions()
        # From 2026 on a client listens by a request that stays open, by its id.
        self._streams: dict[object, Subscriptions] = {}

    def answer(self, message: object) -> dict[str, Any] | None:
        """Return the response to a message; None for a notification."""
        if message is UNREADABLE:
            return _failed(None, Rejected(PARSE_ERROR, "This line is not JSON."))
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            # A response to a request of ours needs no answer; anything else is an invalid request.
            wants = not isinstance(message, dict) or not {"result", "error"} & message.keys()
            return (
                _failed(None, Rejected(INVALID_REQUEST, "This is not a JSON-RPC request."))
                if wants
                else None
            )
        params = message.get("params") or {}
        if "id" not in message:
            if message["method"] == "notifications/cancelled" and isinstance(params, dict):
                self._streams.pop(params.get("requestId"), None)
            return None  # notifications need no answer
        try:
            return self._answered(message["id"], message["method"], params)
        except Rejected as error:
            return _failed(message["id"], error)
        except Exception:  # the boundary: the client gets an answer in any case
            log.exception("%s failed", message["method"])
            return _failed(
                message["id"], Rejected(INTERNAL_ERROR, "Internal error; the server's log has it.")
            )

    def _answered(
        self,
        id_: Any,
        method: str,
        params: object,
    ) -> dict[str, Any] | None:
        if not isinstance(params, dict):
            raise Rejected(INVALID_PARAMS, "params must be an object.")
        if method == LISTEN:
            # Answered by notifications until the client cancels it.
            self._listen(id_, params)
            return None
        result = self._result(method, params)
        self._tell(method, params, result)
        return {"jsonrpc": "2.0", "id": id_, "result": result}

    def _listen(self, id_: Any, params: Mapping[str, Any]) -> None:
        """Begin a stream of changes of the resources that a client from 2026 on names."""
        wanted = params.get("notifications")
        uris = wanted.get("resourceSubscriptions") if isinstance(wanted, dict) else None
        self._streams[id_] = Subscriptions(set(map(str, uris or ())))
        honoured = {"resourceSubscriptions": list(uris)} if uris else {}
        self._notify(
            "notifications/subscriptions/acknowledged",
            {"notifications": honoured, "_meta": {f"{META}subscriptionId": id_}},
        )

    def _tell(
        self,
        method: str,
        params: Mapping[str, Any],
        result: Mapping[str, Any],
    ) -> None:
        """Send what the client wants to be told after this request."""
        self._subscriptions.note(method, params)
        if method != "tools/call":
            return
        for one in self._subscriptions.messages(result.get("_meta", {}).get(WARNINGS, ())):
            self._notify(MESSAGE, one)
        streams = list(self._streams.items())
        if not self._subscriptions.uris and not streams:
            return
        changed = self._methods.changed(params, result)
        for one in self._subscriptions.updates(changed):
            self._notify(UPDATED, one)
        for id_, subscriptions in streams:
            for one in subscriptions.updates(changed):
                self._notify(UPDATED, {**one, "_meta": {f"{META}subscriptionId": id_}})

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        if method == "initialize":
            return self._greeted(params)
        if isinstance(meta, dict) and f"{META}protocolVersion" in meta:
            return self._modern(method, params, meta)
        return {} if method == "ping" else self._methods.answer(method, params, client=self._client)

    def _greeted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        wanted = params.get("protocolVersion")
        info = params.get("clientInfo")
        self._client = _name(info)
        return {
            # The protocol wants the server's latest version if it does not know the client's.
            "protocolVersion": wanted if wanted in HANDSHAKES else HANDSHAKES[-1],
            "capabilities": CAPABILITIES | LOGGING,
            "serverInfo": SERVER,
            "instructions": self._methods.instructions,
        }

    def _modern(
        self,
        method: str,
        params: Mapping[str, Any],
        meta: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Answer a request that carries its client and version, as all do from 2026 on."""
        version = meta[f"{META}protocolVersion"]
        if version not in MODERN:
            supported = {"supported": list(MODERN), "requested": str(version)}
            raise Rejected(
                UNSUPPORTED_VERSION,
                f"Version {version} is not supported.",
                supported,
            )
        if method == "server/discover":
            known: dict[str, Any] = {
                "supportedVersions": list(MODERN),
                "capabilities": CAPABILITIES,
                "instructions": self._methods.instructions,
            }
        else:
            known = self._methods.answer(
                method,
                params,
                client=_name(meta.get(f"{META}clientInfo")),
            )
        if method in CACHED:
            known = {**known, "ttlMs": CACHED[method][0], "cacheScope": CACHED[method][1]}
        return {**known, "resultType": "complete", "_meta": {f"{META}serverInfo": SERVER}}


def _name(info: object) -> str:
    return str(info.get("name", "")) if isinstance(info, dict) else ""


def _failed(id_: object, error: Rejected) -> dict[str, Any]:
    data = {} if error.data is None else {"data": error.data}
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "error": {"code": error.code, "message": str(error), **data},
    }


def serve(
    methods: Methods,
    source: BinaryIO,
    sink: BinaryIO,
) -> None:
    """Answer until the client closes its end, then finish pending requests.

    The first message is answered before the next is read, so that a greeting applies to what
    follows; and before the memory is opened, so that a client that only lists tools does not wait
    for it.
    """
    # Answers come from several threads; one line must not break another.
    lock = threading.Lock()

    def write(message: dict[str, Any]) -> None:
        line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with lock:
            sink.write(line)
            sink.flush()

    def notify(method: str, params: dict[str, Any]) -> None:
        write({"jsonrpc": "2.0", "method": method, "params": params})

    conversation = Conversation(methods, notify)

    def answer(line: bytes) -> None:
        response = conversation.answer(_read(line))
        if response is not None:
            write(response)

    lines = (line for line in source if line.strip())
    with ThreadPoolExecutor(AT_ONCE, "holdfast-mcp") as pool:
        for number, line in enumerate(lines):
            if number:
                pool.submit(answer, line)
            else:
                answer(line)
                pool.submit(methods.open)


def _read(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return UNREADABLE


@contextmanager
def own_pipes() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Reserve stdin and stdout for the protocol; everything else that is printed goes to stderr."""
    source = os.dup(0)
    sink = os.dup(1)
    # On file descriptors, not on sys.stdout: libraries and child processes print there too.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    sys.stdout.flush()
    with os.fdopen(source, "rb") as reading, os.fdopen(sink, "wb") as writing:
        yield reading, writing
