"""Modes and owners (seed 004): what is kept how long, whose it is, and that an incognito session
leaves no trace.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import Holdfast, InvalidInput, Settings
from holdfast.config import load
from holdfast.errors import HoldfastError, OwnerMissing
from holdfast.retention_mode import MODES, effective, mode_of
from holdfast.scopes import hash_session_id, iso_now, owner_scope, resolve_owner_id
from holdfast.storage import InMemoryStore, SQLiteStore
from holdfast.types import Scope
from patience import PATIENCE

SECRET = "heliotrope"
SAID = (
    f"Please remember that I like the {SECRET}\nMy flower is the {SECRET}\nWhat is my "
    "flower?\n/memory\n/end\n"
)

# Modes


@pytest.mark.parametrize(
    ("configured", "requested", "mode"),
    [
        ("synced", None, "synced"),
        ("synced", "synced", "synced"),
        ("synced", "local", "local"),
        ("synced", "incognito", "incognito"),
        ("local", None, "local"),
        ("local", "synced", "local"),
        ("local", "local", "local"),
        ("local", "guest", "incognito"),
        ("incognito", None, "incognito"),
        ("incognito", "synced", "incognito"),
        ("guest", "local", "incognito"),
        ("guest", "GUEST", "incognito"),
    ],
)
def test_a_request_may_opt_down_but_never_up(configured, requested, mode):
    assert effective(configured, requested) == mode


def test_guest_is_another_word_for_incognito_everywhere_a_mode_is_read(
    cli, write_role, monkeypatch
):
    assert mode_of("guest") == "incognito"
    assert set(MODES) == {mode_of(mode) for mode in MODES}
    monkeypatch.setenv("HOLDFAST_MEMORY_MODE", "guest")
    assert Holdfast.open(scope="user:ann", settings=load()).mode == "incognito"
    assert Holdfast.open(scope="user:ann", settings=Settings(), mode="guest").mode == "incognito"
    assert cli("run", write_role(), "-p", "hello", "--memory-mode", "guest").code == 0


def test_another_word_is_an_error_that_names_those_there_are(cli, write_role, monkeypatch):
    with pytest.raises(InvalidInput, match="incognito, local, synced, guest"):
        mode_of("private")
    done = cli("run", write_role(), "-p", "hello", "--memory-mode", "private")
    assert (done.code, "guest" in done.err) == (2, True)
    monkeypatch.setenv("HOLDFAST_MEMORY_MODE", "private")
    with pytest.raises(InvalidInput, match="memory_mode"):
        load()


def test_who_starts_a_program_is_told_when_more_is_asked_for_than_is_set(
    cli, write_role, monkeypatch, tmp_path
):
    with pytest.raises(InvalidInput, match="memory_mode"):
        Holdfast.open(tmp_path / "memory.db", scope="user:ann", settings=Settings(), mode="synced")
    monkeypatch.setenv("HOLDFAST_MEMORY_MODE", "guest")
    assert cli("run", write_role(), "-p", "hello", "--memory-mode", "local").code == 2


def test_oc_12_a_guest_reads_nothing_of_a_seeded_store_and_leaves_nothing(tmp_path):
    place = tmp_path / "memory.db"
    with Holdfast.open(place, scope="user:ann", settings=Settings(embedding_models="none")) as hf:
        hf.remember("Prefers green tea")
        hf.sessions.set_profile(proactive_recall=True)
    before = place.read_bytes()
    with Holdfast.open(place, scope="user:ann", settings=Settings(), mode="guest") as guest:
        assert guest.recall("which tea?") == guest.list() == []
        guest.remember("Likes tea with milk")
        found = guest.sessions.working_memory("which tea?")
        assert (found.summary, found.entries, found.rules) == (
            "Guest session without long-term memory.",
            (),
            (),
        )
        assert list(guest.tiers) == []
    assert place.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.db"]


def test_an_incognito_memory_takes_only_a_store_whose_own_class_says_that_it_may(tmp_path, clock):
    class Quiet(InMemoryStore):
        """Inherits the promise, but does not make it."""

    scope, guest = (Scope("user", "ann"),), Settings(memory_mode="incognito")
    stores = [SQLiteStore(tmp_path / "memory.db"), SQLiteStore(":memory:"), Quiet()]
    for store in stores:
        with pytest.raises(InvalidInput, match="supports_incognito"):
            Holdfast(store, scope, settings=guest, clock=clock)
        store.close()
    Holdfast(InMemoryStore(), scope, settings=guest, clock=clock).close()


def test_an_incognito_memory_cannot_be_synced(tmp_path):
    with (
        Holdfast.open(scope="user:ann", settings=Settings(), mode="incognito") as hf,
        pytest.raises(InvalidInput, match="incognito"),
    ):
        hf.admin.sync(tmp_path / "other.db")


# Owners


def test_oc_29_neither_a_user_nor_a_session_is_an_error():
    for nobody in ((None, None), ("", " "), (None, "")):
        with pytest.raises(ValueError, match="user_id or a session id"):
            resolve_owner_id(*nobody)
    assert issubclass(OwnerMissing, HoldfastError)


def test_oc_29_the_user_owns_it_and_without_one_the_session():
    assert resolve_owner_id("alice", "thread-1") == "alice"
    assert owner_scope(session_id="thread-1") == Scope("user", "thread-1")


def test_with_a_user_id_memory_stays_the_same_when_sessions_change_and_apart_from_others(
    cli, write_role
):
    role = write_role()
    cli("run", role, "-p", f"remember that my flower is the {SECRET}", "--user-id", "alice")
    assert SECRET in cli("run", role, "-p", "what is my flower?", "--user-id", "alice").out
    assert SECRET not in cli("run", role, "-p", "what is my flower?", "--user-id", "bob").out
    assert SECRET not in cli("run", role, "-p", "what is my flower?").out
    assert cli("run", role, "-p", "hello", "--user-id", " ").code == 2


def test_sessions_are_hashed_and_times_end_with_z():
    assert re.fullmatch("[0-9a-f]{64}", hash_session_id("thread-1"))
    assert hash_session_id("thread-1") != hash_session_id("thread-2")
    assert iso_now(lambda: 1_700_000_000_000_000) == "2023-11-14T22:13:20Z"


# Nothing on disk

WATCHED = """
import json, os, sys

