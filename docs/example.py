"""Writes docs/example: what Holdfast makes, without a model, of the thirteen sessions in
tests/past.

python docs/example.py            write the files
python docs/example.py --check    say which files are out of date, and fail if any is
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from holdfast import Holdfast, Settings
from holdfast.base_client import author_of
from holdfast.namespaces.project_view import project_at
from holdfast.projects.past_sessions import survey, take_in
from holdfast.types import from_datetime

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "example"
NOW = from_datetime(datetime(2026, 5, 25, 9, tzinfo=UTC))  # two days after the last of the sessions
SHOWN = ("MEMORY.md", "memory_summary.md", "skills/")

sys.path.insert(0, str(ROOT / "tests"))


def example() -> dict[str, str]:
    """The files that come out, by path."""
    from past.written import write_all

    with TemporaryDirectory() as folder:
        home = Path(folder)
        # Whoever runs this may have settings of their own.
        os.environ["XDG_CONFIG_HOME"] = str(home)
        repository = home / "tidewatch"
        (repository / ".git").mkdir(parents=True)
        write_all(home, repository)
        settings = Settings(embedding_models="none")
        with Holdfast.open(
            home / "memory.db", scope="user:ann", settings=settings, clock=lambda: NOW
        ) as hf:
            found = survey(home, {})
            for past in found.projects:
                take_in(hf.store, past, author_of(hf, "import"), data=home, max_bytes=100_000)
            project = project_at(hf, repository, data=home)
            project.build()
            files = project.standing().files
            return {
                name: (project.folder / name).read_text("utf-8")
                for name in files
                if name.startswith(SHOWN)
            }


def main() -> None:
    """Writes the files, or checks them."""
    made = example()
    there = {
        str(file.relative_to(FOLDER)): file.read_text("utf-8")
        for file in FOLDER.rglob("*")
        if file.is_file()
    }
    stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    if "--check" in sys.argv:
        sys.exit(f"Out of date, run `make docs`: {', '.join(stale)}" if stale else 0)
    for name in stale:
        file = FOLDER / name
        if name not in made:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(made[name], "utf-8")
    print(f"{FOLDER.relative_to(ROOT)}: {len(made)} files, {len(stale)} changed")


if __name__ == "__main__":
    main()
