"""The stores of bench/scale.py: where they are, the server that holds them, and a meter of the work
on them.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw
import psutil
import psycopg

from generated_conversations import Conversations
from holdfast import Holdfast, Settings

Figures = dict[str, Any]


@dataclass
class Store:
    """A store of one size, and what its phases share."""

    kind: str
    owners: int
    each: int
    work: Path
    locomo: Path
    url: str | None = None
    originals: int = 0
    """Owners whose memories are written. The others get copies of theirs; 0 for no copies."""
    writers: int = 1
    writer: int | None = None
    """Which of several processes this is, that fill the store together."""

    @cached_property
    def source(self) -> Conversations:
        """Where the texts come from."""
        return Conversations(self.locomo)

    @property
    def memories(self) -> int:
        """How many memories it is filled with."""
        return self.owners * self.each

    @property
    def mine(self) -> Sequence[int]:
        """The owners that this process fills the store for."""
        return range(self.writer or 0, self.originals or self.owners, self.writers)

    @property
    def written(self) -> int:
        """How many memories are written, and not copied."""
        return (self.originals or self.owners) * self.each

    @property
    def name(self) -> str:
        """What its files and databases are called."""
        return f"{self.kind}-{self.owners}x{self.each}"

    @cached_property
    def place(self) -> str | Path:
        """A path, or the URL of a database that exists."""
        if self.kind == "postgres":
            return database(self.work, self.url, self.name.replace("-", "_"))
        return self.work / f"{self.name}.db"

    @property
    def copy(self) -> str | Path:
        """The same store, in which things may be changed: a copy of the file, made when it is
        asked for first. A server's store is used as it is, with an owner who is not counted.
        """
        if isinstance(self.place, str):
            return self.place
        copied = self.place.with_suffix(".copy.db")
        if not copied.exists():
            self.checkpoint()
            shutil.copyfile(self.place, copied.with_suffix(".new"))
            copied.with_suffix(".new").rename(copied)
        return copied

    def checkpoint(self) -> None:
        """Write the log into the file."""
        connection = apsw.Connection(str(self.place))
        connection.pragma("wal_checkpoint(TRUNCATE)")
        connection.close()

    def open(self, owner: int | str = 0, place: str | Path | None = None) -> Holdfast:
        """The memory of one owner."""
        return Holdfast.open(
            place or self.place,
            scope=f"user:{owner}",
            settings=Settings(embedding_models="static"),
            background=False,
            actor="bench",
        )

    @property
    def progress(self) -> Path:
        """How far an ingest has come: sessions written, and what they took."""
        part = "" if self.writer is None else f"-{self.writer}"
        return self.work / f"{self.name}{part}.progress.json"


class Meter:
    """Seconds by the clock, and of the processors: this process and, if there is one, the server.

    The server's first process is charged for those that have ended.
    """

    def __init__(self, store: Store) -> None:
        # What the server does for several processes is counted once, by the one that started them.
        alone = store.writer is None
        self._server = _postmaster(store.work) if store.kind == "postgres" and alone else None

    def now(self) -> tuple[float, float]:
        """By the clock, and of the processors."""
        return time.perf_counter(), time.process_time() + self.server_seconds()

    def of(self, work: Callable[[], object]) -> Figures:
        """What `work` took."""
        start = self.now()
        work()
        end = self.now()
        return {
            "seconds": round(end[0] - start[0], 6),
            "processor_seconds": round(end[1] - start[1], 6),
        }

    def server_seconds(self) -> float:
        """Processor seconds of all the server's processes so far."""
        if self._server is None:
            return 0.0
        spent = self._server.cpu_times()
        total = spent.user + spent.system + spent.children_user + spent.children_system
        for child in self._server.children():
            try:
                times = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
        return total


def database(work: Path, url: str | None, name: str) -> str:
    """The URL of this database, on the server at `url` or on one that lives in `work`'s state."""
    base = url or start_postgres(work).url("postgres")
    with psycopg.connect(base, autocommit=True) as connection:
        there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        if there.fetchone() is None:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return f"{base.rsplit('/', 1)[0]}/{name}"


def start_postgres(work: Path) -> Any:
    """The server of this work folder, started if it does not run. It stays until it is removed."""
    sys.path.append(str(Path(__file__).parent.parent / "tests"))
    from servers import PostgresServer, start_server

    state = work / "server.json"
    if state.exists():
        binaries, data, port = json.loads(state.read_text())
        server = PostgresServer(Path(binaries), Path(data), port)
        if not server.running():
            server.start()
        return server
    # Owned by the first process of the machine, so that it is there for the next phase.
    options = {"shared_buffers": "1GB", "max_wal_size": "4GB", "maintenance_work_mem": "256MB"}
    server = start_server(options=options, durable=True, owner=1)
    state.write_text(json.dumps([str(server.binaries), str(server.data), server.port]))
    return server


def _postmaster(work: Path) -> psutil.Process | None:
    state = work / "server.json"
    if not state.exists():
        return None
    data = Path(json.loads(state.read_text())[1])
    return psutil.Process(int((data / "postmaster.pid").read_text().splitlines()[0]))


def remove(work: Path) -> None:
    """Takes away the stores, and the server with its databases. The figures stay."""
    if (work / "server.json").exists():
        start_postgres(work).remove()
        (work / "server.json").unlink()
    for pattern in ("*.db", "*.db-*", "*.jsonl", "*.new", "*.progress.json"):
        for path in work.glob(pattern):
            path.unlink()
