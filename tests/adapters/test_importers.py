"""The registry of importers: every file is read by the importer that recognises it."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from holdfast.importers import BUNDLE, FORMATS, IMPORTERS, importer_for
from holdfast.importers.json_values import Problem

DATA = Path(__file__).parents[1] / "transcripts" / "data"
FILES = {
    "mem0": {"results": [{"id": "m1", "memory": "Likes oolong", "user_id": "ann"}]},
    "langgraph": [{"namespace": ["users"], "key": "tea", "value": {"likes": "oolong"}}],
    "mcp-memory": {
        "type": "entity",
        "name": "Ann",
        "entityType": "person",
        "observations": ["Bakes"],
    },
    "letta": {"agents": [], "blocks": [{"label": "human", "value": "The human is Ann"}]},
    "zep": {"edges": [{"fact": "Ann bakes", "valid_at": "2020-01-01T00:00:00Z"}]},
    "hindsight": {
        "id": "doc",
        "original_text": "Ann: I bake.",
        "facts": [{"text": "Ann bakes", "fact_type": "world", "mentioned_at": None}],
    },
    "cognee": {
        "nodes": [{"id": "1", "type": "Entity", "name": "Ann", "description": "Ann bakes"}],
        "edges": [{"source": "1", "target": "1", "relationship_name": "is_a"}],
    },
    "mempalace": "# ann / kitchen\n\n## drawer_1\n\n> Ann bakes\n\n| Field | Value |\n",
    "chatgpt-memory": {
        "memories": [{"id": "1", "content": "Bakes", "updated_at": "2025-01-01T00:00:00Z"}],
        "memory_max_tokens": 100,
    },
    "claude-memory": [{"conversations_memory": "**Kitchen**\n\nAnn bakes", "account_uuid": "a"}],
}


@pytest.fixture(params=FILES)
def foreign(request, tmp_path):
    """A file of another memory, and the name of its format."""
    file = tmp_path / "memories.json"
    content = FILES[request.param]
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file, request.param


def test_every_importer_has_a_name_of_its_own():
    names = [one.name for one in IMPORTERS]
    assert len(set(names)) == len(names)
    assert set(FORMATS) == set(FILES)


def test_a_file_of_another_memory_is_recognised_by_its_importer_alone(foreign):
    file, name = foreign
    assert [one.name for one in IMPORTERS if one.recognises(file)] == [name]
    items = list(importer_for(file).read(file))
    assert items and not any(isinstance(one, Problem) for one in items)


def test_a_file_of_another_memory_is_imported_without_naming_its_format(foreign, cli):
    file, name = foreign
    named = json.loads(cli("import", name, file, "--json").out)
    assert named["added"] == 1 + (name == "mcp-memory") and not named["problems"]
    again = json.loads(cli("import", file, "--json").out)
    assert (again["added"], again["known"]) == (0, named["added"])


@pytest.mark.parametrize("folder", sorted(DATA.iterdir()), ids=lambda folder: folder.name)
def test_a_session_is_never_taken_for_another_memory(folder):
    for file in (path for path in folder.rglob("*") if path.is_file()):
        assert not any(one.recognises(file) for one in (BUNDLE, *FORMATS.values()))


def test_a_bundle_is_recognised_by_its_first_line(cli, tmp_path):
    file = tmp_path / "bundle.jsonl"
    cli("remember", "I like oolong")
    assert cli("export", "--output", file).code == 0
    assert importer_for(file) is BUNDLE
    assert list(BUNDLE.read(file)) == file.read_text().splitlines(keepends=True)


def test_an_unreadable_file_is_recognised_by_nobody(tmp_path):
    empty = tmp_path / "empty.json"
    empty.touch()
    binary = tmp_path / "binary.json"
    binary.write_bytes(bytes(range(256)) * 100)
    for path in (tmp_path / "none.json", tmp_path, empty, binary):
        assert importer_for(path) is None


def test_an_initrunner_database_is_refused_with_the_command_that_imports_it(cli, tmp_path):
    file = tmp_path / "agent.db"
    with apsw.Connection(str(file)) as connection:
        connection.execute("CREATE TABLE sessions (session_id, messages_json)")
    connection.close()
    done = cli("import", file)
    assert done.code == 2 and f"holdfast memory import-db {file} role.yaml" in done.err
