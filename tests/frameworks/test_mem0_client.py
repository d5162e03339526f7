"""mem0's hosted clients, as the package has them, against a server on this machine."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from inspect import getmembers, isfunction

import pytest

os.environ["MEM0_TELEMETRY"] = "False"  # before its import; it would report to mem0
pytest.importorskip("mem0", reason="`make integrations` installs mem0")
pytest.importorskip("fastapi", reason="the server needs it")

from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.types import (
    AddMemoryOptions,
    DeleteAllMemoryOptions,
    SearchMemoryOptions,
    UpdateMemoryOptions,
)
from mem0.exceptions import MemoryError as Mem0Error
from mem0.exceptions import MemoryNotFoundError, RateLimitError, ValidationError

from holdfast.server.api_keys import KeyFile
from live_server import serving

ANN = {"user_id": "ann"}
TRIP = [
    {"role": "user", "content": "I live in Lisbon."},
    {"role": "assistant", "content": "Noted."},
]


@pytest.fixture
def live(hf, tmp_path):
    """A server without keys, which serves every user."""
    with serving(hf, tmp_path / "keys.jsonl") as live:
        yield live


@pytest.fixture
def connect():
    """Makes clients, and closes them before the server stops."""
    with ExitStack() as stack:

        def made(host, key="any"):
            client = MemoryClient(host=host, api_key=key)
            stack.callback(client.client.close)
            return client

        yield made


@pytest.fixture
def client(live, connect):
    return connect(live.url)


@pytest.fixture
def guarded(hf, tmp_path):
    """A server with keys for Ann and Bob: its address, and their keys."""
    keys = KeyFile(tmp_path / "owners.jsonl")
    owners = {name: keys.add(name, at=0) for name in ("ann", "bob")}
    with serving(hf, keys.path) as live:
        yield live.url, owners


def keep(client, text, **given):
    """The id of a text that is stored as it is."""
    return client.add(text, infer=False, **(given or ANN))["results"][0]["id"]


def texts(found):
    return sorted(one["memory"] for one in found["results"])


# Every method of the client


def test_what_is_said_is_learned_and_found(client):
    done = client.add(TRIP, **ANN, metadata={"trip": 1})
    assert done["status"] == "SUCCEEDED"
    ((id_, text),) = [(one["id"], one["data"]["memory"]) for one in done["results"]]
    (found,) = client.search("where does she live?", filters=ANN)["results"]
    assert (found["id"], found["memory"], found["metadata"]) == (id_, text, {"trip": 1})
    assert 0 < found["score"] <= 1
    (event,) = client.history(id_)
    assert (event["event"], event["new_memory"]) == ("ADD", text)
    assert event["input"] == [{"role": "user", "content": "I live in Lisbon."}]


def test_an_item_has_the_fields_of_the_hosted_api(client):
    id_ = keep(
        client,
        "Likes oolong",
        user_id="ann",
        agent_id="tea",
        app_id="shop",
        run_id="r1",
        metadata={"cups": 3},
        expiration_date="2026-12-31",
    )
    item = client.get(id_)
    assert {name: item[name] for name in ("user_id", "agent_id", "app_id", "run_id")} == {
        "user_id": "ann",
        "agent_id": "tea",
        "app_id": "shop",
        "run_id": "r1",
    }
    assert (item["session_id"], item["metadata"]) == ("r1", {"cups": 3})
    assert (item["expiration_date"], item["categories"]) == ("2026-12-31", None)
    assert client.get_all(filters={"app_id": "shop", **ANN})["results"] == [item]
    assert client.get_all(filters=ANN, fields=["id", "memory"])["results"] == [
        {"id": id_, "memory": "Likes oolong"}
    ]


def test_an_item_is_updated_under_its_id(client):
    id_ = keep(client, "Likes oolong", user_id="ann", metadata={"cups": 3})
    updated = client.update(id_, text="Likes sencha", metadata={"hot": True})
    assert (updated["id"], updated["memory"]) == (id_, "Likes sencha")
    assert updated["metadata"] == {"cups": 3, "hot": True}
    client.update(id_, UpdateMemoryOptions(expiration_date="2020-01-01"))
    assert client.get_all(filters=ANN)["count"] == 0
    assert client.get_all(filters=ANN, show_expired=True)["count"] == 1
    assert client.update(id_, expiration_date=None)["expiration_date"] is None
    assert client.get_all(filters=ANN)["count"] == 1
    assert [one["event"] for one in client.history(id_)] == ["ADD", "UPDATE", "UPDATE", "UPDATE"]


def test_what_is_deleted_is_gone_and_can_be_undone(client, hf):
    id_ = keep(client, "Likes oolong")
    assert client.delete(id_) == {"message": "Memory deleted successfully!"}
    for gone in (client.get, client.delete, lambda id_: client.update(id_, text="x")):
        with pytest.raises(MemoryNotFoundError, match=id_):
            gone(id_)
    assert [one["event"] for one in client.history(id_)] == ["ADD", "DELETE"]
    hf.undo()
    assert client.delete(id_, delete_linked=True)["cascade_count"] == 0


def test_all_of_one_owner_are_deleted_and_of_nobody_else(client):
    keep(client, "of ann")
    keep(client, "of ann in the shop", user_id="ann", app_id="shop")
    keep(client, "of bob", user_id="bob")
    client.delete_all(user_id="ann", app_id="shop")
    assert texts(client.get_all(filters=ANN)) == ["of ann"]
    client.delete_all(DeleteAllMemoryOptions(filters=ANN))
    assert client.get_all(filters=ANN)["count"] == 0
    for nobody in ({}, {"filters": {"metadata": {"a": 1}}}, {"user_id": "*"}):
        with pytest.raises(ValidationError):
            client.delete_all(**nobody)
    assert texts(client.get_all(filters={"user_id": "bob"})) == ["of bob"]


def test_users_agents_and_runs_are_listed_and_deleted(client):
    keep(client, "of ann", user_id="ann", run_id="r1")
    keep(client, "of bob", user_id="bob")
    keep(client, "of the agent", agent_id="a/b")
    listed = client.users()
    assert [(one["type"], one["name"], one["total_memories"]) for one in listed["results"]] == [
        ("user", "ann", 1),
        ("user", "bob", 1),
        ("agent", "a/b", 1),
        ("run", "r1", 1),
    ]
    client.delete_users(user_id="bob")
    client.delete_users(agent_id="a/b")
    assert [one["name"] for one in client.users()["results"]] == ["ann", "r1"]
    assert "successful" in client.reset()["message"]
    assert client.users() == {"count": 0, "next": None, "previous": None, "results": []}


def test_a_batch_changes_what_is_there_and_reports_the_rest(client):
    tea, bees = keep(client, "Likes oolong"), keep(client, "Keeps bees")
    done = client.batch_update(
        [
            {"memory_id": tea, "text": "Likes sencha"},
            {"memory_id": "mem_missing", "text": "x"},
            {"memory_id": bees, "metadata": {"hives": 2}},
        ]
    )
    assert done["message"] == "Successfully updated 2 memories"
    assert [one["memory_id"] for one in done["errors"]] == ["mem_missing"]
    assert (client.get(tea)["memory"], client.get(bees)["metadata"]) == (
        "Likes sencha",
        {"hives": 2},
    )
    both = [{"memory_id": tea}, {"memory_id": bees}]
    assert client.batch_delete(both) == {"message": "Successfully deleted 2 memories"}
    with pytest.raises(ValidationError, match="not found"):
        client.batch_delete(both)


def test_feedback_is_kept_with_the_item(client, hf):
    id_ = keep(client, "Likes oolong", user_id="ann", metadata={"cups": 3})
    given = {"feedback": "NEGATIVE", "feedback_reason": "she moved on"}
    assert client.feedback(id_, **given) == {"id": id_, **given}
    item = client.get(id_)
    assert {name: item[name] for name in given} == given
    assert (item["memory"], item["metadata"]) == ("Likes oolong", {"cups": 3})
    assert hf.admin.log()[0].verb == "feedback"
    client.feedback(id_)
    assert "feedback" not in client.get(id_)
    with pytest.raises(MemoryNotFoundError):
        client.feedback("mem_missing", "POSITIVE")


def test_pages_cover_the_whole_list(client):
    for number in range(5):
        keep(client, f"Fact {number}")
    pages = [client.get_all(filters=ANN, page=number, page_size=2) for number in (1, 2, 3)]
    assert [one["count"] for one in pages] == [5, 5, 5]
    assert [texts(one) for one in pages] == [["Fact 3", "Fact 4"], ["Fact 1", "Fact 2"], ["Fact 0"]]
    assert (pages[0]["previous"], pages[2]["next"]) == (None, None)
    assert "page=2" in pages[0]["next"] and "page=2" in pages[2]["previous"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"AND": [ANN, {"metadata": {"trip": 1}}]}, ["Rome"]),
        ({**ANN, "NOT": {"metadata": {"trip": 1}}}, ["Oslo"]),
        ({**ANN, "OR": [{"keywords": {"icontains": "ROME"}}, {"run_id": "r2"}]}, ["Oslo", "Rome"]),
        ({**ANN, "run_id": "*"}, ["Oslo"]),
        ({**ANN, "created_at": {"gte": "2026-03-18"}}, ["Oslo", "Rome"]),
        ({**ANN, "created_at": {"lt": "2026-03-18"}}, []),
        ({"user_id": {"in": ["ann", "bob"]}}, ["Bonn", "Oslo", "Rome"]),
    ],
)
def test_filters_are_those_of_the_hosted_api(client, filters, found):
    keep(client, "Rome", user_id="ann", metadata={"trip": 1})
    keep(client, "Oslo", user_id="ann", run_id="r2")
    keep(client, "Bonn", user_id="bob")
    assert texts(client.get_all(filters=filters)) == found
    assert texts(client.search("Rome Oslo Bonn", filters=filters, threshold=0.0)) == found


def test_items_are_found_by_their_ids_and_dates(client, hf, clock):
    old = keep(client, "Old")
    clock.forward(days=2)
    new = keep(client, "New")
    assert texts(client.get_all(filters={**ANN, "memory_ids": [old, "mem_missing"]})) == ["Old"]
    assert texts(client.get_all(filters=ANN, start_date="2026-03-19")) == ["New"]
    assert texts(client.get_all(filters=ANN, end_date="2026-03-18")) == ["Old"]
    client.update(new, timestamp=1_700_000_000)
    assert hf.get(new).event_time == 1_700_000_000 * 1_000_000


def test_options_say_the_same_as_keywords(client):
    client.add("Likes oolong", AddMemoryOptions(filters=ANN, infer=False, metadata={"cups": 3}))
    options = SearchMemoryOptions(filters=ANN, top_k=1, metadata={"cups": 3}, rerank=True)
    assert texts(client.search("oolong", options)) == ["Likes oolong"]
    assert texts(client.search("oolong", filters=ANN, metadata={"cups": 4})) == []


@pytest.mark.parametrize(
    ("verb", "given", "told"),
    [
        ("search", {"filters": {}}, "filters must contain"),
        ("search", {"filters": {**ANN, "categories": {"in": ["food"]}}}, "Filters by categories"),
        ("search", {"filters": {**ANN, "metadata": {"id": "x"}}}, "Cannot filter by metadata"),
        ("search", {"filters": {**ANN, "AND": "x"}}, "AND takes a mapping"),
        ("get_all", {"filters": ANN, "categories": ["food"]}, "categories are not stored"),
        ("get_all", {"filters": ANN, "start_date": "soon"}, "'soon' is not a time"),
        ("add", {"filters": {"metadata": {"a": 1}}}, "Here filters name the owner"),
        ("add", {}, "At least one identifier"),
    ],
)
def test_what_cannot_be_asked_says_why(client, verb, given, told):
    """The client's error has the sentence, not the body of the answer."""
    text = () if verb == "get_all" else ("tea",)
    with pytest.raises(ValidationError) as refused:
        getattr(client, verb)(*text, **given)
    assert refused.value.message.startswith(told)


