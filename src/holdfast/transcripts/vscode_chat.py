"""Chats of VS Code, with GitHub Copilot and others: `Chat: Export Chat…` saves one as JSON, and
Code/User/workspaceStorage/<workspace>/chatSessions has all of that window.

A chat has `requests`, each with the message of the user and the parts of the response: markdown
without a kind, tool calls, edits, thoughts. The editor's own files are that JSON or, since 2026, a
log of changes to it, one per line: 0 is the whole object, 1 sets and 3 deletes what is at a path,
and 2 appends to a list, from an index on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ..types import Micros
from .assemble import Talk
from .base import Cursor, Transcript
from .copilot import editor_folders, workspace_folder
from .json_documents import document, whole
from .json_fields import as_dict, as_int, as_list, as_text, dicts, micros, parsed
from .jsonl_file import Object, newest_first
from .line_reader import beginning
from .tool_calls import output_of

_WHOLE, _SET, _APPEND, _DELETE = range(4)


class VSCodeChat:
    """Chats of VS Code."""

    name = "vscode-chat"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`. Skips a document that continues as a log."""
        found = chain.from_iterable(
            folder.glob("*/chatSessions/*.json*") for folder in editor_folders(home, environ)
        )
        return newest_first(
            path for path in found if not (path.suffix == ".json" and Path(f"{path}l").is_file())
        )

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        start = beginning(path, 4096) if path.suffix in (".json", ".jsonl") else b""
        if b'"responderUsername"' not in start:
            return False
        return path.suffix == ".json" or start.lstrip().startswith(b'{"kind":0')

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`."""
        found = whole(path, cursor)
        if found is None:
            return
        chat = as_dict(_replayed(found.data) if path.suffix == ".jsonl" else parsed(found.data))
        kept = path.parent.name == "chatSessions"
        transcript = Transcript(
            as_text(chat.get("sessionId")) or path.stem,
            self.name,
            path,
            cwd=workspace_folder(path.parent.parent) if kept else "",
            title=as_text(chat.get("customTitle")).strip(),
            started_at=micros(chat.get("creationDate")),
        )
        yield document(transcript, found, lambda talk: _tell_requests(chat, talk))


def _replayed(data: bytes) -> Any:
    """Return the object that a log of changes describes; a line that does not fit is left out."""
    state: Any = {}
    for line in data.splitlines():
        change = as_dict(parsed(line))
        if change.get("kind") == _WHOLE:
            state = change.get("v")
        elif path := as_list(change.get("k")):
            _apply(state, path, change)
    return state


def _apply(
    state: Any,
    path: list[Any],
    change: Object,
) -> None:
    *outer, last = path
    try:
        for step in outer:
            state = state[step]
        if change["kind"] == _SET:
            state[last] = change.get("v")
        elif change["kind"] == _DELETE:
            state[last] = None
        elif change["kind"] == _APPEND:
            kept = as_list(state[last])[: as_int(change.get("i"))]
            state[last] = kept + as_list(change.get("v"))
    except (KeyError, IndexError, TypeError):
        return


def _tell_requests(chat: Object, talk: Talk) -> None:
    for number, request in enumerate(dicts(chat.get("requests")), 1):
        message = request.get("message")
        at = micros(request.get("timestamp"))
        # Older versions store the text itself.
        text = as_text(message) or as_text(as_dict(message).get("text"))
        if not request.get("isSystemInitiated"):
            talk.say("user", text, at, number)
        _tell_response(request, at, number, talk)


def _tell_response(
    request: Object,
    at: Micros | None,
    number: int,
    talk: Talk,
) -> None:
    """Add the answer: text, in fragments around references to files, and tool calls."""
    said: list[str] = []
    for part in dicts(request.get("response")):
        match part.get("kind"):
            case None | "markdownContent":
                said.append(_markdown(part))
            case "inlineReference":
                said.append(_reference(part))
            case "toolInvocationSerialized":
                talk.say("assistant", "".join(said), at, number)
                said = []
                _tell_call(part, at, number, talk)
    talk.say("assistant", "".join(said), at, number)


def _tell_call(
    part: Object,
    at: Micros | None,
    number: int,
    talk: Talk,
) -> None:
    details = as_dict(part.get("resultDetails"))
    specific = as_dict(part.get("toolSpecificData"))
    line = as_dict(specific.get("commandLine"))
    command = as_text(line.get("original")) or as_text(specific.get("command"))
    shown = _markdown({"value": part.get("pastTenseMessage") or part.get("invocationMessage")})
    given = {"command": command} if command else details.get("input") or {"message": shown}
    failed = details.get("isError")
    outputs = [one.get("value") for one in dicts(details.get("output"))]
    talk.ran(
        as_text(part.get("toolId")),
        given,
        output_of(outputs) or output_of(details.get("output")),
        at,
        number,
        failed=failed if isinstance(failed, bool) else None,
    )


def _markdown(part: Object) -> str:
    """Return the text of a part; markdown may be wrapped in an object."""
    value = part.get("value") or as_dict(part.get("content")).get("value")
    return as_text(value) or as_text(as_dict(value).get("value"))


def _reference(part: Object) -> str:
    """Return a file or symbol that the text refers to, by its name."""
    target = as_dict(part.get("inlineReference"))
    place = as_dict(target.get("location") or target)
    file = as_text(as_dict(place.get("uri") or place).get("path"))
    return f"`{as_text(part.get('name')) or as_text(target.get('name')) or Path(file).name}`"
