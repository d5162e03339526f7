"""Claude Code: ~/.claude/projects/<folder>/<session>.jsonl, one file a session.

Each line is a record with `type`, `uuid` and `parentUuid`. The parents make a graph rather than a list: a prompt that
was edited leaves the old branch in the file, each result of parallel tool calls hangs on its own call, a session that
was resumed or compacted has several roots. Lines are in the order in which things happened, so that order is kept and
only abandoned branches are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .base import Role, Transcript
from .calls import output_of
from .jsonl import Object, SessionFile, Survey, newest_first
from .lines import first_objects
from .talk import Talk
from .values import as_dict, as_text, dicts, micros, said_in

_ASIDE = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "agent-name": "agentName", "custom-title": "customTitle"}
_MAIN_TYPES = ("user", "assistant")
_FAR = 8_000_000  # bytes
_SIDE_FOLDERS = {"subagents", "tool-results", "workflows", "memory"}


class _Branches(Survey):
    """Which prompts were replaced: of two that answer the same message, the later one holds.

    Records that are no part of the conversation, such as hook progress, are looked through.
    """

    def __init__(self) -> None:
        self._anchor: dict[str, str] = {}  # of each record: the message it follows, itself if it is one
        self._message: dict[str, tuple[int, str]] = {}  # of each message: its line and the message it follows
        self._prompts: dict[str, list[str]] = {}  # by what they follow
        self._copies: set[int] = set()
        self._rank = -1

    def see(self, line: int, record: Object) -> None:
        """Notes where the record stands in the graph, and titles."""
        self._entitle(record)
        uuid = as_text(record.get("uuid"))
        if not uuid:
            return
        if uuid in self._anchor:
            self._copies.add(line)  # written twice, as when a session was resumed by an older version
            return
        follows = self._anchor.get(as_text(record.get("parentUuid")) or as_text(record.get("logicalParentUuid")), "")
        if (record.get("type") not in _MAIN_TYPES and not _queued(record)) or _aside(record):
            self._anchor[uuid] = follows
            return
        self._anchor[uuid] = uuid
        self._message[uuid] = line, follows
        if follows and record.get("type") == "user" and not _has_results(record):
            self._prompts.setdefault(follows, []).append(uuid)

    def left_out(self) -> set[int]:
        """The lines of replaced prompts and of all that follows them, and second copies."""
        gone = {uuid for prompts in self._prompts.values() for uuid in prompts[:-1]}
        lines = set(self._copies)
        for uuid, (line, follows) in self._message.items() if gone else ():
            if uuid in gone or follows in gone:  # a message stands behind the one it follows
                gone.add(uuid)
                lines.add(line)
        return lines

    def _entitle(self, record: Object) -> None:
        kind = as_text(record.get("type"))
        if kind in _TITLES and (title := as_text(record.get(_TITLES[kind])).strip()):
            rank = list(_TITLES).index(kind)
            if rank >= self._rank:
                self._rank, self.title = rank, title


class ClaudeCode(SessionFile):
    """Sessions of Claude Code."""

    name = "claude-code"
    survey = _Branches

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Reader.discover`."""
        root = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
        return newest_first(path for path in root.glob("*/*.jsonl") if not path.name.startswith("agent-"))

    def claims(self, path: Path) -> bool:
        """See `Reader.claims`."""
        if path.suffix != ".jsonl" or _SIDE_FOLDERS & set(path.parts):
            return False
        return any(("sessionId" in line and "parentUuid" in line) or "leafUuid" in line for line in first_objects(path))

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """The session that the file is named after."""
        cwd = _first_folder(head) or _first_folder(first_objects(path, _FAR))  # a first prompt may hold a picture
        times = (micros(record.get("timestamp")) for record in head)
        own = any(as_text(record.get("entrypoint")).startswith("holdfast") for record in head)
        return Transcript(path.stem, self.name, path, cwd=cwd, started_at=next(filter(None, times), None), private=own)

    def tell(self, record: Object, line: int, talk: Talk) -> None:
        """Messages and tool calls; the results of calls come in records of the user."""
        role, at = record.get("type"), micros(record.get("timestamp"))
        talk.say("user", _queued(record), at, line)
        if role not in _MAIN_TYPES or _aside(record):
            return
        message = as_dict(record.get("message"))
        if message.get("model") == "<synthetic>":
            return
        content = message.get("content")
        parts = dicts(content) if isinstance(content, list) else iter([{"type": "text", "text": content}])
        for part in parts:
            _tell_part("assistant" if role == "assistant" else "user", part, at, line, talk)


def _tell_part(role: Role, part: Mapping[str, Any], at: int | None, line: int, talk: Talk) -> None:
    match part.get("type"):
        case "text":
            talk.say(role, said_in(part.get("text")), at, line)
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            talk.call(as_text(part.get("id")), as_text(part.get("name")), part.get("input"), at, line)
        case "tool_result" | "mcp_tool_result":
            failed = part.get("is_error") is True  # left out where a call went well
            talk.outcome(as_text(part.get("tool_use_id")), output_of(part.get("content")), at, line, failed=failed)


def _queued(record: Object) -> str:
    """What a person typed while the agent was at work, which is noted as an attachment and nowhere else."""
    attachment = as_dict(record.get("attachment"))
    typed = attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt"
    return said_in(attachment.get("prompt")) if typed else ""


def _first_folder(records: list[Object]) -> str:
    return next((as_text(record["cwd"]) for record in records if as_text(record.get("cwd"))), "")


def _aside(record: Object) -> bool:
    return any(record.get(flag) for flag in _ASIDE)


def _has_results(record: Object) -> bool:
    content = as_dict(record.get("message")).get("content")
    return any(part.get("type") == "tool_result" for part in dicts(content))
