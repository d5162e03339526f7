"""Sessions of Qwen Code: a tree of records with messages of the Gemini API."""

from pathlib import Path

from heard import DATA, append, one, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.qwen import QwenCode

READER = QwenCode()
SESSION = next((DATA / "qwen").glob("*.jsonl"))


def record(key: str, parent: str | None, text: str, **more) -> dict:
    message = {"role": "user", "parts": [{"text": text}]}
    return {
        "uuid": key,
        "parentUuid": parent,
        "sessionId": "s",
        "type": "user",
        "cwd": "/home/mira/reef",
        "message": message,
        **more,
    }


def test_a_session_is_the_branch_that_was_continued() -> None:
    """No thoughts, no notices, nothing that hooks injected, and nothing that was rewound."""
    transcript, entries = one(READER, SESSION)
    assert (transcript.id, transcript.agent) == (SESSION.stem, "qwen-code")
    assert (transcript.cwd, transcript.title) == ("/home/mira/src/buoy", "Port of the buoy gateway")
    assert said(entries) == [
        ("user", "Which port does the buoy gateway use?"),
        ("assistant", "Let me look."),
        ("tool", "read_file: /home/mira/src/buoy/gateway.toml\nok\nport = 7400"),
        ("assistant", "It uses port 7400."),
        ("user", "Keep 7400, the firewall opens only that one."),
        ("tool", "run_shell_command: make check\nfailed\nmake: *** [check] Error 2"),
        ("assistant", "The port stays 7400."),
    ]


def test_a_prompt_is_told_as_the_person_saw_it(tmp_path: Path) -> None:
    shown = {"displayText": "Fix @reef.py", "hookContext": "notes"}
    expanded = record("1", None, "Fix the content of reef.py: …", systemPayload=shown)
    path = write(tmp_path / "s.jsonl", expanded)
    assert said(one(READER, path)[1]) == [("user", "Fix @reef.py")]


def test_a_sub_agent_is_private(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", record("1", None, "Go.", isSidechain=True))
    assert one(READER, path)[0].private


def test_only_what_is_new_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", record("1", None, "First."))
    cursor = one(READER, path)[0].cursor
    assert list(READER.read(path, cursor)) == []
    append(path, record("2", "1", "Second."))
    transcript, entries = one(READER, path, cursor)
    assert (transcript.continued, said(entries)) == (True, [("user", "Second.")])


def test_sessions_are_found_where_qwen_keeps_them(tmp_path: Path) -> None:
    path = write(tmp_path / ".qwen/projects/-home-mira/chats/s.jsonl", record("1", None, "Go."))
    moved = write(tmp_path / "other/projects/x/chats/t.jsonl", record("1", None, "Go."))
    assert list(READER.discover(tmp_path, {})) == [path]
    assert list(READER.discover(tmp_path, {"QWEN_HOME": str(tmp_path / "other")})) == [moved]


def test_it_claims_its_own_files() -> None:
    assert isinstance(reader_for(SESSION), QwenCode)
