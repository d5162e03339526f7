"""opencode: ~/.local/share/opencode, a SQLite database since 2026, before that a JSON file for each
part of a message.

    opencode.db   session, message, part; newer sessions are in session_message instead, with the
                  parts inside, for a while with a table session_v2 of their own
    storage/      session/<project>/<session>.json, message/<session>/<message>.json,
                  part/<message>/<part>.json

`opencode export` writes a session with its messages as one JSON document, which others keep under
any name: {"info": session, "messages": [{"info": message, "parts": [part]}]}.

Sessions with a parent are sub-agents. What a person reverted is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

import apsw

from ..types import Micros
from .assemble import Talk
from .base import Cursor, Transcript
from .databases import MAGIC, copied, fingerprint, rows, since, tables
from .json_documents import document, read_entries, whole
from .json_fields import as_dict, as_int, as_text, dicts, micros, parsed, said_in, with_last
from .jsonl_file import Object, newest_first
from .line_reader import MOST_LINE, beginning
from .tool_calls import output_of

# The beginning of an exported session.
_EXPORTED = re.compile(rb'\s*\{\s*"info"\s*:\s*\{[^{}]*"id"\s*:\s*"ses_')
_SESSIONS = (
    "SELECT id, parent_id, directory, title, time_created, time_updated, revert FROM {table} "
    "WHERE time_updated >= ? ORDER BY id"
)
_MESSAGES = (
    "SELECT id, CAST(data AS BLOB) FROM message WHERE session_id = ? ORDER BY time_created, id"
)
_PARTS = "SELECT CAST(data AS BLOB) FROM part WHERE message_id = ? ORDER BY id"
_MESSAGES_2 = (
    "SELECT id, type, CAST(data AS BLOB) FROM session_message WHERE session_id = ? ORDER BY seq"
)


class OpenCode:
    """Sessions of opencode."""

    name = "opencode"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`. Searches JSON files only where no database replaced them."""
        root = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
        given = [Path(environ["OPENCODE_DB"])] if environ.get("OPENCODE_DB") else []
        databases = [path for path in chain(given, root.glob("opencode*.db")) if path.is_file()]
        return newest_first(
            iter(databases) if databases else (root / "storage").glob("session/*/ses_*.json")
        )

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix == ".db":
            return path.name.startswith("opencode") and beginning(path, 16) == MAGIC
        return _in_storage(path) or (
            path.suffix in (".json", ".jsonl")
            and _EXPORTED.match(beginning(path, 4096)) is not None
        )

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`. From a database, only sessions that changed since."""
        if path.suffix != ".db":
            yield from self._read_files(path, cursor)
            return
        mark = fingerprint(path)
        if cursor and cursor.digest == mark:
            return
        with copied(path) as connection:
            for row, last in with_last(_sessions(connection, since(cursor))):
                yield self._from_row(path, connection, row, mark if last else "")

    def _from_row(
        self,
        path: Path,
        connection: apsw.Connection,
        row: Object,
        mark: str,
    ) -> Transcript:
        transcript = self._transcript(
            path, row, {"created": row["time_created"], "updated": row["time_updated"]}
        )
        key = row["id"]
        read = _messages_2 if row["version"] == 2 else _any_messages
        until = as_text(as_dict(parsed(as_text(row["revert"]))).get("messageID"))

        def tell(talk: Talk) -> None:
            _tell_all(_before(read(connection, key), until), talk)

        transcript.entries = read_entries(
            transcript, tell, Cursor(as_int(row["time_updated"]) or 0, 0, mark)
        )
        return transcript

    def _read_files(self, path: Path, cursor: Cursor | None) -> Iterator[Transcript]:
        found = whole(path, cursor)
        info = as_dict(parsed(found.data)) if found else {}
        if not found or not info:
            return
        if _in_storage(path):
            messages = _message_files(path)
        else:
            messages = _exported(info)
            info = as_dict(info.get("info"))
        until = as_text(as_dict(info.get("revert")).get("messageID"))
        messages = _before(messages, until)
        transcript = self._transcript(path, info, as_dict(info.get("time")))
        yield document(transcript, found, lambda talk: _tell_all(messages, talk))

    def _transcript(
        self,
        path: Path,
        info: Object,
        time: Object,
    ) -> Transcript:
        return Transcript(
            as_text(info.get("id")) or path.stem,
            self.name,
            path,
            cwd=as_text(info.get("directory")),
            title=as_text(info.get("title")).strip(),
            started_at=micros(time.get("created")),
            updated_at=micros(time.get("updated")),
            private=bool(info.get("parentID")),
        )


def _sessions(connection: apsw.Connection, newer: int) -> list[Object]:
    """Yield the sessions that changed at `newer` or later, ordered by change."""
    keys = ("id", "parentID", "directory", "title", "time_created", "time_updated", "revert")
    there = tables(connection)
    found = []
    for table, needed, version in (("session", "message", 1), ("session_v2", "session_message", 2)):
        if {table, needed} <= there:
            for row in rows(connection, _SESSIONS.format(table=table), (newer,)):
                found.append({**dict(zip(keys, row, strict=True)), "version": version})
    return sorted(found, key=lambda row: as_int(row["time_updated"]) or 0)


def _any_messages(connection: apsw.Connection, session: str) -> Iterator[Object]:
    """Yield the messages of a session from the table that has them; both may exist, and a session
    may have been copied from the one to the other.
    """
    found = list(_messages(connection, session))
    return iter(found) if found else _messages_2(connection, session)


def _messages(connection: apsw.Connection, session: str) -> Iterator[Object]:
    """Yield each message with its parts, from a database of version 1."""
    for key, data in list(rows(connection, _MESSAGES, (session,))):
        parts = [as_dict(parsed(part or b"")) for (part,) in rows(connection, _PARTS, (key,))]
        yield {**as_dict(parsed(data or b"")), "id": key, "parts": parts}


def _messages_2(connection: apsw.Connection, session: str) -> Iterator[Object]:
    """Yield the same from version 2, where a message contains its parts."""
    for key, kind, data in rows(connection, _MESSAGES_2, (session,)):
        message = as_dict(parsed(data or b""))
        own = [{"type": "text", "text": message.get("text")}] if kind == "user" else []
        own += [_shell(message)] if kind == "shell" else []
        yield {**message, "id": key, "role": kind, "parts": [*own, *dicts(message.get("content"))]}


def _shell(message: Object) -> Object:
    """Return a command that a person ran, as a tool call."""
    given = {"command": message.get("command")}
    return {
        "type": "tool",
        "tool": "shell",
        "state": {"input": given, "output": message.get("output")},
    }


def _message_files(path: Path) -> Iterator[Object]:
    """Yield the same from files, whose names sort by time."""
    storage = path.parents[2]
    for file in sorted((storage / "message" / path.stem).glob("msg_*.json")):
        files = sorted((storage / "part" / file.stem).glob("*.json"))
        parts = [as_dict(parsed(beginning(part, MOST_LINE))) for part in files]
        yield {**as_dict(parsed(beginning(file))), "id": file.stem, "parts": parts}


def _in_storage(path: Path) -> bool:
    """Whether a file is a session of the folder `storage`, with its messages in other files."""
    return (
        path.suffix == ".json"
        and path.name.startswith("ses_")
        and path.parent.parent.name == "session"
    )


def _exported(session: Object) -> Iterator[Object]:
    """Yield the messages of an exported session."""
    for message in dicts(session.get("messages")):
        yield {**as_dict(message.get("info")), "parts": message.get("parts")}


def _before(messages: Iterable[Object], reverted: str) -> Iterator[Object]:
    for message in messages:
        if reverted and message.get("id") == reverted:
            return
        yield message


def _tell_all(messages: Iterable[Object], talk: Talk) -> None:
    for number, message in enumerate(messages, 1):
        at = micros(as_dict(message.get("time")).get("created"))
        for part in dicts(message.get("parts")):
            _tell_part(message.get("role"), part, at, number, talk)


def _tell_part(
    role: object,
    part: Object,
    at: Micros | None,
    number: int,
    talk: Talk,
) -> None:
    if part.get("synthetic") or part.get("ignored"):
        return
    if part.get("type") == "text" and role in ("user", "assistant"):
        talk.say("user" if role == "user" else "assistant", said_in(part.get("text")), at, number)
    elif part.get("type") == "tool":
        state = as_dict(part.get("state"))
        failed = {"completed": False, "error": True}.get(as_text(state.get("status")))
        # A shell's status, where it has one.
        failed = bool(as_dict(state.get("metadata")).get("exit")) or failed
        output = output_of({key: state.get(key) for key in ("output", "content", "error")})
        name = as_text(part.get("tool")) or as_text(part.get("name"))
        moment = micros(as_dict(state.get("time")).get("start")) or at
        talk.ran(name, state.get("input"), output, moment, number, failed=failed)
