"""Forgetting: by the formula, whenever it is worked out; use and confirmation keep a fact."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Holdfast, Settings
from holdfast.base_client import write_uses
from holdfast.extraction.apply import DECAY_RATE
from holdfast.extraction.approval import PROPOSAL_DAYS
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.job_types import Due, Task, Worker
from holdfast.extraction.session_extraction import learn
from holdfast.extraction.turn_extraction import ExtractionContext, usual
from holdfast.extraction.vocabulary import FADING_RATES
from holdfast.maintenance.decay import (
    DAY,
    DECAY,
    Decayed,
    decay,
    explained,
    fades_at,
    last_use,
    plan,
    retention,
)
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage.store_types import Author
from holdfast.types import Job, Memory, Scope, Triple, from_iso

OFFLINE = Settings(embedding_models="none")
ANN = Scope("user", "ann")
TEA = Memory(
    "fact_1", ANN, "fact", "Likes tea", 0, 0, 0, confidence=0.4, strength=0.8, decay_rate=0.1
)


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def confidence(hf, memory):
    return hf.get(memory.id).confidence


def test_a_fact_fades_by_the_formula_and_not_again_on_the_same_day(hf, clock):
    """YO-11."""
    fact = hf.remember("Likes tea", confidence=0.8, decay_rate=0.1)
    clock.forward(days=10)
    assert decay(hf.store, hf.scopes, clock.now).decayed == 1
    assert confidence(hf, fact) == pytest.approx(0.8 * math.exp(-1), abs=1e-9)
    assert decay(hf.store, hf.scopes, clock.now).decayed == 0
    assert confidence(hf, fact) == pytest.approx(0.8 * math.exp(-1), abs=1e-9)


@given(st.lists(st.floats(min_value=0, max_value=40, allow_nan=False), min_size=1, max_size=8))
def test_any_split_of_the_same_days_gives_the_same_confidence(days):
    with Holdfast.open(
        ":memory:", scope="user:ann", settings=OFFLINE, clock=lambda: 0, background=False
    ) as hf:
        fact = hf.remember("Likes tea", confidence=0.9, decay_rate=0.02)
        now = 0
        for step in days:
            now += int(step * DAY)
            decay(hf.store, hf.scopes, now, threshold=0.0)
        assert confidence(hf, fact) == pytest.approx(0.9 * math.exp(-0.02 * now / DAY), abs=1e-9)


STEPS = st.lists(
    st.tuples(
        st.floats(min_value=0, max_value=40), st.sampled_from(["decay", "use", "say", "nothing"])
    ),
    min_size=1,
    max_size=10,
)


@given(STEPS, st.floats(min_value=0.1, max_value=1), st.floats(min_value=0.001, max_value=0.5))
def test_use_in_between_starts_it_anew_whenever_else_it_was_worked_out(steps, sure, rate):
    """By the formula from the last use on; decay at any other times makes no difference, on the way
    or at the end.
    """
    now = used = 0
    with Holdfast.open(
        ":memory:", scope="user:ann", settings=OFFLINE, clock=lambda: now, background=False
    ) as hf:
        fact = hf.remember("Likes tea", confidence=sure, decay_rate=rate)
        for days, what in steps:
            now += int(days * DAY)
            if what == "decay":
                decay(hf.store, hf.scopes, now, threshold=0.0)
            elif what == "use":
                hf.recall("tea")
                write_uses(hf)
            elif what == "say":
                hf.remember("Likes tea", confidence=sure)
            used = now if what in ("use", "say") else used
            expected = sure * math.exp(-rate * (now - used) / DAY)
            assert retention(hf.get(fact.id), now) == pytest.approx(expected, abs=1e-9)
        decay(hf.store, hf.scopes, now, threshold=0.0)
        assert confidence(hf, fact) == pytest.approx(expected, abs=1e-9)


def test_below_the_threshold_it_fades_is_found_no_more_and_can_come_back(hf, clock):
    fact = hf.remember("Likes tea", decay_rate=0.1)
    clock.forward(days=29)
    assert decay(hf.store, hf.scopes, clock.now).faded == 0
    clock.forward(days=2)
    assert decay(hf.store, hf.scopes, clock.now).faded == 1
    assert hf.get(fact.id).status == "faded"
    assert hf.recall("tea") == []
    back = hf.restore(fact.id)
    assert (back.status, back.confidence) == ("active", 1.0)
    clock.forward(days=29)
    assert decay(hf.store, hf.scopes, clock.now).faded == 0


def test_use_brings_a_fact_back_to_what_it_was(hf, clock):
    """D8: what is recalled now and then never fades."""
    fact = hf.remember("Likes tea", confidence=0.8, decay_rate=0.1)
    for _ in range(20):
        clock.forward(days=9)
        decay(hf.store, hf.scopes, clock.now)
        assert hf.recall("tea")
        write_uses(hf)
    assert hf.get(fact.id).status == "active"
    decay(hf.store, hf.scopes, clock.now)
    assert confidence(hf, fact) == pytest.approx(0.8)


def test_said_again_a_faded_confidence_is_full_again(hf, clock):
    fact = hf.remember("Likes tea", confidence=0.8, decay_rate=0.1)
    clock.forward(days=10)
    decay(hf.store, hf.scopes, clock.now)
    hf.remember("Likes tea", confidence=0.5)
    assert confidence(hf, fact) == 0.8
    assert decay(hf.store, hf.scopes, clock.now).decayed == 0


def test_confirmed_facts_reflections_and_turns_never_decay(hf, clock):
    """YO-12."""
    fact = hf.remember("Likes tea", confidence=0.8, decay_rate=0.1)
    clock.forward(days=5)
    decay(hf.store, hf.scopes, clock.now)
    hf.confirm(fact.id)
    reflection = hf.remember("A week of tea", kind="reflection", decay_rate=0.1)
    turn = hf.capture("s1", "user", "I had tea")
    clock.forward(days=365)
    assert decay(hf.store, hf.scopes, clock.now) == decay(hf.store, hf.scopes, clock.now)
    assert [confidence(hf, one) for one in (fact, reflection, turn)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "kept", [{"protected": True}, {"decay_rate": 0.0}], ids=["protected", "no rate"]
)
def test_what_does_not_decay_stays_as_it_is_and_never_fades(kept):
    assert retention(TEA.with_(**kept), 100 * DAY) == 0.4
    assert fades_at(TEA.with_(**kept)) is None


def test_before_it_was_last_used_a_fact_is_as_sure_as_it_was_then():
    used = TEA.with_(last_accessed=10 * DAY)
    assert last_use(used) == 10 * DAY
    assert retention(used, 5 * DAY) == 0.8


def test_a_plan_changes_nothing(hf, clock):
    fact = hf.remember("Likes tea", decay_rate=0.1)
    clock.forward(days=40)
    (fading,) = plan(hf.store, hf.scopes, clock.now)
    assert fading.gone
    assert confidence(hf, fact) == 1.0


def test_a_plan_has_each_fact_that_decays_once_and_the_oldest_first(hf, clock):
    decaying = [hf.remember(f"Likes {drink}", decay_rate=0.1) for drink in ("tea", "mate", "milk")]
    hf.confirm(hf.remember("Likes water", decay_rate=0.1).id)
    kept = hf.remember("Likes juice", decay_rate=0.1)
    hf.store.write(
        Author("ann", "run_1", clock.now, "protect"),
        lambda tx: tx.change(kept, protected=True),
    )
    hf.remember("Knows Ann")
    assert [one.memory.id for one in plan(hf.store, hf.scopes, clock.now)] == [
        fact.id for fact in decaying
    ]


def test_what_is_just_as_sure_as_the_threshold_has_not_faded(hf, clock):
    hf.remember("Likes tea", confidence=0.05, decay_rate=0.1)
    (fading,) = plan(hf.store, hf.scopes, clock.now)
    assert (fading.confidence, fading.gone) == (0.05, False)


def test_who_calls_may_set_another_threshold(hf, clock):
    hf.remember("Likes tea", decay_rate=0.1)
    clock.forward(days=10)
    assert decay(hf.store, hf.scopes, clock.now, threshold=0.3) == Decayed(1, 0)
    assert decay(hf.store, hf.scopes, clock.now, threshold=0.4) == Decayed(0, 1)


def test_the_journal_says_who_let_a_fact_fade_and_why(hf, clock):
    fact = hf.remember("Likes tea", decay_rate=0.1)
    decay(hf.store, hf.scopes, clock.forward(days=40))
    event = hf.history(fact.id)[-1]
    assert (event.actor, event.verb, event.at, event.run[:4]) == (
        "decay",
        "decay",
        clock.now,
        "run_",
    )
    faded = hf.get(fact.id)
    assert (faded.status, faded.status_reason, faded.status_at) == (
        "faded",
        "not used for long",
        clock.now,
    )


class Meanwhile:
    """A store to which something happens after everything was read and before anything is
    written.
    """

    def __init__(self, store, happens):
        self._store, self._happens = store, happens

    def __getattr__(self, name):
        return getattr(self._store, name)

    def write(self, author, work):
        self._happens()
        return self._store.write(author, work)


@pytest.mark.parametrize(
    ("happens", "status"),
    [
        (lambda hf, fact: hf.confirm(fact.id), "active"),
        (lambda hf, fact: hf.remember("Likes tea", confidence=0.05), "active"),
        (lambda hf, fact: hf.archive(fact.id), "archived"),
        (lambda hf, fact: hf.admin.purge(fact.id), None),
    ],
    ids=["confirmed", "said again", "archived", "erased"],
)
def test_what_happens_to_a_fact_at_that_very_moment_counts(hf, clock, happens, status):
    fact = hf.remember("Likes tea", confidence=0.05, decay_rate=0.1)
    clock.forward(days=10)
    meanwhile = Meanwhile(hf.store, lambda: happens(hf, fact))
    assert decay(meanwhile, hf.scopes, clock.now).faded == 0
    assert [one.status for one in hf.store.get(hf.scopes, [fact.id])] == (
        [status] if status else []
    )


def test_when_it_fades_can_be_told_in_advance(hf, clock):
    fact = hf.remember("Likes tea", decay_rate=0.1)
    assert (fades_at(fact) - clock.now) / DAY == pytest.approx(math.log(20) / 0.1)
    assert retention(fact, fades_at(fact)) == pytest.approx(0.05)
    assert fades_at(hf.remember("Knows Ann")) is None
    assert fades_at(fact, threshold=0) is None
    assert fades_at(fact.with_(confidence=0.01)) == clock.now, "it has faded already"


def test_at_the_usual_rate_a_sure_fact_fades_in_thirty_days():
    sure = TEA.with_(confidence=1.0, strength=None, decay_rate=DECAY_RATE)
    assert math.ceil(fades_at(sure) / DAY) == 30


def test_ageing_is_no_change_of_a_memory(hf, clock):
    """Neither the journal nor an import takes it for one."""
    fact = hf.remember("Likes tea", decay_rate=0.1)
    lines = list(hf.admin.export())
    clock.forward(days=10)
    decay(hf.store, hf.scopes, clock.now)
    assert [event.verb for event in hf.history(fact.id)] == ["remember"]
    assert hf.admin.import_(lines).added["memory"] == 0
    assert hf.admin.check() == []


def test_scopes_decay_apart(hf, clock):
    hf.remember("Likes tea", decay_rate=0.1)
    other = hf.scoped("user:bob").remember("Likes coffee", decay_rate=0.1)
    clock.forward(days=10)
    decay(hf.store, hf.scopes, clock.now)
    assert hf.scoped("user:bob").get(other.id).confidence == 1.0


# As a job


def worker(hf, clock, **options):
    return Worker(
        hf.store, Tiers([], environ={}), clock, name="w1", **{"scopes": hf.scopes, **options}
    )


def due(hf, clock, **options):
    return list(DECAY.due(worker(hf, clock, **options)))


def run(hf, clock, **options):
    DECAY.run(Task(worker(hf, clock, **options), Job(ANN, DECAY.name, "daily", "running")))


def test_it_is_due_when_a_fact_was_not_looked_at_for_half_a_day(hf, clock):
    hf.remember("Likes tea", decay_rate=0.1)
    clock.forward(hours=12, microseconds=-1)
    hf.remember("Likes milk", decay_rate=0.1)
    assert due(hf, clock) == []
    clock.forward(microseconds=1)
    assert due(hf, clock) == [Due(ANN, "daily", clock.now // DAY)]
    run(hf, clock)
    assert due(hf, clock) == []
    clock.forward(hours=12)
    assert due(hf, clock) == [Due(ANN, "daily", clock.now // DAY)]


def test_it_is_due_in_each_scope_of_the_worker_or_in_all_there_are(hf, clock):
    for name in ("ann", "bob"):
        hf.scoped(f"user:{name}").remember("Likes tea", decay_rate=0.1)
    clock.forward(days=1)
    assert [one.scope.key for one in due(hf, clock)] == ["ann"]
    assert sorted(one.scope.key for one in due(hf, clock, scopes=None)) == ["ann", "bob"]


def test_the_job_lets_facts_fade_in_the_name_of_the_worker(hf, clock):
    assert DECAY.name == "decay"
    fact = hf.remember("Likes tea", confidence=0.8, decay_rate=0.1)
    clock.forward(days=10)
    run(hf, clock)
    assert confidence(hf, fact) == pytest.approx(0.8 * math.exp(-1))
    assert hf.get(fact.id).status == "active"
    run(hf, clock, threshold=0.5)
    assert hf.get(fact.id).status == "faded"
    assert hf.history(fact.id)[-1].actor == "worker:w1"


def test_the_job_also_puts_away_proposals_that_nobody_decided_on(hf, clock):
    waits = hf.reviews.propose("Ann prefers green tea")
    clock.forward(days=PROPOSAL_DAYS)
    assert due(hf, clock) == []
    clock.forward(microseconds=1)
    assert due(hf, clock) == [Due(ANN, "daily", clock.now // DAY)]
    run(hf, clock)
    event = hf.history(waits.id)[-1]
    assert (event.actor, event.verb, event.run[:4]) == ("worker:w1", "expire", "run_")
    assert hf.get(waits.id).status == "archived"


class Told:
    """An extractor that finds one fact in every turn."""

    def __init__(self, category, triple=None):
        self.category, self.triple = category, triple

    def extract(self, turns):
        return [
            Candidate(
                turn.content, turn.content, turn.id, category=self.category, triple=self.triple
            )
            for turn in turns
        ]


def learned(hf, text, category, triple=None):
    """The fact that extraction makes of what somebody said."""
    hf.capture("s1", "user", text)
    hf.sessions.end("s1")
    session = hf.store.sessions.get(hf.scopes[0], "s1")
    reading = ExtractionContext(usual(), extractor=Told(category, triple))
    learn(hf.store, session, reading, Author("test", "run_1", hf.clock(), "learn"))
    found = hf.list(kinds=["fact"])
    return found[0] if found else None


@pytest.mark.parametrize(
    ("text", "category", "triple"),
    [
        ("I am Ann and live in Lisbon", "identity", None),
        ("Ines is my sister", "relationship", None),
        ("I have asthma since I was five", "health", None),
        ("We moved to Villach", "correction", None),
        ("Das mit den Nüssen", "preference", Triple("user", "ALLERGIC_TO", "Nüsse")),
        ("May 3, 1990", "general", Triple("user", "BORN_ON", "May 3, 1990")),
    ],
)
def test_who_somebody_is_their_people_and_their_health_never_fade(
    hf, clock, text, category, triple
):
    fact = learned(hf, text, category, triple)
    clock.forward(days=3000)
    assert decay(hf.store, hf.scopes, clock.now).faded == 0
    assert fades_at(fact) is None
    assert explained(fact, clock.now) == (
        f"It never fades. What is of this kind ({category}) stays until something replaces it."
    )


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I have a nut allergy", "health"),
        ("My son has asthma", "health"),
        ("I take 20 mg of lisinopril every morning", "health"),
        ("Ich habe eine Nussallergie", "health"),
        ("Soy alérgico a los cacahuetes", "health"),
        ("J'ai une allergie au lactose", "health"),
        ("У меня аллергия на орехи", "health"),
        ("我对花生过敏", "health"),
        ("私は卵アレルギーです", "health"),
        ("My birthday is on March 3", "identity"),
        ("Ich habe am 3. März Geburtstag", "identity"),
        ("Mon anniversaire est le 3 mars", "identity"),
        ("Cumplo años el 3 de marzo", "identity"),
        ("我的生日是三月三日", "identity"),
    ],
)
def test_health_and_birthdays_never_fade_whatever_they_were_taken_for(hf, clock, text, category):
    for taken_for in ("preference", "plan"):
        assert usual().vocabulary.fitted(Candidate(text, text, category=taken_for)).category == (
            category
        )
    fact = learned(hf, text, "plan")
    assert (fact.category, fact.valid_until, fades_at(fact)) == (category, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "I have a dentist appointment on December 10",
        "Ich habe am 10. Dezember einen Zahnarzttermin",
        "Tengo una cita con el dentista el 10 de diciembre",
        "J'ai un rendez-vous chez le dentiste le 10 décembre",
    ],
)
def test_an_appointment_is_over_after_its_day(tmp_path, clock, text):
    clock.now = from_iso("2026-11-20T12:00:00+00:00")
    with Holdfast.open(tmp_path / "plans.db", scope="user:ann", clock=clock) as hf:
        hf.capture("s1", "user", f"{text}.")
        hf.sessions.extract("s1")
        (plan,) = hf.list(kinds=["fact"])
    assert plan.category == "plan" and "10" in plan.content
    assert plan.valid_until == from_iso("2026-12-11T00:00:00+00:00")


def test_a_preference_fades_slowly(hf, clock):
    fact = learned(hf, "I like green tea", "preference")
    clock.forward(days=365)
    assert decay(hf.store, hf.scopes, clock.now).faded == 0
    clock.forward(days=1000)
    assert decay(hf.store, hf.scopes, clock.now).faded == 1
    assert "unless it is used before" in explained(fact, clock.now)


def test_a_plan_ends_with_its_date(hf, clock):
    clock.now = from_iso("2026-03-01T12:00:00+00:00")
    plan = learned(hf, "I fly to Rome on 3 May 2026", "plan")
    clock.now = from_iso("2026-05-03T12:00:00+00:00")
    assert [hit.memory.id for hit in hf.recall("Rome", kinds=["fact"])] == [plan.id]
    assert explained(plan, clock.now).startswith("It ends with its date, 2026-05-03.")
    clock.now = from_iso("2026-05-04T12:00:00+00:00")
    assert hf.recall("Rome", kinds=["fact"]) == []
    assert explained(plan, clock.now).startswith("It ended with its date, 2026-05-03.")


def test_small_talk_is_not_stored(hf):
    assert learned(hf, "Thanks!", "general") is None


def test_what_an_agent_notes_with_its_tools_keeps_the_formula_of_a_month():
    assert DECAY_RATE == FADING_RATES["in_a_month"] == 0.1
