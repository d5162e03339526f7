"""Sessions of Aider: one Markdown file, to which each of them is appended."""

import shutil
from datetime import datetime
from pathlib import Path

from heard import DATA, read, said

from holdfast.transcripts import reader_for
from holdfast.transcripts.aider import Aider
from holdfast.types import from_datetime

READER = Aider()
HISTORY = DATA / "aider" / ".aider.chat.history.md"


def test_each_start_is_a_session() -> None:
    (first, entries), (second, others) = read(READER, HISTORY)
    assert said(entries) == [
        ("user", "Rename Dock to Berth everywhere\nand keep the old import working"),
        ("assistant", "I rename the class and leave an alias.\n\n```python\nDock = Berth\n```"),
        (
            "tool",
            "aider: Applied edit to harbor/berth.py; Commit 1a2b3c4 refactor: rename Dock to Berth",
        ),
    ]
    assert [entry.lines for entry in entries] == [(8, 9), (11, 15), (18, 19)]
    assert said(others) == [
        ("user", "Which Python do we support?"),
        ("assistant", "3.11 and newer."),
    ]
    assert first.started_at == from_datetime(datetime(2025, 11, 5, 18, 20).astimezone())
    assert first.cwd == str(HISTORY.parent)
    assert first.id != second.id


def test_a_history_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    path = Path(shutil.copy(HISTORY, tmp_path))
    (first, _), (last, _) = read(READER, path)
    assert read(READER, path, last.cursor) == []
    assert len(read(READER, path, first.cursor)) == 2  # interrupted behind the first session
    with path.open("a") as file:
        file.write("\n#### And 3.14?\n")
    (_, (_, entries)) = read(READER, path, last.cursor)
    assert entries[-1].text == "And 3.14?"


def test_histories_are_found_in_projects_below_home(tmp_path: Path) -> None:
    wanted = []
    for folder in ("src/boat", "work/team/keel", "."):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        wanted.append(Path(shutil.copy(HISTORY, tmp_path / folder)))
    for folder in (".cache/x", "src/boat/node_modules/y", "a/b/c/d"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(HISTORY, tmp_path / folder)
    assert set(READER.discover(tmp_path, {})) == {path.resolve() for path in wanted}


def test_it_claims_its_own_files(tmp_path: Path) -> None:
    other = tmp_path / "history.md"
    shutil.copy(HISTORY, other)
    assert [reader.name for path in (HISTORY, other) if (reader := reader_for(path))] == [
        "aider",
        "aider",
    ]
