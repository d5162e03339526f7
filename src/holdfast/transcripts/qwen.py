"""Qwen Code: ~/.qwen/projects/<folder>/chats/<session>.jsonl, one file per session.

A line is a record with `uuid`, `parentUuid` and `type`: user, assistant, tool_result or system. The
parents make a tree; after a rewind the conversation continues from an earlier record. Messages are
those of the Gemini API, with `parts`. Versions before 2026 wrote as Gemini CLI does, which
`gemini.py` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..types import Micros
from .assemble import Talk
from .base import Transcript
from .branches import PathToEnd
from .json_fields import as_dict, as_text, dicts, micros, said_in
from .jsonl_file import Object, SessionFile, newest_first
from .line_reader import first_objects
from .tool_calls import output_of

# What a person typed while the agent worked. Other subtypes are notices and goals of the program.
_TYPED = (None, "mid_turn_user_message")


class _Paths(PathToEnd):
    """The path to the last record of each tree, and the session's title."""

    id_field = "uuid"
    parent_field = "parentUuid"

    def see(self, line: int, record: Object) -> None:
        """Record the position of the record in its tree."""
        if record.get("subtype") == "custom_title":
            title = as_text(as_dict(record.get("systemPayload")).get("customTitle")).strip()
            self.title = title or self.title
        super().see(line, record)


class QwenCode(SessionFile):
    """Sessions of Qwen Code."""

    name = "qwen-code"
    survey = _Paths

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`."""
        given = environ.get("QWEN_RUNTIME_DIR") or environ.get("QWEN_HOME")
        root = home / given.removeprefix("~/") if given else home / ".qwen"
        return newest_first((root / "projects").glob("*/chats/*.jsonl"))

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`. Claude Code has such lines too, but its messages no parts."""
        return path.suffix == ".jsonl" and any(
            "parentUuid" in record
            and ("parts" in as_dict(record.get("message")) or "systemPayload" in record)
            for record in first_objects(path)
        )

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session of the first record."""
        first = next((record for record in head if "sessionId" in record), {})
        return Transcript(
            as_text(first.get("sessionId")) or path.stem,
            self.name,
            path,
            cwd=as_text(first.get("cwd")),
            started_at=micros(first.get("timestamp")),
            private=bool(first.get("isSidechain")),
        )

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages, calls and their results; skip sub-agents and notices."""
        at = micros(record.get("timestamp"))
        parts = as_dict(record.get("message")).get("parts")
        if record.get("isSidechain"):
            return
        match record.get("type"):
            case "user" if record.get("subtype") in _TYPED:
                shown = as_text(as_dict(record.get("systemPayload")).get("displayText"))
                talk.say("user", shown or said_in(parts), at, line)
            case "assistant":
                talk.say("assistant", said_in(parts), at, line)
                for part in dicts(parts):
                    _tell_call(as_dict(part.get("functionCall")), at, line, talk)
            case "tool_result":
                for part in dicts(parts):
                    _tell_result(record, as_dict(part.get("functionResponse")), at, line, talk)


def _tell_call(
    call: Object,
    at: Micros | None,
    line: int,
    talk: Talk,
) -> None:
    if call:
        talk.call(_key(call), as_text(call.get("name")), call.get("args"), at, line)


def _tell_result(
    record: Object,
    response: Object,
    at: Micros | None,
    line: int,
    talk: Talk,
) -> None:
    if response:
        status = as_text(as_dict(record.get("toolCallResult")).get("status"))
        failed = {"success": False, "error": True, "cancelled": True}.get(status)
        output = output_of(response.get("response"))
        talk.outcome(_key(response), output, at, line, failed=failed)


def _key(call: Object) -> str:
    """Return what joins a call and its result; some models give calls no id."""
    return as_text(call.get("id")) or as_text(call.get("name"))
