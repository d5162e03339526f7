"""Delegation: real agents that call each other through their tools, with scripted models."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from holdfast.agents.agent_runner import RoleAgent
from holdfast.agents.delegate import delegate_tools
from holdfast.agents.role import load_role
from holdfast.agents.role_memory import RoleMemory
from holdfast.errors import InvalidInput

QUIET = {"embeddings": {"provider": "none"}}


def relay(messages, info):
    """Hands the prompt on by the first delegate tool there is, and answers with what comes back;
    else remembers it.
    """
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    for part in last.parts:
        if isinstance(part, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"<{part.content}>")])
    prompt = last.parts[-1].content
    tools = [tool.name for tool in info.function_tools]
    for name in tools:
        if name.startswith("delegate_to_"):
            return ModelResponse(parts=[ToolCallPart(name, {"prompt": prompt})])
    if "remember" in tools:
        return ModelResponse(parts=[ToolCallPart("remember", {"content": prompt})])
    return ModelResponse(parts=[TextPart(f"echo {prompt}")])


class Team:
    """Role files in a folder, opened with one model for all."""

    def __init__(self, folder, clock):
        self.folder, self.clock, self.opened = folder, clock, []
        self.model = FunctionModel(relay)

    def role(self, name, *agents, folder=".", memory=None, guardrails=None, **delegate):
        tools = [{"type": "delegate", "agents": agents, **delegate}] if agents else []
        spec = {
            "role": f"You are {name}.",
            "model": {"provider": "offline"},
            "tools": tools,
            "memory": memory,
        }
        if guardrails:
            spec["guardrails"] = guardrails
        file = self.folder / folder / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        role = {
            "apiVersion": "holdfast/v1",
            "kind": "Agent",
            "metadata": {"name": name},
            "spec": spec,
        }
        file.write_text(json.dumps(role))
        return load_role(file)

    def open(self, role, chain=()):
        self.opened.append(RoleAgent.open(role, clock=self.clock, model=self.model, chain=chain))
        return self.opened[-1]

    def tools(self, role, chain=()):
        return {tool.name: tool for tool in delegate_tools(role, chain=chain, open_agent=self.open)}

    def call(self, role, tool, prompt="hello", chain=()):
        return asyncio.run(self.tools(role, chain)[tool].function(prompt))


@pytest.fixture
def team(tmp_path, clock):
    team = Team(tmp_path, clock)
    yield team
    for agent in team.opened:
        agent.close()


def agent(name, file=None, **more):
    return {"name": name, "role_file": file or f"./{name}.yaml", **more}


def test_each_agent_is_a_tool_with_a_prompt(team):
    lead = team.role("lead", agent("fact-checker", description="Checks facts."), agent("writer"))
    tools = team.tools(lead)
    assert list(tools) == ["delegate_to_fact_checker", "delegate_to_writer"]
    checker = tools["delegate_to_fact_checker"].function_schema
    assert tools["delegate_to_fact_checker"].description == "Checks facts."
    assert "writer" in tools["delegate_to_writer"].description
    assert list(checker.json_schema["properties"]) == checker.json_schema["required"] == ["prompt"]


def test_a_role_without_delegates_has_no_such_tools(team):
    assert not team.tools(team.role("lead"))


def test_the_answer_of_the_other_agent_comes_back(team):
    team.role("writer", folder="others")
    lead = team.role("lead", agent("writer", "others/writer.yaml"))
    assert team.open(lead).run("hello").text == "<echo hello>"


def test_two_agents_with_one_tool_name(team):
    with pytest.raises(InvalidInput, match="delegate_to_a_b"):
        team.tools(team.role("lead", agent("a-b"), agent("a_b")))


def test_delegation_goes_as_deep_as_allowed_and_no_deeper(team):
    for name, next_ in ["ab", "bc", "cd", "de"]:
        team.role(name, agent(next_))
    team.role("e")
    error = "[DELEGATION ERROR] Delegation depth 4 exceeds max_depth 3 (chain: a -> b -> c -> d)"
    assert team.open(load_role(team.folder / "a.yaml")).run("hello").text == f"<<<<{error}>>>>"
    assert team.open(load_role(team.folder / "b.yaml")).run("hello").text == "<<<echo hello>>>"


def test_an_agent_that_calls_itself_comes_to_an_end(team):
    echo = team.role("echo", agent("echo"), max_depth=2)
    assert (
        "Delegation depth 3 exceeds max_depth 2 (chain: echo -> echo -> echo)"
        in team.open(echo).run("x").text
    )


def test_an_agent_that_cannot_be_loaded(team):
    lead = team.role("lead", agent("x"), agent("broken"))
    (team.folder / "broken.yaml").write_text("apiVersion: [")
    said = team.call(lead, "delegate_to_x")
    assert said.startswith(
        "[DELEGATION ERROR] Failed to load agent from ./x.yaml: There is no file"
    )
    said = team.call(lead, "delegate_to_broken")
    assert said.startswith("[DELEGATION ERROR] Failed to load agent from ./broken.yaml: ")


def test_an_agent_that_fails(team):
    def fail(messages, info):
        raise RuntimeError("no luck")

    team.role("x")
    team.model = FunctionModel(fail)
    assert team.call(team.role("lead", agent("x")), "delegate_to_x") == (
        "[DELEGATION ERROR] Agent 'x' failed: no luck"
    )


def test_an_agent_that_cannot_be_opened(team):
    lead = team.role("lead", agent("x"))
    team.role("x", memory={"store_path": "/elsewhere.db", **QUIET})
    file = team.folder / "x.yaml"
    role = json.loads(file.read_text())
    role["spec"]["security"] = {"tools": {"restrict_db_paths": True}}
    file.write_text(json.dumps(role))
    said = team.call(lead, "delegate_to_x")
    assert said.startswith(
        "[DELEGATION ERROR] Agent 'x' failed: Store path '/elsewhere.db' is outside"
    )


@pytest.mark.parametrize(
    "limits", [{"timeout_seconds": 0.5}, {"guardrails": {"timeout_seconds": 0.5}}]
)
def test_an_agent_that_takes_too_long_is_stopped(team, limits):
    asked, stopped = threading.Event(), threading.Event()

    async def hang(messages, info):
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    guardrails = limits.pop("guardrails", None)
    team.role("x", guardrails=guardrails)
    team.model = FunctionModel(hang)
    said = team.call(team.role("lead", agent("x"), **limits), "delegate_to_x")
    assert said == "[DELEGATION ERROR] Agent 'x' timed out after 0.5 seconds"
    # On a crowded machine the time may be over before the model is asked.
    assert stopped.is_set() == asked.is_set()


def test_a_time_limit_of_somebody_else_is_a_failure(team):
    def late(messages, info):
        raise TimeoutError("the server took too long")

    team.role("x")
    team.model = FunctionModel(late)
    said = team.call(team.role("lead", agent("x")), "delegate_to_x")
    assert said == "[DELEGATION ERROR] Agent 'x' failed: the server took too long"


def test_the_agents_behind_a_tool_share_a_memory_in_which_the_caller_has_no_part(team):
    team.role("a", folder="others")
    team.role("b", folder="others", memory={"store_path": "own.db", **QUIET})
    lead = team.role(
        "lead",
        agent("a", "others/a.yaml"),
        agent("b", "others/b.yaml"),
        memory={"store_path": "lead.db", **QUIET},
        shared_memory={"store_path": "./team.db", "max_memories": 7},
    )
    assert "Remembered" in team.call(lead, "delegate_to_a", "Tea is hot.")
    assert "Remembered" in team.call(lead, "delegate_to_b", "Ice is cold.")
    shared = RoleMemory(lead.sharing("team.db", 7), clock=team.clock)
    assert {memory.content for memory in shared.listed()} == {"Tea is hot.", "Ice is cold."}
    shared.close()
    assert {agent.memory.config.semantic.max_memories for agent in team.opened} == {7}
    assert not (team.folder / "lead.db").exists()
    assert not (team.folder / "others" / "own.db").exists()


def test_a_shared_memory_on_a_server_has_a_scope_of_its_own(team):
    seen = []

    def note(role, chain):
        seen.append((role.spec.memory.store_path, role.spec.memory.scope, chain))
        raise RuntimeError("not now")

    url = "postgresql://db.example/team"
    team.role("a")
    lead = team.role("lead", agent("a"), shared_memory={"store_path": url})
    [tool] = delegate_tools(lead, chain=("boss",), open_agent=note)
    assert asyncio.run(tool.function("hello")) == "[DELEGATION ERROR] Agent 'a' failed: not now"
    assert seen == [(url, "shared:lead", ("boss", "lead"))]


def test_any_agent_can_use_the_tools(team):
    team.role("writer")
    tools = list(team.tools(team.role("lead", agent("writer"))).values())
    answer = asyncio.run(Agent(TestModel(), tools=tools).run("go")).output
    assert answer == '{"delegate_to_writer":"echo a"}'