# What only mem0's own servers have

NOT_HERE = {
    "create_memory_export": lambda client: client.create_memory_export("{}", user_id="ann"),
    "get_memory_export": lambda client: client.get_memory_export(user_id="ann"),
    "get_summary": lambda client: client.get_summary(ANN),
    "get_profile": lambda client: client.get_profile("ann"),
    "generate_profile": lambda client: client.generate_profile("ann"),
    "get_profile_settings": lambda client: client.get_profile_settings(),
    "update_profile_settings": lambda client: client.update_profile_settings(enabled=True),
    "sample_profiles": lambda client: client.sample_profiles(),
    "get_profile_job": lambda client: client.get_profile_job("job"),
    "get_project": lambda client: client.get_project(),
    "update_project": lambda client: client.update_project(custom_instructions="x"),
    "get_webhooks": lambda client: client.get_webhooks("p"),
    "create_webhook": lambda client: client.create_webhook("http://x", "x", "p", []),
    "update_webhook": lambda client: client.update_webhook(1, name="x"),
    "delete_webhook": lambda client: client.delete_webhook(1),
}
SERVED = {
    "add",
    "get",
    "get_all",
    "search",
    "update",
    "delete",
    "delete_all",
    "history",
    "users",
    "delete_users",
    "reset",
    "batch_update",
    "batch_delete",
    "feedback",
}


