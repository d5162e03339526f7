"""Files of other memories: taken in without loss, twice like once, and what is malformed told by
its line.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.importers import FORMATS, take_in, written
from holdfast.importers.json_values import Problem, values
from holdfast.integrations.mem0 import Memory
from holdfast.types import Scope, Triple, from_datetime

WORDS = Settings(embedding_models="none")


def opened(scope="user:me"):
    return Holdfast.open(":memory:", scope=scope, settings=WORDS, background=False)


def take(hf, name, *records, **options):
    text = "\n".join(map(json.dumps, records))
    return take_in(hf, FORMATS[name], FORMATS[name].parse(text), **options)


def told(hf, name):
    return "".join(written(hf, name))


def contents(hf):
    return sorted(memory.content for memory in hf.list())


# The values of a text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[{"a": 1},\n {"a": 2}]', [(1, {"a": 1}), (2, {"a": 2})]),
        ('{"a": 1}\n\n{"a": 2}\n', [(1, {"a": 1}), (3, {"a": 2})]),
        (
            '\ufeff{\n"other": {"wanted": 3},\n"wanted": [\n{"a": 1},\n{"a": 2}]}',
            [(4, {"a": 1}), (5, {"a": 2})],
        ),
        ('{"a": "wanted: [1]"}', [(1, {"a": "wanted: [1]"})]),
        ("", []),
        ("[]", []),
    ],
)
def test_values_are_found_with_their_lines(text, found):
    assert [(one.line, one.value) for one in values(text, lists=["wanted"])] == found


@pytest.mark.parametrize(
    ("text", "lines", "good"),
    [
        ('{"a": 1}\nnonsense\n{"a": 2}', [2], 2),
        ('[{"a": 1},\n{"a": ]', [2], 1),
        ('[{"a": 1},\n', [2], 1),
        ("[" * 100_000, [1], 0),
    ],
)
def test_where_it_stops_being_json_is_told(text, lines, good):
    found = list(values(text))
    assert [one.line for one in found if isinstance(one, Problem)] == lines
    assert len(found) - len(lines) == good


# Round trips

TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20
)
WORDS_OF = st.text("abc xyz", min_size=1, max_size=30).map(str.strip).filter(bool)
ID = st.text("abcdef0123456789-", min_size=3, max_size=20).filter(lambda one: one[0] in "abcdef")
MOMENT = st.datetimes(datetime(2020, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
NAME = st.text("abcdefghij", min_size=1, max_size=8)


@st.composite
def items(draw):
    """An item as mem0 returns it."""
    first, second = sorted((draw(MOMENT), draw(MOMENT)))
    item = {
        "id": draw(ID),
        "memory": draw(WORDS_OF),
        "created_at": first.isoformat(),
        "updated_at": second.isoformat(),
        "metadata": draw(st.dictionaries(NAME, JSON, min_size=1, max_size=3) | st.none()),
    }
    ids = draw(st.sets(st.sampled_from(["user_id", "agent_id", "run_id"]), min_size=1))
    more = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "role": st.sampled_from(["user", "assistant"]),
                "actor_id": NAME,
                "expiration_date": st.dates(
                    datetime(2020, 1, 1).date(), datetime(2030, 1, 1).date()
                ).map(str),
            },
        )
    )
    return item | more | {name: draw(NAME) for name in ids}


@given(st.lists(items(), unique_by=lambda item: item["id"], max_size=5))
def test_what_mem0_holds_survives_import_and_export(given_items):
    with opened() as hf:
        done = take_in(
            hf,
            FORMATS["mem0"],
            FORMATS["mem0"].parse(json.dumps({"results": given_items}, indent=1)),
        )
        assert (done.known, done.problems) == (0, [])
        scopes = hf.store.scopes() or hf.scopes
        back = json.loads(told(hf.scoped(*scopes), "mem0"))["results"]
        by_id = {
            item["id"]: {name: value for name, value in item.items() if name != "hash"}
            for item in back
        }
        assert by_id == {
            item["id"]: item | {"metadata": item["metadata"] or None} for item in given_items
        }
        again = take_in(hf, FORMATS["mem0"], FORMATS["mem0"].parse(json.dumps(given_items)))
        assert (again.added, again.known) == ([], len(given_items))


FIELDS = st.fixed_dictionaries(
    {"content": WORDS_OF},
    optional={
        "kind": st.sampled_from(["fact", "rule", "skill", "reflection"]),
        "category": NAME,
        "title": NAME,
        "author": NAME,
        "tags": st.lists(NAME, unique=True, max_size=3).map(tuple),
        "quote": WORDS_OF,
        "confidence": st.floats(0, 1),
        "event_time": MOMENT,
        "triple": st.builds(Triple, NAME, NAME, NAME),
        "valid_until": MOMENT.map(lambda moment: moment.replace(year=moment.year + 100)),
        "metadata": st.dictionaries(NAME, JSON, max_size=2),
    },
)
KEPT = (
    "id",
    "content",
    "kind",
    "category",
    "title",
    "author",
    "tags",
    "quote",
    "confidence",
    "event_time",
    "triple",
    "valid_until",
    "created_at",
    "updated_at",
)


@given(st.lists(FIELDS, max_size=5, unique_by=lambda fields: fields["content"]))
def test_our_memories_survive_a_trip_through_a_file_of_mem0(drafts):
    with opened() as one, opened() as other:
        one.remember_many(drafts)
        lines = told(one, "mem0")
        assert take_in(other, FORMATS["mem0"], FORMATS["mem0"].parse(lines)).problems == []
        assert [[getattr(memory, name) for name in KEPT] for memory in one.list()] == [
            [getattr(memory, name) for name in KEPT] for memory in other.list()
        ]
        assert told(other, "mem0") == lines


ENTITY = st.fixed_dictionaries(
    {
        "type": st.just("entity"),
        "name": TEXT,
        "entityType": TEXT,
        "observations": st.lists(TEXT, max_size=4, unique=True),
    }
)
RELATION = st.fixed_dictionaries(
    {"type": st.just("relation"), "from": TEXT, "to": TEXT, "relationType": TEXT}
)


@given(
    st.lists(ENTITY, max_size=4, unique_by=lambda one: one["name"]),
    st.lists(
        RELATION, max_size=3, unique_by=lambda one: (one["from"], one["relationType"], one["to"])
    ),
)
def test_a_knowledge_graph_survives_import_and_export(entities, relations):
    with opened() as hf:
        assert take(hf, "mcp-memory", *entities, *relations).problems == []
        lines = told(hf, "mcp-memory")
        assert [json.loads(line) for line in lines.splitlines()] == [*entities, *relations]
        again = take(hf, "mcp-memory", *entities, *relations)
        assert again.added == []
        assert told(hf, "mcp-memory") == lines


@given(st.lists(WORDS_OF, min_size=1, max_size=5, unique=True))
def test_every_memory_is_in_the_graph_that_is_written(texts):
    with opened() as hf, opened("user:other") as other:
        hf.remember_many(texts)
        (line,) = told(hf, "mcp-memory").splitlines()
        graph = json.loads(line)
        assert (graph["name"], graph["entityType"], graph["observations"]) == (
            "me",
            "user",
            [memory.content for memory in hf.list()[::-1]],
        )
        take_in(other, FORMATS["mcp-memory"], FORMATS["mcp-memory"].parse(line))
        assert told(other, "mcp-memory").strip() == line


# Each format


def test_items_of_mem0_are_there_for_a_program_that_was_written_for_it(hf):
    item = {
        "id": "0b6e4a1e-7f5a-4a53-9d0a-0c1f2e3d4c5b",
        "memory": "Likes oolong",
        "user_id": "ann",
        "run_id": "r1",
        "created_at": "2025-01-01T10:00:00-08:00",
        "metadata": {"cups": 3},
    }
    take(hf, "mem0", item)
    found = Memory(hf).get(item["id"])
    assert (found["memory"], found["run_id"], found["metadata"]) == (
        "Likes oolong",
        "r1",
        {"cups": 3},
    )
    assert found["created_at"] == "2025-01-01T18:00:00+00:00"
    assert [hit.memory.content for hit in hf.recall("oolong")] == ["Likes oolong"]


def test_an_import_goes_where_it_is_told(hf):
    take(hf, "mem0", {"memory": "of bob", "user_id": "bob"}, {"memory": "of nobody"})
    assert contents(hf) == ["of nobody"]
    assert contents(hf.scoped("user:bob")) == ["of bob"]
    take(hf, "mem0", {"memory": "of eve", "user_id": "eve"}, into=Scope("user", "ann"))
    assert contents(hf) == ["of eve", "of nobody"]


def test_a_knowledge_graph_is_recalled(hf):
    entity = {
        "type": "entity",
        "name": "Ann",
        "entityType": "person",
        "observations": ["Speaks Portuguese"],
    }
    relation = {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"}
    take(hf, "mcp-memory", entity, relation)
    assert hf.recall("who speaks Portuguese?")[0].memory.content == "Ann: Speaks Portuguese"
    (fact,) = [memory for memory in hf.list() if memory.triple]
    assert fact.triple == Triple("Ann", "works_at", "Acme")


def test_a_knowledge_graph_is_the_one_that_the_server_has(hf):
    from holdfast.integrations.knowledge_graph import Graph

    graph = Graph(hf)
    graph.create_entities([{"name": "Ann", "entityType": "person", "observations": ["Bakes"]}])
    entity = {
        "type": "entity",
        "name": "Ann",
        "entityType": "baker",
        "observations": ["Bakes", "Sings"],
    }
    done = take(hf, "mcp-memory", entity)
    assert ([memory.content for memory in done.added], done.known) == (["Ann: Sings"], 2)
    assert graph.read()["entities"] == [
        {"name": "Ann", "entityType": "person", "observations": ["Bakes", "Sings"]}
    ]


def test_items_of_langgraph_are_items_here(hf):
    from holdfast.integrations.langgraph import HoldfastStore

    item = {
        "namespace": ["users", "ann"],
        "key": "tea",
        "value": {"likes": "oolong", "cups": 3},
        "created_at": "2025-01-01T10:00:00+00:00",
        "updated_at": "2025-02-01T10:00:00+00:00",
    }
    row = {
        "prefix": "users.bob",
        "key": "tea",
        "value": '{"likes": "sencha"}',
        "expires_at": "2030-01-01T00:00:00Z",
    }
    assert take(hf, "langgraph", item, row).problems == []
    store = HoldfastStore(hf)
    kept = store.get(("users", "ann"), "tea")
    assert kept.value == item["value"]
    assert (kept.created_at.isoformat(), kept.updated_at.isoformat()) == (
        item["created_at"],
        item["updated_at"],
    )
    assert store.search(("users",), query="sencha")[0].key == "tea"


def test_what_was_said_to_an_agent_of_letta_and_by_it_comes_along(hf):
    wrapped = {
        "type": "user_message",
        "message": "I moved to Lisbon",
        "time": "2025-01-01 10:00:00 AM",
    }
    messages = [
        {
            "id": "message-0",
            "role": "system",
            "content": [{"type": "text", "text": "You are Letta."}],
        },
        {
            "id": "message-1",
            "role": "user",
            "content": [{"type": "text", "text": json.dumps(wrapped)}],
            "created_at": "2025-01-01T10:00:00Z",
        },
        {
            "id": "message-2",
            "role": "user",
            "content": json.dumps({"type": "login", "last_login": "Never"}),
        },
        {
            "id": "message-3",
            "role": "assistant",
            "content": [{"type": "text", "text": "How is it there?"}],
        },
        {"id": "message-4", "role": "tool", "content": [{"type": "text", "text": "ok"}]},
    ]
    agent = {"agents": [{"name": "helper", "messages": messages}], "blocks": []}
    assert take(hf, "letta", agent).problems == []
    assert take(hf, "letta", agent).added == [], "twice equals once"
    answer, said = hf.list()
    assert (said.kind, said.role, said.content) == ("turn", "user", "I moved to Lisbon")
    assert said.event_time == from_datetime(datetime(2025, 1, 1, 10, tzinfo=UTC))
    assert (answer.kind, answer.role, answer.content) == ("turn", "assistant", "How is it there?")


def test_blocks_and_passages_of_letta(hf):
    agent = {
        "agents": [{"name": "helper", "messages": []}],
        "blocks": [
            {
                "id": "block-0",
                "label": "human",
                "value": "The human is Ann",
                "description": "about them",
            },
            {"id": "block-1", "label": "empty", "value": ""},
        ],
    }
    assert take(hf, "letta", agent).problems == []
    passage = {
        "id": "passage-1",
        "text": "Met in Lisbon",
        "tags": ["trip"],
        "created_at": "2025-01-01T10:00:00Z",
    }
    take(hf, "letta", passage)
    block, archived = sorted(hf.list(), key=lambda memory: memory.content, reverse=True)
    assert (block.content, block.title, block.category) == (
        "The human is Ann",
        "human",
        "core memory",
    )
    assert (archived.content, archived.tags, archived.category) == (
        "Met in Lisbon",
        ("trip",),
        "archival memory",
    )
    assert archived.created_at == from_datetime(datetime(2025, 1, 1, 10, tzinfo=UTC))


def test_what_zep_knows_keeps_when_it_held(hf):
    graph = {
        "nodes": [
            {"uuid": "n1", "name": "Ann", "summary": "A baker"},
            {"uuid": "n2", "name": "Lisbon", "summary": ""},
        ],
        "edges": [
            {
                "uuid": "e1",
                "fact": "Ann lived in Lisbon",
                "name": "LIVED_IN",
                "source_node_uuid": "n1",
                "target_node_uuid": "n2",
                "valid_at": "2020-01-01T00:00:00Z",
                "invalid_at": "2022-01-01T00:00:00Z",
            },
        ],
        "episodes": [{"uuid": "p1", "content": "I moved to Porto", "role_type": "user"}],
    }
    assert take(hf, "zep", graph).problems == []
    (edge,) = [memory for memory in hf.list() if memory.triple]
    assert edge.triple == Triple("Ann", "LIVED_IN", "Lisbon")
    assert (edge.valid_from, edge.valid_until) == tuple(
        from_datetime(datetime(year, 1, 1, tzinfo=UTC)) for year in (2020, 2022)
    )
    assert contents(hf) == ["A baker", "Ann lived in Lisbon", "I moved to Porto"]
    assert take(hf, "zep", graph).added == []


@pytest.mark.parametrize(
    ("name", "bad", "why"),
    [
        ("mem0", {"id": "x"}, "no memory or text or data"),
        ("mem0", {"memory": "x", "user_id": "a b"}, "Invalid user_id"),
        ("mem0", {"memory": "x", "metadata": {"holdfast": {"colour": 1}}}, "colour"),
        ("mem0", {"memory": "x", "metadata": {"holdfast": {"kind": "odd"}}}, "Unknown kind"),
        ("mem0", {"memory": "x", "expiration_date": "soon"}, "expiration_date"),
        ("langgraph", {"key": "k", "value": {}}, "no namespace"),
        ("langgraph", {"namespace": ["a"], "value": {}}, "no key"),
        ("langgraph", {"namespace": ["a"], "key": "k", "value": 3}, "no object"),
        ("mcp-memory", {"type": "odd"}, "neither entity nor relation"),
        ("mcp-memory", {"type": "entity", "name": "a", "entityType": "b"}, "observations"),
        ("mcp-memory", {"type": "relation", "from": "a", "to": "b"}, "relationType"),
        ("letta", {"id": "x"}, "no text or content"),
        ("zep", {"uuid": "x"}, "no content"),
        ("zep", "text", "no record"),
        ("hindsight", {"facts": []}, "no text"),
        ("claude-memory", {"account_uuid": "x"}, "no conversations_memory"),
        ("chatgpt-memory", {"id": "x"}, "no content"),
    ],
)
def test_what_is_malformed_is_told_and_the_rest_is_taken_in(hf, name, bad, why):
    good = {
        "mem0": {"memory": "good"},
        "langgraph": {"namespace": ["a"], "key": "k", "value": {"x": "good"}},
        "mcp-memory": {"type": "entity", "name": "good", "entityType": "x", "observations": []},
        "letta": {"text": "good"},
        "zep": {"content": "good"},
        "hindsight": {"text": "good"},
        "claude-memory": {"conversations_memory": "good"},
        "chatgpt-memory": {"content": "good"},
    }[name]
    done = take(hf, name, good, bad)
    assert [(one.line, why in one.reason) for one in done.problems] == [(2, True)]
    assert contents(hf) == ["good (x)" if name == "mcp-memory" else "good"]


def test_what_was_erased_does_not_come_back(hf):
    item = {"id": "abc", "memory": "a secret"}
    (added,) = take(hf, "mem0", item).added
    hf.admin.purge(added.id)
    assert take(hf, "mem0", item).added == []
    assert contents(hf) == []


def test_an_import_is_one_run(hf):
    take(hf, "mem0", {"memory": "one"}, {"memory": "two"})
    hf.undo()
    assert hf.list() == []


# At the command line


def test_import_and_export_at_the_command_line(cli, tmp_path):
    graph = tmp_path / "memory.jsonl"
    graph.write_text(
        '{"type":"entity","name":"Ann","entityType":"person","observations":["Bakes"]}\nodd\n'
    )
    done = cli("import", "mcp-memory", graph)
    assert done.code == 0
    assert "Imported 2 memories into user:" in done.out and "1 record left out" in done.out
    assert "line 2 was left out" in done.err
    again = json.loads(cli("import", "mcp-memory", graph, "--json").out)
    assert (again["added"], again["known"], again["problems"][0]["line"]) == (0, 2, 2)
    out = cli("export", "--format", "mcp-memory").out
    assert json.loads(out) == json.loads(graph.read_text().splitlines()[0])
    assert cli("export", "--format", "mem0", "-o", tmp_path / "mem0.json").code == 0
    assert cli("import", "mem0", tmp_path / "mem0.json", "--into", "user:copy").out.startswith(
        "Imported 2 memories"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("import", "mem1", "x.json"), "There are: mem0, langgraph, mcp-memory, letta, zep, "),
        (("import", "mem0"), "Name the file too"),
        (("import", "mem0", "absent.json"), "Cannot read absent.json"),
        (("import", "a", "b", "c"), "Name one file"),
        (("import",), "Name a file"),
        (("export", "--format", "zep"), "There are: mem0, mcp-memory."),
    ],
)
def test_what_cannot_be_imported_is_said(cli, words, told):
    done = cli(*words)
    assert done.code == 2
    assert told in done.err
