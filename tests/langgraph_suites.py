"""Runs LangGraph's own tests of its stores against Holdfast's store.

python tests/langgraph_suites.py CHECKOUT    a checkout of github.com/langchain-ai/langgraph

`InMemoryStore`, `SqliteStore` and `AsyncSqliteStore` are replaced by ours, and their tests run as
they are: those of the stores, of TTL, and those in which a graph uses a store. DIFFERENT lists the
tests that our store fails by design, with the reason; any other failure, and a test that no longer
fails, is an error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

NAME = "langgraph_suites"
# Per library of the checkout, the files with tests that use a store.
SUITES = {
    "checkpoint": ("test_store.py",),
    "checkpoint-sqlite": ("test_store.py", "test_async_store.py", "test_ttl.py"),
    "langgraph": ("test_pregel.py", "test_pregel_async.py"),
}
SCORES = "scores are not cosines of its embeddings: Holdfast has its own, one text per item"
INSIDE = "it looks into SqliteStore: its tables, its migrations, its embeddings"
DIFFERENT = {
    "checkpoint/test_store.py::test_embed_with_path": SCORES,
    "checkpoint-sqlite/test_store.py::test_embed_with_path": SCORES,
    "checkpoint-sqlite/test_store.py::test_embed_with_path_operation_config": SCORES,
    "checkpoint-sqlite/test_store.py::test_scores": SCORES,
    "checkpoint-sqlite/test_async_store.py::test_embed_with_path": SCORES,
    "checkpoint-sqlite/test_store.py::test_vector_store_initialization": INSIDE,
    "checkpoint-sqlite/test_store.py::test_nonnull_migrations": INSIDE,
    "checkpoint-sqlite/test_store.py::test_sql_injection_vulnerability": (
        "a filter may name any field, because keys never become SQL; that one finds nothing"
    ),
    "checkpoint-sqlite/test_async_store.py::test_no_running_loop": (
        "calls that are not awaited work in a running loop too"
    ),
    "checkpoint-sqlite/test_ttl.py::test_ttl_override_default": (
        "reads renew a lifetime unless told otherwise, as LangGraph documents and its Postgres "
        "store does; SqliteStore renews only with refresh_on_read set"
    ),
}
"""Tests that our store fails by design: `library/file::test`, without parameters, and why."""


def main(arguments: Sequence[str] | None = None) -> int:
    from frameworks import environment

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="folder with LangGraph's repository")
    given = parser.parse_args(arguments)
    if not (given.checkout / "libs" / "checkpoint" / "tests").is_dir():
        parser.error(f"{given.checkout} is not a checkout of LangGraph: it has no libs/checkpoint")
    python = environment(NAME)
    passed: set[str] = set()
    failed: set[str] = set()
    for library, files in SUITES.items():
        with tempfile.TemporaryDirectory() as folder:
            # The tests alone: beside the library's own code they would import that one.
            shutil.copytree(given.checkout / "libs" / library / "tests", Path(folder) / "tests")
            good, bad = run(python, library, files, Path(folder))
        passed |= good
        failed |= bad
    return report(passed - failed, failed)


def run(
    python: Path, library: str, files: Sequence[str], folder: Path
) -> tuple[set[str], set[str]]:
    """Run files of tests; return which passed and which failed, in all their parameters."""
    found = folder / "found.xml"
    command = [python, "-m", "pytest", "-q", "-p", NAME, "-p", "no:cacheprovider"]
    command += ["-o", "asyncio_mode=auto", f"--junitxml={found}", f"--rootdir={folder}"]
    subprocess.run(
        [*command, *(f"tests/{one}" for one in files)],
        cwd=folder,
        # Without Docker a graph's tests use the store in memory only, which is ours here.
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "NO_DOCKER": "true"},
        stdout=sys.stderr,
        check=False,
    )
    good: set[str] = set()
    bad: set[str] = set()
    for case in ElementTree.parse(found).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            continue
        failures = case.find("failure") is not None or case.find("error") is not None
        (bad if failures else good).add(_name(library, case))
    return good, bad


def _name(library: str, case: ElementTree.Element) -> str:
    file = str(case.get("classname")).split(".")[1]
    return f"{library}/{file}.py::{str(case.get('name')).partition('[')[0]}"


def report(passed: set[str], failed: set[str]) -> int:
    """Print what differs; return the exit code."""
    for name in sorted(failed & set(DIFFERENT)):
        print(f"different  {name}: {DIFFERENT[name]}")
    for name in sorted(failed - set(DIFFERENT)):
        print(f"FAILED     {name}")
    for name in sorted(set(DIFFERENT) - failed):
        print(f"UNEXPECTED {name}: listed as different, but it did not fail")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(DIFFERENT)} of them by design")
    return 0 if passed and failed == set(DIFFERENT) else 1


# As a plugin of pytest: our stores in place of LangGraph's


def pytest_configure(config: Any) -> None:
    """Replace LangGraph's stores before its tests import them."""
    import langgraph.store.memory
    import langgraph.store.sqlite
    import langgraph.store.sqlite.aio

    from holdfast import Holdfast, Settings
    from holdfast.integrations.langgraph import AsyncHoldfastStore, HoldfastStore

    config.addinivalue_line("markers", "flaky: LangGraph retries it")
    settings = Settings(embedding_models="static")

    def memory(path: str = ":memory:") -> Holdfast:
        return Holdfast.open(path, scope="agent:suite", settings=settings, background=False)

    class InMemory(HoldfastStore):
        def __init__(self, **given: Any) -> None:
            super().__init__(memory(), **given)

    class Sqlite(HoldfastStore):
        @classmethod
        @contextmanager
        def from_conn_string(cls, path: str, **given: Any) -> Iterator[Sqlite]:
            with memory(path) as hf:
                yield cls(hf, **given)

        def setup(self) -> None:
            """Nothing is left to set up in an open memory."""

    class AsyncSqlite(AsyncHoldfastStore):
        @classmethod
        @asynccontextmanager
        async def from_conn_string(cls, path: str, **given: Any) -> AsyncIterator[AsyncSqlite]:
            with memory(path) as hf:
                yield cls(hf, **given)

        async def setup(self) -> None:
            """Nothing is left to set up in an open memory."""

    langgraph.store.memory.InMemoryStore = InMemory  # type: ignore[misc]
    langgraph.store.sqlite.SqliteStore = Sqlite  # type: ignore[misc]
    langgraph.store.sqlite.AsyncSqliteStore = AsyncSqlite  # type: ignore[misc]
    langgraph.store.sqlite.aio.AsyncSqliteStore = AsyncSqlite  # type: ignore[misc]


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Of a graph's tests, keep those that are given a store."""
    given = {"sync_store", "async_store"}
    others = [
        one
        for one in items
        if one.path.name.startswith("test_pregel") and not given & set(one.fixturenames)
    ]
    config.hook.pytest_deselected(items=others)
    items[:] = [one for one in items if one not in set(others)]


if __name__ == "__main__":
    sys.exit(main())
