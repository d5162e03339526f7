"""Figures of a shared server: for admin keys only, and nothing of anybody's memories in them."""

from __future__ import annotations

import json

import pytest

from holdfast.server.admin_view import named_error
from holdfast.server.api_keys import KeyFile
from holdfast.storage.store_types import Spent
from holdfast.types import DAY, Scope

SECRET = "The treasure lies under the old oak"
BOB = Scope("user", "bob")


@pytest.fixture
def shared(hf, serve, keys):
    """A server of Ann and Bob; clients with an admin key and with an ordinary one."""
    file = KeyFile(keys)
    admin = file.add("ann", at=0, admin=True)
    plain = file.add("bob", at=0)
    live = serve(hf)
    return live.client(admin), live.client(plain), live


def test_an_admin_key_opens_the_figures_and_no_other_key_does(shared):
    admin, plain, live = shared
    assert admin.get("/admin").status_code == 200
    refused = plain.get("/admin")
    assert refused.status_code == 403
    assert "keys add OWNER --admin" in refused.json()["detail"]
    assert live.client().get("/admin").status_code == 401


def test_without_keys_there_is_no_admin(http):
    assert http.get("/admin").status_code == 403


def test_the_page_learns_whether_its_key_is_an_admins(shared):
    admin, plain, _ = shared
    assert admin.get("/totals").json()["admin"] is True
    assert plain.get("/totals").json()["admin"] is False


def test_an_admin_key_opens_no_memory_but_its_owners(shared):
    admin, _, _ = shared
    assert admin.get("/memories", params={"user_id": "bob"}).status_code == 403


def test_owners_sizes_and_spend_are_counted(hf, shared):
    hf.remember("Prefers green tea")
    theirs = hf.scoped(BOB)
    theirs.remember_many(["One", "Two"])
    today = hf.clock() // DAY
    hf.store.spend.add(BOB, today, Spent(2, 300))
    hf.store.spend.add(BOB, today - 40, Spent(9, 9_000))
    figures = shared[0].get("/admin").json()
    owners = {one["owner"]: one for one in figures["owners"]}
    assert (owners["ann"]["memories"], owners["bob"]["memories"]) == (1, 2)
    assert (owners["bob"]["calls"], owners["bob"]["tokens"], owners["bob"]["keys"]) == (2, 300, 1)
    assert [one["tokens"] for one in figures["spend"]] == [300]
    assert figures["bytes"] > 0
    assert (figures["owner_count"], figures["memories"], figures["keys"]) == (2, 3, 2)


def test_jobs_and_workers_are_counted(hf, shared):
    hf.remember("Prefers green tea")
    hf.store.jobs.enqueue(hf.scopes[0], "tidy", SECRET, watermark=1)
    hf.store.jobs.claim(["tidy"], worker="desk-1", now=hf.clock(), lease=DAY)
    figures = shared[0].get("/admin").json()
    assert figures["jobs"]["tidy"] == {"running": 1}
    assert [(one["name"], one["job"]) for one in figures["workers"]] == [("desk-1", "tidy")]


def test_nothing_that_anybody_stored_is_told(hf, shared):
    """Neither in a memory nor in the error or the key of a job, nor in a question."""
    hf.remember(SECRET)
    hf.capture("the-secret-session", "user", SECRET)
    hf.store.jobs.enqueue(hf.scopes[0], "tidy", SECRET, watermark=1)
    job = hf.store.jobs.claim(["tidy"], worker="w", now=hf.clock(), lease=DAY)
    hf.store.jobs.fail(job, error=f"ValueError: cannot read {SECRET!r}", retry_at=hf.clock())
    admin, plain, _ = shared
    plain.get("/memories", params={"q": SECRET})
    told = json.dumps(admin.get("/admin").json())
    assert "ValueError" in told
    assert not [word for word in ("treasure", "oak", "secret-session") if word in told]


def test_requests_are_counted_by_status(shared):
    admin, plain, _ = shared
    plain.get("/facts")
    plain.get("/memories/fact_nowhere")
    figures = admin.get("/admin").json()
    assert figures["statuses"] == {"200": 1, "404": 1}
    assert (figures["requests"], figures["failures"]) == (2, [])


def test_a_request_that_failed_inside_is_named_by_its_route(hf, shared, monkeypatch):
    def broken(*args, **options):
        raise RuntimeError(SECRET)

    admin, _, _ = shared
    monkeypatch.setattr(type(hf), "stats", broken)
    failed = admin.get("/health", headers={"X-Request-Id": "req_broken"})
    assert failed.status_code == 500
    (told,) = admin.get("/admin").json()["failures"]
    assert (told["route"], told["status"], told["request_id"]) == (
        "/health",
        500,
        "req_broken",
    )


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("Its worker desk-1 was lost.", "Its worker was lost."),
        ("The language model has taken 5,000 of the 4,000 tokens", "The token budget is used up."),
        (f"KeyError: {SECRET}", "KeyError; the log of the worker has the details."),
        (SECRET, "It failed; the log of the worker has the details."),
    ],
)
def test_an_error_is_named_and_not_repeated(error, name):
    assert named_error(error) == name


def test_a_key_file_of_before_has_no_admins(keys):
    KeyFile(keys).add("ann", at=0)
    assert "admin" not in keys.read_text()
    assert [key.admin for key in KeyFile(keys)] == [False]
