"""LangGraph's store: the behaviours it publishes, beside its own in-memory store, and in a
graph.
"""

from __future__ import annotations

import asyncio
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
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
from holdfast.integrations.langgraph import HoldfastStore
from holdfast.types import to_datetime

USERS = ("users", "ann")
WORDS = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    place, static = tmp_path / "memory.db", Settings(embedding_models="static")
    with Holdfast.open(
        place, scope="agent:graph", settings=static, clock=clock, background=False
    ) as hf:
        yield hf


@pytest.fixture
def store(hf):
    return HoldfastStore(hf)


def keys(items):
    return [item.key for item in items]


# Items


def test_an_item_is_what_was_put(store, clock):
    store.put(USERS, "tea", {"likes": "oolong", "cups": 3, "when": ["morning", None]})
    item = store.get(USERS, "tea")
    assert (item.namespace, item.key) == (USERS, "tea")
    assert item.value == {"likes": "oolong", "cups": 3, "when": ["morning", None]}
    assert item.created_at == item.updated_at == to_datetime(clock())
    assert store.get(USERS, "coffee") is None
    assert store.get(("users",), "tea") is None


def test_an_overwrite_keeps_when_it_was_created(store, clock):
    first = clock()
    store.put(USERS, "tea", {"likes": "oolong"})
    later = clock.forward(hours=1)
    store.put(USERS, "tea", {"likes": "sencha"})
    item = store.get(USERS, "tea")
    assert item.value == {"likes": "sencha"}
    assert (item.created_at, item.updated_at) == (to_datetime(first), to_datetime(later))


def test_deleting_twice_equals_once(store):
    store.put(USERS, "tea", {"likes": "oolong"})
    store.delete(USERS, "tea")
    store.delete(USERS, "tea")
    assert store.get(USERS, "tea") is None
    store.put(USERS, "tea", {"likes": "sencha"})
    assert store.get(USERS, "tea").value == {"likes": "sencha"}


def test_two_items_may_say_the_same(store):
    store.put(USERS, "a", {"text": "the same"})
    store.put(USERS, "b", {"text": "the same"})
    assert keys(store.search(USERS)) == ["a", "b"]


@pytest.mark.parametrize(
    "namespace", [(), ("a.b",), ("",), ("langgraph", "x"), (1,), ("a", "b.c"), ("x\0",)]
)
def test_a_namespace_that_cannot_be(store, namespace):
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {"x": 1})


@pytest.mark.parametrize("op", [GetOp(("a.b",), "k"), PutOp(("a.b",), "k", {}), SearchOp(("a.b",))])
def test_labels_are_checked_in_a_batch_too(store, op):
    with pytest.raises(InvalidNamespaceError):
        store.batch([op])


# Batches


def test_results_come_in_the_order_of_the_operations(store):
    store.put(USERS, "tea", {"n": 1})
    found = store.batch(
        [
            GetOp(USERS, "tea"),
            PutOp(USERS, "tea", {"n": 2}),
            SearchOp(USERS),
            GetOp(USERS, "none"),
            PutOp(USERS, "tea", {"n": 3}),
            ListNamespacesOp(),
            GetOp(USERS, "tea"),
        ]
    )
    assert [found[0].value, found[1], found[3], found[4], found[5]] == [
        {"n": 1},
        None,
        None,
        None,
        [USERS],
    ]
    assert [item.value for item in found[2]] == [{"n": 1}], "reads come before writes"
    assert found[6].value == {"n": 1}
    assert store.get(USERS, "tea").value == {"n": 3}, "the later write wins"


def test_a_batch_is_one_run_and_undone_as_one(store, hf):
    store.batch([PutOp(USERS, str(number), {"n": number}) for number in range(5)])
    hf.undo()
    assert store.search(USERS) == []


def test_awaitable_callers_get_the_same(store):
    async def run():
        await store.aput(USERS, "tea", {"likes": "oolong"})
        await asyncio.gather(*(store.aput(USERS, str(n), {"n": n}) for n in range(8)))
        return await store.aget(USERS, "tea"), await store.asearch(USERS, limit=20)

    item, found = asyncio.run(run())
    assert (item.value, len(found)) == ({"likes": "oolong"}, 9)


# Search


