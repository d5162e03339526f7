"""Sessions of opencode: two versions of its database, the files of before, and exports."""

import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from heard import DATA, one, read, said

from holdfast.transcripts import reader_for
from holdfast.transcripts.opencode import OpenCode

READER = OpenCode()
SESSION = DATA / "opencode" / "storage" / "session" / "global" / "ses_71a.json"
SCHEMA = """
CREATE TABLE {session} (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
    title TEXT, version TEXT,
  revert TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
    time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
    data TEXT);
CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER,
    data TEXT);
"""


def database(path: Path, session: str = "session") -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.execute(SCHEMA.format(session=session))
    return connection


def add_session(connection, key, updated, *, table="session", parent=None, revert=None):
    row = (
        key,
        "p",
        parent,
        "/home/mira/reef",
        f"Title of {key}",
        "1",
        revert,
        1_767_600_000_000,
        updated,
    )
    connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def add_message(connection, session, key, role, *parts):
    made = {"role": role, "time": {"created": 1_767_600_001_000}}
    connection.execute(
        "INSERT INTO message VALUES (?, ?, 1, 1, ?)", (key, session, json.dumps(made))
    )
    for number, part in enumerate(parts):
        row = (f"prt_{key}_{number}", key, session, json.dumps(part))
        connection.execute("INSERT INTO part VALUES (?, ?, ?, 1, ?)", row)


def text(words, **more):
    return {"type": "text", "text": words, **more}


def test_the_files_of_a_session_are_put_together() -> None:
    transcript, entries = one(READER, SESSION)
    assert (transcript.id, transcript.cwd, transcript.title) == (
        "ses_71a",
        "/home/mira/src/anchor",
        "Anchor alarm",
    )
    assert said(entries) == [
        ("user", "The anchor alarm must ring at 30 metres."),
        ("tool", "bash: cargo test alarm\nfailed\ntest alarm_rings ... FAILED"),
        ("assistant", "The radius was in feet; it is 30 metres now."),
    ]
    assert list(READER.read(SESSION, transcript.cursor)) == []


def test_a_database_of_the_first_version(tmp_path: Path) -> None:
    with closing(database(tmp_path / "opencode.db")) as connection:
        add_session(connection, "ses_1", 1_767_600_100_000)
        state = {"status": "error", "input": {"filePath": "a.rs"}, "error": "no"}
        tool = {"type": "tool", "tool": "read", "state": state}
        add_message(
            connection,
            "ses_1",
            "msg_1",
            "user",
            text("Use metres."),
            text("file dump", synthetic=True),
        )
        add_message(
            connection,
            "ses_1",
            "msg_2",
            "assistant",
            {"type": "reasoning", "text": "hm"},
            tool,
            text("Yes."),
        )
        add_session(connection, "ses_2", 1_767_600_100_001, parent="ses_1")
    (first, entries), (second, _) = read(READER, tmp_path / "opencode.db")
    assert said(entries) == [
        ("user", "Use metres."),
        ("tool", "read: a.rs\nfailed\nno"),
        ("assistant", "Yes."),
    ]
    assert (first.cwd, first.title, first.private) == ("/home/mira/reef", "Title of ses_1", False)
    assert second.private


def test_a_database_of_the_second_version(tmp_path: Path) -> None:
    with closing(database(tmp_path / "opencode.db", session="session_v2")) as connection:
        add_session(connection, "ses_1", 5, table="session_v2")
        state = {"status": "completed", "input": {"command": "make"}, "content": [text("built")]}
        rows = [
            ("m1", "user", 1, {"text": "Build it.", "time": {"created": 1_767_600_001_000}}),
            ("m2", "synthetic", 2, {"text": "injected"}),
            (
                "m3",
                "assistant",
                3,
                {"content": [{"type": "tool", "name": "bash", "state": state}, text("Built.")]},
            ),
        ]
        for key, kind, seq, data in rows:
            row = (key, kind, seq, json.dumps(data))
            connection.execute("INSERT INTO session_message VALUES (?, 'ses_1', ?, ?, ?)", row)
    assert said(one(READER, tmp_path / "opencode.db")[1]) == [
        ("user", "Build it."),
        ("tool", "bash: make\nok\nbuilt"),
        ("assistant", "Built."),
    ]


def test_a_database_with_both_kinds_of_messages(tmp_path: Path) -> None:
    """One table of sessions, whose messages are in the one or in the other table."""
    with closing(database(tmp_path / "opencode.db")) as connection:
        add_session(connection, "ses_1", 1)
        add_message(connection, "ses_1", "msg_1", "user", text("Use metres."))
        add_session(connection, "ses_2", 2)
        rows = [
            ("m0", "ses_1", "user", {"text": "Use metres."}),
            ("m1", "ses_2", "user", {"text": "Use knots."}),
            ("m2", "ses_2", "shell", {"command": "make", "output": "built", "callID": "c"}),
            ("m3", "ses_2", "compaction", {"summary": "…", "recent": "…", "reason": "auto"}),
            ("m4", "ses_2", "assistant", {"content": [text("Knots it is.")]}),
        ]
        for seq, (key, session, kind, data) in enumerate(rows):
            row = (key, session, kind, seq, json.dumps(data))
            connection.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?)", row)
    (_, first), (_, second) = read(READER, tmp_path / "opencode.db")
    assert said(first) == [("user", "Use metres.")]
    assert said(second) == [
        ("user", "Use knots."),
        ("tool", "shell: make\nbuilt"),
        ("assistant", "Knots it is."),
    ]


