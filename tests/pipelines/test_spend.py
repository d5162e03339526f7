"""What memory may ask of a language model: held to caps by run and by day, counted in the store,
told beforehand.
"""

from __future__ import annotations

import json

import pytest

from holdfast.errors import CapReached
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.job_runner import drain
from holdfast.maintenance.plan import outlook
from holdfast.models.llm.budget import ANSWER, Caps, Meter
from holdfast.namespaces.project_view import project_of
from holdfast.types import DAY, Scope

ANN = Scope.parse("user:ann")
SILENT = '{"arc": null}'


class Model:
    """Answers every question with the same words, and knows what it was asked."""

    def __init__(self, answer=SILENT):
        self.answer, self.prompts = answer, []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return self.answer


def talk(hf, session="s1"):
    for text in (
        "I moved to Lisbon in May.",
        "I work at a bakery there.",
        "My sister Ines visits on Sundays.",
    ):
        hf.clock.forward(seconds=1)
        hf.capture(session, "user", text)
    hf.clock.forward(seconds=1)
    hf.sessions.end(session)


def meter(hf, *, per_run=10**6, per_day=10**6):
    return Meter(hf.store, hf.clock, Caps(per_run, per_day))


def worker(hf, model, **caps):
    return Worker(hf.store, hf.tiers, hf.clock, hf.scopes, complete=model, meter=meter(hf, **caps))


def the_job(hf):
    return next(job for job in hf.store.jobs.list(hf.scopes) if job.kind == "learn")


def test_questions_and_answers_are_counted_in_the_store(open_with):
    hf = open_with()
    ask = meter(hf).through(Model("x" * 40), ANN)
    ask("y" * 400)
    ask("y" * 4)
    assert hf.stats()["spend"] == {"calls": 2, "tokens": 100 + 10 + 1 + 10, "per_day": 3_000_000}
    hf.clock.forward(days=1)
    assert hf.stats()["spend"]["calls"] == 0, "another day, another account"


def test_a_question_counts_even_if_no_answer_comes(open_with):
    hf = open_with()

    def fails(prompt):
        raise OSError("no route")

    with pytest.raises(OSError, match="no route"):
        meter(hf).through(fails, ANN)("y" * 400)
    assert hf.stats()["spend"]["tokens"] == 100


def test_a_run_ends_where_its_cap_is_and_the_next_one_begins_anew(open_with):
    hf, model = open_with(), Model("x" * 40)
    first = meter(hf, per_run=120)
    ask = first.through(model, ANN)
    ask("y" * 400)
    with pytest.raises(
        CapReached, match=r"110 of the 120 tokens that it may take in a run.*model_tokens_per_run"
    ) as e:
        ask("y" * 400)
    assert len(model.prompts) == 1, "the model was not asked"
    assert e.value.until is None
    first.anew().through(model, ANN)("y" * 400)
    assert hf.stats()["spend"]["calls"] == 2


def test_a_day_ends_where_its_cap_is_for_every_run_of_the_owner_and_no_other(open_with):
    hf, model = open_with(), Model("")
    meter(hf, per_day=150).through(model, ANN)("y" * 400)
    with pytest.raises(
        CapReached, match="100 of the 150 tokens that it may take in a day"
    ) as refused:
        meter(hf, per_day=150).through(model, ANN)("y" * 400)
    assert refused.value.until == (hf.clock() // DAY + 1) * DAY
    meter(hf, per_day=150).through(model, Scope.parse("user:bob"))("y" * 400)
    hf.clock.forward(days=1)
    meter(hf, per_day=150).through(model, ANN)("y" * 400)


def test_work_that_is_too_much_for_a_day_is_put_off_and_done_the_next(open_with):
    hf, model = open_with(), Model()
    talk(hf)
    drain(worker(hf, model, per_day=1), kinds=("learn",))
    job = the_job(hf)
    assert (job.status, job.retries_left, job.retry_at) == (
        "error",
        3,
        (hf.clock() // DAY + 1) * DAY,
    )
    assert "Nothing is lost" in job.error and "model_tokens_per_day" in job.error
    assert drain(worker(hf, model), kinds=("learn",)) == 0, "not before its time"
    assert model.prompts == []
    hf.clock.forward(days=1)
    assert drain(worker(hf, model), kinds=("learn",)) == 1
    assert (the_job(hf).status, len(model.prompts)) == ("done", 1)


def test_every_round_of_a_worker_is_a_run(open_with):
    hf, model = open_with(), Model()
    talk(hf)
    one = worker(hf, model, per_run=2_500)
    one.meter.used = 2_500
    drain(one, kinds=("learn",))
    assert the_job(hf).status == "done"


def test_a_turn_goes_on_when_the_model_may_not_be_asked_and_stats_say_why(open_with):
    hf, model = open_with(model_tokens_per_day=1), Model("[]")
    hf.capture("s1", "user", "I live in Lisbon.")
    assert hf.sessions.extract("s1", complete=model) == []
    assert "model_tokens_per_day" in hf.stats()["problems"]["session s1"]
    hf.sessions.end("s1")
    with pytest.raises(CapReached):
        hf.sessions.learn("s1", complete=model)
    with pytest.raises(CapReached):
        talk(hf, "s2"), hf.sessions.learn("s2", complete=model)
    assert model.prompts == []
    assert {one.id for one in hf.store.sessions.unread(hf.scopes)} == {"s1", "s2"}, "read later"


def test_a_second_look_keeps_what_it_found_before_the_cap_and_goes_on_later(open_with):
    hf, model = open_with(), Model("[]")
    for number in range(3):
        hf.remember(f"thing number {number} happened somewhere")
    drain(worker(hf, model, per_run=300), kinds=("enrich",))
    asked = len(model.prompts)
    assert 0 < asked < 3
    hf.clock.forward(days=1)
    drain(worker(hf, model), kinds=("enrich",))
    assert len(model.prompts) == 3


def test_a_plan_says_what_would_be_done_and_about_what_it_costs(open_with):
    hf, model = open_with(), Model()
    talk(hf)
    (planned,) = outlook(worker(hf, model), ["consolidate"])
    assert (planned.task, planned.due.key, planned.cost.calls) == ("consolidate", "s1", 1)
    assert model.prompts == [] and hf.stats()["spend"]["calls"] == 0
    drain(worker(hf, model), kinds=("learn",))
    took = hf.stats()["spend"]
    assert took["calls"] == planned.cost.calls
    assert 0 <= planned.cost.tokens - took["tokens"] <= 2 * ANSWER


def test_without_a_model_a_plan_costs_nothing(open_with):
    hf = open_with()
    talk(hf)
    (planned,) = outlook(worker(hf, None), ["consolidate"])
    assert planned.cost == (0, 0)


def test_building_a_project_is_planned_counted_and_put_off_too(open_with, tmp_path):
    taught = json.dumps(
        {"rollout_summary": "Chose pnpm.", "rollout_slug": None, "raw_memory": "- Use pnpm."}
    )
    hf, model = open_with(scope="project:shop", model_tokens_per_run=1), Model(taught)
    talk(hf)
    project = project_of(hf, data=tmp_path).of_any_age()
    object.__setattr__(project.building, "default", model)
    cost = project.plan().cost
    assert cost.calls == 2 and cost.tokens > ANSWER
    (failed,) = project.build().failed
    assert "model_tokens_per_run" in failed.error
    assert (failed.retries_left, model.prompts) == (3, [])