@pytest.mark.parametrize("method", NOT_HERE)
def test_what_is_not_here_says_so(client, method):
    with pytest.raises(Mem0Error, match="Holdfast does not serve"):
        NOT_HERE[method](client)


def test_every_method_is_served_or_says_that_it_is_not():
    methods = {name for name, _ in getmembers(MemoryClient, isfunction) if name[0] != "_"}
    # `chat` raises NotImplementedError in the client itself.
    assert methods - {"chat"} == SERVED | set(NOT_HERE)


def test_projects_are_not_here_either(client):
    for ask in (client.project.get, client.project.get_members, client.project.delete):
        with pytest.raises(Mem0Error, match="there are no organizations or projects"):
            ask()


# Keys


def test_a_key_opens_one_owner_whatever_a_request_says(guarded, connect):
    host, keys = guarded
    ann, bob = connect(host, keys["ann"]), connect(host, keys["bob"])
    id_ = keep(ann, "The treasure is under the oak", agent_id="tea")
    assert ann.get(id_)["user_id"] == "ann"
    for filters in (ANN, {"user_id": "*"}, {"OR": [ANN, {"agent_id": "tea"}]}):
        assert bob.search("treasure", filters=filters)["results"] == []
        assert bob.get_all(filters=filters)["count"] == 0
    for reach in (bob.get, bob.delete, bob.feedback):
        with pytest.raises(MemoryNotFoundError):
            reach(id_)
    for refused in (bob.delete_all, bob.delete_users, lambda **ids: bob.add("x", **ids)):
        with pytest.raises(Mem0Error, match="does not open"):
            refused(user_id="ann")
    assert bob.history(id_) == [] and bob.users()["count"] == 0
    bob.delete_all(agent_id="tea")
    assert [one["name"] for one in ann.users()["results"]] == ["ann", "tea"]


