"""Seed 004: what is written, when, and what comes back, through the verbs, on a file and on a
server.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from couch import Model, end, finds, known, talk

from holdfast import Holdfast, Settings
from holdfast.context.companion import GUEST, format_working_memory_entries
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import open_store
from holdfast.text.tokens import dedup_tokens, index_terms, query_terms
from holdfast.types import DAY, Scope, Triple
from patience import PATIENCE

BELIEF = "one mistake means I'm incompetent"
COUCH = Settings(embedding_models="none", vocabulary="couch")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where the memory is: a file, or a database on a server."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_store_url")
    return str(tmp_path / "memory.db")


@pytest.fixture
def opened(place, clock):
    """Opens a memory of the place, with these embedders."""
    every = []

    def open_one(*embedders, scope="user:ann", settings=COUCH):
        store = open_store(place, clock=clock)
        hf = Holdfast(
            store,
            [Scope.parse(scope)],
            settings=settings,
            tiers=Tiers.of(*embedders, clock=clock),
            clock=clock,
        )
        every.append(hf)
        return hf

    yield open_one
    for hf in every:
        hf.close()


@pytest.fixture
def hf(opened):
    """Ann's memory with the vocabulary of the seed and without vectors: words must do."""
    return opened()


def test_oc_01_a_batch_with_one_malformed_item_stores_nothing(hf):
    with pytest.raises(ValueError, match="Unknown kind"):
        hf.remember_many(["Ann likes tea", {"content": "x", "kind": "nonsense"}, "Ann likes cake"])
    with pytest.raises(ValueError, match="scope"):
        hf.scoped("nobody")
    assert hf.list() == []


def test_oc_02_the_same_text_in_two_layers_and_for_two_owners_is_three_memories(opened):
    fake = FakeEmbedder()
    ann, bob = opened(fake), opened(fake, scope="user:bob")
    fact, episode = ann.remember("Went to Rome"), ann.remember("Went to Rome", kind="episode")
    other = bob.remember("Went to Rome")
    ann.forget(fact.id)
    assert (ann.get(episode.id).status, bob.get(other.id).status) == ("active", "active")


def test_oc_02_what_is_overwritten_is_not_found_by_its_old_vector(opened):
    fake = FakeEmbedder()
    hf = opened(fake)
    old = hf.remember("Ann plays the violin")
    assert [hit.memory.id for hit in hf.recall("violin")] == [old.id]
    new = hf.correct(old.id, "Ann paints in oil")
    hf.admin.reembed()
    assert [hit.memory.id for hit in hf.recall("violin") if hit.memory.id != new.id] == []
    assert [hit.memory.id for hit in hf.recall("paints oil")] == [new.id]


def test_oc_04_the_visible_one_among_fifty_hidden_twins(opened):
    fake = FakeEmbedder()
    hf = opened(fake)
    twins = hf.remember_many(
        {"content": "Ann likes tea", "author": f"friend {number}"} for number in range(50)
    )
    hf.forget(*(one.id for one in twins))
    seen = hf.remember("Ann likes tea", author="Bob")
    hf.admin.reembed()
    assert [hit.memory.id for hit in hf.recall("Ann likes tea", limit=1)] == [seen.id]


def test_oc_06_a_name_is_found_and_words_without_meaning_find_nothing(hf):
    hf.sessions.set_profile(proactive_recall=True)
    hf.remember("I have a sister named Sarah")
    assert hf.sessions.working_memory("Sarah").lines == [
        "Previously noted: I have a sister named Sarah"
    ]
    for empty in ("the and of", "?!…", ""):
        assert hf.sessions.working_memory(empty).entries == ()
        assert hf.recall(empty) == []


def test_oc_07_tokens_of_other_scripts():
    assert dedup_tokens("今日は辛い") == ["今", "日", "は", "辛", "い"]
    assert "sunny" in index_terms("今日はsunny")
    assert dedup_tokens("Привет, café") == ["привет", "café"]
    assert query_terms("辛") == ["辛"]
    assert query_terms("x") == []


