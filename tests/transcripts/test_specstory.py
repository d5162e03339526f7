"""Sessions that SpecStory recorded: Markdown files in the project, one per session."""

import shutil
from pathlib import Path

from heard import DATA, read, said

from holdfast.transcripts import reader_for
from holdfast.transcripts.specstory import SpecStory
from holdfast.types import iso

READER = SpecStory()
PROJECT = DATA / "specstory"
FILE = PROJECT / ".specstory" / "history" / "2026-02-03_09-15Z-harbour-lights.md"


def test_people_agents_and_tools_are_told_apart() -> None:
    ((session, entries),) = read(READER, FILE)
    assert said(entries) == [
        ("user", "The harbour lights test is red.\nWe never mock the tide table."),
        ("assistant", "I run it."),
        ("tool", "Bash: make test\nfailed, exit 2\nE   KeyError: 'lights'"),
        ("assistant", "The key is missing."),
        ("tool", "run_terminal_cmd: make lint\nall good"),
        ("user", "Fix it."),
    ]
    assert session.cwd == str(PROJECT)
    assert session.title == "The harbour lights test is red."
    assert [iso(entry.at)[:16] for entry in entries[::5] if entry.at] == [
        "2026-02-03T09:15",
        "2026-02-03T09:20",
    ]
    written = FILE.read_text("utf-8").split("\n")
    assert entries[0].lines == (7, 8)
    first, last = entries[2].lines
    assert "<tool-use" in written[first - 1]
    assert "</tool-use>" in written[last - 1]
    assert any("KeyError" in line for line in written[first - 1 : last])


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILE, tmp_path))
    ((session, _),) = read(READER, path)
    assert read(READER, path, session.cursor) == []
    path.write_text(path.read_text("utf-8") + "\n_**User**_\n\nThanks.\n", "utf-8")
    ((_, entries),) = read(READER, path, session.cursor)
    assert said(entries)[-1] == ("user", "Thanks.")


def test_files_are_found_in_projects_and_other_markdown_is_not_taken(tmp_path: Path) -> None:
    history = tmp_path / "work" / "shop" / ".specstory" / "history"
    history.mkdir(parents=True)
    shutil.copy(FILE, history)
    (tmp_path / "notes.md").write_text("# Notes\n", "utf-8")
    assert [path.name for path in READER.discover(tmp_path, {})] == [FILE.name]
    assert not READER.recognises(tmp_path / "notes.md")
    assert isinstance(reader_for(FILE), SpecStory)
