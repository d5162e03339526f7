"""Kimi Code CLI: ~/.kimi-code/sessions/<folder>/<session>/agents/main/wire.jsonl, one file per
agent of a session; state.json of the session has its folder and its title.

Lines are `{type, time, …}`. `context.append_message` is what a person or the program said;
`context.append_loop_event` is a part of the answer, a tool call, or a result. `turn.prompt` repeats
the message, and `origin` tells a person's messages from the program's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from .assemble import Talk
from .base import Transcript
from .json_fields import as_dict, as_text, micros, parsed, said_in
from .jsonl_file import Object, SessionFile, newest_first
from .line_reader import beginning, first_objects
from .tool_calls import output_of

_MAIN = "main"


class Kimi(SessionFile):
    """Sessions of Kimi Code CLI."""

    name = "kimi-cli"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`."""
        root = Path(environ.get("KIMI_CODE_HOME") or home / ".kimi-code")
        return newest_first((root / "sessions").glob(f"*/*/agents/{_MAIN}/wire.jsonl"))

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix != ".jsonl":
            return False
        head = first_objects(path)
        return any("protocol_version" in record for record in head[:3]) and any(
            as_text(record.get("type")).startswith(("context.", "turn.", "config."))
            for record in head
        )

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session of the folder; other agents than the main one are private."""
        kept = len(path.parents) > 2 and path.parents[1].name == "agents"
        folder = path.parents[2] if kept else path
        state = as_dict(parsed(beginning(folder / "state.json"))) if kept else {}
        return Transcript(
            folder.stem,
            self.name,
            path,
            cwd=as_text(state.get("workDir")),
            title=as_text(state.get("title")).strip(),
            started_at=micros(head[0].get("created_at")) if head else None,
            private=kept and path.parent.name != _MAIN,
        )

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages of the user, answers, calls and results; skip thoughts and notices."""
        at = micros(record.get("time"))
        message = as_dict(record.get("message"))
        event = as_dict(record.get("event"))
        key = as_text(event.get("toolCallId"))
        match record.get("type"), event.get("type"):
            case "context.append_message", _ if _is_typed(message):
                talk.say("user", said_in(message.get("content")), at, line)
            case "context.append_loop_event", "content.part":
                talk.say("assistant", said_in([event.get("part")]), at, line)
            case "context.append_loop_event", "tool.call":
                talk.call(key, as_text(event.get("name")), event.get("args"), at, line)
            case "context.append_loop_event", "tool.result":
                result = as_dict(event.get("result"))
                # Left out where a call went well.
                failed = result.get("isError") is True
                talk.outcome(key, output_of(result), at, line, failed=failed)


def _is_typed(message: Object) -> bool:
    return message.get("role") == "user" and as_dict(message.get("origin")).get("kind") == "user"
