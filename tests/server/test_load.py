"""A server with more to do than it can do at once: whose turn it is, what is counted by all its
processes together, and how they end.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, suppress

import httpx
import psutil
import pytest
from starlette.responses import PlainTextResponse

from holdfast import embedded_server
from holdfast.client import Holdfast
from holdfast.server.api_keys import KeyFile
from holdfast.server.fair_queue import FairQueue
from holdfast.server.response_headers import Envelope
from holdfast.server.shared_ratelimit import SharedBuckets, open_limits
from holdfast.server.waiting_table import Rows, WaitingTable
from patience import PATIENCE, wait_until

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


# Turns


def test_owners_who_wait_take_turns():
    order = []

    async def ask(queue, owner):
        async with queue.slot(owner):
            order.append(owner)

    async def run():
        queue = FairQueue(slots=1)
        async with queue.slot("first"):
            every = ["ann", "ann", "ann", "bob", "cleo", "bob"]
            tasks = [asyncio.create_task(ask(queue, owner)) for owner in every]
            await asyncio.sleep(0)  # all of them wait now
            assert order == []
        await asyncio.gather(*tasks)
        async with asyncio.timeout(PATIENCE), queue.slot("last"):
            order.append("last")

    asyncio.run(run())
    assert order == ["ann", "bob", "cleo", "ann", "bob", "ann", "last"]


def test_whoever_leaves_the_queue_takes_no_slot_along():
    async def hold(queue, begun, go_on):
        async with queue.slot("ann"):
            begun.set()
            await go_on.wait()

    async def run():
        queue, begun, go_on = FairQueue(slots=1), asyncio.Event(), asyncio.Event()
        async with queue.slot("first"):
            waiting = asyncio.create_task(hold(queue, begun, go_on))
            given = asyncio.create_task(hold(queue, asyncio.Event(), go_on))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.sleep(0)
        # The slot has just been given to a task that is cancelled before it can use it.
        given.cancel()
        await asyncio.gather(waiting, given, return_exceptions=True)
        async with asyncio.timeout(PATIENCE), queue.slot("bob"):
            assert not begun.is_set()

    asyncio.run(run())


def test_at_the_end_whoever_has_not_begun_is_told_to_come_again():
    async def ask(queue):
        async with queue.slot("ann"):
            return 200

    async def run():
        queue = FairQueue(slots=1)
        async with queue.slot("first"):
            waiting = asyncio.create_task(ask(queue))
            await asyncio.sleep(0)
            queue.close()
        return await asyncio.gather(waiting, ask(queue), return_exceptions=True)

    for refusal in asyncio.run(run()):
        assert (refusal.status_code, refusal.headers) == (503, {"Retry-After": "1"})


def test_slots_that_an_owner_took_while_nobody_waited_count_as_turns():
    order = []

    async def ask(queue, owner, go_on):
        async with queue.slot(owner):
            await go_on.wait()
            order.append(owner)

    async def run():
        queue, go_on = FairQueue(slots=2), asyncio.Event()
        every = ["ann", "ann", "ann", "bob", "cleo", "ann", "bob", "bob"]
        tasks = [asyncio.create_task(ask(queue, owner, go_on)) for owner in every]
        await asyncio.sleep(0)  # Ann has both slots now, and all others wait
        go_on.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert order == ["ann", "ann", "bob", "cleo", "bob", "ann", "bob", "ann"]


@pytest.fixture
def rows():
    """The table that the processes of one address share."""
    with closing(Rows()) as rows:
        yield rows


@pytest.fixture
def table(rows):
    """Opens the table for one more process."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(WaitingTable(rows.file, rows.take())))


def test_an_owner_who_waits_in_two_processes_takes_every_second_turn_in_each(table):
    orders = {"left": [], "right": []}

    async def ask(queue, owner, order):
        async with queue.slot(owner):
            order.append(owner)

    async def run():
        queues = {name: FairQueue(slots=1, table=table()) for name in orders}
        async with queues["left"].slot("first"), queues["right"].slot("first"):
            tasks = [
                asyncio.create_task(ask(queues[name], owner, orders[name]))
                for name, others in (("left", ["bob", "cleo"]), ("right", ["dan"]))
                for owner in [*["ann"] * 4, *others * 4]
            ]
            await asyncio.sleep(0)  # all of them wait now
        await asyncio.gather(*tasks)
        return [queue._table.places("ann") for queue in queues.values()]

    assert asyncio.run(run()) == [0, 0]
    # The two take turns in running, so somebody still waits in both during the first four turns.
    assert orders["left"][:8] == ["bob", "cleo", "ann", "bob", "cleo", "bob", "cleo", "ann"]
    assert orders["right"][:4] == ["dan", "ann", "dan", "dan"]


def test_what_a_killed_process_wrote_into_the_table_is_cleared(rows):
    other = WaitingTable(rows.file, rows.take())
    killed = rows.take()
    with closing(WaitingTable(rows.file, killed)) as table:
        table.accept()
        table.enter("ann")
    other.enter("ann")
    for number in range(20):
        other.enter(number)
    assert other.places("ann") == 2 and other.is_crowded()
    rows.free(killed)
    assert other.places("ann") == 1 and not other.is_crowded()
    assert rows.take() == killed
    other.close()


