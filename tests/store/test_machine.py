"""Runs the random histories of machine.py on each backend; `--hypothesis-profile=thorough` runs
many more.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from machine import StoreMachine

from holdfast.storage import SQLiteStore, Store
from holdfast.storage.postgres import PostgresStore
from servers import empty_tables


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


class Postgres(StoreMachine):
    """On a server, in tables that are emptied for each history."""

    url: str

    def __init__(self) -> None:
        super().__init__()
        empty_tables(self.url)

    def open_store(self) -> Store:
        return PostgresStore(self.url)


@pytest.fixture
def postgres_machine(postgres_store_url: str) -> None:
    """Tells the machine, which pytest does not make, where its tables are."""
    Postgres.url = postgres_store_url


def case_of(machine: Any, *, steps: int = 40, share: float = 1.0) -> Any:
    """The test case of a machine, as long as the profile allows, or a share of that."""
    examples = int(settings.default.max_examples * share)
    machine.TestCase.settings = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None
    )
    return pytest.mark.timeout(900)(machine.TestCase)  # a failure takes minutes to be made small


TestFile = case_of(SQLiteFile)
TestMemory = case_of(SQLiteMemory)
TestPostgres = pytest.mark.usefixtures("postgres_machine")(case_of(Postgres, steps=25, share=0.5))
