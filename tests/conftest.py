"""What every test may ask for. Nothing here touches the real home, the environment, the real time,
or a network beyond this machine."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import apsw
import pytest
from hypothesis import HealthCheck, settings

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import SQLiteStore
from holdfast.storage.sqlite import encryption
from holdfast.types import from_datetime
from holdfast.validation import scopes_of
from patience import PATIENCE

if TYPE_CHECKING:
    from servers import CitusCluster, PostgresServer

# What Python compiles it keeps: tests start hundreds of processes, and without it each one takes
# three times as long.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest.register_assert_rewrite("holdfast.testing")  # before any test module imports it

# Few examples by default; `--hypothesis-profile=thorough` looks harder. A busy machine is no reason
# to fail; and where `CI` is set the examples are the same every time, so that what is checked there
# depends on nothing but the code.
PATIENT = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "derandomize": "CI" in os.environ,
}
settings.register_profile("quick", max_examples=25, **PATIENT)
settings.register_profile("thorough", max_examples=1000, **{**PATIENT, "derandomize": False})
settings.load_profile("quick")

# tests/test_encryption.py runs them in a process with the apsw that encrypts.
collect_ignore = [] if encryption.is_available() else ["encryption"]
IN_MEMORY = Path("/dev/shm")  # a folder that most Linux machines keep in memory
ROOM = 4 << 30  # bytes; a whole run leaves less than a quarter of it behind
LONG = ("faults", "surfaces", "contracts", "server", "web")  # folders with tests that take seconds


def pytest_configure() -> None:
    """Files of tests lie in memory where it has room for them: on a disk every store would wait for
    it.
    """
    gc.disable()  # until all is collected: nothing of it is garbage
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not IN_MEMORY.is_dir():
        return
    there = os.statvfs(IN_MEMORY)
    if (
        there.f_bavail * there.f_frsize > ROOM
        and not there.f_flag & os.ST_NOEXEC
        and os.access(IN_MEMORY, os.W_OK)
    ):
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(IN_MEMORY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, for somebody always waits for a process or a server."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests come first: a long one that came last would keep one worker busy while the others
    have ended.
    """
    items.sort(key=lambda item: item.path.parent.name not in LONG)


def pytest_collection_finish() -> None:
    """Ten thousand tests and what they import stay until the end: no collection of garbage has to
    look at them again and again.
    """
    gc.enable()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "run the commands of the documentation as processes, by the holdfast that is installed"
    parser.addoption("--walk", action="store_true", help=told)


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for homes. They lie apart, for whoever makes a folder for a test looks at all that
    lie beside it.
    """
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def _own_home(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own for each test, and no setting from outside."""
    home = next(_homes)
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("HOLDFAST_", "_HOLDFAST_", "PG"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that keep a person from waiting are no limits for a machine that tests."""
    monkeypatch.setattr("holdfast.records.worktree.PATIENCE", PATIENCE)


Done = namedtuple("Done", "code out err")


@pytest.fixture
def cli(capsys, monkeypatch):
    """Runs the command in this process; `stdin` is what is piped in."""
    from holdfast.cli.app import run

    def call(*args, stdin=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run([str(arg) for arg in args])
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def terminal():
    """Runs the real command in a terminal of its own: `terminal("review")`."""
    from terminals import Terminal  # needs a Unix

    opened = []

    def start(*args, **more):
        opened.append(Terminal(*args, **more))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


class Clock:
    """A clock that stands still until it is told otherwise. It begins on Wednesday, 18 March 2026,
    noon UTC.
    """

    def __init__(self) -> None:
        self.now = from_datetime(datetime(2026, 3, 18, 12, tzinfo=UTC))

    def __call__(self) -> int:
        return self.now

    def forward(self, **time: float) -> int:
        """Moves on by so many days, hours, seconds… and says what time it is then."""
        self.now += timedelta(**time) // timedelta(microseconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fake() -> FakeEmbedder:
    """The embedder of `hf`; set its `fault`, or count its `calls`."""
    return FakeEmbedder()


class Opener:
    """Opens memories on one file; all of them are closed at the end of the test."""

    def __init__(self, path: Path, clock: Clock, fake: FakeEmbedder) -> None:
        self.path, self._clock, self._fake = path, clock, fake
        self._opened: list[Holdfast] = []

    def __call__(
        self,
        *scopes: str,
        path: str | Path | None = None,
        embedders: tuple[FakeEmbedder, ...] | None = None,
        settings: Settings | None = None,
    ) -> Holdfast:
        tiers = Tiers.of(*((self._fake,) if embedders is None else embedders), clock=self._clock)
        store = SQLiteStore(path or self.path, clock=self._clock)
        wanted = scopes_of(scopes or ("user:ann",))
        hf = Holdfast(store, wanted, settings=settings, tiers=tiers, clock=self._clock)
        self._opened.append(hf)
        return hf

    def close(self) -> None:
        for hf in self._opened:
            hf.close()


@pytest.fixture
def open_memory(tmp_path: Path, clock: Clock, fake: FakeEmbedder) -> Iterator[Opener]:
    """Opens a memory: `open_memory("user:bob")`; the same file each time unless told a `path`."""
    opener = Opener(tmp_path / "memory.db", clock, fake)
    yield opener
    opener.close()


@pytest.fixture
def hf(open_memory: Opener) -> Holdfast:
    """Ann's memory in a real file, with the fake embedder and a clock that stands still."""
    return open_memory("user:ann")


@pytest.fixture
def words(open_memory: Opener) -> Holdfast:
    """Ann's memory without any embedder: words must do."""
    return open_memory("user:ann", embedders=())


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


@pytest.fixture(scope="session")
def postgres_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PostgresServer]:
    """A PostgreSQL server with pgvector that all workers of this run share: not to be stopped, nor
    set differently.
    """
    from servers import shared_server  # only who asks for it needs what it needs

    folder, run = tmp_path_factory.getbasetemp(), os.getpid()
    if hasattr(request.config, "workerinput"):  # of pytest-xdist
        folder, run = folder.parent, os.getppid()
    with shared_server(folder, owner=run) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_tables(postgres_server: PostgresServer) -> str:
    """The URL of a database with our tables: one for all tests of a worker, for making them takes a
    while.
    """
    from holdfast.storage.postgres import PostgresStore

    name = f"tables_{uuid4().hex}"
    postgres_server.create_database(name)
    PostgresStore(postgres_server.url(name)).close()
    return postgres_server.url(name)


@pytest.fixture
def postgres_store_url(postgres_tables: str) -> str:
    """A database with our tables and nothing in them."""
    from servers import empty_tables

    empty_tables(postgres_tables)
    return postgres_tables


@pytest.fixture(scope="session")
def citus_cluster() -> Iterator[CitusCluster]:
    """A Citus cluster for all tests of a worker: a coordinator and two workers."""
    import servers

    with servers.citus_cluster() as cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A fresh, empty database, dropped at the end of the test."""
    name = f"test_{uuid4().hex}"
    postgres_server.create_database(name)
    yield postgres_server.url(name)
    postgres_server.drop_database(name)
