"""Seed 003, hooks in the configuration of their hosts: put in, taken out to the byte, and nothing
else touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path

import pytest
from hosts import EVENTS, claude_code
from hypothesis import given
from hypothesis import strategies as st

from holdfast.coding_agents import installer
from holdfast.coding_agents.config_files import put
from holdfast.coding_agents.hooks.entries import HOOKS
from holdfast.coding_agents.programs import Target, hook_target
from holdfast.errors import Conflict
from terminals import Terminal

TOOLS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
}
NAMES = {
    "gemini-cli": ("SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"),
    "cursor": ("sessionStart", "beforeSubmitPrompt", "preCompact", "stop", "sessionEnd"),
}
both = pytest.mark.parametrize("tool", TOOLS)
OTHERS = {
    "pretty": """\
{
  "permissions": {"allow": ["Bash(npm run test:*)"]},
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {"type": "command", "command": "say done"}
        ]
      }
    ],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./guard.sh"}]}]
  },
  "model": "opus"
}
""",
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}',
    "windows": (
        '{\r\n    "hooks": {\r\n        "Stop": [\r\n            {"hooks": []}\r\n        '
        "]\r\n    }\r\n}\r\n"
    ),
    "one line": (
        '{"model":"opus","hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"x"}]}]}}'
    ),
    "no hooks": '{\n  "model": "opus"\n}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty": "{}",
    "empty line": "{}\n",
    "empty lines": "{\n\n}\n",
    "ours in words": '{"env": {"NOTE": "holdfast hook run Stop"}, "hooks": { }}',
    "beyond ASCII": '{"motto": "Größe \\u00e9 日本"}\n',
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def theirs(tool: str, text: str | bytes, folder: Path) -> Path:
    """The file of a tool, with something in it."""
    file = folder / TOOLS[tool]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def ours(file: Path) -> dict[str, list[str]]:
    """The commands of ours in a file, by event, as a tool would read them."""
    load = tomllib.loads if file.suffix == ".toml" else json.loads
    hooks = load(file.read_text("utf-8"))["hooks"]
    commands = {
        event: [
            one["command"]
            for group in groups
            for one in group.get("hooks", [group])
            if "holdfast hook run" in one["command"]
        ]
        for event, groups in hooks.items()
        if event != "state"
    }
    return {event: found for event, found in commands.items() if found}


@both
def test_a_person_s_hooks_go_into_the_tool_s_own_file_and_out_again(cli, project, tool):
    file = Path.home() / TOOLS[tool]
    done = cli("hook", "install", tool, "--yes")
    assert (done.code, done.err) == (0, "")
    assert tuple(ours(file)) == NAMES.get(tool, EVENTS)
    for event, (command,) in zip(EVENTS, ours(file).values(), strict=True):
        assert command.endswith(f"holdfast hook run {event} --tool {tool}")
    assert cli("hook", "uninstall", tool, "--yes").code == 0
    assert not file.exists() and not file.parent.exists()


@both
def test_a_project_s_hooks_are_for_everybody_also_for_who_has_no_holdfast(cli, project, tool):
    assert cli("hook", "install", tool, "--project", "--yes").code == 0
    for command, *_ in ours(project / TOOLS[tool]).values():
        alone = subprocess.run(
            ["sh", "-c", command],
            env={"PATH": "/bin"},
            capture_output=True,
            input=b"{}",
            check=False,
        )
        assert (alone.returncode, alone.stdout, alone.stderr) == (0, b"", b"")


def test_what_is_installed_is_what_a_host_can_run(cli, project):
    assert cli("hook", "install", "claude-code", "--yes").code == 0
    (command,) = ours(Path.home() / TOOLS["claude-code"])["Stop"]
    said = json.dumps(claude_code("Stop", project)).encode()
    done = subprocess.run(["sh", "-c", command], input=said, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}", b"")


@both
@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_others_entries_stay_byte_for_byte(cli, project, tool, text):
    file = theirs(tool, text, project)
    assert cli("hook", "install", tool, "--project", "--yes").code == 0
    once = file.read_bytes()
    assert tuple(sorted(ours(file))) == tuple(sorted(NAMES.get(tool, EVENTS)))
    assert others(json.loads(once)) == others(json.loads(text))
    assert (
        cli("hook", "install", tool, "--project", "--yes").out == f"Already installed in {file}.\n"
    )
    assert file.read_bytes() == once
    assert cli("hook", "uninstall", tool, "--yes").code == 0
    assert file.read_bytes().decode() == text


def others(settings: dict) -> dict:
    """What is left for a tool to do when our hooks are not counted, nor what is empty."""
    hooks = {
        event: kept
        for event, groups in settings.get("hooks", {}).items()
        if (kept := [group for group in groups if "holdfast hook run" not in json.dumps(group)])
    }
    return {**settings, "hooks": hooks}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
HANDLERS = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=8)})
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(HANDLERS, max_size=2)}), max_size=2)
SETTINGS = st.builds(
    lambda rest, hooks, first: {**hooks, **rest} if first else {**rest, **hooks},
    st.dictionaries(
        st.text(min_size=1, max_size=5).filter(lambda key: key != "hooks"), VALUES, max_size=3
    ),
    st.just({})
    | st.builds(lambda events: {"hooks": events}, st.dictionaries(st.sampled_from(EVENTS), GROUPS)),
    st.booleans(),
)


@given(
    SETTINGS,
    st.sampled_from([None, 2, 4, "\t"]),
    st.sampled_from(["", "\n", "\n\n"]),
    st.booleans(),
)
def test_any_settings_come_back_as_they_were(settings, indent, end, escaped):
    text = json.dumps(settings, indent=indent, ensure_ascii=escaped) + end
    where = Target("claude-code", "project", Path("settings.json"))
    longer = installer.with_ours(text, where, HOOKS)
    assert len(installer.found(longer, where, HOOKS)) == len(EVENTS)
    assert installer.with_ours(longer, where, HOOKS) == longer
    assert installer.without_ours(longer, where, HOOKS) == text


def test_our_entry_in_somebody_s_group_goes_alone(cli, project):
    assert cli("hook", "install", "claude-code", "--project", "--yes").code == 0
    file = project / TOOLS["claude-code"]
    settings = json.loads(file.read_text())
    settings["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    settings["hooks"]["Stop"][0]["matcher"] = ""
    file.write_text(json.dumps(settings, indent=1))
    assert cli("hook", "uninstall", "claude-code", "--yes").code == 0
    kept = {"hooks": [{"type": "command", "command": "say done"}], "matcher": ""}
    assert json.loads(file.read_text()) == {"hooks": {"Stop": [kept]}}


def test_entries_of_another_version_are_replaced(cli, project):
    old = {
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "/old/holdfast hook run Stop"}]}]
        }
    }
    file = theirs("claude-code", json.dumps(old), project)
    assert (
        "not what this version writes" in cli("hook", "status").out
        or "cannot be run" in cli("hook", "status").out
    )
    assert cli("hook", "install", "claude-code", "--project", "--yes").code == 0
    assert "/old/" not in file.read_text() and tuple(sorted(ours(file))) == tuple(sorted(EVENTS))


# Files that are not as they should be

BROKEN = {
    "a comma": (
        '{\n  "model": "opus",\n}\n',
        ", column ",
    ),  # newer Pythons point at it, older ones behind it
    "no comma": ('{\n  "model": "opus"\n  "x": 1\n}\n', "line 3"),
    "a comment": ('{\n  // mine\n  "model": "opus"\n}\n', "line 2"),
    "half": ('{"hooks": {', "line 1"),
    "no object": ("[]", "no object"),
    "hooks as a list": ('{"hooks": []}', "hooks is no object"),
    "an event as an object": ('{"hooks": {"SessionEnd": {}, "sessionEnd": {}}}', "is no list"),
    "not UTF-8": (b'{\n"a": "\xff"}', "line 2"),
}


@both
@pytest.mark.parametrize(("text", "reason"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_broken_file_is_refused_with_line_and_reason_and_left_alone(
    cli, project, tool, text, reason, verb
):
    file = theirs(tool, text, project)
    before = file.read_bytes()
    done = cli("hook", verb, tool, "--project", "--yes")
    assert (
        done.code == 2
        and reason in done.err
        and str(file) in done.err
        and "Nothing was changed" in done.err
    )
    assert file.read_bytes() == before
    assert "cannot be told" in cli("hook", "status").out


def test_an_unknown_tool_is_refused_with_those_there_are(cli, project):
    done = cli("hook", "install", "emacs", "--yes")
    assert (done.code, done.err) == (
        2,
        "Error: There are no hooks for 'emacs'. Use one of: claude-code, codex, cursor, "
        "gemini-cli, opencode.\n",
    )


def test_uninstalling_what_is_not_installed_says_so(cli, project):
    done = cli("hook", "uninstall", "codex", "--yes")
    assert (done.code, done.err) == (
        1,
        "Error: No hooks of ours are installed for codex. Nothing was changed.\n",
    )


def test_without_a_person_to_ask_nothing_is_written(cli, project):
    done = cli("hook", "install", "claude-code")
    assert done.code == 2 and "--yes" in done.err
    assert '+            "command": ' in done.out  # it was shown
    assert not (Path.home() / ".claude").exists()


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False)])
def test_a_person_sees_the_difference_and_decides(project, answer, written):
    with closing(Terminal("hook", "install", "claude-code", "--project")) as terminal:
        shown = terminal.hear("[y/N]")
        assert "+++" in shown and "hook run SessionStart" in shown
        terminal.type(f"{answer}\n")
        terminal.hear("Installed in" if written else "Nothing was changed.")
    assert (project / TOOLS["claude-code"]).exists() == written


def test_a_file_that_changes_while_a_person_decides_is_left_alone(cli, project):
    file = theirs("claude-code", "{}\n", project)
    change = installer.plan_install(hook_target("claude-code", "project", project), HOOKS)
    file.write_text('{"model": "opus"}\n')
    with pytest.raises(Conflict, match="changed by somebody else"):
        put(change)
    assert file.read_text() == '{"model": "opus"}\n'


def test_a_link_stays_a_link_and_a_mode_a_mode(cli, project, tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o600)
    file = project / TOOLS["claude-code"]
    file.parent.mkdir()
    file.symlink_to(real)
    assert cli("hook", "install", "claude-code", "--project", "--yes").code == 0
    assert file.is_symlink() and ours(real) and real.stat().st_mode & 0o777 == 0o600
    assert cli("hook", "uninstall", "claude-code", "--yes").code == 0
    assert file.is_symlink() and real.read_text() == "{}\n"


@pytest.mark.parametrize(
    ("tool", "variable"), [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME")]
)
def test_a_tool_whose_folder_was_moved_is_found_there(
    cli, project, tmp_path, monkeypatch, tool, variable
):
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert cli("hook", "install", tool, "--yes").code == 0
    assert ours(tmp_path / "elsewhere" / Path(TOOLS[tool]).name)


# Codex, where hooks are in config.toml

CONFIG = """\
# What I like
model = "gpt-5.2-codex"   # for now