def test_a_process_where_far_more_wait_sends_callers_to_another(rows, table):
    here, there = table(), table()
    for one in (here, there):
        one.accept()
    for number in range(20):
        here.enter(number)
    assert here.is_crowded() and not there.is_crowded()
    for number in range(16):
        there.enter(number)
    assert not here.is_crowded()
    for number in range(16):
        there.leave(number)
    assert here.is_crowded()
    # One that ends does not accept anybody.
    there.accept_no_more()
    assert not here.is_crowded()


def test_a_caller_of_a_crowded_process_is_told_to_connect_again():
    crowded = [False, True]
    app = Envelope(PlainTextResponse("here"), is_crowded=crowded.pop)
    listener = embedded_server.listen("127.0.0.1", 0, advice="")
    port, stop = listener.getsockname()[1], threading.Event()
    serving = threading.Thread(target=embedded_server.answer, args=(app, listener, stop))
    serving.start()
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        answers = [client.get(f"http://127.0.0.1:{port}") for _ in range(2)]
    stop.set()
    serving.join(timeout=PATIENCE)
    assert [answer.text for answer in answers] == ["here", "here"]
    assert [answer.headers.get("connection") for answer in answers] == ["close", None]


# Limits


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path):
    """Where a store is whose limits several processes share."""
    if request.param == "file":
        return tmp_path / "memory.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def processes(place):
    """Makes the limits as two processes see them, with a clock that stands still."""
    tables = [open_limits(place), open_limits(place)]

    def make(per_minute, now):
        return [SharedBuckets(table, per_minute, now=lambda: now[0]) for table in tables]

    yield make
    for table in tables:
        table.close()


def test_processes_share_a_limit(processes):
    now = [1000.0]
    one, other = processes(30, now)
    taken = [buckets.take("ann") for _ in range(20) for buckets in (one, other)]
    assert taken == [0] * 30 + [2] * 10
    assert one.take("bob") == 0
    now[0] += 2
    assert [other.take("ann"), one.take("ann")] == [0, 2]
    now[0] += 3600
    assert [one.take("ann") for _ in range(31)] == [0] * 30 + [2]


def test_a_high_limit_is_drawn_in_portions_and_holds_all_the_same(processes):
    now = [1000.0]
    one, other = processes(600, now)
    assert one.take("ann") == 0
    assert [other.take("ann") for _ in range(591)].count(0) == 590
    assert [asyncio.run(one.draw("ann")) for _ in range(10)] == [0] * 9 + [1]


def test_a_clock_that_is_slow_gives_nothing_away(processes):
    fast, slow = [1000.0], [990.0]
    one, _ = processes(30, fast)
    _, other = processes(30, slow)
    taken = [buckets.take("ann") for _ in range(40) for buckets in (one, other)]
    assert taken.count(0) == 30


def test_a_bucket_that_is_full_again_leaves_no_row(place, processes):
    now = [1000.0]
    one, _ = processes(30, now)
    one.take("192.0.2.7")
    now[0] += 61
    one.take("ann")
    with closing(open_limits(place)) as table:
        assert table.read("SELECT caller FROM limits") == [("ann",)]


# Processes


@pytest.fixture
def start(tmp_path):
    """Starts a server with keys; the process, and its address."""
    started = []

    def serve(*options, env=None):
        log = (tmp_path / "log").open("ab+")
        place = ["--store", str(tmp_path / "memory.db"), "--keys", str(tmp_path / "keys")]
        process = psutil.Popen(
            [sys.executable, "-m", "holdfast", "serve", "--port", "0", *place, *options],
            stderr=log,
            env={**os.environ, "HOLDFAST_EMBEDDING_MODELS": "none", **(env or {})},
        )
        started.append(process)
        shape = re.compile(r"at (http://127\.0\.0\.1:\d+)/")
        said = (tmp_path / "log").read_text
        wait_until(lambda: shape.search(said()) or process.poll() is not None, "the server")
        log.close()
        return process, shape.search(said())[1]

    yield serve
    for process in started:
        with suppress(psutil.NoSuchProcess):
            for one in (*process.children(recursive=True), process):
                one.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=PATIENCE)


@pytest.fixture
def ann(tmp_path):
    """The key of Ann."""
    return {"X-API-Key": KeyFile(tmp_path / "keys").add("ann", at=0)}


def remember(url, key, text):
    return httpx.post(
        f"{url}/api/memory/memories",
        json={"content": text},
        headers=key,
        trust_env=False,
        timeout=PATIENCE,
    )


def pids(process):
    return {child.pid for child in process.children()}


