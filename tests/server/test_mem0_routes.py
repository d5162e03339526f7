"""mem0's REST routes: what a program that talks to its server sends, and what it gets."""

from __future__ import annotations

import pytest

from holdfast.server.api_keys import KeyFile
from live_server import serving


@pytest.fixture
def client(hf, tmp_path):
    with serving(hf, tmp_path / "keys.jsonl") as live:
        yield live.client()


def add(client, text, **given):
    body = {
        "messages": [{"role": "user", "content": text}],
        "infer": False,
        **(given or {"user_id": "ann"}),
    }
    return client.post("/mem0/memories", json=body).json()["results"][0]["id"]


def test_an_item_from_its_first_word_to_its_last(client):
    id_ = add(client, "Likes oolong", user_id="ann", run_id="r1", metadata={"cups": 3})
    assert client.get(f"/mem0/memories/{id_}").json()["metadata"] == {"cups": 3}
    found = client.post("/mem0/search", json={"query": "oolong", "user_id": "ann"}).json()[
        "results"
    ]
    assert [(one["id"], one["run_id"]) for one in found] == [(id_, "r1")]
    assert client.put(f"/mem0/memories/{id_}", json={"text": "Likes sencha"}).status_code == 200
    assert [one["event"] for one in client.get(f"/mem0/memories/{id_}/history").json()] == [
        "ADD",
        "UPDATE",
    ]
    assert client.delete(f"/mem0/memories/{id_}").json() == {
        "message": "Memory deleted successfully!"
    }
    for gone in (client.get, client.delete):
        assert gone(f"/mem0/memories/{id_}").status_code == 404
    assert client.put(f"/mem0/memories/{id_}", json={"text": "x"}).status_code == 404


def test_items_are_listed_and_deleted_by_whose_they_are(client):
    add(client, "of ann")
    add(client, "of the agent", agent_id="tea")
    assert [
        one["memory"]
        for one in client.get("/mem0/memories", params={"agent_id": "tea"}).json()["results"]
    ] == ["of the agent"]
    at = "2026-03-18T12:00:00+00:00"
    times = {"created_at": at, "updated_at": at}
    assert client.get("/mem0/entities").json() == [
        {"type": "user", "id": "ann", "total_memories": 1, **times},
        {"type": "agent", "id": "tea", "total_memories": 1, **times},
    ]
    client.delete("/mem0/memories", params={"agent_id": "tea"})
    assert client.get("/mem0/memories", params={"agent_id": "tea"}).json() == {"results": []}
    reset = client.post("/mem0/reset", params={"user_id": "ann"})
    assert reset.json() == {"message": "All memories reset"}
    assert client.get("/mem0/memories", params={"user_id": "ann"}).json() == {"results": []}


@pytest.mark.parametrize(
    ("whose", "left"),
    [
        ({}, {"ann", "bob"}),
        ({"user_id": "ann"}, {"bob", "me"}),
        ({"thread_id": "bob"}, {"ann", "me"}),
    ],
)
def test_a_reset_without_keys_clears_one_owner_and_never_the_others(hf, tmp_path, whose, left):
    """The owner is the one that is named, or else the server's own."""
    for name in ("ann", "bob", "me"):
        hf.scoped(f"user:{name}").remember("Likes oolong")
    with serving(hf.scoped("user:me"), tmp_path / "none.jsonl") as live:
        live.client().post("/mem0/reset", params=whose)
    assert {name for name in ("ann", "bob", "me") if hf.scoped(f"user:{name}").list()} == left


def test_messages_are_learned_from(client):
    body = {"messages": [{"role": "user", "content": "I live in Lisbon."}], "user_id": "ann"}
    assert [one["event"] for one in client.post("/mem0/memories", json=body).json()["results"]] == [
        "ADD"
    ]


