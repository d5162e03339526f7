"""Embedding: in steps that can stop anywhere, by hand or in the background."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast import Holdfast, NotFound, Settings
from holdfast.errors import EmbedderError
from holdfast.maintenance.embedding_catchup import catch_up
from holdfast.maintenance.embedding_jobs import STEP
from holdfast.maintenance.job_runner import Upgrader
from holdfast.models.embeddings.tiers import REST_AFTER_FAILURE
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import SQLiteStore
from holdfast.storage.vector_index import NO_VECTOR
from patience import PATIENCE


class Tiring(FakeEmbedder):
    """Works for so many requests, then fails until it is woken."""

    def __init__(self, works_for):
        super().__init__()
        self.works_for, self.tried = works_for, threading.Event()

    def embed_documents(self, texts):
        self.tried.set()
        if self.works_for <= 0:
            raise EmbedderError("too tired")
        self.works_for -= 1
        return super().embed_documents(texts)


class Watched(FakeEmbedder):
    """Lets a test wait until it has embedded so many texts."""

    def __init__(self, wanted, **options):
        super().__init__(**options)
        self.wanted, self.seen, self.done = wanted, [], threading.Event()

    def embed_documents(self, texts):
        rows = super().embed_documents(texts)
        self.seen += texts
        if len(self.seen) >= self.wanted:
            self.done.set()
        return rows


def covered(hf):
    return hf.store.vectors.coverage(hf.scopes)


# By hand


def test_reembed_gives_every_memory_a_vector_and_tells_how_many(hf, fake):
    hf.remember_many(["one", "two"])
    hf.archive(hf.remember("three").id)
    hf.capture("s1", "user", "four")
    assert hf.admin.reembed() == {fake.identity: 4}
    assert hf.admin.reembed() == {fake.identity: 0}
    assert covered(hf) == {fake.identity: 3}


def test_progress_is_told_step_by_step(hf, fake):
    hf.remember_many([f"fact {number}" for number in range(STEP + 10)])
    told = []
    hf.admin.reembed(progress=lambda model, done: told.append((model, done)))
    assert told == [(fake.identity, STEP), (fake.identity, 10)]


def test_a_reembed_that_fails_keeps_what_it_did_and_goes_on_there(open_memory):
    tiring = Tiring(works_for=2)
    hf = open_memory("user:ann", embedders=(tiring,))
    hf.remember_many([f"fact {number}" for number in range(3 * STEP)])
    with pytest.raises(EmbedderError, match=r"too tired.*run it again"):
        hf.admin.reembed()
    assert covered(hf) == {tiring.identity: 2 * STEP}
    tiring.works_for = 10
    assert hf.admin.reembed() == {tiring.identity: STEP}
    assert covered(hf) == {tiring.identity: 3 * STEP}


def test_a_reembed_with_nothing_left_to_do_does_not_complain_of_an_old_failure(hf, fake):
    hf.remember("tea")
    hf.admin.reembed()
    fake.fault = "down"
    hf.recall("tea")
    fake.fault = None
    assert hf.admin.reembed() == {fake.identity: 0}
    assert hf.stats()["problems"] == {}


def test_fresh_starts_over(hf, fake):
    hf.remember_many(["one", "two"])
    hf.admin.reembed()
    assert hf.admin.reembed(fresh=True) == {fake.identity: 2}


def test_reembed_covers_only_the_scopes_it_was_asked_for(hf, open_memory, fake):
    bob = open_memory("user:bob")
    bob.remember("Bob's tea")
    hf.remember("Ann's tea")
    assert hf.admin.reembed() == {fake.identity: 1}
    assert covered(bob) == {}


def test_without_a_model_reembed_says_how_to_set_one(words):
    with pytest.raises(NotFound, match="HOLDFAST_EMBEDDING_MODELS"):
        words.admin.reembed()


def test_the_model_sees_title_and_text_but_neither_author_nor_tags(open_memory):
    watched = Watched(1)
    hf = open_memory("user:ann", embedders=(watched,))
    hf.remember("Prefers tea", title="Drinks", author="Ann", tags=("x",))
    hf.admin.reembed()
    assert watched.seen == ["Drinks\nPrefers tea"]


# On the way of a recall


def test_a_recall_catches_up_with_a_quick_model_only(open_memory):
    slow = FakeEmbedder(identity="fake:slow")
    slow.quick = False
    hf = open_memory("user:ann", embedders=(slow,))
    hf.remember("tea")
    hf.recall("tea")
    assert (slow.calls, covered(hf)) == (0, {})


def test_catching_up_stops_at_its_limit(hf, fake):
    hf.remember_many([f"fact {number}" for number in range(30)])
    catch_up(hf.store, hf.tiers, hf.scopes, limit=20)
    assert covered(hf) == {fake.identity: 20}
    catch_up(hf.store, hf.tiers, hf.scopes, limit=20)
    assert covered(hf) == {fake.identity: 30}


def test_catching_up_embeds_the_asked_scopes_only(hf, open_memory, fake):
    open_memory("user:bob").remember("Bob's tea")
    hf.remember("Ann's tea")
    hf.recall("tea")
    assert hf.store.vectors.coverage() == {fake.identity: 1}


# In the background


def background(hf, *, delay=0):
    return Upgrader(hf.store, hf.tiers, clock=hf.clock, delay=delay)


def test_the_background_embeds_the_scopes_it_is_told_of_with_every_model_and_stops(
    open_memory, fake
):
    better = Watched(2, identity="fake:better", dimensions=64)
    better.quick = False
    hf = open_memory("user:ann", embedders=(fake, better))
    hf.remember("Ann's tea")
    bob = open_memory("user:bob")
    bob.remember("Bob's tea")
    open_memory("user:eve").remember("Eve's tea")
    upgrader = background(hf)
    upgrader.nudge((*hf.scopes, *bob.scopes))
    assert better.done.wait(PATIENCE)
    upgrader.stop()
    assert hf.store.vectors.coverage() == {fake.identity: 2, "fake:better": 2}


def test_the_background_wakes_up_for_what_comes_later(open_memory):
    watched = Watched(1)
    hf = open_memory("user:ann", embedders=(watched,))
    upgrader = background(hf)
    hf.remember("one")
    upgrader.nudge(hf.scopes)
    assert watched.done.wait(PATIENCE)
    watched.done.clear()
    hf.remember("two")
    upgrader.nudge(hf.scopes)
    assert watched.done.wait(PATIENCE)
    upgrader.stop()
    assert covered(hf) == {watched.identity: 2}


def test_a_background_that_is_stopped_before_it_begins_embeds_nothing(hf, fake):
    hf.remember("tea")
    upgrader = background(hf, delay=600)
    upgrader.nudge(hf.scopes)
    upgrader.stop()
    upgrader.nudge(hf.scopes)
    assert fake.calls == 0


def test_a_model_that_fails_in_the_background_is_noted_and_tried_again_later(open_memory, clock):
    tiring = Tiring(works_for=0)
    hf = open_memory("user:ann", embedders=(tiring,))
    hf.remember("tea")
    for works_for, expected in ((0, {tiring.identity: "too tired"}), (1, {})):
        tiring.works_for = works_for
        tiring.tried.clear()
        upgrader = background(hf)
        upgrader.nudge(hf.scopes)
        assert tiring.tried.wait(PATIENCE)
        upgrader.stop()
        assert hf.stats()["problems"] == expected
        clock.now += REST_AFTER_FAILURE
    assert covered(hf) == {tiring.identity: 1}


def test_stopping_at_any_moment_ends_the_thread(hf):
    hf.remember("tea")
    for _ in range(200):
        upgrader = background(hf)
        upgrader.nudge(hf.scopes)
        upgrader.stop()
    assert "holdfast-embed" not in {thread.name for thread in threading.enumerate()}


def test_an_open_memory_has_a_background_that_ends_when_it_is_closed(fake):
    from holdfast import Holdfast
    from holdfast.models.embeddings.tiers import Tiers
    from holdfast.storage import SQLiteStore
    from holdfast.types import Scope

    hf = Holdfast(
        SQLiteStore(":memory:"), [Scope("user", "ann")], tiers=Tiers.of(fake), background=True
    )
    hf.remember("tea")
    assert "holdfast-embed" in {thread.name for thread in threading.enumerate()}
    hf.close()
    assert "holdfast-embed" not in {thread.name for thread in threading.enumerate()}


class TestReembeddingIsLinear:
    """The work that all of a scope takes grows with its size, not with its square: counted, not
    timed.
    """

    def work(self, path: Path, count: int) -> tuple[int, int]:
        """How many steps SQLite's machine takes to look for what has no vector, and in how many
        statements.
        """
        with Holdfast.open(
            path, scope="user:ann", settings=Settings(embedding_models="fake"), background=False
        ) as hf:
            for start in range(0, count, 1000):
                hf.remember_many(
                    f"note number {number}" for number in range(start, min(start + 1000, count))
                )
            steps: list[int] = []

            def profiled(trace: dict[str, Any]) -> None:
                if NO_VECTOR in trace["sql"]:
                    steps.append(trace["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

            store = hf.store
            assert isinstance(store, SQLiteStore)
            store._reader().trace_v2(apsw.SQLITE_TRACE_PROFILE, profiled)
            assert hf.admin.reembed() == {"fake:bag-of-words": count}
            store._reader().trace_v2(0, None)
            assert steps, "no statement looked for what has no vector"
            return sum(steps), len(steps)

    def test_twice_the_memories_take_twice_the_work(self, tmp_path: Path) -> None:
        few, some = self.work(tmp_path / "few.db", 1500)
        many, more = self.work(tmp_path / "many.db", 3000)
        assert many < 2.2 * few  # with a scan for each batch it is four times as much
        assert more < 2.2 * some

    def test_the_work_for_each_memory_does_not_grow(self, tmp_path: Path) -> None:
        small, large = (
            self.work(tmp_path / "small.db", 1000)[0],
            self.work(tmp_path / "large.db", 5000)[0],
        )
        assert large / 5000 < 1.2 * small / 1000
