"""Exports of other memories, each in the shape that its own project documents or writes."""

from __future__ import annotations

import json
import zipfile

import pytest

from holdfast.importers import FORMATS, importer_for, take_in
from holdfast.types import iso

DOCUMENT = {
    "id": "chat/7",
    "original_text": "Ann: I moved to Lisbon in May.",
    "tags": ["home"],
    "chunks": [{"chunk_index": 0, "chunk_text": "Ann: I moved to Lisbon in May."}],
    "facts": [
        {
            "text": "Ann moved to Lisbon",
            "fact_type": "world",
            "context": "small talk",
            "occurred_start": "2025-05-01T00:00:00Z",
            "mentioned_at": "2025-06-01T10:00:00Z",
            "metadata": {"channel": "web"},
            "tags": ["home"],
            "entities": ["Ann", "Lisbon"],
        },
        {"text": "I told Ann about trams", "fact_type": "experience"},
        {"fact_type": "world"},
    ],
}
OBSERVATIONS = [{"text": "Ann likes the sea", "proof_count": 3, "sources": []}]


@pytest.fixture
def taken(hf):
    """Imports a file twice, checks that the second time adds nothing, and gives the first."""

    def take(file):
        importer = importer_for(file)
        first = take_in(hf, importer, importer.read(file))
        again = take_in(hf, importer, importer.read(file))
        assert (again.added, again.known) == ([], len(first.added))
        return first

    return take


def _by_text(done):
    return {memory.content: memory for memory in done.added}


def test_a_bank_of_hindsight_is_an_archive_with_a_file_for_each_document(taken, tmp_path):
    file = tmp_path / "bank.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"schema_version": 1, "bank_id": "ann"}))
        archive.writestr("documents/000000.json", json.dumps(DOCUMENT, indent=2))
        archive.writestr("documents/000001.json", b"\xff\xfe")
        archive.writestr("observations.json", json.dumps(OBSERVATIONS))
    assert importer_for(file).name == "hindsight"
    done = taken(file)
    kept = _by_text(done)
    moved = kept["Ann moved to Lisbon"]
    assert moved.kind == "fact" and moved.tags == ("home",)
    assert iso(moved.event_time).startswith("2025-05-01")
    assert moved.metadata["hindsight"]["entities"] == ["Ann", "Lisbon"]
    assert moved.metadata["hindsight"]["document"] == "chat/7"
    assert kept["I told Ann about trams"].kind == "episode"
    assert kept["Ann likes the sea"].kind == "reflection"
    reasons = [one.reason for one in done.problems]
    assert ["no text" in reasons[0], "000001.json cannot be read" in reasons[1]] == [True, True]


def test_a_graph_of_graphiti_as_neo4j_exports_it(taken, tmp_path):
    stamp = {"group_id": "g", "created_at": "2025-01-01T00:00:00Z"}
    ann = {"uuid": "a", "name": "Ann", "summary": "Ann bakes bread", **stamp}
    acme = {"uuid": "b", "name": "Acme", "summary": "", **stamp}
    works = {"uuid": "e", "name": "WORKS_AT", "fact": "Ann works at Acme", **stamp}
    times = {"valid_at": "2024-01-01T00:00:00Z", "invalid_at": "2025-03-01T00:00:00Z"}
    said = {"uuid": "s", "content": "Ann: I work at Acme.", "valid_at": "2024-02-01T00:00:00Z"}
    rows = [
        {"type": "node", "id": "0", "labels": ["Entity"], "properties": ann},
        {"type": "node", "id": "1", "labels": ["Entity"], "properties": acme},
        {"type": "node", "id": "2", "labels": ["Episodic"], "properties": {**said, **stamp}},
        {
            "type": "relationship",
            "id": "3",
            "label": "RELATES_TO",
            "properties": {**works, **times},
            "start": {"id": "0", "labels": ["Entity"], "properties": ann},
            "end": {"id": "1", "labels": ["Entity"], "properties": acme},
        },
        {"type": "relationship", "id": "4", "label": "MENTIONS", "properties": {"uuid": "m"}},
    ]
    file = tmp_path / "graph.json"
    file.write_text("\n".join(map(json.dumps, rows)))
    done = taken(file)
    kept = _by_text(done)
    assert done.problems == [] and len(kept) == 3
    fact = kept["Ann works at Acme"]
    assert (fact.triple.subject, fact.triple.predicate, fact.triple.object) == (
        "Ann",
        "WORKS_AT",
        "Acme",
    )
    assert iso(fact.valid_until).startswith("2025-03-01")
    assert kept["Ann bakes bread"].title == "Ann"
    assert iso(kept["Ann: I work at Acme."].event_time).startswith("2024-02-01")


def test_a_dataset_of_cognee_gives_its_entities_facts_and_texts(taken, tmp_path):
    node = {"topological_rank": 0, "version": 1, "created_at": 1735689600000}
    graph = {
        "nodes": [
            {"id": "1", "type": "Entity", "name": "ann", "description": "A baker", **node},
            {"id": "2", "type": "Entity", "name": "acme", "description": "", **node},
            {"id": "3", "type": "EntityType", "name": "person", "description": "A person", **node},
            {"id": "4", "type": "DocumentChunk", "text": "Ann works at Acme.", **node},
            "no node",
        ],
        "edges": [
            {"source": "1", "target": "2", "relationship_name": "works_at"},
            {"source": "1", "target": "3", "relationship_name": "is_a"},
            {"source": "4", "target": "1", "relationship_name": "contains"},
        ],
    }
    file = tmp_path / "dataset.json"
    file.write_text(json.dumps(graph, indent=2))
    done = taken(file)
    kept = _by_text(done)
    assert set(kept) == {"A baker", "ann works at acme", "Ann works at Acme."}
    assert ["no record" in one.reason for one in done.problems] == [True]
    assert kept["A baker"].title == "ann" and kept["Ann works at Acme."].kind == "episode"
    assert kept["ann works at acme"].triple.predicate == "works_at"
    assert iso(kept["A baker"].created_at).startswith("2025-01-01")


