"""Files that are not what they should be: half written, cut off, of another program, of another
time.
"""

from __future__ import annotations

import json
import re
import resource
import sqlite3

import pytest
from mistake import Mistake

ROLE = """\
apiVersion: holdfast/v1
kind: Agent
metadata: {name: assistant}
spec:
  role: You are helpful.
  model: {provider: offline}
"""
RECORD = "---\ncategory: decisions\ntitel: Tabs\n---\nUse tabs\n"
IN_A_PROJECT = {".holdfast/project.yaml": "id: shop\n"}


def in_category(text: str | bytes) -> dict[str, str | bytes]:
    """A project with one record that says this."""
    return {**IN_A_PROJECT, ".holdfast/records/decisions/tabs.md": text}


YAML = [
    Mistake(
        "run role.yaml -p hi",
        2,
        ("not valid YAML: line 7", "Fix it"),
        {"role.yaml": ROLE + "  memory: [1, 2"},
    ),
    Mistake(
        "run role.yaml -p hi",
        2,
        ("'spec.memmory'", "Did you mean 'memory'"),
        {"role.yaml": ROLE + "  memmory: {}"},
    ),
    Mistake(
        "run role.yaml -p hi",
        2,
        ("'spec.model' is missing",),
        {"role.yaml": ROLE.rpartition("  model")[0]},
    ),
    Mistake("run role.yaml -p hi", 2, ("it is not UTF-8 text",), {"role.yaml": b"caf\xe9: 1"}),
    Mistake(
        "run role.yaml -p hi",
        2,
        ("describes no agent", "apiVersion"),
        {"role.yaml": "Call me Ishmael."},
    ),
    Mistake("run role.yaml -p hi", 2, ("describes no agent",), {"role.yaml": ""}),
    Mistake(
        "run compose.yaml -p hi",
        2,
        ("kind 'Compose'", "'Agent'"),
        {"compose.yaml": "kind: Compose"},
    ),
    Mistake(
        "project build",
        2,
        ("Unknown key 'memoris'", "'memories'"),
        {**IN_A_PROJECT, "holdfast.yaml": "memoris: {}"},
    ),
    Mistake(
        "project build",
        2,
        ("'enabeld'", "'enabled'"),
        {**IN_A_PROJECT, "holdfast.yaml": "memories: {enabeld: 1}"},
    ),
    Mistake(
        "project build",
        2,
        ("not valid YAML: line 1", "Fix"),
        {**IN_A_PROJECT, "holdfast.yaml": "memories: ["},
    ),
    Mistake(
        "project status",
        2,
        ("project.yaml:1", "not valid YAML"),
        {".holdfast/project.yaml": "id: ["},
    ),
]
RECORDS = [
    Mistake(
        "recall tabs",
        0,
        ("tabs.md:3: 'titel' says nothing", "Did you mean 'title'"),
        in_category(RECORD),
    ),
    Mistake(
        "recall tabs",
        0,
        ("tabs.md:3: this is not valid YAML", "stays"),
        in_category("---\nid: [1\n---\nTabs\n"),
    ),
    Mistake(
        "recall tabs",
        0,
        ("tabs.md:1", "a line '---' is missing"),
        in_category("---\nid: x\nUse tabs\n"),
    ),
    Mistake(
        "recall tabs",
        0,
        ("tabs.md:1", "not UTF-8", "Save it as UTF-8"),
        in_category(b"Use caf\xe9 tabs"),
    ),
    Mistake(
        "recall tabs", 0, ("tabs.md:1", "there is no text in it"), in_category("---\nid: x\n---\n")
    ),
    Mistake(
        "recall tabs", 0, ("confidence",), in_category("---\nconfidence: very\n---\nUse tabs\n")
    ),
]
IMPORTS = [
    Mistake(
        "import x.jsonl",
        2,
        ("not a Holdfast bundle", "Nothing was imported", "FORMAT FILE"),
        {"x.jsonl": "{}\n"},
    ),
    Mistake("import x.jsonl", 2, ("not a Holdfast bundle",), {"x.jsonl": ""}),
    Mistake("import notes", 2, ("not a Holdfast bundle", "FORMAT FILE"), {"notes": "Buy milk\n"}),
    Mistake(
        "import chats.json",
        0,
        ("could not be understood", "holdfast import FORMAT FILE"),
        {"chats.json": '[{"id": "c1", "role": {}, "content": {}}]'},
    ),
    Mistake(
        "import x.jsonl",
        2,
        ("not UTF-8 text", "Nothing was imported"),
        {"x.jsonl": b"\xff\xfe\x00"},
    ),
    Mistake(
        "import mem0 x.json",
        2,
        ("is a memory of mem0", "Nothing was imported", "letta"),
        {"x.json": '{"a": 1}'},
    ),
    Mistake(
        "import letta x.json",
        2,
        ("is a memory of letta", "Nothing was imported"),
        {"x.json": '[{"a": 1}]'},
    ),
    Mistake(
        "import memo x.json",
        2,
        ("no format 'memo'", "Did you mean 'mem0'", "import FILE"),
        {"x.json": "{}"},
    ),
    Mistake("import mem0", 2, ("Name the file too",)),
    Mistake("import a b c", 2, ("Name one file",)),
]


