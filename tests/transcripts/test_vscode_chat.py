"""Chats of VS Code: exported, and as the editor keeps them."""

import json
from pathlib import Path

from heard import DATA, append, one, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.vscode_chat import VSCodeChat

READER = VSCodeChat()
EXPORT = DATA / "vscode_chat" / "chat.json"
HEAD = {"version": 3, "responderUsername": "GitHub Copilot", "sessionId": "s", "requests": []}


def asked(text: str, *response: dict) -> dict:
    return {"message": {"text": text}, "response": list(response), "timestamp": 1_780_560_000_000}


def kept(tmp_path: Path, name: str, *lines: dict) -> Path:
    """A file of the editor for a workspace with a folder."""
    storage = tmp_path / ".config/Code/User/workspaceStorage/3f"
    path = write(storage / "chatSessions" / name, *lines)
    (storage / "workspace.json").write_text(json.dumps({"folder": "file:///home/mira/reef"}))
    return path


def test_an_export_is_what_was_said_and_run() -> None:
    """No thoughts and no progress; a file in the text is named, and a notice is nobody's word."""
    transcript, entries = one(READER, EXPORT)
    assert (transcript.id, transcript.agent, transcript.cwd) == ("chat", "vscode-chat", "")
    assert said(entries) == [
        ("user", "Sails are named in German in the data files."),
        ("assistant", "I will read `names.csv` first."),
        ("tool", "run_in_terminal: npm test\nok\n12 passing"),
        ("tool", "copilot_readFile: Read names.csv"),
        ("assistant", "The names are German now."),
        ("assistant", "Noted."),
    ]
    assert list(READER.read(EXPORT, transcript.cursor)) == []


def test_a_log_of_changes_is_replayed(tmp_path: Path) -> None:
    path = kept(
        tmp_path,
        "s.jsonl",
        {"kind": 0, "v": HEAD},
        {"kind": 2, "k": ["requests"], "v": [asked("Which port?"), asked("Never mind.")]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "74"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Port 7400."}], "i": 0},
        {"kind": 1, "k": ["customTitle"], "v": "Ports"},
        {"kind": 1, "k": ["requests", 9, "response"], "v": "fits nowhere"},
        {"kind": 2, "k": ["requests"], "i": 1},
    )
    transcript, entries = one(READER, path)
    assert (transcript.id, transcript.cwd, transcript.title) == ("s", "/home/mira/reef", "Ports")
    assert said(entries) == [("user", "Which port?"), ("assistant", "Port 7400.")]
    append(path, {"kind": 2, "k": ["requests"], "v": [asked("And the host?")]})
    again, entries = one(READER, path, transcript.cursor)
    assert (again.continued, len(entries)) == (False, 3)


def test_a_chat_that_is_kept_both_ways_is_found_once(tmp_path: Path) -> None:
    log = kept(tmp_path, "s.jsonl", {"kind": 0, "v": HEAD})
    kept(tmp_path, "s.json", HEAD)
    old = kept(tmp_path, "t.json", {**HEAD, "requests": [asked("Hello.")]})
    assert set(READER.discover(tmp_path, {})) == {log, old}
    assert said(one(READER, old)[1]) == [("user", "Hello.")]


def test_it_claims_its_own_files(tmp_path: Path) -> None:
    assert isinstance(reader_for(EXPORT), VSCodeChat)
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"kind": 0, "v": HEAD}, separators=(",", ":")) + "\n")
    assert isinstance(reader_for(path), VSCodeChat)
