"""Holdfast with none of its extras, and with one of them: what works, and what says which extra it
needs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def _only(extras: str, *how: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(__file__).with_name("only.py")), extras, *how]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | env
    )


WITHOUT = """
import sys
from holdfast import Holdfast
from holdfast.cli.app import run
from holdfast.server.mcp.dispatch import Methods

with Holdfast.open("memory.db", scope="user:ann") as hf:
    hf.remember("Prefers green tea")
    assert hf.recall("which tea?")[0].memory.content == "Prefers green tea"
    assert len(Methods(lambda: hf).answer("tools/list", {}, client="a client")["tools"]) == 10
for command in (
    ["remember", "The spare key is under the blue pot"],
    ["recall", "where is the key?"],
    ["capture", "--session", "monday", "--role", "user", "My sister Ines lives in Lisbon"],
    ["worker", "once", "consolidate"],
    ["project", "init"],
    ["record", "add", "Use pnpm", "--category", "decisions"],
    ["hook", "install", "claude-code", "--yes"],
    ["mcp", "install", "codex", "--yes"],
    ["serve", "keys", "add", "ann"],
    ["store", "status"],
    ["settings"],
    ["export", "-o", "all.jsonl"],
):
    assert run(command) == 0, command
loaded = {name.partition(".")[0] for name in sys.modules}
heavy = {"pydantic_ai", "fastapi", "mcp", "psycopg", "textual", "opentelemetry", "packaging"}
assert not loaded & heavy, loaded
"""


def test_the_base_works_without_any_extra(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = _only("", "-c", WITHOUT)
    assert done.returncode == 0, done.stderr


WITHOUT_ONNXRUNTIME = """
import sys
from importlib.machinery import PathFinder

class WithoutIt(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "onnxruntime" else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutIt
from holdfast import Holdfast
from holdfast.cli.app import run

with Holdfast.open("memory.db", scope="user:ann") as hf:
    hf.remember("Prefers dark mode in every editor")
    hf.capture("monday", "user", "My sister Ines lives in Lisbon and I moved to Porto.")
    hf.sessions.end("monday")
    for deep in (False, True):
        found = hf.recall("which theme does she like?", deep=deep)
        assert found[0].memory.content == "Prefers dark mode in every editor"
run(["doctor", "--store", "memory.db"])
"""


def test_the_fast_model_works_on_platforms_without_onnxruntime(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ONNXRUNTIME], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "embedding model encoder: The better embedding model" in done.stdout
    assert "Not reranked" in done.stderr and "pip install onnxruntime" in done.stderr


NEEDED = """
import sys
from importlib import import_module
from holdfast import Holdfast, HoldfastError, Settings
from holdfast.cli.app import run

open("role.yaml", "w").write('''apiVersion: holdfast/v1
kind: Agent
metadata: {name: helper}
spec: {role: Helps., model: {provider: offline, name: offline}}
''')
for command in (
    ["serve"],
    ["proxy", "--upstream", "http://127.0.0.1:9/v1"],
    ["mcp", "--http"],
    ["run", "role.yaml", "-p", "hello"],
    ["agent", "compose", "up", "role.yaml"],
    ["recall", "tea", "--store", "postgresql://nobody@127.0.0.1:1/none"],
    ["store", "init", "postgresql://nobody@127.0.0.1:1/none"],
):
    print(*command, flush=True)
    sys.stderr = sys.stdout
    assert run(command) != 0, command
for module in ("pydantic_ai", "openai_agents", "langgraph"):
    print(module)
    try:
        import_module(f"holdfast.integrations.{module}")
    except ImportError as error:
        assert isinstance(error, HoldfastError)
        print(error)
print("anthropic")
from holdfast.integrations.anthropic import memory_tool
try:
    settings = Settings(embedding_models="none")
    memory_tool(Holdfast.open(":memory:", scope="user:ann", settings=settings))
except HoldfastError as error:
    print(error)
print("embeddings")
settings = Settings(embedding_models="openai:text-embedding-3-small")
with Holdfast.open(":memory:", scope="user:ann", settings=settings) as hf:
    tea = hf.remember("Prefers green tea")
    assert hf.recall("which tea?")[0].memory.id == tea.id  # words do meanwhile
    print(hf.stats()["problems"])
print("model")
from holdfast.models.llm.chat import complete_for
try:
    complete_for("openai:gpt-5-mini", environ={"OPENAI_API_KEY": "none"})("Good morning")
except HoldfastError as error:
    print(error)
"""

SAYS = {
    "serve": "server",
    "proxy --upstream http://127.0.0.1:9/v1": "server",
    "mcp --http": "mcp,server",
    "run role.yaml -p hello": "agent",
    "agent compose up role.yaml": "agent",
    "recall tea --store postgresql://nobody@127.0.0.1:1/none": "postgres",
    "store init postgresql://nobody@127.0.0.1:1/none": "postgres",
    "pydantic_ai": "llm",
    "openai_agents": "openai-agents",
    "langgraph": "langgraph",
    "anthropic": "anthropic",
    "embeddings": "llm",
    "model": "llm",
}


def test_what_needs_an_extra_says_which_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = _only("", "-c", NEEDED, OPENAI_API_KEY="none")
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.split(rf"^({'|'.join(map(re.escape, SAYS))})$", done.stdout, flags=re.MULTILINE)[1:]
    named = [
        set(re.findall(r"pip install 'holdfast-memory\[([\w,-]+)\]'", text)) for text in told[1::2]
    ]
    found = dict(zip(told[::2], named, strict=True))
    assert found == {name: {extra} for name, extra in SAYS.items()}


ALONE = {
    "server": (
        "from holdfast.server.http_app import create_app\n"
        "from holdfast.server.proxy.proxy_app import Proxy"
    ),
    "mcp,server": "from holdfast.server.mcp.http import create_app",
    "agent": (
        "from holdfast.agents.agent_runner import RoleAgent; from holdfast.agents import tui, "
        "daemon; tui.chat_app"
    ),
    "postgres": "from holdfast.storage.postgres import PostgresStore",
    "llm": "from holdfast.integrations.pydantic_ai import HoldfastMemory\n"
    "from holdfast.models.llm.chat import chat_model; chat_model('openai', 'gpt-5-mini', "
    "key='none')",
    "openai-agents": "from holdfast.integrations.openai_agents import HoldfastMemory",
    "langgraph": "from holdfast.integrations.langgraph import HoldfastStore",
    "anthropic": "from holdfast.integrations.anthropic import memory_tool; import anthropic",
    "telemetry": "import opentelemetry.trace, holdfast.telemetry",
}


@pytest.mark.parametrize("extra", ALONE)
def test_an_extra_has_all_that_its_feature_needs(extra, tmp_path, monkeypatch, pytestconfig):
    if not pytestconfig.getoption("walk"):
        pytest.skip("`make walk` tries each extra alone")
    monkeypatch.chdir(tmp_path)
    done = _only(extra, "-c", ALONE[extra])
    assert done.returncode == 0, done.stderr
