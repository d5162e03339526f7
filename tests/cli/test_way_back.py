"""The way back that a command names: it can be typed as it stands, and it leads back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

CHATS = Path(__file__).parents[1] / "transcripts" / "data" / "claude_ai" / "conversations.json"


@pytest.fixture
def typed(cli):
    """Types the command that was named last in what was printed."""

    def call(done):
        words = shlex.split(done.out.rpartition("with: holdfast ")[2])
        return cli(*words)

    return call


@pytest.mark.parametrize(
    "where",
    [
        (),
        ("--scope", "project:bridge"),
        ("--store", "other.db"),
        ("--store", "other.db", "--scope", "user:bob"),
    ],
    ids=" ".join,
)
def test_it_can_be_typed_as_it_stands(cli, typed, where, tmp_path, monkeypatch):
    """The run of another scope, or in another store, is found there."""
    monkeypatch.chdir(tmp_path)
    done = cli("remember", "The bridge is closed", *where)
    undone = typed(done)
    assert undone.out.startswith("Undid remember"), undone
    assert cli("list", *where, "--json").out == "[]\n"
    assert typed(undone).out.startswith("Undid undo")
    assert "The bridge is closed" in cli("list", *where).out


def test_where_it_goes_without_saying_nothing_is_said(cli, monkeypatch):
    """Neither the scope nor the store that are set are repeated."""
    monkeypatch.setenv("HOLDFAST_SCOPE", "user:bob")
    done = cli("remember", "The bridge is closed")
    assert "--scope" not in done.out and "--store" not in done.out


def test_nor_is_a_server_that_is_set(cli, typed, postgres_store_url, monkeypatch):
    monkeypatch.setenv("HOLDFAST_STORE", postgres_store_url)
    done = cli("remember", "The bridge is closed")
    assert "--store" not in done.out
    assert typed(done).out.startswith("Undid remember")


def test_it_is_named_after_turns_and_records_too(cli, typed, tmp_path, monkeypatch):
    """Captured turns, and records in a store of their own."""
    monkeypatch.chdir(tmp_path)
    captured = cli("capture", "--session", "s1", "--scope", "user:bob", "The bridge is closed")
    assert typed(captured).out.startswith("Undid capture")
    added = cli(
        "record", "add", "The bridge is closed", "--category", "incidents", "--store", "other.db"
    )
    assert typed(added).out.startswith("Undid record")
    assert json.loads(cli("record", "list", "--store", "other.db", "--json").out) == []


def test_several_records_are_one_json_document_each_with_its_run(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = [
        json.loads(cli("record", "add", text, "--category", "incidents", "--json").out)["id"]
        for text in ("The bridge is closed", "The ferry is late")
    ]
    for command in ("archive", "unarchive"):
        changed = json.loads(cli("record", command, *ids, "--json").out)
        assert [one["id"] for one in changed] == ids
        assert len({one["run"] for one in changed}) == 2


# What was imported


def test_an_import_of_sessions_can_be_taken_back_and_made_again(cli, typed):
    """Although the turns were written before their session, and the file is as it was."""
    first = cli("import", CHATS, "--into", "user:bob")
    assert first.out.startswith("Imported 1 session with 3 turns into user:bob. Undo with: "), first
    undone = typed(first)
    assert undone.out.startswith("Undid import")
    assert cli("session", "list", "--scope", "user:bob").out == "No conversations.\n"
    assert typed(undone).out.startswith("Undid undo")
    assert len(json.loads(cli("list", "--scope", "user:bob", "--json").out)) == 3
    assert cli("import", CHATS, "--into", "user:bob").out.startswith("Nothing new for user:bob in ")
    cli("undo", "--scope", "user:bob")
    assert cli("import", CHATS, "--into", "user:bob").out.startswith(
        "Imported 1 session with 3 turns into user:bob."
    )


def test_an_import_from_another_memory_names_its_run(cli, typed, tmp_path):
    (tmp_path / "mem0.json").write_text(json.dumps([{"id": "1", "memory": "The bridge is closed"}]))
    done = cli("import", "mem0", tmp_path / "mem0.json", "--into", "user:bob")
    assert typed(done).out.startswith("Undid import"), done
    assert cli("list", "--scope", "user:bob", "--json").out == "[]\n"


@pytest.mark.parametrize("changed", [("archive",), ("update", "The bridge is open")], ids=" ".join)
def test_a_backup_comes_back_where_records_have_changed_since(cli, changed, tmp_path, monkeypatch):
    """A record is what its file says, so it keeps nothing else of a bundle out."""
    monkeypatch.chdir(tmp_path)
    cli("remember", "The ferry still runs")
    added = json.loads(
        cli("record", "add", "The bridge is closed", "--category", "incidents", "--json").out
    )
    verb, *text = changed
    cli("record", verb, added["id"])
    cli("record", "unarchive", added["id"])
    cli("export", "-o", "before.jsonl")
    cli("record", verb, added["id"], *text)
    done = cli("import", "before.jsonl", "--store", "new.db")
    assert done.code == 0, done
    assert done.out.startswith("Imported 1 memory; ")
    listed = {one["content"] for one in json.loads(cli("list", "--store", "new.db", "--json").out)}
    assert listed == {"The ferry still runs", *text}
    assert cli("doctor", "--store", "new.db").code == 0


# Where there is none


@pytest.mark.parametrize("words", [("1",), ("--session", "s1")], ids=" ".join)
def test_after_a_purge_other_runs_are_named(cli, words):
    """What was purged is told without the name that the journal has for it."""
    cli("capture", "--session", "s1", "The bridge is closed")
    cli("purge", *words, "--yes")
    done = cli("undo")
    assert done.code == 1
    assert (
        "purged cannot come back. Nothing was undone. `holdfast history` lists the other runs"
        in done.err
    )
    assert "[" not in done.err


def test_incognito_there_is_nothing_to_take_back(cli, tmp_path, monkeypatch):
    """What is remembered ends with the command, and what is kept is not looked at."""
    monkeypatch.setenv("HOLDFAST_MEMORY_MODE", "incognito")
    for words in (("remember",), ("capture", "--session", "s1")):
        assert cli(*words, "The bridge is closed").out.endswith(
            ". Memory is incognito: it ends with this command.\n"
        )
    found = cli("recall", "bridge", "--store", tmp_path / "nowhere.db")
    assert (found.out, found.err) == (
        "Nothing relevant is known.\n",
        "Memory is incognito: nothing that is kept is looked at.\n",
    )
