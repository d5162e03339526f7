"""What every mistake is made with: a folder, a memory in which one thing is kept, and the
command.
"""

from __future__ import annotations

import json
import shlex

import pytest
from mistake import Mistake

KEPT = "Green tea in the morning"


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where the person is: an empty folder, with a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def kept(cli):
    """The one memory that there is, as JSON."""
    return json.loads(cli("remember", KEPT, "--json").out)


@pytest.fixture
def told(cli, kept, folder, monkeypatch):
    """Makes a mistake and returns what is said on standard error; whatever it is, what was kept
    stays, and no traceback is shown."""

    def make(mistake: Mistake) -> str:
        for name, content in mistake.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        with monkeypatch.context() as context:
            for name, value in mistake.env.items():
                context.setenv(name, value)
            words = shlex.split(mistake.does.format(id=kept["id"], run=kept["run"]))
            done = cli(*words, stdin=mistake.stdin)
        assert done.code == mistake.code, done
        assert "Traceback" not in done.out + done.err
        missing = [words for words in mistake.says if words not in done.err]
        assert not missing, f"{missing} not in {done.err!r}"
        monkeypatch.chdir("/")  # for the project around it may be what is broken
        assert [
            one["content"] for one in json.loads(cli("list", "--json", "--scope", "user:ann").out)
        ] == [KEPT]
        return done.err

    return make