def test_a_wrong_key_is_refused_with_what_to_send(guarded):
    host, _ = guarded
    for kind in (MemoryClient, AsyncMemoryClient):
        with pytest.raises(ValueError, match="This server requires a key"):
            kind(host=host, api_key="m0-mine")


def test_too_many_requests_say_when_to_come_back(hf, tmp_path, connect):
    with serving(hf, tmp_path / "keys.jsonl", per_minute=1) as live:
        client = connect(live.url)
        with pytest.raises(RateLimitError) as refused:
            client.users()
    assert refused.value.debug_info["retry_after"] > 0


# Awaited


def test_the_awaited_client_does_the_same(live):
    async def use():
        async with AsyncMemoryClient(host=live.url, api_key="any") as client:
            done = await client.add("Likes oolong", infer=False, **ANN)
            id_ = done["results"][0]["id"]
            await client.update(id_, text="Likes sencha")
            found = await client.search("sencha", filters=ANN)
            await client.feedback(id_, "POSITIVE")
            listed, users = await client.get_all(filters=ANN), await client.users()
            events = await client.history(id_)
            item = await client.get(id_)
            await client.batch_update([{"memory_id": id_, "text": "Likes mate"}])
            await client.batch_delete([{"memory_id": id_}])
            await client.delete_all(**ANN)
            with pytest.raises(MemoryNotFoundError):
                await client.delete(id_)
            with pytest.raises(Mem0Error, match="does not serve"):
                await client.get_summary(ANN)
            return found, listed, users, events, item

    found, listed, users, events, item = asyncio.run(use())
    assert texts(found) == texts(listed) == ["Likes sencha"]
    assert [one["name"] for one in users["results"]] == ["ann"]
    assert [one["event"] for one in events] == ["ADD", "UPDATE"]
    assert (item["memory"], item["feedback"]) == ("Likes sencha", "POSITIVE")
