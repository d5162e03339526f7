"""LangGraph's store at scale and at its edges: namespaces in the store, filters, sweeps, and what
is refused.
"""

from __future__ import annotations

import asyncio
import gc
from datetime import UTC, datetime
from threading import Event
from weakref import ref

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import InvalidInput
from holdfast.integrations.langgraph import AsyncHoldfastStore, HoldfastStore
from patience import PATIENCE

WORDS = Settings(embedding_models="none")
TTL = {"default_ttl": 10, "omit_expired": True}
SOON = 1e-5  # minutes between two sweeps of a test, which waits for them


@pytest.fixture(params=["sqlite", "postgres"])
def hf(request, tmp_path, clock):
    place = (
        tmp_path / "m.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_store_url")
    )
    with Holdfast.open(
        place, scope="agent:graph", settings=WORDS, clock=clock, background=False
    ) as hf:
        yield hf


@pytest.fixture
def store(hf):
    return HoldfastStore(hf)


@pytest.fixture
def local(clock):
    with Holdfast.open(
        ":memory:", scope="agent:graph", settings=WORDS, clock=clock, background=False
    ) as hf:
        yield HoldfastStore(hf)


def keys(items):
    return [item.key for item in items]


def listing(store, monkeypatch):
    """The memories that are read while items are searched."""
    read, real = [], store._hf.store.list

    def noted(*args, **given):
        found = real(*args, **given)
        read.extend(found)
        return found

    monkeypatch.setattr(store._hf.store, "list", noted)
    return read


# Namespaces


def test_a_search_reads_only_what_it_returns(store, monkeypatch):
    store.batch([PutOp(("users", f"u{n % 20}"), f"k{n:03}", {"n": n}) for n in range(400)])
    read = listing(store, monkeypatch)
    assert keys(store.search(("users", "u7"), limit=3)) == ["k007", "k027", "k047"]
    assert len(read) == 3
    assert keys(store.search(("users", "u7"), limit=2, offset=1)) == ["k027", "k047"]
    assert len(read) == 6


def test_a_filter_reads_only_its_namespace(store, monkeypatch):
    store.batch([PutOp(("users", f"u{n % 20}"), f"k{n:03}", {"n": n}) for n in range(400)])
    read = listing(store, monkeypatch)
    assert keys(store.search(("users", "u7"), filter={"n": {"$gte": 380}})) == ["k387"]
    assert {tuple(one.metadata["namespace"]) for one in read} == {("users", "u7")}


def test_a_query_stays_in_its_namespace_and_comes_before_what_it_did_not_find(store):
    store.put(("a",), "tea", {"text": "Ann drinks oolong in the morning"})
    store.put(("a", "deep"), "walk", {"text": "Ann walks along the river"})
    store.put(("b",), "other", {"text": "oolong oolong oolong"})
    found = store.search(("a",), query="who drinks oolong?")
    assert keys(found) == ["tea", "walk"]
    assert found[0].score > 0


LABELS = [
    "plain",
    "with space",
    'quo"te',
    "comma,",
    "bracket]",
    "[open",
    "caret^",
    "per%cent",
    "under_score",
    "é",
    "x\ny",
]


@pytest.mark.parametrize("label", LABELS)
def test_any_label_finds_itself_and_what_is_below_it(store, label):
    for number, name in enumerate(
        [(label,), (label, "deep"), (label + "x",), ("other", label), (label.upper() + "!",)]
    ):
        store.put(name, f"k{number}", {"n": number})
    assert keys(store.search((label,))) == ["k0", "k1"]
    assert store.list_namespaces(prefix=(label,)) == [(label,), (label, "deep")]
    assert keys(store.search(("other", label))) == ["k3"]


def test_namespaces_of_any_length_are_found_from_above(store):
    store.put(("users", "u" * 80, "threads", "t" * 80), "k", {"n": 1})
    assert (
        keys(store.search(("users",)))
        == keys(store.search(("users", "u" * 80, "threads")))
        == ["k"]
    )


