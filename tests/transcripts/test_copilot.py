"""Sessions of GitHub Copilot: events of the command line and of VS Code."""

import json
import shutil
from pathlib import Path

from heard import DATA, one, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.copilot import Copilot

READER = Copilot()
EVENTS = next((DATA / "copilot").glob("*/events.jsonl"))


def start(**more) -> dict:
    data = {"sessionId": "s", "producer": "copilot-agent", **more}
    return {"type": "session.start", "data": data, "timestamp": "2026-06-03T10:00:00Z"}


def test_a_session_is_what_was_said_and_run() -> None:
    """No reasoning, no sub-agents, and the prompt as it was typed."""
    transcript, entries = one(READER, EVENTS)
    assert (transcript.id, transcript.agent) == (EVENTS.parent.name, "copilot")
    assert (transcript.cwd, transcript.title) == (
        "/home/mira/src/chart",
        "Cache of the depth tiles",
    )
    assert said(entries) == [
        ("user", "The depth tiles are cached for a week, not a day."),
        ("assistant", "I will change it."),
        ("tool", "bash: npm test\nok\n42 passing"),
        ("tool", "view: src/tiles.ts\nfailed\nNo such file"),
        ("assistant", "Tiles are cached for a week now."),
    ]
    assert list(READER.read(EVENTS, transcript.cursor)) == []


def test_the_folder_of_an_older_session_stands_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path / "s" / "events.jsonl", start())
    assert one(READER, path)[0].cwd == ""
    (path.parent / "workspace.yaml").write_text("id: s\ncwd: /home/mira/reef\n")
    assert one(READER, path)[0].cwd == "/home/mira/reef"


def test_in_vs_code_the_folder_is_that_of_the_workspace(tmp_path: Path) -> None:
    workspace = tmp_path / ".config/Code/User/workspaceStorage/3f"
    path = write(
        workspace / "GitHub.copilot-chat/transcripts/s.jsonl", start(vscodeVersion="1.125")
    )
    (workspace / "workspace.json").write_text(json.dumps({"folder": "file:///home/mira/my%20reef"}))
    assert one(READER, path)[0].cwd == "/home/mira/my reef"
    assert list(READER.discover(tmp_path, {})) == [path]


def test_sessions_are_found_where_the_command_line_keeps_them(tmp_path: Path) -> None:
    state = tmp_path / ".copilot" / "session-state"
    state.mkdir(parents=True)
    new = Path(shutil.copytree(EVENTS.parent, state / "new")) / "events.jsonl"
    old = write(state / "old.jsonl", start())
    assert set(READER.discover(tmp_path, {})) == {new, old}
    moved = write(tmp_path / "moved" / "session-state" / "s" / "events.jsonl", start())
    assert list(READER.discover(tmp_path, {"COPILOT_HOME": str(tmp_path / "moved")})) == [moved]


def test_it_claims_its_own_files() -> None:
    assert isinstance(reader_for(EVENTS), Copilot)
