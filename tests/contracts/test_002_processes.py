"""Seed 002 for real: builders in processes of their own, at the same time, killed, and stopped for
too long.
"""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from projects import BUILT, PATIENCE, SAID, SECOND

from holdfast.client import Holdfast
from holdfast.projects.project_folder import project_around
from holdfast.types import system_clock
from past.tidewatch import Past, it, me
from past.written import claude_code

LEASE = 2  # seconds: what a builder that is gone holds, is free after them
LONGER = 5  # seconds in which even a crowded machine lets a builder say that it is still there
ROUNDS = 4  # fewer than the decisions that a summary names


@pytest.fixture
def build(shop, process):
    """Starts a real builder in the project."""
    return lambda command="build": process("project", command, "--json", cwd=shop.folder)


def done(builder):
    code, out, err = builder.end()
    assert code == 0, err
    return json.loads(out)


def until_built(shop, build, command="build"):
    """Builders, one after the other, until one of them makes the files; none begins while another
    holds a job.
    """
    deadline = time.monotonic() + PATIENCE
    last = None
    while not (last and last["files"]):
        assert time.monotonic() < deadline, last
        wait_until(lambda: system_clock() > shop.held_until())
        last = done(build(command))


def wait_until(true):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)  # another thread is at work


def of_version(number):
    """What the second phase answers: all that was said, and a short line to tell it by."""
    told = f"version {number}\n{SAID}"
    return BUILT | {"memory_md": told, "memory_summary": told}


def decide(shop, number):
    shop.talk(
        f"thread-{number}",
        f"We decided to use tool{number} instead of that{number} because it is faster.",
    )


def kept(shop):
    """The versions of the files that are on disk."""
    return list((shop.project.folder.parent / ".memory").iterdir())


def test_two_builders_at_once_share_the_work_and_make_one_set_of_files(shop, builder, build):
    shop.enable(model=builder, stage1Concurrency=1)
    for number in range(4):
        shop.talk(f"thread-{number}")
    first, second = builder.hold("first"), builder.hold("first")
    both = [build(), build()]
    first.come()
    second.come()
    builder.let_go()
    outcomes = [done(one) for one in both]
    assert sum(one["read"] for one in outcomes) == 4
    assert all(one["read"] for one in outcomes)
    assert builder.calls[0] == 4
    assert len(kept(shop)) == 1
    assert sum(f"## thread-{number}\n" in shop.text("raw_memories.md") for number in range(4)) == 4
    assert shop.jobs() == {f"project-extract thread-{number}": "done" for number in range(4)} | {
        "project-build memory": "done"
    }
    assert not shop.project.diagnose()


def test_four_builders_without_a_model(shop, build):
    shop.enable()
    for number in range(8):
        decide(shop, number)
    assert sum(done(one)["read"] for one in [build() for _ in range(4)]) == 8
    assert all(f"tool{number}" in shop.text("MEMORY.md") for number in range(8))
    assert len(kept(shop)) == 1


@pytest.mark.parametrize("phase", ["first", SECOND])
def test_a_builder_that_is_killed_leaves_the_old_files_and_the_next_one_goes_on(
    shop, builder, build, phase
):
    shop.enable()
    shop.talk("thread-1")
    shop.project.build()
    before = {name: shop.text(name) for name in shop.project.standing().files}
    shop.enable(model=builder, phase2LeaseSeconds=LEASE, stage1LeaseSeconds=LEASE)
    shop.talk("thread-2")
    builder.built = of_version(2)
    held = builder.hold(phase)
    killed = build()
    held.come()
    killed.popen.send_signal(signal.SIGKILL)
    killed.popen.wait(PATIENCE)
    assert {name: shop.text(name) for name in shop.project.standing().files} == before
    until_built(shop, build)
    assert (shop.text("MEMORY.md"), shop.text("memory_summary.md")) == (
        f"version 2\n{SAID}\n",
        f"version 2\n{SAID}\n",
    )
    assert len(kept(shop)) == 1


def test_killed_while_it_writes_files_it_leaves_the_old_ones_whole(shop, build):
    # On a busy machine a builder may lose its lease while it writes, and tries again after a while.
    shop.enable(phase2LeaseSeconds=LEASE, phase2RetryDelaySeconds=1)
    for number in range(40):  # a file each, so that writing them takes a while
        decide(shop, number)
    done(build())
    before = {name: shop.text(name) for name in shop.project.standing().files}
    for _ in range(3):
        killed = build("rebuild")
        while len(kept(shop)) < 2 and killed.popen.poll() is None:
            time.sleep(0.001)  # or the builder would have one processor less to write with
        killed.popen.send_signal(signal.SIGKILL)
        killed.popen.wait(PATIENCE)
        assert {name: shop.text(name) for name in shop.project.standing().files} == before
    # On a busy machine the last one may have ended before it was killed.
    ended = shop.jobs()["project-build memory"] != "running"
    until_built(shop, build, "rebuild" if ended else "build")
    assert {name: shop.text(name) for name in shop.project.standing().files} == before
    assert len(kept(shop)) == 1


