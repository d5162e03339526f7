"""mem0's hosted API, by the requests its client makes; tests/frameworks has the client itself."""

from __future__ import annotations

import httpx
import pytest

from holdfast.integrations.mem0.hosted_api import read_filters, read_text_mapping
from holdfast.server.api_keys import KeyFile
from live_server import serving
from patience import PATIENCE

ANN = {"user_id": "ann"}


@pytest.fixture
def hosted(hf, keys):
    """A client of a server: without a key, or with that of an owner."""
    with serving(hf, keys) as live:
        clients = []

        def client(key=""):
            headers = {"Authorization": f"Token {key}"} if key else {}
            clients.append(
                httpx.Client(base_url=live.url, headers=headers, trust_env=False, timeout=PATIENCE)
            )
            return clients[-1]

        yield client
        for one in clients:
            one.close()


def add(client, text, **given):
    body = {
        "messages": [{"role": "user", "content": text}],
        "infer": False,
        "custom_instructions": "what only mem0 reads is ignored",
        **(given or ANN),
    }
    return client.post("/v3/memories/add/", json=body).json()["results"][0]["id"]


def test_an_item_from_its_first_word_to_its_last(hosted):
    client = hosted()
    id_ = add(client, "Likes oolong", **ANN, app_id="shop", metadata={"cups": 3})
    found = client.post("/v3/memories/search/", json={"query": "oolong", "filters": ANN}).json()
    assert [(one["id"], one["app_id"], one["metadata"]) for one in found["results"]] == [
        (id_, "shop", {"cups": 3})
    ]
    updated = client.put(f"/v1/memories/{id_}/", json={"text": "Likes sencha"}).json()
    assert updated == client.get(f"/v1/memories/{id_}/").json()
    rated = client.post("/v1/feedback/", json={"memory_id": id_, "feedback": "POSITIVE"}).json()
    assert rated == {"id": id_, "feedback": "POSITIVE", "feedback_reason": None}
    events = client.get(f"/v1/memories/{id_}/history/").json()
    assert [one["event"] for one in events] == ["ADD", "UPDATE"]
    client.delete(f"/v1/memories/{id_}/")
    listed = client.post("/v3/memories/", json={"filters": ANN}).json()
    assert listed == {"count": 0, "next": None, "previous": None, "results": []}


def test_a_key_is_taken_as_the_client_sends_it_and_names_its_owner(hosted, keys):
    ann = KeyFile(keys).add("ann", at=0)
    assert hosted().get("/v1/ping/").status_code == 401
    client = hosted(ann)
    assert client.get("/v1/ping/").json() == {
        "status": "ok",
        "org_id": "holdfast",
        "project_id": "ann",
        "user_email": None,
    }
    id_ = add(client, "Likes oolong", run_id="r1")
    assert client.get(f"/v1/memories/{id_}/").json()["user_id"] == "ann"
    for one in ("run/r1", "app/shop", "user/ann"):
        assert client.delete(f"/v2/entities/{one}/").status_code == 200
    assert client.get("/v1/entities/").json()["count"] == 0


def test_nothing_is_deleted_unless_somebody_is_named(hosted):
    client = hosted()
    add(client, "Likes oolong", **ANN, app_id="shop")
    for params in ({}, {"filters": "user_id=ann"}, {"filters": "{'user_id': 'ann', 'AND': []}"}):
        assert client.delete("/v1/memories/", params=params).status_code in (400, 422)
    client.delete("/v1/memories/", params={**ANN, "metadata": '{"cups": 4}'})
    client.delete("/v1/memories/", params={**ANN, "app_id": "other"})
    assert client.post("/v3/memories/", json={"filters": ANN}).json()["count"] == 1
    client.delete("/v1/memories/", params={"filters": "{'user_id': 'ann', 'app_id': 'shop'}"})
    assert client.post("/v3/memories/", json={"filters": ANN}).json()["count"] == 0


def test_a_batch_goes_on_after_what_is_not_there(hosted):
    client = hosted()
    memories = [{"memory_id": "fact_missing"}, {"memory_id": add(client, "Likes oolong")}]
    done = client.request("DELETE", "/v1/batch/", json={"memories": memories}).json()
    assert done["message"] == "Successfully deleted 1 memory"
    assert [one["memory_id"] for one in done["errors"]] == ["fact_missing"]
    again = client.request("DELETE", "/v1/batch/", json={"memories": memories})
    assert (again.status_code, "not found" in again.json()["detail"]) == (422, True)


def test_errors_have_the_type_from_which_the_client_reads_them(hosted):
    client = hosted()
    answers = [
        client.get("/v1/memories/fact_missing/"),
        client.post("/v3/memories/search/", json={"query": "tea"}),
        client.post("/v3/memories/search/", json={}),
        client.post("/v1/exports/", json={}),
    ]
    assert [one.status_code for one in answers] == [404, 422, 422, 501]
    assert {one.headers["Content-Type"] for one in answers} == {"application/json"}
    assert all(one.json()["detail"].endswith((".", "}")) for one in answers)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/v1/exports/", "GET /api/memory/export"),
        ("/v2/entities/user/ann/profile/", "POST /api/memory/context"),
        ("/api/v1/webhooks/projects/p/", "GET /api/memory/changes"),
        ("/api/v1/orgs/organizations/o/projects/p/", "no organizations or projects"),
        ("/v1/event/e1/", "there are no events"),
        ("/v2/memories/", "end with a slash"),
    ],
)
def test_what_is_not_here_says_what_is(hosted, path, hint):
    answer = hosted().post(path, json={})
    assert answer.status_code == 501 and hint in answer.json()["detail"]


def test_another_web_page_cannot_ask_without_keys(hosted):
    """The routes are as guarded as those below /api."""
    client = hosted()
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        assert client.get("/v1/ping/", headers=headers).status_code == 403
    origin = {"Origin": "http://evil.example"}
    assert client.delete("/v1/memories/", params=ANN, headers=origin).status_code == 403


@pytest.mark.parametrize(
    ("hosted", "ours"),
    [
        ({"memory_ids": ["a", "b"]}, {"id": {"in": ["a", "b"]}}),
        ({"keywords": {"contains": "tea"}}, {"memory": {"contains": "tea"}}),
        ({"NOT": {"run_id": "r"}}, {"NOT": [{"run_id": "r"}]}),
        (
            {"AND": [{"user_id": "a"}], "metadata": {"trip": 1}},
            {"AND": [{"user_id": "a"}, {"trip": 1}]},
        ),
    ],
)
def test_filters_are_read(hosted, ours):
    assert read_filters(hosted) == ours


@pytest.mark.parametrize("text", ['{"user_id": "ann"}', "{'user_id': 'ann'}"])
def test_a_mapping_in_a_query_is_json_or_as_python_writes_it(text):
    assert read_text_mapping("filters", text) == ANN
