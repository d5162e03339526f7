"""A second look for entities: at every memory, once, with what the conversation tells of names."""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.entity_jobs import ENRICH, candidates
from holdfast.maintenance.job_runner import drain
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.entities.select import standard

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


def enrich(hf, clock):
    worker = Worker(hf.store, Tiers([], environ={}), clock, scopes=hf.scopes)
    return drain(worker, kinds=[ENRICH.name])


def mentioned(hf, memory):
    return {
        entity.name
        for entity in hf.entities.list()
        if any(one.id == memory.id for one in hf.entities.get(entity.id, limit=None).memories)
    }


def test_every_memory_gets_a_second_look_in_one_run(hf, clock):
    """Also one that mentions many, and more of them than one transaction takes."""
    many = hf.remember("@ann @bob @carol went to the Blue Heron Fair")
    for number in range(120):
        hf.remember(f"We ate at the Zorblat{number} House again")
    assert enrich(hf, clock) == 1
    assert {"Blue Heron Fair", "Zorblat0 House", "Zorblat119 House"} <= names(hf)
    assert "Blue Heron Fair" in mentioned(hf, many)
    assert enrich(hf, clock) == 0


def test_a_model_is_only_asked_about_memories_with_few_entities(hf, clock):
    asked = []
    recognition = standard(answer=lambda prompt: asked.append(prompt) or "[]")
    hf.remember("@ann @bob @carol went to the Blue Heron Fair")
    hf.remember("@dave came")
    worker = Worker(
        hf.store, Tiers([], environ={}), clock, scopes=hf.scopes, recognition=recognition
    )
    drain(worker, kinds=[ENRICH.name])
    assert len(asked) == 1
    assert "@dave came" in asked[0]
    assert "Blue Heron Fair" in names(hf)


def test_speakers_are_entities_of_every_session(hf, clock):
    monday = hf.capture("monday", "user", "so how was it?", author="Zdenka")
    hf.capture("monday", "user", "it was fine", author="Bohumil")
    assert {(one.name, one.type) for one in hf.entities.list()} == {
        ("Zdenka", "person"),
        ("Bohumil", "person"),
    }
    tuesday = hf.capture("tuesday", "user", "and today?", author="Zdenka")
    hf.capture("tuesday", "user", "and then?", author="Zdenka")
    enrich(hf, clock)
    assert [one.id for one in hf.entities.get("Zdenka").memories] == [tuesday.id, monday.id]


def test_who_joins_late_is_an_entity_after_the_second_look_or_in_a_batch_at_once(hf, clock):
    for number in range(5):
        hf.capture("monday", "user", f"and {number}", author="Zdenka")
    hf.capture("monday", "user", "may I come in?", author="Bohumil")
    assert names(hf) == {"Zdenka"}
    enrich(hf, clock)
    assert names(hf) == {"Zdenka", "Bohumil"}
    said = {"session": "monday", "role": "user", "text": "hello"}
    hf.capture_many([{**said, "author": "Jarmila"}, {**said, "author": "Dobromila"}])
    assert {"Jarmila", "Dobromila"} < names(hf)


@pytest.mark.parametrize("author", ["user", "Human", "assistant", ""])
def test_a_role_is_no_speaker(hf, author):
    hf.capture("monday", "user", "so how was it?", author=author)
    assert names(hf) == set()


def test_the_assistant_is_no_speaker(hf):
    hf.capture("monday", "assistant", "it was fine", author="Zorblat-4")
    assert names(hf) == set()


def test_a_name_that_is_known_is_found_where_it_starts_a_sentence(hf, clock):
    hf.remember("My neighbour Zdenka has a new dog")
    again = hf.remember("We had a party. Zdenka came late.")
    other = hf.remember("Zdenkas are rare")
    enrich(hf, clock)
    assert mentioned(hf, again) == {"Zdenka"}
    assert mentioned(hf, other) == set()


def test_a_known_name_is_found_between_characters_without_spaces(hf, clock):
    hf.capture("monday", "user", "おはよう", author="健二")
    again = hf.capture("monday", "user", "昨日は健二が来た", author="美咲")
    enrich(hf, clock)
    assert "健二" in mentioned(hf, again)


def test_a_word_that_the_conversation_writes_small_is_no_name(hf, clock):
    hf.capture("monday", "user", "We went to the Harvest and to the Zorblat")
    hf.capture("monday", "user", "it was a good harvest this year")
    enrich(hf, clock)
    assert names(hf) == {"Zorblat"}


def test_a_name_of_unknown_type_is_the_one_whose_type_is_known(hf, clock):
    """In either order: two entities of one name would divide what is known of it."""
    hf.remember("I think it was with Zorblat and later with Quux")
    enrich(hf, clock)
    assert {one.type for one in hf.entities.list()} == {"other"}
    hf.remember("My sister Zorblat lives in Brno")
    hf.remember("I like to go there with Zorblat")
    enrich(hf, clock)
    found = {one.name: (one.type, one.mentions) for one in hf.entities.list()}
    assert found["Zorblat"] == ("person", 3)
    assert found["Quux"] == ("other", 1)
