"""Memory for DSPy, in real programs with DSPy's dummy model."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("dspy", reason="DSPy is not installed: make integrations")

import dspy
from dspy.utils import DummyLM

from holdfast.errors import InvalidInput
from holdfast.integrations.dspy import HoldfastMemory, HoldfastRetriever, memory_tools

BOAT = "My boat is called Heron, and she leaks."
ASKED = "What was wrong with the boat?"
SIGNATURE = "memory, question -> answer"


def answers(*lines):
    return DummyLM([{"answer": line} for line in lines] or [{"answer": "Aye."}] * 20)


def ask(hf, question, session=None, lm=None, program=None, **options):
    lm = lm or answers()
    memory = HoldfastMemory(program or dspy.Predict(SIGNATURE), hf, session=session, **options)
    with dspy.context(lm=lm):
        return memory(question=question)


def shown(lm):
    return lm.history[-1]["messages"][-1]["content"]


def kept(hf):
    return [(turn.role, turn.content) for turn in reversed(hf.list(kinds=["turn"]))]


# A program


def test_what_is_said_in_one_session_is_known_in_the_next(hf):
    hf.remember("Answer in one sentence", kind="rule")
    ask(hf, BOAT, "monday", answers("Noted."))
    lm = answers("She leaks.")
    assert ask(hf, ASKED, "tuesday", lm).answer == "She leaks."
    assert f"- (user, 2026-03-18) {BOAT}" in shown(lm)
    assert "Answer in one sentence" in shown(lm)
    said = [BOAT, "Noted.", ASKED, "She leaks."]
    assert kept(hf) == list(zip(["user", "assistant"] * 2, said, strict=True))


def test_two_users_are_isolated(hf):
    ask(hf, BOAT, "monday")
    lm = answers("No.")
    bob = hf.scoped("user:bob")
    ask(bob, ASKED, "monday", lm)
    assert "Heron" not in shown(lm)
    assert kept(bob) == [("user", ASKED), ("assistant", "No.")]


def test_without_a_session_nothing_is_captured(hf):
    hf.remember(BOAT)
    lm = answers("She leaks.")
    ask(hf, ASKED, None, lm)
    assert BOAT in shown(lm)
    assert kept(hf) == []


def test_the_fields_may_have_other_names(hf):
    program = dspy.Predict("memory, task -> plan: list[str]")
    memory = HoldfastMemory(program, hf, session="s1", prompt="task", answer="plan")
    with dspy.context(lm=DummyLM([{"plan": '["Segeln 🚤"]'}])):
        memory(task="Was tun?")
    assert kept(hf) == [("user", "Was tun?"), ("assistant", '["Segeln 🚤"]')]
    with pytest.raises(InvalidInput, match="without 'task'"):
        memory(question="Was tun?")


def test_an_answer_that_is_missing_is_not_kept(hf):
    memory = HoldfastMemory(dspy.Predict("memory, question -> verdict"), hf, session="s1")
    with dspy.context(lm=DummyLM([{"verdict": "yes"}])):
        memory(question=ASKED)
    assert kept(hf) == [("user", ASKED)]


def test_an_agent_stores_in_one_session_and_finds_in_another(hf):
    def agent(*steps):
        tools = memory_tools(hf)
        lm = DummyLM(
            [
                *(
                    {"next_thought": "Hm.", "next_tool_name": name, "next_tool_args": arguments}
                    for name, arguments in (*steps, ("finish", "{}"))
                ),
                {"reasoning": "Well.", "answer": "Done."},
            ]
        )
        return dspy.ReAct(SIGNATURE, tools=tools), lm

    program, lm = agent(("remember_fact", '{"content": "Анна пьёт улун"}'))
    ask(hf, "Remember what Anna drinks.", "monday", lm, program)
    (fact,) = hf.list(kinds=["fact"])
    assert fact.content == "Анна пьёт улун"
    assert {event.actor for event in hf.history(fact.id)} == {"agent:dspy"}
    program, lm = agent(("search_memory", '{"query": "улун", "limit": 1}'))
    found = ask(hf, "What does she drink?", "tuesday", lm, program)
    assert '"content": "Анна пьёт улун"' in found.trajectory["observation_0"]
    assert kept(hf)[-1] == ("assistant", "Done.")


def test_an_awaited_program_remembers_too_and_many_at_once(hf):
    async def all_of_them():
        programs = [HoldfastMemory(dspy.Predict(SIGNATURE), hf, session=f"s{n}") for n in range(8)]
        with dspy.context(lm=answers()):
            await asyncio.gather(
                *(one.acall(question=f"I am s{n}") for n, one in enumerate(programs))
            )

    asyncio.run(all_of_them())
    turns = hf.list(kinds=["turn"])
    assert len(turns) == 16
    assert all(turn.content in (f"I am {turn.session}", "Aye.") for turn in turns)


def test_a_program_with_memory_is_optimized_and_saved_like_any_other(hf, tmp_path):
    hf.remember(BOAT)
    memory = HoldfastMemory(dspy.Predict(SIGNATURE), hf)
    student = memory.deepcopy()
    assert [name for name, _ in student.named_predictors()] == ["program"]
    trainset = [dspy.Example(question=ASKED, answer="She leaks.").with_inputs("question")]
    optimizer = dspy.BootstrapFewShot(metric=lambda example, got, trace=None: True)
    with dspy.context(lm=answers()):
        better = optimizer.compile(student, trainset=trainset)
    (demo,) = better.program.demos
    assert BOAT in demo["memory"]
    better.save(str(tmp_path / "program.json"))
    memory.load(str(tmp_path / "program.json"))
    assert len(memory.program.demos) == 1


def test_a_program_answers_when_the_store_is_gone(hf, caplog):
    hf.close()
    assert ask(hf, ASKED, "s1", answers("Still here.")).answer == "Still here."
    for what in ("a turn was not captured", "recall failed for this prompt"):
        assert what in caplog.text


def test_a_session_needs_a_name(hf):
    with pytest.raises(InvalidInput, match="session id"):
        HoldfastMemory(dspy.Predict(SIGNATURE), hf, session="")


# The retriever


def test_a_retriever_returns_passages_with_their_ids_and_scores(hf):
    stored = hf.remember("The boat is called Heron", tags=["boat"])
    hf.remember_many([f"Boat number {number}" for number in range(5)])
    retriever = HoldfastRetriever(hf)
    assert len(retriever("boat")) == 3
    assert len(retriever("boat", k=2)) == 2
    (one,) = retriever("boat", tags=["boat"])
    assert (one.long_text, one.id, one.kind) == ("The boat is called Heron", stored.id, "fact")
    assert 0 < one.score <= 1
    with pytest.raises(InvalidInput, match="limit"):
        retriever("boat", k=-1)


def test_it_is_the_retriever_of_every_program(hf):
    hf.remember(BOAT)
    with dspy.context(rm=HoldfastRetriever(hf)):
        assert dspy.Retrieve(k=1)(ASKED).passages == [BOAT]


def test_an_empty_memory_and_a_broken_one_find_nothing(hf, caplog):
    retriever = HoldfastRetriever(hf)
    assert retriever("boat") == []
    hf.close()
    assert retriever("boat") == []
    assert "recall failed for this question" in caplog.text


def test_a_retriever_is_saved_with_its_number(hf):
    retriever = HoldfastRetriever(hf, k=7)
    again = HoldfastRetriever(hf)
    again.load_state(retriever.dump_state())
    assert again.k == 7


def test_a_path_is_no_open_memory():
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastMemory(dspy.Predict(SIGNATURE), "memory.db")
    with pytest.raises(InvalidInput, match="takes an open memory"):
        HoldfastRetriever("memory.db")
    with pytest.raises(InvalidInput, match="takes an open memory"):
        memory_tools("memory.db")
