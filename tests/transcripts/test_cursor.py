"""Conversations of Cursor: the editor's database, read from a copy, and the lines of its agents."""

import json
from contextlib import closing
from pathlib import Path

import apsw
from heard import DATA, one, read, said

from holdfast.transcripts import reader_for
from holdfast.transcripts.cursor import CursorEditor
from holdfast.transcripts.json_fields import micros

READER = CursorEditor()
LINES = next((DATA / "cursor").rglob("*.jsonl"))
USER, ASSISTANT = 1, 2


def state(folder: Path) -> tuple[Path, apsw.Connection]:
    path = folder / "state.vscdb"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)")
    connection.execute(
        "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
    )
    return path, connection


def add(connection, key, changed, *bubbles, **more):
    order = [
        {"bubbleId": f"b{number}", "type": bubble["type"]} for number, bubble in enumerate(bubbles)
    ]
    composer = {
        "_v": 17,
        "composerId": key,
        "createdAt": 1_780_000_000_000,
        "lastUpdatedAt": changed,
        **more,
    }
    put(connection, f"composerData:{key}", {**composer, "fullConversationHeadersOnly": order})
    for number, bubble in enumerate(bubbles):
        put(connection, f"bubbleId:{key}:b{number}", {"_v": 3, "bubbleId": f"b{number}", **bubble})


def put(connection, key, value):
    connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))


def bubble(kind, text="", **more):
    return {"type": kind, "text": text, "createdAt": "2026-06-02T08:00:00.000Z", **more}


def test_a_conversation_is_read_from_the_database(tmp_path: Path) -> None:
    path, connection = state(tmp_path)
    call = {
        "tool": 15,
        "name": "run_terminal_command_v2",
        "params": '{"command": "npm test"}',
        "status": "completed",
        "result": '{"output": "12 passing"}',
    }
    with closing(connection):
        add(
            connection,
            "c1",
            1_780_000_100_000,
            bubble(USER, "Test the winch."),
            bubble(ASSISTANT, thinking={"text": "hm"}, capabilityType=30),
            bubble(ASSISTANT, toolFormerData=call, capabilityType=15),
            bubble(ASSISTANT, "All pass."),
            name="Winch tests",
            workspaceIdentifier={"uri": {"fsPath": "/home/mira/winch"}},
        )
    transcript, entries = one(READER, path)
    assert (transcript.id, transcript.title, transcript.cwd) == (
        "c1",
        "Winch tests",
        "/home/mira/winch",
    )
    assert transcript.started_at == 1_780_000_000_000_000
    assert said(entries) == [
        ("user", "Test the winch."),
        ("tool", "run_terminal_command_v2: npm test\nok\n12 passing"),
        ("assistant", "All pass."),
    ]
    assert entries[0].at == micros("2026-06-02T08:00:00Z")


def test_headers_name_the_folder_and_sub_agents(tmp_path: Path) -> None:
    path, connection = state(tmp_path)
    with closing(connection):
        connection.execute(
            "CREATE TABLE composerHeaders (composerId, value, lastUpdatedAt, isSubagent)"
        )
        for key, sub in (("c1", 0), ("c2", 1)):
            add(connection, key, 1, bubble(USER, "Hello."))
            head = json.dumps(
                {
                    "type": "head",
                    "name": "Named",
                    "trackedGitRepos": [{"repoPath": "/home/mira/hull"}],
                }
            )
            connection.execute("INSERT INTO composerHeaders VALUES (?, ?, 7, ?)", (key, head, sub))
    transcript, _ = one(READER, path)
    assert (transcript.id, transcript.title, transcript.cwd) == ("c1", "Named", "/home/mira/hull")


def test_the_editors_files_are_not_touched(tmp_path: Path) -> None:
    path, connection = state(tmp_path)
    with closing(connection):
        add(connection, "c1", 1, bubble(USER, "Hello."))
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.iterdir()}
    one(READER, path)
    assert {
        file: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.iterdir()
    } == before


def test_only_conversations_that_changed_are_read_again(tmp_path: Path) -> None:
    path, connection = state(tmp_path)
    with closing(connection):
        add(connection, "draft", 9)
        add(connection, "c2", 2_000_000_000_000, bubble(USER, "Two."))
        add(connection, "c1", 1_000_000_000_000, bubble(USER, "One."))
        found = read(READER, path)
        assert [transcript.id for transcript, _ in found] == ["c1", "c2"]
        last = found[-1][0].cursor
        assert read(READER, path, last) == []
        add(connection, "c3", 3_000_000_000_000, bubble(USER, "Three."))
        assert [transcript.id for transcript, _ in read(READER, path, last)] == ["c2", "c3"]


def test_conversations_of_old_versions_hold_their_messages(tmp_path: Path) -> None:
    path, connection = state(tmp_path)
    with closing(connection):
        put(
            connection,
            "composerData:c1",
            {"composerId": "c1", "conversation": [bubble(USER, "Old one.")]},
        )
    assert said(one(READER, path)[1]) == [("user", "Old one.")]


def test_the_lines_of_an_agent_are_read() -> None:
    transcript, entries = one(READER, LINES)
    assert transcript.id == LINES.stem
    assert said(entries) == [
        ("user", "Add a retry to the tide download."),
        ("assistant", "I add three retries with backoff."),
        ("tool", "Shell: pytest -q tests/test_download.py"),
        ("assistant", "The download retries three times now."),
    ]


def test_the_folder_of_an_agent_is_the_one_that_has_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "src-x" / "my_app.v2"
    folder.mkdir(parents=True)
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(folder)).strip("-")
    path = tmp_path / ".cursor" / "projects" / slug / "agent-transcripts" / "i" / "i.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(LINES.read_bytes())
    assert one(READER, path)[0].cwd == str(folder)


def test_databases_are_found_before_lines(tmp_path: Path) -> None:
    storage = tmp_path / ".config" / "Cursor" / "User" / "globalStorage"
    storage.mkdir(parents=True)
    path, connection = state(storage)
    connection.close()
    lines = tmp_path / ".cursor" / "projects" / "p" / "agent-transcripts" / "i" / "i.jsonl"
    (lines.parent / "subagents").mkdir(parents=True)
    for file in (lines, lines.parent / "subagents" / "j.jsonl"):
        file.write_text("{}\n")
    assert list(READER.discover(tmp_path, {})) == [path, lines]


def test_a_database_of_something_else_holds_nothing(tmp_path: Path) -> None:
    path, connection = state(tmp_path)
    with closing(connection):
        connection.execute("DROP TABLE cursorDiskKV")
    assert read(READER, path) == []
    path.write_bytes(b"not a database")
    assert read(READER, path) == []
    assert not READER.recognises(path)


def test_it_claims_its_own_files(tmp_path: Path) -> None:
    path, connection = state(tmp_path)
    connection.close()
    assert [reader.name for file in (LINES, path) if (reader := reader_for(file))] == [
        "cursor",
        "cursor",
    ]
