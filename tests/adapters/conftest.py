"""What the tests of several adapters ask for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from patience import PATIENCE


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
