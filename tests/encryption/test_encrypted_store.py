"""An encrypted file as its owner, a thief and a crash see it: by raw bytes, through every surface,
with the right key, another key and none.

apsw and the build that encrypts share an import name, so these tests run in a process of their own:
tests/test_encryption.py starts it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from holdfast import Holdfast, Settings
from holdfast.audit import open_audit
from holdfast.errors import InvalidInput, NotFound, StoreBusy, StoreCorrupt, WrongKey
from holdfast.feedback import open_feedback
from holdfast.storage import SQLiteStore
from holdfast.storage.sqlite import rekey
from holdfast.storage.sqlite.connection import connect, form_of, make_private_file
from holdfast.storage.sqlite.encryption import make_key, read_key
from holdfast.storage.sqlite.rekey import change_key
from patience import PATIENCE

HOLDFAST = (sys.executable, "-m", "holdfast")
# The command, with time enough to answer, however busy the machine is.
PATIENT_HOOK = f"""from holdfast.coding_agents.hooks import deadline
deadline.TIME, deadline.LAST_STEPS = {PATIENCE}, {PATIENCE / 6}
from holdfast.cli import main
main()"""
WORD = "Zephyrquokka"
OTHER = "Marmalade"


@pytest.fixture(autouse=True)
def folders(tmp_path):
    """A folder for each store, so that what lies beside it can be looked through."""
    names = "store plain out backup a one two back other leaked wanted"
    for name in names.split():
        (tmp_path / name).mkdir()


@pytest.fixture
def key(tmp_path):
    return make_key(str(tmp_path / "memory.key"))


@pytest.fixture
def other_key(tmp_path):
    return make_key(str(tmp_path / "other.key"))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "store" / "memory.db"


def opened(file, key):
    settings = Settings(key_file=key, embedding_models="static")
    return Holdfast.open(file, scope="user:ann", settings=settings, background=False)


def filled(file, key):
    """A store that holds the word in memories, turns, an entity, the journal and the index."""
    with opened(file, key) as hf:
        hf.remember(f"The password hint is {WORD}")
        hf.remember(f"Eats {OTHER} for breakfast")
        hf.capture("monday", "user", f"My cat {WORD} moved to Lisbon.")
        hf.sessions.end("monday")
        hf.admin.reembed()
    return file


def holding(folder, word=WORD):
    """The files below a folder in which the word can be read, in whatever case."""
    needles = {word.encode(), word.lower().encode()}
    return sorted(
        one.name
        for one in folder.rglob("*")
        if one.is_file() and any(needle in one.read_bytes() for needle in needles)
    )


# Raw bytes


def test_no_byte_of_an_encrypted_store_can_be_read_also_while_it_is_open(tmp_path, file, key):
    plain = tmp_path / "plain" / "memory.db"
    for place, with_key in ((file, key), (plain, "")):
        with opened(place, with_key) as hf:
            hf.remember(f"The password hint is {WORD}")
            log = place.with_name("memory.db-wal")
            assert log.stat().st_size > 4096
            # The same words in a store that is not encrypted show that one would see them.
            assert holding(place.parent) == ([] if with_key else ["memory.db-wal"])
            hf.capture("monday", "user", f"My cat {WORD} moved to Lisbon.")
        assert holding(place.parent) == ([] if with_key else ["memory.db"])
    assert (form_of(file), form_of(plain)) == ("encrypted", "plain")
    with opened(file, key) as hf:
        assert [hit.memory.content for hit in hf.recall("what is the password hint?", limit=1)] == [
            f"The password hint is {WORD}"
        ]


SPILLING = (
    "VACUUM",
    "SELECT x FROM t ORDER BY x || 'a'",
    "CREATE TEMP TABLE copied AS SELECT x FROM t",
)


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc for open files")
@pytest.mark.parametrize("statement", SPILLING)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
def test_temporary_files_are_encrypted_too(tmp_path, key, statement, encrypted):
    file = tmp_path / "spilling.db"
    make_private_file(file)
    connection = connect(str(file), read_key(key) if encrypted else "")
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA temp_store = FILE").fetchall()
    connection.execute("PRAGMA cache_size = 10").fetchall()
    connection.execute("CREATE TABLE t (x)")
    with connection:
        connection.executemany(
            "INSERT INTO t VALUES (?)", ((f"{number} {WORD} " * 20,) for number in range(5_000))
        )
    seen = set()

    def look():
        for link in Path("/proc/self/fd").iterdir():
            try:
                is_temporary = str(link.readlink()).endswith("(deleted)")
                if is_temporary and (written := link.read_bytes()):
                    seen.add(WORD.encode() in written)
            except OSError:
                continue
        return False

    connection.set_progress_handler(look, 500)
    connection.execute(statement).fetchall()
    look()
    connection.set_progress_handler(None)
    connection.close()
    # That of another test, or of pytest itself, never holds the word.
    assert seen and (True in seen) is not encrypted


def test_what_was_purged_is_not_in_a_copy_in_plain_text_either(tmp_path, file, key, cli):
    filled(file, key)
    with opened(file, key) as hf:
        hf.admin.purge(hf.recall("what is the password hint?", limit=1)[0].memory.id)
        hf.admin.purge(session="monday")
        pages = connect(str(file), read_key(key))
        assert pages.pragma("freelist_count") == 0
        pages.close()
    target = tmp_path / "out" / "plain.db"
    copied = cli("store", "copy", file, target, "--key-file", key, "--to-key-file", "none")
    assert copied.code == 0, copied.err
    assert holding(file.parent) == holding(file.parent, OTHER) == []
    assert holding(target.parent) == []
    assert holding(target.parent, OTHER) == ["plain.db"]
    # Nor in the file itself, decrypted.
    change_key(file, read_key(key), "")
    assert holding(file.parent) == []
    assert holding(file.parent, OTHER) == ["memory.db"]


def test_a_backup_stays_encrypted_and_opens_with_the_same_key(tmp_path, file, key, cli):
    filled(file, key)
    backup = tmp_path / "backup" / "memory.db"
    assert cli("store", "copy", file, backup, "--key-file", key).code == 0
    # A copy of the files, as any backup program makes it.
    shutil.copytree(file.parent, tmp_path / "copied")
    for place in (backup, tmp_path / "copied" / "memory.db"):
        assert form_of(place) == "encrypted" and holding(place.parent) == []
        with opened(place, key) as hf:
            assert hf.recall("password hint")[0].memory.content.endswith(WORD)
            assert hf.admin.check() == []


# Keys that do not fit


def test_another_key_none_and_a_key_too_many_say_what_to_do(tmp_path, file, key, other_key):
    filled(file, key)
    before = file.read_bytes()
    with pytest.raises(WrongKey, match=r"does not open .*memory.db.*Name another key"):
        opened(file, other_key)
    for none in ("", "none"):
        with pytest.raises(WrongKey, match=r"is encrypted, and no key was given.*--key-file"):
            opened(file, none)
    assert file.read_bytes() == before
    plain = filled(tmp_path / "plain" / "memory.db", "")
    with pytest.raises(WrongKey, match=r"is not encrypted, but a key was given.*store key change"):
        opened(plain, key)


@pytest.mark.parametrize("command", ["recall", "list", "doctor", "stats"])
def test_commands_say_it_in_one_line(file, key, other_key, cli, command):
    filled(file, key)
    words = [command, *(["hint"] if command == "recall" else []), "--store", file]
    done = cli(*words, "--key-file", other_key)
    assert done.code != 0 and "does not open" in done.err and "not a database" not in done.err
    done = cli(*words)
    assert done.code != 0 and "is encrypted, and no key was given" in done.err
    assert "HOLDFAST_KEY_FILE" not in os.environ
    assert cli(*words, "--key-file", key).code == 0


def test_damage_is_not_taken_for_a_wrong_key_unless_it_is_at_the_start(file, key):
    filled(file, key)
    written = bytearray(file.read_bytes())
    written[5 * 4096 + 100] ^= 1
    file.write_bytes(written)
    with pytest.raises(StoreCorrupt, match="is damaged"), opened(file, key) as hf:
        hf.admin.check()
    file.write_bytes(b"no database at all, but a text that somebody wrote" * 100)
    with pytest.raises(StoreCorrupt, match="is not a Holdfast store"):
        opened(file, key)


# Another key


def test_the_first_key_another_key_and_none_keep_everything(tmp_path, file, key, other_key, cli):
    filled(file, "")
    with opened(file, "") as hf:
        before = [memory.content for memory in hf.list(limit=100)]
    for old, new in (("none", key), (key, other_key), (other_key, "none")):
        done = cli("store", "key", "change", file, "--key-file", old, "--to-key-file", new)
        assert done.code == 0, done.err
        assert form_of(file) == ("plain" if new == "none" else "encrypted")
        assert holding(file.parent) == (["memory.db"] if new == "none" else [])
        assert file.stat().st_mode & 0o077 == 0
        with opened(file, new) as hf:
            assert [memory.content for memory in hf.list(limit=100)] == before
            assert hf.admin.check() == []
    assert "is not encrypted any more" in done.out


def test_the_key_of_a_store_that_is_open_elsewhere_stays(file, key, other_key, monkeypatch):
    monkeypatch.setattr(rekey, "PATIENCE", 0.01)
    filled(file, key)
    before = file.read_bytes()
    with opened(file, key) as hf:
        hf.list()
        with pytest.raises(StoreBusy, match="open in another process"):
            change_key(file, read_key(key), read_key(other_key))
    assert sorted(one.name for one in file.parent.iterdir()) == ["memory.db"]
    assert file.read_bytes()[:16] == before[:16]
    with opened(file, key) as hf:
        assert hf.list()


KILLED = """
import os, sys
from pathlib import Path
from holdfast.storage.sqlite import rekey
from holdfast.storage.sqlite.encryption import read_key
rekey._flush = lambda path: os._exit(9)
rekey.change_key(sys.argv[1], read_key(sys.argv[2]), read_key(sys.argv[3]))
"""


@pytest.mark.parametrize("first", [True, False], ids=["first key", "another key"])
def test_a_process_killed_while_it_changes_the_key_leaves_the_store_as_it_was(
    file, key, other_key, first
):
    old = "none" if first else key
    filled(file, old)
    command = [sys.executable, "-c", KILLED, str(file), old, other_key]
    assert subprocess.run(command, check=False, timeout=PATIENCE).returncode == 9
    assert (file.parent / "memory.db-rekey").exists()
    with opened(file, old) as hf:
        assert hf.admin.check() == [] and len(hf.list()) >= 2
    change_key(file, read_key(old), read_key(other_key))
    assert not (file.parent / "memory.db-rekey").exists()
    with opened(file, other_key) as hf:
        assert hf.admin.check() == []


def test_a_key_cannot_be_changed_with_another_than_its_own(file, key, other_key, cli):
    filled(file, key)
    done = cli("store", "key", "change", file, "--key-file", other_key, "--to-key-file", other_key)
    assert done.code != 0 and "does not open" in done.err
    done = cli("store", "key", "change", file, "--key-file", key)
    assert done.code != 0 and "--to-key-file" in done.err
    with pytest.raises(NotFound, match="There is no store"):
        change_key(file.with_name("nowhere.db"), "", read_key(key))


# Copies and syncs


def test_a_copy_goes_from_plain_to_encrypted_and_back(tmp_path, key, other_key, cli, monkeypatch):
    plain = filled(tmp_path / "a" / "plain.db", "")
    first, second, back = (tmp_path / name / f"{name}.db" for name in ("one", "two", "back"))
    monkeypatch.setenv("HOLDFAST_KEY_FILE", key)
    # FROM is not encrypted, and is read all the same; TO gets the key of the setting.
    done = cli("store", "copy", plain, first)
    assert done.code == 0 and f"HOLDFAST_KEY_FILE={key}" in done.out
    assert cli("store", "copy", first, second, "--to-key-file", other_key).code == 0
    done = cli("store", "copy", second, back, "--key-file", other_key, "--to-key-file", "none")
    assert done.code == 0 and "HOLDFAST_KEY_FILE" not in done.out
    assert [form_of(one) for one in (first, second, back)] == ["encrypted", "encrypted", "plain"]
    assert holding(first.parent) == holding(second.parent) == []
    assert holding(back.parent) == ["back.db"]
    status = json.loads(cli("store", "status", second, "--key-file", other_key, "--json").out)
    assert status["encrypted"] is True and status["rows"]["memory"] >= 3
    done = cli("store", "copy", second, tmp_path / "c.db")
    assert done.code != 0 and "does not open" in done.err


def test_a_store_syncs_with_another_file_of_the_same_key(tmp_path, file, key):
    filled(file, key)
    other = tmp_path / "other" / "memory.db"
    with opened(file, key) as hf:
        hf.admin.sync(other)
        assert hf.admin.sync(other).nothing
    assert form_of(other) == "encrypted" and holding(other.parent) == []
    with opened(other, key) as hf:
        assert hf.recall("password hint")[0].memory.content.endswith(WORD)
    plain = filled(tmp_path / "plain" / "memory.db", "")
    with opened(file, key) as hf, pytest.raises(WrongKey, match="is not encrypted"):
        hf.admin.sync(plain)
    # A memory around a store that was opened elsewhere does not know its key.
    asked = pytest.raises(InvalidInput, match="Set it to a key file, or to none")
    with Holdfast(SQLiteStore(file, key_file=key), "user:ann") as hf, asked:
        hf.admin.sync(tmp_path / "leaked" / "memory.db")
    assert list((tmp_path / "leaked").iterdir()) == []
    settings = Settings(key_file="none")
    with Holdfast(SQLiteStore(file, key_file=key), "user:ann", settings=settings) as hf:
        hf.admin.sync(tmp_path / "wanted" / "memory.db")
    assert holding(tmp_path / "wanted") == ["memory.db"]


# What lies beside the store


def test_what_lies_beside_the_store_has_its_key(file, key, other_key, cli):
    filled(file, key)
    owner = f"user:{WORD}"
    with open_plain(open_audit, file) as audit:
        # From before the store was encrypted.
        audit.record(session="monday", level=1, path="rules", owner=owner)
    assert holding(file.parent) == ["audit.db"]
    with open_plain(open_feedback, file, key_file=key) as feedback:
        feedback.add(session="monday", label="positive", owner=owner)
    with open_plain(open_audit, file, key_file=key) as audit:
        assert [event.owner for event in audit.list()] == [owner]
    assert holding(file.parent) == []
    done = cli("store", "key", "change", file, "--key-file", key, "--to-key-file", other_key)
    assert done.code == 0, done.err
    for command in ("audit", "feedback"):
        done = cli("session", command, "list", "--store", file, "--key-file", other_key, "--json")
        assert [one["owner"] for one in json.loads(done.out)] == [owner]


class open_plain:  # noqa: N801
    """A log that is closed at the end of a block."""

    def __init__(self, open_, file, **options):
        self._log = open_(file, **options)

    def __enter__(self):
        return self._log

    def __exit__(self, *_):
        self._log.close()


# Keys in files and in the keyring


class Memorised(KeyringBackend):
    """A keyring that ends with the test; locked if it is told so."""

    priority = 1

    def __init__(self):
        super().__init__()
        self.kept, self.locked = {}, False

    def get_password(self, service, username):
        if self.locked:
            raise KeyringLocked("the keyring is locked")
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        del self.kept[service, username]


@pytest.fixture
def own_keyring():
    before = keyring.get_keyring()
    backend = Memorised()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def test_a_key_can_lie_in_the_keyring(file, own_keyring, cli):
    with pytest.raises(NotFound, match=r"store key new keyring:memory"):
        opened(file, "keyring:memory")
    assert not file.exists()
    done = cli("store", "key", "new", "keyring:memory")
    assert done.code == 0 and "HOLDFAST_KEY_FILE=keyring:memory" in done.out
    assert list(own_keyring.kept) == [("holdfast", "memory")]
    filled(file, "keyring:memory")
    done = cli("recall", "password hint", "--store", file, "--key-file", "keyring:memory")
    assert done.code == 0
    kept = dict(own_keyring.kept)
    done = cli("store", "key", "new", "keyring:memory")
    assert done.code != 0 and "already has a key" in done.err and own_keyring.kept == kept
    own_keyring.locked = True
    with pytest.raises(InvalidInput, match=r"the keyring is locked.*Unlock it, or keep the key"):
        opened(file, "keyring:memory")
    with pytest.raises(InvalidInput, match=r"e.g. keyring:memory"):
        opened(file, "keyring:")


# Processes


def _remember(file, key, number):
    with opened(file, key) as hf:
        hf.remember(f"Process {number} was here")


def test_processes_that_create_a_store_at_once_agree_on_one(file, key):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_remember, args=(file, key, number)) for number in range(4)]
    for one in processes:
        one.start()
    for one in processes:
        one.join(PATIENCE)
    assert [one.exitcode for one in processes] == [0] * 4
    with opened(file, key) as hf:
        assert len(hf.list()) == 4 and hf.admin.check() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_reads_with_the_key_of_its_parent(file, key):
    store = SQLiteStore(filled(file, key), key_file=key)
    child = os.fork()
    if not child:
        try:
            os._exit(0 if len(Holdfast(store, "user:ann").list()) >= 2 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.close()


@pytest.fixture
def environ(file, key):
    return os.environ | {
        "HOLDFAST_STORE": str(file),
        "HOLDFAST_KEY_FILE": key,
        "HOLDFAST_SCOPE": "user:ann",
        "HOLDFAST_EMBEDDING_MODELS": "none",
    }


def test_the_server_the_worker_and_the_hooks_work_with_the_key(file, key, environ, tmp_path):
    filled(file, key)
    httpx = pytest.importorskip("httpx")
    command = [*HOLDFAST, "serve", "--port", "0"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as server:
        try:
            line = server.stderr.readline()
            url = line.partition(" at ")[2].split()[0]
            answer = httpx.post(
                f"{url}api/memory/recall",
                json={"question": "password hint"},
                timeout=PATIENCE,
                trust_env=False,
            )
            assert answer.status_code == 200 and WORD in answer.text, answer.text
        finally:
            server.terminate()
            server.stderr.read()
    done = _run(["worker", "once"], environ)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "project"
    folder.mkdir()
    noted = f"Use {WORD} for all builds"
    for words in (["project", "init"], ["record", "add", noted, "--category", "decisions"]):
        assert _run(words, environ, cwd=folder).returncode == 0
    event = "UserPromptSubmit"
    said = {"cwd": str(folder), "session_id": "s1", "hook_event_name": event}
    said["prompt"] = "what do we use for the builds?"
    words = ["hook", "run", event, "--tool", "claude-code"]
    command = [sys.executable, "-c", PATIENT_HOOK, *words]
    done = _run(command, environ, said, folder)
    assert WORD in done.stdout, done.stderr
    assert holding(file.parent) == []


def test_mcp_works_with_the_key(file, key, environ):
    filled(file, key)
    asked = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "a test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "memory_recall", "arguments": {"question": "password hint"}},
        },
    ]
    for env, options in (
        (environ, ()),
        (environ | {"HOLDFAST_KEY_FILE": "none"}, ("--key-file", key)),
    ):
        done = subprocess.run(
            [*HOLDFAST, "mcp", *options],
            input="".join(f"{json.dumps(one)}\n" for one in asked),
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert WORD in done.stdout, (done.stdout, done.stderr)


def _run(words, environ, said=None, cwd=None):
    return subprocess.run(
        words if words[0] == sys.executable else [*HOLDFAST, *words],
        input=json.dumps(said) if said else "",
        env=environ,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_this_is_the_build_that_encrypts(cli):
    assert hasattr(apsw, "mc_version")
    notes = json.loads(cli("doctor", "--json").out)
    assert "apsw-sqlite3mc" in json.dumps(notes)