@posix
def test_a_request_that_has_begun_is_answered_before_the_server_ends(start, ann, tmp_path):
    process, url = start()
    port = int(url.rpartition(":")[2])
    body = json.dumps({"content": "Has a cat named Biscuit"}).encode()
    head = f"POST /api/memory/memories HTTP/1.1\r\nHost: x\r\nX-API-Key: {ann['X-API-Key']}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode() + body[:5])
        # Answered on another connection, so the first has been accepted and read.
        assert remember(url, ann, "Lives in Porto").status_code == 201
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: not accepts(port), "the end of the listener")
        connection.sendall(body[5:])
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 201"), answer
    assert process.wait(timeout=PATIENCE) == 0
    with Holdfast.open(tmp_path / "memory.db", scope="user:ann", background=False) as hf:
        stored = {one.content for one in hf.list()}
    assert stored == {"Lives in Porto", "Has a cat named Biscuit"}


@posix
def test_a_connection_accepted_before_the_server_ends_is_answered(monkeypatch):
    # The client is slow to send its request; a server that is told to end waits for it.
    monkeypatch.setattr(embedded_server, "FIRST_REQUEST", PATIENCE)
    listener = embedded_server.listen("127.0.0.1", 0, advice="")
    port, stop = listener.getsockname()[1], threading.Event()
    app = PlainTextResponse("here")
    serving = threading.Thread(target=embedded_server.answer, args=(app, listener, stop))
    serving.start()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        # Answered on a later connection, so the first has been accepted.
        assert httpx.get(f"http://127.0.0.1:{port}", trust_env=False).text == "here"
        stop.set()
        wait_until(lambda: not accepts(port), "the end of the listener")
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
    serving.join(timeout=PATIENCE)
    assert not serving.is_alive()


@posix
def test_a_request_sent_while_the_server_ends_is_answered_and_told_to_be_the_last(monkeypatch):
    for name in ("FIRST_REQUEST", "NEXT_REQUEST"):
        monkeypatch.setattr(embedded_server, name, PATIENCE)
    listener = embedded_server.listen("127.0.0.1", 0, advice="")
    port, stop = listener.getsockname()[1], threading.Event()
    app = PlainTextResponse("here")
    serving = threading.Thread(target=embedded_server.answer, args=(app, listener, stop))
    serving.start()
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        before = client.get(f"http://127.0.0.1:{port}")
        stop.set()
        wait_until(lambda: not accepts(port), "the end of the listener")
        # On the same connection: there is no other.
        after = client.get(f"http://127.0.0.1:{port}")
    serving.join(timeout=PATIENCE)
    assert not serving.is_alive()
    assert (before.text, before.headers.get("connection")) == ("here", None)
    assert (after.text, after.headers.get("connection")) == ("here", "close")


def accepts(port):
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@posix
def test_workers_share_one_limit(start, ann):
    _, url = start("--workers", "2", env={"HOLDFAST_RATE_LIMIT": "1"})
    # Every request on a connection of its own, so that both may get some.
    statuses = [remember(url, ann, f"Note {n}").status_code for n in range(8)]
    assert statuses.count(201) >= 1
    refused = [status for status in statuses if status != 201]
    # One a minute comes back; eight requests take far less on any machine that runs tests at all.
    assert set(refused) == {429} and len(refused) >= 5


@posix
def test_workers_are_renewed_one_by_one_and_replaced_when_killed(start, ann, tmp_path):
    process, url = start("--workers", "2")
    first = pids(process)
    assert len(first) == 2
    process.send_signal(signal.SIGHUP)
    stop, seen = threading.Event(), []

    def ask():
        while not stop.is_set():
            seen.append(remember(url, ann, f"Note {len(seen)}").status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        wait_until(lambda: not first & pids(process), "the renewal")
    finally:
        stop.set()
        asking.join()
    assert set(seen) == {201}
    second = pids(process)
    os.kill(min(second), signal.SIGKILL)
    wait_until(lambda: len(pids(process) - {min(second)}) == 2, "another worker")
    assert remember(url, ann, "Still here").status_code == 201
    third = [psutil.Process(pid) for pid in pids(process)]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0
    assert not any(one.is_running() for one in third)
    # Of all that were renewed, killed and ended only one ended badly.
    said = (tmp_path / "log").read_text()
    assert re.findall(r"ended with code (\S+)", said) == ["-9"] and "Fatal" not in said


@posix
def test_workers_end_when_their_parent_is_gone(start, ann):
    process, url = start("--workers", "2")
    workers = process.children()
    process.kill()
    process.wait(timeout=PATIENCE)
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE)
    assert len(workers) == 2 and not alive
    assert not accepts(int(url.rpartition(":")[2]))


@posix
def test_workers_that_cannot_start_are_told(tmp_path, cli):
    (tmp_path / "memory.db").write_text("no database at all, but long enough to be looked at")
    code, _, said = cli("serve", "--port", 0, "--workers", 2, "--store", tmp_path / "memory.db")
    assert code == 1 and "before it was ready" in said


@posix
def test_an_incognito_server_has_one_process(cli):
    code, _, said = cli("serve", "--port", 0, "--workers", 2, "--memory-mode", "incognito")
    assert code == 2 and "--workers" in said