def test_a_room_of_a_palace_has_a_section_for_each_drawer(taken, tmp_path):
    def drawer(name, *lines, filed="2025-04-02T08:00:00"):
        said = "\n> ".join(lines)
        table = f"| Source | notes.md |\n| Filed | {filed} |\n| Added by | unknown |\n"
        return f"## {name}\n\n> {said}\n\n| Field | Value |\n|-------|-------|\n{table}\n---\n\n"

    text = "# shop / backend\n\n"
    text += drawer("drawer_shop_1", "We use Postgres.", "", "## Why", "It has row locks.")
    text += drawer("drawer_shop_2", "") + drawer("drawer_shop_3", "Port 8080", filed="unknown")
    file = tmp_path / "backend.md"
    file.write_text(text)
    done = taken(file)
    kept = _by_text(done)
    whole = kept["We use Postgres.\n\n## Why\nIt has row locks."]
    assert whole.tags == ("shop", "backend") and whole.category == "backend"
    assert iso(whole.event_time).startswith("2025-04-02")
    assert whole.metadata["mempalace"]["source"] == "notes.md"
    assert "Port 8080" in kept and len(kept) == 2
    assert ["drawer_shop_2 is empty" in one.reason for one in done.problems] == [True]


def test_langmem_memories_of_a_postgres_store_are_searched_without_their_schema(hf):
    row = {
        "prefix": "memories.ann",
        "key": "5b1c",
        "value": {"kind": "Memory", "content": {"content": "Ann prefers oolong"}},
        "created_at": "2025-01-01T10:00:00+00:00",
        "updated_at": "2025-01-01T10:00:00+00:00",
        "expires_at": None,
        "ttl_minutes": None,
    }
    langgraph = FORMATS["langgraph"]
    (memory,) = take_in(hf, langgraph, langgraph.parse(json.dumps(row))).added
    assert memory.content == "Ann prefers oolong"
    assert memory.metadata["value"] == row["value"]


def test_saved_memories_of_chatgpt_keep_their_time(taken, tmp_path):
    file = tmp_path / "memories.json"
    saved = [
        {"id": "m1", "content": "Prefers metric units", "updated_at": "2025-02-03T00:00:00Z"},
        {"id": "m2", "content": ""},
    ]
    file.write_text(json.dumps({"memories": saved, "memory_max_tokens": 9, "memory_num_tokens": 1}))
    done = taken(file)
    (memory,) = done.added
    assert memory.content == "Prefers metric units"
    assert iso(memory.created_at).startswith("2025-02-03") and len(done.problems) == 1


def test_the_list_that_an_assistant_writes_is_read_line_by_line(taken, tmp_path):
    file = tmp_path / "memories.txt"
    file.write_text(
        "```\n[2025-02-03] - Prefers metric units\n[unknown] - Lives in Lisbon\n"
        "- [2024-11-20] - Has a dog, Rex\nand so on\n```\n"
    )
    assert importer_for(file).name == "chatgpt-memory"
    done = taken(file)
    kept = _by_text(done)
    assert set(kept) == {"Prefers metric units", "Lives in Lisbon", "Has a dog, Rex"}
    assert iso(kept["Has a dog, Rex"].created_at).startswith("2024-11-20")
    assert [one.line for one in done.problems] == [5]


@pytest.mark.parametrize("packed", [False, True])
def test_what_claude_remembers_is_a_memory_for_each_paragraph(taken, tmp_path, packed):
    whole = "**Work context**\n\nAnn bakes bread.\n\n**Other**\n- Has a dog\n- Likes tea"
    content = json.dumps(
        [
            {
                "conversations_memory": whole,
                "project_memories": {"p-1": "## Purpose\n\nA shop."},
                "account_uuid": "u",
            }
        ]
    )
    file = tmp_path / ("memories.zip" if packed else "memories.json")
    if packed:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("memories/u.json", content)
    else:
        file.write_text(content)
    kept = _by_text(taken(file))
    assert {memory.content: memory.title for memory in kept.values()} == {
        "Ann bakes bread.": "Work context",
        "Has a dog": "Other",
        "Likes tea": "Other",
        "A shop.": "Purpose",
    }
    assert kept["A shop."].metadata["claude"] == {"project": "p-1"}


def test_a_text_or_an_archive_of_something_else_is_nobodys(tmp_path):
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes / drafts\n\nNothing here.\n")
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "x")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 and no more")
    for file in (notes, other, broken):
        assert not any(one.recognises(file) for one in FORMATS.values())


def test_an_encrypted_file_of_an_archive_is_a_problem_and_the_rest_is_read(taken, tmp_path):
    file = tmp_path / "bank.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("documents/000000.json", json.dumps(DOCUMENT))
        archive.writestr("observations.json", json.dumps(OBSERVATIONS))
    # Bit 0 of its flags says that a file is encrypted; Python cannot write such an archive.
    marked = bytearray(file.read_bytes())
    directory = marked.index(b"PK\x01\x02")
    for place in (6, directory + 8):
        marked[place] |= 1
    file.write_bytes(marked)
    done = taken(file)
    assert list(_by_text(done)) == ["Ann likes the sea"]
    assert "documents/000000.json cannot be read" in done.problems[0].reason
