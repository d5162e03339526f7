"""What every test of a command may ask for."""

from __future__ import annotations

import io
from collections import namedtuple

import pytest

from holdfast.cli.app import run

Done = namedtuple("Done", "code out err")


@pytest.fixture(autouse=True)
def _own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def cli(capsys, monkeypatch):
    """Runs the command in this process; `stdin` is what is piped in."""

    def call(*args, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run([str(arg) for arg in args])
        return Done(code, *capsys.readouterr())

    return call
