"""Seed 000, role files: what is read, what is refused and with which words, and what `init`
writes.
"""

from __future__ import annotations

import pytest

from holdfast.agents.role import load_compose, load_role
from holdfast.errors import InvalidInput

QUICK_START = """\
apiVersion: initrunner/v1
kind: Agent
metadata:
  name: assistant
  description: Agent with rich memory
spec:
  role: |
    You are a helpful assistant with long-term memory.
  model:
    provider: openai
    name: gpt-5-mini
  memory:
    max_sessions: 10
    max_resume_messages: 20
    semantic:
      max_memories: 1000
    episodic:
      max_episodes: 500
    procedural:
      max_procedures: 100
    consolidation:
      enabled: true
      interval: after_session
"""
EVERY_KEY = """\
max_sessions: 10
max_memories: 1000
max_resume_messages: 20
store_backend: sqlite-vec
store_path: null
embeddings: {provider: "", model: "", base_url: "", api_key_env: ""}
episodic: {enabled: true, max_episodes: 500}
semantic: {enabled: true, max_memories: 1000}
procedural: {enabled: true, max_procedures: 100}
consolidation: {enabled: true, interval: after_session, max_episodes_per_run: 20, \
model_override: null}
"""


def test_the_seed_s_quick_start_is_read(tmp_path):
    file = tmp_path / "role.yaml"
    file.write_text(QUICK_START)
    role = load_role(file)
    assert (role.name, role.spec.model.name, role.spec.memory.episodic.max_episodes) == (
        "assistant",
        "gpt-5-mini",
        500,
    )


def test_both_api_versions_are_read_and_others_refused(write_role):
    assert load_role(write_role(api="holdfast/v1")).apiVersion == "holdfast/v1"
    assert load_role(write_role(api="initrunner/v1")).apiVersion == "initrunner/v1"
    with pytest.raises(
        InvalidInput, match="apiVersion must be 'holdfast/v1' or 'initrunner/v1', not 'other/v2'"
    ):
        load_role(write_role(api="other/v2"))


def test_every_key_of_the_seed_has_its_default(write_role):
    written = load_role(
        write_role("{" + ", ".join(EVERY_KEY.strip().splitlines()) + "}")
    ).spec.memory
    assert written == load_role(write_role("{}")).spec.memory


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (
            "{max_session: 3}",
            r"there is no key 'spec\.memory\.max_session'\. Did you mean 'max_sessions'\?",
        ),
        (
            "{episodic: {max_episode: 3}}",
            r"'spec\.memory\.episodic\.max_episode'\. Did you mean 'max_episodes'\?",
        ),
        ("{embeddings: {modl: x}}", r"'spec\.memory\.embeddings\.modl'\. Did you mean 'model'\?"),
        ("{zzz: 1}", r"there is no key 'spec\.memory\.zzz'\. Known here: max_sessions, "),
        ("{max_sessions: 0}", r"spec\.memory\.max_sessions: .*greater than or equal to 1"),
        (
            "{consolidation: {interval: nightly}}",
            r"must be 'after_session', 'after_autonomous' or 'manual', not 'nightly'",
        ),
        (
            "{store_backend: chroma}",
            r"store_backend must be 'sqlite-vec' or 'holdfast', not 'chroma'",
        ),
    ],
)
def test_a_mistake_is_named_with_what_was_probably_meant(write_role, memory, words):
    with pytest.raises(InvalidInput, match=words):
        load_role(write_role(memory))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("  memmory: {}", r"there is no key 'spec\.memmory'\. Did you mean 'memory'\?"),
        (
            "  triggers: [{type: cron, shedule: x, prompt: y}]",
            r"'spec\.triggers\.0\.shedule'\. Did you mean 'schedule'\?",
        ),
        ("  triggers: [{type: clock}]", r"must be 'cron', 'file_watch', 'webhook', not 'clock'"),
        ("  tools: [{type: shell}]", r"spec\.tools\.0\.type must be 'delegate', not 'shell'"),
        ("  tools: [{type: delegate, agents: []}]", r"spec\.tools\.0\.agents"),
    ],
)
def test_a_mistake_anywhere_else_is_named_too(write_role, more, words):
    with pytest.raises(InvalidInput, match=words):
        load_role(write_role(more=more))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "is not valid YAML"),
        ("- just\n- a list", "describes no agent"),
        ("kind: Compose", "is of kind 'Compose'; this command takes a file of kind 'Agent'"),
        (
            (
                "apiVersion: holdfast/v1\nkind: Agent\nmetadata: {name: A B}\nspec: {role: x, "
                "model: "
                "{provider: offline}}"
            ),
            "lower-case",
        ),
        (
            (
                "apiVersion: holdfast/v1\nkind: Agent\nmetadata: {name: a}\nspec: {role: x, model: "
                "{provider: openai}}"
            ),
            "name is missing",
        ),
    ],
)
def test_a_file_that_is_no_role_is_refused_with_its_name(tmp_path, text, words):
    file = tmp_path / "role.yaml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=f"role.yaml.*{words}"):
        load_role(file)


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(InvalidInput, match="holdfast agent init --name"):
        load_role(tmp_path / "role.yaml")


def test_a_service_that_is_named_but_not_there_is_refused(tmp_path):
    file = tmp_path / "compose.yaml"
    file.write_text(
        "apiVersion: holdfast/v1\nkind: Compose\nmetadata: {name: team}\n"
        "spec: {services: {a: {role: a.yaml, depends_on: [b]}}}\n"
    )
    with pytest.raises(InvalidInput, match="service 'a' names 'b', but there is no such service"):
        load_compose(file)


@pytest.mark.parametrize("template", ["memory", "daemon", "basic"])
def test_init_writes_a_role_that_can_be_read(cli, tmp_path, monkeypatch, template):
    monkeypatch.chdir(tmp_path)
    done = cli("init", "--name", "helper", "--template", template)
    assert done.code == 0
    role = load_role("role.yaml")
    assert (role.name, role.spec.model.provider) == ("helper", "offline")
    assert (role.spec.memory is not None) == (template != "basic")


def test_init_takes_the_provider_whose_key_is_there_unless_told(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    cli("init", "--name", "helper")
    assert load_role("role.yaml").spec.model.provider == "anthropic"
    cli("init", "--name", "helper", "--provider", "ollama", "--model", "qwen3", "-o", "other.yaml")
    assert (
        load_role("other.yaml").spec.model.provider,
        load_role("other.yaml").spec.model.name,
    ) == ("ollama", "qwen3")


def test_init_names_the_tools_in_the_prompt_of_the_memory_template(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli("init", "--name", "helper", "--template", "memory")
    for tool in ("remember()", "recall()", "list_memories()"):
        assert tool in load_role("role.yaml").spec.role


def test_init_writes_over_nothing_and_refuses_bad_names_and_templates(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "role.yaml").write_text("mine")
    assert cli("init", "--name", "helper").code == 1
    assert (tmp_path / "role.yaml").read_text() == "mine"
    assert cli("init", "--name", "helper", "--force").code == 0
    assert cli("init", "--name", "My Agent", "-o", "x.yaml").code == 2
    assert (
        "Use one of: memory, daemon, basic"
        in cli("init", "--name", "a", "--template", "x", "-o", "x.yaml").err
    )
    assert cli("init", "--name", "a", "-o", "nowhere/x.yaml").code == 2
