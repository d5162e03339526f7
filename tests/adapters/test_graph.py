"""A knowledge graph over the memory: what the reference server's tools promise, and what a memory
adds to it.
"""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.client import Holdfast
from holdfast.errors import NotFound
from holdfast.importers import FORMATS, take_in, written
from holdfast.integrations.knowledge_graph import Graph
from mcp_clients import by_http, by_pipe, connected, served, shown

ANN = {"name": "Ann", "entityType": "person", "observations": ["Likes tea", "Lives in Lisbon"]}
SHOP = {"name": "Shop", "entityType": "project", "observations": []}
OWNS = {"from": "Ann", "to": "Shop", "relationType": "owns"}
NINE = [
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "read_graph",
    "search_nodes",
    "open_nodes",
]


@pytest.fixture
def graph(hf):
    graph = Graph(hf)
    graph.create_entities([ANN, SHOP])
    graph.create_relations([OWNS])
    return graph


def test_what_is_created_is_read_in_the_order_in_which_it_was_told(graph):
    assert graph.read() == {"entities": [ANN, SHOP], "relations": [OWNS]}


def test_only_what_is_new_is_created_and_comes_back(graph):
    new = {"name": "Bob", "entityType": "person", "observations": ["Sings", "Sings"]}
    assert graph.create_entities([ANN, new, {**new, "entityType": "robot"}]) == [
        {**new, "observations": ["Sings"]}
    ]
    assert graph.create_relations([OWNS, OWNS]) == []
    added = graph.add_observations([{"entityName": "Ann", "contents": ["Likes tea", "Rows"]}])
    assert added == [{"entityName": "Ann", "addedObservations": ["Rows"]}]


def test_what_is_not_there_is_told_by_name_and_nothing_is_added(graph):
    before = graph.read()
    with pytest.raises(NotFound, match="Entity with name Zoe not found"):
        graph.create_relations(
            [{"from": "Ann", "to": "Shop", "relationType": "left"}, {**OWNS, "to": "Zoe"}]
        )
    with pytest.raises(NotFound, match="Zoe"):
        graph.add_observations(
            [{"entityName": "Ann", "contents": ["Rows"]}, {"entityName": "Zoe", "contents": ["x"]}]
        )
    assert graph.read() == before


def test_nodes_are_found_by_name_type_or_observation_with_all_their_relations(graph):
    assert graph.search("TEA") == graph.search("person") == {"entities": [ANN], "relations": [OWNS]}
    assert graph.search("shop") == graph.open(["Shop"]) == {"entities": [SHOP], "relations": [OWNS]}
    assert graph.search("nothing of the kind") == {"entities": [], "relations": []}


def test_deleting_takes_what_belongs_to_it_and_undo_brings_it_back(graph, hf):
    assert graph.delete_entities(["Ann", "Zoe"]) == ["Ann"]
    assert graph.read() == {"entities": [SHOP], "relations": []}
    hf.undo()
    assert graph.read() == {"entities": [ANN, SHOP], "relations": [OWNS]}
    assert graph.delete_observations(
        [{"entityName": "Ann", "observations": ["Likes tea", "Rows"]}]
    ) == (1, [])
    assert graph.delete_observations([{"entityName": "Zoe", "observations": ["x"]}]) == (0, ["Zoe"])
    assert graph.delete_relations([OWNS, {**OWNS, "to": "Ann"}]) == 1
    assert graph.read() == {
        "entities": [{**ANN, "observations": ["Lives in Lisbon"]}, SHOP],
        "relations": [],
    }


def test_what_is_in_the_graph_is_recalled_like_everything_else(graph, hf):
    assert "Ann: Lives in Lisbon" in [
        hit.memory.content for hit in hf.recall("where does Ann live?")
    ]
    assert graph.create_entities(
        [{**ANN, "name": "Zoe", "observations": ["token sk-ant-REDACTED"]}]
    )
    assert "sk-ant-api03" not in json.dumps(graph.read())


def test_another_scope_has_another_graph(graph, hf):
    assert Graph(hf.scoped("user:bob")).read() == {"entities": [], "relations": []}


def test_what_two_programs_created_at_once_counts_once(graph, hf):
    draft = {"category": "graph", "metadata": {"graph": {"entity": "Ann", "type": "person"}}}
    hf.remember("Ann (person), said by somebody else at the same moment", **draft)
    assert graph.read()["entities"] == [ANN, SHOP]
    graph.delete_entities(["Ann"])
    assert graph.read()["entities"] == [SHOP]


