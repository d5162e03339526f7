"""A second look for entities: memories that mention few, once, newest first, fifty a night."""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.entity_jobs import ENRICH, candidates
from holdfast.maintenance.job_runner import drain
from holdfast.models.embeddings.tiers import Tiers

OFFLINE = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def names(hf):
    return {entity.name for entity in hf.entities.list()}


def test_what_the_quick_look_missed_is_found_at_night_and_not_looked_for_again(hf, clock):
    """YO-22."""
    memory = hf.remember("We went to see Zorblat Quux in concert")
    assert names(hf) == set()
    worker = Worker(hf.store, Tiers([], environ={}), clock, scopes=hf.scopes)
    assert drain(worker, kinds=[ENRICH.name]) == 1
    assert names(hf) == {"Zorblat Quux"}
    assert "enriched_at" in hf.get(memory.id).metadata
    assert candidates(hf.store, hf.scopes[0]) == []
    assert drain(worker, kinds=[ENRICH.name]) == 0


def test_only_memories_with_few_entities_are_looked_at(hf):
    hf.remember("@ann @bob @carol met")
    few = hf.remember("@dave came")
    assert [memory.id for memory in candidates(hf.store, hf.scopes[0])] == [few.id]


def test_no_more_than_asked_for_and_the_newest_first(hf):
    stored = [hf.remember(f"Something number {number}") for number in range(5)]
    assert [memory.id for memory in candidates(hf.store, hf.scopes[0], limit=2)] == [
        stored[4].id,
        stored[3].id,
    ]