def test_a_file_that_was_not_understood_is_not_called_known(cli, folder):
    (folder / "chats.json").write_text('[{"id": "c1", "role": {}, "content": {}}]')
    for _ in range(2):
        done = cli("import", "chats.json")
        assert "no session was found" in done.out and "could not be understood" in done.err


def test_a_session_without_a_turn_is_not_called_known(cli, folder):
    meta = {"id": "c1", "cwd": "/x", "timestamp": "2026-01-01T00:00:00Z"}
    (folder / "rollout.jsonl").write_text(json.dumps({"type": "session_meta", "payload": meta}))
    for _ in range(2):
        assert "no session was found" in cli("import", "rollout.jsonl").out


def test_every_import_of_all_says_what_it_did_not_understand(cli, folder, monkeypatch):
    """The file has not changed the second time, and is as little understood."""
    monkeypatch.setenv("HOME", str(folder))
    file = folder / ".codex" / "sessions" / "2026" / "rollout-2026-01-01T00-00-00-c1.jsonl"
    file.parent.mkdir(parents=True)
    meta = {"type": "session_meta", "payload": {"id": "c1", "cwd": "/x"}}
    file.write_text(json.dumps(meta) + "\nnot JSON\n")
    for _ in range(2):
        done = cli("import", "--all", "--yes")
        assert "1 of its lines could not be understood" in done.err
        assert "every other session is known already" in done.out


@pytest.mark.parametrize("name", ["claude-code", "codex", "chatgpt", "claude"])
def test_sessions_need_no_format(cli, folder, name):
    (folder / "my file.json").write_text("{}")
    done = cli("import", name, "my file.json")
    assert done.code == 2
    assert f"Conversations of {name} need no format: holdfast import 'my file.json'" in done.err


def test_a_bundle_for_another_scope_is_not_taken_in_by_its_own(cli, folder, kept):
    cli("export", "-o", "all.jsonl")
    wrong = cli("import", "all.jsonl", "--scope", "user:bob")
    assert (wrong.code, "--into user:bob" in wrong.err) == (2, True), wrong
    assert cli("import", "all.jsonl", "--into", "user:bob").code == 0
    assert "Green tea" in cli("list", "--scope", "user:bob").out


@pytest.mark.parametrize("mistake", YAML, ids=lambda one: f"{one.does}: {one.says[0]}")
def test_a_file_of_settings_that_is_not_right(told, mistake):
    told(mistake)


@pytest.mark.parametrize("mistake", RECORDS, ids=lambda one: one.says[0])
def test_a_record_that_is_not_right_is_named_and_the_others_are_found(cli, told, mistake):
    told(mistake)


@pytest.mark.parametrize("mistake", IMPORTS, ids=lambda one: f"{one.does}: {one.says[0]}")
def test_a_file_that_cannot_be_imported(told, mistake):
    told(mistake)


