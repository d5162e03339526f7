"""Gemini CLI and early Qwen Code: ~/.gemini/tmp/<project>/chats/session-*, JSON at first and JSON
lines since 2026.

A line is the session header, a message, `{"$set": …}`, which changes the header, or `{"$rewindTo":
id}`, which removes that message and all after it. A message that grew, for example by tool results,
is written again under the same id. The older JSON has the same messages in one object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from ..types import Micros
from .assemble import Talk
from .base import Cursor, Transcript
from .json_documents import document, whole
from .json_fields import as_dict, as_text, dicts, micros, parsed, said_in
from .jsonl_file import Object, SessionFile, Survey, newest_first
from .line_reader import beginning, first_objects
from .tool_calls import output_of


class _Versions(Survey):
    """The last version of each message, and what was rewound."""

    def __init__(self) -> None:
        self._line: dict[str, int] = {}
        self._gone: set[int] = set()

    def see(self, line: int, record: Object) -> None:
        """Record the position of each message, and which are superseded."""
        if isinstance(mark := record.get("$rewindTo"), str):
            known = list(self._line)
            self._take_back(known[known.index(mark) :] if mark in self._line else known)
        elif "$set" in record:
            self.title = as_text(as_dict(record["$set"]).get("summary")).strip() or self.title
            if dicts_in(record["$set"]):
                # All messages are written anew.
                self._take_back(list(self._line))
        elif "type" in record and (key := as_text(record.get("id"))):
            if key in self._line:
                self._gone.add(self._line[key])
            self._line[key] = line

    def left_out(self) -> set[int]:
        """Return the lines of older versions and removed messages."""
        return set(self._gone)

    def _take_back(self, keys: list[str]) -> None:
        self._gone.update(self._line.pop(key) for key in keys)


class Gemini(SessionFile):
    """Sessions of Gemini CLI, and of early versions of Qwen Code, which is made from it."""

    name = "gemini-cli"
    survey = _Versions

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`. Skips an old file that continues as lines."""
        base = Path(environ.get("GEMINI_CLI_HOME") or home)
        found = chain.from_iterable(
            (root / "tmp").glob("*/chats/session-*.json*")
            for root in (base / ".gemini", home / ".qwen")
        )
        return newest_first(
            path for path in found if not (path.suffix == ".json" and Path(f"{path}l").is_file())
        )

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix == ".jsonl":
            return any(
                "sessionId" in record and "projectHash" in record
                for record in first_objects(path)[:3]
            )
        start = beginning(path, 4096) if path.suffix == ".json" else b""
        return b'"sessionId"' in start and b'"projectHash"' in start

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`."""
        if path.suffix == ".jsonl":
            yield from super().read(path, cursor)
            return
        found = whole(path, cursor)
        if found is None:
            return
        record = as_dict(parsed(found.data))
        transcript = self.session(path, [record])
        yield document(transcript, found, lambda talk: _tell_messages(record.get("messages"), talk))

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session of the header; its folder is stored beside it, or hashed into its
        name.
        """
        header = next((record for record in head if "sessionId" in record), {})
        return Transcript(
            as_text(header.get("sessionId")) or path.stem,
            "qwen-code" if ".qwen" in path.parts else self.name,
            path,
            cwd=_folder(path),
            title=as_text(header.get("summary")).strip(),
            started_at=micros(header.get("startTime")),
            private=header.get("kind") == "subagent",
        )

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages, including those in a change of the header."""
        if "$set" in record:
            for message in dicts_in(record["$set"]):
                _tell_message(message, line, talk)
        else:
            _tell_message(record, line, talk)


def dicts_in(header: object) -> list[Object]:
    """The messages in a header or in a change of it."""
    return list(dicts(as_dict(header).get("messages")))


def _tell_messages(messages: object, talk: Talk) -> None:
    for number, message in enumerate(dicts(messages), 1):
        _tell_message(message, number, talk)


def _tell_message(
    message: Object,
    line: int,
    talk: Talk,
) -> None:
    """Add what the user or the model said, and its tool calls; skip notices of the program."""
    at = micros(message.get("timestamp"))
    if message.get("type") == "user":
        talk.say("user", said_in(message.get("displayContent") or message.get("content")), at, line)
    elif message.get("type") == "gemini":
        talk.say("assistant", said_in(message.get("content")), at, line)
        for call in dicts(message.get("toolCalls")):
            _tell_call(call, at, line, talk)


def _tell_call(
    call: Object,
    at: Micros | None,
    line: int,
    talk: Talk,
) -> None:
    shown = call.get("resultDisplay")
    output = as_text(shown) or output_of(call.get("result"))
    failed = {"success": False, "error": True, "cancelled": True}.get(as_text(call.get("status")))
    moment = micros(call.get("timestamp")) or at
    talk.ran(as_text(call.get("name")), call.get("args"), output, moment, line, failed=failed)


def _folder(path: Path) -> str:
    """Return the project folder: stored beside the chats, or found among the folders that the
    program knows.
    """
    if len(path.parents) < 4:
        return ""
    project = path.parents[1]
    home = path.parents[3]
    if root := beginning(project / ".project_root", 4096).decode("utf-8", "replace").strip():
        return root
    known = as_dict(as_dict(parsed(beginning(home / "projects.json"))).get("projects"))
    for folder, name in known.items():
        if project.name in (name, hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest()):
            return folder
    return ""
