"""What the tests of the role contracts share: role files, agents of them, and the real command in a
real process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from projects import Builder, Shop
from provider import Provider

from holdfast import Holdfast, Settings
from holdfast.agents.agent_runner import RoleAgent
from holdfast.agents.role import load_role
from holdfast.agents.role_memory import RoleMemory
from holdfast.integrations.agent_tools import Keeper
from patience import PATIENCE

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")
ROLE = """\
apiVersion: {api}
kind: Agent
metadata:
  name: {name}
spec:
  role: You are a helpful assistant.
  model: {model}
{memory}{more}
"""


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


@pytest.fixture
def write_role(tmp_path):
    """Writes a role file. Without vectors unless told: most contracts are not about them."""

    def write(
        memory="{embeddings: {provider: none}}",
        *,
        name="assistant",
        model="{provider: offline}",
        more="",
        api="initrunner/v1",
        file="role.yaml",
    ):
        path = tmp_path / file
        kept = f"  memory: {memory}\n" if memory else ""
        path.write_text(ROLE.format(api=api, name=name, model=model, memory=kept, more=more))
        return path

    return write


@pytest.fixture
def memory_of(clock):
    """The memory of a role file; `complete` is what a model answers when it consolidates."""
    opened = []

    def open_(path, *, complete=None):
        memory = RoleMemory(
            load_role(path), clock=clock, complete=(lambda: complete) if complete else None
        )
        opened.append(memory)
        return memory

    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def agent_of(clock):
    """The agent of a role file, with a model of the test's choice."""
    opened = []

    def open_(path, model=None, **options):
        agent = RoleAgent.open(load_role(path), model=model, clock=clock, **options)
        opened.append(agent)
        return agent

    yield open_
    for agent in opened:
        agent.close()


class Process:
    """The real command, in a process of its own."""

    def __init__(self, *args: object, env: dict[str, str], cwd: Path) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "holdfast", *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            cwd=cwd,
        )

    def say(self, line: str) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def hear(self, words: str) -> str:
        """Reads what it prints until these words come."""
        assert self.popen.stdout is not None
        heard = ""
        while words not in heard:
            line = self.popen.stdout.readline()
            assert line, f"it ended without {words!r}: {heard!r} {self.popen.stderr.read()!r}"
            heard += line
        return heard

    def end(self, stdin: str = "") -> tuple[int, str, str]:
        out, err = self.popen.communicate(stdin or None, timeout=PATIENCE)
        return self.popen.returncode, out, err


@contextmanager
def serving(server):
    """The server, answering."""
    with server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def provider():
    """A model provider on this machine."""
    with serving(Provider()) as server:
        yield server


@pytest.fixture
def builder():
    """A model on this machine that builds the memory of projects."""
    with serving(Builder()) as server:
        yield server
        server.let_go()


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A project with a past, in which everything runs from here on."""
    shop = Shop(tmp_path / "shop")
    monkeypatch.chdir(shop.folder)
    yield shop
    shop.close()


@pytest.fixture
def process(tmp_path):
    """Starts the command for real; whatever still runs at the end of the test is killed."""
    started = []

    def start(*args, cwd=tmp_path, **env):
        one = Process(*args, env={**os.environ, **env}, cwd=cwd)
        started.append(one)
        return one

    yield start
    for one in started:
        if one.popen.poll() is None:
            one.popen.kill()
        one.popen.communicate()


@pytest.fixture
def ann(tmp_path, clock):
    """Ann's memory, in which words must do, and unused facts fade by the seed's formula."""
    path = tmp_path / "memory.db"
    settings = Settings(embedding_models="none", vocabulary="monthly")
    with Holdfast.open(path, scope="user:ann", settings=settings, clock=clock) as hf:
        yield hf


@pytest.fixture
def keeper(ann):
    """Ann's memory as the program sees it that hosts her agent."""
    return Keeper(ann)


@pytest.fixture
def tools(keeper):
    """The twelve tools by name."""
    return {
        function.__name__: function
        for function in (*keeper.get_tools(), *keeper.get_consolidator_tools())
    }
