"""Goose: ~/.local/share/goose/sessions/sessions.db, a SQLite database since 2025, before that one
JSON lines file per session, which Goose itself moves into the database.

`sessions` has the working directory and the name of each session, `messages` its messages in order,
with `content_json` as a list of texts, tool requests and responses. Sessions whose type is not
`user` are sub-agents and scheduled runs. A message that is not visible to the user is the
program's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from ..types import Micros
from .assemble import Talk
from .base import Cursor, Transcript
from .databases import MAGIC, copied, fingerprint, rows, since, tables
from .json_documents import read_entries
from .json_fields import as_dict, as_text, dicts, micros, parsed, with_last
from .jsonl_file import Object, newest_first
from .line_reader import beginning
from .tool_calls import output_of

# Times are text in UTC without a zone.
_SESSIONS = (
    "SELECT id, COALESCE(NULLIF(name, ''), description), session_type, working_dir, "
    "CAST(strftime('%s', created_at) AS INTEGER), CAST(strftime('%s', updated_at) AS INTEGER) "
    "FROM sessions WHERE CAST(strftime('%s', updated_at) AS INTEGER) >= ? ORDER BY 6, id"
)
_MESSAGES = (
    "SELECT role, CAST(content_json AS BLOB), created_timestamp, CAST(metadata_json AS BLOB) "
    "FROM messages WHERE session_id = ? ORDER BY id"
)


class Goose:
    """Sessions of Goose, of its command line and its desktop app."""

    name = "goose"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """See `Importer.discover`."""
        data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "goose"
        root = environ.get("GOOSE_PATH_ROOT")
        places = (
            [Path(root) / "data"] if root else [data, home / "AppData/Roaming/Block/goose/data"]
        )
        files = (place / "sessions" / "sessions.db" for place in places)
        return newest_first(file for file in files if file.is_file())

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        if path.suffix != ".db" or beginning(path, 16) != MAGIC:
            return False
        return path.name == "sessions.db" and path.parent.name == "sessions"

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[Transcript]:
        """See `Importer.read`. Only sessions that changed since."""
        mark = fingerprint(path)
        if cursor and cursor.digest == mark:
            return
        with copied(path) as connection:
            if not {"sessions", "messages"} <= tables(connection):
                return
            found = list(rows(connection, _SESSIONS, (since(cursor),)))
            for row, last in with_last(found):
                yield _transcript(path, connection, row, mark if last else "")


def _transcript(
    path: Path,
    connection: apsw.Connection,
    row: tuple[object, ...],
    mark: str,
) -> Transcript:
    key, title, kind, folder, created, updated = row
    transcript = Transcript(
        as_text(key),
        Goose.name,
        path,
        cwd=as_text(folder),
        title=as_text(title).strip(),
        started_at=micros(created),
        updated_at=micros(updated),
        private=kind != "user",
    )

    def tell(talk: Talk) -> None:
        messages = list(rows(connection, _MESSAGES, (key,)))
        for number, (role, content, at, about) in enumerate(messages, 1):
            if as_dict(parsed(about or b"")).get("userVisible") is not False:
                for part in dicts(parsed(content or b"")):
                    _tell_part(role, part, micros(at), number, talk)

    position = updated if isinstance(updated, int) else 0
    transcript.entries = read_entries(transcript, tell, Cursor(position, 0, mark))
    return transcript


def _tell_part(
    role: object,
    part: Object,
    at: Micros | None,
    number: int,
    talk: Talk,
) -> None:
    key = as_text(part.get("id"))
    match part.get("type"):
        case "text" if role in ("user", "assistant"):
            text = as_text(part.get("text"))
            talk.say("user" if role == "user" else "assistant", text, at, number)
        case "toolRequest" | "frontendToolRequest":
            call = as_dict(as_dict(part.get("toolCall")).get("value"))
            talk.call(key, as_text(call.get("name")), call.get("arguments"), at, number)
        case "toolResponse":
            result = as_dict(part.get("toolResult"))
            value = as_dict(result.get("value"))
            failed = result.get("status") == "error" or value.get("isError") is True
            output = output_of(result.get("value")) or output_of(result.get("error"))
            talk.outcome(key, output, at, number, failed=failed)
