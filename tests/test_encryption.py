"""Encryption with the apsw that cannot encrypt, as most have it; and the tests of the one that can,
in a process that finds it first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from holdfast import Holdfast, Settings, config
from holdfast.errors import InvalidInput, MissingExtra, NotFound, WrongKey
from holdfast.feedback import open_feedback
from holdfast.storage.sqlite import encryption
from holdfast.storage.sqlite.encryption import make_key, read_key

ROOT = Path(__file__).parents[1]
DRIVER = Path(sys.prefix) / "encryption"
PAGE = (
    "tests/test_docs.py::test_all_that_a_page_says_can_be_done_and_shows_what_the_page_shows"
    "[docs/how-to/encryption.md]"
)
# The start of a file as SQLite3 Multiple Ciphers writes it: what is random, then what is not.
ENCRYPTED = bytes(range(100, 116)) + bytes((16, 0, 2, 2, 64, 64, 32, 32)) + bytes(range(200)) * 20

without = pytest.mark.skipif(encryption.is_available(), reason="this apsw encrypts")


# The apsw that encrypts


@without
@pytest.mark.parametrize(
    "tests",
    [["tests/encryption"], ["tests/store/test_contract.py", "-k", "sqlite-encrypted"], [PAGE]],
    ids=["store", "contract", "page"],
)
def test_with_the_apsw_that_encrypts(tests):
    if not (DRIVER / "apsw").is_dir() and "CI" not in os.environ:
        pytest.skip("`make .venv/.dev` installs it")
    path = os.pathsep.join(filter(None, (str(DRIVER), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert re.search(r"\d+ passed", done.stdout.splitlines()[-1]), done.stdout


# The apsw that does not


@without
def test_an_encrypted_file_says_what_it_needs(tmp_path, cli):
    file = tmp_path / "memory.db"
    file.write_bytes(ENCRYPTED)
    key = make_key(str(tmp_path / "memory.key"))
    with pytest.raises(WrongKey, match=r"is encrypted, and no key.*holdfast-memory\[encryption\]"):
        Holdfast.open(file, scope="user:ann", settings=Settings())
    with pytest.raises(MissingExtra, match=r"cannot encrypt.*holdfast-memory\[encryption\]"):
        Holdfast.open(file, scope="user:ann", settings=Settings(key_file=key))
    done = cli("recall", "tea", "--store", file)
    assert done.code != 0 and "is encrypted, and no key was given" in done.err
    assert file.read_bytes() == ENCRYPTED


@without
def test_nothing_is_written_in_plain_text_when_a_key_was_given(tmp_path, cli, monkeypatch):
    key = make_key(str(tmp_path / "memory.key"))
    file = tmp_path / "store" / "memory.db"
    monkeypatch.setenv("HOLDFAST_KEY_FILE", key)
    for words in (
        ["remember", "Likes tea", "--store", file],
        ["store", "init", file],
        ["session", "feedback", "add", "monday", "positive", "--store", file],
    ):
        done = cli(*words)
        assert done.code != 0 and "cannot encrypt" in done.err, done
    with pytest.raises(MissingExtra):
        open_feedback(file, key_file=key).add(session="monday", label="positive")
    assert not file.parent.exists()
    # A store in memory writes no file, and one on a server has no use for a key.
    with Holdfast.open(":memory:", scope="user:ann") as hf:
        hf.remember("Likes tea")


@without
def test_an_extra_whose_files_were_overwritten_is_told_apart(tmp_path, cli, monkeypatch):
    real = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "3.54" if name == "apsw-sqlite3mc" else real(name)
    )
    key = make_key(str(tmp_path / "memory.key"))
    with pytest.raises(MissingExtra, match=r"those came last.*--no-deps apsw-sqlite3mc"):
        Holdfast.open(tmp_path / "m.db", scope="user:ann", settings=Settings(key_file=key))
    done = cli("doctor", "--store", tmp_path / "plain.db")
    assert "were overwritten by those of apsw" in done.out
    assert encryption.reinstall_command() in done.out


# Keys, which need no driver


def test_a_new_key_is_random_private_and_never_replaced(tmp_path, cli):
    file = tmp_path / "keys" / "memory.key"
    done = cli("store", "key", "new", file)
    assert done.code == 0 and f"export HOLDFAST_KEY_FILE={file}" in done.out
    key = read_key(file)
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert file.stat().st_mode & 0o777 == 0o600 or os.name == "nt"
    done = cli("store", "key", "new", file)
    assert done.code != 0 and "was kept" in done.err and read_key(file) == key
    assert read_key(make_key(str(tmp_path / "other.key"))) != key


def test_a_key_that_cannot_be_used_says_why(tmp_path):
    with pytest.raises(NotFound, match=r"There is no key file .*store key new"):
        read_key(tmp_path / "nowhere.key")
    with pytest.raises(InvalidInput, match=r"Cannot read the key file .*folder"):
        read_key(tmp_path)
    for written in (b"", b"secret", b"0" * 63, b"0" * 65, b"\xff" * 32, b"g" * 64):
        (tmp_path / "bad.key").write_bytes(written)
        with pytest.raises(InvalidInput, match="64 hexadecimal digits"):
            read_key(tmp_path / "bad.key")
    # As `openssl rand -hex 32` and an editor leave it.
    (tmp_path / "good.key").write_text(" " + "0aF9" * 16 + "\r\n")
    assert read_key(tmp_path / "good.key") == "0aF9" * 16
    assert read_key("") == read_key("none") == ""


@pytest.mark.skipif(os.name != "posix", reason="permissions are bits on Unix only")
def test_a_key_that_others_can_read_is_warned_of(tmp_path, caplog, cli, monkeypatch):
    file = Path(make_key(str(tmp_path / "memory.key")))
    read_key(file)
    assert not caplog.records
    file.chmod(0o640)
    read_key(file)
    assert f"chmod 600 '{file}'" in caplog.text
    monkeypatch.setenv("HOLDFAST_KEY_FILE", str(file))
    assert f"others on this machine can read {file}" in cli("doctor").out
    monkeypatch.setenv("HOLDFAST_KEY_FILE", str(tmp_path / "nowhere.key"))
    assert "There is no key file" in cli("doctor").err


@without
def test_the_keyring_says_which_package_it_needs(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(MissingExtra, match=r"holdfast-memory\[encryption\]"):
        read_key("keyring:memory")


def test_the_option_holds_for_one_command_and_its_processes_only(monkeypatch):
    monkeypatch.setenv("HOLDFAST_KEY_FILE", "one")
    with config.using_key_file("two"):
        assert config.load().key_file == os.environ["HOLDFAST_KEY_FILE"] == "two"
        with config.using_key_file(None):
            assert config.load().key_file == "two"
    assert config.load().key_file == "one"
    monkeypatch.delenv("HOLDFAST_KEY_FILE")
    with config.using_key_file("two"):
        assert config.load().key_file == "two"
    assert config.load().key_file == ""


def test_every_command_with_a_store_takes_a_key_file():
    import typer

    from holdfast.cli.app import app, load_commands

    def commands(group):
        for command in group.commands.values():
            yield command
            if hasattr(command, "commands"):
                yield from commands(command)

    load_commands()
    found = list(commands(typer.main.get_command(app)))
    for command in found:
        options = [option for parameter in command.params for option in parameter.opts]
        assert options.count("--key-file") == ("--store" in options or command.name == "copy"), (
            command.name
        )
    assert len(found) > 100


def test_a_file_of_ours_is_opened_in_one_place():
    """What opens databases of other programs, or none on disk, is named here."""
    allowed = {
        "agents/initrunner.py",
        "importers/initrunner/detect.py",
        "transcripts/databases.py",
        "storage/sqlite/health.py",
        "storage/sqlite/connection.py",
    }
    source = ROOT / "src" / "holdfast"
    if not source.is_dir():
        pytest.skip("the wheel has no sources beside it")
    opening = {
        str(file.relative_to(source).as_posix())
        for file in source.rglob("*.py")
        if "apsw.Connection(" in file.read_text("utf-8")
    }
    assert opening == allowed
    assert (source / "storage/sqlite/connection.py").read_text("utf-8").count(
        "apsw.Connection("
    ) == 1
    health = (source / "storage/sqlite/health.py").read_text("utf-8")
    assert re.findall(r"apsw\.Connection\((.*)\)", health) == ['":memory:"']


def test_the_settings_tell_the_key_file(tmp_path, cli, monkeypatch):
    monkeypatch.setenv("HOLDFAST_KEY_FILE", "/keys/memory.key")
    told = json.loads(cli("settings", "--json").out)
    assert "/keys/memory.key" in json.dumps(told)
