"""What the tests of records share: a real git repository, and commands that run inside it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from ruamel.yaml import YAML

from patience import PATIENCE

CATEGORIES = ("decisions", "procedures", "principles", "incidents", "preferences")


class Repository:
    """A git repository in which somebody works; `run` is the command line, in the folder they are
    in.
    """

    def __init__(self, folder: Path, run) -> None:
        self.folder, self._run = folder, run
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")

    def git(self, *args: str) -> str:
        done = subprocess.run(
            ["git", *args],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0 or args[0] == "merge", done.stderr
        return done.stdout

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def __call__(self, *args, inside="", **options):
        """A command that runs here, or in a folder `inside`."""
        folder = self.folder / inside
        folder.mkdir(parents=True, exist_ok=True)
        before = Path.cwd()
        os.chdir(folder)
        try:
            return self._run(*args, **options)
        finally:
            os.chdir(before)

    def js(self, *args, **options):
        """What a command prints with --json; it must go well, and warn of nothing."""
        done = self(*args, "--json", **options)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    def add(self, text, *options, category="decisions"):
        """A new record, as --json tells it."""
        return self.js("record", "add", text, "--category", category, *options)

    def listed(self, *options) -> set[str]:
        """The texts of the records that count here."""
        return {record["content"] for record in self.js("record", "list", *options)}

    def recalled(self, question: str) -> list[str]:
        """What recall finds, best first."""
        return [hit["content"] for hit in self.js("recall", question)]


def frontmatter(file: Path) -> dict:
    """What stands above the text of a record, as any reader of YAML sees it."""
    _, head, _ = file.read_text("utf-8").split("---\n", 2)
    return YAML(typ="safe").load(head)


def body(file: Path) -> str:
    """The text of a record."""
    return file.read_text("utf-8").split("---\n", 2)[2].strip()


def by_hand(file: Path, old: str, new: str) -> None:
    """Somebody changes a file in their editor."""
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