def test_search_covers_what_is_below_a_namespace(store):
    store.put(("docs",), "a", {"n": 1})
    store.put(("docs", "deep"), "b", {"n": 2})
    store.put(("docsother",), "c", {"n": 3})
    assert keys(store.search(("docs",))) == ["a", "b"]
    assert keys(store.search(())) == ["a", "b", "c"]
    assert keys(store.search((), limit=1, offset=1)) == ["b"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"color": "red"}, ["a", "c"]),
        ({"color": {"$ne": "red"}}, ["b"]),
        ({"n": {"$gt": 1}}, ["b", "c"]),
        ({"n": {"$gte": 2, "$lt": 3}}, ["b"]),
        ({"n": {"$lte": 1}}, ["a"]),
        ({"n": {"$eq": 3}}, ["c"]),
        ({"nested": {"x": 1}}, ["a"]),
        ({"color": "red", "n": 3}, ["c"]),
        ({"none": {"$gt": 1}}, []),
    ],
)
def test_filters_are_those_of_the_reference(store, wanted, found):
    reference = InMemoryStore()
    for one in (store, reference):
        one.put(("f",), "a", {"color": "red", "n": 1, "nested": {"x": 1, "y": 2}})
        one.put(("f",), "b", {"color": "blue", "n": 2})
        one.put(("f",), "c", {"color": "red", "n": 3})
    assert keys(store.search(("f",), filter=wanted)) == found
    if "none" not in wanted:  # where the reference compares with nothing, it raises
        assert keys(reference.search(("f",), filter=wanted)) == found


def test_filters_narrow_before_the_limit(store):
    for number in range(30):
        store.put(("f",), f"k{number:02}", {"n": number, "text": "tea in the morning"})
    assert keys(store.search(("f",), filter={"n": {"$gte": 28}}, limit=5)) == ["k28", "k29"]
    assert set(keys(store.search(("f",), query="tea", filter={"n": {"$gte": 28}}, limit=5))) == {
        "k28",
        "k29",
    }


def test_an_unknown_operator_is_named(store):
    store.put(("f",), "a", {"n": 1})
    with pytest.raises(ValueError, match=r"Unsupported operator: \$in"):
        store.search(("f",), filter={"n": {"$in": [1]}})


def test_a_query_ranks_by_meaning(store):
    store.put(("docs",), "python", {"text": "A tutorial about the Python programming language"})
    store.put(("docs",), "bread", {"text": "How to bake sourdough bread at home"})
    store.put(("docs",), "hidden", {"text": "Python in the zoo"}, index=False)
    found = store.search(("docs",), query="programming in python")
    assert keys(found)[0] == "python"
    assert 0 < found[0].score <= 1
    assert found[-1].key == "hidden"
    assert found[-1].score is None


def test_scores_are_similarities_that_fall_with_the_rank():
    """Two items that fit about equally well have scores to match, however few items there are."""
    settings = Settings(embedding_models="static")
    with Holdfast.open(":memory:", scope="agent:a", settings=settings, background=False) as hf:
        store = HoldfastStore(hf)
        store.put(("likes",), "ann", {"text": "Ann likes green tea"})
        store.put(("likes",), "bob", {"text": "Bob likes green tea"})
        first, second = (one.score for one in store.search(("likes",), query="who likes tea?"))
    assert first >= second > 0.5


@pytest.mark.parametrize("name", ["fields", "text_fields"])
def test_only_named_fields_are_searched(hf, name):
    """`fields` is what LangGraph documents, `text_fields` what its SQLite store reads."""
    store = HoldfastStore(hf, index={name: ["title", "parts[*].text"]})
    store.put(
        ("d",),
        "a",
        {"title": "gardening", "body": "volcano", "parts": [{"text": "roses"}, {"text": "tulips"}]},
    )
    store.put(("d",), "b", {"title": "geology", "body": "x"})
    store.put(("d",), "c", {"note": "volcano"}, index=["note"])
    assert keys(store.search(("d",), query="tulips"))[0] == "a"
    assert keys(store.search(("d",), query="volcano"))[0] == "c"
    assert keys(store.search(("d",), query="volcano")).index("a") > 0, (
        "the body of a is not searched"
    )


# Namespaces


def test_namespaces_are_listed_by_their_ends_and_wildcards(store):
    reference = InMemoryStore()
    names = [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "x"),
        ("b", "b", "c"),
        ("users", "1", "prefs"),
        ("users", "2", "notes"),
    ]
    for one in (store, reference):
        for name in names:
            one.put(name, "k", {"x": 1})
    asked = [
        {},
        {"prefix": ("a",)},
        {"prefix": ("a", "b")},
        {"suffix": ("c",)},
        {"prefix": ("*", "b")},
        {"prefix": ("users", "*", "prefs")},
        {"suffix": ("*", "c")},
        {"prefix": ("a",), "suffix": ("d",)},
        {"max_depth": 1},
        {"max_depth": 2, "prefix": ("a",)},
        {"limit": 2},
        {"limit": 2, "offset": 3},
    ]
    for one in asked:
        assert store.list_namespaces(**one) == reference.list_namespaces(**one), one
    with pytest.raises(ValueError, match="match type"):
        store.batch([ListNamespacesOp(match_conditions=(MatchCondition("middle", ("a",)),))])