def test_somebody_has_to_be_named(client):
    assert client.get("/mem0/memories").status_code == 400
    assert client.delete("/mem0/memories").status_code == 400
    assert client.post("/mem0/memories", json={"messages": []}).status_code == 400
    assert client.post("/mem0/search", json={"query": "tea"}).status_code == 422
    assert (
        client.post(
            "/mem0/search", json={"query": "x", "filters": {"user_id": {"in": 3}}}
        ).status_code
        == 422
    )


def test_a_key_stands_for_its_owner(hf, tmp_path):
    keys = KeyFile(tmp_path / "keys.jsonl")
    ann, bob = keys.add("ann", at=0), keys.add("bob", at=0)
    with serving(hf, keys.path) as live:
        assert live.client().get("/mem0/memories").status_code == 401
        id_ = add(live.client(ann), "The treasure is under the oak", agent_id="tea")
        assert live.client(ann).get(f"/mem0/memories/{id_}").json()["user_id"] == "ann"
        stranger = live.client(bob)
        assert stranger.get(f"/mem0/memories/{id_}").status_code == 404
        for filters in (
            {"user_id": "ann"},
            {"user_id": "*"},
            {"OR": [{"user_id": "ann"}, {"agent_id": "tea"}]},
        ):
            found = stranger.post("/mem0/search", json={"query": "treasure", "filters": filters})
            assert found.json() == {"results": []}
        named = stranger.post("/mem0/search", json={"query": "treasure", "user_id": "ann"})
        assert named.status_code == 403
        stranger.post("/mem0/reset")
        assert live.client(ann).get("/mem0/memories").json()["results"][0]["id"] == id_


@pytest.mark.parametrize("name", ["user_id", "agent_id", "run_id"])
def test_an_id_that_is_a_number_is_found_over_http(client, name):
    id_ = add(client, "Likes oolong", **{name: 5})
    for same in ("5", " 5 "):
        listed = client.get("/mem0/memories", params={name: same}).json()["results"]
        assert [one["id"] for one in listed] == [id_]
    for asked in ({name: 5}, {name: "5"}, {"filters": {name: 5}}):
        found = client.post("/mem0/search", json={"query": "oolong", **asked}).json()["results"]
        assert [one["id"] for one in found] == [id_]
    assert client.delete("/mem0/memories", params={name: 5}).status_code == 200
    assert client.get("/mem0/memories", params={name: 5}).json() == {"results": []}


@pytest.mark.parametrize("wanted", ["", " ", "a b"])
@pytest.mark.parametrize("name", ["user_id", "agent_id", "run_id"])
def test_an_id_that_can_be_nobodys_is_refused_over_http(client, name, wanted):
    said = [{"role": "user", "content": "Likes oolong"}]
    answers = [
        client.post("/mem0/memories", json={"messages": said, name: wanted}),
        client.get("/mem0/memories", params={name: wanted}),
        client.delete("/mem0/memories", params={name: wanted}),
        client.post("/mem0/search", json={"query": "oolong", name: wanted}),
        client.post("/mem0/search", json={"query": "oolong", "filters": {name: wanted}}),
    ]
    assert [answer.status_code for answer in answers] == [422] * 5
    assert all(name in answer.text for answer in answers)


def test_all_users_are_not_deleted_by_the_sign_for_everybody(client):
    add(client, "of ann")
    assert client.delete("/mem0/memories", params={"user_id": "*"}).status_code == 422
    assert len(client.get("/mem0/memories", params={"user_id": "ann"}).json()["results"]) == 1


def test_a_key_knows_its_owner_by_a_padded_id(hf, tmp_path):
    keys = KeyFile(tmp_path / "keys.jsonl")
    ann = keys.add("ann", at=0)
    with serving(hf, keys.path) as live:
        id_ = add(live.client(ann), "Likes oolong", user_id=" ann ")
        found = (
            live.client(ann)
            .post("/mem0/search", json={"query": "oolong", "user_id": "ann "})
            .json()["results"]
        )
    assert [one["id"] for one in found] == [id_]
