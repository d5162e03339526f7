"""What is wrong around the command: the disk, other processes, the network, the terminal, the
editor, the clock.

Tested elsewhere, and not again here: an extra that is not installed (test_serve, test_mcp,
test_store_cli, test_000_run), a password in a URL (test_store_cli), `| head` (test_cli), an editor
in a terminal (test_review), two builders (test_002_processes), sixteen writers (test_processes), a
file without rights (test_sqlite).
"""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from mistake import Mistake

from holdfast.cli import main
from holdfast.cli.app import run
from holdfast.cli.editor import edited
from holdfast.errors import InvalidInput

# The disk


@pytest.fixture
def disk(tmp_path):
    """A file system of two megabytes, where one can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if (
        os.name != "posix"
        or os.geteuid() != 0
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_on_a_disk_that_cannot_be_written_memory_is_read_and_says_that_it_keeps_nothing(cli, disk):
    store = ("--store", disk / "memory.db")
    assert cli("remember", "Green tea", *store).code == 0
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert "Green tea" in cli("recall", "tea", *store).out
    done = cli("remember", "Black tea", *store)
    assert (done.code, "cannot be written" in done.err, "permissions" in done.err) == (
        1,
        True,
        True,
    ), done


def test_on_a_full_disk_the_change_is_not_made_and_the_rest_is_kept(cli, disk):
    store = ("--store", disk / "memory.db")
    assert cli("remember", "Green tea", *store).code == 0
    for number in range(40):
        done = cli("remember", "-", *store, stdin=f"{number} filler " * 6_000)
        if done.code:
            break
    assert (done.code, "disk is full" in done.err, "free some space" in done.err) == (
        1,
        True,
        True,
    ), done
    assert "Green tea" in cli("recall", "green", *store).out


def test_a_home_that_cannot_be_written(cli, monkeypatch):
    monkeypatch.setenv("HOME", "/dev/null/home")
    for name in ("HOLDFAST_STORE", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    done = cli("remember", "tea")
    assert (done.code, "Cannot create /dev/null/home" in done.err, "--store" in done.err) == (
        1,
        True,
        True,
    ), done


# Other processes


def test_a_store_that_another_process_holds(cli, kept, folder, monkeypatch):
    for module in ("sqlite.store", "sqlite.connection"):
        monkeypatch.setattr(f"holdfast.storage.{module}.BUSY_MILLISECONDS", 50)
    other = apsw.Connection(str(folder / "memory.db"))
    other.execute("BEGIN IMMEDIATE")
    try:
        assert "Green tea" in cli("recall", "tea").out
        done = cli("remember", "Black tea")
        assert (done.code, "another process" in done.err, "Nothing was changed" in done.err) == (
            1,
            True,
            True,
        ), done
    finally:
        other.close()
    assert cli("remember", "Black tea").code == 0


def test_a_port_that_is_taken(cli):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = cli("serve", "--port", taken.getsockname()[1])
    assert (done.code, "Address already in use" in done.err, "another --port" in done.err) == (
        2,
        True,
        True,
    ), done


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such locks")
def test_a_second_daemon_of_one_role_is_not_started(cli, folder):
    from holdfast.agents.single_instance import alone

    role = folder / "role.yaml"
    role.write_text(
        "apiVersion: holdfast/v1\nkind: Agent\nmetadata: {name: clock}\nspec:\n  role: You tick.\n"
        "  model: {provider: offline}\n  triggers: [{type: cron, schedule: '* * * * *', prompt: "
        "tick}]\n"
    )
    with alone(role):
        done = cli("run", role, "--daemon")
    assert (done.code, f"process {os.getpid()}" in done.err, "Nothing was started" in done.err) == (
        1,
        True,
        True,
    ), done
    with alone(role):
        pass  # the first one has ended, and the next may run


@pytest.mark.parametrize(
    "mistake",
    [
        Mistake(
            "recall tea --store postgresql://ann:hush@127.0.0.1:1/x",
            1,
            ("cannot be reached", "the URL is right"),
        ),
        Mistake(
            "serve --host 0.0.0.0", 2, ("could read and change every memory", "serve keys add")
        ),
    ],
    ids=lambda one: one.does,
)
def test_another_machine(told, mistake):
    assert "hush" not in told(mistake)


# Ctrl-C


def test_an_import_that_is_interrupted_leaves_nothing_by_half_and_can_be_run_again(
    cli, kept, monkeypatch, capsys
):
    class Interrupted(io.StringIO):
        """What is piped in, until the person presses Ctrl-C."""

        def __next__(self):
            line = super().__next__()
            if '"memory"' in line:
                raise KeyboardInterrupt
            return line

    bundle = cli("export").out
    monkeypatch.setattr("sys.stdin", Interrupted(bundle))
    assert run(["import", "-", "--store", "other.db"]) == 130
    assert "run it again to go on" in capsys.readouterr().err
    again = cli("import", "-", "--store", "other.db", stdin=bundle)
    assert (again.code, again.out) == (0, "Imported 1 memory; 0 rows were already there.\n")


# The terminal


def test_a_full_screen_without_a_terminal_is_refused(cli, folder):
    assert cli("init", "--name", "assistant").code == 0
    done = cli("agent", "chat", "role.yaml")
    assert (
        done.code,
        "needs a terminal" in done.err,
        "holdfast agent run role.yaml -p" in done.err,
    ) == (
        2,
        True,
        True,
    ), done


@pytest.mark.skipif(os.name != "posix", reason="needs a Unix terminal")
@pytest.mark.parametrize(
    ("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_are_for_terminals_that_want_them(terminal, more, coloured):
    assert ("\x1b[1m" in terminal(**more).hear("Every command")) is coloured


def test_what_is_piped_in_but_is_no_text_is_refused():
    environ = {**os.environ, "LC_ALL": "C"}
    command = [sys.executable, "-m", "holdfast", "remember", "-"]
    done = subprocess.run(command, input=b"caf\xe9", capture_output=True, env=environ, check=False)
    assert (done.returncode, done.stdout) == (2, b""), done
    assert b"not UTF-8" in done.stderr and b"Nothing was stored" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a Unix shell")
def test_who_agreed_and_reads_only_the_beginning_gets_it_done(folder):
    """`holdfast hook install claude-code --yes | head -1`"""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "holdfast", "hook", "install", "claude-code", "--yes"]
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            words, stdout=closed, stderr=subprocess.PIPE, text=True, check=False, cwd=folder
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "holdfast hook run" in (Path.home() / ".claude" / "settings.json").read_text("utf-8")


def test_streams_that_were_closed_before_it_began_are_no_fault():
    shell = (
        f"{sys.executable} -m holdfast remember - <&- ; {sys.executable} -m holdfast remember "
        "tea >&- 2>&-; echo $?"
    )
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.stdout, "nothing to remember" in done.stderr) == ("0\n", True), done


# The editor


@pytest.mark.parametrize(
    ("editor", "said"),
    [
        ("nosuchprogram", "could not be used"),
        ("false", "ended with code 1"),
        ('vi "', "No closing quotation"),
    ],
)
def test_an_editor_that_cannot_be_used(monkeypatch, editor, said):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)
    with pytest.raises(InvalidInput, match=said) as caught:
        edited("a text", untouched="Nothing was changed.")
    assert "Nothing was changed." in str(caught.value)


# Time, and the program itself


def test_a_clock_that_was_set_back_loses_nothing(hf, clock):
    later = hf.remember("Green tea in the morning")
    clock.forward(days=-30)
    hf.remember("Black tea in the evening")
    assert [hit.memory.id for hit in hf.recall("green tea", limit=1)] == [later.id]
    assert len(hf.list()) == 2
    hf.undo()
    assert [memory.id for memory in hf.list()] == [later.id]
    assert hf.admin.check() == []


def test_an_old_python_is_named(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    monkeypatch.setattr(sys, "argv", ["holdfast", "recall", "tea"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert "Holdfast needs Python 3.11 or newer" in str(ended.value)


SECRET = "the recipe of the house"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (
            ZeroDivisionError(SECRET),
            70,
            ("wrong in Holdfast itself", "Nothing that was stored is lost", "fault.txt"),
        ),
        (
            OSError(errno.EIO, "Input/output error", "/mnt/disk"),
            1,
            ("/mnt/disk cannot be used: Input/output error",),
        ),
        (
            ModuleNotFoundError("no apsw", name="apsw"),
            1,
            ("package 'apsw' is missing", "Install Holdfast again"),
        ),
        (KeyboardInterrupt(), 130, ("Stopped.", "nothing is half done", "run it again")),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, BaseException) else "",
)
def test_what_nobody_foresaw_is_told_without_a_traceback(cli, monkeypatch, error, code, says):
    def fail(*_args, **_more):
        raise error

    monkeypatch.setattr("holdfast.client.Holdfast.recall", fail)
    done = cli("recall", "tea")
    assert (done.code, done.out) == (code, ""), done
    assert "Traceback" not in done.err
    assert all(words in done.err for words in says), done.err


def test_the_file_about_a_fault_says_where_it_was_and_quotes_nothing(cli, monkeypatch):
    def fail(*_args, **_more):
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr("holdfast.client.Holdfast.recall", fail)
    said = cli("recall", SECRET).err
    file = os.path.join(os.environ["XDG_DATA_HOME"], "holdfast", "fault.txt")  # noqa: PTH118
    assert file in said
    with open(file) as read:  # noqa: PTH123
        details = read.read()
    assert "ZeroDivisionError" in details and "in fail" in details and "Holdfast 0." in details
    assert SECRET not in details
    assert os.stat(file).st_mode & 0o077 == 0  # noqa: PTH116


def test_a_warning_in_passing_is_one_line_and_told_once(cli, kept):
    import logging

    assert cli("list").code == 0  # whatever the command, this holds in its process
    last = logging.lastResort
    record = logging.LogRecord("holdfast", logging.ERROR, "x.py", 1, "It failed.", (), None)
    try:
        raise InvalidInput("No key.")
    except InvalidInput:
        record.exc_info = sys.exc_info()
    assert last.format(record) == "Warning: It failed: No key."
    assert [bool(last.filter(record)) for _ in range(2)] == [True, False]
    assert json.loads(cli("list", "--json").out)
