"""Runs the random histories of machine.py on each backend; `--hypothesis-profile=thorough` runs many more."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from machine import StoreMachine

from holdfast.store import SQLiteStore, Store


class SQLiteFile(StoreMachine):
    """In a file, which is closed and opened again now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()

    def open_store(self) -> Store:
        return SQLiteStore(Path(self.folder.name) / "memory.db")

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


class SQLiteMemory(StoreMachine):
    """In memory."""

    lasting = False

    def open_store(self) -> Store:
        return SQLiteStore(":memory:")


def case_of(machine: Any) -> Any:
    """The test case of a machine, as long as the profile allows."""
    machine.TestCase.settings = settings(stateful_step_count=40, deadline=None)
    return pytest.mark.timeout(900)(machine.TestCase)  # a failure takes minutes to be made small


TestFile = case_of(SQLiteFile)
TestMemory = case_of(SQLiteMemory)