# Bundles


@pytest.fixture
def bundle(cli, kept, folder):
    assert cli("export", "-o", "all.jsonl").code == 0
    return folder / "all.jsonl"


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (lambda text: text[: len(text) // 2], "is not JSON"),
        (lambda text: text.rsplit("\n", 2)[0] + "\n", "is cut off"),
    ],
    ids=["in a line", "after a line"],
)
def test_a_bundle_that_was_cut_off_is_not_taken_in_by_half(cli, bundle, cut, said):
    bundle.write_text(cut(bundle.read_text()))
    done = cli("import", bundle, "--store", "other.db")
    assert (done.code, said in done.err, "Nothing was imported" in done.err) == (2, True, True), (
        done
    )
    assert json.loads(cli("list", "--json", "--store", "other.db").out) == []


def test_a_bundle_of_a_newer_version_says_how_to_upgrade(cli, bundle):
    bundle.write_text(bundle.read_text().replace('"version":1', '"version":99', 1))
    done = cli("import", bundle, "--store", "other.db")
    assert (done.code, "version 99" in done.err, "or a newer one" in done.err) == (2, True, True), (
        done
    )


# Databases


def test_an_empty_file_becomes_a_store(cli, folder):
    (folder / "memory.db").touch()
    assert cli("remember", "tea").code == 0
    assert "tea" in cli("recall", "tea").out


def test_a_database_of_another_program_is_left_alone(cli, folder):
    other = sqlite3.connect(folder / "memory.db")
    other.execute("CREATE TABLE recipes (name)")
    other.close()
    before = (folder / "memory.db").read_bytes()
    done = cli("remember", "tea")
    assert (done.code, "another program" in done.err, "Nothing was changed" in done.err) == (
        1,
        True,
        True,
    ), done
    assert (folder / "memory.db").read_bytes() == before


def test_a_newer_store_is_refused_with_the_way_to_read_it(cli, kept, folder):
    newer = sqlite3.connect(folder / "memory.db")
    newer.execute("PRAGMA user_version = 999")
    newer.close()
    done = cli("recall", "tea")
    assert (done.code, "or a newer one" in done.err) == (1, True), done


def test_a_store_that_was_cut_off_is_told_with_a_way_to_rescue_it(cli, kept, folder):
    whole = (folder / "memory.db").read_bytes()
    (folder / "memory.db").write_bytes(whole[: len(whole) // 2])
    done = cli("recall", "tea")
    assert (done.code, "is damaged" in done.err, "restore a backup" in done.err) == (
        1,
        True,
        True,
    ), done
    assert cli("doctor").code == 1


# Too much


def test_a_text_that_is_too_long_says_how_long_it_may_be(told):
    told(
        Mistake(
            "remember -",
            2,
            ("200,000 bytes", "100,000", "Split it", "Nothing was stored"),
            stdin="x" * 200_000,
        )
    )


def test_a_transcript_of_200_megabytes_is_read_in_a_little_memory(cli, folder):
    """Nearly all of it is one tool's output, as it is when an agent prints a large file."""
    session = folder / "long.jsonl"
    said = {"type": "user", "sessionId": "s1", "cwd": "/shop", "timestamp": "2026-03-01T10:00:00Z"}
    with session.open("w") as out:
        for number in range(3):
            line = {
                **said,
                "uuid": f"u{number}",
                "message": {"role": "user", "content": f"Ship {number} on Tuesday."},
            }
            out.write(json.dumps(line) + "\n")
        out.write('{"type":"user","sessionId":"s1","toolUseResult":"')
        out.flush()
        out.seek(200_000_000)  # a hole: read as zeros, and none of them on the disk
        out.write('"}\n')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = cli("import", session)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (done.code, "3 turns" in done.out) == (0, True), done
    assert grown < 60_000, f"{grown} kB more"
    (scope,) = re.findall(r"--scope (project:\S+)", done.err)
    assert "Tuesday" in cli("recall", "when do we ship?", "--scope", scope).out
