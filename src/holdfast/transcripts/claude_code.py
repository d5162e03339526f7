"""Claude Code: ~/.claude/projects/<folder>/<session>.jsonl, one file a session.

Each line is a record with `type`, `uuid` and `parentUuid`. The parents make a graph rather than a
list: a prompt that was edited leaves the old branch in the file, each result of parallel tool calls
hangs on its own call, a session that was resumed or compacted has several roots. The branch that
ends the file is the conversation; the others are told as branches. Lines are in the order in which
things happened, and that order is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .assemble import Talk
from .base import Role, Transcript
from .branches import path_to
from .json_fields import as_dict, as_text, dicts, micros, said_in
from .jsonl_file import Object, SessionFile, Survey, newest_first
from .line_reader import first_objects
from .tool_calls import output_of

_ASIDE = (
    "isSidechain",
    "isMeta",
    "isCompactSummary",
    "isApiErrorMessage",
    "isVisibleInTranscriptOnly",
)
_TITLES = {
    "summary": "summary",
    "ai-title": "aiTitle",
    "agent-name": "agentName",
    "custom-title": "customTitle",
}
_MAIN_TYPES = ("user", "assistant")
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
_RESULTS = {"tool_result", "mcp_tool_result"}
# Bytes.
_FAR = 8_000_000
_SIDE_FOLDERS = {"subagents", "tool-results", "workflows", "memory"}

_Kind = Literal["prompt", "queued", "answer", "call", "result"]


@dataclass(slots=True)
class _Node:
    """A message in the graph: its line, its predecessor and its kind."""

    line: int
    follows: str
    kind: _Kind
    message: str
    """The id of the answer that it is a part of: an answer is written as several records."""


class _Branches(Survey):
    """Position of each message in the graph: on the path to the end of the file, beside it, or on
    another branch.

    Records that are not part of the conversation, such as hook progress, are skipped over.
    """

    def __init__(self) -> None:
        # Of each record: the message it follows, itself if it is one.
        self._anchor: dict[str, str] = {}
        # The messages, in the order of their lines.
        self._nodes: dict[str, _Node] = {}
        self._copies: set[int] = set()
        self._rank = -1

    def see(self, line: int, record: Object) -> None:
        """Record the position in the graph, and titles."""
        self._entitle(record)
        uuid = as_text(record.get("uuid"))
        if not uuid:
            return
        if uuid in self._anchor:
            # Written twice, as when a session was resumed by an older version.
            self._copies.add(line)
            return
        follows = self._anchor.get(
            as_text(record.get("parentUuid")) or as_text(record.get("logicalParentUuid")), ""
        )
        if (record.get("type") not in _MAIN_TYPES and not _queued(record)) or _aside(record):
            # Prompts that follow the same record before the first message are two branches as well.
            self._anchor[uuid] = follows or uuid
            return
        self._anchor[uuid] = uuid
        message = as_text(as_dict(record.get("message")).get("id"))
        self._nodes[uuid] = _Node(line, follows, _kind(record), message)

    def left_out(self) -> set[int]:
        """Return the lines of duplicates."""
        return set(self._copies)

    def branches(self) -> set[int]:
        """Return the lines of abandoned branches.

        A file may contain several trees, because a resumed or compacted session can start a new
        one. In each tree the branch of the last message is the conversation.
        """
        kept = self._paths()
        # That the conversation was continued with, by what they follow.
        answers: dict[str, set[str]] = {}
        for uuid in kept:
            answers.setdefault(self._nodes[uuid].follows, set()).add(self._nodes[uuid].message)
        gone: set[str] = set()
        # A message stands behind the one it follows.
        for uuid, node in self._nodes.items():
            away = node.follows in gone or self._leads_away(node, answers.get(node.follows, set()))
            if uuid not in kept and away:
                gone.add(uuid)
        return {self._nodes[uuid].line for uuid in gone}

    def _paths(self) -> set[str]:
        """Return the messages on the path from the root of each tree to its last message."""
        root: dict[str, str] = {}
        last: dict[str, str] = {}
        for uuid, node in self._nodes.items():
            root[uuid] = root.get(node.follows, node.follows or uuid)
            last[root[uuid]] = uuid
        parents = {uuid: node.follows for uuid, node in self._nodes.items()}
        return {uuid for leaf in last.values() for uuid in path_to(leaf, parents)}

    def _leads_away(self, node: _Node, instead: set[str]) -> bool:
        """Whether a message beside the path starts a branch, rather than being written beside it.

        Each result of parallel calls is attached to its own call, and the records of one answer to
        each other.
        """
        if node.kind == "prompt":
            return bool(node.follows)
        before = self._nodes.get(node.follows)
        if node.kind != "answer" or before is None or before.kind == "call" or not node.message:
            return False
        return node.message not in instead | {before.message}

    def _entitle(self, record: Object) -> None:
        kind = as_text(record.get("type"))
        if kind in _TITLES and (title := as_text(record.get(_TITLES[kind])).strip()):
            rank = list(_TITLES).index(kind)
            if rank >= self._rank:
                self._rank = rank
                self.title = title


class ClaudeCode(SessionFile):
    """Sessions of Claude Code."""

    name = "claude-code"
    survey = _Branches

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`."""
        root = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
        return newest_first(
            path for path in root.glob("*/*.jsonl") if not path.name.startswith("agent-")
        )

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix != ".jsonl" or _SIDE_FOLDERS & set(path.parts):
            return False
        return any(
            ("sessionId" in line and "parentUuid" in line) or "leafUuid" in line
            for line in first_objects(path)
        )

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session after which the file is named."""
        # A first prompt may hold a picture.
        cwd = _first_folder(head) or _first_folder(first_objects(path, _FAR))
        times = (micros(record.get("timestamp")) for record in head)
        own = any(as_text(record.get("entrypoint")).startswith("holdfast") for record in head)
        return Transcript(
            path.stem,
            self.name,
            path,
            cwd=cwd,
            started_at=next(filter(None, times), None),
            private=own,
        )

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages and tool calls; results of calls are in records of the user."""
        role = record.get("type")
        at = micros(record.get("timestamp"))
        talk.say("user", _queued(record), at, line)
        if role not in _MAIN_TYPES or _aside(record):
            return
        message = as_dict(record.get("message"))
        if message.get("model") == "<synthetic>":
            return
        content = message.get("content")
        parts = (
            dicts(content)
            if isinstance(content, list)
            else iter([{"type": "text", "text": content}])
        )
        for part in parts:
            _tell_part("assistant" if role == "assistant" else "user", part, at, line, talk)