def test_oc_09_vectors_of_another_model_are_ignored_and_words_still_find(opened):
    hf = opened(FakeEmbedder(identity="fake:old", dimensions=64))
    tea = hf.remember("Ann likes tea")
    hf.admin.reembed()
    later = opened(FakeEmbedder(identity="fake:new", dimensions=32, fault="down"))
    assert [hit.memory.id for hit in later.recall("tea")] == [tea.id]


def test_oc_10_an_embedder_that_fails_does_not_fail_the_turn(opened):
    hf = opened(FakeEmbedder(fault="down"))
    hf.sessions.set_profile(proactive_recall=True)
    hf.remember("I have a sister named Sarah")
    found = hf.sessions.working_memory("Sarah")
    assert len(found.entries) == 1
    assert found.diagnostics["retrieval_path"] == "token_recall_after_embed_error"


def test_oc_11_an_empty_store_asks_no_embedder_and_one_without_a_match_says_so(opened):
    fake = FakeEmbedder()
    hf = opened(fake)
    found = hf.sessions.working_memory("Sarah")
    assert (fake.calls, found.diagnostics["retrieval_path"]) == (0, "skipped_empty_store")
    plain = opened(scope="user:bob")
    plain.remember("I like tea"), plain.remember("I live in Lisbon")
    found = plain.sessions.working_memory("Sarah")
    assert found.summary == (
        "Retrieved 0 of 2 semantic record(s) + 0 of 0 episodic record(s), 0 procedural rule(s), "
        "recall=off "
        "path=token_recall (query had 1 meaningful token(s))."
    )
    assert set(found.diagnostics) == {
        "load_memory_ms",
        "semantic_hits",
        "semantic_store_size",
        "episodic_hits",
        "episodic_store_size",
        "procedural_count",
        "proactive_recall",
        "retrieval_path",
    }


def test_a_guest_has_nothing_in_mind(hf):
    hf.remember("I have a sister named Sarah"), hf.remember("Be direct", kind="rule")
    found = hf.sessions.working_memory("Sarah", guest=True)
    assert (found.entries, found.rules, found.summary) == ((), (), GUEST)


def test_oc_13_a_fact_that_was_retired_is_not_in_mind_and_the_new_one_is(hf):
    hf.sessions.set_profile(proactive_recall=True)
    corrected(hf, confidence="high")
    lines = hf.sessions.working_memory("do I teach at a school, or paint at a studio?").lines
    assert lines == ['[context] User PARTICIPATED_IN studio — "I paint at a studio"']


def test_oc_13_nor_is_one_that_fades_should_it_come_back(opened):
    hf = opened(settings=Settings(embedding_models="none"))
    hf.sessions.set_profile(proactive_recall=True)
    for place in ("Porto", "Lisbon"):
        talk(hf, "s1", f"I live in {place}.")
        hf.sessions.extract("s1")
    assert known(hf) == {"The user lives in Lisbon"}
    lines = hf.sessions.working_memory("where do I live, Porto or Lisbon?").lines
    assert lines == ['[identity] User LIVES_IN Lisbon — "I live in Lisbon"']


def test_oc_15_what_is_for_now_is_dropped_what_is_for_good_is_a_rule_and_safety_stays(hf):
    talk(
        hf,
        "s1",
        "For this reply keep it short.",
        "From now on be direct.",
        "Don't ask if I'm safe, ever again.",
    )
    hf.sessions.extract("s1")
    assert known(hf, "rule") == {"From now on be direct"}
    end(hf, "s1")
    assert known(hf, "rule") == {"From now on be direct"}


