"""pi and oh-my-pi: ~/.pi/agent/sessions and ~/.omp/agent/sessions, one JSON lines file per session.

The first line is the session; entries with `id` and `parentId` follow, a tree that branches in
place. The conversation is the path to the last entry. A separate tree, as after /clear, is an
earlier conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from ..types import Micros
from .assemble import Talk
from .base import Transcript
from .branches import PathToEnd
from .json_fields import as_dict, as_int, as_text, dicts, micros, said_in
from .jsonl_file import Object, SessionFile, newest_first
from .line_reader import first_objects
from .tool_calls import is_error, output_of


class _Paths(PathToEnd):
    """The path to the last entry of each tree, and the session's name."""

    def see(self, line: int, record: Object) -> None:
        """Record the position of the entry in its tree."""
        if record.get("type") in ("session_info", "title_change", "title"):
            self.title = as_text(record.get("name") or record.get("title")).strip() or self.title
        if record.get("type") != "session":
            super().see(line, record)


class Pi(SessionFile):
    """Sessions of pi, and of oh-my-pi, which writes the same format elsewhere."""

    name = "pi"
    survey = _Paths

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`."""
        return newest_first(
            chain.from_iterable(root.glob("*/*.jsonl") for root in _roots(home, environ))
        )

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix != ".jsonl":
            return False
        return any(
            record.get("type") == "session" and "id" in record for record in first_objects(path)[:3]
        )

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session of the header, which oh-my-pi writes after a line with the title."""
        header = next((record for record in head if record.get("type") == "session"), {})
        return Transcript(
            as_text(header.get("id")) or path.stem,
            "oh-my-pi" if ".omp" in path.parts else self.name,
            path,
            cwd=as_text(header.get("cwd")),
            title=as_text(header.get("title")).strip(),
            started_at=micros(header.get("timestamp")),
        )

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages; skip what extensions, hooks and compaction inserted."""
        if record.get("type") != "message":
            return
        message = as_dict(record.get("message"))
        at = micros(record.get("timestamp")) or micros(message.get("timestamp"))
        match message.get("role"):
            case "user":
                talk.say("user", said_in(message.get("content")), at, line)
            case "assistant":
                _tell_assistant(message, at, line, talk)
            case "toolResult":
                failed = is_error(message.get("isError"))
                talk.outcome(
                    as_text(message.get("toolCallId")),
                    output_of(message.get("content")),
                    at,
                    line,
                    failed=failed,
                )
            case "bashExecution" | "pythonExecution" if not message.get("excludeFromContext"):
                status = as_int(message.get("exitCode"))
                name = as_text(message.get("role")).removesuffix("Execution")
                failed = None if status is None else status != 0
                talk.ran(name, message, as_text(message.get("output")), at, line, failed=failed)


def _tell_assistant(
    message: Object,
    at: Micros | None,
    line: int,
    talk: Talk,
) -> None:
    content = message.get("content")
    for part in (
        dicts(content) if isinstance(content, list) else iter([{"type": "text", "text": content}])
    ):
        if part.get("type") == "text":
            talk.say("assistant", as_text(part.get("text")), at, line)
        elif part.get("type") == "toolCall":
            talk.call(
                as_text(part.get("id")), as_text(part.get("name")), part.get("arguments"), at, line
            )


def _roots(home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    if sessions := environ.get("PI_CODING_AGENT_SESSION_DIR"):
        yield home / sessions.removeprefix("~/")
    elif agent := environ.get("PI_CODING_AGENT_DIR"):
        yield home / agent.removeprefix("~/") / "sessions"
    else:
        yield home / ".pi" / "agent" / "sessions"
    yield home / ".omp" / "agent" / "sessions"
