"""GitHub Copilot: events of its command line and of its agent in VS Code, one JSON lines file per
session.

    ~/.copilot/session-state/<session>/events.jsonl, at first <session>.jsonl; workspace.yaml beside
    the events names folder and title
    Code/User/workspaceStorage/<workspace>/GitHub.copilot-chat/transcripts/<session>.jsonl

Lines are `{type, data, id, timestamp, parentId}`. An assistant's message lists the calls it asks
for; `tool.execution_complete` is the result of one. What a sub-agent says names the call that
started it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlparse

from ..types import Micros
from .assemble import Talk
from .base import Transcript
from .json_fields import as_dict, as_text, dicts, micros, parsed
from .jsonl_file import Object, SessionFile, newest_first
from .line_reader import beginning, first_objects
from .tool_calls import is_error, output_of

_VSCODE = "*/GitHub.copilot-chat/transcripts/*.jsonl"


class Copilot(SessionFile):
    """Sessions of GitHub Copilot."""

    name = "copilot"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`."""
        state = Path(environ.get("COPILOT_HOME") or home / ".copilot") / "session-state"
        return newest_first(
            chain(
                state.glob("*/events.jsonl"),
                state.glob("*.jsonl"),
                chain.from_iterable(root.glob(_VSCODE) for root in editor_folders(home, environ)),
            )
        )

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        return path.suffix == ".jsonl" and any(
            record.get("type") == "session.start" and "sessionId" in as_dict(record.get("data"))
            for record in first_objects(path)[:5]
        )

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session that the first event starts."""
        start = next(
            (as_dict(one.get("data")) for one in head if one.get("type") == "session.start"), {}
        )
        own = path.stem if path.stem != "events" else path.parent.name
        beside = _workspace(path)
        return Transcript(
            as_text(start.get("sessionId")) or own,
            self.name,
            path,
            cwd=as_text(as_dict(start.get("context")).get("cwd")) or beside.get("cwd", ""),
            title=beside.get("name", ""),
            started_at=micros(start.get("startTime")),
        )

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages and tool calls; skip what sub-agents and the program said."""
        data = as_dict(record.get("data"))
        at = micros(record.get("timestamp"))
        if record.get("agentId") or data.get("parentToolCallId"):
            return
        match record.get("type"):
            case "user.message":
                talk.say("user", as_text(data.get("content")), at, line)
            case "assistant.message":
                talk.say("assistant", as_text(data.get("content")), at, line)
                for call in dicts(data.get("toolRequests")):
                    _tell_call(call, at, line, talk)
            case "tool.execution_complete":
                success = is_error(data.get("success"))
                failed = None if success is None else not success
                output = output_of(data.get("result")) or output_of(data.get("error"))
                talk.outcome(as_text(data.get("toolCallId")), output, at, line, failed=failed)


def editor_folders(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders in which VS Code keeps what belongs to a workspace, on any system."""
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    for root in (config, home / "Library" / "Application Support", home / "AppData" / "Roaming"):
        for name in ("Code", "Code - Insiders", "VSCodium"):
            yield root / name / "User" / "workspaceStorage"


def workspace_folder(storage: Path) -> str:
    """Return the folder that was open in the editor, as its storage for the workspace tells it."""
    told = as_dict(parsed(beginning(storage / "workspace.json")))
    uri = urlparse(as_text(told.get("folder")))
    return unquote(uri.path) if uri.scheme == "file" else ""


def _tell_call(
    call: Object,
    at: Micros | None,
    line: int,
    talk: Talk,
) -> None:
    key = as_text(call.get("toolCallId"))
    talk.call(key, as_text(call.get("name")), call.get("arguments"), at, line)


def _workspace(path: Path) -> dict[str, str]:
    """Return folder and title as a file beside the events tells them."""
    if path.parent.name == "transcripts":
        return {"cwd": workspace_folder(path.parents[2])}
    # YAML, of which the program writes only this: one key and its value on a line.
    text = beginning(path.with_name("workspace.yaml")).decode("utf-8", "replace")
    pairs = (line.partition(":") for line in text.splitlines())
    return {key: value.strip().strip("'\"") for key, _, value in pairs if value.strip()}