def _tell_part(
    role: Role,
    part: Mapping[str, Any],
    at: int | None,
    line: int,
    talk: Talk,
) -> None:
    match as_text(part.get("type")):
        case "text":
            talk.say(role, said_in(part.get("text")), at, line)
        case kind if kind in _CALLS:
            talk.call(
                as_text(part.get("id")), as_text(part.get("name")), part.get("input"), at, line
            )
        case kind if kind in _RESULTS:
            # Left out where a call went well.
            failed = part.get("is_error") is True
            talk.outcome(
                as_text(part.get("tool_use_id")),
                output_of(part.get("content")),
                at,
                line,
                failed=failed,
            )


def _queued(record: Object) -> str:
    """Return what the user typed while the agent was working; only an attachment stores it."""
    attachment = as_dict(record.get("attachment"))
    typed = (
        attachment.get("type") == "queued_command"
        and attachment.get("commandMode", "prompt") == "prompt"
    )
    return said_in(attachment.get("prompt")) if typed else ""


def _first_folder(records: list[Object]) -> str:
    return next((as_text(record["cwd"]) for record in records if as_text(record.get("cwd"))), "")


def _aside(record: Object) -> bool:
    return any(record.get(flag) for flag in _ASIDE)


def _kind(record: Object) -> _Kind:
    """Classify a message. A tool call counts as an answer; a queued prompt starts no branch."""
    content = as_dict(record.get("message")).get("content")
    parts = {as_text(part.get("type")) for part in dicts(content)}
    if record.get("type") == "assistant":
        return "call" if parts & _CALLS else "answer"
    if record.get("type") == "user":
        return "result" if parts & _RESULTS else "prompt"
    return "queued"