written = []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
CHANGING = (
    "os.mkdir", "os.rename", "os.link", "os.symlink", "os.truncate", "os.remove", "shutil.copyfile"
)

def watch(event, args):
    if event == "open" and isinstance(args[0], (str, bytes, os.PathLike)):
        path, mode, flags = args
        if (mode and set(mode) & set("wax+")) or (flags or 0) & WRITING:
            written.append([event, os.fsdecode(path)])
    elif event in CHANGING or event == "sqlite3.connect":
        written.append([event, str(args[0])])

sys.addaudithook(watch)

def kept_open():
    '''Files that this process, its native parts too, holds open for writing.'''
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
            lines = open(f"/proc/self/fdinfo/{number}")
            flags = next(line for line in lines if line.startswith("flags:"))
        except (OSError, StopIteration):
            continue
        if path.startswith("/") and int(flags.split()[1], 8) & (os.O_WRONLY | os.O_RDWR):
            yield ["held", path]

def told():
    written.extend(kept_open())
    kept = [one for one in written if not one[1].startswith(("/dev/", "/proc/"))]
    print("WRITTEN", json.dumps(kept))
"""
COMMAND = (
    WATCHED
    + """
import io
from holdfast.cli.app import run
sys.stdin = io.StringIO(os.environ["SAID"])
assert run(sys.argv[1:]) == 0
told()
"""
)
LIBRARY = (
    WATCHED
    + """
from holdfast import Holdfast
with Holdfast.open(sys.argv[1], scope="user:ann", mode="guest") as hf:
    for number in range(200):
        hf.capture("s1", "user", f"The heliotrope number {number} is blue, and I work at Acme")
    hf.sessions.append("s1", [{"say": "heliotrope"}])
    flower = hf.remember("My favourite flower is the heliotrope of @ann")
    hf.correct(flower.id, "My favourite flower is the blue heliotrope")
    assert hf.recall("flower") and hf.context("flower").turn
    hf.sessions.end("s1")
    hf.sessions.learn("s1")
    hf.admin.decay()
    hf.undo()
    hf.admin.purge(hf.remember("heliotrope, again").id)
    hf.stats()
    list(hf.admin.export(vectors=True))
    told()
