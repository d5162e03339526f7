"""What only a file can suffer: foreign files, damage, missing rights, a full disk, many
processes.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast.config import default_store
from holdfast.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreTooNew,
)
from holdfast.storage import Filter, SQLiteStore, Transaction
from holdfast.storage.migrations_runner import migrations
from holdfast.storage.sqlite.connection import (
    APPLICATION_ID,
    BUSY_MILLISECONDS,
    SQLiteStatements,
    status,
)
from holdfast.testing.scene import (
    ANN,
    BOB,
    MODEL,
    START,
    fact,
    found,
    link,
    listed,
    purge,
    put,
    put_one,
    set_status,
    truth,
    turn,
    unit,
    write,
)
from holdfast.testing.searching import vectorised
from holdfast.types import Entity, Memory, Session
from patience import PATIENCE

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of a test lies."""
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    """A new store in a file."""
    opened = SQLiteStore(path, clock=lambda: START)
    yield opened
    opened.close()


def digest(path: Path) -> str:
    """What the bytes of a file are."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def filled(path: Path, size: int = 200) -> None:
    """A store with memories, all of it in the file itself."""
    store = SQLiteStore(path)
    put(store, *(fact(f"note {number} about tea and much else besides") for number in range(size)))
    store.scrub()
    store.close()


def tamper(path: Path, *statements: str) -> None:
    """Changes the file behind the store's back."""
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


