"""Seed 004: records by owner, layer and key, over the one engine, on a file and on a server."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from holdfast import Holdfast, Settings
from holdfast.async_client import AsyncHoldfast
from holdfast.errors import HoldfastError
from holdfast.extraction.candidate import Candidate
from holdfast.integrations.companion_store import LayeredStore, find_near_duplicate
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import open_store
from holdfast.types import Scope, Triple

FACTS, ARCS, RULES = ("ann", "semantic"), ("ann", "episodic"), ("ann", "procedural")
BOBS = ("bob", "semantic")
WORK = {
    "category": "relationship",
    "subject": {"type": "User", "identifier": "ann"},
    "predicate": "WORRIES_ABOUT",
    "object": {"type": "Concern", "identifier": "work"},
    "evidence_quote": "my boss is terrible",
    "confidence": "medium",
    "source_session_id": "monday",
    "created_at": "2026-01-02T03:04:05Z",
    "nested": {"list": [1, 2.5, None, True]},
}


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where the memory is: a file, or a database on a server."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_store_url")
    return str(tmp_path / "memory.db")


@pytest.fixture
def hf(place, clock):
    """The memory below."""
    store, tiers = open_store(place, clock=clock), Tiers.of(FakeEmbedder(), clock=clock)
    with Holdfast(
        store, [Scope("user", "ann")], settings=Settings(), tiers=tiers, clock=clock
    ) as opened:
        yield opened


@pytest.fixture
def store(hf):
    """Its verbs, each waited for."""
    return Waiting(LayeredStore(hf))


class Waiting:
    def __init__(self, layered):
        self.layered = layered

    def __getattr__(self, verb):
        return lambda *args, **options: asyncio.run(getattr(self.layered, verb)(*args, **options))


def said(text, **more):
    return {"text": text, **more}


def keys(records):
    return [record.key for record in records]


def test_a_value_comes_back_word_for_word(store, hf):
    key = str(UUID(int=7))
    store.aput(FACTS, key, WORK)
    assert store.aget(FACTS, key).value == WORK
    (memory,) = hf.list()
    assert (memory.content, memory.quote, memory.category) == ("my boss is terrible",) * 2 + (
        "relationship",
    )
    assert memory.triple == Triple("ann", "WORRIES_ABOUT", "work", "User", "Concern")
    assert (memory.confidence, memory.metadata["session"]) == (0.6, "monday")
    assert memory.event_time == 1_767_323_045_000_000


@pytest.mark.parametrize(
    "namespace",
    [
        ("ann",),
        ("ann", "semantic", "x"),
        ("ann", "dreams"),
        ("", "semantic"),
        ("ann", None),
        "semantic",
        None,
    ],
)
def test_a_namespace_is_an_owner_and_one_of_three_layers(store, namespace):
    for verb, args in {
        "aput": ("k", said("x")),
        "aget": ("k",),
        "asearch": (),
        "adelete": ("k",),
        "alatest": (),
    }.items():
        with pytest.raises(ValueError, match="namespace") as error:
            getattr(store, verb)(namespace, *args)
        assert isinstance(error.value, HoldfastError)


@pytest.mark.parametrize(
    "bad",
    [
        (("ann", "nonsense"), "k", {"text": "x"}),
        (FACTS, "", {"text": "x"}),
        (FACTS, "k", "text"),
        (FACTS, "k", {"text": "x", "confidence": "rather"}),
        (FACTS, "k", {"text": "x", "odd": object()}),
        (FACTS, "k"),
    ],
)
def test_oc_01_a_batch_with_one_malformed_item_stores_nothing(store, bad):
    with pytest.raises(ValueError):
        store.aput_batch(
            [(FACTS, "a", said("Ann likes tea")), bad, (BOBS, "b", said("Bob likes cake"))]
        )
    assert (store.arecord_count(), store.anamespaces()) == (0, [])


def test_a_batch_of_several_owners_is_one_run(store, hf):
    store.aput_batch(
        [
            (FACTS, "a", said("tea")),
            (ARCS, "b", {"summary": "A calm talk"}, None, None),
            (BOBS, "c", said("cake")),
        ]
    )
    assert sorted(store.anamespaces()) == [ARCS, FACTS, BOBS]
    hf.scoped("user:ann", "user:bob").undo()
    assert store.arecord_count() == 0


def test_oc_02_the_same_key_in_two_layers_and_for_two_owners_is_three_records(store):
    for namespace in (FACTS, ARCS, BOBS):
        store.aput(namespace, "k", said(f"of {namespace}"))
    assert store.adelete(FACTS, "k") is True
    assert (store.aget(FACTS, "k"), store.adelete(FACTS, "k")) == (None, False)
    assert [store.aget(each, "k").value["text"] for each in (ARCS, BOBS)] == [
        f"of {ARCS}",
        f"of {BOBS}",
    ]
    assert [store.arecord_count(each) for each in (FACTS, ARCS, BOBS)] == [0, 1, 1]


def test_the_same_text_under_two_keys_is_two_records(store):
    store.aput_batch([(FACTS, "a", said("Likes tea")), (FACTS, "b", said("Likes tea"))])
    assert keys(store.asearch(FACTS)) == ["a", "b"]


def test_oc_02_what_is_overwritten_is_gone_with_its_vector(store, hf):
    store.aput(FACTS, "k", said("Ann plays the violin"))
    assert keys(store.asearch_similar(FACTS, "violin")) == ["k"]
    for text in ("Ann plays the cello", "Ann paints in oil"):
        store.aput(FACTS, "k", said(text))
    hf.admin.reembed()
    old, new = (
        store.asearch_similar(FACTS, "violin"),
        store.asearch_similar(FACTS, "painting in oil"),
    )
    assert [one.value for one in (*old, *new)] == [said("Ann paints in oil")] * 2
    assert old[0].score < new[0].score / 2
    assert (store.aget(FACTS, "k").value, store.arecord_count(FACTS)) == (
        said("Ann paints in oil"),
        1,
    )


def test_an_overwritten_value_with_the_same_text_is_the_same_memory(store, hf):
    store.aput(FACTS, "k", said("Ann plays the violin", times=1))
    (before,) = hf.list()
    store.aput(FACTS, "k", said("Ann plays the violin", times=2, confidence="low"))
    (after,) = hf.list()
    assert (after.id, after.seq, after.confidence) == (before.id, before.seq, 0.3)
    assert store.aget(FACTS, "k").value["times"] == 2
    hf.confirm(after.id)
    store.aput(FACTS, "k", said("Ann plays the violin", confidence="low"))
    assert (hf.get(after.id).confidence, hf.get(after.id).protected) == (1.0, True)
    assert store.arecord_count(list(FACTS)) == store.arecord_count(FACTS) == 1


def test_every_change_can_be_undone(store, hf):
    store.aput(FACTS, "k", said("Likes tea"))
    store.aput(FACTS, "k", said("Likes coffee"))
    store.adelete(FACTS, "k")
    seen = []
    for run in dict.fromkeys(event.run for event in hf.admin.log()):
        seen.append(store.aget(FACTS, "k"))
        hf.undo(run)
    assert [one and one.value["text"] for one in seen] == [None, "Likes coffee", "Likes tea"]
    assert store.aget(FACTS, "k") is None
    assert hf.admin.check() == []


def test_a_key_that_was_deleted_or_purged_can_be_used_again(store, hf):
    store.aput(FACTS, "k", said("Likes tea"))
    store.adelete(FACTS, "k")
    store.aput(FACTS, "k", said("Likes tea"))
    store.aput(FACTS, "k", said("Likes coffee"))
    assert keys(store.asearch(FACTS)) == ["k"]
    hf.admin.purge(
        *(memory.id for memory in hf.list(statuses=["active", "archived", "superseded"]))
    )
    assert store.aget(FACTS, "k") is None
    store.aput(FACTS, "k", said("Likes juice"))
    assert store.aget(FACTS, "k").value == said("Likes juice")


@pytest.mark.parametrize(
    "hidden",
    [{"user_visible": False}, {"dormant_at": "2026-01-01T00:00:00Z"}, {"superseded_by": "z"}],
)
def test_oc_04_what_is_not_visible_is_left_out_before_the_limit(store, hidden):
    twins = [(FACTS, f"old {n}", said("Ann plays the violin", **hidden)) for n in range(50)]
    store.aput_batch(
        [*twins, (FACTS, "new", said("Ann plays the violin", user_visible=True, dormant_at=None))]
    )
    for found in (store.asearch(FACTS, limit=1), store.asearch(FACTS, "violin", limit=1)):
        assert keys(found) == ["new"]
    assert keys(store.asearch_similar(FACTS, "who plays the violin?", limit=1)) == ["new"]
    assert (store.arecord_count(FACTS), store.alatest(FACTS).key) == (1, "new")
    assert store.aget(FACTS, "old 7").value["text"] == "Ann plays the violin"
    assert store.adelete(FACTS, "old 7") and store.aget(FACTS, "old 7") is None
    store.aput(FACTS, "old 8", said("Ann plays the violin"))
    assert store.arecord_count(FACTS) == 2


def test_without_a_query_records_come_in_the_order_they_came_in(store):
    for n in range(5):
        store.aput(RULES, f"k{n}", said(f"Rule {9 - n}"))
    assert keys(store.asearch(RULES, limit=3)) == ["k0", "k1", "k2"]
    assert (store.alatest(RULES).key, store.alatest(ARCS)) == ("k4", None)
    assert store.asearch(RULES, limit=0) == []


def test_searches_are_narrowed_by_age_category_and_session(store, hf):
    store.aput(ARCS, "old", {"summary": "Talked about tea", "ended_at": "2001-01-01T00:00:00Z"})
    store.aput(ARCS, "new", {"summary": "Tea again", "session_id": "tuesday", "category": "calm"})
    assert keys(store.asearch_similar(ARCS, "tea", max_age_days=30)) == ["new"]
    assert keys(store.asearch_similar(ARCS, "tea", categories=["calm"])) == ["new"]
    assert keys(store.asearch_similar(ARCS, "tea", exclude_session="tuesday")) == ["old"]
    assert store.asearch_similar(ARCS, "the of and?!") == []


def test_oc_09_a_vector_of_another_model_is_passed_over(store):
    store.aput(
        FACTS, "k", said("Ann plays the violin"), embedding=[0.1] * 7, embedding_model="elsewhere"
    )
    found = store.asearch_similar(
        FACTS, query_text="violin", query_embedding=[0.1] * 7, embedding_model="elsewhere"
    )
    assert keys(found) == ["k"]


def test_a_document_without_a_text_of_its_own_is_found_by_all_its_texts(store):
    profile = {
        "proactive_recall_enabled": False,
        "rules": [{"rule": "Answer briefly"}, {"rule": "No emoji"}],
    }
    store.aput(RULES, "user_response_style", profile)
    store.aput(RULES, "empty", {})
    assert store.aget(RULES, "user_response_style").value == profile
    assert keys(store.asearch(RULES, "emoji", limit=1)) == ["user_response_style"]


def test_secrets_are_redacted_everywhere_in_a_value(store):
    key = "AKIAIOSFODNN7EXAMPLE"
    store.aput(FACTS, "k", {"text": f"My AWS key is {key}", "deep": [{"aws_access_key_id": key}]})
    assert key not in str(store.aget(FACTS, "k"))
    with pytest.raises(ValueError, match="secret"):
        store.aput(FACTS, key, said("x"))


def test_it_is_the_same_memory_as_everywhere_else(store, hf):
    tea = hf.remember("Prefers green tea", triple=Triple("ann", "LIKES", "tea"))
    (found,) = store.asearch(FACTS, "tea")
    assert (found.key, found.value["text"], found.value["object"]) == (
        tea.id,
        "Prefers green tea",
        "tea",
    )
    assert (store.aget(FACTS, tea.id).value, store.aget(ARCS, tea.id)) == (found.value, None)
    store.aput(FACTS, "k", said("Lives in Lisbon"))
    hf.correct(hf.recall("Lisbon")[0].memory.id, "Lives in Porto")
    assert store.aget(FACTS, "k").value["text"] == "Lives in Porto"
    assert store.adelete(FACTS, "k") and store.adelete(FACTS, tea.id) and hf.list() == []


def test_two_stores_that_are_kept_equal_know_a_key_as_one(store, hf, tmp_path):
    other = str(tmp_path / "other.db")
    store.aput(FACTS, "k", said("Likes tea"))
    hf.admin.sync(other)
    hf.clock.forward(seconds=1)
    store.aput(FACTS, "k", said("Likes coffee"))
    with Holdfast.open(
        other, scope="user:ann", clock=hf.clock, settings=Settings(embedding_models="none")
    ) as there:
        asyncio.run(LayeredStore(there).aput(FACTS, "k", said("Likes tea", sugar=True)))
        hf.admin.sync(other)
        assert asyncio.run(LayeredStore(there).aget(FACTS, "k")) == store.aget(FACTS, "k")
        assert store.aget(FACTS, "k").value == said("Likes coffee")


def test_closing_twice_equals_once_and_nothing_is_written_afterwards(place):
    async def use():
        layered = await LayeredStore.open(place, settings=Settings(embedding_models="none"))
        await layered.aput(FACTS, "k", said("Likes tea"))
        await layered.aclose()
        await layered.aclose()
        for late in (
            layered.aput(FACTS, "l", said("x")),
            layered.aget(FACTS, "k"),
            layered.asearch(FACTS),
        ):
            with pytest.raises(RuntimeError, match="closed"):
                await late
        assert (
            await layered.arecord_count(),
            await layered.alatest(FACTS),
            await layered.anamespaces(),
        ) == (
            0,
            None,
            [],
        )

    asyncio.run(use())


def test_a_memory_that_was_opened_elsewhere_stays_open(hf):
    async def use():
        layered = LayeredStore(AsyncHoldfast(hf))
        await layered.aput(FACTS, "k", said("Likes tea"))
        await layered.aclose()

    asyncio.run(use())
    assert len(hf.list()) == 1


def test_a_near_duplicate_has_the_same_triple_and_nearly_all_words():
    triple = Triple("ann", "LIKES", "tea")
    tea, other = (
        Candidate("Ann likes green tea in the morning", "", triple=triple),
        Candidate("Ann likes rain", ""),
    )
    again = Candidate("Ann likes the green tea in the morning", "", triple=triple)
    assert find_near_duplicate(again, [other, tea]) is tea
    assert (
        find_near_duplicate(
            Candidate(again.content, "", triple=Triple("bob", "LIKES", "tea")), [tea]
        )
        is None
    )
    assert find_near_duplicate("Ann likes rain", [tea, other]) is other
