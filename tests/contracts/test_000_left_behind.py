"""Seed 000, an InitRunner database that was not taken in: whoever runs the role is told the command
that does it.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from initrunner_files import OldDatabase

from holdfast import config
from holdfast.agents.agent_runner import RoleAgent
from holdfast.agents.initrunner import is_database
from holdfast.agents.role import load_role
from holdfast.errors import StoreCorrupt
from holdfast.storage import SQLiteStore


def old_database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    old = OldDatabase(path)
    old.memory("Likes tea")
    old.close()
    return path


@pytest.fixture
def usual():
    """A database where InitRunner keeps that of an agent called assistant."""
    return old_database(Path.home() / ".initrunner" / "memory" / "assistant.db")


@pytest.mark.parametrize("command", [["list"], ["export"], ["sessions"], ["clear", "--force"]])
def test_a_database_in_its_usual_place_is_told_with_the_command_that_takes_it_in(
    cli, usual, write_role, command
):
    role = write_role()
    done = cli("memory", command[0], role, *command[1:])
    assert done.code == 0
    assert f"{usual} is an InitRunner database" in done.err
    assert done.err.endswith(f"run: holdfast memory import-db {usual} {role}\n")


def test_the_command_that_is_told_works_and_then_nothing_is_told_any_more(cli, usual, write_role):
    role = write_role()
    told = cli("memory", "list", role).err.split("run: holdfast ")[1].split()
    assert "Imported 1 memory" in cli(*told).out
    assert cli("memory", "list", role).out.endswith("Likes tea\n1 memories shown.\n")
    assert cli("memory", "list", role).err == ""


def test_it_is_told_as_long_as_it_was_not_taken_in_though_the_agent_has_memories_by_now(
    usual, write_role, memory_of
):
    role = write_role()
    memory_of(role).remember("semantic", "Likes coffee")
    assert "import-db" in memory_of(role).left_behind


def test_an_agent_that_starts_says_it(usual, write_role, caplog):
    with caplog.at_level(logging.WARNING):
        RoleAgent.open(load_role(write_role())).close()
    assert f"import-db {usual}" in caplog.text


def test_an_import_of_version_0_1_0_left_no_note_and_is_known_by_its_memories(
    cli, usual, write_role, memory_of
):
    role = write_role()
    cli("memory", "import-db", usual, role)
    memory = memory_of(role)
    memory.hf.admin.write(
        "test", lambda tx: tx.files.drop(memory.scope, "initrunner", [str(usual)])
    )
    assert memory.left_behind == ""


def test_a_role_that_names_its_own_place_is_told_nothing(cli, usual, write_role, tmp_path):
    role = write_role(f"{{store_path: {tmp_path / 'own.db'}, embeddings: {{provider: none}}}}")
    assert cli("memory", "list", role).err == ""


def test_the_database_of_another_agent_is_not_told(cli, usual, write_role):
    assert cli("memory", "list", write_role(name="other")).err == ""


def test_it_is_told_where_the_store_is_a_server_too(
    cli, usual, write_role, monkeypatch, postgres_store_url
):
    monkeypatch.setenv("HOLDFAST_STORE", postgres_store_url)
    role = write_role()
    assert f"import-db {usual} {role}" in cli("memory", "list", role).err
    assert cli("memory", "import-db", usual, role).code == 0
    assert cli("memory", "list", role).err == ""


@pytest.mark.parametrize(
    "command", [("memory", "list"), ("memory", "export"), ("run", "-p", "Hello")]
)
def test_a_database_that_is_named_as_the_store_is_refused_with_the_way_out(
    cli, write_role, tmp_path, command
):
    path = old_database(tmp_path / "old.db")
    before = path.read_bytes()
    role = write_role(f"{{store_path: {path}, embeddings: {{provider: none}}}}")
    done = (
        cli(*command[:2], role, *command[2:])
        if command[0] == "memory"
        else cli("run", role, *command[1:])
    )
    assert done.code == 1
    assert (
        f"{path} is an InitRunner database, not a Holdfast store. Nothing was changed." in done.err
    )
    assert "Name another file under spec.memory.store_path in role.yaml" in done.err
    assert f"holdfast memory import-db {path} {role}" in done.err
    assert (path.read_bytes(), sorted(one.name for one in tmp_path.glob("old.db*"))) == (
        before,
        ["old.db"],
    )


def test_a_database_put_where_our_own_would_be_is_refused_with_the_way_out(write_role, memory_of):
    path = old_database(config.agent_store("assistant"))
    with pytest.raises(
        StoreCorrupt,
        match=r"Rename it to assistant.initrunner.db, then run: .*assistant.initrunner.db",
    ):
        memory_of(write_role()).listed()
    assert is_database(path)


def test_only_a_database_of_initrunner_is_one(tmp_path):
    text = tmp_path / "text.db"
    text.write_text("no database")
    SQLiteStore(tmp_path / "own.db").close()
    assert not any(map(is_database, (text, tmp_path / "own.db", tmp_path / "none.db", tmp_path)))


SIX = {"id", "content", "category", "created_at", "memory_type", "metadata"}


def test_a_consolidated_episode_is_exported_with_the_six_keys_of_the_seed(
    cli, write_role, memory_of, clock
):
    role = write_role()
    memory = memory_of(role)
    memory.remember("episodic", "Deployed v2.", metadata={"trigger_type": "cron"})
    (episode,) = memory.hf.list()
    memory.hf.admin.write("test", lambda tx: tx.change(episode, consolidated_at=clock.now))
    memory.close()
    (record,) = json.loads(cli("memory", "export", role, "-o", "-").out)
    assert set(record) == SIX
    (listed,) = json.loads(cli("memory", "list", role, "--json").out)
    assert (listed["metadata"], listed["consolidated_at"]) == (
        {"trigger_type": "cron"},
        "2026-03-18T12:00:00+00:00",
    )


@pytest.mark.parametrize("older", [False, True], ids=["0.2", "0.1.0"])
def test_what_was_consolidated_is_so_where_an_export_comes_in(
    cli, write_role, memory_of, tmp_path, older
):
    at = "2026-03-18T12:00:00+00:00"
    told = (
        {"consolidated_at": at}
        if older
        else {"metadata": {"trigger_type": "cron", "consolidated_at": at}}
    )
    (tmp_path / "in.json").write_text(
        json.dumps([{"content": "Deployed.", "memory_type": "episodic", **told}])
    )
    role = write_role()
    assert cli("memory", "import", role, tmp_path / "in.json").code == 0
    (episode,) = memory_of(role).hf.list()
    assert episode.consolidated_at is not None
    assert episode.metadata == ({} if older else {"trigger_type": "cron"})