def test_a_list_names_a_namespace_as_well_as_a_tuple(store):
    store.batch([PutOp(["users", "ann"], "tea", {"n": 1})])
    assert keys(store.search(["users"])) == keys(store.search(("users", "ann"))) == ["tea"]
    assert store.get(["users", "ann"], "tea").namespace == ("users", "ann")
    assert store.list_namespaces(prefix=["users"]) == [("users", "ann")]
    asked = ListNamespacesOp(match_conditions=(MatchCondition("suffix", ["ann"]),))
    assert store.batch([SearchOp(["users"]), asked])[1] == [("users", "ann")]


@pytest.mark.parametrize("op", [GetOp("users", "k"), PutOp("users", "k", {}), SearchOp("users")])
def test_a_text_is_no_namespace(local, op):
    with pytest.raises(InvalidNamespaceError, match=r"Write \('users',\)"):
        local.batch([op])


# Filters


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"owner.name": "Ann"}, ["a"]),
        ({"owner.name": {"$ne": "Ann"}}, ["b", "c"]),
        ({"owner.age": {"$gte": 40}}, ["b"]),
        ({"owner.home.city": "Lisbon"}, ["a"]),
        ({"owner.home": {"city": "Lisbon"}}, ["a"]),
        ({"owner.none.city": "Lisbon"}, []),
        ({"dotted.key": 1}, ["c"]),
        ({"day": {"$gt": "2026-02-01"}}, ["b"]),
        ({"tags": ["x", "y"]}, ["a"]),
        ({"tags": ["x"]}, ["b"]),
        ({"done": None}, ["a", "c"]),
        ({"done": True}, ["b"]),
        ({"owner.age": {"$gt": "many"}}, []),
        ({}, ["a", "b", "c"]),
    ],
)
def test_filters_reach_into_values(store, wanted, found):
    home = {"city": "Lisbon"}
    store.put(
        ("f",),
        "a",
        {
            "owner": {"name": "Ann", "age": 30, "home": home},
            "day": "2026-01-31",
            "tags": ["x", "y"],
        },
    )
    store.put(
        ("f",),
        "b",
        {"owner": {"name": "Bob", "age": 50}, "day": "2026-03-01", "tags": ["x"], "done": True},
    )
    store.put(("f",), "c", {"dotted.key": 1, "owner": "nobody"})
    assert keys(store.search(("f",), filter=wanted)) == found


@pytest.mark.parametrize("wanted", [{"n": {"$in": [1]}}, {"a": {"b": {"$near": 1}}}, ["n"], {1: 2}])
def test_a_filter_that_cannot_be_asked_is_refused_even_where_nothing_is(local, wanted):
    with pytest.raises(InvalidInput):
        local.search(("f",), filter=wanted)


@pytest.mark.parametrize(
    "wanted",
    [{"a": [1, {"x": 2}]}, {"a": [1]}, {"b": {"c": [1]}}, {"a": {"$eq": [1, {"x": 2, "y": 3}]}}],
)
def test_lists_in_filters_are_compared_as_the_reference_does(local, wanted):
    reference = InMemoryStore()
    for one in (local, reference):
        one.put(("f",), "k", {"a": [1, {"x": 2, "y": 3}], "b": {"c": [1], "d": 2}})
    assert keys(local.search(("f",), filter=wanted)) == keys(
        reference.search(("f",), filter=wanted)
    )


# Sweeps


def test_a_sweep_takes_out_what_has_expired_and_reads_nothing_else(hf, clock, monkeypatch):
    store = HoldfastStore(hf, ttl=TTL)
    store.put(("a",), "short", {"n": 1})
    store.put(("a",), "long", {"n": 2}, ttl=60)
    hf.remember("The ticket is valid", valid_until=datetime(2020, 1, 1, tzinfo=UTC))
    clock.forward(minutes=11)
    read = listing(store, monkeypatch)
    assert store.sweep_ttl() == 1
    assert [one.metadata["key"] for one in read] == ["short"]
    assert [one.content for one in hf.list(statuses=["active"])] != []


