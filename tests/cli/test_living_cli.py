"""Commands of maintenance: `worker`, `entity`, and the forecast of `show`."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from holdfast import Holdfast, Settings
from holdfast.cli import output
from holdfast.cli.plots import confidence, new_per_week, show_plots
from holdfast.storage.store_types import Spent
from holdfast.types import DAY, system_clock


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db",
        scope="user:ann",
        settings=Settings(embedding_models="none"),
        clock=clock,
    ) as hf:
        yield hf


def test_decay_shows_its_plan_before_it_does_anything(cli, hf):
    fact = hf.remember("Likes tea", decay_rate=0.1)
    (planned,) = json.loads(cli("worker", "decay", "--plan", "--json").out)
    assert (planned["id"], planned["fades"]) == (fact.id, True)
    assert "Likes tea" in cli("worker", "decay", "--plan").out
    assert hf.get(fact.id).status == "active"
    assert cli("worker", "decay").out.startswith(
        "Less sure than before: 1. Faded: 1.\n`holdfast list --status faded` shows"
    )
    assert "Likes tea" in cli("list", "--status", "faded").out
    assert hf.get(fact.id).status == "faded"
    assert cli("worker", "decay", "--plan").out == "Nothing here fades.\n"


def test_a_forecast_draws_the_curve_of_a_fact(cli, hf):
    fact = hf.remember("Likes tea", decay_rate=0.000001)
    drawn = cli("show", fact.id, "--forecast", "--days", "30").out
    assert drawn.startswith("Likes tea\nday    0   1.00  ████")
    assert "It fades on" in drawn
    assert "It never fades." in cli("show", hf.remember("Knows Bob").id, "--forecast").out
    curve = json.loads(cli("show", fact.id, "--forecast", "--json").out)["curve"]
    assert [day for day, _ in curve][-1] == 90


def test_entities_are_listed_shown_merged_renamed_split_and_undone(cli, hf):
    hf.remember("@bob shipped #apollo")
    hf.remember("@robert shipped it too")
    assert {one["name"] for one in json.loads(cli("entity", "list", "--json").out)} == {
        "bob",
        "apollo",
        "robert",
    }
    assert "shipped #apollo" in cli("entity", "show", "@bob").out
    assert cli("entity", "merge", "bob", "robert").code == 0
    merged = json.loads(cli("entity", "show", "robert", "--json").out)
    assert (merged["name"], merged["mentions"], len(merged["memories"])) == ("bob", 2, 2)
    assert cli("undo").code == 0
    assert json.loads(cli("entity", "show", "robert", "--json").out)["name"] == "robert"
    assert cli("entity", "rename", "robert", "Robert Smith").code == 0
    assert json.loads(cli("entity", "show", "robert", "--json").out)["name"] == "Robert Smith"
    cli("entity", "merge", "bob", "robert")
    assert cli("entity", "split", "bob", "Robert Smith", "robert").code == 0
    assert json.loads(cli("entity", "show", "Robert Smith", "--json").out)["mentions"] == 1


def test_entities_that_may_be_one_are_suggested_with_a_reason(cli, hf):
    assert "No two entities look the same." in cli("entity", "duplicates").out
    hf.remember("My friend Melanie paints")
    hf.remember("My friend Mel moved to Leeds")
    (found,) = json.loads(cli("entity", "duplicates", "--json").out)
    assert (found["keep"]["name"], found["other"]["name"]) == ("Melanie", "Mel")
    assert found["reason"] == "Mel is short for Melanie"
    assert "Mel is short for Melanie" in cli("entity", "duplicates").out


def test_an_entity_that_nobody_mentions_is_not_found(cli, hf):
    hf.remember("@joanna came")
    done = cli("entity", "show", "ann")
    assert done.code == 1
    assert "Nothing here mentions 'ann'" in done.err


def test_maintain_once_does_what_is_due(cli, hf):
    hf.capture("s1", "user", "I love green tea.")
    hf.sessions.end("s1")
    assert cli("worker", "once", "consolidate", "--scope", "user:ann").out.startswith(
        "Done: learn s1"
    )
    assert "tea" in cli("list", "--kind", "fact").out
    assert cli("worker", "once", "consolidate", "--scope", "user:ann").out == "Nothing is due.\n"
    assert cli("worker", "once", "sleep").code == 2


def test_maintain_shows_what_is_due_and_what_it_would_cost_first(cli, hf, monkeypatch):
    hf.capture("s1", "user", "I love green tea.")
    hf.sessions.end("s1")
    planned = cli("worker", "plan", "consolidate", "--scope", "user:ann").out
    assert "s1" in planned and planned.endswith("No language model would be asked.\n")
    monkeypatch.setenv("HOLDFAST_MODEL", "openai:some-model")
    told = cli("worker", "plan", "consolidate", "--scope", "user:ann").out
    assert "The language model would be asked once, about " in told
    (told,) = [
        one
        for one in json.loads(cli("worker", "plan", "--scope", "user:ann", "--json").out)
        if one["task"] == "consolidate"
    ]
    assert (told["scope"], told["key"], told["calls"]) == ("user:ann", "s1", 1)
    assert hf.store.sessions.unread(hf.scopes), "nothing was done"
    assert cli("worker", "plan", "sleep").code == 2


def test_what_is_due_is_told_in_words_under_headings(cli, hf):
    hf.capture("s1", "user", "I love green tea.")
    hf.sessions.end("s1")
    assert cli("worker", "plan", "--scope", "user:ann").out.splitlines() == [
        "task\tscope\tlanguage model\ttext",
        (
            "enrich\tuser:ann\tnot asked\tLook again for people, places and projects in "
            "memories that name few."
        ),
        "consolidate\tuser:ann\tnot asked\tExtract memories from session s1.",
        "No language model would be asked.",
    ]


def test_every_task_of_maintenance_can_be_told_in_words():
    from holdfast.cli.commands.worker import WHAT_IS_DONE
    from holdfast.maintenance.job_runner import TASKS

    assert {*WHAT_IS_DONE, "consolidate"} == {*TASKS}


def test_plots_follow_the_weeks_and_the_confidence_that_is_left(hf, clock, capsys):
    hf.remember("Too old for the plot")
    clock.forward(days=200)
    hf.remember("Likes tea", decay_rate=0.1)
    clock.forward(days=8)
    hf.remember("Likes cake")
    memories, now = hf.list(), hf.clock()
    assert new_per_week(memories, now) == [0] * 24 + [1, 1]
    left = confidence(memories, now)
    assert left["0.8 to 1.0"] == 2 and left["0.4 to 0.6"] == 1
    show_plots(hf, hf.stats()["memories"])
    assert "1 memory fades within 30 days" in capsys.readouterr().out


def test_a_progress_bar_estimates_the_time_that_is_left(monkeypatch):
    now = iter(range(100))
    with output.progress("importing", 20) as bar:
        monkeypatch.setattr(bar, "get_time", lambda: float(next(now)))
        bar.reset(bar.tasks[0].id)
        for _ in range(10):
            output.advance(bar, 1)  # one a second, or what the clock says
        rendered = io.StringIO()
        Console(file=rendered, width=120).print(bar.make_tasks_table(bar.tasks))
    assert "10/20" in rendered.getvalue() and "left 0:00:1" in rendered.getvalue()


def test_stats_say_what_the_model_was_asked_today(cli, hf):
    assert "tokens" not in cli("stats").out
    hf.store.spend.add(hf.scopes[0], system_clock() // DAY, Spent(2, 1500))
    assert "asked 2 times today, 1,500 of 3,000,000 tokens" in cli("stats").out


@pytest.mark.parametrize(
    "words",
    [
        ["remember", "My sister Ines lives in Lisbon"],
        ["capture", "--session", "s1", "My sister Ines lives in Lisbon"],
    ],
    ids=["remember", "capture"],
)
def test_who_is_mentioned_is_known_as_soon_as_it_is_said(cli, words):
    assert cli("entity", "list").out == "Nobody is mentioned yet.\n"
    assert cli(*words).code == 0
    listed = [line.split("\t")[1:4] for line in cli("entity", "list").out.splitlines()]
    assert listed == [["person", "1", "Ines"], ["location", "1", "Lisbon"]]
    assert "Lisbon" in cli("entity", "show", "ines").out


def test_what_an_assistant_names_waits_for_the_second_look(cli):
    cli(
        "capture",
        "--session",
        "s1",
        "--role",
        "assistant",
        "Maria and John wrote good books on that",
    )
    assert cli("entity", "list").out == "Nobody is mentioned yet.\n"
    assert cli("worker", "once", "enrich").code == 0
    assert {"Maria", "John"} <= {*cli("entity", "list").out.split()}