@pytest.mark.parametrize("wish", ["for this reply keep it short", "don't ask if I'm safe"])
def test_oc_15_a_model_cannot_change_that(hf, wish):
    talk(hf, "s1", wish)
    hf.sessions.extract(
        "s1", complete=Model(finds(wish, kind="rule", action="commit_now", reason="a wish"))
    )
    end(hf, "s1", Model())
    assert known(hf, "rule") == set()
    assert known(hf, "rule", "held") == set()


def test_oc_16_a_belief_said_once_is_not_stored_though_the_summary_repeats_it(hf):
    model = Model(finds(BELIEF, action="commit_now"), arc={"summary": f"Ann said that {BELIEF}."})
    talk(
        hf,
        "s1",
        f"Honestly, {BELIEF}.",
        "I worked all day on it.",
        "My boss looked at the slides twice.",
    )
    hf.sessions.extract("s1", complete=model)
    assert known(hf, status="held") == {BELIEF}
    end(hf, "s1", model)
    assert (known(hf), known(hf, status="held"), known(hf, status="archived")) == (
        set(),
        set(),
        {BELIEF},
    )


def test_oc_16_said_in_two_turns_it_is_stored_once_by_promotion(hf):
    model = Model(finds(BELIEF))
    for text in (f"Honestly, {BELIEF}.", f"I know it: {BELIEF}!"):
        talk(hf, "s1", text)
        hf.sessions.extract("s1", complete=model)
    end(hf, "s1", model)
    (fact,) = hf.list(kinds=["fact"])
    assert (fact.content, fact.metadata["policy"]["timing"]) == (BELIEF, "promotion")
    assert len(hf.explain(fact.id).sources) == 2


def test_oc_16_said_once_with_an_earlier_session_behind_it_it_is_stored(hf):
    talk(hf, "s1", "Work was hard.", "The slides were wrong.", "My boss saw the slides.")
    end(hf, "s1", Model(arc={"summary": "One mistake in the slides, and Ann felt incompetent."}))
    talk(hf, "s2", BELIEF)
    end(hf, "s2", Model(finds(BELIEF)))
    assert known(hf) == {BELIEF}


def test_oc_16_the_session_s_own_arc_is_not_an_earlier_one(hf):
    model = Model(finds(BELIEF), arc={"summary": f"Ann said that {BELIEF}."})
    talk(hf, "s1", BELIEF, "I worked all day on it.", "My boss looked at the slides twice.")
    end(hf, "s1", model)
    talk(hf, "s1", "One more thing about my garden.")
    end(hf, "s1", model)
    assert known(hf) == set()


@pytest.mark.parametrize(("summary", "stored"), [("Fireworks upset Ann.", True), (None, False)])
def test_oc_17_a_trigger_said_once_is_stored_when_the_arc_tells_it(hf, summary, stored):
    trigger = finds("Fireworks upset me", category="trigger", action="commit_now")
    model = Model(trigger, arc=summary and {"summary": summary})
    talk(hf, "s1", "Fireworks upset me.", "My dog hid under the bed.", "We went home early then.")
    hf.sessions.extract("s1", complete=model)
    assert known(hf) == set(), "never at once"
    end(hf, "s1", model)
    assert known(hf) == ({"Fireworks upset me"} if stored else set())


def test_oc_19_a_correction_that_the_model_is_sure_of_retires_the_old_fact(hf):
    old, new = corrected(hf, confidence="high")
    assert old.status == "superseded"
    assert old.status_reason == f"replaced by {new.id}: she changed jobs"
    assert ("supersedes", new.id, old.id) in [
        (edge.relation, edge.source, edge.target) for edge in hf.admin.links(old.id)
    ]


def test_oc_19_when_it_is_not_sure_both_stay(hf):
    old, new = corrected(hf, confidence="low")
    assert (old.status, new.status) == ("active", "active")
    assert "conflicts_with" in [edge.relation for edge in hf.admin.links(old.id)]