"""
)
# Calls that change what is on disk; opening for reading is none of them.
STRACE = (
    "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat"
    ",truncate,unlink,unlinkat"
)
# A call that another thread interrupts ends in "<unfinished ...>" instead of its result.
READING = re.compile(r"open(at)?\(.*(O_RDONLY|O_PATH)[^)]*(\) = |<unfinished)")
ALLOWED = re.compile(r'"/(dev|proc)/')


@pytest.fixture
def tracing():
    """Whether each call to the system can be seen here."""
    strace = shutil.which("strace")
    return (
        bool(strace)
        and subprocess.run([strace, "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.fixture
def watched(tmp_path, tmp_path_factory, tracing):
    """Runs a script that watches itself; what it wrote, by its own account, the system's, and what
    is there.
    """
    trace = tmp_path_factory.mktemp("trace") / "calls"

    def run(script, *args):
        home = tmp_path / "home"
        folders = {
            "HOME": home,
            "XDG_DATA_HOME": home / "data",
            "XDG_CONFIG_HOME": home,
            "TMPDIR": tmp_path / "tmp",
        }
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        env = {**os.environ, **{name: str(path) for name, path in folders.items()}}
        env |= {
            "SAID": SAID,
            "PYTHONDONTWRITEBYTECODE": "1",
            "SQLITE_TMPDIR": str(tmp_path / "tmp"),
        }
        spy = (
            ["strace", "-f", "--seccomp-bpf", "-o", trace, "-e", f"trace={STRACE}"]
            if tracing
            else []
        )
        before = tree(tmp_path)
        done = subprocess.run(
            [*spy, sys.executable, "-c", script, *map(str, args)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        told = json.loads(done.stdout.rpartition("WRITTEN ")[2])
        calls = trace.read_text(errors="replace").splitlines() if tracing else []
        changes = [line for line in calls if _changes(line)]
        return done.stdout, told + changes + sorted(tree(tmp_path).items() - before.items())

    return run


def _changes(line):
    """Whether a call changed something on disk, as strace tells it."""
    call = re.match(rf"\d+ +({STRACE.replace(',', '|')})\(", line)
    return (
        bool(call)
        and " = -1 " not in line
        and not READING.search(line)
        and not ALLOWED.search(line)
    )


def tree(folder: Path):
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_a_whole_incognito_conversation_by_the_command_writes_nothing(watched, write_role):
    said, written = watched(COMMAND, "run", write_role("{}"), "-i", "--memory-mode", "guest")
    assert "You're in guest mode" in said
    assert "in :memory:" in said
    assert written == []


def test_a_whole_incognito_session_of_the_library_writes_nothing(watched, tmp_path):
    assert watched(LIBRARY, tmp_path / "memory.db")[1] == []


def test_the_same_conversation_in_local_mode_is_seen_to_write(watched, write_role):
    """Or the watch would prove nothing."""
    _, written = watched(COMMAND, "run", write_role(), "-i")
    assert any("assistant.db" in str(one) for one in written)


def test_a_guest_at_a_terminal_leaves_no_history(write_role, tmp_path):
    from test_000_run import Terminal

    before = tree(tmp_path)
    role = write_role()
    terminal = Terminal("run", role, "-i", "--memory-mode", "guest", cwd=tmp_path)
    terminal.see(">")
    terminal.press(f"remember that I like the {SECRET}\r")
    terminal.see("guest mode")
    terminal.see(">")
    terminal.press("\x04")
    assert terminal.end() == 0
    assert {path for path in tree(tmp_path) if path not in before} == {str(role)}
    home = Path(os.environ["HOME"])
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_guest_is_told_that_there_is_nothing_to_control(write_role, agent_of):
    from holdfast.agents.conversation import Conversation

    talk = Conversation(agent_of(write_role(), mode="guest"))
    assert "guest mode" in talk.say("what do you remember about me?").text