class TestCreation:
    def test_the_file_and_its_folder_are_for_their_owner_only(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        folder = tmp_path / "holdfast"
        before = os.umask(0o022)
        try:
            store = SQLiteStore(folder / "memory.db")
            put(store, fact("tea"))
        finally:
            os.umask(before)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {
            "memory.db": 0o600,
            "memory.db-wal": 0o600,
            "memory.db-shm": 0o600,
        }
        store.close()

    def test_the_file_says_whose_it_is_and_uses_a_write_ahead_log(
        self, store: SQLiteStore, path: Path
    ) -> None:
        connection = apsw.Connection(str(path))
        assert connection.pragma("application_id") == APPLICATION_ID == int.from_bytes(b"HLDF")
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("user_version") == len(migrations("sqlite"))

    def test_closing_leaves_one_file(self, store: SQLiteStore, path: Path) -> None:
        put(store, fact("tea"))
        assert listed(store) == ["tea"]
        store.close()
        assert [file.name for file in path.parent.iterdir()] == ["memory.db"]

    def test_closing_ends_the_connections_of_every_thread(
        self, store: SQLiteStore, path: Path
    ) -> None:
        put(store, fact("tea"))
        asked, done = threading.Event(), threading.Event()

        def read_and_stay() -> None:
            listed(store)
            asked.set()
            done.wait(PATIENCE)

        thread = threading.Thread(target=read_and_stay)
        thread.start()
        assert asked.wait(PATIENCE)
        store.close()
        left = [file.name for file in path.parent.iterdir()]
        done.set()
        thread.join()
        assert left == ["memory.db"]

    def test_in_memory_nothing_touches_the_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        one, two = SQLiteStore(":memory:"), SQLiteStore(":memory:")
        put(one, fact("tea"))
        assert (listed(one), listed(two), list(tmp_path.iterdir())) == (["tea"], [], [])
        one.close(), two.close()

    def test_a_home_folder_is_expanded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        SQLiteStore("~/memory.db").close()
        assert (tmp_path / "memory.db").exists()

    def test_the_migrations_make_the_expected_schema(self, store: SQLiteStore, path: Path) -> None:
        fresh = apsw.Connection(":memory:")
        for step in migrations("sqlite"):
            fresh.execute(step.sql)
        query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        there = apsw.Connection(str(path)).execute(query).fetchall()
        assert there == fresh.execute(query).fetchall()
        assert {name for kind, name, *_ in there if kind == "table"} >= {
            "memories",
            "events",
            "edges",
            "jobs",
        }

    @pytest.mark.parametrize("version", range(1, len(migrations("sqlite"))))
    def test_a_file_of_any_version_becomes_like_a_new_one(self, path: Path, version: int) -> None:
        old = apsw.Connection(str(path))
        for step in migrations("sqlite")[:version]:
            old.execute(step.sql)
        old.execute(f"PRAGMA user_version = {version}; PRAGMA application_id = {APPLICATION_ID}")
        store = SQLiteStore(path)
        assert list(store.check()) == []  # the schema is among what it checks
        assert put(store, fact("tea"))[0].seq == 1
        store.close()

    def test_a_row_of_an_unknown_kind_or_status_is_refused(
        self, store: SQLiteStore, path: Path
    ) -> None:
        put(store, fact("tea"))
        for column in ("kind", "status"):
            with pytest.raises(apsw.ConstraintError):
                apsw.Connection(str(path)).execute(f"UPDATE memories SET {column} = 'other'")

    def test_a_file_of_the_first_version_gets_what_came_since_and_keeps_the_rest(
        self, path: Path
    ) -> None:
        filled(path, 3)
        write(
            old := SQLiteStore(path),
            lambda tx: tx.sessions.put(Session("s", ANN, START, START)),
        )
        before = [list(old.rows(noun, ANN)) for noun in ("session", "memory", "event")]
        old.close()
        back = (
            "DROP INDEX memories_by_namespace; DROP INDEX memories_by_moment; "
            "DROP INDEX memories_put_away; DROP INDEX events_by_scope; "
            "DROP INDEX jobs_due; DROP INDEX jobs_due_by_key; DROP INDEX scopes_changed; "
            "DROP INDEX sessions_open; "
            "ALTER TABLE jobs DROP COLUMN due_at; ALTER TABLE scopes DROP COLUMN changed_at; "
            "ALTER TABLE memories DROP COLUMN strength; "
            "ALTER TABLE sessions ADD COLUMN consolidated_at INTEGER; "
            "ALTER TABLE sessions ADD COLUMN outcome TEXT NOT NULL DEFAULT ''"
        )
        later = ("looks", "watches", "progress", "spend", "files", "messages")
        gone = "; ".join(f"DROP TABLE {table}" for table in later)
        apsw.Connection(str(path)).execute(f"{gone}; {back}; PRAGMA user_version = 1")
        looked_at = status(path)
        assert (looked_at.version, looked_at.pending) == (
            1,
            tuple(step.name for step in migrations("sqlite")[1:]),
        )
        assert looked_at.rows is not None and "message" not in looked_at.rows
        store = SQLiteStore(path)
        assert [list(store.rows(noun, ANN)) for noun in ("session", "memory", "event")] == before
        assert write(store, lambda tx: tx.sessions.add_messages(ANN, "s", [{"n": 1}])) == 1
        assert list(store.check()) == []
        store.close()
        looked_at = status(path)
        assert (looked_at.pending, (looked_at.rows or {})["message"]) == ((), 1)


class TestForeignFiles:
    """What is not ours is refused and left as it is."""

    def refused(self, path: Path, error: type[Exception], message: str) -> None:
        before, names = digest(path), sorted(path.parent.iterdir())
        with pytest.raises(error, match=message):
            SQLiteStore(path)
        assert (digest(path), sorted(path.parent.iterdir())) == (before, names)

    def test_an_sqlite_file_of_another_program(self, path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.close()
        self.refused(path, StoreCorrupt, "another program")

    def test_a_text_file(self, path: Path) -> None:
        path.write_text("Dear diary, " * 500)
        self.refused(path, StoreCorrupt, "not a Holdfast store")

    def test_a_short_text_file(self, path: Path) -> None:
        path.write_text("tea")
        self.refused(path, StoreCorrupt, "not a Holdfast store")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="is a folder"):
            SQLiteStore(tmp_path)

    def test_a_file_where_the_folder_should_be(self, path: Path) -> None:
        path.write_text("tea")
        with pytest.raises(StoreError, match="Cannot create"):
            SQLiteStore(path / "memory.db")

    def test_a_store_of_a_newer_version(self, path: Path) -> None:
        filled(path, 3)
        tamper(
            path,
            f"PRAGMA user_version = {len(migrations('sqlite')) + 1}",
            "PRAGMA wal_checkpoint(TRUNCATE)",
        )
        self.refused(path, StoreTooNew, "newer Holdfast")

    def test_an_empty_file_becomes_a_store(self, path: Path) -> None:
        path.touch()
        store = SQLiteStore(path)
        put(store, fact("tea"))
        assert listed(store) == ["tea"]
        store.close()


class TestDamage:
    def test_a_file_cut_in_half_is_reported(self, path: Path) -> None:
        filled(path)
        os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)
        before = digest(path)
        with pytest.raises(StoreCorrupt, match="damaged"):
            store = SQLiteStore(path)
            listed(store)
        assert digest(path) == before

    def test_a_cut_file_is_found_by_the_check_up(self, path: Path) -> None:
        filled(path)
        os.truncate(path, path.stat().st_size - 4096)
        findings = []
        try:
            store = SQLiteStore(path)
            findings = list(store.check())
            store.close()
        except StoreCorrupt as error:
            findings = [error]
        assert findings

    def test_every_overwritten_page_is_noticed_or_harmless(self, path: Path) -> None:
        """Whatever page is lost, the store says so or still reads everything; it never invents or
        hides quietly.
        """
        filled(path, 60)
        sound = path.read_bytes()
        expected = truth(reading := SQLiteStore(path))
        reading.close()
        noticed = 0
        for page in range(1, len(sound) // 4096):
            path.write_bytes(sound[: page * 4096] + b"\xa5" * 4096 + sound[(page + 1) * 4096 :])
            try:
                store = SQLiteStore(path)
                findings, state = list(store.check()), truth(store)
                store.close()
            except StoreError:
                noticed += 1
                continue
            noticed += bool(findings)
            assert findings or state == expected
        assert noticed > len(sound) // 4096 // 2

    @pytest.mark.parametrize("kept", [0.0, 0.3, 0.6, 0.95])
    def test_a_truncated_log_loses_the_last_writes_and_nothing_else(
        self, path: Path, kept: float
    ) -> None:
        store = SQLiteStore(path)
        for number in range(20):
            put(store, fact(f"note {number}"))
        log = Path(f"{path}-wal")
        copy = path.parent / "copy.db"
        copy.write_bytes(path.read_bytes())
        Path(f"{copy}-wal").write_bytes(log.read_bytes()[: int(log.stat().st_size * kept)])
        store.close()
        recovered = SQLiteStore(copy)
        assert listed(recovered) == [f"note {number}" for number in range(len(listed(recovered)))]
        assert (len(listed(recovered)) < 20, list(recovered.check())) == (True, [])
        put(recovered, fact("and on"))
        recovered.close()

    def test_garbage_in_the_log_is_ignored(self, path: Path) -> None:
        filled(path, 5)
        Path(f"{path}-wal").write_bytes(b"\xa5" * 10_000)
        store = SQLiteStore(path)
        assert (len(listed(store)), list(store.check())) == (5, [])
        store.close()


READ_ONLY = """
import json, os, pathlib, sys
pathlib.Path("/").as_uri()  # newer Pythons import for this on first use
sys.path.insert(0, os.environ["PYTHONPATH"])
from holdfast.errors import HoldfastError
from holdfast.storage import SQLiteStore
from holdfast.testing.scene import fact, found, listed, put, unit, MODEL, ANN, Filter
preloaded = SQLiteStore(":memory:")  # whatever has to be imported is imported while we may read it
preloaded.vectors.add([ANN], MODEL, {put(preloaded, fact("tea"))[0].seq: unit(1)})
assert found(preloaded, "tea") and not list(preloaded.check())
assert preloaded.by_vector(Filter((ANN,)), MODEL, unit(1), 5)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)  # root may write everything, so be nobody
told = {}
def attempt(name, call):
    try:
        told[name] = call()
    except HoldfastError as error:
        told[name] = f"{type(error).__name__}: {error}"
store = None
def open_it():
    global store
    store = SQLiteStore(sys.argv[1])
    return "opened"
attempt("open", open_it)
if store is not None:
    attempt("list", lambda: listed(store))
    attempt("words", lambda: found(store, "tea"))
    attempt("vector", lambda: len(store.by_vector(Filter((ANN,)), MODEL, unit(1), 5)))
    attempt("check", lambda: len(list(store.check())))
    attempt("write", lambda: put(store, fact("late")))
    attempt("touch", lambda: store.touch([ANN], {1: 1}, 5))
    store.close()
print(json.dumps(told, default=str))
"""


class TestReadOnly:
    """A store that cannot be written can be read, and says clearly what it cannot do."""

    @pytest.fixture
    def place(self) -> Iterator[Path]:
        # Not among pytest's own folders: another run of it shuts those to the user who can only
        # read.
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            yield folder
            folder.chmod(0o755)

    def told(self, path: Path) -> dict[str, Any]:
        result = python(READ_ONLY, str(path))
        assert result.returncode == 0, result.stderr
        return dict(json.loads(result.stdout))

    def prepared(self, folder: Path) -> Path:
        path = folder / "memory.db"
        store = SQLiteStore(path)
        (one,) = put(store, fact("green tea"))
        store.vectors.add([ANN], MODEL, {one.seq: unit(1)})
        store.close()
        path.chmod(0o444)
        return path

    def expect_reading_only(self, told: dict[str, Any]) -> None:
        assert {name: told.get(name) for name in ("open", "list", "words", "vector", "check")} == {
            "open": "opened",
            "list": ["green tea"],
            "words": ["green tea"],
            "vector": 1,
            "check": 0,
        }
        assert told["write"].startswith("StoreReadOnly")
        assert told["touch"].startswith("StoreReadOnly")

    def test_a_read_only_file_in_a_folder_that_can_be_written(self, place: Path) -> None:
        path = self.prepared(place)
        place.chmod(0o777)
        self.expect_reading_only(self.told(path))

    def test_a_read_only_file_in_a_read_only_folder(self, place: Path) -> None:
        path = self.prepared(place)
        place.chmod(0o555)
        self.expect_reading_only(self.told(path))

    def test_a_read_only_file_whose_log_holds_the_last_writes(self, place: Path) -> None:
        writing = SQLiteStore(place / "memory.db")
        put(writing, fact("green tea"))
        for file in place.iterdir():
            file.chmod(0o444)
        place.chmod(0o555)
        told = self.told(place / "memory.db")
        writing.close()
        assert (told["open"], told.get("list")) == ("opened", ["green tea"])
        assert told["write"].startswith("StoreReadOnly")

    def test_a_new_store_in_a_read_only_folder(self, place: Path) -> None:
        place.chmod(0o555)
        told = self.told(place / "memory.db")
        assert told["open"].startswith("StoreReadOnly: Cannot create")
        assert list(place.iterdir()) == []

    def test_a_file_that_may_not_be_read(self, place: Path) -> None:
        path = self.prepared(place)
        path.chmod(0o000)
        assert self.told(path)["open"].startswith(("StoreError", "StoreReadOnly"))


FULL = """
import json, os, resource, signal, sys
from holdfast.errors import StoreError
from holdfast.storage import SQLiteStore
from holdfast.testing.scene import fact, listed, put, truth
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that the write fails instead of ending us
store = SQLiteStore(sys.argv[1])
put(store, fact("kept"))
before = truth(store)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
try:
    put(store, *(fact("filler " * 500) for _ in range(200)))
    print("not full?")
except StoreError:
    assert truth(store) == before
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    put(store, fact("after"))
    assert listed(store) == ["kept", "after"]
    assert list(store.check()) == []
    print("as promised")
store.close()
"""


class TestFullDisk:
    def test_a_database_that_may_not_grow_stores_nothing_of_a_batch_and_goes_on_later(
        self, path: Path
    ) -> None:
        store = SQLiteStore(path)
        put(store, fact("kept"))
        before, pages = truth(store), store._writer.pragma("page_count")
        store._writer.pragma("max_page_count", pages + 20)
        with pytest.raises(StoreFull, match="disk is full"):
            put(store, *(fact("filler " * 500) for _ in range(100)))
        assert (truth(store), list(store.check())) == (before, [])
        store._writer.pragma("max_page_count", 1_000_000)
        put(store, fact("after"))
        assert listed(store) == ["kept", "after"]
        store.close()

    def test_a_write_that_the_system_refuses_for_size(self, path: Path) -> None:
        result = python(FULL, str(path))
        assert (result.stdout.strip(), result.stderr) == ("as promised", "")

    def test_a_small_disk_that_is_full(self, tmp_path: Path) -> None:
        """On a real file system of two megabytes, where one can be mounted."""
        disk = tmp_path / "disk"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
        if (
            os.geteuid() != 0
            or subprocess.run(command, capture_output=True, check=False).returncode
        ):
            pytest.skip("no file system can be mounted here")
        try:
            store = SQLiteStore(disk / "memory.db")
            put(store, fact("kept"))
            before = truth(store)
            with pytest.raises(StoreFull, match="disk is full"):
                put(store, *(fact("filler " * 500) for _ in range(800)))
            assert (truth(store), list(store.check())) == (before, [])
            put(store, fact("after"))
            assert listed(store) == ["kept", "after"]
            store.close()
        finally:
            subprocess.run(["umount", str(disk)], check=True)


class TestManyAtOnce:
    def test_processes_that_make_the_store_together_agree(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for attempt in range(8):
            monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / str(attempt) / "new"))
            path = default_store()
            gate, opening = os.pipe()

            def make(
                one: Memory, path: Path = path, gate: int = gate, opening: int = opening
            ) -> str:
                os.close(opening)
                os.read(gate, 1)  # all of them start when the parent lets go
                store = SQLiteStore(path)
                put(store, one)
                store.close()
                return "made"

            children = [
                forked(lambda one=one: make(one)) for one in (fact(f"by {n}") for n in range(6))
            ]
            os.close(opening)
            assert [answer(child) for child in children] == ["made"] * 6
            os.close(gate)
            store = SQLiteStore(path)
            assert (len(listed(store)), list(store.check())) == (6, [])
            store.close()

    def test_a_forked_child_has_connections_of_its_own(self, store: SQLiteStore) -> None:
        put(store, fact("before"))
        assert listed(store) == ["before"]
        child = fact("child")
        assert in_child(lambda: (listed(store), put(store, child), store.close())[0]) == ["before"]
        put(store, fact("parent"))
        assert (listed(store), list(store.check())) == (["before", "child", "parent"], [])

    def test_a_child_forked_in_the_middle_of_a_write_can_write(self, store: SQLiteStore) -> None:
        put(store, fact("before"))

        def work(tx: Transaction) -> None:
            tx.add(fact("parent"))
            assert in_child(lambda: listed(store)) == ["before"]

        write(store, work)
        assert listed(store) == ["before", "parent"]

        def hold(tx: Transaction) -> Any:
            return in_child(lambda: (store._check_open(), store._lock.acquire(timeout=1))[1])

        assert write(store, hold) is True

    def test_a_child_that_only_closes_leaves_the_parent_alone(
        self, store: SQLiteStore, path: Path
    ) -> None:
        put(store, fact("before"))
        assert in_child(store.close) is None
        assert Path(f"{path}-wal").exists()
        put(store, fact("after"))
        assert listed(store) == ["before", "after"]

    def test_threads_read_while_one_writes(self, store: SQLiteStore) -> None:
        vectorised(store, 20)
        errors: list[Exception] = []
        done = threading.Event()

        def read() -> None:
            try:
                last = 0
                while not done.is_set():
                    seen = listed(store)
                    assert len(seen) % 10 == 0 and len(seen) >= last, "half a batch was seen"
                    last = len(seen)
                    assert len(found(store, "note", limit=5)) == 5
                    ranked = store.by_vector(Filter((ANN,)), MODEL, unit(3), 10)
                    scores = [score for _, score in ranked]
                    assert len(ranked) == 10 and scores == sorted(scores, reverse=True)
                    assert len({seq for seq, _ in ranked}) == 10
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for batch in range(25):
            vectorised(store, 10, start=1000 + batch * 10)
        done.set()
        for thread in threads:
            thread.join()
        assert errors == []
        assert (len(listed(store)), list(store.check())) == (270, [])

    def test_threads_write_at_once(self, store: SQLiteStore) -> None:
        threads = [
            threading.Thread(
                target=lambda name=name: [put(store, fact(f"{name} {n}")) for n in range(20)]
            )
            for name in "abcd"
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(listed(store)) == sorted(f"{name} {n}" for name in "abcd" for n in range(20))

    def test_a_write_inside_a_write_is_refused_at_once(self, store: SQLiteStore) -> None:
        with pytest.raises(RuntimeError, match="already open"):
            write(store, lambda _: put(store, fact("inner")))
        assert listed(store) == []

    def test_a_short_wait_for_another_writer_is_short(self, store: SQLiteStore, path: Path) -> None:
        one = put_one(store, fact("tea"))
        other = SQLiteStore(path)

        def touch(_: Transaction) -> float:
            began = time.monotonic()
            with pytest.raises(StoreBusy), other.short_busy_timeout():
                other.touch([ANN], {one.seq: 1}, START)
            return time.monotonic() - began

        # Others wait thirty seconds, this one a quarter of a second; a busy machine adds to it.
        assert write(store, touch) < BUSY_MILLISECONDS / 2000
        other.close()


Child = tuple[int, Any]


def forked(work: Callable[[], Any]) -> Child:
    """A forked child that does `work`, sends back what came of it, and ends without any
    clean-up.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy's own threads do not mind
        child = os.fork()
    if child == 0:
        try:
            sender.send(work())
        except BaseException as error:
            sender.send(repr(error))
        finally:
            os._exit(0)
    sender.close()
    return child, receiver


def answer(child: Child) -> Any:
    """What a child sent."""
    assert child[1].poll(60), "the child did not answer"
    sent = child[1].recv()
    os.waitpid(child[0], 0)
    return sent


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a forked child."""
    return answer(forked(work))


def scene(store: SQLiteStore) -> None:
    """Something of everything that can be damaged."""
    vectors = vectorised(store, 12)
    one, two, *rest = store.get([ANN], list(vectors))

    def work(tx: Transaction) -> None:
        tx.link(link(one, two))
        tx.sessions.put(Session("s", ANN, START, START))
        tx.entities.put(Entity("e", ANN, "Joanna", "person", START, ("Jo",)))
        tx.entities.mention(ANN, entity="e", memory=one.id)
        tx.add(turn("she said tea", "s", 0))
        tx.add(fact("tea of bob", scope=BOB))

    write(store, work)
    set_status(store, rest[0], "archived")
    purge(store, rest[1])


def test_turns_around_are_looked_up_and_not_searched_for(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = put(store, *(turn(str(number), "s", number) for number in range(5)))
    read, plans = store.read, []

    def planned(reach: Any, sql: str, values: Any = ()) -> Any:
        plans.extend(row[3] for row in read(reach, f"EXPLAIN QUERY PLAN {sql}", values))
        return read(reach, sql, values)

    monkeypatch.setattr(store, "read", planned)
    assert len(store.candidates(Filter((ANN,)), [turns[2].seq], [turns[2].seq], 1)) == 3
    assert "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)" in plans
    assert "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)" in plans
    assert any("memories_by_session (scope=? AND session=? AND position" in plan for plan in plans)


def test_the_timeline_is_read_from_its_index_and_passes_turns_over(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, fact("tea"), *(turn(str(number), "s", number) for number in range(5)))
    read, plans = store.read, []

    def planned(reach: Any, sql: str, values: Any = ()) -> Any:
        plans.append([row[3] for row in read(reach, f"EXPLAIN QUERY PLAN {sql}", values)])
        return read(reach, sql, values)

    monkeypatch.setattr(store, "read", planned)
    store.timeline.page([ANN], axis="happened", kinds=["fact"], limit=5)
    store.timeline.days([ANN], axis="happened", kinds=["fact"])
    store.timeline.days([ANN], axis="learned", kinds=["fact"])
    store.timeline.counts([ANN])
    assert all(any("memories_by_moment" in step for step in plan) for plan in plans), plans
    assert not any(step.startswith("SCAN m") for plan in plans for step in plan), plans


def test_names_of_an_entity_are_looked_up_and_not_searched_for(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, lambda tx: tx.entities.put(Entity("e", ANN, "Joanna", "person", START, ("Jo",))))
    call, plans = SQLiteStatements.__call__, []

    def planned(statements: SQLiteStatements, sql: str, values: Any = ()) -> Any:
        plans.extend(row[3] for row in call(statements, f"EXPLAIN QUERY PLAN {sql}", values))
        return call(statements, sql, values)

    monkeypatch.setattr(SQLiteStatements, "__call__", planned)
    joanna = write(store, lambda tx: tx.entities.named(ANN, "jo", "person"))
    assert joanna is not None and joanna.aliases == ("Jo",)
    assert any("entity_names_by_entity (scope=? AND entity=?)" in plan for plan in plans)


@pytest.mark.parametrize("other", [False, True], ids=["itself", "another process"])
def test_small_answers_are_read_again_only_after_a_write(
    store: SQLiteStore, path: Path, monkeypatch: pytest.MonkeyPatch, other: bool
) -> None:
    writing = SQLiteStore(path) if other else store
    put(store, fact("tea", author="Ann"))
    read, asked = store.read, []

    def counted(reach: Any, sql: str, values: Any = ()) -> Any:
        asked.append(sql)
        return read(reach, sql, values)

    def authors() -> tuple[list[str], int]:
        asked.clear()
        with store.reading([ANN]):
            found = [list(store.authors([ANN])) for _ in range(3)]
        assert found[0] == found[1] == found[2]
        return found[0], sum("author" in sql for sql in asked)

    monkeypatch.setattr(store, "read", counted)
    assert [authors(), authors()] == [(["Ann"], 1), (["Ann"], 0)]
    put(writing, fact("coffee", author="Bob"))
    assert [authors(), authors()] == [(["Ann", "Bob"], 1), (["Ann", "Bob"], 0)]
    writing.close()


def answers(store: SQLiteStore) -> tuple[Any, ...]:
    """What searches say."""
    everywhere = ("active", "archived")
    return (
        store.by_text(Filter((ANN, BOB)), ["note", "tea"], 50),
        sorted(store.by_text(Filter((ANN, BOB), statuses=everywhere), ["note", "tea", "5"], 50)),
        store.corpus([ANN, BOB], ["note", "tea", "5"]),
        store.by_entity(Filter((ANN,)), ["jo"], 5),
        [one.id for one in store.list(Filter((ANN, BOB)))],
    )


MENDED = {
    "a row of the full-text index": "DELETE FROM memory_terms WHERE rowid = 2",
    "two exchanged rows of the full-text index": (
        "INSERT OR REPLACE INTO memory_terms (rowid, terms) VALUES (1, '1~note 1~1'), (2, '1~note "
        "1~0')"
    ),
    "an extra row in the full-text index": (
        "INSERT INTO memory_terms (rowid, terms) VALUES (777, '1~note')"
    ),
    "the inside of the full-text index": "UPDATE memory_terms_data SET block = x'00' WHERE id > 10",
    "the total of memories": "UPDATE scopes SET active = active + 1",
    "the total of words": "UPDATE scopes SET terms = 0 WHERE number = 1",
    "a length": "UPDATE memories SET terms = 99 WHERE seq = 3",
    "an edge to nowhere": (
        "INSERT INTO edges VALUES (1, 'fact_gone', 'fact_gone_too', 'derived_from', 1, '')"
    ),
    "a mention of nobody": "INSERT INTO mentions VALUES (1, 'nobody', 'nothing')",
    "a name of nobody": "INSERT INTO entity_names VALUES (1, 'x', 'nobody', 'X')",
    "the file of no memory": "INSERT INTO files VALUES (1, '/home', 'a.md', 'rec_gone', 1, 1, '')",
    "a missing index": "DROP INDEX memories_by_hash",
    "an altered index": (
        "DROP INDEX edges_by_target; CREATE INDEX edges_by_target ON edges (target)"
    ),
}
VECTOR_DAMAGE = {
    "a vector that is too short": "UPDATE vectors SET vector = x'00000000' WHERE number = 2",
    "a vector of another length than one": (
        f"UPDATE vectors SET vector = x'{'00' * 60}0000C842' WHERE number = 2"
    ),
    "a vector that is not a number": (
        f"UPDATE vectors SET vector = x'{'00' * 60}0000C07F' WHERE number = 2"
    ),
    "a vector in another scope": "UPDATE vectors SET scope = 2 WHERE number = 2",
    "a vector of a missing memory": (
        "INSERT INTO vectors (model, scope, seq, vector) VALUES (1, 1, 777, zeroblob(64))"
    ),
    "a vector that is missing": "DELETE FROM vectors WHERE number = 3",
}
FOR_PEOPLE = {
    "a lost journal entry": ("DELETE FROM events WHERE before IS NOT NULL", "journal"),
    "the newest journal entry": (
        "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
        "journal",
    ),
    "a memory deleted by hand": (
        "DELETE FROM vectors WHERE seq = 5; DELETE FROM memories WHERE seq = 5",
        "journal",
    ),
    "a message deleted by hand": (
        "INSERT INTO messages VALUES (1, 's', 0, '{}', 1), (1, 's', 2, '{}', 1)",
        "messages",
    ),
    "messages without their session": (
        "INSERT INTO messages VALUES (1, 'nobody', 0, '{}', 1)",
        "messages",
    ),
    "a missing table": ("DROP TABLE profiles", "schema"),
    "an unknown table": ("CREATE TABLE extra (x)", "schema"),
    "an altered table": ("ALTER TABLE profiles ADD COLUMN extra TEXT", "schema"),
}


def forged(old: str, new: str) -> str:
    """SQL that changes what SQLite believes an index to hold, and not the index."""
    return (
        f"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '{old}', "
        f"'{new}') "
        "WHERE name = 'memories_by_hash'; PRAGMA writable_schema = RESET;"
    )


class TestDoctor:
    """The check-up finds each damage; the repair mends what can be rebuilt."""

    @pytest.fixture
    def sound(self, path: Path) -> tuple[Any, ...]:
        store = SQLiteStore(path)
        scene(store)
        assert list(store.check()) == []
        expected = answers(store)
        store.close()
        return expected

    def damaged(self, path: Path, statements: str) -> SQLiteStore:
        tamper(path, "PRAGMA foreign_keys = OFF", statements)
        return SQLiteStore(path, clock=lambda: START)

    @pytest.mark.parametrize("statements", MENDED.values(), ids=list(MENDED))
    def test_damage_is_found_and_mended(
        self, path: Path, sound: tuple[Any, ...], statements: str
    ) -> None:
        store = self.damaged(path, statements)
        findings = list(store.check())
        assert findings and all(finding.repairable for finding in findings), findings
        store.repair()
        assert list(store.check()) == []
        assert answers(store) == sound
        store.close()

    @pytest.mark.parametrize("statements", VECTOR_DAMAGE.values(), ids=list(VECTOR_DAMAGE))
    def test_vectors_that_cannot_be_used_are_dropped_and_made_again(
        self, path: Path, sound: tuple[Any, ...], statements: str
    ) -> None:
        store = self.damaged(path, statements)
        findings = list(store.check())
        assert findings and all(finding.repairable for finding in findings), findings
        store.repair()
        assert (list(store.check()), answers(store)) == ([], sound)
        waiting = store.vectors.missing(MODEL, 50, [ANN])
        store.vectors.add([ANN], MODEL, {one.seq: unit(one.seq) for one in waiting})
        assert (store.vectors.models([ANN]), store.vectors.missing(MODEL, 50, [ANN])) == (
            {MODEL: True},
            [],
        )
        assert len(store.by_vector(Filter((ANN,)), MODEL, unit(1), 50)) == 11
        store.close()

    @pytest.mark.parametrize(("statements", "check"), FOR_PEOPLE.values(), ids=list(FOR_PEOPLE))
    def test_what_cannot_be_rebuilt_is_found_and_said_to_be_so(
        self, path: Path, sound: tuple[Any, ...], statements: str, check: str
    ) -> None:
        store = self.damaged(path, statements)
        findings = list(store.check())
        assert [
            (finding.check, finding.repairable) for finding in findings if not finding.repairable
        ][:1] == [(check, False)], findings
        store.close()

    def test_a_memory_without_its_first_entry_gets_one_again(
        self, path: Path, sound: tuple[Any, ...]
    ) -> None:
        store = self.damaged(path, "DELETE FROM events WHERE seq = 2")
        assert sorted((finding.check, finding.repairable) for finding in store.check()) == [
            ("journal", False),
            ("journal", True),
        ]
        store.repair()
        assert [(finding.check, finding.repairable) for finding in store.check()] == [
            ("journal", False)
        ]
        assert store.events([ANN])[0].actor == "doctor"
        store.close()

    def test_a_broken_index_is_rebuilt(self, path: Path, sound: tuple[Any, ...]) -> None:
        # Built for one column and then said to be for another: its entries are not what the table
        # says.
        store = self.damaged(
            path,
            forged("scope, content_hash", "scope, id")
            + "REINDEX memories_by_hash;"
            + forged("scope, id", "scope, content_hash"),
        )
        findings = list(store.check())
        assert findings and all(finding.repairable for finding in findings), findings
        store.repair()
        assert (list(store.check()), answers(store)) == ([], sound)
        store.close()

    def test_the_repair_of_one_scope_leaves_the_same_id_in_another_alone(self, path: Path) -> None:
        store = SQLiteStore(path)
        one = put_one(store, fact("green tea"))
        put(store, one.with_(scope=BOB, content="black coffee beans", seq=0))
        store.close()
        store = self.damaged(path, "UPDATE memories SET terms = 0 WHERE scope = 1")
        store.repair()
        assert list(store.check()) == []
        store.close()

    def test_purged_words_leave_the_file(self, path: Path) -> None:
        store = SQLiteStore(path)
        one = put_one(store, fact("the word is xylophonist", title="xylophonist"))
        set_status(store, one, "archived")
        put(store, fact("something else"))
        assert b"xylophonist" in path.read_bytes() + Path(f"{path}-wal").read_bytes()
        purge(store, one)
        store.scrub()
        kept = b"".join(file.read_bytes() for file in path.parent.iterdir())
        assert b"xylophonist" not in kept and b"something else" in kept
        store.close()