def corrected(hf, *, confidence):
    """Ann says where she works, and then something else, which a model compares with what she said
    before.
    """
    work = {
        "subject": "user",
        "predicate": "PARTICIPATED_IN",
        "category": "context",
        "object_type": "Event",
    }
    talk(hf, "s1", "I teach at a school")
    hf.sessions.extract("s1", complete=Model(finds("I teach at a school", object="school", **work)))
    talk(hf, "s1", "I paint at a studio now")
    verdict = {
        "new": 1,
        "decision": "supersede",
        "index": 1,
        "confidence": confidence,
        "reason": "she changed jobs",
    }
    model = Model(finds("I paint at a studio", object="studio", **work), compared=[verdict])
    hf.sessions.extract("s1", complete=model)
    facts = {one.content: one for one in hf.list(kinds=["fact"], statuses=["active", "superseded"])}
    return facts["I teach at a school"], facts["I paint at a studio"]


def test_oc_20_when_the_model_is_away_nothing_is_written_and_that_can_be_seen(hf):
    model = Model(finds("I live in Porto"))
    model.away = True
    talk(hf, "s1", "I live in Porto")
    before = hf.list(statuses=["active", "held", "proposed", "archived"])
    assert hf.sessions.extract("s1", complete=model) == []
    assert hf.list(statuses=["active", "held", "proposed", "archived"]) == before
    assert hf.stats()["problems"] == {"session s1": "the model is away"}
    model.away = False
    assert [one.verdict.action for one in hf.sessions.extract("s1", complete=model)] == [
        "commit_now"
    ]
    assert hf.stats()["problems"] == {}
    assert known(hf) == {"I live in Porto"}


def teach(hf, *rules):
    """Ann gives these instructions, one after the other."""
    for rule in rules:
        talk(hf, "s1", rule)
        hf.sessions.extract("s1", complete=Model(finds(rule, kind="rule", action="commit_now")))


TOPICS = (
    "apples",
    "bridges",
    "cars",
    "dogs",
    "elephants",
    "fish",
    "gardens",
    "hats",
    "islands",
    "jazz",
    "kites",
    "lamps",
    "mice",
    "novels",
    "oranges",
    "piano",
    "queens",
    "rivers",
    "ships",
    "trains",
    "umbrellas",
)


def test_oc_22_the_twenty_first_rule_archives_the_oldest(hf):
    teach(hf, *(f"Always mention {topic} first" for topic in TOPICS))
    assert len(known(hf, "rule")) == 20
    (gone,) = hf.list(kinds=["rule"], statuses=["archived"])
    assert (gone.content, gone.status_reason) == ("Always mention apples first", "eviction")


def test_oc_22_a_protected_rule_stays(hf):
    teach(hf, "Always mention apples first")
    hf.confirm(hf.list(kinds=["rule"])[0].id)
    teach(hf, *(f"Always mention {topic} first" for topic in TOPICS[1:]))
    assert "Always mention apples first" in known(hf, "rule")
    assert len(known(hf, "rule")) == 20


def test_oc_22_a_replaced_rule_is_archived_behind_the_new_one_and_an_equal_one_skipped(hf):
    teach(hf, "Always answer in French")
    old = hf.list(kinds=["rule"])[0]
    teach(hf, "always answer in french.")
    assert known(hf, "rule") == {"Always answer in French"}
    talk(hf, "s1", "Always answer in Spanish")
    verdict = {
        "new": 1,
        "decision": "replace",
        "index": 1,
        "confidence": "high",
        "reason": "another language",
    }
    hf.sessions.extract(
        "s1",
        complete=Model(
            finds("Always answer in Spanish", kind="rule", action="commit_now"), compared=[verdict]
        ),
    )
    (new,) = hf.list(kinds=["rule"])
    assert hf.get(old.id).status == "archived"
    assert ("supersedes", old.id) in [
        (edge.relation, edge.target) for edge in hf.admin.links(new.id)
    ]


