"""The session and the memory for the OpenAI Agents SDK, in real runs with the SDK's own scripted
model.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from threading import Event

import apsw
import pytest
from agents import (
    Agent,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    function_tool,
    set_tracing_disabled,
)
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message, function_call
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import InvalidInput, MissingExtra, ModelFailed, StoreBusy, StoreClosed
from holdfast.integrations.openai_agents import HoldfastMemory, HoldfastSession, cut
from patience import PATIENCE

BOAT = "Ann's boat is called Heron"
ASKED = "What is my boat called?"
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(autouse=True)
def _untraced():
    set_tracing_disabled(True)


def said(text, role="user"):
    return {"role": role, "content": text}


def call(number):
    return {"type": "function_call", "call_id": f"c{number}", "name": "sail", "arguments": "{}"}


def output(number):
    return {"type": "function_call_output", "call_id": f"c{number}", "output": "done"}


THOUGHT = {"type": "reasoning", "id": "r1", "summary": []}


# The session


def items_of(session, limit=None):
    return asyncio.run(session.get_items(limit))


def add(session, *items):
    asyncio.run(session.add_items(list(items)))


def pop(session):
    return asyncio.run(session.pop_item())


def texts(session, limit=None):
    return [item["content"] for item in items_of(session, limit)]


# A NUL becomes U+FFFD.
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
STEPS = st.lists(
    st.one_of(
        st.lists(WORDS, max_size=4).map(
            lambda texts: ("add", [said(f"-{text}") for text in texts])
        ),
        st.tuples(st.just("pop"), st.just(None)),
        st.tuples(st.just("get"), st.none() | st.integers(0, 9)),
        st.tuples(st.just("clear"), st.just(None)),
    ),
    max_size=20,
)


@given(STEPS)
def test_it_does_what_the_session_of_the_sdk_does(steps):
    settings = Settings(embedding_models="none")
    theirs = SQLiteSession("s1")
    with Holdfast.open(":memory:", scope="user:ann", settings=settings, background=False) as hf:
        ours = HoldfastSession(hf, "s1")
        assert isinstance(ours, Session)
        for verb, value in steps:
            assert asyncio.run(_done(ours, verb, value)) == asyncio.run(_done(theirs, verb, value))
        assert hf.admin.check() == []
    theirs.close()


async def _done(session, verb, value):
    match verb:
        case "add":
            return await session.add_items(value)
        case "pop":
            return await session.pop_item()
        case "clear":
            return await session.clear_session()
    return await session.get_items(value)


@st.composite
def histories(draw):
    """Turns in which models think, call tools, several at once too, and answer; each item is
    another.
    """
    items = []
    for turn in range(draw(st.integers(1, 5))):
        calls = range(turn * 3, turn * 3 + draw(st.integers(0, 3)))
        thoughts = [
            [{**THOUGHT, "id": f"r{turn}{step}"}] if draw(st.booleans()) else []
            for step in range(2)
        ]
        items += [said(f"go {turn}"), *thoughts[0], *map(call, calls), *map(output, calls)]
        items += [*thoughts[1], said(f"went {turn}", "assistant")]
    return items


@given(histories(), st.integers(0, 40))
def test_a_cut_leaves_nothing_that_leans_on_what_is_gone(items, most):
    kept, window = cut(items, most), items[max(len(items) - most, 0) :]
    assert kept == [item for item in window if item in kept], "the latest, in order"
    for item in kept:
        before = items[items.index(item) - 1]
        if item.get("type") == "function_call_output":
            assert call(item["call_id"][1:]) in kept
        elif item.get("role") != "user" and before.get("type") in ("reasoning", "function_call"):
            assert before in kept or not _thought_before(items, item), (
                "no words without the reasoning behind them"
            )
    whole = [item for item in window if item.get("role") == "user"]
    assert [item for item in kept if item.get("role") == "user"] == whole, (
        "what stands by itself is never left out"
    )


def _thought_before(items, item):
    """Whether a model reasoned before it said this, in one breath."""
    before = items[: items.index(item)]
    while before and before[-1].get("type") == "function_call":
        before.pop()
    return bool(before) and before[-1].get("type") == "reasoning"


def test_of_calls_side_by_side_only_whole_ones_stay(hf):
    session = HoldfastSession(hf, "s1")
    add(session, said("go"), call(1), call(2), output(1), output(2), said("gone", "assistant"))
    assert items_of(session, 4) == [call(2), output(2), said("gone", "assistant")]
    assert items_of(session, 2) == [said("gone", "assistant")]


def test_it_is_there_after_a_restart_and_in_an_export(hf, open_memory, tmp_path):
    session = HoldfastSession(hf, "s1")
    add(session, said("one"), said("two"), said("three"))
    pop(session)
    assert texts(HoldfastSession(open_memory("user:ann"), "s1")) == ["one", "two"]
    other = open_memory("user:ann", path=tmp_path / "other.db")
    other.admin.import_(list(hf.admin.export()))
    assert texts(HoldfastSession(other, "s1")) == ["one", "two"]


def test_a_server_keeps_it_as_a_file_does(postgres_store_url):
    settings = Settings(embedding_models="none")
    with Holdfast.open(
        postgres_store_url, scope="user:ann", settings=settings, background=False
    ) as hf:
        session = HoldfastSession(hf, "s1")
        add(session, said("one"), said("two"), said("three"))
        assert [pop(session), pop(session)] == [said("three"), said("two")]
        add(session, said("four"))
        assert texts(HoldfastSession(hf, "s1")) == ["one", "four"]
        asyncio.run(session.clear_session())
        assert items_of(session) == []


def test_of_two_who_pop_each_has_an_item_of_its_own(hf, open_memory):
    sessions = [HoldfastSession(hf, "s1"), HoldfastSession(open_memory("user:ann"), "s1")]
    add(sessions[0], *(said(str(number)) for number in range(20)))

    async def both():
        return await asyncio.gather(*(sessions[number % 2].pop_item() for number in range(24)))

    popped = [item["content"] for item in asyncio.run(both()) if item]
    assert sorted(map(int, popped)) == list(range(20))
    assert items_of(sessions[0]) == []


def test_many_pops_do_not_hide_what_is_further_back(hf):
    session = HoldfastSession(hf, "s1")
    add(session, said("one"), said("two"))
    for number in range(60):
        add(session, said(str(number)))
        pop(session)
    assert texts(session, 2) == ["one", "two"]


def test_what_a_busy_store_cannot_take_is_held_and_written_later(busy, hf, open_memory, caplog):
    session = HoldfastSession(hf, "s1")
    add(session, said("one"), said("two"))
    with busy():
        add(session, said("three"))
        assert pop(session) == said("three")
        assert pop(session) == said("two")
        add(session, said("four"))
        assert texts(session) == ["one", "four"]
        assert texts(session, 1) == ["four"]
    assert "buffered, not stored" in caplog.text
    again = HoldfastSession(open_memory("user:ann"), "s1")
    assert texts(again) == ["one", "two"]
    add(session, said("five"))
    assert texts(session) == texts(again) == ["one", "four", "five"]


def test_a_pop_that_was_held_is_not_lost_when_there_is_nothing_more_to_pop(busy, hf, open_memory):
    session = HoldfastSession(hf, "s1")
    add(session, said("one"))
    with busy():
        pop(session)
    assert pop(session) is None
    assert items_of(HoldfastSession(open_memory("user:ann"), "s1")) == []


def test_what_cannot_be_written_is_refused_at_once_and_not_held(busy, hf):
    session = HoldfastSession(hf, "s1")
    with busy():
        add(session, said("one"))
        with pytest.raises(InvalidInput, match="cannot be written as JSON"):
            add(session, said(object()))
    add(session, said("two"))
    assert texts(session) == ["one", "two"]


@pytest.mark.parametrize("verb", [lambda session: add(session, said("two")), pop, items_of])
def test_a_closed_memory_holds_nothing_for_later_and_says_so(hf, verb):
    session = HoldfastSession(hf, "s1")
    add(session, said("one"))
    hf.close()
    with pytest.raises(StoreClosed):
        verb(session)


def damage(tmp_path, position, body):
    other = apsw.Connection(str(tmp_path / "memory.db"))
    other.execute("UPDATE messages SET body = CAST(? AS TEXT) WHERE position = ?", (body, position))
    other.close()


@pytest.mark.parametrize("position", [0, 2])
@pytest.mark.parametrize("body", [b"{no JSON", b'{"role": "user", "content": "th\xffree"}'])
def test_a_message_that_is_damaged_is_left_out_of_what_is_read_and_popped(
    hf, tmp_path, position, body
):
    session = HoldfastSession(hf, "s1")
    add(session, said("one"), said("two"), said("three"))
    damage(tmp_path, position, body)
    left = [text for number, text in enumerate(("one", "two", "three")) if number != position]
    assert texts(session) == texts(session, 2) == left
    assert [pop(session), pop(session), pop(session)] == [said(left[1]), said(left[0]), None]
    assert items_of(session) == []


def test_damaged_messages_do_not_hide_what_is_further_back(hf, tmp_path):
    session = HoldfastSession(hf, "s1")
    add(session, *(said(str(number)) for number in range(60)))
    for position in range(5, 60):
        damage(tmp_path, position, b"{no JSON")
    assert texts(session, 2) == ["3", "4"]


def test_a_change_that_is_cancelled_has_ended_before_its_caller_hears_of_it(hf, monkeypatch):
    session, begun, go_on, clock = HoldfastSession(hf, "s1"), Event(), Event(), hf.clock

    def waiting():
        begun.set()
        go_on.wait(PATIENCE)
        return clock()

    monkeypatch.setattr(hf, "clock", waiting)

    async def cancel_while_it_is_written():
        adding = asyncio.create_task(session.add_items([said("one")]))
        await asyncio.to_thread(begun.wait, 60)
        for _ in range(2):  # whoever insists waits as well
            adding.cancel()
            await asyncio.wait([adding], timeout=0)
        early = adding.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        return early, [message.body for message in hf.sessions.messages("s1")]

    assert asyncio.run(cancel_while_it_is_written()) == (False, [said("one")])


def test_clearing_erases_or_says_that_it_could_not(busy, hf):
    session = HoldfastSession(hf, "s1")
    asyncio.run(session.clear_session())
    add(session, said("one"))
    with busy(), pytest.raises(StoreBusy):
        asyncio.run(session.clear_session())
    assert texts(session) == ["one"]
    asyncio.run(session.clear_session())
    assert items_of(session) == []
    assert not any("one" in line for line in hf.admin.export())


def test_secrets_are_redacted_in_what_was_said_and_nowhere_else(hf):
    session = HoldfastSession(hf, "s1")
    arguments = json.dumps({"token": KEY, "to": "Oslo"})
    add(
        session,
        said(f"my key is {KEY}"),
        {"role": "user", "content": [{"type": "input_text", "text": f"again: {KEY}"}]},
        {"type": "reasoning", "id": KEY, "summary": [], "encrypted_content": KEY},
        {**call(1), "arguments": arguments, "call_id": KEY},
        {"type": "function_call_output", "call_id": KEY, "output": f"used {KEY}"},
        {"type": "shell_call", "call_id": "c2", "action": {"commands": [f"login {KEY}"]}},
    )
    first, second, thought, called, answer, shell = items_of(session)
    assert KEY not in str([first, second, called["arguments"], answer["output"], shell])
    assert (
        thought["id"]
        == thought["encrypted_content"]
        == called["call_id"]
        == answer["call_id"]
        == KEY
    )
    assert json.loads(called["arguments"])["to"] == "Oslo"


@pytest.mark.parametrize(
    "arguments", ["", "{", '{"x": NaN}', "[" * 100_000, '{"a": 1, "a": 2}', "5"]
)
def test_arguments_that_are_odd_come_back_as_they_were(hf, arguments):
    session = HoldfastSession(hf, "s1")
    add(session, {**call(1), "arguments": arguments})
    assert items_of(session)[0]["arguments"] == arguments


@pytest.mark.parametrize(
    "given", [None, {}, {"limit": 2}, {"limit": "3"}, SessionSettings(limit=1), SessionSettings()]
)
def test_settings_are_what_the_sdk_makes_of_them(hf, given):
    ours = HoldfastSession(hf, "s1", session_settings=given).session_settings
    assert ours == SQLiteSession("s1", session_settings=given).session_settings


@pytest.mark.parametrize(
    "given", [{"limit": "many"}, {"limit": 1.5}, {"most": 2}, 5, "", [], {"limit": [1]}]
)
def test_settings_that_the_sdk_refuses_are_refused_alike(hf, given):
    with pytest.raises(Exception) as expected:
        SQLiteSession("s1", session_settings=given)
    with pytest.raises(type(expected.value)) as refused:
        HoldfastSession(hf, "s1", session_settings=given)
    assert str(refused.value) == str(expected.value)


def test_settings_as_a_dictionary_limit_a_session(hf):
    session = HoldfastSession(hf, "s1", session_settings={"limit": 1})
    asyncio.run(
        session.add_items([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}])
    )
    assert texts(session) == ["two"]


def test_the_settings_of_a_session_limit_it(hf):
    session = HoldfastSession(hf, "s1", session_settings=SessionSettings(limit=1))
    add(session, said("one"), said("two"))
    assert texts(session) == ["two"]
    assert texts(session, 2) == ["one", "two"]


def test_sessions_and_owners_are_kept_apart(hf, open_memory):
    add(HoldfastSession(hf, "s1"), said("one"))
    assert items_of(HoldfastSession(hf, "s2")) == []
    assert items_of(HoldfastSession(open_memory("user:bob"), "s1")) == []
    with pytest.raises(InvalidInput):
        HoldfastSession(hf, "")


# The memory


def run(hf, *steps, prompt=ASKED, session="s1", memory=None, history=None, **options):
    """One run of an agent with memory; what the model was shown comes back, call by call."""
    model = ScriptedModel(steps or [[assistant_message("Aye.")]])
    memory = memory or HoldfastMemory(hf, session=session)
    agent = Agent(
        name="Helper", instructions="You help.", model=model, tools=memory.tools, **options
    )
    config = RunConfig(call_model_input_filter=memory.before_model)
    asyncio.run(Runner.run(agent, prompt, session=history, hooks=memory, run_config=config))
    model.assert_complete()
    return model.calls


def calling(name, **arguments):
    return [function_call(name, arguments, call_id="c1")]


def told(hf, prompt=ASKED, session="s9"):
    """All that a model is shown for a prompt in another session."""
    (shown,) = run(hf, prompt=prompt, session=session)
    return "\n".join([shown.system_instructions, *(item["content"] for item in shown.input)])


def answered(calls):
    """What the tool said that the model called before its last words."""
    return json.loads(calls[-1].input[-1]["output"])


def kept(hf):
    return [(turn.role, turn.content) for turn in reversed(hf.list(kinds=["turn"]))]


DONE = [assistant_message("Done.")]


def test_what_is_said_in_one_run_is_known_in_the_next_process(hf, next_process):
    run(
        hf,
        calling("remember_fact", content=BOAT),
        DONE,
        prompt="My boat is called Heron. Its engine is a Volvo.",
    )
    shown = next_process(
        "import asyncio, sys\n"
        "from agents import Agent, RunConfig, Runner, set_tracing_disabled\n"
        "from agents.testing import ScriptedModel, assistant_message\n"
        "from holdfast import Holdfast, Settings\n"
        "from holdfast.integrations.openai_agents import HoldfastMemory\n"
        "set_tracing_disabled(True)\n"
        "model = ScriptedModel([[assistant_message('Heron')]])\n"
        "settings = Settings(embedding_models='none')\n"
        "with Holdfast.open(sys.argv[1], scope='user:ann', settings=settings, background=False) "
        "as hf:\n"
        "    memory = HoldfastMemory(hf, session='s2')\n"
        "    config = RunConfig(call_model_input_filter=memory.before_model)\n"
        "    prompt = 'Which engine does my boat have, and what is it called?'\n"
        "    asyncio.run(Runner.run(Agent(name='H', model=model), prompt, hooks=memory, "
        "run_config=config))\n"
        "print(model.last_call.input[0]['content'])\n"
    )
    assert shown.startswith("<holdfast-memory ")
    assert BOAT in shown
    assert "Its engine is a Volvo." in shown


def test_instructions_are_the_same_bytes_for_a_whole_session(hf, clock):
    hf.remember("Answer in one sentence", kind="rule")
    clock.forward(seconds=1)
    shown = [*run(hf, prompt="Good morning")]
    clock.forward(seconds=1)
    hf.remember("Answer in Norwegian", kind="rule")
    shown += run(hf, prompt="Where were we?")
    (instructions,) = {one.system_instructions for one in shown}
    assert instructions.startswith("You help.\n\n<holdfast-memory ")
    assert "Answer in one sentence" in instructions
    assert "Answer in Norwegian" in told(hf)


def test_what_helps_stands_before_the_prompt_once_and_in_no_history(hf):
    hf.remember(BOAT)
    history, memory = HoldfastSession(hf, "s1"), HoldfastMemory(hf, session="s1")
    first = run(hf, calling("memory_stats"), DONE, memory=memory, history=history)
    (second,) = run(hf, prompt="And what colour is the boat?", memory=memory, history=history)
    blocks = [
        [item for item in one.input if "<holdfast-memory" in str(item)] for one in (*first, second)
    ]
    assert [len(found) for found in blocks] == [1, 1, 1]
    assert blocks[0] == blocks[1], "the steps of one run see the same"
    assert first[0].input == [blocks[0][0], said(ASKED)]
    assert second.input[-2:] == [blocks[2][0], said("And what colour is the boat?")]
    assert "holdfast-memory" not in str(items_of(history))
    assert [item.get("type", "message") for item in items_of(history)] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
        "message",
        "message",
    ]


def test_both_sides_are_kept_once_through_steps_and_handoffs(hf):
    memory = HoldfastMemory(hf, session="s1")
    expert = Agent(
        name="Expert", model=ScriptedModel([[assistant_message("It floats.")]]), tools=memory.tools
    )
    run(
        hf,
        calling("memory_stats"),
        [function_call("transfer_to_expert", {}, call_id="c2")],
        prompt="Does it float?",
        memory=memory,
        handoffs=[expert],
    )
    assert kept(hf) == [("user", "Does it float?"), ("assistant", "It floats.")]


def test_both_sides_are_kept_when_the_answer_is_streamed(hf):
    async def streamed():
        memory = HoldfastMemory(hf, session="s1")
        agent = Agent(name="Helper", model=ScriptedModel([[assistant_message("It floats.")]]))
        config = RunConfig(call_model_input_filter=memory.before_model)
        result = Runner.run_streamed(agent, "Does it float?", hooks=memory, run_config=config)
        assert [event async for event in result.stream_events()]

    asyncio.run(streamed())
    assert kept(hf) == [("user", "Does it float?"), ("assistant", "It floats.")]


def test_a_prompt_that_is_tried_again_is_kept_once_and_one_that_is_repeated_twice(hf):
    memory = HoldfastMemory(hf, session="s1")
    with pytest.raises(ModelFailed):
        run(hf, ModelFailed("away"), prompt="Does it float?", memory=memory)
    run(hf, prompt="Does it float?", memory=memory)
    run(hf, prompt="Does it float?", memory=memory)
    assert kept(hf) == [("user", "Does it float?"), ("assistant", "Aye.")] * 2


def test_an_answer_that_is_no_text_is_kept_as_json(hf):
    class Boat(BaseModel):
        name: str

    run(hf, [assistant_message('{"name": "Heron"}')], prompt="Make a boat", output_type=Boat)
    assert kept(hf) == [("user", "Make a boat"), ("assistant", '{"name":"Heron"}')]


def test_of_a_prompt_with_a_picture_the_words_are_kept(hf):
    picture = {"type": "input_image", "image_url": "https://example.com/boat.png", "detail": "auto"}
    words = [{"type": "input_text", "text": text} for text in ("Look at my boat", "It is new")]
    run(hf, prompt=[said([words[0], picture, words[1]])])
    assert kept(hf)[0] == ("user", "Look at my boat\nIt is new")


def test_what_the_agent_does_is_journalled_as_its_own(hf):
    run(hf, calling("remember_fact", content=BOAT), DONE)
    assert {event.actor for event in hf.admin.log(limit=None)} == {"agent:openai-agents"}
    assert hf.list(kinds=["fact"])[0].content == BOAT


def test_an_agent_cannot_approve(hf):
    proposed = hf.reviews.propose(BOAT)
    assert (
        answered(run(hf, calling("confirm_fact", memory_id=proposed.id), DONE))["success"] is False
    )
    assert hf.get(proposed.id).status == "proposed"


def test_other_tools_work_beside_those_of_memory(hf):
    @function_tool
    def sail() -> str:
        return "sailed"

    memory = HoldfastMemory(hf, session="s1")
    memory.tools.append(sail)
    calls = run(hf, calling("sail"), DONE, memory=memory)
    assert calls[-1].input[-1]["output"] == "sailed"


def test_two_owners_share_nothing(hf, open_memory):
    run(hf, calling("remember_fact", content=BOAT), DONE, prompt="My boat is called Heron")
    bob = open_memory("user:bob")
    assert "Heron" not in told(bob)
    assert "Heron" in told(hf)
    found = answered(run(bob, calling("search_memory", query="boat Heron"), DONE))
    assert "Heron" not in str(found["memories"])


def test_words_find_it_while_the_embedder_is_down(hf, fake):
    hf.remember(BOAT)
    fake.fault = "down"
    assert BOAT in told(hf)


def test_a_busy_store_does_not_stop_the_agent(busy, hf, caplog):
    hf.remember(BOAT)
    history, memory = HoldfastSession(hf, "s1"), HoldfastMemory(hf, session="s1")
    with busy():
        calls = run(
            hf, calling("remember_fact", content="Ann sails"), DONE, memory=memory, history=history
        )
    assert BOAT in calls[0].input[0]["content"], "reading goes on"
    assert answered(calls)["success"] is False
    assert "try again" in answered(calls)["message"]
    assert "a turn was not captured" in caplog.text
    run(hf, prompt="Better now?", memory=memory, history=history)
    assert kept(hf) == [("user", "Better now?"), ("assistant", "Aye.")]
    assert [item["content"] for item in items_of(history) if item.get("role") == "user"] == [
        ASKED,
        "Better now?",
    ]


def test_without_a_memory_the_agent_answers_without_it(hf, caplog):
    memory = HoldfastMemory(hf, session="s1")
    hf.close()
    assert len(run(hf, memory=memory)) == 1
    assert "recall failed" in caplog.text


def test_what_is_forgotten_is_gone_and_undo_brings_it_back(hf):
    boat = hf.remember(BOAT)
    assert BOAT in told(hf)
    hf.forget(boat.id)
    forgetting = hf.last_run
    assert BOAT not in told(hf)
    hf.undo(forgetting)
    assert BOAT in told(hf)


def test_what_is_forgotten_before_another_try_is_gone_from_it(hf):
    boat, memory = hf.remember(BOAT), HoldfastMemory(hf, session="s1")
    with pytest.raises(ModelFailed):
        run(hf, ModelFailed("away"), memory=memory)
    hf.forget(boat.id)
    (shown,) = run(hf, memory=memory)
    assert shown.input == [said(ASKED)]


def test_a_missing_framework_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "holdfast.integrations.openai_agents")
    monkeypatch.setitem(sys.modules, "agents", None)
    with pytest.raises(MissingExtra, match=r"holdfast-memory\[openai-agents\]"):
        importlib.import_module("holdfast.integrations.openai_agents")
