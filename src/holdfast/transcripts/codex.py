"""Codex: ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl; old files are compressed as .jsonl.zst or
moved to archived_sessions.

Lines are `{timestamp, type, payload}`. `response_item` is what the model saw and said, `event_msg`
what the screen showed; both have the same content, so only the former is read. Sessions of
sub-agents, and those with memory turned off, are private.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from ..types import Micros
from .assemble import Talk
from .base import Transcript
from .json_fields import as_dict, as_int, as_text, micros, said_in
from .jsonl_file import Object, SessionFile, Survey, newest_first
from .line_reader import first_objects
from .tool_calls import output_of
from .user_text import own_words

_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
# Characters, at the end of a file's name.
_UUID = 36
_MEMORY_ON = ("", "enabled")


class _RolledBack(Survey):
    """Turns that the user rolled back: the last n, as the event says."""

    def __init__(self) -> None:
        self._turns: list[int] = []
        self._gone: set[int] = set()

    def see(self, line: int, record: Object) -> None:
        """Record where turns start, and how many are rolled back."""
        payload = _payload(record)
        kind = payload.get("type")
        if (
            kind == "message"
            and payload.get("role") == "user"
            and own_words(said_in(payload.get("content")))
        ):
            self._turns.append(line)
        elif (
            kind == "thread_rolled_back"
            and (count := as_int(payload.get("num_turns")))
            and self._turns
        ):
            self._gone.update(range(self._turns[-min(count, len(self._turns))], line))
            del self._turns[-count:]

    def left_out(self) -> set[int]:
        """Return all lines of those turns."""
        return set(self._gone)


class Codex(SessionFile):
    """Sessions of Codex, of its command line, its desktop app and its editor extension."""

    name = "codex"
    survey = _RolledBack

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`. Skips a compressed file that also exists uncompressed."""
        root = Path(environ.get("CODEX_HOME") or home / ".codex")
        found = chain(
            (root / "sessions").rglob("rollout-*"), (root / "archived_sessions").glob("rollout-*")
        )
        return newest_first(
            path for path in found if path.name.endswith(_SUFFIXES) and not _unpacked(path)
        )

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.name.startswith("rollout-") and path.name.endswith(_SUFFIXES):
            return True
        if not path.name.endswith(_SUFFIXES):
            return False
        return any(
            record.get("type") == "session_meta" and "payload" in record
            for record in first_objects(path)[:5]
        )

    def session(self, path: Path, head: list[Object]) -> Transcript:
        """Return the session of the first header; a fork has its parent's header after its own."""
        records = (
            _payload(record) for record in head if record.get("type") in ("session_meta", None)
        )
        meta = next((record for record in records if "id" in record), {})
        name = path.name.split(".")[0][-_UUID:]
        turns = (_payload(record) for record in head if record.get("type") == "turn_context")
        return Transcript(
            as_text(meta.get("id")) or name,
            self.name,
            path,
            cwd=as_text(meta.get("cwd")) or next((as_text(turn.get("cwd")) for turn in turns), ""),
            started_at=micros(meta.get("timestamp")),
            private=_private(meta),
        )

    def tell(
        self,
        record: Object,
        line: int,
        talk: Talk,
    ) -> None:
        """Add messages and calls; skip reasoning, developer instructions and compaction."""
        payload = _payload(record)
        at = micros(record.get("timestamp"))
        if record.get("type") in ("event_msg", "session_meta", "turn_context", "compacted"):
            return
        match payload.get("type"):
            case "message" if payload.get("role") == "user":
                talk.say("user", _fragments(payload.get("content")), at, line)
            case "message" if payload.get("role") == "assistant":
                talk.say("assistant", said_in(payload.get("content")), at, line)
            case "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call":
                _tell_call(payload, at, line, talk)
            case "function_call_output" | "custom_tool_call_output" | "tool_search_output":
                _tell_output(payload, at, line, talk)
            case "web_search_call":
                talk.ran("web_search", payload.get("action"), None, at, line)


def _tell_call(
    payload: Object,
    at: Micros | None,
    line: int,
    talk: Talk,
) -> None:
    given = payload.get("arguments") or payload.get("input") or payload.get("action")
    name = as_text(payload.get("name")) or as_text(payload.get("type")).removesuffix("_call")
    talk.call(as_text(payload.get("call_id") or payload.get("id")), name, given, at, line)


def _tell_output(
    payload: Object,
    at: Micros | None,
    line: int,
    talk: Talk,
) -> None:
    output = payload.get("output")
    success = as_dict(output).get("success")
    failed = not success if isinstance(success, bool) else None
    talk.outcome(as_text(payload.get("call_id")), output_of(output), at, line, failed=failed)


def _fragments(content: object) -> str:
    """Yield what the user wrote: each part of a message is one text, and the harness adds its own
    parts.
    """
    parts = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, (own_words(said_in([part])) for part in parts)))


def _payload(record: Object) -> Object:
    """Return the payload of a line; the first versions of Codex wrote it without an envelope."""
    return as_dict(record["payload"]) if "payload" in record else record


def _private(meta: Object) -> bool:
    source = meta.get("source")
    return (
        as_text(meta.get("memory_mode")) not in _MEMORY_ON
        or (isinstance(source, dict) and "subagent" in source)
        or as_text(meta.get("thread_source")) in ("subagent", "memory_consolidation")
        or as_text(meta.get("originator")).lower().startswith("holdfast")
    )


def _unpacked(path: Path) -> bool:
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else None
    return plain is not None and plain.exists()