[[hooks.Stop]]
matcher = ""

[[hooks.Stop.hooks]]
type = "command"
command = "say done"

[hooks.state."/x:stop:0:0"]
trusted_hash = "sha256:1"
"""


def test_hooks_in_a_config_toml_stay_there_with_every_comment(cli, project):
    file = project / ".codex/config.toml"
    for end in ("", "\n", "\n\n# the end"):
        theirs("codex", "", project).unlink()
        file.write_text(CONFIG.rstrip() + end)
        assert cli("hook", "install", "codex", "--project", "--yes").code == 0
        assert file.read_text().startswith(CONFIG.rstrip() + end)
        assert tuple(sorted(ours(file))) == tuple(sorted(EVENTS))
        assert not (project / TOOLS["codex"]).exists()
        assert "Already installed" in cli("hook", "install", "codex", "--project", "--yes").out
        assert cli("hook", "uninstall", "codex", "--yes").code == 0
        assert file.read_text() == CONFIG.rstrip() + end


def test_what_codex_adds_to_its_config_behind_our_entries_stays(cli, project):
    file = theirs("codex", "", project).with_name("config.toml")
    (project / TOOLS["codex"]).unlink()
    file.write_text(CONFIG)
    assert cli("hook", "install", "codex", "--project", "--yes").code == 0
    more = '\n[hooks.state."/x:stop:1:0"]\ntrusted_hash = "sha256:2"\n'
    file.write_text(file.read_text() + more)
    assert cli("hook", "uninstall", "codex", "--yes").code == 0
    assert file.read_text() == CONFIG + more


def test_a_config_toml_without_hooks_is_not_touched(cli, project):
    folder = project / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text('model = "gpt-5.2-codex"\n')
    assert cli("hook", "install", "codex", "--project", "--yes").code == 0
    assert (
        ours(folder / "hooks.json")
        and (folder / "config.toml").read_text() == 'model = "gpt-5.2-codex"\n'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[hooks]\nStop = [{hooks = []}]\n", "written as one value"),
        (CONFIG + "model =\n", "line 15"),
    ],
)
def test_a_config_toml_that_cannot_be_added_to_is_refused(cli, project, text, reason):
    folder = project / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(text)
    done = cli("hook", "install", "codex", "--project", "--yes")
    if reason.startswith("line"):  # nobody can tell whether it has hooks, so ours go beside it
        assert (done.code, (folder / "hooks.json").exists()) == (0, True)
    else:
        assert done.code == 2 and reason in done.err
    assert (folder / "config.toml").read_text() == text


def test_an_entry_in_a_config_toml_that_was_rewritten_is_not_guessed_at(cli, project):
    folder = project / ".codex"
    folder.mkdir()
    file = folder / "config.toml"
    file.write_text(CONFIG)
    assert cli("hook", "install", "codex", "--project", "--yes").code == 0
    file.write_text(file.read_text().replace("timeout = 3", "timeout   = 3"))
    before = file.read_text()
    done = cli("hook", "uninstall", "codex", "--yes")
    assert done.code == 2 and "line" in done.err and "by hand" in done.err
    assert file.read_text() == before


# How it stands


def test_status_says_what_is_installed_where_and_when_it_last_ran(cli, project):
    from holdfast.coding_agents.hooks import log

    assert cli("hook", "install", "codex", "--project", "--yes").code == 0
    log.note(event="SessionStart", tool="codex", outcome="told", ms=120)
    shown = cli("hook", "status").out
    assert f"codex (project): installed  {project / TOOLS['codex']}" in shown
    assert "claude-code (user): not installed" in shown
    assert "codex SessionStart: 20" in shown and "told, 120 ms" in shown
    told = json.loads(cli("hook", "status", "--json").out)
    assert [one["state"] for one in told["installed"]].count("installed") == 1
    assert told["last"]["codex"]["SessionStart"]["ms"] == 120


def test_status_says_when_the_program_is_gone(cli, project, monkeypatch):
    assert cli("hook", "install", "claude-code", "--yes").code == 0
    file = Path.home() / TOOLS["claude-code"]
    program = shutil.which("holdfast", path=str(Path(os.sys.executable).parent))
    file.write_text(file.read_text().replace(program, "/gone/holdfast"))
    assert "/gone/holdfast cannot be run from here" in cli("hook", "status").out
