"""What is found on a machine, by project."""

import os
import shutil
from pathlib import Path

from heard import DATA, write

from holdfast.projects.past_sessions import survey
from holdfast.transcripts.discovery import found_sessions


def put(source: str, target: Path, changed: int) -> None:
    target.mkdir(parents=True)
    path = Path(shutil.copy(next((DATA / source).glob("*.jsonl")), target))
    os.utime(path, (changed, changed))


def test_sessions_of_all_agents_are_grouped_by_their_folder(tmp_path: Path) -> None:
    put("claude_code", tmp_path / ".claude" / "projects" / "-home-mira", 2_000_000_000)
    put("codex", tmp_path / ".codex" / "sessions" / "2026" / "04" / "11", 2_000_000_100)
    put("pi", tmp_path / ".pi" / "agent" / "sessions" / "--home--", 2_000_000_200)
    put("gemini", tmp_path / ".gemini" / "tmp" / "x" / "chats", 2_000_000_300)
    private = {
        "type": "session_meta",
        "payload": {"id": "p", "cwd": "/home/mira/src/buoy", "memory_mode": "disabled"},
    }
    write(tmp_path / ".codex" / "sessions" / "rollout-p.jsonl", private)
    found = survey(tmp_path, {})
    assert [
        (str(project.place.folder), project.agents, project.private) for project in found.projects
    ] == [
        ("/home/mira/src/buoy", {"pi": 1}, 1),
        ("/home/mira/src/harbor-api", {"claude-code": 1, "codex": 1}, 0),
    ]
    assert [session.agent for session in found.projects[1].sessions] == ["codex", "claude-code"]
    assert [session.agent for session in found.homeless] == ["gemini-cli"]


def test_a_session_in_two_places_is_found_once(tmp_path: Path) -> None:
    for folder in ("-one", "-two"):
        put("claude_code", tmp_path / ".claude" / "projects" / folder, 1)
    assert len(list(found_sessions(tmp_path, {}))) == 1


def test_a_machine_without_agents_has_nothing(tmp_path: Path) -> None:
    assert list(found_sessions(tmp_path, {})) == []