def test_only_sessions_that_changed_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(database(path)) as connection:
        for number in (1, 2):
            add_session(connection, f"ses_{number}", number)
            add_message(connection, f"ses_{number}", f"msg_{number}", "user", text("Hello."))
        connection.execute("PRAGMA journal_mode = WAL")
        cursors = [transcript.cursor for transcript, _ in read(READER, path)]
        assert read(READER, path, cursors[-1]) == []
        assert [transcript.id for transcript, _ in read(READER, path, cursors[0])] == [
            "ses_1",
            "ses_2",
        ]
        add_session(connection, "ses_3", 3)  # still in the write-ahead log
        assert [transcript.id for transcript, _ in read(READER, path, cursors[-1])] == [
            "ses_2",
            "ses_3",
        ]


def test_what_was_reverted_is_left_out(tmp_path: Path) -> None:
    with closing(database(tmp_path / "opencode.db")) as connection:
        add_session(connection, "ses_1", 1, revert=json.dumps({"messageID": "msg_2"}))
        add_message(connection, "ses_1", "msg_1", "user", text("Stay."))
        add_message(connection, "ses_1", "msg_2", "user", text("Gone."))
    assert said(one(READER, tmp_path / "opencode.db")[1]) == [("user", "Stay.")]


EXPORTED = {
    "info": {
        "id": "ses_tide",
        "slug": "calm-harbour",
        "projectID": "global",
        "directory": "/home/mira/reef",
        "title": "Tide tables",
        "version": "1.18.5",
        "time": {"created": 1_767_600_000_000, "updated": 1_767_600_900_000},
    },
    "messages": [
        {
            "info": {"id": "msg_1", "role": "user", "time": {"created": 1_767_600_001_000}},
            "parts": [text("Round the tides to five minutes."), text("reminder", synthetic=True)],
        },
        {
            "info": {"id": "msg_2", "role": "assistant", "time": {"created": 1_767_600_002_000}},
            "parts": [
                {
                    "type": "tool",
                    "tool": "bash",
                    "state": {
                        "status": "completed",
                        "input": {"command": "go test ./tides"},
                        "output": "ok  tides 0.1s",
                    },
                },
                text("They are rounded now."),
            ],
        },
        {"info": {"id": "msg_3", "role": "user"}, "parts": [text("And the moon.")]},
    ],
}


@pytest.mark.parametrize("name", ["session.json", "full.jsonl"])
@pytest.mark.parametrize("indent", [None, 2])
def test_an_exported_session(tmp_path: Path, name: str, indent: int | None) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(EXPORTED, indent=indent), "utf-8")
    assert reader_for(path).name == "opencode"
    transcript, entries = one(READER, path)
    assert (transcript.id, transcript.cwd, transcript.title) == (
        "ses_tide",
        "/home/mira/reef",
        "Tide tables",
    )
    assert said(entries) == [
        ("user", "Round the tides to five minutes."),
        ("tool", "bash: go test ./tides\nok\nok  tides 0.1s"),
        ("assistant", "They are rounded now."),
        ("user", "And the moon."),
    ]
    assert list(READER.read(path, transcript.cursor)) == []


def test_what_was_reverted_is_left_out_of_an_export_too(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    info = {**EXPORTED["info"], "revert": {"messageID": "msg_3"}}
    path.write_text(json.dumps({**EXPORTED, "info": info}), "utf-8")
    _, entries = one(READER, path)
    assert [role for role, _ in said(entries)] == ["user", "tool", "assistant"]


def test_an_export_that_was_cut_off_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps(EXPORTED)[:-40], "utf-8")
    assert reader_for(path).name == "opencode"
    assert list(READER.read(path)) == []


def test_files_are_looked_for_only_where_there_is_no_database(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    (root / "storage" / "session" / "global").mkdir(parents=True)
    file = root / "storage" / "session" / "global" / "ses_1.json"
    file.write_text("{}")
    assert list(READER.discover(tmp_path, {"XDG_DATA_HOME": str(tmp_path)})) == [file]
    (root / "opencode.db").write_bytes(b"")
    assert list(READER.discover(tmp_path, {"XDG_DATA_HOME": str(tmp_path)})) == [
        root / "opencode.db"
    ]


def test_a_damaged_database_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert READER.recognises(path)
    assert read(READER, path) == []


def test_it_claims_its_own_files() -> None:
    reader = reader_for(SESSION)
    assert reader is not None
    assert reader.name == "opencode"