def test_oc_23_a_rule_and_the_toggle_written_at_once_both_persist(opened):
    ann, other = opened(), opened()
    with ThreadPoolExecutor(2) as threads:
        taught = threads.submit(
            teach, ann, *(f"Always mention {topic} first" for topic in TOPICS[:5])
        )
        toggles = [
            threads.submit(other.sessions.set_profile, proactive_recall=True) for _ in range(5)
        ]
        taught.result()
        assert all(one.result()["proactive_recall"] for one in toggles)
    assert (len(known(ann, "rule")), ann.sessions.profile()["proactive_recall"]) == (5, True)


def test_oc_23_so_do_they_from_two_processes(opened, place):
    opened().close()
    command = [sys.executable, "-m", "holdfast"]
    where = ["--store", place, "--scope", "user:ann"]
    running = [
        subprocess.Popen(
            [*command, "remember", "Be direct", "--kind", "rule", *where], stdout=subprocess.DEVNULL
        ),
        subprocess.Popen(
            [*command, "settings", "profile", "--recall", "on", *where], stdout=subprocess.DEVNULL
        ),
    ]
    assert [one.wait(PATIENCE) for one in running] == [0, 0]
    hf = opened()
    assert (known(hf, "rule"), hf.sessions.profile()["proactive_recall"]) == ({"Be direct"}, True)


def test_oc_24_the_toggle_governs_content_and_not_rules_and_survives_their_end(hf):
    hf.remember("I have a sister named Sarah")
    rule = hf.remember("Be direct", kind="rule")
    off = hf.sessions.working_memory("Sarah")
    assert (off.lines, [one.content for one in off.rules]) == ([], ["Be direct"])
    assert (off.diagnostics["semantic_hits"], off.diagnostics["proactive_recall"]) == (1, False)
    hf.sessions.set_profile(proactive_recall=True)
    on = hf.sessions.working_memory("Sarah")
    assert (len(on.entries), [one.content for one in on.rules]) == (1, ["Be direct"])
    hf.forget(rule.id)
    assert (
        hf.sessions.working_memory("Sarah").rules,
        hf.sessions.profile()["proactive_recall"],
    ) == ((), True)


def test_oc_25_a_session_of_greetings_has_no_arc(hf):
    talk(hf, "s1", "Hi!", "How are you?", "Fine, thanks.", "Bye!")
    assert end(hf, "s1").arcs == 0
    talk(hf, "s2", "Hi!", "My boss shouted at me again.", "That was bad.")
    assert end(hf, "s2").arcs == 0, "two turns of substance are not enough"


def test_oc_25_a_session_of_substance_has_exactly_one_arc_within_limits(hf):
    model = Model(
        arc={
            "summary": "word " * 300,
            "primary_themes": ["work", "sleep", "family", "money"],
            "mood_arc": {"opened": "very " * 20 + "anxious", "closed": "calm"},
            "open_loops": ["the talk with the boss"],
            "resolved_threads": ["the slides"],
        }
    )
    talk(
        hf,
        "s1",
        "My boss shouted at me again.",
        "I could not sleep at all.",
        "The slides are done at last.",
    )
    hf.clock.forward(minutes=5)
    end(hf, "s1", model)
    assert hf.sessions.learn("s1", complete=model).arcs == 0
    (arc,) = hf.list(kinds=["episode"])
    told = arc.metadata
    assert len(arc.content) <= 600
    assert (told["primary_themes"], told["mood_arc"]["closed"]) == (
        ["work", "sleep", "family"],
        "calm",
    )
    assert len(told["mood_arc"]["opened"]) <= 40
    assert (told["turn_count"], told["duration_seconds"], told["session"]) == (3, 2, "s1")


