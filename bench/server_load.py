"""A server under load: many clients of many owners at once, a restart in the middle, and several
server processes behind one address.

    python bench/server_load.py [--seconds 600] [--clients 200] [--owners 100] [--workers 2]
                                [--processes 1] [--renew]

`--processes` says how many server processes share the address in the first three parts; in the last
there are `--workers`. With `--renew`, SIGHUP replaces them in the middle of the first two.

It starts a Postgres server of its own and `holdfast serve` on it, and everything stays on loopback.
Every client sends its next request as soon as it has the answer to the last one: turns of a
conversation, context, recall, lists, new memories, corrections, forgetting, the end of a session.
Every answer is checked, also that it contains nothing of another owner. The load generator is a
process of its own (`load_clients.py`).

The bars: no error; the 99th percentile is at most five times the median; memory stays flat; every
owner is served alike, also when one of them has half of all clients; a restart under load loses no
acknowledged write, with a new process on the same port and with SIGHUP; a limit per minute holds
across processes, and a session that two processes are told to end is read once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil

from common import finish, median, quantile
from holdfast import Holdfast, Settings
from holdfast.server.api_keys import KeyFile
from postgres import server as postgres_server

# The 99th percentile against the median.
SPREAD = 5.0
# The memory of the last quarter against that of the quarter after the first: caches and pools fill
# in the first.
FLAT = 1.1
# The requests of the busiest owner against those of the least served one.
FAIR = 2.0
# Fewer answers than this have no 99th percentile to speak of.
ENOUGH = 100
# Requests a minute, far above what these clients can send.
NO_LIMIT = 1_000_000
NO_MODELS = Settings(embedding_models="none")
# Answers before a restart, and after it.
ANSWERS = 200
# Seconds that both may take.
MOST_SECONDS = 600
ANSWERED = re.compile(rb" 20[01] [\d.]+ ms ")
# Seconds that anything may take on a crowded machine.
PATIENCE = 120.0


class Place(NamedTuple):
    """Where a server runs, and the keys of its owners."""

    store: str
    keys: Path
    by_owner: dict[str, str]
    log: Path


class Server:
    """`holdfast serve` as people start it, and its workers if it has any."""

    def __init__(
        self, place: Place, *, port: int = 0, workers: int = 1, limit: int = NO_LIMIT
    ) -> None:
        command = [sys.executable, "-m", "holdfast", "serve", "--port", str(port)]
        if workers > 1:
            command += ["--workers", str(workers)]
        command += ["--store", place.store, "--keys", str(place.keys)]
        with place.log.open("ab") as log:
            start = log.tell()
            self.process = psutil.Popen(
                command, stderr=log, env={**os.environ, "HOLDFAST_RATE_LIMIT": str(limit)}
            )
        self._log = place.log
        self._start = start
        address = self._wait_for(re.compile(rb"at http://127\.0\.0\.1:(\d+)/"))
        self.port = int(address[1])
        self.url = f"http://127.0.0.1:{self.port}/api/memory"

    def _wait_for(self, shape: re.Pattern[bytes]) -> re.Match[bytes]:
        until = time.monotonic() + PATIENCE
        while True:
            said = self._log.read_bytes()[self._start :]
            if found := shape.search(said):
                return found
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start:\n{said.decode()[-4000:]}")
            time.sleep(0.05)

    def processes(self) -> list[psutil.Process]:
        """The server and its workers."""
        with suppress(psutil.NoSuchProcess):
            return [self.process, *self.process.children(recursive=True)]
        return []

    def megabytes(self) -> float:
        """What all processes of the server hold in memory."""
        held = 0
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                held += process.memory_info().rss
        return held / 1e6

    def cpu_seconds(self) -> float:
        """Processor time of the server so far."""
        spent = 0.0
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                # With those of children that have ended: workers that were renewed.
                spent += sum(process.cpu_times()[:4])
        return spent

    def renew(self) -> None:
        """Have its workers replaced one by one."""
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> int:
        """Ask it to end, and wait for that; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return int(self.process.wait(timeout=PATIENCE))


class Run(NamedTuple):
    """What the clients saw in one run, and what the machine did meanwhile."""

    seen: dict[str, Any]
    memory: list[float]
    server_cpu: float
    busy: float