NAMES = st.text("aAbé: ", min_size=1, max_size=4).filter(str.strip)
ENTITIES = st.lists(
    st.fixed_dictionaries(
        {
            "name": NAMES,
            "entityType": NAMES,
            "observations": st.lists(NAMES, unique=True, max_size=3),
        }
    ),
    unique_by=lambda one: one["name"],
    max_size=4,
)
RELATIONS = st.lists(
    st.fixed_dictionaries(dict.fromkeys(("from", "to", "relationType"), NAMES)),
    unique_by=lambda one: tuple(one.values()),
    max_size=4,
)


@given(ENTITIES, RELATIONS)
def test_what_was_imported_from_the_reference_server_is_there_and_goes_out_again(
    entities, relations
):
    told = [{"type": "entity", **one} for one in entities] + [
        {"type": "relation", **one} for one in relations
    ]
    with Holdfast.open(":memory:", scope="user:ann", background=False) as hf:
        take_in(
            hf, FORMATS["mcp-memory"], FORMATS["mcp-memory"].parse("\n".join(map(json.dumps, told)))
        )
        assert Graph(hf).read() == {"entities": entities, "relations": relations}
        assert list(map(json.loads, written(hf, "mcp-memory"))) == told


def test_a_client_of_the_reference_server_finds_its_nine_tools(tmp_path):
    with connected(by_pipe(tmp_path / "memory.db", "--scope", "user:ann", "--graph")) as client:
        assert [tool.name for tool in client.ask("list_tools").tools] == NINE
        assert client.ask("list_prompts").prompts == [] and not client.client.instructions
        assert client.data("create_entities", entities=[ANN, SHOP]) == {"entities": [ANN, SHOP]}
        assert json.loads(client.said("create_relations", relations=[OWNS])) == [OWNS]
        added = {"entityName": "Shop", "addedObservations": ["Sells tea"]}
        told = client.data(
            "add_observations", observations=[{"entityName": "Shop", "contents": ["Sells tea"]}]
        )
        assert told == {"results": [added]}
        assert [one["name"] for one in client.data("search_nodes", query="tea")["entities"]] == [
            "Ann",
            "Shop",
        ]
        assert client.data("open_nodes", names=["Ann"]) == {"entities": [ANN], "relations": [OWNS]}
        assert client.said("delete_relations", relations=[OWNS]) == "Relations deleted successfully"
        gone = client.said(
            "delete_observations", deletions=[{"entityName": "Ann", "observations": ["Likes tea"]}]
        )
        assert gone == "Observations deleted successfully"
        assert client.said("delete_entities", entityNames=["Ann", "Zoe"]).endswith("Not found: Zoe")
        assert client.data("read_graph") == {
            "entities": [{**SHOP, "observations": ["Sells tea"]}],
            "relations": [],
        }
        assert "Entity with name Ann not found" in client.said("create_relations", relations=[OWNS])


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["pipe", "http"])
def test_a_client_is_told_when_the_graph_changes(transport, era, tmp_path):
    store = tmp_path / "memory.db"
    with ExitStack() as stack:
        if transport == "http":
            server = stack.enter_context(served(store, "user:ann", graph=True))
        else:
            server = by_pipe(store, "--scope", "user:ann", "--graph")
        client = stack.enter_context(connected(server, mode=era))
        (listed,) = client.ask("list_resources").resources
        assert listed.uri == "memory://knowledge-graph" and listed.mime_type == "application/json"
        with client.listening(listed.uri) as next_change:
            client.data("create_entities", entities=[ANN])
            assert next_change() == listed.uri
            (content,) = client.ask("read_resource", listed.uri).contents
            assert json.loads(content.text) == {"entities": [ANN], "relations": []}


def test_another_owner_hears_nothing_of_it(tmp_path, cli):
    keys = tmp_path / "keys.jsonl"
    ann, bob = (
        cli("serve", "keys", "add", name, "--keys", keys).out.strip() for name in ("ann", "bob")
    )
    with (
        by_http(tmp_path / "memory.db", "--graph", "--keys", str(keys)) as url,
        connected(shown(url, ann), mode="legacy") as hers,
        connected(shown(url, bob), mode="legacy") as his,
        his.listening("memory://knowledge-graph") as next_change,
    ):
        hers.data("create_entities", entities=[ANN])
        for entity in (ANN, SHOP):
            his.data("create_entities", entities=[entity])
        assert next_change() == next_change() == "memory://knowledge-graph"
        his.data("read_graph")
        assert his.notified.empty()
