"""Seed 003, `holdfast agent exec`: any command with memory before and after it, otherwise as if it
ran alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import PATIENCE, entries, shop_with_records

from holdfast import config

SHOW = """import os, pathlib
print(os.environ["MEMORY_CONTEXT"])
print(pathlib.Path(os.environ["MEMORY_CONTEXT_FILE"]).read_text() == os.environ["MEMORY_CONTEXT"])
print(os.environ["MEMORY_CONTEXT_FILE"])"""


@pytest.fixture
def here(tmp_path):
    return shop_with_records(tmp_path)


def run(
    folder: Path, *words: str, stdin: bytes = b"", **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """The real command, in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", "agent", "exec", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env={**os.environ, **environ},
        timeout=PATIENCE,
        check=False,
    )


def test_the_command_finds_what_memory_says_about_its_ticket(here):
    done = run(
        here.folder, "--ticket", "Make refunds of payments work", "--", sys.executable, "-c", SHOW
    )
    *context, same, file = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Stripe" in "\n".join(context) and "docstring" in "\n".join(context)
    assert same == "True" and not Path(file).exists()


def test_a_ticket_comes_from_a_file_or_from_stdin(here, tmp_path):
    ticket = tmp_path / "ticket.md"
    ticket.write_text("Make refunds of payments work")
    for words, stdin in (
        (["-f", str(ticket)], b""),
        (["--file", "-"], b"Make refunds of payments work"),
    ):
        assert (
            b"Stripe"
            in run(here.folder, *words, "--", "printenv", "MEMORY_CONTEXT", stdin=stdin).stdout
        )


def test_without_a_ticket_it_is_told_what_stands(here):
    told = run(here.folder, "--", "printenv", "MEMORY_CONTEXT").stdout
    assert b"docstring" in told and b"Stripe" not in told


@pytest.mark.parametrize(
    "words", [["--ticket", "a", "-f", "b"], ["-f", "/nowhere/ticket.md"]], ids=["both", "no file"]
)
def test_a_ticket_that_cannot_be_read_is_told_before_anything_runs(here, words):
    done = run(here.folder, *words, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (2, b"") and b"Nothing was run." in done.stderr


def test_input_output_and_exit_code_are_the_command_s_own(here):
    done = run(
        here.folder, "--", "sh", "-c", "cat; echo oops >&2; exit 7", "--help", stdin=b"piped in"
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, b"piped in", b"oops\n")


def test_options_of_the_command_are_its_own(here):
    assert (
        run(here.folder, "--", "echo", "--ticket", "-f", "--json").stdout == b"--ticket -f --json\n"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_a_signal_ends_ends_the_same_for_who_waits(here, number):
    assert run(here.folder, "--", "sh", "-c", f"kill -{int(number)} $$").returncode == -number


def test_a_signal_for_us_goes_on_to_the_command(here):
    code = (
        "import signal as s, sys; s.signal(s.SIGTERM, lambda *_: sys.exit(9)); print('ready', "
        "flush=True); s.pause()"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "holdfast", "agent", "exec", "--", sys.executable, "-c", code],
        cwd=here.folder,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 9


def test_a_command_that_is_not_there_is_told_as_a_shell_does(here, tmp_path):
    assert run(here.folder, "--", "no-such-command").returncode == 127
    (tmp_path / "plain").write_text("no program")
    assert run(here.folder, "--", str(tmp_path / "plain")).returncode == 126


def test_memory_that_fails_changes_nothing_for_the_command(here):
    """AF-19."""
    config.default_store().write_bytes(b"This is no database. " * 100)
    done = run(
        here.folder,
        "--ticket",
        "refunds",
        "--",
        "sh",
        "-c",
        'printf "<%s>" "$MEMORY_CONTEXT"; exit 3',
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, b"<>", b"")
    assert entries()[0]["outcome"] == "failed"


def test_a_command_that_is_holdfast_itself_runs_inside(here):
    done = run(here.folder, "--", sys.executable, "-m", "holdfast", "record", "list")
    assert done.returncode == 0 and b"Stripe" in done.stdout


def test_what_a_command_writes_down_is_indexed_afterwards(here, tmp_path):
    ticket = tmp_path / "session.md"
    done = run(
        here.folder,
        "--transcript",
        str(ticket),
        "--",
        "sh",
        "-c",
        (
            "printf '# Refunds\\n\\nThe webhook of the bank arrives twice on Mondays.\\n' > "
            f"{ticket}; exit 4"
        ),
    )
    assert done.returncode == 4
    assert any(
        "webhook" in text for text in here.recalled("when does the webhook of the bank arrive?")
    )


def test_a_transcript_that_was_never_written_is_noted_and_no_error(here):
    assert run(here.folder, "--transcript", "/nowhere/x.md", "--", "true").returncode == 0
    assert entries()[0]["event"] == "finish"
