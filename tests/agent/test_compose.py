"""Compositions: several real agents with scripted models in one process."""

from __future__ import annotations

import json
import re
import threading
from queue import Queue

import httpx
import pytest
from pydantic_ai.messages import ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from holdfast import config
from holdfast.agents.compose import up
from holdfast.agents.role import load_compose, load_role
from holdfast.agents.role_memory import RoleMemory
from holdfast.errors import InvalidInput
from patience import PATIENCE
from servers import free_port

HOOK = {"type": "webhook", "port": 0}
CRON = {"type": "cron", "schedule": "* * * * *", "prompt": "tick"}
HEAD = {"apiVersion": "holdfast/v1"}
MANUAL = {"embeddings": {"provider": "none"}, "consolidation": {"interval": "manual"}}


class Stage:
    """A folder with a compose file and its roles, and `up` on a thread."""

    def __init__(self, folder, clock):
        self.folder, self.clock = folder, clock
        self.stop, self.told, self.lines = threading.Event(), Queue(), []
        self.answers = {}
        self.thread = None

    def role(self, name, *triggers, memory=MANUAL):
        spec = {
            "role": f"You are {name}.",
            "model": {"provider": "offline"},
            "triggers": triggers,
            "memory": memory,
        }
        role = {**HEAD, "kind": "Agent", "metadata": {"name": name}, "spec": spec}
        (self.folder / f"{name}.yaml").write_text(json.dumps(role))

    def compose(self, services, **spec):
        named = {name: {"role": f"./{name}.yaml", **service} for name, service in services.items()}
        whole = {
            **HEAD,
            "kind": "Compose",
            "metadata": {"name": "team"},
            "spec": {"services": named, **spec},
        }
        (self.folder / "compose.yaml").write_text(json.dumps(whole))
        return load_compose(self.folder / "compose.yaml")

    def model_for(self, service):
        def respond(messages, info):
            prompt = next(
                part.content for part in messages[-1].parts if isinstance(part, UserPromptPart)
            )
            answer = self.answers.get(service, lambda said: f"{service}({said})")
            return ModelResponse(parts=[TextPart(answer(prompt))])

        return FunctionModel(respond)

    def up(self, services, **spec):
        up(
            self.compose(services, **spec),
            clock=self.clock,
            stop=self.stop,
            report=self.told.put,
            environ={},
            model_for=self.model_for,
        )

    def start(self, services, **spec):
        self.thread = threading.Thread(target=self.up, args=(services,), kwargs=spec)
        self.thread.start()

    def until(self, pattern):
        while True:
            self.lines.append(self.told.get(timeout=PATIENCE))
            if match := re.search(pattern, self.lines[-1]):
                return match

    def send(self, url, text):
        return httpx.post(url, content=text, trust_env=False, timeout=PATIENCE).status_code

    def end(self):
        self.stop.set()
        if self.thread:
            self.thread.join(PATIENCE)
            assert not self.thread.is_alive()
        while not self.told.empty():
            self.lines.append(self.told.get())
        return self.lines

    def memories(self, role, **memory):
        """What a role's memory holds, the oldest first."""
        whole = load_role(self.folder / f"{role}.yaml")
        opened = RoleMemory(
            whole.with_memory(whole.spec.memory.model_copy(update=memory)), clock=self.clock
        )
        try:
            return list(reversed(opened.listed(limit=None))), opened.hf.sessions.list()
        finally:
            opened.close()


@pytest.fixture
def stage(tmp_path, clock):
    stage = Stage(tmp_path, clock)
    yield stage
    stage.end()


def to(*targets, **more):
    return {"sink": {"type": "delegate", "target": list(targets), **more}}


def test_an_answer_becomes_the_prompt_of_the_next_service(stage):
    stage.role("reader", HOOK)
    stage.role("writer")
    stage.role("critic")
    stage.start(
        {"reader": to("writer", "critic"), "writer": {}, "critic": {}},
        shared_memory={"enabled": True},
    )
    url = stage.until(r"^reader: listening for POST at (\S+)")[1]
    assert stage.send(url, "news") == 202
    stage.until(r"^reader: webhook: reader\(news\)$")
    done = {stage.until(r"delegate: (.*)")[1], stage.until(r"delegate: (.*)")[1]}
    assert done == {"writer(reader(news))", "critic(reader(news))"}
    stage.end()
    memories, sessions = stage.memories("reader", store_path=str(config.agent_store("team-shared")))
    kinds = sorted(
        (m.metadata["trigger_type"], m.metadata.get("from", ""), m.metadata["trust"])
        for m in memories
    )
    assert kinds == [
        ("delegate", "reader", "external"),
        ("delegate", "reader", "external"),
        ("webhook", "", "external"),
    ]
    assert {(one.agent, one.end_reason) for one in sessions} == {
        ("reader", "shutdown"),
        ("writer", "shutdown"),
        ("critic", "shutdown"),
    }


def test_without_a_shared_memory_each_has_its_own(stage):
    stage.role("reader", HOOK, memory={**MANUAL, "store_path": "r.db"})
    stage.role("writer", memory={**MANUAL, "store_path": "w.db"})
    stage.start({"reader": to("writer"), "writer": {}})
    stage.send(stage.until(r"http://\S+")[0], "news")
    stage.until("^writer: delegate")
    stage.end()
    assert [m.metadata["trigger_type"] for m in stage.memories("reader")[0]] == ["webhook"]
    assert [m.metadata["trigger_type"] for m in stage.memories("writer")[0]] == ["delegate"]


