"""Progress bars of long commands, in a real terminal: how much of how much is done."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pytest

from holdfast import Holdfast
from holdfast.cli import output
from holdfast.storage.check_progress import Check, CheckedRows
from holdfast.storage.store_types import Finding
from terminals import bare

DAY = "2026-03-01T10:00:00Z"


@pytest.fixture
def filled(tmp_path):
    """The store of the commands, with three memories and two sessions."""
    with Holdfast.open(scope="user:ann", background=False) as hf:
        for drink in ("tea", "coffee", "juice"):
            hf.remember(f"Likes {drink}")
        for session in ("monday", "tuesday"):
            hf.capture_many([{"session": session, "role": "user", "text": f"It is {session}"}])
            hf.sessions.end(session)
    return hf


def test_an_export_knows_how_many_lines_there_are(filled, tmp_path, terminal):
    for more in ([], ["--no-history"], ["--format", "mem0"]):
        file = tmp_path / "out.jsonl"
        screen = terminal("export", "-o", str(file), *more)
        told = bare(screen.hear("Exported"))
        lines = len(file.read_text().splitlines())
        assert f"{lines}/{lines}" in told, more
        assert "left" in told
        assert screen.end() == 0


def test_a_sync_counts_the_entries_of_both_journals(filled, tmp_path, terminal):
    screen = terminal("store", "sync", str(tmp_path / "other.db"), "--scope", "user:ann")
    told = bare(screen.hear("sent"))
    assert "syncing" in told
    entries = told.split("syncing")[-1].split()
    done, total = next(word for word in entries if "/" in word).split("/")
    assert done == total and int(total) > 0
    assert screen.end() == 0


def test_a_check_counts_the_rows(filled, terminal):
    told = []
    with Holdfast.open(scope="user:ann", background=False) as hf:
        hf.admin.check(progress=lambda done, total: told.append(total))
    screen = terminal("doctor")
    assert f"{told[0]}/{told[0]}" in bare(screen.hear("is in order"))
    assert screen.end() == 0


def test_the_time_left_is_right_where_one_check_reads_most_rows(tmp_path):
    """Ten checks read a row each and one reads ten thousand; each row takes a millisecond."""
    now = [0.0]

    def look(sql):
        for row in connection.execute(sql):
            if "count(*)" not in sql:
                now[0] += 0.001
            yield row

    def reading(table):
        def find(look):
            yield from (Finding("rows", str(row)) for row in look(f"SELECT * FROM {table}"))

        return Check(find, [table])

    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE few (n); CREATE TABLE many (n); INSERT INTO few VALUES (1)"
    )
    connection.executemany("INSERT INTO many VALUES (?)", ((n,) for n in range(10_000)))
    checks = [reading(table) for table in (*["few"] * 5, "many", *["few"] * 5)]
    left = []
    with output.progress("checking", clock=lambda: now[0]) as bar:
        follow = output.follow(bar)

        def told(done, total):
            follow(done, total)
            if bar.tasks[0].time_remaining is not None:
                left.append((now[0], bar.tasks[0].time_remaining))

        checked = CheckedRows(look, checks, told)
        found = [one for check in checks for one in checked.findings(check)]
    assert len(found) == 10_010 and now[0] == pytest.approx(10.01)
    assert len(left) > 40
    for at, seconds in left[1:]:
        # Rich rounds up to whole seconds.
        assert 10.01 - at <= seconds + 0.01 <= 10.01 - at + 1.1, at


def test_jobs_are_told_above_the_bar(filled, terminal):
    screen = terminal("worker", "once", "--scope", "user:ann")
    told = bare(screen.hear("2/2"))
    assert "Done: learn monday for user:ann." in told
    assert "Done: learn tuesday for user:ann." in told
    assert screen.end() == 0


def test_an_erasure_counts_the_memories(filled, terminal, cli):
    ids = [line.split("\t")[1] for line in cli("list", "--kind", "fact").out.splitlines()]
    screen = terminal("purge", *ids, "--yes")
    assert "3/3" in bare(screen.hear("Erased"))
    assert screen.end() == 0


def test_the_erasure_of_an_owner_knows_how_many_rows_there_are(filled, terminal):
    screen = terminal("purge", "--owner", "user:ann", "--yes")
    told = bare(screen.hear("Erased"))
    done, total = next(word for word in reversed(told.split()) if "/" in word).split("/")
    assert done == total and int(total) > 10
    assert screen.end() == 0


def test_an_import_of_one_file_counts_its_sessions(tmp_path, terminal):
    chats = [
        {
            "uuid": f"c{number}",
            "name": f"Chat {number}",
            "created_at": DAY,
            "updated_at": DAY,
            "chat_messages": [
                {"uuid": "m1", "sender": "human", "text": f"Hello {number}", "created_at": DAY},
                {"uuid": "m2", "sender": "assistant", "text": "Hello", "created_at": DAY},
            ],
        }
        for number in range(3)
    ]
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(chats))
    screen = terminal("import", str(file), "--scope", "user:ann")
    assert "3/3" in bare(screen.hear("Imported 3 sessions"))
    assert screen.end() == 0


def test_an_import_of_another_memory_counts_what_it_reads_and_stores(tmp_path, terminal):
    file = tmp_path / "mem0.json"
    items = [
        {"id": str(number), "memory": f"Likes tea {number}", "user_id": "ann"} for number in "abc"
    ]
    file.write_text(json.dumps({"results": items}))
    screen = terminal("import", "mem0", str(file))
    assert "6/6" in bare(screen.hear("Imported 3 memories"))
    assert screen.end() == 0


def test_what_is_piped_does_not_go_to_the_screen_with_the_bar(filled):
    screen, stderr = pty.openpty()
    command = [sys.executable, "-m", "holdfast", "worker", "once", "--scope", "user:ann"]
    env = {**os.environ, "TERM": "xterm-256color"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, env=env, text=True, check=True
    )
    os.close(stderr)
    shown = b""
    with suppress(OSError):  # the end of a terminal that nobody writes to
        while some := os.read(screen, 65_536):
            shown += some
    os.close(screen)
    assert "2/2" in bare(shown.decode())
    assert done.stdout.splitlines() == [
        "Done: learn monday for user:ann.",
        "Done: learn tuesday for user:ann.",
    ]
