"""A server that is killed, cut off, locked, restarted and copied while processes write to it and
read from it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import struct
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import psycopg
import pytest
import worker

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import Conflict, StoreBusy, StoreError, StoreReadOnly
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import Filter, Transaction
from holdfast.storage.postgres import PostgresStore, connections, replica, scoped_session
from holdfast.testing.scene import (
    ANN,
    BOB,
    MODEL,
    SECOND,
    START,
    at,
    fact,
    listed,
    put,
    put_one,
    together,
    turn,
    unit,
    write,
)
from holdfast.types import STATUSES, Job, Memory, Scope
from patience import PATIENCE, wait_until
from servers import PostgresServer, free_port, start_server

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

WORDS_ONLY = Settings(embedding_models="none")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A durable server for the tests of this module, which leave it running. It flushes nothing but
    commits.
    """
    options = {"deadlock_timeout": "100ms", "wal_writer_delay": "10s", "autovacuum": "off"}
    with start_server(durable=True, options=options) as started:
        started.create_database("tables")
        PostgresStore(started.url("tables")).close()
        yield started


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    """A database with our tables and nothing in them."""
    name = f"test_{uuid4().hex}"
    server.create_database(name, template="tables")
    yield server.url(name)
    server.drop_database(name)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


def query(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Runs one statement behind the store's back, and commits it."""
    with psycopg.connect(url, autocommit=True, connect_timeout=60) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def hang_up(url: str) -> None:
    """Ends every connection to a database but the one that says so."""
    query(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def everything(url: str) -> Counter[str]:
    """How often each text is in the store, whatever its scope and status; the store must be
    sound.
    """
    store = PostgresStore(url)
    assert list(store.check()) == []
    found = store.list(Filter(tuple(store.scopes() or [ANN]), statuses=STATUSES))
    store.close()
    return Counter(memory.content for memory in found)


class Thread(threading.Thread):
    """A thread whose result can be asked for."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.start()

    def run(self) -> None:
        try:
            self.result, self.error = self._work(), None
        except BaseException as error:
            self.result, self.error = None, error

    def get(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error
        return self.result


# Children


def forked(
    work: Callable[[], Any], *, leave: Callable[[], object] = lambda: os._exit(0)
) -> tuple[int, Any]:
    """A forked child that does `work`, sends back what came of it, and leaves."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        # The threads of a pool are none of the child's business.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            sender.send(work())
        except BaseException as error:
            sender.send(repr(error))
        finally:
            leave()
    sender.close()
    return child, receiver


def answer(child: tuple[int, Any]) -> Any:
    """What a child sent, once it has ended."""
    assert child[1].poll(60), "the child did not answer"
    sent = child[1].recv()
    os.waitpid(child[0], 0)
    return sent


def in_child(work: Callable[[], Any]) -> Any:
    return answer(forked(work))


def _run_patiently(*args: Any) -> None:
    """As a process that a crowded machine gives the time to find its server again."""
    connections.PATIENCE = PATIENCE
    worker.run(*args)


@dataclass
class Crowd:
    """Writers and readers of test_processes.py on a server, each with a log of what was promised to
    it.
    """

    url: str
    folder: Path
    processes: list[Any] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.join()

    def start(self, role: Callable[..., None], *names: str) -> None:
        for name in names:
            arguments = (role, self.url, self.folder / f"{name}.log", name)
            process = multiprocessing.get_context("fork").Process(
                target=_run_patiently, args=arguments
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            self.processes.append(process)

    def await_more(self, count: int) -> None:
        """Until so many more writes have returned."""
        before = len(worker.promised(self.folder))
        wait_until(
            lambda: len(worker.promised(self.folder)) >= before + count, f"{count} more writes"
        )

    def end(self) -> None:
        """Until all have ended by themselves; none of them failed, and whatever was promised is
        there once.
        """
        worker.stop(self.folder)
        for process in self.processes:
            process.join(PATIENCE)
        assert [error.read_text() for error in self.folder.glob("*.error")] == []
        assert {process.exitcode for process in self.processes} == {0}
        texts, promised = everything(self.url), worker.promised(self.folder)
        assert len(promised) == len(set(promised))
        assert [text for text in promised if texts[text] != 1] == []
        assert [text for text, count in texts.items() if count > 1] == []
        twins = [text for text in texts if text.endswith(worker.TWIN)]
        assert [text for text in twins if text.removesuffix(worker.TWIN) not in texts] == []
        self._turns_stand_in_one_row()

    def _turns_stand_in_one_row(self) -> None:
        store = PostgresStore(self.url)
        for scope in store.scopes():
            for session in store.sessions.list([scope]):
                turns = store.list(Filter((scope,), sessions=(session.id,)), order="oldest")
                assert [one.position for one in turns] == list(range(len(turns)))
        store.close()


class TestStorms:
    def test_a_server_that_is_killed_and_comes_back_loses_and_doubles_nothing(
        self, server: PostgresServer, url: str, tmp_path: Path
    ) -> None:
        with Crowd(url, tmp_path) as crowd:
            crowd.start(worker.write, "writer0", "writer1", "writer2", "writer3")
            crowd.start(worker.read, "reader0")
            for _ in range(3):
                crowd.await_more(10)
                server.kill()
                server.start()
            crowd.await_more(10)
            crowd.end()

    def test_connections_that_are_cut_again_and_again_cost_nothing(
        self, url: str, tmp_path: Path
    ) -> None:
        with Crowd(url, tmp_path) as crowd:
            crowd.start(worker.write, "writer0", "writer1", "writer2", "writer3")
            crowd.start(worker.read, "reader0", "reader1")
            for _ in range(8):
                crowd.await_more(4)
                hang_up(url)
            crowd.end()

    def test_reads_go_on_when_connections_are_cut(self, url: str) -> None:
        store, done = PostgresStore(url), threading.Event()
        put(store, *(fact(f"note {n}") for n in range(30)))

        def read() -> int:
            rounds = 0
            while not done.is_set() or rounds < 3:
                assert len(listed(store)) == 30
                with store.reading([ANN]):
                    assert len(store.by_text(Filter((ANN,)), ["note"], 50)) == 30
                    assert store.counts([ANN]) == {"fact": {"active": 30}}
                rounds += 1
            return rounds

        readers = [Thread(read) for _ in range(4)]
        for _ in range(15):
            hang_up(url)
        done.set()
        assert all(reader.get() >= 3 for reader in readers)
        store.close()

    def test_a_recall_outlives_the_connection_it_began_with(self, url: str) -> None:
        class Cutting(FakeEmbedder):
            def embed_query(self, text: str) -> Any:
                hang_up(url)
                return super().embed_query(text)

        store = PostgresStore(url)
        hf = Holdfast(
            store, (ANN,), settings=WORDS_ONLY, tiers=Tiers.of(Cutting(), clock=lambda: START)
        )
        tea = hf.remember("Prefers green tea")
        for _ in range(3):
            assert [hit.memory.id for hit in hf.recall("which tea?")] == [tea.id]
            hang_up(url)
        hf.close()

    def test_a_server_that_ends_idle_connections_is_no_trouble(self, url: str) -> None:
        option = "?application_name=impatient&options=-c%20idle_session_timeout%3D100"
        connected = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'impatient'"
        store = PostgresStore(url + option)
        for n in range(3):
            put(store, fact(f"note {n}"))
            wait_until(lambda: query(url, connected) == [])
            assert len(listed(store)) == n + 1
            wait_until(lambda: query(url, connected) == [])
        store.close()
        assert everything(url) == Counter(["note 0", "note 1", "note 2"])

    def test_a_server_that_ends_idle_transactions_is_no_trouble(self, url: str) -> None:
        option = (
            "?application_name=impatient&options=-c%20idle_in_transaction_session_timeout%3D100"
        )
        waiting = (
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'impatient' AND state "
            "LIKE 'idle in%'"
        )

        class Slow(FakeEmbedder):
            def embed_query(self, text: str) -> Any:
                wait_until(lambda: query(url, waiting) == [])
                return super().embed_query(text)

        hf = Holdfast(
            PostgresStore(url + option), (ANN,), tiers=Tiers.of(Slow(), clock=lambda: START)
        )
        tea = hf.remember("Prefers green tea")
        for _ in range(3):
            assert [hit.memory.id for hit in hf.recall("which tea?")] == [tea.id]
        hf.close()


# Lost answers


class Proxy:
    """Stands between clients and a server, and cuts them off where it is told to.

    `cut` is one of: "" (never), "before" a COMMIT reaches the server, "after" the server has
    committed but before it can say so, "held" (the COMMIT of something written waits for `release`,
    and never gets through; a connection that the pool makes ready commits as well), or a number of
    bytes after which a connection breaks. One cut, and it is "" again; if that was the `last` one,
    nobody gets through any more.
    """

    def __init__(self, port: int) -> None:
        self._port, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut: str | int = ""
        self.cuts, self.last = 0, False
        self.holding, self.release = threading.Event(), threading.Event()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, url: str) -> str:
        """The same database by way of this proxy."""
        return (
            url.replace(f":{self._port}/", f":{self.port}/") + "?sslmode=disable&gssencmode=disable"
        )

    def close(self) -> None:
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with (
            suppress(OSError),
            client,
            socket.create_connection(("127.0.0.1", self._port)) as server,
        ):
            self._sockets += [client, server]
            for each in (client, server):  # else each small message waits for an answer to the last
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            silent, heard = threading.Event(), threading.Event()
            back = threading.Thread(
                target=self._answers, args=(server, client, silent, heard), daemon=True
            )
            back.start()
            self._requests(client, server, silent, heard)
            for each in (client, server):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            back.join()

    def _answers(
        self,
        server: socket.socket,
        client: socket.socket,
        silent: threading.Event,
        heard: threading.Event,
    ) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if (
                    silent.is_set()
                ):  # this says that it is committed, and the client will not hear it
                    heard.set()
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)

    def _requests(
        self,
        client: socket.socket,
        server: socket.socket,
        silent: threading.Event,
        heard: threading.Event,
    ) -> None:
        """Passes on messages one by one; the first has no type."""
        waiting, begun, passed, wrote = b"", False, 0, False
        while data := client.recv(65536):
            waiting += data
            while True:
                head = 1 if begun else 0
                if len(waiting) < head + 4:
                    break
                size = head + struct.unpack("!I", waiting[head : head + 4])[0]
                if len(waiting) < size:
                    break
                message, waiting, begun = waiting[:size], waiting[size:], True
                passed += size
                wrote = wrote or b"INSERT" in message
                if isinstance(self.cut, int) and passed > self.cut:
                    return self._count()
                if (
                    (self.cut in ("before", "after") or (self.cut == "held" and wrote))
                    and message[:1] in b"QP"
                    and b"COMMIT\0" in message
                ):
                    return self._at_commit(server, message, silent, heard)
                server.sendall(message)
        return None

    def _at_commit(
        self, server: socket.socket, message: bytes, silent: threading.Event, heard: threading.Event
    ) -> None:
        cut = self.cut
        self._count()
        if cut == "after":
            silent.set()
            server.sendall(message)
            heard.wait(PATIENCE)
        if cut == "held":
            self.holding.set()
            self.release.wait(PATIENCE)

    def _count(self) -> None:
        self.cut, self.cuts = "", self.cuts + 1
        if self.last:
            self.close()


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    opened = Proxy(server.port)
    yield opened
    opened.close()


@pytest.fixture
def far(url: str, proxy: Proxy) -> Iterator[PostgresStore]:
    """A store behind the proxy, with connections that are open already."""
    opened = PostgresStore(proxy.url(url))
    put(opened, fact("before"))
    yield opened
    opened.close()


class TestLostAnswers:
    @pytest.mark.parametrize(("cut", "tries"), [("after", 1), ("before", 2)])
    def test_a_write_is_there_once(
        self, far: PostgresStore, proxy: Proxy, url: str, cut: str, tries: int
    ) -> None:
        made: list[int] = []

        def work(tx: Transaction) -> Memory:
            made.append(1)
            return tx.add(one)

        one = turn("hello", "s", 0)
        proxy.cut = cut
        stored = write(far, work)
        assert (proxy.cuts, len(made)) == (1, tries)
        assert everything(url) == Counter(["before", "hello"])
        assert far.get([ANN], [one.id]) == [stored]
        put(far, fact("later"))
        assert listed(far) == ["before", "hello", "later"]

    @pytest.mark.parametrize("cut", ["after", "before"])
    def test_a_write_that_makes_its_scope_is_there_once(
        self, far: PostgresStore, proxy: Proxy, url: str, cut: str
    ) -> None:
        proxy.cut = cut
        put(far, fact("of bob", scope=BOB), fact("of ann"))
        assert proxy.cuts == 1
        assert everything(url) == Counter(["before", "of bob", "of ann"])
        assert far.scopes() == [ANN, BOB]

    @pytest.mark.parametrize("cut", ["after", "before"])
    def test_bookkeeping_is_done_once(
        self, far: PostgresStore, proxy: Proxy, url: str, cut: str
    ) -> None:
        (one,) = far.list(Filter((ANN,)))
        proxy.cut = cut
        far.touch([ANN], {one.seq: 1}, START)
        assert far.get([ANN], [one.seq])[0].access_count == 1
        proxy.cut = cut
        far.vectors.add([ANN], MODEL, {one.seq: unit(1)})
        assert far.vectors.coverage([ANN]) == {MODEL: 1}
        proxy.cut = cut
        far.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        proxy.cut = cut
        job = far.jobs.claim(["tidy"], worker="w", now=START, lease=60 * SECOND)
        assert job is not None
        assert query(url, "SELECT token, retries_left FROM holdfast.jobs") == [(job.token, 3)]
        proxy.cut = cut
        together(
            far,
            lambda tx: tx.add(fact("output")),
            lambda tx: tx.jobs.finish(job),
            when=at(1),
        )
        assert proxy.cuts == 5
        assert far.jobs.claim(["tidy"], worker="w", now=at(100), lease=SECOND) is None
        assert everything(url) == Counter(["before", "output"])

    def test_the_number_of_a_lost_transaction_that_another_one_got_deceives_nobody(
        self, far: PostgresStore, proxy: Proxy, url: str, server: PostgresServer
    ) -> None:
        proxy.cut = "held"
        writing = Thread(lambda: put_one(far, turn("hello", "s", 0)))
        assert proxy.holding.wait(PATIENCE)
        ((number,),) = query(url, "SELECT max(backend_xid::text::bigint) FROM pg_stat_activity")
        # The server crashes before anything of the transaction is on its disk, so it counts from
        # there again.
        server.kill()
        server.start()
        with psycopg.connect(url, autocommit=True) as connection:
            while (
                connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchall()[0][0]
                <= number
            ):
                pass
        # Perhaps it is somebody's who is not done yet.
        ended = ([("committed",)], [("aborted",)])
        wait_until(lambda: query(url, f"SELECT pg_xact_status('{number}'::xid8)") in ended)
        proxy.release.set()
        assert writing.get().content == "hello"
        assert everything(url) == Counter(["before", "hello"])

    def test_a_server_that_does_not_come_back_to_say_leaves_it_open(
        self, far: PostgresStore, proxy: Proxy, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connections, "PATIENCE", 1.0)
        proxy.cut = "held"
        writing = Thread(lambda: put_one(far, turn("hello", "s", 0)))
        assert proxy.holding.wait(PATIENCE)
        proxy.close()
        proxy.release.set()
        with pytest.raises(StoreError, match="did not come back to say whether"):
            writing.get()
        wait_until(lambda: everything(url) == Counter(["before"]))

    @pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
    def test_a_connection_lost_inside_a_batch_leaves_all_or_nothing(
        self, url: str, proxy: Proxy, share: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(scoped_session, "ROWS_TOGETHER", 50)  # so that it travels in many parts
        batch = [f"note {n} of a long batch about green tea and blue boats" for n in range(300)]
        size = 3 * sum(map(len, batch))  # a part of what travels
        with Holdfast.open(
            proxy.url(url), scope="user:ann", settings=WORDS_ONLY, background=False
        ) as hf:
            hf.remember("before")
            proxy.cut = int(size * share)
            assert len(hf.remember_many(batch)) == 300
            assert proxy.cuts == 1
            monkeypatch.setattr(connections, "PATIENCE", 0.5)
            proxy.cut, proxy.last = int(size * share), True
            with pytest.raises(StoreError):
                hf.remember_many([f"second {text}" for text in batch])
            assert proxy.cuts == 2
            assert everything(url) == Counter(["before", *batch])


# Locks


class TestLocks:
    def test_writers_that_use_two_scopes_in_opposite_order_both_succeed(
        self, url: str, store: PostgresStore
    ) -> None:
        put(store, fact("a"), fact("b", scope=BOB))
        both_hold_one = threading.Barrier(2)

        def crossing(first: Scope, second: Scope) -> int:
            tries = []

            def work(tx: Transaction) -> None:
                tries.append(1)
                tx.add(fact(f"{first} first", scope=first))
                if len(tries) == 1:
                    both_hold_one.wait(PATIENCE)
                tx.add(fact(f"{first} second", scope=second))

            write(store, work)
            return len(tries)

        threads = [Thread(lambda: crossing(ANN, BOB)), Thread(lambda: crossing(BOB, ANN))]
        # One gave way, perhaps more than once.
        assert max(thread.get() for thread in threads) > 1
        texts = ["a", "b", "user:ann first", "user:ann second", "user:bob first", "user:bob second"]
        assert everything(url) == Counter(texts)

    def test_a_scope_that_is_held_for_too_long_is_busy(
        self, url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(store, fact("a"), fact("b", scope=BOB))
        holds, release = threading.Event(), threading.Event()

        def hold(tx: Transaction) -> None:
            tx.add(fact("held"))
            holds.set()
            release.wait(PATIENCE)

        holder = Thread(lambda: write(store, hold))
        assert holds.wait(PATIENCE)
        monkeypatch.setattr(connections, "STATEMENT_MILLISECONDS", 200)
        with pytest.raises(StoreBusy, match="Try again"):
            put(store, fact("late"))
        with pytest.raises(StoreBusy):
            store.vectors.add([ANN], MODEL, {1: unit(1)})
        put(store, fact("elsewhere", scope=BOB))  # another scope is another turn
        assert listed(store) == ["a"]  # and readers wait for nobody
        release.set()
        holder.get()
        put(store, fact("after"))
        assert everything(url) == Counter(["a", "b", "held", "elsewhere", "after"])


# Jobs


def claimed(store: PostgresStore, *, seconds: float = 0, name: str = "w") -> Job | None:
    return store.jobs.claim(["tidy"], worker=name, now=at(seconds), lease=60 * SECOND)


class TestWorkers:
    def test_outputs_under_a_lost_lease_are_not_written(self, url: str) -> None:
        first, second = PostgresStore(url), PostgresStore(url)
        first.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        lost = claimed(first, name="first")
        held = claimed(second, seconds=61, name="second")
        assert lost is not None and held is not None

        def finish(store: PostgresStore, job: Job, output: str, seconds: float) -> None:
            together(
                store, lambda w: w.add(fact(output)), lambda w: w.jobs.finish(job), when=at(seconds)
            )

        with pytest.raises(Conflict, match="lost"):
            finish(first, lost, "by the first", 62)
        finish(second, held, "by the second", 63)
        with pytest.raises(Conflict):
            finish(first, lost, "by the first", 64)
        assert everything(url) == Counter(["by the second"])
        first.close(), second.close()

    def test_two_that_finish_the_same_job_at_once_write_its_output_once(
        self, url: str, store: PostgresStore
    ) -> None:
        for n in range(10):
            store.jobs.enqueue(ANN, "tidy", "k", watermark=n + 1)
            job = claimed(store)
            assert job is not None
            ready = threading.Barrier(3)

            def finish(job: Job = job, n: int = n, ready: threading.Barrier = ready) -> bool:
                ready.wait(PATIENCE)
                with suppress(Conflict):
                    together(
                        store,
                        lambda w: w.add(fact(f"output {n}")),
                        lambda w: w.jobs.finish(job),
                        when=at(1),
                    )
                    return True
                return False

            assert sorted(thread.get() for thread in [Thread(finish) for _ in range(3)]) == [
                False,
                False,
                True,
            ]
        assert everything(url) == Counter(f"output {n}" for n in range(10))

    def test_the_job_of_a_killed_worker_goes_to_another_and_a_try_is_used_up(
        self, url: str
    ) -> None:
        def claim_and_hang() -> None:
            own = PostgresStore(url)
            claimed(own, name="doomed")
            together(
                own, lambda w: w.add(fact("half")), lambda w: os.kill(os.getpid(), signal.SIGKILL)
            )

        store = PostgresStore(url)
        store.jobs.enqueue(ANN, "tidy", "k", watermark=1)
        child, _ = forked(claim_and_hang)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert claimed(store, seconds=59) is None
        job = claimed(store, seconds=60, name="heir")
        assert job is not None
        assert (job.worker, job.retries_left) == ("heir", 2)
        together(store, lambda w: w.add(fact("whole")), lambda w: w.jobs.finish(job), when=at(61))
        assert claimed(store, seconds=1000) is None
        assert everything(url) == Counter(["whole"])
        store.close()

    def test_each_of_many_jobs_is_done_once_by_many_processes(self, url: str) -> None:
        jobs, store = 40, PostgresStore(url)
        for n in range(jobs):
            store.jobs.enqueue(ANN if n % 2 else BOB, "tidy", f"job {n}", watermark=1)

        def labour(name: str) -> int:
            own, done = PostgresStore(url), 0
            while job := claimed(own, name=name):
                output = replace(
                    fact(f"{job.scope} {job.key}", scope=job.scope), id=f"fact_{name}_{done}"
                )
                together(
                    own, lambda w, o=output: w.add(o), lambda w, j=job: w.jobs.finish(j), when=at(1)
                )
                done += 1
            own.close()
            return done

        done = [answer(child) for child in [forked(lambda n=n: labour(f"w{n}")) for n in range(4)]]
        assert sum(done) == jobs
        assert everything(url) == Counter(f"{ANN if n % 2 else BOB} job {n}" for n in range(jobs))
        store.close()


# Servers that are away


class TestAway:
    def test_a_server_that_is_down_is_said_to_be_at_once(self) -> None:
        port = free_port()
        started = time.monotonic()
        with pytest.raises(
            StoreError,
            match=rf"127.0.0.1:{port}/notes cannot be reached.*Check that the server runs",
        ):
            PostgresStore(f"postgresql://ann:secret@127.0.0.1:{port}/notes")
        assert time.monotonic() - started < connections.PATIENCE

    def test_a_server_that_goes_down_is_waited_for_and_then_given_up(
        self,
        server: PostgresServer,
        url: str,
        store: PostgresStore,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        put(store, fact("before"))
        server.stop()
        try:
            usual = connections.PATIENCE
            monkeypatch.setattr(connections, "PATIENCE", 0.3)
            for call in (
                lambda: listed(store),
                lambda: put(store, fact("lost")),
                lambda: list(store.rows("memory", ANN)),
                lambda: list(store.check()),
                store.scrub,
            ):
                started = time.monotonic()
                with pytest.raises(StoreError, match="cannot be reached"):
                    call()
                assert time.monotonic() - started < usual
            monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
            waiting = [Thread(lambda: listed(store)), Thread(lambda: put(store, fact("patient")))]
        finally:
            server.start()
        assert "before" in waiting[0].get()
        waiting[1].get()
        assert everything(url) == Counter(["before", "patient"])

    def test_after_a_restart_every_kind_of_call_goes_on(
        self, server: PostgresServer, store: PostgresStore
    ) -> None:
        one = put_one(store, fact("tea"))

        def moment() -> list[Any]:
            with store.snapshot() as rows:
                return [row["content"] for row in rows("memory", ANN)]

        calls: list[tuple[Callable[[], Any], Any]] = [
            (lambda: [row["content"] for row in store.rows("memory", ANN)], ["tea"]),
            (lambda: list(store.check()), []),
            (moment, ["tea"]),
            (lambda: listed(store), ["tea"]),
            (lambda: store.touch([ANN], {one.seq: 1}, START), None),
            (store.repair, None),
        ]
        for call, expected in calls:
            hang_up(store._primary.url)
            assert call() == expected
        server.stop()
        server.start()
        for call, expected in calls:
            assert call() == expected


# Forks


class TestForks:
    def test_a_child_uses_the_store_while_its_parent_goes_on(
        self, url: str, store: PostgresStore
    ) -> None:
        put(store, fact("before"))

        def both(name: str) -> list[str]:
            for n in range(10):
                put(store, replace(fact(f"{name} {n}"), id=f"fact_{name}_{n}"))
                assert f"{name} {n}" in listed(store)
            return listed(store)

        children = [
            forked(lambda name=name: (both(name), store.close())[0]) for name in ("one", "two")
        ]
        both("parent")
        for child in children:
            assert "before" in answer(child)
        assert everything(url) == Counter(
            ["before", *(f"{name} {n}" for name in ("one", "two", "parent") for n in range(10))]
        )

    def test_a_child_forked_in_the_middle_of_a_write_can_write(
        self, url: str, store: PostgresStore
    ) -> None:
        put(store, fact("before"), fact("before", scope=BOB))
        own = fact("child", scope=BOB)

        def work(tx: Transaction) -> Any:
            tx.add(fact("parent"))
            seen = in_child(lambda: (listed(store), put(store, own))[0])
            tx.add(fact("parent too"))
            return seen

        assert write(store, work) == ["before"]
        with store.reading([ANN]):
            assert in_child(lambda: listed(store)) == ["before", "parent", "parent too"]
            assert listed(store) == ["before", "parent", "parent too"]
        assert everything(url) == Counter(["before", "before", "child", "parent", "parent too"])

    def test_a_child_forked_in_the_middle_of_a_read_leaves_it_alone(
        self, store: PostgresStore
    ) -> None:
        put(store, fact("before"))
        parent, children = os.getpid(), []
        with store.reading([ANN]), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            children.append(os.fork())
        if os.getpid() != parent:  # it has left the block, as the parent will
            os._exit(0 if listed(store) == ["before"] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
        assert listed(store) == ["before"]
        for rows in (
            store.rows("memory", ANN),
            store.stream((1,), "SELECT scope FROM memories", ()),
        ):
            assert len(list(rows)) == 1

    def test_a_child_that_ends_inside_a_write_of_its_parent_leaves_it_alone(
        self, url: str, store: PostgresStore, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """It unwinds through the store and ends as programs do, with all their clean-up."""
        parent = os.getpid()

        def work(tx: Transaction) -> int:
            tx.add(fact("parent"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                raise KeyboardInterrupt
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        put(store, fact("before"))
        try:
            status = write(store, work)
        except KeyboardInterrupt:
            store.close()
            os._exit(7 if os.getpid() != parent else 1)
        assert status == 7
        put(store, fact("after"))
        assert everything(url) == Counter(["before", "parent", "after"])
        assert "Traceback" not in capfd.readouterr().err

    def test_a_child_forked_while_threads_use_the_store_is_not_stuck(
        self, url: str, store: PostgresStore
    ) -> None:
        put(store, fact("before"))
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                assert listed(store)[0] == "before"

        readers = [Thread(read) for _ in range(3)]
        for _ in range(10):
            assert in_child(lambda: listed(store)) == ["before"]
        done.set()
        for reader in readers:
            reader.get()

    def test_a_child_that_ends_like_a_program_says_nothing(
        self, store: PostgresStore, capfd: pytest.CaptureFixture[str]
    ) -> None:
        put(store, fact("before"))
        program = (
            "import os, sys\n"
            "from holdfast.storage.postgres import PostgresStore\n"
            "from holdfast.testing.scene import ANN, listed\n"
            "store = PostgresStore(sys.argv[1])\n"
            "listed(store)\n"
            "child = os.fork()\n"
            "assert listed(store) == ['before']\n"
            "if child:\n"
            "    assert os.waitpid(child, 0)[1] == 0\n"
            "    assert listed(store) == ['before']\n"
            "store.close()\n"
        )
        # A pool has threads, which forking may not like.
        strict = [
            "-W",
            "error",
            "-W",
            "ignore::DeprecationWarning",
        ]
        arguments = [sys.executable, *strict, "-c", program, store._primary.url]
        assert os.spawnv(os.P_WAIT, sys.executable, arguments) == 0
        assert capfd.readouterr().err == ""


# Replicas


@pytest.fixture(scope="module")
def standby(server: PostgresServer) -> Iterator[PostgresServer]:
    with server.replica() as following:
        yield following


@contextmanager
def paused(standby: PostgresServer) -> Iterator[None]:
    """A replica that receives but does not show what is new."""
    query(standby.url("postgres"), "SELECT pg_wal_replay_pause()")
    asked = "SELECT pg_get_wal_replay_pause_state() = 'paused'"
    wait_until(lambda: query(standby.url("postgres"), asked) == [(True,)])
    try:
        yield
    finally:
        query(standby.url("postgres"), "SELECT pg_wal_replay_resume()")


def place(store: PostgresStore) -> str:
    """Who answers a read."""
    return "replica" if store.read((), "SELECT pg_is_in_recovery()") == [(True,)] else "primary"


@pytest.fixture
def both(url: str, standby: PostgresServer) -> Iterator[PostgresStore]:
    """A store with a replica that has caught up."""
    name = url.rpartition("/")[2]
    there = f"SELECT 1 FROM pg_database WHERE datname = '{name}'"
    wait_until(lambda: query(standby.url("postgres"), there) == [(1,)])
    opened = PostgresStore(url, replica=standby.url(name))
    put(opened, fact("before"))
    wait_until(lambda: place(opened) == "replica")
    yield opened
    opened.close()


def test_a_standby_is_promoted_while_others_write_and_nothing_promised_is_lost(
    tmp_path: Path,
) -> None:
    with start_server(durable=True) as primary:
        primary.create_database("notes")
        PostgresStore(primary.url("notes")).close()
        with primary.replica() as standby:
            # A commit returns when the standby has it too; otherwise the last ones could be lost.
            query(primary.url("notes"), "ALTER SYSTEM SET synchronous_standby_names = '*'")
            query(primary.url("notes"), "SELECT pg_reload_conf()")
            synchronous = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
            wait_until(lambda: query(primary.url("notes"), synchronous) == [(1,)])
            url = (
                f"postgresql://admin@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/notes"
                "?target_session_attrs=read-write"
            )
            with Crowd(url, tmp_path) as crowd:
                crowd.start(worker.write, "writer0", "writer1", "writer2", "writer3")
                crowd.start(worker.read, "reader0")
                crowd.await_more(20)
                primary.kill()
                query(standby.url("notes"), "SELECT pg_promote()")
                crowd.await_more(20)
                crowd.end()


class TestReplicas:
    def test_reads_go_to_the_replica_and_writes_to_the_primary(self, both: PostgresStore) -> None:
        wait_until(lambda: place(both) == "replica")
        assert listed(both) == ["before"]
        put(both, fact("after"))
        assert listed(both) == ["before", "after"]
        wait_until(lambda: place(both) == "replica")
        assert (listed(both), list(both.check())) == (["before", "after"], [])

    def test_a_process_reads_what_it_wrote_however_far_behind_the_replica_is(
        self, both: PostgresStore, standby: PostgresServer, url: str
    ) -> None:
        other = PostgresStore(url)
        with paused(standby):
            put(other, fact("by another"))  # which one may see late
            # The replica has a second to answer, or the primary does.
            wait_until(lambda: (place(both), listed(both)) == ("replica", ["before"]))
            for n in range(3):
                put(both, fact(f"own {n}"))
                assert (place(both), listed(both)[-1]) == ("primary", f"own {n}")
            both.jobs.enqueue(BOB, "tidy", "k", watermark=1)
            job = claimed(both)
            assert job is not None and job.scope == BOB
            (one, *_) = both.list(Filter((ANN,)))
            both.touch([ANN], {one.seq: 5}, START)
            assert both.get([ANN], [one.seq])[0].access_count == 5
            threads = [Thread(lambda n=n: self._reads_its_own(both, n)) for n in range(4)]
            for thread in threads:
                thread.get()
        wait_until(lambda: place(both) == "replica")
        assert len(listed(both)) == 5 + 4 * 5
        other.close()

    def _reads_its_own(self, store: PostgresStore, name: int) -> None:
        for n in range(5):
            put(store, fact(f"thread {name} {n}"))
            assert f"thread {name} {n}" in listed(store)

    def test_reads_go_on_when_the_replica_is_killed_and_return_to_it(
        self, both: PostgresStore, standby: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(replica, "REST", 0.2)
        standby.kill()
        started = time.monotonic()
        for n in range(5):
            assert (place(both), len(listed(both))) == ("primary", n + 1)
            put(both, fact(f"meanwhile {n}"))
        assert time.monotonic() - started < PATIENCE
        standby.start()
        wait_until(lambda: place(both) == "replica")
        assert len(listed(both)) == 6

    def test_a_replica_that_does_not_answer_holds_up_nothing(self, url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
            port = silent.getsockname()[1]
            store = PostgresStore(url, replica=f"postgresql://admin@127.0.0.1:{port}/notes")
            started = time.monotonic()
            put(store, fact("tea"))
            assert (listed(store), place(store)) == (["tea"], "primary")
            assert time.monotonic() - started < PATIENCE
            store.close()

    def test_a_replica_that_is_gone_is_said_once_and_by_us(
        self, url: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = PostgresStore(url, replica=f"postgresql://admin:secret@127.0.0.1:{free_port()}/x")
        put(store, fact("tea"))
        for _ in range(3):
            assert listed(store) == ["tea"]
            store._replica._resting_until = 0.0  # type: ignore[union-attr]
        store.close()
        (said,) = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
        assert said.startswith("The replica postgresql://admin@127.0.0.1:")
        assert "the primary is read" in said

    def test_a_replica_that_has_no_tables_yet_is_not_asked(
        self, server: PostgresServer, standby: PostgresServer, url: str
    ) -> None:
        """Neither one that is behind by the making of a database, nor one with an empty
        database.
        """
        name = f"test_{uuid4().hex}"
        with ExitStack() as stack:
            server.create_database(name)
            stack.callback(server.drop_database, name)
            wait_until(lambda: standby_has(standby, name))
            with paused(standby):
                store = PostgresStore(server.url(name), replica=standby.url(name))
                assert (listed(store), place(store)) == ([], "primary")
                put(store, fact("tea"))
                assert listed(store) == ["tea"]
                store.close()

    @pytest.mark.parametrize(("cut", "tries"), [("after", 1), ("before", 2)])
    def test_a_write_whose_answer_is_lost_is_there_once_and_is_read(
        self,
        both: PostgresStore,
        standby: PostgresServer,
        proxy: Proxy,
        url: str,
        cut: str,
        tries: int,
    ) -> None:
        store = PostgresStore(proxy.url(url), replica=standby.url(url.rpartition("/")[2]))
        put(store, fact("also before"))
        made: list[int] = []
        with paused(standby):
            proxy.cut = cut
            write(store, lambda tx: (made.append(1), tx.add(turn("hello", "s", 0))))
            assert (proxy.cuts, len(made)) == (1, tries)
            assert listed(store) == ["before", "also before", "hello"]
        store.close()
        assert everything(url) == Counter(["before", "also before", "hello"])

    def test_writing_to_a_replica_says_that_it_is_one(
        self, both: PostgresStore, standby: PostgresServer, url: str
    ) -> None:

        store = PostgresStore(standby.url(url.rpartition("/")[2]))
        assert listed(store) == ["before"]
        with pytest.raises(StoreReadOnly, match="replica"):
            put(store, fact("after"))
        store.close()


def standby_has(standby: PostgresServer, name: str) -> bool:
    return bool(
        query(standby.url("postgres"), f"SELECT 1 FROM pg_database WHERE datname = '{name}'")
    )