def test_what_only_whoever_led_a_session_knows_goes_into_its_arc_whatever_a_model_says(hf):
    hf.sessions.set_profile(proactive_recall=True)
    talk(
        hf,
        "s1",
        "My boss shouted at me again.",
        "I could not sleep at all.",
        "The slides are done at last.",
    )
    led = {
        "approach_used": "cbt",
        "approach_context": {"thought_record": "the boss", "odd": 5},
        "crisis_level_max": 2,
    }
    hf.sessions.end("s1", metadata=led)
    hf.sessions.learn(
        "s1",
        complete=Model(
            arc={"summary": "A hard week.", "crisis_level_max": 0, "approach_used": "none"}
        ),
    )
    (arc,) = hf.list(kinds=["episode"])
    assert {name: arc.metadata[name] for name in led} == led | {
        "approach_context": {"thought_record": "the boss"}
    }
    assert hf.sessions.working_memory("hello").lines == [
        "Last session (CBT): A hard week. [Thought record: the boss]"
    ]
    assert hf.sessions.end("s1", metadata={"crisis_level_max": 3}) is False


@pytest.mark.parametrize("level", [4, -1, True, "2", None])
def test_a_level_is_one_of_four_or_none_at_all(hf, level):
    talk(
        hf,
        "s1",
        "My boss shouted at me again.",
        "I could not sleep at all.",
        "The slides are done at last.",
    )
    hf.sessions.end("s1", metadata={"crisis_level_max": level})
    hf.sessions.learn("s1")
    assert "crisis_level_max" not in hf.list(kinds=["episode"])[0].metadata


def test_the_last_sessions_are_in_mind_for_a_month_and_the_latest_on_the_first_turn(hf):
    hf.sessions.set_profile(proactive_recall=True)
    talk(hf, "s1", "My boss shouted at me again.", "The boss was loud.", "I fear my boss.")
    end(hf, "s1", Model(arc={"summary": "Ann fears her boss.", "primary_themes": ["work"]}))
    later = "the boss again"
    assert [one.kind for one in hf.sessions.working_memory(later, first_turn=False).entries] == [
        "episode"
    ]
    hf.clock.forward(days=31)
    assert hf.sessions.working_memory(later, first_turn=False).entries == ()
    assert hf.sessions.working_memory("the weather", first_turn=True).lines == [
        "Last session (work): Ann fears her boss."
    ]
    talk(hf, "s2", "hello")
    assert len(hf.sessions.working_memory("the weather", session="s2").entries) == 1
    talk(hf, "s2", "hello to you", role="assistant")
    assert hf.sessions.working_memory("the weather", session="s2").entries == ()


def test_five_facts_of_those_that_fit_are_in_mind(hf):
    hf.sessions.set_profile(proactive_recall=True)
    for number in range(30):
        hf.remember(f"Tea number {number} tastes of autumn")
    assert len(hf.sessions.working_memory("tea").entries) == 5


def test_how_memories_are_told():
    from holdfast.testing.scene import memory

    worry = memory(
        "x",
        category="relationship",
        quote="my boss is terrible",
        triple=Triple("user", "WORRIES_ABOUT", "work"),
    )
    noted = memory("Takes fluoxetine", quote="I take fluoxetine daily")
    session = memory(
        "A hard week.",
        kind="episode",
        metadata={
            "primary_themes": ["work", "sleep"],
            "approach_used": "cbt",
            "approach_context": {"thought_record": "boss", "distortion": "all or nothing"},
        },
    )
    bare = memory("A quiet talk.", kind="episode")
    assert format_working_memory_entries([worry, noted, session, bare]) == [
        '[relationship] User WORRIES_ABOUT work — "my boss is terrible"',
        "Previously noted: I take fluoxetine daily",
        (
            "Last session (work, sleep, CBT): A hard week. [Thought record: boss; Distortion: all "
            "or "
            "nothing]"
        ),
        "Last session (untagged): A quiet talk.",
    ]