def test_a_builder_that_was_stopped_for_too_long_writes_nothing(shop, builder, build):
    shop.enable(model=builder, phase2LeaseSeconds=LEASE, phase2HeartbeatSeconds=1)
    shop.talk("thread-1")
    builder.built = of_version("too late")
    held = builder.hold(SECOND)
    stopped = build()
    held.come()
    stopped.popen.send_signal(signal.SIGSTOP)
    builder.built = of_version("in time")
    until_built(shop, build)
    held.answer()
    stopped.popen.send_signal(signal.SIGCONT)
    assert done(stopped)["files"] is False
    assert (shop.text("MEMORY.md"), shop.text("memory_summary.md")) == (
        f"version in time\n{SAID}\n",
        f"version in time\n{SAID}\n",
    )
    assert len(kept(shop)) == 1


def test_a_builder_that_takes_long_keeps_its_job(shop, builder, build):
    """The other one finds nothing to do, though the lease would have run out."""
    shop.enable(model=builder, phase2LeaseSeconds=LONGER, phase2HeartbeatSeconds=1)
    shop.talk("thread-1")
    held = builder.hold(SECOND)
    slow = build()
    held.come()
    at_first = shop.lease("project-build")
    while system_clock() <= at_first:
        time.sleep(0.05)  # another process holds it; there is nothing to wait on but the time
    assert done(build()) | {"folder": ""} == {"read": 0, "failed": [], "files": False, "folder": ""}
    assert shop.lease("project-build") > at_first
    held.answer()
    assert done(slow)["files"]
    assert builder.calls == (1, 1)


def test_files_appear_together(shop, build):
    """A reader that finds the same summary before and after MEMORY.md has read one version."""
    shop.enable()
    decide(shop, 0)
    done(build())
    seen, over, project = [], threading.Event(), shop.project

    def reader():
        while not over.is_set():
            urls = ("memory://root", "memory://root/MEMORY.md", "memory://root")
            seen.append([max(re.findall(r"tool\d", project.read(url).text)) for url in urls])

    thread = threading.Thread(target=reader)
    thread.start()
    try:
        for number in range(1, ROUNDS):
            decide(shop, number)
            done(build())
            wait_until(
                lambda number=number: any(f"tool{number}" == before for before, _, _ in seen)
            )
    finally:
        over.set()
        thread.join()
    assert {before for before, _, _ in seen} == {f"tool{number}" for number in range(ROUNDS)}
    assert [one for one in seen if one[0] == one[2] != one[1]] == []


def test_ctrl_c_gives_back_what_was_being_read(shop, builder, build):
    shop.enable(model=builder)
    shop.talk("thread-1")
    held = builder.hold("first")
    interrupted = build()
    held.come()
    interrupted.popen.send_signal(signal.SIGINT)
    assert interrupted.end()[0] != 0
    assert shop.jobs() == {"project-extract thread-1": "pending"}
    assert done(build())["read"] == 1


def test_a_session_ends_while_its_project_is_being_built(shop, builder, process, write_role):
    """The process does not stay for a model that does not answer."""
    shop.enable(model=builder)
    shop.talk("thread-1")
    held = builder.hold("first")
    talk = process("run", write_role(), "-i", cwd=shop.folder)
    held.come()
    with suppress(BrokenPipeError):
        talk.say("/end")
    assert talk.end()[0] == 0
    assert shop.jobs() == {"project-extract thread-1": "pending"}


def test_an_import_that_is_killed_goes_on_where_it_was(tmp_path, process):
    """No session is lost, and none is there twice or by halves."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    ids = [f"{number:08}-0000-4000-8000-000000000000" for number in range(60)]
    for id_ in ids:
        told = (
            me(f"What is the plan for {id_}?"),
            *(it(f"{id_} step {step}") for step in range(20)),
        )
        claude_code(Path.home(), tmp_path / "repo", Past("claude-code", id_, 1, "Talk", told))

    def counts():
        with Holdfast.open(scope=project_around(tmp_path / "repo").scope, background=False) as hf:
            return Counter(turn.session for turn in hf.list(kinds=["turn"]))

    killed = process("import", "--all", "--yes")
    while not (there := counts()) and killed.popen.poll() is None:
        time.sleep(0.001)
    killed.popen.send_signal(signal.SIGKILL)
    killed.popen.wait(PATIENCE)
    assert set(there.values()) == {21}
    again = process("import", "--all", "--yes", "--json")
    (done_,) = done(again)
    # One may have been there whole without being noted as read: it is read again, and is as it was.
    assert done_["sessions"] + done_["unchanged"] >= 59
    assert counts() == Counter(dict.fromkeys(ids, 21))
