"""Seed 003, opencode: a plugin of ours runs the hooks, loaded here by Node and called as opencode
calls plugins (documentation and source of version 1.18).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hosts import HURRIED, entries, shop_with_records, when_finished

from holdfast import config
from holdfast.coding_agents.hooks import entries as hook_entries
from holdfast.coding_agents.hooks.entries import HOOKS
from holdfast.coding_agents.programs import hook_target
from patience import PATIENCE

NODE = shutil.which("node")
by_node = pytest.mark.skipif(NODE is None, reason="it needs Node")
# Steps on stdin, each an event or a message; the parts of every message on stdout.
OPENCODE = """
import { readFileSync } from "node:fs"
const { folder, steps } = JSON.parse(readFileSync(0, "utf-8"))
const found = await import(process.argv[1])
const hooks = await Promise.all(Object.values(found).map((plugin) => plugin({ directory: folder })))
const messages = []
for (const step of steps) {
  for (const hook of hooks) {
    if (step.event) await hook.event?.({ event: step.event })
    else if (step.dispose) await hook.dispose?.()
    else {
      const output = { message: { id: "msg_1" }, parts: step.parts }
      await hook["chat.message"]?.({ sessionID: step.session }, output)
      messages.push(step.parts)
    }
  }
}
process.stdout.write(JSON.stringify(messages))
"""
SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
    title TEXT, version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
    time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
    data TEXT);
"""


@pytest.fixture
def here(tmp_path):
    return shop_with_records(tmp_path)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """The plugin as it is installed, with all the time that a busy machine needs."""
    patient = (sys.executable, "-c", HURRIED.format(seconds=PATIENCE))
    monkeypatch.setattr(config, "program", lambda: patient)
    monkeypatch.setattr(hook_entries, "TIMEOUT", PATIENCE)
    # Node takes a file for a module by its name, Bun by what it says.
    file = tmp_path / "holdfast.mjs"
    file.write_text(HOOKS.plugin(hook_target("opencode", "user", tmp_path)), "utf-8")
    return file


def opencode(plugin: Path, folder: Path, *steps: dict) -> list[list[dict]]:
    """The parts of every message, as opencode stores them when the plugin has seen them."""
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", OPENCODE, str(plugin)],
        input=json.dumps({"folder": str(folder), "steps": steps}),
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def message(text: str, session: str = "ses_1") -> dict:
    part = {"id": "prt_1", "sessionID": session, "messageID": "msg_1", "type": "text"}
    return {"session": session, "parts": [{**part, "text": text}]}


def event(name: str, **properties: object) -> dict:
    return {"event": {"type": name, "properties": properties}}


@by_node
def test_a_message_gets_what_stands_and_what_helps_as_a_part_of_its_own(here, plugin):
    first, second = opencode(
        plugin,
        here.folder,
        message("How do refunds of payments work?"),
        message("And who refunds payments?"),
    )
    own, told = first
    assert own == message("How do refunds of payments work?")["parts"][0]
    assert "docstring" in told["text"] and "Stripe" in told["text"]
    assert told["id"] > own["id"] and told["id"].startswith("prt")
    assert {key: told[key] for key in ("type", "synthetic", "sessionID", "messageID")} == {
        "type": "text",
        "synthetic": True,
        "sessionID": "ses_1",
        "messageID": "msg_1",
    }
    # What stands is told once.
    assert "Stripe" in second[1]["text"] and "docstring" not in second[1]["text"]


@by_node
def test_after_a_compaction_a_session_is_told_again_what_stands(here, plugin):
    before, after = opencode(
        plugin,
        here.folder,
        message("zxcvbn qwertz"),
        event("session.compacted", sessionID="ses_1"),
        message("zxcvbn qwertz"),
    )
    assert before[1]["text"] == after[1]["text"] and "docstring" in after[1]["text"]


