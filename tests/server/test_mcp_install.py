"""`holdfast mcp install`: our entry in the files of real clients, put in, used, and taken out to
the byte.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import StdioServerParameters

from holdfast.coding_agents.config_files import Change, put
from holdfast.coding_agents.installer import apply, found, with_ours, without_ours
from holdfast.coding_agents.mcp_entry import ServerEntry
from holdfast.coding_agents.programs import PROGRAMS, Target, server_levels
from holdfast.errors import Conflict
from mcp_clients import WORDS, connected

FILES = {
    ("claude-code", "user"): "{home}/.claude.json",
    ("claude-code", "project"): "{project}/.mcp.json",
    ("claude-desktop", "user"): "{home}/config/Claude/claude_desktop_config.json",
    ("codex", "user"): "{home}/.codex/config.toml",
    ("codex", "project"): "{project}/.codex/config.toml",
    ("cursor", "user"): "{home}/.cursor/mcp.json",
    ("cursor", "project"): "{project}/.cursor/mcp.json",
    ("gemini-cli", "user"): "{home}/.gemini/settings.json",
    ("gemini-cli", "project"): "{project}/.gemini/settings.json",
    ("vscode", "user"): "{home}/config/Code/User/mcp.json",
    ("vscode", "project"): "{project}/.vscode/mcp.json",
}
everywhere = pytest.mark.parametrize(("client", "level"), list(FILES))
THEIRS = {
    ".json": [
        '{\n  "numStartups": 7,\n  "mcpServers": {\n    "git": {"command": "git-mcp"}\n  }\n}\n',
        '{\n\t"servers": {},\n\t"mcpServers": {}\n}',
        '{"a":1}',
        "{}",
        "{ }\n",
        '{\r\n    "mcpServers": {\r\n        "x": {"command": "y"}\r\n    }\r\n}\r\n',
    ],
    ".toml": [
        'model = "o3"\n\n[mcp_servers.git]\ncommand = "git-mcp"\n',
        "# mine\n",
        'model = "o3"',
    ],
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.platform", "linux")
    return folder


def _file(client, level, project):
    return Path(FILES[client, level].format(home=Path.home(), project=project))


def _entry(file, client):
    load = tomllib.loads if file.suffix == ".toml" else json.loads
    return load(file.read_text("utf-8"))[PROGRAMS[client].section]["holdfast"]


def test_every_client_and_level_is_tried_here():
    assert list(FILES) == [
        (client, level) for client in PROGRAMS for level in server_levels(client)
    ]


@everywhere
def test_it_is_put_in_found_and_taken_out_and_no_file_is_left(client, level, project, cli):
    file = _file(client, level, project)
    done = cli("mcp", "install", client, f"--{level}", "--yes")
    assert done.code == 0 and str(file) in done.out and "+" in done.out
    assert _entry(file, client)["args"][-1] == "mcp"
    assert "Already installed" in cli("mcp", "install", client, f"--{level}", "--yes").out
    assert f"{client} ({level}): installed" in cli("mcp", "status").out
    assert cli("mcp", "uninstall", client, "--yes").code == 0
    assert not file.exists()
    assert cli("mcp", "uninstall", client, "--yes").code == 1


@everywhere
def test_what_others_wrote_is_as_it_was_afterwards(client, level, project, cli):
    file = _file(client, level, project)
    for text in THEIRS[file.suffix]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        assert cli("mcp", "install", client, f"--{level}", "--yes").code == 0
        assert _entry(file, client)["command"]
        assert cli("mcp", "uninstall", client, f"--{level}", "--yes").code == 0
        assert file.read_bytes().decode() == text


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda v: st.lists(v) | st.dictionaries(TEXTS, v),
)
SERVERS = st.dictionaries(TEXTS, st.dictionaries(TEXTS, VALUES), max_size=3)


@given(
    st.dictionaries(TEXTS, VALUES, max_size=3),
    st.none() | SERVERS,
    st.sampled_from([None, 0, 2, "\t"]),
)
def test_any_json_comes_back_to_the_byte(others, servers, indent):
    target = Target("cursor", "user", Path("mcp.json"))
    server = ServerEntry()
    whole = {**others, **({} if servers is None else {"mcpServers": servers})}
    whole.get("mcpServers", {}).pop("holdfast", None)
    text = json.dumps(whole, indent=indent)
    longer = with_ours(text, target, server)
    ours = json.loads(longer)["mcpServers"].pop("holdfast")
    assert found(longer, target, server) == {"holdfast": [ours]}
    assert without_ours(longer, target, server) == text


def test_options_become_those_of_the_command_and_another_time_replaces_them(project, cli):
    file = _file("cursor", "user", project)
    for options in (
        ["--scope", "user:ann", "--graph"],
        ["--store", "here.db", "--scope", "project", "--scope", "user:bob"],
    ):
        assert cli("mcp", "install", "cursor", "--yes", *options).code == 0
    assert _entry(file, "cursor")["args"][1:] == [
        "--store",
        str(project / "here.db"),
        "--scope",
        "project",
        "--scope",
        "user:bob",
    ]


def test_a_broken_file_is_refused_with_its_line_and_what_to_do(project, cli):
    file = _file("vscode", "user", project)
    file.parent.mkdir(parents=True)
    file.write_text('{\n  // mine\n  "servers": {}\n}')
    done = cli("mcp", "install", "vscode", "--yes")
    assert done.code == 2 and "line 2" in done.err and '"servers": {"holdfast"' in done.err
    assert "cannot be told" in cli("mcp", "status").out
    (project / ".cursor").mkdir()
    (project / ".cursor" / "mcp.json").write_text('{"mcpServers": []}')
    assert "mcpServers is no object" in cli("mcp", "install", "cursor", "--project", "--yes").err


def test_a_broken_file_does_not_stop_the_others(project, cli):
    broken = _file("cursor", "user", project)
    broken.parent.mkdir(parents=True)
    broken.write_text("{ broken")
    assert cli("mcp", "install", "cursor", "--project", "--yes").code == 0
    done = cli("mcp", "uninstall", "cursor", "--yes")
    assert not _file("cursor", "project", project).exists()
    assert f"Taken out of {_file('cursor', 'project', project)}." in done.out
    assert done.code == 2 and str(broken) in done.err
    assert broken.read_text() == "{ broken"


def test_servers_written_as_one_value_are_refused_with_what_to_do(project, cli):
    file = _file("codex", "user", project)
    file.parent.mkdir(parents=True)
    file.write_text('mcp_servers = {git = {command = "git-mcp"}}\n')
    done = cli("mcp", "install", "codex", "--yes")
    assert done.code == 2 and "written as one value" in done.err
    assert "[mcp_servers.NAME] tables" in done.err
    assert file.read_text() == 'mcp_servers = {git = {command = "git-mcp"}}\n'


def test_without_yes_nobody_is_asked_and_nothing_is_written(project, cli):
    done = cli("mcp", "install", "codex")
    assert done.code == 2 and "--yes" in done.err and not _file("codex", "user", project).exists()
    assert cli("mcp", "install", "emacs", "--yes").code == 2
    assert (
        "Leave --project out" in cli("mcp", "install", "claude-desktop", "--project", "--yes").err
    )


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text('{"mine": 1}')
    with pytest.raises(Conflict, match="somebody else"):
        put(Change(file, "{}", '{"ours": 1}'))
    assert file.read_text() == '{"mine": 1}'


def test_a_change_that_cannot_be_made_does_not_stop_the_others(tmp_path):
    changed, free = tmp_path / "changed.json", tmp_path / "free.json"
    changed.write_text('{"mine": 1}')
    done = apply([Change(changed, "{}", '{"ours": 1}'), Change(free, None, '{"ours": 1}')])
    assert [change.file for change in done.changes] == [free]
    assert free.read_text() == '{"ours": 1}' and changed.read_text() == '{"mine": 1}'
    with pytest.raises(Conflict, match="somebody else"):
        done.raise_problems()


def test_a_client_that_starts_what_was_installed_has_a_memory(project, cli, tmp_path):
    cli(
        "mcp",
        "install",
        "claude-code",
        "--store",
        tmp_path / "memory.db",
        "--scope",
        "user:ann",
        "--yes",
    )
    ours = _entry(_file("claude-code", "user", project), "claude-code")
    assert ours.pop("type") == "stdio"
    with connected(StdioServerParameters(**ours, env=WORDS), name="claude-code") as client:
        assert client.data("memory_status")["scopes"] == ["user:ann"]
