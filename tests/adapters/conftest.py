"""What the tests of several adapters ask for."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager

import apsw
import pytest

from patience import PATIENCE


@pytest.fixture
def busy(tmp_path, monkeypatch):
    """`with busy():` somebody else writes, and does not finish in time. To be asked for before the
    memory is opened.
    """
    for module in ("sqlite.store", "sqlite.connection"):  # both say how long a connection waits
        monkeypatch.setattr(f"holdfast.storage.{module}.BUSY_MILLISECONDS", 1)

    @contextmanager
    def held():
        other = apsw.Connection(str(tmp_path / "memory.db"))
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")
            other.close()

    return held


@pytest.fixture
def next_process(tmp_path):
    """Runs a program in another process, with the path of the memory as its argument, and says what
    it printed.
    """

    def run(code):
        command = [sys.executable, "-c", code, str(tmp_path / "memory.db")]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=True
        ).stdout

    return run
