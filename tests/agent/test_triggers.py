"""Triggers: real files, real requests, and a clock that the test moves."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue

import httpx
import pytest

from holdfast import config
from holdfast.agents import triggers
from holdfast.agents.role import load_role
from holdfast.agents.triggers import Firing, WebhookThread
from holdfast.errors import InvalidInput
from holdfast.types import from_datetime
from patience import PATIENCE
from servers import free_port

EVERY_MINUTE = {"type": "cron", "schedule": "* * * * *", "prompt": "Look around."}


class Bench:
    """Starts the triggers of a role and keeps what they fire, while it has room."""

    def __init__(self, folder, clock):
        self.folder, self.clock = folder, clock
        self.stop, self.fired, self.told = threading.Event(), Queue(), Queue()
        self.looked, self.offered = threading.Semaphore(0), threading.Event()
        self.room, self.threads = True, []

    def role(self, *wanted, **memory):
        spec = {"role": "You help.", "model": {"provider": "offline"}, "triggers": wanted}
        if memory:
            spec["memory"] = memory
        file = self.folder / "role.yaml"
        file.write_text(
            json.dumps(
                {
                    "apiVersion": "holdfast/v1",
                    "kind": "Agent",
                    "metadata": {"name": "ann"},
                    "spec": spec,
                }
            )
        )
        return load_role(file)

    def start(self, *wanted, environ=(), **memory):
        started = triggers.start(
            self.role(*wanted, **memory),
            self.fire,
            clock=self.time,
            stop=self.stop,
            environ=dict(environ),
            report=self.told.put,
        )
        self.threads += started
        return started

    def time(self):
        self.looked.release()
        return self.clock()

    def await_looks(self, count):
        """Waits until the clock was looked at so many times from now on."""
        while self.looked.acquire(blocking=False):
            pass
        for _ in range(count):
            assert self.looked.acquire(timeout=PATIENCE)

    def fire(self, firing):
        if self.room:
            self.fired.put(firing)
        self.offered.set()
        return self.room

    def next(self):
        return self.fired.get(timeout=PATIENCE)

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def bench(tmp_path, clock):
    bench = Bench(tmp_path, clock)
    yield bench
    bench.end()


# Cron


def test_cron_fires_when_its_time_has_come_and_not_before(bench, clock):
    [thread] = bench.start({"type": "cron", "schedule": "0 9 * * *", "prompt": "Good morning."})
    assert thread.about == "cron '0 9 * * *' (UTC), next at 2026-03-19T09:00:00+00:00"
    clock.forward(hours=20, minutes=59)
    bench.await_looks(3)
    assert bench.fired.empty()
    clock.forward(minutes=1)
    assert bench.next() == Firing("cron", "Good morning.", {})


def test_cron_goes_by_its_timezone_across_a_change_to_summer_time(bench, clock):
    nine = {
        "type": "cron",
        "schedule": "0 9 * * *",
        "prompt": "Guten Morgen.",
        "timezone": "Europe/Berlin",
    }
    clock.now = from_datetime(datetime(2026, 3, 28, 12, tzinfo=UTC))
    [thread] = bench.start(nine)
    # The day before it would have been 08:00.
    assert thread.about.endswith("2026-03-29T07:00:00+00:00")


def test_cron_fires_once_after_the_machine_has_slept(bench, clock):
    bench.start(EVERY_MINUTE)
    clock.forward(days=3)
    bench.next()
    bench.await_looks(4)
    assert bench.fired.empty()
    clock.forward(minutes=1)
    bench.next()


def test_a_clock_that_was_set_back_does_not_silence_cron(bench, clock):
    bench.start(EVERY_MINUTE)
    clock.forward(days=-30)
    bench.await_looks(3)
    assert bench.fired.empty()
    clock.forward(minutes=1)
    bench.next()


def test_cron_tells_when_there_is_no_room(bench, clock):
    bench.room = False
    bench.start(EVERY_MINUTE)
    clock.forward(minutes=1)
    assert bench.told.get(timeout=PATIENCE) == "cron: refused, the queue is full: Look around."


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"schedule": "99 * * * *"}, "not a cron schedule"),
        ({"schedule": "@daily"}, "five fields"),
        ({"schedule": "* * * * * *"}, "five fields"),
        ({"schedule": "0 0 31 2 *"}, "never comes"),
        ({"timezone": "Europe/Atlantis"}, "Europe/Atlantis"),
        ({"timezone": "../etc"}, "timezone"),
        ({"timezone": "America"}, "timezone"),
    ],
)
def test_a_schedule_that_cannot_be(bench, wrong, said):
    with pytest.raises(InvalidInput, match=said):
        bench.start({**EVERY_MINUTE, **wrong})


# Files


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def watching(**more):
    return {"type": "file_watch", "paths": ["notes"], "debounce_seconds": 0, **more}


def test_new_and_changed_files_fire_and_deleted_ones_do_not(bench, notes):
    (notes / "old.md").write_text("old")
    (notes / "doomed.md").write_text("doomed")
    bench.start(watching(prompt_template='Read {path}, answer as {"json": {}}.'))
    (notes / "new.md").write_text("new")
    assert bench.next() == Firing(
        "file_watch",
        f'Read {notes / "new.md"}, answer as {{"json": {{}}}}.',
        {"path": str(notes / "new.md")},
    )
    (notes / "doomed.md").unlink()
    (notes / "old.md").write_text("changed")
    assert bench.next().metadata == {"path": str(notes / "old.md")}


def test_only_files_with_the_extensions_fire(bench, notes):
    bench.start(watching(extensions=[".md", "TXT"]))
    for name in ["a.py", "b.md", "c.mdx", "d.txt", ".git", "e.md~"]:
        (notes / name).write_text("x")
    assert {bench.next().metadata["path"], bench.next().metadata["path"]} == {
        str(notes / "b.md"),
        str(notes / "d.txt"),
    }
    (notes / "f.md").write_text("x")
    assert bench.next().metadata["path"] == str(notes / "f.md")


def test_files_in_folders_that_come_later_fire(bench, notes, tmp_path):
    deep = tmp_path / "elsewhere" / "deep"
    deep.mkdir(parents=True)
    (deep / "a.md").write_text("x")
    bench.start(watching())
    deep.parent.rename(notes / "moved")
    assert bench.next().metadata["path"] == str(notes / "moved" / "deep" / "a.md")


def test_a_file_that_is_replaced_fires(bench, notes, tmp_path):
    (notes / "a.md").write_text("x")
    (tmp_path / "other.md").write_text("y")
    bench.start(watching())
    (tmp_path / "other.md").replace(notes / "a.md")
    assert bench.next().metadata["path"] == str(notes / "a.md")


def test_existing_files_fire_once_when_wanted(bench, notes):
    for name in ["b.md", "a.md", "c.txt"]:
        (notes / name).write_text("x")
    bench.start(watching(extensions=["md"], process_existing=True))
    assert [bench.next().metadata["path"] for _ in range(2)] == [
        str(notes / "a.md"),
        str(notes / "b.md"),
    ]
    (notes / "z.md").write_text("x")
    assert bench.next().metadata["path"] == str(notes / "z.md")


def test_many_files_wait_for_room_instead_of_being_dropped(bench, notes):
    bench.room = False
    for number in range(150):
        (notes / f"{number:03}.md").write_text("x")
    bench.start(watching(process_existing=True))
    (notes / "last.md").write_text("x")
    bench.room = True
    assert len({bench.next().metadata["path"] for _ in range(151)}) == 151
    assert bench.told.empty()


def test_several_changes_within_the_debounce_fire_once(bench, notes):
    bench.start(watching(debounce_seconds=1))
    for text in ["one", "two", "three"]:
        (notes / "a.md").write_text(text)
        (notes / "tick").write_text(text)
    assert {bench.next().metadata["path"] for _ in range(2)} == {
        str(notes / "a.md"),
        str(notes / "tick"),
    }
    (notes / "b.md").write_text("x")
    assert bench.next().metadata["path"] == str(notes / "b.md")


def test_changes_that_had_no_turn_are_told_at_the_end(bench, notes):
    bench.room = False
    bench.start(watching())
    (notes / "a.md").write_text("x")
    assert bench.offered.wait(PATIENCE)
    bench.end()
    assert (
        bench.told.get(timeout=PATIENCE)
        == "file_watch: stopped before 1 changed file had their turn: a.md"
    )


def test_the_agents_own_memory_does_not_set_it_in_motion(bench, notes):
    bench.start(watching(paths=["."]), store_path="./memory.db")
    for name in ["memory.db", "memory.db-wal", "note.md"]:
        (bench.folder / name).write_text("x")
    assert bench.next().metadata["path"] == str(bench.folder / "note.md")
    (bench.folder / "memory.db").write_text("y")
    (notes / "other.md").write_text("x")
    assert bench.next().metadata["path"] == str(notes / "other.md")


def test_a_store_that_the_role_does_not_name_does_not_set_it_in_motion_either(bench):
    own = config.agent_store("ann")
    own.parent.mkdir(parents=True)
    bench.start(watching(paths=[str(own.parent)]), max_sessions=3)
    own.write_text("x")
    (own.parent / "ann.db.md").write_text("x")
    assert bench.next().metadata["path"] == str(own.parent / "ann.db.md")


def test_the_store_of_an_agent_that_may_not_have_it_there_is_a_file_like_any_other(bench):
    file = bench.role(watching(paths=["."]), store_path="./memory.db").file
    said = json.loads(file.read_text())
    said["spec"]["security"] = {"tools": {"restrict_db_paths": True}}
    file.write_text(json.dumps(said))
    role = load_role(file)
    [thread] = triggers.prepare(
        role, bench.fire, clock=bench.time, stop=bench.stop, environ={}, report=bench.told.put
    )
    thread.release()


def test_a_folder_that_goes_away_while_it_is_looked_at_does_not_end_the_watch(
    bench, notes, tmp_path, monkeypatch
):
    (tmp_path / "new" / "gone").mkdir(parents=True)
    (tmp_path / "new" / "a.md").write_text("x")
    scandir = os.scandir

    def vanishing(path="."):
        if str(path).endswith("gone"):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return scandir(path)

    bench.start(watching())
    monkeypatch.setattr(os, "scandir", vanishing)
    (tmp_path / "new").rename(notes / "new")
    assert bench.next().metadata["path"] == str(notes / "new" / "a.md")
    assert bench.told.empty()


def test_a_file_that_may_not_be_looked_at_does_not_end_the_watch(bench, notes, monkeypatch):
    is_file = Path.is_file

    def refused(path):
        if path.name == "hidden.md":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refused)
    bench.start(watching())
    (notes / "hidden.md").write_text("x")
    (notes / "seen.md").write_text("x")
    assert bench.next().metadata["path"] == str(notes / "seen.md")
    assert bench.told.empty()


def test_a_watched_folder_that_is_not_there(bench, tmp_path):
    (tmp_path / "file.md").write_text("x")
    with pytest.raises(InvalidInput, match=f"{tmp_path / 'gone'} does not exist"):
        bench.start(watching(paths=["gone"]))
    with pytest.raises(InvalidInput, match="is a file"):
        bench.start(watching(paths=["file.md"]))


# Webhooks


def hook(**more):
    return {"type": "webhook", "port": 0, **more}


class Sender:
    def __init__(self, bench, **more):
        [self.thread] = bench.start(hook(**more), environ={"HOOK_SECRET": "geheim"})
        assert isinstance(self.thread, WebhookThread)
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.thread.port}", trust_env=False, timeout=PATIENCE
        )

    def __call__(self, body="Hello", *, method="POST", path="/webhook", **headers):
        data = body.encode() if isinstance(body, str) else body
        return self.http.request(method, path, content=data, headers=headers)


@pytest.fixture
def sender(bench):
    senders = []

    def make(**more):
        senders.append(Sender(bench, **more))
        return senders[-1]

    yield make
    for one in senders:
        one.http.close()


def test_a_request_is_a_prompt_from_outside(bench, sender):
    send = sender()
    answer = send("Grüße 👋")
    assert (answer.status_code, answer.json()) == (202, {"status": "accepted"})
    assert bench.next() == Firing("webhook", "Grüße 👋", {"path": "/webhook", "trust": "external"})
    assert send.thread.about == f"listening for POST at http://127.0.0.1:{send.thread.port}/webhook"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"path": "/"}, 404),
        ({"path": "/webhook/"}, 404),
        ({"path": "/webhook/x"}, 404),
        ({"method": "GET", "body": ""}, 405),
        ({"method": "PUT"}, 405),
        ({"body": ""}, 400),
        ({"body": " \n"}, 400),
        ({"body": b"\xff\xfe"}, 400),
        ({"body": b"a" * 1_000_001}, 413),
        ({"body": b"a" * 3_000_000}, 413),
        ({"Origin": "https://evil.example"}, 403),
        ({"body": b"a" * 1_000_000}, 202),
    ],
)
def test_only_what_fits_is_accepted(bench, sender, request_, status):
    answer = sender()(**request_)
    assert answer.status_code == status
    assert bench.fired.empty() == (status != 202)
    assert ("error" in answer.json()) == (status != 202)


def test_another_path_and_method(bench, sender):
    send = sender(path="/in/{id}", method="PUT")
    assert send(method="POST", path="/in/{id}").headers["Allow"] == "PUT"
    assert send(method="PUT", path="/in/7").status_code == 404
    assert send(method="PUT", path="/in/{id}").status_code == 202


def signature(body, secret="geheim"):
    return "sha256=" + hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()


def test_with_a_secret_only_signed_requests_are_accepted(bench, sender):
    send = sender(secret="${HOOK_SECRET}")
    wrong = [
        None,
        "",
        "sha256=",
        "sha256=é",
        signature("Bye"),
        signature("Hello", "${HOOK_SECRET}"),
        "sha256=0" * 64,
    ]
    for value in wrong:
        headers = {} if value is None else {"X-Hub-Signature-256": value.encode()}
        assert send(**headers).status_code == 403, value
    assert bench.fired.empty()
    assert (
        send(
            **{"X-Hub-Signature-256": signature("Hello"), "Origin": "https://ok.example"}
        ).status_code
        == 202
    )


def test_too_many_requests_have_to_wait(bench, sender, clock):
    send = sender(rate_limit_rpm=2)
    assert send(b"").status_code == 400  # which does not count
    assert send().status_code == 202
    clock.forward(seconds=20.5)
    assert [send().status_code, send().status_code] == [202, 429]
    assert send().headers["Retry-After"] == "40"
    clock.forward(seconds=39.5)
    assert [send().status_code, send().status_code] == [202, 429]
    clock.forward(days=-1)  # a clock set back does not lock anybody out
    assert send().status_code == 202


def test_without_room_a_request_is_refused_and_told(bench, sender):
    send = sender()
    bench.room = False
    answer = send("Do it")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert bench.told.get(timeout=PATIENCE) == "webhook: refused, the queue is full: Do it"


def test_a_secret_that_is_not_set(bench):
    with pytest.raises(InvalidInput, match="variable NOT_SET with the secret of webhook"):
        bench.start(hook(secret="${NOT_SET}"))
    with pytest.raises(InvalidInput, match="empty"):
        bench.start(hook(secret=""))


def test_a_port_that_is_taken(bench):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"Cannot listen on port {port}"):
            bench.start(hook(port=port))


def test_the_port_is_free_again_after_the_end(bench, sender):
    send = sender()
    assert send().status_code == 202
    bench.end()
    with pytest.raises(httpx.ConnectError):
        httpx.post(
            f"http://127.0.0.1:{send.thread.port}/webhook",
            content="x",
            trust_env=False,
            timeout=PATIENCE,
        )


# All together


def test_either_all_triggers_start_or_none(bench, notes):
    port = free_port()
    with pytest.raises(InvalidInput, match="Atlantis"):
        bench.start(hook(port=port), watching(), {**EVERY_MINUTE, "timezone": "Atlantis"})
    bench.start(hook(port=port))


def test_a_trigger_that_breaks_down_says_so(bench, notes, monkeypatch):
    def broken(firing):
        raise RuntimeError("no idea")

    monkeypatch.setattr(bench, "fire", broken)
    bench.start(watching())
    (notes / "a.md").write_text("x")
    assert bench.told.get(timeout=PATIENCE).endswith("stopped by an error (RuntimeError: no idea)")