@by_node
def test_sub_agents_and_messages_that_nobody_wrote_are_left_alone(here, plugin):
    synthetic = message("How do refunds work?")
    synthetic["parts"][0]["synthetic"] = True
    told = opencode(
        plugin,
        here.folder,
        event("session.created", info={"id": "ses_2", "parentID": "ses_1"}),
        message("How do refunds of payments work?", "ses_2"),
        synthetic,
    )
    assert [len(parts) for parts in told] == [1, 1]
    assert entries() == []


@by_node
def test_without_holdfast_a_message_goes_out_as_it_is(here, plugin):
    broken = plugin.read_text("utf-8").replace(json.dumps(sys.executable), '"/nowhere/holdfast"')
    plugin.write_text(broken, "utf-8")
    assert opencode(plugin, here.folder, message("How do refunds work?"), {"dispose": True}) == [
        message("How do refunds work?")["parts"]
    ]


@by_node
def test_sessions_of_this_project_are_indexed_when_opencode_ends(
    here, plugin, monkeypatch, tmp_path
):
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "opencode"
    data.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    with closing(apsw.Connection(str(data / "opencode.db"))) as connection:
        connection.execute(SCHEMA)
        talk = {
            "ses_1": (here.folder, "Invoices are numbered by year."),
            "ses_9": (tmp_path / "other", "Invoices are printed on green paper."),
        }
        for session, (folder, words) in talk.items():
            row = (session, str(folder))
            connection.execute("INSERT INTO session VALUES (?,'p',NULL,?,'T','1',NULL,1,2)", row)
            said = json.dumps({"role": "user", "time": {"created": 1_767_600_001_000}})
            connection.execute("INSERT INTO message VALUES (?,?,1,1,?)", (session, session, said))
            part = json.dumps({"type": "text", "text": words})
            row = (f"prt_{session}", session, session, part)
            connection.execute("INSERT INTO part VALUES (?,?,?,1,?)", row)
    opencode(plugin, here.folder, message("zxcvbn qwertz"), {"dispose": True})
    assert when_finished()["files"] == 1
    found = here.recalled("How are invoices numbered and printed?")
    assert any("numbered by year" in text for text in found)
    assert not any("green paper" in text for text in found)


# The file


def test_the_plugin_is_installed_replaced_and_deleted_with_its_folder(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = hook_target("opencode", "user", tmp_path).file
    assert file.parts[-3:] == ("opencode", "plugins", "holdfast.js")
    assert cli("hook", "install", "opencode", "--yes").code == 0
    text = file.read_text("utf-8")
    assert json.dumps([*config.program()]) in text and "/*" not in text
    assert "opencode (user): installed" in cli("hook", "status").out
    assert "Already installed" in cli("hook", "install", "opencode", "--yes").out
    file.write_text(text.replace("synthetic: true", "synthetic: false"), "utf-8")
    assert "not what this version writes" in cli("hook", "status").out
    assert cli("hook", "install", "opencode", "--yes").code == 0
    assert file.read_text("utf-8") == text
    assert cli("hook", "uninstall", "opencode", "--yes").code == 0
    assert not file.parent.exists()


def test_a_file_of_somebody_else_is_refused_and_left_alone(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ".opencode" / "plugins" / "holdfast.js"
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = async () => ({})\n", "utf-8")
    done = cli("hook", "install", "opencode", "--project", "--yes")
    assert done.code == 2 and "is not a file of Holdfast" in done.err and str(file) in done.err
    assert cli("hook", "uninstall", "opencode", "--yes").code == 1
    assert file.read_text("utf-8") == "export const Mine = async () => ({})\n"


def test_a_project_s_plugin_names_no_path_and_leaves_it_to_the_person_s_own(
    cli, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert cli("hook", "install", "opencode", "--project", "--yes").code == 0
    text = (tmp_path / ".opencode" / "plugins" / "holdfast.js").read_text("utf-8")
    assert 'const PROGRAM = ["holdfast"]' in text and '"--project"]' in text