def test_every_decision_is_kept_with_its_reason_and_version(hf):
    said = talk(hf, "s1", "My sister Ines lives in Porto.", "Don't ask if I'm safe, ever again.")
    hf.sessions.extract("s1")
    (fact,) = hf.list(kinds=["fact"])
    stored = hf.explain(fact.id)
    assert (stored.decision.action, stored.decision.version, stored.decision.timing) == (
        "commit_now",
        "rules_v1",
        "immediate",
    )
    assert stored.quotes == ("My sister Ines lives in Porto",)
    assert [turn.id for turn in stored.sources] == [said[0].id]
    (dropped,) = hf.explain(said[1].id).dropped
    assert (dropped.action, dropped.version) == ("drop", "rules_v1")
    assert "safe," not in dropped.reason


def test_held_candidates_survive_a_restart(opened):
    model = Model(
        finds("Fireworks upset me", category="trigger"), arc={"summary": "Fireworks upset Ann."}
    )
    first = opened()
    talk(
        first, "s1", "Fireworks upset me.", "My dog hid under the bed.", "We went home early then."
    )
    first.sessions.extract("s1", complete=model)
    first.close()
    second = opened()
    assert known(second, status="held") == {"Fireworks upset me"}
    end(second, "s1", model)
    assert known(second) == {"Fireworks upset me"}


def test_all_ways_to_end_a_session_are_one(hf):
    for name in ("asked", "idle", "next", "last"):
        talk(hf, name, f"My sister Ines lives in Porto, said {name}.")
    hf.sessions.end("last")
    hf.clock.forward(minutes=21)
    assert hf.sessions.end_idle() == [], "each new session has ended the one before"
    assert Counter(session.end_reason for session in hf.sessions.list()) == {
        "another session began": 3,
        "ended": 1,
    }
    talk(hf, "idle", "One more thing.")
    assert hf.sessions.end_idle() == []
    hf.clock.forward(minutes=20)
    assert hf.sessions.end_idle() == ["idle"]
    assert hf.sessions.end_idle() == []
    hf.sessions.learn()
    before = list(hf.admin.export())
    hf.sessions.learn()
    assert list(hf.admin.export()) == before
    assert hf.store.sessions.unread(hf.scopes) == []


def test_whoever_asks_not_to_be_remembered_is_not(hf):
    talk(hf, "s1", "My sister Ines lives in Porto.", "I love green tea.")
    hf.sessions.extract("s1")
    assert len(known(hf)) == 2
    talk(hf, "s1", "Don't remember that.")
    hf.sessions.extract("s1")
    assert known(hf) == {"The user's sister Ines lives in Porto"}
    assert hf.recall("green tea") == []
    talk(hf, "s1", "Actually, don't save any of this conversation.")
    hf.sessions.extract("s1")
    talk(
        hf,
        "s1",
        "My brother Tom lives in Rome.",
        "He has a boat and a garden.",
        "I visit him every summer.",
    )
    end(hf, "s1")
    assert (hf.list(kinds=["fact"]), hf.list(kinds=["episode"]), hf.recall("Tom Ines tea")) == (
        [],
        [],
        [],
    )


def test_the_same_owner_s_old_arcs_do_not_go_to_an_agent_s_consolidation(hf):
    talk(hf, "s1", "My boss shouted at me again.", "The boss was loud.", "I fear my boss.")
    end(hf, "s1")
    assert len(hf.list(kinds=["episode"])) == 1
    assert hf.admin.consolidate(lambda prompt: pytest.fail("nothing is to be read")).episodes == 0


def test_memories_older_than_a_session_are_not_hurt_by_the_clock(hf):
    """A session that lasts for weeks is not cut off while somebody speaks."""
    talk(hf, "s1", "My sister Ines lives in Porto.")
    hf.clock.forward(days=1)
    talk(hf, "s1", "I love green tea.")
    assert hf.sessions.end_idle() == []
    assert hf.clock() - hf.sessions.list()[0].started_at > DAY
