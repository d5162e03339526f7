"""Daemons: real agents with a scripted model and a real memory, set in motion by real triggers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from queue import Queue

import httpx
import pytest
from pydantic_ai.messages import ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from holdfast.agents.agent_runner import RoleAgent
from holdfast.agents.daemon import Service, serve
from holdfast.agents.role import load_role
from holdfast.agents.triggers import Firing
from holdfast.errors import InvalidInput
from patience import PATIENCE

CRON = {"type": "cron", "schedule": "* * * * *", "prompt": "tick"}
MEMORY = {"store_path": "memory.db", "embeddings": {"provider": "none"}}


class Script:
    """A model that answers every prompt with `Done: <prompt>`, or as it is told, and notes what it
    was asked.
    """

    def __init__(self):
        self.asked = Queue()
        self.answer = lambda prompt: f"Done: {prompt}"
        self.model = FunctionModel(self._respond)

    def _respond(self, messages, info):
        prompt = next(
            part.content for part in messages[-1].parts if isinstance(part, UserPromptPart)
        )
        self.asked.put(prompt)
        return ModelResponse(parts=[TextPart(self.answer(prompt))])


@pytest.fixture
def script():
    return Script()


@pytest.fixture
def agent(tmp_path, clock, script):
    """Opens an agent with these triggers."""
    opened = []

    def make(*triggers, memory=MEMORY):
        spec = {
            "role": "You help.",
            "model": {"provider": "offline"},
            "triggers": triggers,
            "memory": memory,
        }
        file = tmp_path / "role.yaml"
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
        opened.append(RoleAgent.open(load_role(file), clock=clock, model=script.model))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


class Daemon:
    """`serve` on a thread; what it tells can be waited for."""

    def __init__(self, agent, clock):
        self.agent, self.stop, self.told = agent, threading.Event(), Queue()
        self.lines = []
        self.thread = threading.Thread(
            target=serve,
            args=(agent,),
            kwargs={"clock": clock, "stop": self.stop, "report": self.told.put, "environ": {}},
        )
        self.thread.start()

    def until(self, pattern):
        """What it told that matches, waited for."""
        while True:
            self.lines.append(self.told.get(timeout=PATIENCE))
            if match := re.search(pattern, self.lines[-1]):
                return match

    def end(self):
        self.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        while not self.told.empty():
            self.lines.append(self.told.get())
        return self.lines


@pytest.fixture
def daemon(clock):
    running = []

    def make(agent):
        running.append(Daemon(agent, clock))
        return running[-1]

    yield make
    for one in running:
        one.end()


def episodes(agent):
    """What is remembered of the runs, the oldest first."""
    return [
        memory
        for memory in reversed(agent.memory.listed(type_="episodic"))
        if memory.category == "daemon_run"
    ]


def test_each_kind_of_trigger_runs_the_agent_and_is_remembered(agent, daemon, tmp_path, clock):
    (tmp_path / "notes").mkdir()
    ann = agent(
        CRON,
        {"type": "file_watch", "paths": ["notes"], "debounce_seconds": 0},
        {"type": "webhook", "port": 0},
    )
    running = daemon(ann)
    url = running.until(r"http://\S+")[0]
    clock.forward(minutes=1)
    running.until("^cron: Done: tick$")
    (tmp_path / "notes" / "a.md").write_text("x")
    running.until(r"^file_watch: Done: File changed: .*a\.md$")
    assert httpx.post(url, content="Hello", trust_env=False, timeout=PATIENCE).status_code == 202
    running.until("^webhook: Done: Hello$")
    running.end()
    remembered = episodes(ann)
    assert [memory.metadata["trigger_type"] for memory in remembered] == [
        "cron",
        "file_watch",
        "webhook",
    ]
    assert remembered[0].content == "Daemon trigger (cron): Done: tick"
    assert remembered[0].metadata == {"trigger_type": "cron"}
    assert remembered[1].metadata["path"] == str(tmp_path / "notes" / "a.md")
    assert remembered[2].metadata["trust"] == "external"


def test_a_run_that_fails_is_told_and_remembered_and_the_next_one_works(
    agent, daemon, script, clock
):
    answers = iter([RuntimeError("no such luck"), "better"])

    def answer(prompt):
        given = next(answers)
        if isinstance(given, Exception):
            raise given
        return given

    script.answer = answer
    ann = agent(CRON)
    running = daemon(ann)
    running.until("^cron '")
    clock.forward(minutes=1)
    running.until("^cron: the run failed: .*no such luck")
    clock.forward(minutes=1)
    running.until("^cron: better$")
    running.end()
    failed, worked = episodes(ann)
    assert failed.content.startswith("Daemon trigger (cron): the run failed: ")
    assert "no such luck" in failed.content
    assert worked.content == "Daemon trigger (cron): better"


def test_a_long_answer_is_remembered_in_part(agent, script, clock):
    script.answer = lambda prompt: "x" * 2000
    ann, stop = agent(CRON), threading.Event()
    service = Service(ann, stop=stop, report=lambda line: stop.set())
    assert service.offer(Firing("cron", "go"))
    service.work()
    assert episodes(ann)[0].content == "Daemon trigger (cron): " + "x" * 500


def test_stopping_finishes_the_run_at_hand_and_drops_the_rest(agent, script, clock):
    ann, stop, lines = agent(CRON), threading.Event(), []

    def answer(prompt):
        stop.set()
        return "finished"

    script.answer = answer
    service = Service(ann, stop=stop, report=lines.append)
    service.open()
    for prompt in ["first", "second", "third"]:
        assert service.offer(Firing("cron", prompt))
    service.work()
    service.close()
    assert not service.offer(Firing("cron", "too late"))
    assert lines[:3] == [
        "cron: finished",
        "cron: dropped because of the shutdown: second",
        "cron: dropped because of the shutdown: third",
    ]
    assert script.asked.qsize() >= 1
    assert script.asked.get() == "first"


def test_firings_beyond_the_room_are_refused(agent, clock):
    service = Service(agent(CRON), stop=threading.Event(), report=print, room=2)
    assert [service.offer(Firing("cron", "x")) for _ in range(3)] == [True, True, False]
    assert not service.offer(Firing("cron", "x"), wait=0.3)


def test_the_session_ends_and_episodes_become_facts(agent, daemon, script, clock):
    ann = agent(CRON)
    script.answer = lambda prompt: (
        "fact: Ann prefers tea." if "tick" not in prompt else "Ann prefers tea."
    )
    running = daemon(ann)
    running.until("^cron '")
    clock.forward(minutes=1)
    running.until("^cron: Ann prefers tea")
    lines = running.end()
    [session] = ann.memory.hf.sessions.list()
    assert (session.metadata["mode"], session.end_reason) == ("daemon", "shutdown")
    assert [memory.content for memory in ann.memory.listed(type_="semantic")] == [
        "Ann prefers tea."
    ]
    assert lines[-1] == "Created 1 semantic memories from episodic data."


def test_consolidation_by_hand_only_is_left_to_the_hand(agent, daemon, script, clock):
    ann = agent(CRON, memory={**MEMORY, "consolidation": {"interval": "manual"}})
    running = daemon(ann)
    running.until("^cron '")
    clock.forward(minutes=1)
    running.until("^cron: Done")
    running.end()
    assert script.asked.qsize() == 1
    assert not ann.memory.listed(type_="semantic")


def test_an_agent_without_memory_serves_too(agent, daemon, clock):
    ann = agent(CRON, memory=None)
    running = daemon(ann)
    running.until("^cron '")
    clock.forward(minutes=1)
    running.until("^cron: Done: tick$")
    assert running.end()[-1] == "cron: Done: tick"
    assert ann.memory is None


def test_an_agent_without_triggers_says_so(agent, clock):
    with pytest.raises(InvalidInput, match=r"has no triggers.*type: cron"):
        serve(agent(), clock=clock, stop=threading.Event(), report=print, environ={})


def test_a_trigger_that_cannot_work_leaves_no_session_behind(agent, clock):
    ann = agent({**CRON, "timezone": "Atlantis"})
    with pytest.raises(InvalidInput, match="Atlantis"):
        serve(ann, clock=clock, stop=threading.Event(), report=print, environ={})
    assert not ann.memory.exists


HANGING = """
import threading
from holdfast.agents.daemon import stop_on_signals
stop = threading.Event()
stop_on_signals(stop)
print("ready", flush=True)
stop.wait()
print("stopping", flush=True)
threading.Event().wait()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to a process")
@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_and_another_interrupt_ends_it_at_once(first):
    with subprocess.Popen(
        [sys.executable, "-c", HANGING], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(first)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT
