"""Sessions that a model reads: one call for facts and summary, refusals leave them unread, and what
was found survives a summary that failed.
"""

from __future__ import annotations

import json

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from holdfast.errors import CapReached, ModelFailed
from holdfast.extraction.job_types import Worker
from holdfast.maintenance.job_runner import drain
from holdfast.models.llm.chat import completing
from holdfast.text.token_count import count_tokens

REFUSAL = "I'm sorry, but I can't help with that."
ARC = {"summary": "The user moved to Lisbon and works at a bakery.", "primary_themes": ["moving"]}
SAID = (
    "I moved to Lisbon in May.",
    "I work at a bakery near the river.",
    "My sister Ines visits me on Sundays.",
)
FACTS = [
    {"turn": 2, "quote": SAID[1], "content": "The user works at a bakery near the river."},
]


class Script:
    """A model that gives these answers one after the other, the last one again and again; an error
    is raised.
    """

    def __init__(self, *answers):
        self.answers, self.prompts = list(answers), []
        self._complete = completing(FunctionModel(self._respond))

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return self._complete(prompt)

    def _respond(self, messages, info):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return ModelResponse(parts=[TextPart(text)])


@pytest.fixture
def hf(open_with):
    return open_with()


def talk(hf, *texts, session="s1", ends=True):
    for text in texts or SAID:
        hf.clock.forward(seconds=1)
        hf.capture(session, "user", text)
    hf.clock.forward(seconds=1)
    if ends:
        hf.sessions.end(session)


def facts(hf):
    return [one.content for one in hf.list(kinds=["fact"])]


def arcs(hf):
    return [one.content for one in hf.list(kinds=["episode"])]


def unread(hf):
    return [one.id for one in hf.store.sessions.unread(hf.scopes)]


def test_facts_and_summary_come_in_one_call(hf):
    talk(hf)
    model = Script({"facts": FACTS, "summary": ARC})
    done = hf.sessions.learn("s1", complete=model)
    assert (done.new, done.arcs, len(model.prompts)) == (1, 1, 1)
    assert (facts(hf), arcs(hf)) == ([FACTS[0]["content"]], [ARC["summary"]])
    assert unread(hf) == []


def test_small_talk_gets_facts_and_no_summary(hf):
    talk(hf)
    model = Script({"facts": FACTS, "summary": None})
    assert hf.sessions.learn("s1", complete=model).arcs == 0
    assert (len(model.prompts), unread(hf)) == (1, [])


@pytest.mark.parametrize("first", [FACTS, {"facts": FACTS}, {"facts": FACTS, "summary": "Lisbon"}])
def test_a_model_that_forgot_the_summary_is_asked_for_it(hf, first):
    talk(hf)
    model = Script(first, ARC)
    assert hf.sessions.learn("s1", complete=model).arcs == 1
    assert (len(model.prompts), arcs(hf)) == (2, [ARC["summary"]])


def test_a_session_read_after_each_reply_is_only_summed_up_at_its_end(hf):
    talk(hf, ends=False)
    hf.sessions.extract("s1", complete=Script({"facts": FACTS}))
    hf.sessions.end("s1")
    model = Script(ARC)
    assert hf.sessions.learn("s1", complete=model).arcs == 1
    assert len(model.prompts) == 1 and "a conversation that has ended" in model.prompts[0]


def test_a_refusal_is_asked_again_and_then_leaves_the_session_unread(hf):
    talk(hf)
    model = Script(REFUSAL)
    with pytest.raises(ModelFailed, match="gave no facts"):
        hf.sessions.learn("s1", complete=model)
    assert (len(model.prompts), facts(hf), unread(hf)) == (2, [], ["s1"])
    hf.sessions.learn("s1", complete=Script({"facts": FACTS, "summary": ARC}))
    assert (facts(hf), unread(hf)) == ([FACTS[0]["content"]], [])


def test_so_it_is_after_a_reply_and_the_turns_are_read_the_next_time(hf):
    talk(hf, ends=False)
    assert hf.sessions.extract("s1", complete=Script(REFUSAL)) == []
    assert "gave no facts" in hf.stats()["problems"]["session s1"]
    hf.sessions.extract("s1", complete=Script({"facts": FACTS}))
    assert (facts(hf), hf.stats()["problems"]) == ([FACTS[0]["content"]], {})


@pytest.mark.parametrize("second", [REFUSAL, {"summary": ""}, OSError("no route")])
def test_facts_are_kept_when_the_summary_fails_and_only_the_summary_is_tried_again(hf, second):
    talk(hf)
    with pytest.raises(ModelFailed):
        hf.sessions.learn("s1", complete=Script({"facts": FACTS}, second))
    assert (facts(hf), arcs(hf), unread(hf)) == ([FACTS[0]["content"]], [], ["s1"])
    model = Script(ARC)
    hf.sessions.learn("s1", complete=model)
    assert (len(model.prompts), arcs(hf), unread(hf)) == (1, [ARC["summary"]], [])
    assert facts(hf) == [FACTS[0]["content"]]


