"""`holdfast serve` as people run it: a process that is started, asked, and told to stop."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from holdfast.client import Holdfast
from holdfast.extraction.progress import is_unread
from patience import PATIENCE

# The command, with time enough at its end to read what was said, however busy the machine is.
PATIENT = f"""from holdfast.server import session_watch
session_watch.SHUTDOWN_SECONDS = {PATIENCE}
from holdfast.cli import main
main()"""


@pytest.fixture
def start(tmp_path):
    """Starts the server on a free port; the process, and its address."""
    started = []

    def serve(*options, env=None):
        command = [
            sys.executable,
            "-c",
            PATIENT,
            "serve",
            "--store",
            str(tmp_path / "memory.db"),
        ]
        environ = {**os.environ, "HOLDFAST_EMBEDDING_MODELS": "none", **(env or {})}
        process = subprocess.Popen(
            [*command, *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )
        started.append(process)
        line = process.stderr.readline()
        url = re.search(r"http://\S+", line)
        return process, url[0] if url else line + process.communicate(timeout=PATIENCE)[1]

    yield serve
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def told(process, patience=PATIENCE):
    """The exit code, and all that was said since."""
    out, err = process.communicate(timeout=patience)
    return process.returncode, out + err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_ends_what_was_going_on(start, tmp_path, number):
    process, url = start("--port", 0, "--scope", "user:ann")
    turn = {"session": "s1", "role": "user", "text": "My name is Ann and I live in Lisbon."}
    assert (
        httpx.post(
            f"{url}api/memory/capture", json=turn, trust_env=False, timeout=PATIENCE
        ).status_code
        == 201
    )
    process.send_signal(number)
    code, said = told(process)
    assert code == 0 and said.endswith("Stopped.\n"), said
    assert "Lisbon" not in said
    with Holdfast.open(tmp_path / "memory.db", scope="user:ann", background=False) as hf:
        (session,) = hf.sessions.list()
        assert session.end_reason == "shutdown" and not is_unread(hf.store, session)


def say(url, text, role="user"):
    turn = {"session": "s1", "role": role, "text": text}
    assert (
        httpx.post(
            f"{url}api/memory/capture", json=turn, trust_env=False, timeout=PATIENCE
        ).status_code
        == 201
    )


def considered(path):
    """Waits until what was said was considered, which is done after the answer to the reply."""
    with Holdfast.open(path, scope="user:ann", background=False) as hf:
        while "consider" not in {event.verb for event in hf.admin.log()}:
            time.sleep(0.02)  # another process is at work
        return [one.content for one in hf.list(statuses=["held"])]


def state(path):
    with Holdfast.open(path, scope="user:ann", background=False) as hf:
        (session,) = hf.sessions.list()
        return session, hf.list(statuses=["held"])


HELD = "My name is Ann and I live in Lisbon."
# Whatever was said is held until the end of the session.
WAITING = {"HOLDFAST_WRITE_TIMING": "session_end"}


@pytest.fixture
def killed(start, tmp_path):
    """A server that was killed in the middle of a conversation, with something held for its end."""
    process, url = start("--port", 0, "--scope", "user:ann", env=WAITING)
    say(url, HELD)
    say(url, "I am sorry.", role="assistant")
    assert considered(tmp_path / "memory.db"), "something waits for the end of the session"
    process.kill()
    process.wait(timeout=PATIENCE)
    session, held = state(tmp_path / "memory.db")
    assert session.ended_at is None and held
    return tmp_path / "memory.db"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_next_server_ends_what_a_killed_one_left_open(start, killed):
    process, _ = start("--port", 0, "--scope", "user:ann", env=WAITING)
    process.send_signal(signal.SIGTERM)
    assert told(process)[0] == 0
    session, held = state(killed)
    assert (session.end_reason, held) == ("its server is gone", [])
    with Holdfast.open(killed, scope="user:ann", background=False) as hf:
        assert not is_unread(hf.store, session)
    with Holdfast.open(killed, scope="user:ann", background=False) as hf:
        assert any("Lisbon" in one.content for one in hf.list(kinds=["fact"])), (
            "what the session bore out is kept"
        )


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_so_does_maintenance(killed):
    with Holdfast.open(killed, scope="user:ann", background=False) as hf:
        hf.admin.maintain("consolidate")
    session, held = state(killed)
    assert (session.end_reason, held) == ("its server is gone", [])


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_server_leaves_alone_what_another_is_still_hearing(start, tmp_path):
    _, url = start("--port", 0, "--scope", "user:ann")
    say(url, HELD)
    other, _ = start("--port", 0, "--scope", "user:ann")
    other.send_signal(signal.SIGTERM)
    assert told(other)[0] == 0
    assert state(tmp_path / "memory.db")[0].ended_at is None


@pytest.fixture
def refused(cli, tmp_path, monkeypatch):
    """What a server says that does not begin."""
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")

    def serve(*options):
        code, _, said = cli("serve", "--store", tmp_path / "memory.db", *options)
        assert code == 2
        return said

    return serve


def test_a_port_that_is_taken_is_told_with_a_way_out(refused):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        said = refused("--port", other.getsockname()[1])
        assert "in use" in said and "--port" in said


def test_another_address_needs_keys(refused):
    said = refused("--host", "0.0.0.0", "--port", 0)
    assert "holdfast serve keys add" in said and "0.0.0.0" in said


def test_an_address_that_is_not_one_is_told(refused):
    assert "holdfast serve keys add" in refused("--host", "256.256.256.256", "--port", 0)


def test_with_a_key_it_listens_anywhere_and_asks_for_it(start, cli, tmp_path):
    keys = tmp_path / "keys"
    key = cli("serve", "keys", "add", "ann", "--keys", keys).out.strip()
    _, url = start("--host", "0.0.0.0", "--port", 0, "--keys", keys)
    assert (
        httpx.get(f"{url}api/memory/status", trust_env=False, timeout=PATIENCE).status_code == 401
    )
    status = httpx.get(
        f"{url}api/memory/status", headers={"X-API-Key": key}, trust_env=False, timeout=PATIENCE
    )
    assert status.json()["owner_id"] == "ann"


def test_it_limits_as_it_is_set(start):
    _, url = start("--port", 0, env={"HOLDFAST_RATE_LIMIT": "1"})
    codes = [
        httpx.get(f"{url}api/memory/status", trust_env=False, timeout=PATIENCE).status_code
        for _ in range(2)
    ]
    assert codes == [200, 429]


def test_keys_are_added_listed_and_revoked(cli, tmp_path):
    keys = tmp_path / "keys"
    made = cli("serve", "keys", "add", "ann", "--keys", keys)
    assert made.code == 0 and made.out.startswith("hf_") and "not shown again" in made.err
    id_ = made.out.split("_")[1]
    listed = cli("serve", "keys", "list", "--keys", keys).out
    assert id_ in listed and "ann" in listed and made.out.strip() not in listed
    assert cli("serve", "keys", "revoke", id_, "--keys", keys).code == 0
    assert "No keys" in cli("serve", "keys", "list", "--keys", keys).out
    assert cli("serve", "keys", "revoke", id_, "--keys", keys).code == 1


def test_an_owner_may_be_written_as_a_scope(cli, tmp_path):
    """As everywhere else; a key to the memory of a user named 'user:ann' would open an empty
    one.
    """
    keys = tmp_path / "keys"
    assert (
        "opens the memory of user:ann "
        in cli("serve", "keys", "add", "user:ann", "--keys", keys).err
    )
    assert "\tann\t" in cli("serve", "keys", "list", "--keys", keys).out
    refused = cli("serve", "keys", "add", "project:shop", "--keys", keys)
    assert (refused.code, "No key was made" in refused.err) == (2, True)
    assert len(cli("serve", "keys", "list", "--keys", keys).out.splitlines()) == 1


def test_without_the_extra_it_says_what_to_install():
    code = (
        "import sys; sys.modules['fastapi'] = None; from holdfast.cli.app import run; "
        "sys.exit(run(['serve']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "pip install 'holdfast-memory[server]'" in done.stderr


def test_keys_are_made_without_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['fastapi'] = sys.modules['uvicorn'] = sys.modules['starlette'] = "
        "None; "
        "from holdfast.cli.app import run; sys.exit(run(['serve', 'keys', 'add', 'ann', '--keys', "
        "sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "k")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
