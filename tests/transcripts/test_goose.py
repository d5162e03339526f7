"""Sessions of Goose: a database of sessions and messages."""

import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from heard import one, read, said

from holdfast.transcripts import reader_for
from holdfast.transcripts.goose import Goose

READER = Goose()
SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT,
    session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP,
    updated_at TIMESTAMP);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT,
    role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / ".local" / "share" / "goose" / "sessions" / "sessions.db"
    file.parent.mkdir(parents=True)
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(SCHEMA)
    return file


def add(path: Path, key: str, minute: int, *messages: tuple, kind: str = "user") -> None:
    """A session that changed at a minute, with (role, parts, metadata) as its messages."""
    at = f"2026-06-04 09:{minute:02}:00"
    with closing(apsw.Connection(str(path))) as connection:
        row = (key, f"Name of {key}", "", kind, "/home/mira/reef", "2026-06-04 09:00:00", at)
        connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for role, parts, about in messages:
            values = (key, role, json.dumps(parts), 1_780_563_600, json.dumps(about))
            connection.execute(
                "INSERT INTO messages (session_id, role, content_json, created_timestamp, "
                "metadata_json) VALUES (?, ?, ?, ?, ?)",
                values,
            )


def text(words: str) -> dict:
    return {"type": "text", "text": words}


def called(key: str, command: str) -> dict:
    value = {"name": "developer__shell", "arguments": {"command": command}}
    return {"type": "toolRequest", "id": key, "toolCall": {"status": "success", "value": value}}


def answered(key: str, words: str, *, error: bool = False) -> dict:
    value = {"content": [text(words)], "isError": error}
    return {"type": "toolResponse", "id": key, "toolResult": {"status": "success", "value": value}}


def test_a_session_is_its_messages_with_calls_and_results(path: Path) -> None:
    add(
        path,
        "20260604_1",
        1,
        ("user", [text("Tag releases with the year.")], {"userVisible": True}),
        ("assistant", [text("Looking."), called("1", "git tag"), called("2", "git push")], {}),
        ("user", [answered("1", "v2025"), answered("2", "rejected", error=True)], {}),
        ("user", [text("A summary of what was said.")], {"userVisible": False}),
        ("assistant", [{"type": "thinking", "thinking": "hm"}, text("Tags have the year.")], {}),
    )
    transcript, entries = one(READER, path)
    assert (transcript.id, transcript.agent) == ("20260604_1", "goose")
    assert (transcript.cwd, transcript.title) == ("/home/mira/reef", "Name of 20260604_1")
    assert said(entries) == [
        ("user", "Tag releases with the year."),
        ("assistant", "Looking."),
        ("tool", "developer__shell: git tag\nok\nv2025"),
        ("tool", "developer__shell: git push\nfailed\nrejected"),
        ("assistant", "Tags have the year."),
    ]


def test_sub_agents_and_scheduled_runs_are_private(path: Path) -> None:
    add(path, "a", 1, ("user", [text("Go.")], {}), kind="sub_agent")
    assert one(READER, path)[0].private


def test_only_sessions_that_changed_are_read_again(path: Path) -> None:
    add(path, "a", 1, ("user", [text("One.")], {}))
    add(path, "b", 2, ("user", [text("Two.")], {}))
    cursor = read(READER, path)[-1][0].cursor
    assert read(READER, path, cursor) == []
    add(path, "c", 3, ("user", [text("Three.")], {}))
    assert [transcript.id for transcript, _ in read(READER, path, cursor)] == ["b", "c"]


def test_it_finds_and_claims_its_own_file(path: Path, tmp_path: Path) -> None:
    assert list(READER.discover(tmp_path, {})) == [path]
    assert isinstance(reader_for(path), Goose)


def test_a_damaged_database_holds_nothing(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert read(READER, path) == []
