"""Looking back: weekly, from three facts on, after six days at the earliest; by a model or as a
digest.
"""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import ModelFailed
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.job_runner import drain
from holdfast.maintenance.reflection import REFLECT, digest, due, week
from holdfast.models.embeddings.tiers import Tiers
from holdfast.types import DAY

OFFLINE = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def learn(hf, count=3):
    for number in range(count):
        hf.remember(f"Ann read book {number} with @bob", category="reading")


def test_two_facts_are_too_few_and_three_are_enough(hf):
    """YO-23."""
    learn(hf, 2)
    assert hf.admin.reflect() is None
    learn(hf, 3)
    found = hf.admin.reflect()
    assert (found.kind, found.tags, found.decay_rate, found.status) == (
        "reflection",
        ("weekly",),
        0.0,
        "active",
    )
    assert {edge.relation for edge in hf.admin.links(found.id)} == {"derived_from"}


def test_within_six_days_it_is_not_done_again(hf, clock):
    """YO-23."""
    learn(hf)
    assert hf.admin.reflect() is not None
    clock.forward(days=5, hours=23)
    learn(hf, 4)
    assert hf.admin.reflect() is None
    clock.forward(hours=2)
    assert hf.admin.reflect() is not None


def test_only_the_last_seven_days_count(hf, clock):
    learn(hf)
    clock.forward(days=8)
    assert not due(hf.store, hf.scopes[0], clock.now)
    assert week(hf.store, hf.scopes[0], clock.now).facts == []


def test_what_is_imported_from_long_ago_hides_neither_the_week_nor_the_latest_reflection(
    hf, clock, tmp_path
):
    learn(hf)
    hf.admin.reflect(lambda prompt: "A week of reading.")
    clock.forward(days=-100)
    with Holdfast.open(tmp_path / "old.db", scope="user:ann", settings=OFFLINE, clock=clock) as old:
        old.remember_many([f"Ann wrote page {number}" for number in range(250)])
        old.remember("A week of writing.", kind="reflection")
        bundle = list(old.admin.export())
    clock.forward(days=100)
    hf.admin.import_(bundle)
    assert len(week(hf.store, hf.scopes[0], clock.now).facts) == 3
    assert "A week of reading." in hf.context("anything").stable
    clock.forward(days=5)
    assert not due(hf.store, hf.scopes[0], clock.now), "the latest one is not that of long ago"
    clock.forward(days=1)
    assert due(hf.store, hf.scopes[0], clock.now)


def test_a_model_is_told_what_was_learned_and_its_words_are_kept(hf):
    prompts = []
    learn(hf)
    found = hf.admin.reflect(lambda prompt: prompts.append(prompt) or "  A week of reading.  ")
    assert found.content == "A week of reading."
    assert "1. [fact] Ann read book 2 with @bob" in prompts[0]


def test_a_model_that_says_nothing_or_fails_leaves_nothing_behind(hf):
    learn(hf)
    with pytest.raises(ModelFailed):
        hf.admin.reflect(lambda prompt: " ")
    assert hf.list(kinds=["reflection"]) == []


def test_the_digest_says_what_is_new_what_changed_and_who_was_there(hf):
    learn(hf)
    old = hf.remember("Ann lives in Porto")
    hf.correct(old.id, "Ann lives in Lisbon")
    text = digest(hf.store, hf.scopes[0], week(hf.store, hf.scopes[0], hf.clock()))
    assert text.splitlines() == [
        "New: Ann read book 2 with @bob. Ann read book 1 with @bob. Ann read book 0 with @bob.",
        "Changed: Ann lives in Lisbon (before: Ann lives in Porto).",
        "With Ann, bob.",
    ]
    assert text == digest(hf.store, hf.scopes[0], week(hf.store, hf.scopes[0], hf.clock()))


def test_the_digest_says_what_ended(hf, clock):
    hf.remember("Ann goes to Rome on Friday", valid_until=clock.now + 3 * DAY)
    clock.forward(days=5)
    learn(hf)
    text = digest(hf.store, hf.scopes[0], week(hf.store, hf.scopes[0], hf.clock()))
    assert "Done or over: Ann goes to Rome on Friday." in text.splitlines()


@pytest.mark.parametrize(
    ("facts", "begins"),
    [
        (("Ich wohne jetzt in Bremen", "Ich habe einen Hund", "Ich mag den Winter nicht"), "Neu: "),
        (("Vivo en Rosario con mi hermana", "Tengo un perro", "No me gusta el frío"), "Nuevo: "),
        (("J'habite à Lyon", "J'ai un chien", "Je n'aime pas le froid"), "Nouveau : "),
        (("Я живу в Казани", "У меня есть собака", "Я не люблю холод"), "Новое: "),
        (("我住在上海", "我有一只狗", "我不喜欢冷"), "新的："),
        (("私は大阪に住んでいます", "犬を飼っています", "寒いのは苦手です"), "新しいこと："),
    ],
)
def test_the_digest_is_in_the_language_of_the_facts(hf, facts, begins):
    hf.remember_many(facts)
    text = digest(hf.store, hf.scopes[0], week(hf.store, hf.scopes[0], hf.clock()))
    assert text.startswith(begins)


def test_it_is_in_the_very_next_context(hf):
    """YO-18."""
    learn(hf)
    hf.admin.reflect(lambda prompt: "A week of reading.")
    assert "## Weekly insight\nA week of reading." in hf.context("anything").stable


def test_a_worker_looks_back_for_every_scope_that_has_a_week_behind_it(hf, clock):
    learn(hf)
    learn(hf.scoped("user:bob"))
    worker = Worker(hf.store, Tiers([], environ={}), clock)
    assert drain(worker, kinds=[REFLECT.name]) == 2
    assert drain(worker, kinds=[REFLECT.name]) == 0
    assert len(hf.scoped("user:bob").list(kinds=["reflection"])) == 1