# Times to live


def test_an_item_lives_as_long_as_it_was_given(hf, clock):
    store = HoldfastStore(hf, ttl={"default_ttl": 10, "omit_expired": True})
    store.put(USERS, "short", {"n": 1})
    store.put(USERS, "long", {"n": 2}, ttl=60)
    store.put(USERS, "ever", {"n": 3}, ttl=None)
    clock.forward(minutes=11)
    assert store.get(USERS, "short") is None
    assert keys(store.search(USERS)) == ["long", "ever"]
    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0
    clock.forward(minutes=120)
    assert (store.get(USERS, "long"), store.get(USERS, "ever").value) == (None, {"n": 3})


def test_reading_renews_unless_it_is_not_to(hf, clock):
    store = HoldfastStore(hf, ttl={"default_ttl": 10, "omit_expired": True})
    store.put(USERS, "read", {"n": 1})
    store.put(USERS, "peeked", {"n": 2})
    for _ in range(3):
        clock.forward(minutes=6)
        store.get(USERS, "read")
        store.get(USERS, "peeked", refresh_ttl=False)
    assert store.get(USERS, "read") is not None
    assert store.get(USERS, "peeked") is None


def test_what_has_expired_may_still_be_shown(hf, clock):
    store = HoldfastStore(hf, ttl={"default_ttl": 1, "omit_expired": False})
    store.put(USERS, "old", {"n": 1})
    clock.forward(minutes=2)
    assert store.get(USERS, "old").value == {"n": 1}
    assert store.sweep_ttl() == 1
    assert store.get(USERS, "old") is None


# One engine


def test_items_are_memories(store, hf):
    store.put(USERS, "tea", {"text": "Ann drinks oolong"})
    assert [hit.memory.content for hit in hf.recall("oolong")] == ["Ann drinks oolong"]
    hf.remember("Ann drinks cocoa")
    assert keys(store.search(())) == ["tea"]


def test_scopes_do_not_meet(store, hf):
    store.put(USERS, "tea", {"text": "mine"})
    other = HoldfastStore(hf.scoped("agent:other"))
    assert (other.get(USERS, "tea"), other.search(()), other.list_namespaces()) == (None, [], [])
    other.delete(USERS, "tea")
    assert store.get(USERS, "tea") is not None


LABELS = st.sampled_from(["a", "b", "c"])
NAMES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
VALUES = st.one_of(st.none(), st.fixed_dictionaries({"n": st.integers(0, 3)}))
PUTS = st.tuples(NAMES, LABELS, VALUES).map(lambda given: PutOp(*given))
READS = st.one_of(
    st.tuples(NAMES, LABELS).map(lambda given: GetOp(*given)),
    st.builds(
        lambda depth: ListNamespacesOp(max_depth=depth), st.one_of(st.none(), st.integers(1, 3))
    ),
)


@given(batches=st.lists(st.lists(st.one_of(PUTS, READS), max_size=6), max_size=6))
def test_any_batches_give_what_the_reference_gives(batches):
    with Holdfast.open(":memory:", scope="agent:g", settings=WORDS, background=False) as hf:
        ours, reference = HoldfastStore(hf), InMemoryStore()
        for ops in batches:
            assert _told(ours.batch(ops)) == _told(reference.batch(ops))


def _told(results):
    """Values without times. The reference goes on listing a namespace whose last item is gone; we
    do not.
    """
    return [result.value if hasattr(result, "value") else None for result in results]


# In a graph


class State(TypedDict):
    asked: str
    answer: str


def test_a_graph_remembers_between_runs(store):
    def answer(state: State) -> dict[str, str]:
        memory = get_store()
        known = memory.search(("facts",), query=state["asked"])
        memory.put(("facts",), state["asked"], {"text": state["asked"]})
        return {"answer": known[0].value["text"] if known else "I do not know."}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile(store=store)
    assert graph.invoke({"asked": "Ann drinks oolong", "answer": ""})["answer"] == "I do not know."
    assert (
        graph.invoke({"asked": "what does Ann drink?", "answer": ""})["answer"]
        == "Ann drinks oolong"
    )


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("tea", "oolong", "a dictionary, not a str"),
        ("tea", ["oolong"], "a dictionary, not a list"),
        ("tea", {"kind": object()}, "JSON-serialisable"),
        (5, {"kind": "oolong"}, "The key of an item must be text, not 5"),
    ],
)
def test_what_could_not_be_read_again_is_not_stored(store, key, value, told):
    with pytest.raises(ValueError, match=told):
        store.batch([PutOp(USERS, "cup", {"kind": "blue"}), PutOp(USERS, key, value)])
    assert store.search(USERS) == []