def test_a_shared_memory_lies_beside_the_compose_file_and_has_its_own_cap(stage):
    stage.role("reader", HOOK, memory=None)
    stage.start(
        {"reader": {}},
        shared_memory={"enabled": True, "store_path": "./both.db", "max_memories": 5},
    )
    stage.until("http")
    stage.end()
    assert (stage.folder / "both.db").exists()


def test_a_failed_run_is_not_handed_on(stage):
    def answer(prompt):
        if prompt == "bad":
            raise RuntimeError("no luck")
        return prompt

    stage.answers["reader"] = answer
    stage.role("reader", HOOK)
    stage.role("writer")
    stage.start({"reader": to("writer"), "writer": {}})
    url = stage.until(r"http://\S+")[0]
    stage.send(url, "bad")
    stage.until("^reader: webhook: the run failed: .*no luck")
    stage.send(url, "good")
    assert stage.until(r"^writer: delegate: (.*)")[1] == "writer(good)"


def test_an_answer_that_nobody_takes_in_time_is_dropped(stage):
    busy, release = threading.Event(), threading.Event()

    def answer(prompt):
        busy.set()
        release.wait(PATIENCE)
        return prompt

    stage.answers["writer"] = answer
    stage.role("reader", HOOK)
    stage.role("writer")
    stage.start({"reader": to("writer", queue_size=1, timeout_seconds=0.1), "writer": {}})
    url = stage.until(r"http://\S+")[0]
    stage.send(url, "one")
    assert busy.wait(PATIENCE)
    for text in ["two", "three"]:
        stage.send(url, text)
    stage.until(
        r"^reader: an answer for writer was dropped because writer had no room for 0.1 s: "
        r"reader\(three"
    )
    stage.stop.set()
    release.set()
    assert "writer: delegate: dropped because of the shutdown: reader(two)" in stage.end()


def test_services_start_in_order_and_end_in_reverse(stage):
    for name in ["a", "b", "c"]:
        stage.role(name, CRON, memory={**MANUAL, "store_path": "one.db", "consolidation": {}})
        stage.answers[name] = lambda prompt: (
            "fact: it is done" if "tick" not in prompt else "it is done"
        )
    stage.start({"a": {"depends_on": ["b"]}, "b": {"depends_on": ["c"]}, "c": {}})
    stage.until("^a: cron '")
    assert [line[0] for line in stage.lines] == ["c", "b", "a"]
    stage.clock.forward(minutes=1)
    for _ in range(3):
        stage.until(": cron: it is done")
    lines = stage.end()
    assert [line[0] for line in lines if "Created" in line][:1] == ["a"]


@pytest.mark.parametrize(
    ("services", "said"),
    [
        (
            {"a": {"depends_on": ["b"]}, "b": {"depends_on": ["c"]}, "c": {"depends_on": ["a"]}},
            "a -> b -> c -> a",
        ),
        (
            {"a": {"depends_on": ["a"]}, "b": {}, "c": {}},
            "depend on each other in a circle: a -> a",
        ),
        ({"a": to("b"), "b": to("a"), "c": {}}, "endless circle: (a -> b -> a|b -> a -> b)"),
        ({"a": to("b"), "b": {}, "c": {}}, "Service 'idle' would never run"),
        ({"a": {"role": "gone.yaml"}, "b": {}, "c": {}}, "There is no file .*gone.yaml"),
        ({"a": {"role": "lost.yaml"}, "b": {}, "c": {}}, "Atlantis"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(stage, services, said):
    for name in "abc":
        stage.role(name, HOOK)
    stage.role("idle")
    stage.role("lost", {**CRON, "timezone": "Atlantis"})
    if "idle" in said:
        services = {**services, "idle": {}}
    with pytest.raises(InvalidInput) as caught:
        stage.up(services)
    assert re.search(said, str(caught.value)) or _turned(said, str(caught.value))
    assert stage.told.empty()


def _turned(circle, message):
    """Where a circle begins does not matter."""
    names = circle.split(" -> ")[:-1]
    return any(" -> ".join([*names[at:], *names[: at + 1]]) in message for at in range(len(names)))


def test_two_services_cannot_have_the_same_port(stage):
    port = free_port()
    for name in "ab":
        stage.role(name, {**HOOK, "port": port})
    with pytest.raises(InvalidInput, match=f"Cannot listen on port {port}"):
        stage.up({"a": {}, "b": {}})
    stage.start({"a": {}})  # what was taken before the mistake was found is free again
    stage.until(f"^a: listening for POST at http://127.0.0.1:{port}/webhook")


def test_on_a_server_they_share_a_scope_of_their_own(stage, monkeypatch):
    from holdfast.agents import compose

    stage.role("a", HOOK)
    url = "postgresql://db.example/team"
    [role] = compose._roles(
        stage.compose({"a": {}}, shared_memory={"enabled": True, "store_path": url})
    ).values()
    assert (role.spec.memory.store_path, role.spec.memory.scope) == (url, "shared:team")
    monkeypatch.setenv("HOLDFAST_STORE", url)
    [role] = compose._roles(stage.compose({"a": {}}, shared_memory={"enabled": True})).values()
    assert (role.spec.memory.store_path, role.spec.memory.scope) == (url, "shared:team")
