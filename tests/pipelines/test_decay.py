"""Forgetting: by the formula, whenever it is worked out; use and confirmation keep a fact."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Holdfast, Settings
from holdfast.pipelines.decay import DAY, decay, fades_at, plan, retention

OFFLINE = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock) as hf:
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
    with Holdfast.open(":memory:", scope="user:ann", settings=OFFLINE, clock=lambda: 0, background=False) as hf:
        fact = hf.remember("Likes tea", confidence=0.9, decay_rate=0.02)
        now = 0
        for step in days:
            now += int(step * DAY)
            decay(hf.store, hf.scopes, now, threshold=0.0)
        assert confidence(hf, fact) == pytest.approx(0.9 * math.exp(-0.02 * now / DAY), abs=1e-9)


STEPS = st.lists(
    st.tuples(st.floats(min_value=0, max_value=40), st.sampled_from(["decay", "use", "say", "nothing"])),
    min_size=1,
    max_size=10,
)


@given(STEPS, st.floats(min_value=0.1, max_value=1), st.floats(min_value=0.001, max_value=0.5))
def test_use_in_between_starts_it_anew_whenever_else_it_was_worked_out(steps, sure, rate):
    """By the formula from the last use on; decay at any other times makes no difference, on the way or at the end."""
    now = used = 0
    with Holdfast.open(":memory:", scope="user:ann", settings=OFFLINE, clock=lambda: now, background=False) as hf:
        fact = hf.remember("Likes tea", confidence=sure, decay_rate=rate)
        for days, what in steps:
            now += int(days * DAY)
            if what == "decay":
                decay(hf.store, hf.scopes, now, threshold=0.0)
            elif what == "use":
                hf.recall("tea")
                hf._write_uses()
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
        hf._write_uses()
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


def test_a_plan_changes_nothing(hf, clock):
    fact = hf.remember("Likes tea", decay_rate=0.1)
    clock.forward(days=40)
    (fading,) = plan(hf.store, hf.scopes, clock.now)
    assert fading.gone
    assert confidence(hf, fact) == 1.0


def test_when_it_fades_can_be_told_in_advance(hf, clock):
    fact = hf.remember("Likes tea", decay_rate=0.1)
    assert (fades_at(fact) - clock.now) / DAY == pytest.approx(math.log(20) / 0.1)
    assert retention(fact, fades_at(fact)) == pytest.approx(0.05)
    assert fades_at(hf.remember("Knows Ann")) is None


def test_ageing_is_no_change_of_a_memory(hf, clock):
    """Neither the journal nor an import takes it for one."""
    fact = hf.remember("Likes tea", decay_rate=0.1)
    lines = list(hf.export())
    clock.forward(days=10)
    decay(hf.store, hf.scopes, clock.now)
    assert [event.verb for event in hf.history(fact.id)] == ["remember"]
    assert hf.import_(lines).added["memory"] == 0
    assert hf.doctor() == []


def test_scopes_decay_apart(hf, clock):
    hf.remember("Likes tea", decay_rate=0.1)
    other = hf.scoped("user:bob").remember("Likes coffee", decay_rate=0.1)
    clock.forward(days=10)
    decay(hf.store, hf.scopes, clock.now)
    assert hf.scoped("user:bob").get(other.id).confidence == 1.0