def test_a_sweep_may_be_awaited(hf, clock):
    async def sweep():
        plain, awaited = HoldfastStore(hf, ttl=TTL), AsyncHoldfastStore(hf, ttl=TTL)
        await plain.aput(("a",), "one", {"n": 1})
        clock.forward(minutes=11)
        first = await plain.sweep_ttl()
        await awaited.aput(("a",), "two", {"n": 2})
        clock.forward(minutes=11)
        return first, await awaited.sweep_ttl(), await awaited.sweep_ttl()

    assert asyncio.run(sweep()) == (1, 1, 0)


class Noted(HoldfastStore):
    """A store that tells when it was swept."""

    swept: Event

    def _sweep(self):
        try:
            return super()._sweep()
        finally:
            self.swept.set()


def sweeping(hf, **given):
    store = Noted(hf, **given)
    store.swept = Event()
    return store


def test_a_sweeper_sweeps_until_it_is_stopped(hf, clock):
    store = sweeping(hf, ttl=TTL)
    store.put(("a",), "short", {"n": 1})
    clock.forward(minutes=11)
    done = store.start_ttl_sweeper(SOON)
    assert store.start_ttl_sweeper(SOON) is done, "one is enough"
    assert store.swept.wait(PATIENCE)
    assert store.stop_ttl_sweeper()
    assert done.result(30) is None
    assert store.sweep_ttl() == 0
    assert store.stop_ttl_sweeper(), "none is running"


def test_a_sweeper_is_ended_by_cancelling_it_and_may_be_started_again(local, clock):
    store = sweeping(local._hf, ttl={**TTL, "sweep_interval_minutes": SOON})
    store.start_ttl_sweeper().cancel()
    assert store.stop_ttl_sweeper(30)
    store.swept.clear()
    store.start_ttl_sweeper()
    assert store.swept.wait(PATIENCE)
    assert store.stop_ttl_sweeper(30)


def test_a_sweep_that_fails_is_followed_by_the_next(local, caplog):
    store = sweeping(local._hf, ttl=TTL)
    real = store._hf.store.list
    failures = iter([OSError("busy")])

    def fails_once(*args, **given):
        for failure in failures:
            raise failure
        return real(*args, **given)

    store._hf.store.list = fails_once
    store.start_ttl_sweeper(SOON)
    assert store.swept.wait(PATIENCE)
    store.swept.clear()
    assert store.swept.wait(PATIENCE)
    store.stop_ttl_sweeper()
    del store._hf.store.list
    assert "removal of expired items failed: busy" in caplog.text


def test_without_times_to_live_there_is_nothing_to_sweep(local):
    assert local.start_ttl_sweeper().done()
    assert local.stop_ttl_sweeper()


def test_a_sweeper_does_not_keep_its_store(local):
    store = HoldfastStore(local._hf, ttl=TTL)
    done, gone = store.start_ttl_sweeper(SOON), ref(store)
    del store
    gc.collect()
    assert done.result(30) is None
    assert gone() is None


def test_an_awaited_sweeper_is_a_task(local, clock):
    async def run():
        store = AsyncHoldfastStore(local._hf, ttl=TTL)
        await store.aput(("a",), "short", {"n": 1})
        task = await store.start_ttl_sweeper(60)
        assert not task.done()
        stopped = await store.stop_ttl_sweeper(30)
        await task
        return stopped, await store.stop_ttl_sweeper()

    assert asyncio.run(run()) == (True, True)


# What is refused


@pytest.mark.parametrize(
    "value",
    [{"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"n": float("nan")}, {"n": {1, 2}}, {"b": b"x"}],
)
def test_what_json_cannot_hold_is_refused_with_a_way_out(local, value):
    with pytest.raises(InvalidInput, match=r"JSON-serialisable.*isoformat"):
        local.put(("a",), "k", value)
    assert local.search(()) == []


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    ("namespace", "key"), [(("a", SECRET), "k"), (("a",), SECRET), (("a",), "x\0")]
)
def test_a_name_that_would_be_stored_as_another_is_refused(local, namespace, key):
    with pytest.raises(InvalidInput, match="contains a secret"):
        local.put(namespace, key, {"n": 1})
    assert local.search(()) == []


def test_a_secret_in_a_value_is_not_kept(local):
    local.put(("a",), "k", {"note": f"use {SECRET}"})
    assert local.get(("a",), "k").value == {"note": "use [REDACTED:github-token]"}