def load(
    server: Server,
    place: Place,
    *,
    seconds: float,
    clients: int,
    serial: int,
    owners: Sequence[tuple[str, str]] = (),
    during: Callable[[], None] | None = None,
    halfway: Callable[[], None] | None = None,
) -> Run:
    """Runs the clients in a process of their own for so long, with something to do halfway; or,
    with something to do in between, until they had enough answers before and after that.
    """
    stop = place.keys.with_name(f"stop-{serial}")
    asked = {
        "port": server.port,
        "keys": list(owners or place.by_owner.items()),
        "clients": clients,
        "seconds": seconds,
        "serial": serial,
        "restarts": (during or halfway) is not None,
        "stop": str(stop),
    }
    generator = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("load_clients.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert generator.stdin is not None
    generator.stdin.write(json.dumps(asked))
    generator.stdin.close()
    answers: list[str] = []
    reader = threading.Thread(target=lambda: answers.append(generator.stdout.read()))
    reader.start()
    before, everything = server.cpu_seconds(), psutil.cpu_times()
    memory: list[float] = []
    if during is not None:
        answers_until(place, ANSWERS, generator)
        during()
        answers_until(place, ANSWERS, generator)
        stop.touch()
    begun = time.monotonic()
    while generator.poll() is None:
        memory.append(server.megabytes())
        time.sleep(0.5)
        if halfway is not None and time.monotonic() > begun + seconds / 2:
            halfway()
            halfway = None
    reader.join()
    if generator.returncode:
        raise RuntimeError("the load generator failed")
    now = psutil.cpu_times()
    idle = (now.idle - everything.idle) / max(1e-9, sum(now) - sum(everything))
    return Run(
        json.loads(answers[0]),
        memory,
        server.cpu_seconds() - before if during is None else 0.0,
        1.0 - idle,
    )


def answers_until(place: Place, count: int, generator: subprocess.Popen[str]) -> None:
    """Waits until the servers have given so many more answers that were no refusals."""
    start = place.log.stat().st_size
    while generator.poll() is None:
        with place.log.open("rb") as log:
            log.seek(start)
            if len(ANSWERED.findall(log.read())) >= count:
                return
        time.sleep(0.1)


def figures(run: Run, seconds: float) -> dict[str, Any]:
    """Requests, latencies by route, memory and fairness of one run."""
    seen = run.seen
    routes = {}
    every: list[float] = []
    for route, times in sorted(seen["times"].items()):
        every += times
        routes[route] = _latency(times)
    owners = sorted(seen["by_owner"].values())
    report = {
        "requests": len(every),
        "requests_per_second": round(len(every) / seconds, 1),
        "errors": len(seen["errors"]),
        "first_errors": seen["errors"][:5],
        "unanswered": seen["unanswered"],
        "acknowledged_writes": sum(map(len, seen["written"].values())),
        "all": _latency(every),
        "routes": routes,
        "requests_per_owner": {"least": owners[0], "median": median(owners), "most": owners[-1]},
        "machine_busy": round(run.busy, 2),
        "generator_cpu_seconds": round(seen["cpu_seconds"], 1),
        "server_cpu_seconds": round(run.server_cpu, 1),
    }
    if run.memory:
        report["megabytes"] = _over_time(run.memory)
    return report


def _latency(times: list[float]) -> dict[str, float]:
    middle, late = median(times), quantile(times, 0.99)
    return {
        "count": len(times),
        "p50_ms": round(middle * 1e3, 1),
        "p99_ms": round(late * 1e3, 1),
        "p99_times_p50": round(late / middle, 2),
    }


def _over_time(memory: list[float]) -> list[float]:
    """The median of each tenth of a run."""
    tenth = max(1, len(memory) // 10)
    return [
        round(median(memory[start : start + tenth]), 1)
        for start in range(0, len(memory) - tenth + 1, tenth)
    ]


def growth(memory: list[float]) -> float:
    """The memory of the last quarter of a run as a multiple of that of its second quarter."""
    quarter = max(1, len(memory) // 4)
    return median(memory[-quarter:]) / median(memory[quarter : 2 * quarter])


# How the journal names what was learned from conversations.
LEARNING = ("learn", "consider")


def lost_writes(place: Place, seen: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Acknowledged writes that are not in the store as they were acknowledged; and those that are,
    but that something learned from a conversation has replaced meanwhile, as the journal says.
    """
    lost, replaced = [], []
    with Holdfast.open(
        place.store,
        scope="user:bench",
        settings=NO_MODELS,
        background=False,
    ) as hf:
        for owner, written in seen["written"].items():
            view = hf.scoped(f"user:{owner}")
            ids = list(written)
            for start in range(0, len(ids), 500):
                some = ids[start : start + 500]
                stored = {one.id: one for one in view.store.get(view.scopes, some)}
                for id_ in some:
                    one = stored.get(id_)
                    found = None if one is None else [one.status, one.content]
                    if found == written[id_]:
                        continue
                    events = view.store.events(view.scopes, target=id_, order="oldest")
                    told = [(event.actor, event.verb, event.after) for event in events]
                    what = f"{owner} {id_}: {written[id_]}, found {found}; {told}"
                    learned = found == ["superseded", written[id_][1]] and any(
                        event.verb in LEARNING and (event.after or {}).get("status") == found[0]
                        for event in events
                    )
                    (replaced if learned else lost).append(what)
    return lost, replaced


@contextmanager
def place(owners: int, log: Path | None) -> Iterator[Place]:
    """A database, a key for each owner, and where the servers log."""
    with postgres_server(None) as store, tempfile.TemporaryDirectory() as folder:
        file = KeyFile(Path(folder) / "keys.jsonl")
        by_owner = {f"owner{n}": file.add(f"owner{n}", at=0) for n in range(owners)}
        yield Place(store, file.path, by_owner, log or Path(folder) / "log")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--greedy-seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--owners", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--only", choices=tuple(PHASES))
    parser.add_argument("--log", type=Path, help="Keep the log of the servers here.")
    options = parser.parse_args()
    report: dict[str, object] = {
        "clients": options.clients,
        "owners": options.owners,
        "processes": options.processes,
    }
    with place(options.owners, options.log) as there:
        for name, phase in PHASES.items():
            if options.only in (None, name):
                phase(there, options, report)
                print(json.dumps(report, indent=2), file=sys.stderr, flush=True)
    finish(report)


def steady(there: Place, options: argparse.Namespace, report: dict[str, object]) -> None:
    """All clients, for as long as was asked."""
    server = Server(there, workers=options.processes)
    # Models are loaded and caches filled before anything is measured.
    load(server, there, seconds=10, clients=options.clients, serial=0)
    run = load(
        server,
        there,
        seconds=options.seconds,
        clients=options.clients,
        serial=1,
        halfway=server.renew if options.renew else None,
    )
    found = figures(run, options.seconds)
    code = server.stop()
    lost, replaced = lost_writes(there, run.seen)
    report["steady"] = found | {
        "lost_writes": len(lost),
        "first_lost": lost[:5],
        "replaced_by_learning": len(replaced),
        "first_replaced": replaced[:5],
        "exit_code": code,
    }
    owners = found["requests_per_owner"]
    slowest = max(
        one["p99_times_p50"] for one in found["routes"].values() if one["count"] >= ENOUGH
    )
    grown = growth(run.memory)
    report |= {
        "worst_p99_times_p50": slowest,
        "memory_growth": round(grown, 3),
        "met_no_error": not found["errors"],
        "met_spread": found["all"]["p99_times_p50"] <= SPREAD and slowest <= SPREAD,
        "met_flat": grown <= FLAT,
        "met_fair": owners["most"] <= FAIR * owners["least"],
        "met_no_lost_write": not lost and code == 0,
    }


def greedy(there: Place, options: argparse.Namespace, report: dict[str, object]) -> None:
    """One owner with as many clients as all others together."""
    server = Server(there, workers=options.processes)
    first, *others = there.by_owner.items()
    run = load(
        server,
        there,
        seconds=options.greedy_seconds,
        clients=2 * len(others),
        serial=4,
        owners=[one for other in others for one in (first, other)],
        halfway=server.renew if options.renew else None,
    )
    code = server.stop()
    lost, _ = lost_writes(there, run.seen)
    counts = run.seen["by_owner"]
    each = sorted(counts.get(name, 0) for name, _ in others)
    usual = median(each)
    report["greedy"] = {
        "clients_of_one": len(others),
        "requests_of_one": counts[first[0]],
        "requests_of_another": {"least": each[0], "median": usual, "most": each[-1]},
        "errors": len(run.seen["errors"]),
        "unanswered": run.seen["unanswered"],
        "lost_writes": len(lost),
        "exit_code": code,
    }
    report["met_turns"] = counts[first[0]] <= FAIR * usual and not run.seen["errors"]


def restart(there: Place, options: argparse.Namespace, report: dict[str, object]) -> None:
    """A server that is ended under load; another one takes its port."""
    server = Server(there, workers=options.processes)
    codes: list[int] = []
    after: list[Server] = []

    def change() -> None:
        codes.append(server.stop())
        after.append(Server(there, port=server.port, workers=options.processes))

    run = load(
        server,
        there,
        seconds=MOST_SECONDS,
        clients=options.clients,
        serial=2,
        during=change,
    )
    codes.append(after[0].stop())
    lost, _ = lost_writes(there, run.seen)
    report["restart"] = _restarted(run, lost) | {"exit_codes": codes}
    report["met_restart"] = (
        len(run.seen["times"]) > 0 and not lost and not run.seen["errors"] and not any(codes)
    )


def several(there: Place, options: argparse.Namespace, report: dict[str, object]) -> None:
    """Several processes behind one address: renewed under load, with one limit and shared jobs."""
    server = Server(there, workers=options.workers)
    before = {process.pid for process in server.processes()[1:]}

    run = load(
        server,
        there,
        seconds=MOST_SECONDS,
        clients=options.clients,
        serial=3,
        during=server.renew,
    )
    until = time.monotonic() + PATIENCE
    while before & {process.pid for process in server.processes()[1:]}:
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    stayed = before & {process.pid for process in server.processes()[1:]}
    ended = end_twice(server, there, options.owners)
    code = server.stop()
    lost, _ = lost_writes(there, run.seen)
    limit = limited(there, options.workers)
    report["several"] = _restarted(run, lost) | {
        "workers": options.workers,
        "not_renewed": len(stayed),
        "sessions_ended_twice": ended,
        "limit": limit,
        "exit_code": code,
    }
    report |= {
        "met_renewal": not lost and not run.seen["errors"] and not stayed and code == 0,
        "met_jobs_once": ended["ended"] == ended["sessions"] == ended["summaries"],
        "met_one_limit": limit["answered"] <= limit["allowed"] and limit["others_refused"] == 0,
    }


def _restarted(run: Run, lost: list[str]) -> dict[str, Any]:
    seen = run.seen
    return {
        "requests": sum(map(len, seen["times"].values())),
        "unanswered": seen["unanswered"],
        "errors": len(seen["errors"]),
        "first_errors": seen["errors"][:5],
        "acknowledged_writes": sum(map(len, seen["written"].values())),
        "lost_writes": len(lost),
        "first_lost": lost[:5],
        "machine_busy": round(run.busy, 2),
    }


def end_twice(server: Server, there: Place, owners: int) -> dict[str, int]:
    """Ends a session of each owner by two requests at once, on connections of their own; how often
    it was ended, and how many summaries there are.
    """
    keys = list(there.by_owner.items())[: min(owners, 20)]
    said = (
        ("user", "My name is Ann and I moved to Lisbon in March."),
        ("assistant", "Welcome to Lisbon, Ann!"),
        ("user", "Thanks. I start at the city library on Monday."),
        ("assistant", "Good luck with the new job."),
        ("user", "My sister Priya visits us in May, and she is allergic to peanuts."),
        ("assistant", "I will keep the peanuts in mind."),
    )

    def ask(key: str, path: str, body: object = None) -> Any:
        answer = httpx.post(
            server.url + path,
            json=body,
            headers={"X-API-Key": key},
            timeout=PATIENCE,
            trust_env=False,
        )
        return answer.raise_for_status().json()

    def talk(key: str) -> None:
        for role, text in said:
            ask(key, "/capture", {"session": "twice", "role": role, "text": text})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(talk, [key for _, key in keys]))
        ended = list(
            pool.map(lambda key: ask(key, "/sessions/twice/end"), [k for _, k in keys * 2])
        )
    with Holdfast.open(there.store, scope="user:bench", settings=NO_MODELS, background=False) as hf:
        summaries = sum(
            one.metadata.get("session") == "twice"
            for owner, _ in keys
            for one in hf.scoped(f"user:{owner}").list(kinds=["episode"])
        )
    return {
        "sessions": len(keys),
        "ended": sum(one["ended"] for one in ended),
        "summaries": summaries,
    }


def limited(there: Place, workers: int) -> dict[str, int]:
    """One owner asks far more often than a server of several processes allows."""
    per_minute = 30
    server = Server(there, workers=workers, limit=per_minute)
    keys = list(there.by_owner.values())
    start = time.monotonic()

    def ask(key: str) -> int:
        # Each request on a connection of its own, so that all processes get some.
        headers = {"X-API-Key": key}
        return httpx.get(
            f"{server.url}/memories?limit=1", headers=headers, timeout=PATIENCE, trust_env=False
        ).status_code

    with ThreadPoolExecutor(16) as pool:
        greedy = list(pool.map(ask, [keys[0]] * 4 * per_minute))
        # What flows back into the bucket meanwhile may be used as well.
        allowed = per_minute + int((time.monotonic() - start) * per_minute / 60)
        others = list(pool.map(ask, keys[1:]))
    server.stop()
    return {
        "per_minute": per_minute,
        "asked": len(greedy),
        "answered": greedy.count(200),
        "refused": greedy.count(429),
        "allowed": allowed,
        "others_asked": len(others),
        "others_refused": len(others) - others.count(200),
    }


PHASES: dict[str, Callable[[Place, argparse.Namespace, dict[str, object]], None]] = {
    "steady": steady,
    "greedy": greedy,
    "restart": restart,
    "several": several,
}

if __name__ == "__main__":
    main()