def test_a_session_that_fails_does_not_stop_the_others(hf):
    talk(hf, session="s1")
    talk(hf, session="s2")
    model = Script(REFUSAL, REFUSAL, {"facts": FACTS, "summary": ARC})
    with pytest.raises(ModelFailed, match="gave no facts"):
        hf.sessions.learn(complete=model)
    assert (len(unread(hf)), facts(hf), arcs(hf)) == (1, [FACTS[0]["content"]], [ARC["summary"]])


def test_what_is_held_waits_for_the_summary(hf):
    talk(hf)
    held = {**FACTS[0], "action": "commit_at_session_end"}
    with pytest.raises(ModelFailed):
        hf.sessions.learn("s1", complete=Script({"facts": [held]}, REFUSAL))
    assert (facts(hf), len(hf.list(kinds=["fact"], statuses=["held"]))) == ([], 1)
    hf.sessions.learn("s1", complete=Script(ARC))
    assert facts(hf) == [held["content"]]


def test_a_worker_keeps_them_too_and_tries_the_summary_later(hf):
    talk(hf)
    model = Script({"facts": FACTS}, REFUSAL, REFUSAL, ARC)
    worker = Worker(hf.store, hf.tiers, hf.clock, hf.scopes, complete=model)
    drain(worker, kinds=("learn",))
    (job,) = [one for one in hf.store.jobs.list(hf.scopes) if one.kind == "learn"]
    assert (job.status, facts(hf), arcs(hf)) == ("error", [FACTS[0]["content"]], [])
    hf.clock.forward(minutes=5)
    drain(worker, kinds=("learn",))
    assert (len(model.prompts), arcs(hf), unread(hf)) == (4, [ARC["summary"]], [])


def test_the_budget_ends_before_the_summary_and_the_facts_stay(hf, open_with):
    talk(hf)
    model = Script({"facts": FACTS}, ARC)
    tight = open_with(model_tokens_per_day=950)
    with pytest.raises(CapReached):
        tight.sessions.learn("s1", complete=model)
    assert (len(model.prompts), facts(hf), unread(hf)) == (1, [FACTS[0]["content"]], ["s1"])


def test_a_change_that_the_model_names_supersedes_the_known_fact(hf):
    talk(hf, "I live in Madrid with my family.", session="s0", ends=False)
    madrid = {
        "turn": 1,
        "quote": "I live in Madrid with my family",
        "content": "The user lives in Madrid.",
    }
    hf.sessions.extract("s0", complete=Script({"facts": [madrid]}))
    hf.clock.forward(days=30)
    talk(hf, "We moved to Valencia a week ago.", ends=False)
    moved = {
        "turn": 1,
        "quote": "We moved to Valencia a week ago",
        "content": "The user moved to Valencia a week ago.",
        "replaces": 1,
        "confidence": 1.0,
    }
    model = Script({"facts": [moved]})
    hf.sessions.extract("s1", complete=model)
    assert "1. 2026-03-18: The user lives in Madrid." in model.prompts[0]
    (now,) = facts(hf)
    assert now.startswith("The user moved to Valencia a week ago (")
    assert len(model.prompts) == 1, "it has said what changed, so it is not asked to compare"


@pytest.mark.parametrize(
    ("content", "said", "sure"),
    [
        ("The user owns a blue bicycle.", "We moved to Valencia a week ago.", 1.0),
        ("The user lives in Madrid.", "We moved to Valencia a week ago.", 0.6),
    ],
    ids=["another matter", "only hinted at"],
)
def test_what_is_not_certain_supersedes_nothing(hf, content, said, sure):
    old = hf.remember(content)
    hf.clock.forward(days=30)
    talk(hf, said, ends=False)
    moved = {
        "turn": 1,
        "quote": said,
        "content": "The user moved to Valencia a week ago.",
        "replaces": 1,
        "confidence": sure,
    }
    hf.sessions.extract("s1", complete=Script({"facts": [moved]}))
    assert hf.get(old.id).status == "active"
    assert len(facts(hf)) == 2


def test_a_long_conversation_costs_little_more_than_what_the_user_said(hf):
    """12 turns: 430 tokens of the user's, 3,200 of the assistant's."""
    said = "I have been thinking about the garden behind our house in Porto. " * 4 + "What now? "
    for number in range(6):
        hf.capture("s1", "user", f"{said}{number}")
        hf.capture("s1", "assistant", "Happy to help! " + "Plant some tulips in a row. " * 76)
    hf.sessions.end("s1")
    model = Script({"facts": [], "summary": ARC})
    hf.sessions.learn("s1", complete=model)
    assert sum(map(count_tokens, model.prompts)) <= 1_500
