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
from ruamel.yaml import YAML

from holdfast.coding_agents.config_files import Change, put
from holdfast.coding_agents.installer import apply, found, with_ours, without_ours
from holdfast.coding_agents.json_edit import strict
from holdfast.coding_agents.mcp_entry import ServerEntry
from holdfast.coding_agents.programs import PROGRAMS, Target, server_levels, server_target
from holdfast.errors import Conflict
from holdfast.text import full_yaml
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
    ("windsurf", "user"): "{home}/.codeium/windsurf/mcp_config.json",
    ("zed", "user"): "{home}/config/zed/settings.json",
    ("opencode", "user"): "{home}/config/opencode/opencode.json",
    ("opencode", "project"): "{project}/opencode.json",
    ("goose", "user"): "{home}/config/goose/config.yaml",
    ("continue", "user"): "{home}/.continue/mcpServers/mcp.json",
    ("continue", "project"): "{project}/.continue/mcpServers/mcp.json",
    ("cline", "user"): "{home}/.cline/data/settings/cline_mcp_settings.json",
    ("lm-studio", "user"): "{home}/.lmstudio/mcp.json",
    ("antigravity", "user"): "{home}/.gemini/config/mcp_config.json",
    ("antigravity", "project"): "{project}/.agents/mcp_config.json",
    ("mcp-json", "project"): "{project}/.mcp.json",
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
    ".yaml": [
        "GOOSE_MODEL: o3\nextensions:\n  git:\n    cmd: git-mcp # mine\n    args: [a, b]\n",
        "extensions:\n    git:\n        cmd: x\n        args:\n        - a\n# end\nGOOSE_MODEL: o3",
        "# mine\nextensions: {}\nGOOSE_MODEL: o3\n",
        'extensions: {git: {cmd: "git-mcp"}}\n',
        "extensions:\nGOOSE_MODEL: o3\n",
        "extensions:\n  git:\n    cmd: x\n    about: |\n      two\n      lines\n\nMODEL: o3\n",
        "GOOSE_MODEL: o3",
        "# nothing but this\n",
        "a: 1\r\nextensions:\r\n  git:\r\n    cmd: x\r\nb: 2\r\n",
    ],
}
COMMENTED = [
    '// mine\n{\n  // here\n  "mcpServers": {\n    "git": {"command": "x"} // "git"\n  }\n}\n',
    '{\n  "context_servers": {\n    "git": {"command": "http://x"}, // one\n  },\n}\n',
    '{\n  "servers": {\n    // none yet\n  },\n  "mcp": {"servers": {"a": 1, /* b */ }}\n}',
    '{\n  "mcpServers": {"a": 1 /* the first */ , },\n  "mcp": {\n    "b": [1, 2, ] ,\n  }\n}',
    "{ /* empty */ }",
    '{\r\n  "servers": {\r\n    "a": {}, // one\r\n    /* two\r\n    lines */\r\n  }\r\n}\r\n',
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.platform", "linux")
    return folder


def _file(client, level, project):
    return Path(FILES[client, level].format(home=Path.home(), project=project))


LOADERS = {".toml": tomllib.loads, ".yaml": full_yaml.load}


def _entry(file, client):
    load = LOADERS.get(file.suffix, lambda text: json.loads(strict(text)))
    entry = load(file.read_text("utf-8"))
    for key in (*PROGRAMS[client].section.split("."), "holdfast"):
        entry = entry[key]
    return entry


def _words(entry):
    """The command of an entry, in any client's shape."""
    command = entry.get("cmd") or entry["command"]
    return command if isinstance(command, list) else [command, *entry["args"]]


def test_every_client_and_level_is_tried_here():
    assert list(FILES) == [
        (client, level) for client in PROGRAMS for level in server_levels(client)
    ]


@everywhere
def test_it_is_put_in_found_and_taken_out_and_no_file_is_left(client, level, project, cli):
    file = _file(client, level, project)
    done = cli("mcp", "install", client, f"--{level}", "--yes")
    assert done.code == 0 and str(file) in done.out and "+" in done.out
    assert _words(_entry(file, client))[-1] == "mcp"
    assert "Already installed" in cli("mcp", "install", client, f"--{level}", "--yes").out
    assert f"{client} ({level}): installed" in cli("mcp", "status").out
    assert cli("mcp", "uninstall", client, "--yes").code == 0
    assert not file.exists()
    assert cli("mcp", "uninstall", client, "--yes").code == 1


@everywhere
def test_what_others_wrote_is_as_it_was_afterwards(client, level, project, cli):
    file = _file(client, level, project)
    for text in [*THEIRS[file.suffix], *(COMMENTED if PROGRAMS[client].comments else [])]:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        assert cli("mcp", "install", client, f"--{level}", "--yes").code == 0
        assert _words(_entry(file, client))[-1] == "mcp"
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


@given(st.lists(st.sampled_from([*COMMENTED, "// x\n", "/* , */", "\n", ","]), max_size=3), SERVERS)
def test_comments_anywhere_come_back_to_the_byte(remarks, servers):
    target, server = Target("zed", "user", Path("settings.json")), ServerEntry()
    servers.pop("holdfast", None)
    inner = json.dumps({"context_servers": servers}, indent=2)
    remarks = [f"/*{one.replace('*/', '')}*/" for one in remarks]
    # Between any two lines, and behind any of them.
    lines = inner.splitlines()
    for number, remark in enumerate(remarks):
        lines[min(number, len(lines) - 1)] += remark
    text = "\n".join(lines)
    longer = with_ours(text, target, server)
    assert json.loads(strict(longer))["context_servers"].pop("holdfast")
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


@pytest.mark.parametrize(
    ("platform", "client", "file"),
    [
        (
            "darwin",
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("darwin", "goose", ".config/goose/config.yaml"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
        ("win32", "goose", "AppData/Roaming/Block/goose/config/config.yaml"),
        ("win32", "opencode", ".config/opencode/opencode.json"),
        ("win32", "windsurf", ".codeium/windsurf/mcp_config.json"),
    ],
)
def test_each_system_has_its_own_place(platform, client, file, monkeypatch):
    monkeypatch.setattr("sys.platform", platform)
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert server_target(client, "user", Path()).file == Path.home() / file


def test_a_variable_moves_the_folder_and_an_existing_file_is_preferred(project, monkeypatch):
    monkeypatch.setenv("CLINE_DIR", str(project / "moved"))
    moved = server_target("cline", "user", project).file
    assert moved == project / "moved/data/settings/cline_mcp_settings.json"
    (project / "opencode.jsonc").write_text("{}")
    assert server_target("opencode", "project", project).file == project / "opencode.jsonc"


def test_what_a_client_wrote_anew_is_still_found_and_taken_out(project, cli):
    """goose sorts its file and drops comments when it saves it."""
    file = _file("goose", "user", project)
    assert cli("mcp", "install", "goose", "--yes").code == 0
    written = full_yaml.load(file.read_text("utf-8"))
    written["extensions"]["developer"] = {"enabled": True, "type": "builtin"}
    with file.open("w") as out:
        YAML(typ="safe").dump(written, out)
    assert "Already installed" in cli("mcp", "install", "goose", "--yes").out
    assert cli("mcp", "uninstall", "goose", "--yes").code == 0
    left = {"developer": {"enabled": True, "type": "builtin"}}
    assert full_yaml.load(file.read_text("utf-8")) == {"extensions": left}


@pytest.mark.parametrize(
    ("client", "text", "named"),
    [
        ("vscode", '{\n  // mine\n  "servers": {,}\n}', "line 3"),
        ("windsurf", '{\n  // mine\n  "mcpServers": {}\n}', "line 2"),
        ("goose", "a: 1\nextensions: [\n", "line 3"),
        ("goose", "extensions:\n  - git\n", "extensions is no object"),
        ("codex", "a = 1\nb = \n", "line 2"),
        ("zed", "[]", "holds no object"),
    ],
)
def test_a_damaged_file_is_left_alone_with_its_line(client, text, named, project, cli):
    file = _file(client, "user", project)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    done = cli("mcp", "install", client, "--yes")
    assert done.code == 2 and named in done.err and str(file) in done.err
    assert file.read_text() == text
    assert f"{client} (user): cannot be told" in cli("mcp", "install", "--list").out


def test_a_dry_run_shows_the_change_and_makes_none(project, cli):
    file = _file("goose", "user", project)
    shown = cli("mcp", "install", "goose", "--dry-run")
    assert shown.code == 0 and "+  holdfast:" in shown.out and not file.exists()
    assert cli("mcp", "install", "goose", "--yes").code == 0
    before = file.read_text()
    shown = cli("mcp", "uninstall", "goose", "--dry-run")
    assert shown.code == 0 and "-  holdfast:" in shown.out and file.read_text() == before
    assert cli("mcp", "install", "goose", "--uninstall", "--yes").code == 0 and not file.exists()


def test_the_list_names_every_client_with_its_state(project, cli):
    cli("mcp", "install", "mcp-json", "--yes")
    shown = cli("mcp", "install", "--list")
    assert shown.code == 0 and shown.out == cli("mcp", "status").out
    assert all(f"{client} ({level}): " in shown.out for client, level in FILES)
    assert "mcp-json (project): installed" in shown.out
    assert "windsurf (user): not installed" in shown.out
    assert "Name a client" in cli("mcp", "install").err


def test_a_file_without_our_section_says_what_to_do(project, cli):
    done = cli("mcp", "install", "mcp-json", "--user", "--yes")
    assert done.code == 2 and "Use --project" in done.err
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
