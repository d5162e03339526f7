"""Seed 000, memory that several agents use: one file, a compose file, a delegate tool, a Postgres
server.
"""

from __future__ import annotations

import json
import signal
import time

import pytest
from pydantic_ai.models.function import FunctionModel
from scripted import calling

from holdfast.agents.message_history import of_agent
from holdfast.agents.role import load_compose, load_role
from patience import PATIENCE


def test_on_a_server_every_agent_has_a_memory_of_its_own_unless_the_roles_name_a_common_one(
    write_role, memory_of, postgres_store_url
):
    def memory(name, more=""):
        config = f"{{store_path: '{postgres_store_url}', embeddings: {{provider: none}}{more}}}"
        return memory_of(write_role(config, name=name, file=f"{name}.yaml"))

    alice, bob = memory("alice"), memory("bob")
    alice.remember("semantic", "the vault is open")
    assert bob.recall("vault") == []
    assert str(alice.scope) == "agent:alice"
    team = ", scope: 'shared:team'"
    memory("carol", team).remember("semantic", "the garden is open")
    assert memory("dave", team).recall("garden")[0].memory.content == "the garden is open"


def test_sessions_caps_and_consolidation_work_on_a_server(
    write_role, memory_of, postgres_store_url
):
    config = (
        f"{{store_path: '{postgres_store_url}', embeddings: {{provider: none}}, semantic: "
        f"{{max_memories: 2}}}}"
    )
    memory = memory_of(write_role(config), complete=lambda prompt: "fact: staging runs v2.1")
    for number in range(4):
        memory.remember("semantic", f"fact {number}")
    assert len(memory.listed()) == 2
    memory.remember("episodic", "deployed v2.1")
    session = memory.open_session("interactive")
    assert memory.save(
        session, [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hello"}]}]
    )
    assert memory.latest()[0]["parts"][0]["content"] == "hello"
    lines = memory.end_session(session, reason="ended", consolidate=True)
    assert lines == ["Created 1 semantic memories from episodic data."]
    assert [one.end_reason for one in of_agent(memory.hf, "assistant")] == ["ended"]


def test_without_a_store_path_the_server_in_use_is_taken(
    write_role, memory_of, postgres_store_url, monkeypatch
):
    monkeypatch.setenv("HOLDFAST_STORE", postgres_store_url)
    memory = memory_of(write_role())
    assert (memory.place, str(memory.scope)) == (postgres_store_url, "agent:assistant")


def test_agents_behind_a_delegate_tool_share_a_memory_that_the_caller_is_no_part_of(
    write_role, agent_of, tmp_path
):
    none = "{embeddings: {provider: none}}"
    write_role(none, name="researcher", file="researcher.yaml")
    write_role(memory="", name="writer", file="writer.yaml")
    path = write_role(
        none,
        name="chief",
        file="chief.yaml",
        more=f"""
  tools:
    - type: delegate
      agents:
        - {{name: researcher, role_file: researcher.yaml}}
        - {{name: writer, role_file: writer.yaml}}
      shared_memory: {{store_path: {tmp_path}/team.db}}""",
    )

    def respond(messages, info):
        tools = {tool.name for tool in info.function_tools}
        steps = {
            True: [
                ("delegate_to_researcher", {"prompt": "learn"}),
                ("delegate_to_writer", {"prompt": "write"}),
            ],
            False: [("remember", {"content": "whales sing"})]
            if "learn" in str(messages[0])
            else [("recall", {"query": "whales"})],
        }["delegate_to_researcher" in tools]
        done = sum(
            part.part_kind == "tool-return" for message in messages for part in message.parts
        )
        return calling(*steps[done:]).function(messages, info)

    chief = agent_of(path, FunctionModel(respond))
    assert "whales sing" in chief.run("go").text
    assert (tmp_path / "team.db").exists()
    assert not chief.memory.exists or chief.memory.listed() == []


def test_a_shared_memory_changes_a_role_s_cap_only_where_it_names_one(write_role, tmp_path):
    """Seed: the path is overridden, and optionally the cap."""
    role = load_role(write_role("{semantic: {max_memories: 7}}"))
    caps = [role.sharing("team.db", cap).spec.memory.semantic.max_memories for cap in (None, 5)]
    assert caps == [7, 5]
    bare = load_role(write_role(memory=""))
    assert bare.sharing("team.db", None).spec.memory.semantic.max_memories == 1000
    path = tmp_path / "compose.yaml"
    path.write_text(
        "apiVersion: holdfast/v1\nkind: Compose\nmetadata: {name: office}\nspec:\n  services: {a: "
        "{role: a.yaml}}\n"
        "  shared_memory: {enabled: true}\n"
    )
    assert load_compose(path).spec.shared_memory.max_memories is None


def test_a_compose_file_runs_its_services_on_one_memory(process, write_role, cli, tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    trigger = f"""
  triggers:
    - {{type: file_watch, paths: ["{inbox}"], debounce_seconds: 0.1,
       prompt_template: "Mail came: {{path}}"}}"""
    write_role(memory="", name="reader", file="reader.yaml", more=trigger)
    write_role(memory="", name="writer", file="writer.yaml")
    shared = tmp_path / "shared.db"
    (tmp_path / "compose.yaml").write_text(
        "apiVersion: holdfast/v1\nkind: Compose\nmetadata: {name: office}\nspec:\n  services:\n"
        "    reader: {role: reader.yaml, sink: {type: delegate, target: writer}}\n"
        "    writer: {role: writer.yaml, depends_on: [reader]}\n"
        f"  shared_memory: {{enabled: true, store_path: {shared}}}\n"
    )
    run = process("agent", "compose", "up", tmp_path / "compose.yaml")
    seen = write_role(
        f"{{store_path: {shared}, embeddings: {{provider: none}}}}", file="looker.yaml"
    )
    deadline = time.monotonic() + PATIENCE
    types = set()
    while {"file_watch", "delegate"} - types:
        assert time.monotonic() < deadline, run.popen.poll()
        (inbox / f"{time.monotonic_ns()}.md").write_text("hello")
        time.sleep(0.3)
        listed = json.loads(
            cli("memory", "list", seen, "--type", "episodic", "--limit", "100", "--json").out
            or "[]"
        )
        types = {one["metadata"]["trigger_type"] for one in listed}
    run.popen.send_signal(signal.SIGTERM)
    code, _, err = run.end()
    assert code == 0, err
    assert "[semantic:" in cli("memory", "list", seen, "--limit", "100").out


@pytest.mark.parametrize("text", ["apiVersion: holdfast/v1\nkind: Agent\n", "nothing"])
def test_a_file_that_is_no_composition_is_refused(cli, tmp_path, text):
    (tmp_path / "compose.yaml").write_text(text)
    assert cli("agent", "compose", "up", tmp_path / "compose.yaml").code == 2
