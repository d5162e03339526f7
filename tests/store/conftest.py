"""The backends that the store contract runs on. A new one is one more `pytest.param` below."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.storage import SQLiteStore, Store
from holdfast.storage.postgres import PostgresStore
from holdfast.storage.sqlite import encryption

Opener = Callable[[], Store]


def sqlite_file(request: pytest.FixtureRequest) -> Opener:
    """Opens the same file at each call."""
    folder: Path = request.getfixturevalue("tmp_path")
    return lambda: SQLiteStore(folder / "memory.db", clock=lambda: 0)


def sqlite_encrypted(request: pytest.FixtureRequest) -> Opener:
    """Opens the same encrypted file at each call."""
    folder: Path = request.getfixturevalue("tmp_path")
    key = encryption.make_key(str(folder / "memory.key"))
    return lambda: SQLiteStore(folder / "memory.db", key_file=key, clock=lambda: 0)


def postgres(request: pytest.FixtureRequest) -> Opener:
    """Opens the same database at each call."""
    url: str = request.getfixturevalue("postgres_store_url")
    return lambda: PostgresStore(url, clock=lambda: 0)


def sqlite_memory(request: pytest.FixtureRequest) -> Opener:
    """Opens one store; a second one on the same data is what a store in memory cannot have."""
    opened: list[Store] = []

    def open_once() -> Store:
        if opened:
            pytest.skip("a store in memory has one object")
        opened.append(SQLiteStore(":memory:", clock=lambda: 0))
        return opened[0]

    return open_once


BACKENDS = [
    pytest.param(sqlite_file, id="sqlite"),
    pytest.param(sqlite_memory, id="sqlite-memory"),
    pytest.param(postgres, id="postgres"),
]
# The process that tests/test_encryption.py starts.
if encryption.is_available():
    BACKENDS.append(pytest.param(sqlite_encrypted, id="sqlite-encrypted"))


@pytest.fixture(params=BACKENDS)
def again(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens one more store object on the data of this test; all of them are closed at its end."""
    opener, opened = request.param(request), list[Store]()

    def open_one() -> Store:
        opened.append(opener())
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(again: Opener) -> Store:
    """A new, empty store."""
    return again()
