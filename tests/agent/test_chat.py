"""The chat screen: a real agent, a real memory and a real screen that nobody looks at."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import CancelledError
from functools import partialmethod

import pytest
from pydantic_ai.models.function import FunctionModel
from textual import events
from textual.app import App
from textual.widgets import Input, Markdown, Static

from holdfast.agents.agent_runner import RoleAgent
from holdfast.agents.conversation import Conversation
from holdfast.agents.role import load_role
from holdfast.agents.tui import chat
from holdfast.agents.tui import panel as panel_module
from holdfast.agents.tui.chat_app import HELP, NOT_SAVED, ChatApp
from holdfast.agents.tui.panel import MemoryPanel
from holdfast.agents.tui.prompt import Prompt
from holdfast.agents.tui.talk import Exchange, Line, call_line
from holdfast.agents.watcher import Watcher
from holdfast.errors import HoldfastError, InvalidInput, StoreBusy
from patience import PATIENCE

WIDE, NARROW = (120, 40), (70, 30)
TEA = "I like green tea from Uji."


class Desk:
    """Opens conversations with one agent, and lets a person use the screen."""

    def __init__(self, folder):
        self.folder, self._opened = folder, []

    def conversation(self, *, model=None, memory=True, **options):
        spec = {"role": "You help.", "model": {"provider": "offline"}}
        if memory:
            spec["memory"] = {
                "embeddings": {"provider": "none"},
                "store_path": "memory.db",
                **options,
            }
        file = self.folder / "role.yaml"
        file.write_text(
            json.dumps(
                {
                    "apiVersion": "holdfast/v1",
                    "kind": "Agent",
                    "metadata": {"name": "ann"},
                    "spec": spec,
                }
            )
        )
        agent = RoleAgent.open(load_role(file), model=model)
        self._opened.append(agent)
        return Conversation(agent)

    def close(self):
        for agent in self._opened:
            agent.close()


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path)
    yield desk
    desk.close()


class Seat:
    """A person before the screen."""

    def __init__(self, app, pilot):
        self.app, self.pilot = app, pilot

    async def until(self, true):
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, (
                f"not within {PATIENCE} seconds; on the screen:\n{self.screen()}"
            )
            await self.pilot.pause(0.01)

    async def write(self, text):
        prompt = self.app.query_one(Prompt)
        prompt.focus()
        prompt.insert(text)
        await self.pilot.pause()

    async def send(self, text):
        await self.write(text)
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def say(self, text):
        """Sends a message, and waits until it is answered and the panel has caught up."""
        await self.send(text)
        await self.settled()

    async def settled(self):
        await self.until(lambda: self.app.query(MemoryPanel) and self.app._turn is None)
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    def lines(self, kind):
        return [str(line.content) for line in self.app.query(Line) if line.has_class(kind)]

    def answers(self):
        return [answer.source for answer in self.app.query(Markdown)]

    def memories(self):
        return str(self.app.query_one("#memories", Static).content)

    def given(self):
        return str(self.app.query_one("#received", Static).content)

    def counts(self):
        return str(self.app.query_one("#counts", Static).content)

    def screen(self):
        """What can be read on the screen, row by row."""
        return "\n".join(
            "".join(part.text for part in strip)
            for strip in self.app.screen._compositor.render_strips()
        )


def sit(conversation, use, size=WIDE):
    """Lets `use` do what it does before a screen."""

    async def sitting():
        app = ChatApp(lambda tell: conversation)
        async with app.run_test(size=size, notifications=True) as pilot:
            seat = Seat(app, pilot)
            await seat.settled()
            await use(seat)

    asyncio.run(sitting())


class Waiting:
    """A model that says a little and then waits until it is let go on."""

    def __init__(self, *pieces):
        self.pieces, self.cancelled = pieces, threading.Event()
        self.go_on = threading.Event()
        self.model = FunctionModel(stream_function=self._stream, model_name="waiting")

    async def _stream(self, messages, info):
        for piece in self.pieces:
            yield piece
        try:
            while not self.go_on.is_set():
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        yield "and the rest."


# Starting


def test_the_screen_is_there_before_the_agent_and_sends_what_was_entered_meanwhile(desk):
    conversation, loaded = desk.conversation(), threading.Event()

    def opening(tell):
        tell("Loading [the] agent…")
        assert loaded.wait(PATIENCE)
        return conversation

    async def sitting():
        async with ChatApp(opening).run_test(size=WIDE) as pilot:
            seat = Seat(pilot.app, pilot)
            await seat.until(lambda: seat.lines("starting") == ["Loading [the] agent…"])
            await seat.send(TEA)
            assert seat.lines("said") == [] and seat.app.query_one(Prompt).text == TEA
            await pilot.press("ctrl+b", "ctrl+f")  # there is nothing to show or to filter yet
            loaded.set()
            await seat.until(seat.answers)
            await seat.settled()
            assert seat.lines("starting") == [] and seat.lines("said") == [TEA]
            assert seat.app.query_one(Prompt).text == ""

    asyncio.run(sitting())


def test_an_agent_that_cannot_be_opened_ends_the_screen_with_the_reason(monkeypatch):
    def opening(tell):
        raise InvalidInput("There is no key.")

    monkeypatch.setattr(ChatApp, "run", partialmethod(App.run, headless=True))
    with pytest.raises(InvalidInput, match="no key"):
        chat(opening)


@pytest.mark.parametrize("ending", ["/end", "/quit", "/exit"])
def test_a_conversation_that_cannot_be_resumed_is_a_new_one(desk, monkeypatch, ending):
    conversation, notes = desk.conversation(), []

    async def use(seat):
        notes.extend(seat.lines("note"))
        await seat.send(ending)

    run_with(monkeypatch, use)
    chat(lambda tell: conversation, resume=True)
    assert notes == ["No previous session found."]


# Talking


def test_a_fact_that_is_told_appears_in_the_panel_and_answers_a_question(desk):
    async def use(seat):
        assert seat.counts() == "0 semantic · 0 episodic · 0 procedural"
        await seat.say(TEA)
        assert "#1 semantic:preferences\nI like green tea from Uji." in seat.memories()
        assert seat.counts() == "1 semantic · 0 episodic · 0 procedural"
        await seat.say("Which tea do I like?")
        assert "From memory:" in seat.answers()[-1] and "Uji" in seat.answers()[-1]
        assert seat.lines("said") == [TEA, "Which tea do I like?"]
        assert seat.lines("tool")[-1].startswith('· recall(query="Which tea do I like?"')
        assert "• I like green tea from Uji." in seat.screen()

    conversation = desk.conversation()
    sit(conversation, use)
    assert len(conversation.history) == 8


def test_the_panel_says_what_an_answer_was_given_and_why(desk):
    async def use(seat):
        assert seat.given() == ""
        await seat.say(TEA)
        await seat.say("Which tea do I like?")
        assert seat.given().startswith(
            "In this answer\n#1 I like green tea from Uji.\n"
            "found for “Which tea do I like?”: words, similarity 0."
        )
        conversation.agent.memory.remember("procedural", "Answer [briefly].")
        await seat.say("Thank you.")
        assert "#2 Answer [briefly].\napplies to every answer" in seat.given()
        assert TEA not in seat.given()

    conversation = desk.conversation()
    sit(conversation, use)


def test_nothing_is_made_before_something_is_told(desk):
    async def use(seat):
        await seat.send("/memory")
        assert seat.lines("note") == ["No memories found."]

    sit(desk.conversation(), use)
    assert not (desk.folder / "memory.db").exists()


def test_without_memory_the_panel_says_so_and_has_nothing_to_filter(desk):
    async def use(seat):
        assert seat.counts() == "This agent has no memory."
        await seat.pilot.press("ctrl+f")
        await seat.say("Hello.")
        assert len(seat.answers()) == 1
        await seat.send("/memory")
        assert seat.lines("note") == ["This agent has no memory."]

    sit(desk.conversation(memory=False), use)


def test_an_error_is_shown_and_the_conversation_goes_on(desk):
    answers = iter([RuntimeError("the [model] is away"), "Here again."])

    async def stream(messages, info):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        yield answer

    async def use(seat):
        await seat.say("Anybody there?")
        assert seat.lines("error") == ["ann could not answer: the [model] is away"]
        await seat.say("And now?")
        assert seat.answers() == ["Here again."]

    sit(desk.conversation(model=FunctionModel(stream_function=stream)), use)


def test_a_turn_that_could_not_be_saved_says_so(desk, monkeypatch):
    conversation = desk.conversation()
    monkeypatch.setattr(conversation.agent.memory, "save", lambda *_: False)

    async def use(seat):
        await seat.say(TEA)
        assert seat.lines("error") == [NOT_SAVED]

    sit(conversation, use)


def test_memories_that_cannot_be_read_are_an_error_in_the_panel(desk, monkeypatch):
    conversation = desk.conversation()
    conversation.agent.memory.remember("semantic", "something")

    def busy(**_):
        raise StoreBusy

    monkeypatch.setattr(conversation.agent.memory, "listed", busy)

    async def use(seat):
        assert "Another process is writing" in seat.counts()
        assert seat.app.query_one("#counts").has_class("error")
        await seat.send("/memory")
        assert seat.lines("error") == [seat.counts()] and seat.lines("note") == []

    sit(conversation, use)


def test_a_resumed_conversation_is_shown_without_its_tools(desk):
    first = desk.conversation()
    first.say(TEA)
    first.say("Which tea do I like?")
    again = desk.conversation()
    assert again.resume()

    async def use(seat):
        assert seat.lines("said") == [TEA, "Which tea do I like?"]
        assert [answer.partition(" ")[0] for answer in seat.answers()] == ["Noted.", "From"]
        assert seat.lines("tool") == []
        assert "• I like green tea from Uji." in seat.screen()
        await seat.pilot.press("up")
        assert seat.app.query_one(Prompt).text == "Which tea do I like?"

    sit(again, use)


def test_a_long_conversation_stays_scrolled_to_its_end(desk):
    async def use(seat):
        await seat.say("A list:\n" + "\n".join(f"Room {number} is green." for number in range(60)))
        talk = seat.app.query_one("#talk")
        assert talk.max_scroll_y > 0 and talk.scroll_y == talk.max_scroll_y

    sit(desk.conversation(), use)


def test_enter_sends_all_that_was_typed_before_it_however_fast(desk):
    async def use(seat):
        seat.app.query_one(Prompt).focus()
        for letter in "Hello":
            seat.app.post_message(events.Key(letter, letter))
        seat.app.post_message(events.Key("enter", "\r"))
        seat.app.post_message(events.Key("x", "x"))
        await seat.until(lambda: seat.lines("said"))
        await seat.settled()
        assert seat.lines("said") == ["Hello"]
        assert seat.app.query_one(Prompt).text == "x"

    sit(desk.conversation(), use)


# Stopping


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
def test_a_stopped_turn_stays_visible_and_leaves_the_history_alone(desk, key):
    waiting = Waiting("Once upon ", "a time ")
    conversation = desk.conversation(model=waiting.model)

    async def use(seat):
        await seat.send("Tell me a story.")
        await seat.until(lambda: seat.answers() == ["Once upon a time "])
        await seat.send("Faster!")
        assert seat.app.query_one(Prompt).text == "Faster!"  # it is not lost, but it has to wait
        await seat.pilot.press(key)
        await seat.settled()
        assert seat.answers() == ["Once upon a time "]
        assert seat.lines("note") == ["— interrupted —"]
        assert conversation.history == []
        assert waiting.cancelled.wait(PATIENCE)
        waiting.go_on.set()
        await seat.pilot.press("enter")
        await seat.settled()
        assert seat.answers()[-1] == "Once upon a time and the rest."
        assert seat.lines("said") == ["Tell me a story.", "Faster!"]

    sit(conversation, use)
    assert len(conversation.history) == 2


def test_a_turn_can_be_stopped_the_moment_it_begins(desk):
    waiting = Waiting()
    conversation = desk.conversation(model=waiting.model)

    async def use(seat):
        await seat.write("Hello?")
        seat.app.query_one(Prompt).action_send()
        await seat.until(lambda: seat.app._turn is not None)
        seat.app.action_stop()
        await seat.settled()
        assert seat.lines("note") == ["— interrupted —"]

    sit(conversation, use)
    assert conversation.history == []


def test_who_stops_a_turn_does_not_stop_the_next_one(desk, monkeypatch):
    second_sent = asyncio.Event()

    async def cancel(app):
        """Stops the first turn, and looks again only when there is a second one."""
        first = app._turn
        while app._turn is first:
            app.conversation.agent.cancel()
            await asyncio.sleep(0.02)
        await second_sent.wait()

    monkeypatch.setattr(ChatApp, "_cancel", cancel)
    waiting = Waiting("Well, ")
    conversation = desk.conversation(model=waiting.model)

    async def use(seat):
        await seat.send("First.")
        await seat.until(seat.answers)
        await seat.pilot.press("escape")
        await seat.until(lambda: seat.app._turn is None)
        await seat.send("Second.")
        stopping = [worker for worker in seat.app.workers if worker.group == "stopping"]
        assert stopping and seat.app._turn is not None
        second_sent.set()
        await seat.app.workers.wait_for_complete(stopping)
        waiting.go_on.set()
        await seat.settled()
        assert seat.lines("note") == ["— interrupted —"]
        assert seat.answers()[-1] == "Well, and the rest."

    sit(conversation, use)


def test_the_end_comes_last_however_late_a_piece_of_the_answer_is(desk):
    class Slow(deque):
        """Lets the end come while a piece is on its way."""

        def append(self, news):
            if news[0] == "answer":
                ended.wait(0.3)
            super().append(news)

    ended = threading.Event()

    async def use(seat):
        exchange = Exchange("Hello?")
        await seat.app.query_one("#talk").mount(exchange)
        exchange._news = Slow()
        piece = threading.Thread(target=exchange.watcher().text, args=("before",))
        end = threading.Thread(target=lambda: (exchange.end("— interrupted —"), ended.set()))
        piece.start()
        await asyncio.sleep(0.1)
        end.start()
        await seat.until(lambda: not piece.is_alive() and not end.is_alive())
        await seat.settled()
        assert [type(shown).__name__ for shown in exchange.children] == ["Line", "Answer", "Line"]

    sit(desk.conversation(), use)


def test_what_a_stopped_turn_still_sends_is_left_out(desk):
    async def use(seat):
        exchange = Exchange("Hello?")
        await seat.app.query_one("#talk").mount(exchange)
        watcher = exchange.watcher()
        watcher.text("before")
        exchange.end("— interrupted —")
        watcher.text("after")
        await seat.settled()
        assert seat.answers() == ["before"]

    sit(desk.conversation(), use)


def test_ctrl_c_without_a_turn_says_how_to_end(desk):
    async def use(seat):
        await seat.pilot.press("ctrl+c")
        await seat.pilot.pause()
        assert [note.title for note in seat.app._notifications] == ["Do you want to quit?"]

    sit(desk.conversation(), use)


def test_cancelling_reaches_who_waits_and_only_them(desk):
    waiting = Waiting()
    agent = desk.conversation(model=waiting.model).agent
    agent.cancel()  # there is nothing to stop yet
    begun = threading.Event()
    noted = agent._note_running
    agent._note_running = lambda future: (noted(future), begun.set())
    outcome = []

    def run():
        try:
            agent.run("Hello?", watcher=Watcher())
        except CancelledError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(PATIENCE)
    agent.cancel()
    thread.join(PATIENCE)
    assert len(outcome) == 1 and not agent._running
    waiting.go_on.set()
    assert agent.run("And now?", watcher=Watcher()).text == "and the rest."


# The panel


def three_memories(desk):
    conversation = desk.conversation()
    memory = conversation.agent.memory
    memory.remember("semantic", "Ann drinks green tea", category="preferences")
    memory.remember("episodic", "The deployment failed on Monday", category="deployment")
    memory.remember("procedural", "Always run the tests first", category="deployment")
    return conversation


def heads(seat):
    return [line for line in seat.memories().splitlines() if line.startswith("#")]


def test_the_filter_narrows_by_words_type_and_category(desk):
    wanted = {
        "TEA": [1],
        "deployment": [3, 2],
        "procedural": [3],
        "episodic:deploy": [2],
        "deployment monday": [2],
        "#1": [1],
        "nothing like it": [],
    }

    async def use(seat):
        assert heads(seat) == [
            "#3 procedural:deployment",
            "#2 episodic:deployment",
            "#1 semantic:preferences",
        ]
        await seat.pilot.press("ctrl+f")
        for words, found in wanted.items():
            seat.app.query_one(Input).value = words
            await seat.pilot.pause()
            assert [int(head[1]) for head in heads(seat)] == found
            assert seat.app.query_one(MemoryPanel).border_subtitle == f"{len(found)} of 3"
        assert seat.counts() == "1 semantic · 1 episodic · 1 procedural"
        await seat.pilot.press("enter")
        assert isinstance(seat.app.focused, Prompt)

    sit(three_memories(desk), use)


def test_a_slash_goes_to_the_filter_except_where_something_is_written(desk):
    async def use(seat):
        await seat.pilot.press("slash")
        assert seat.app.query_one(Prompt).text == "/"
        seat.app.query_one("#talk").focus()
        await seat.pilot.press("slash")
        assert isinstance(seat.app.focused, Input) and seat.app.focused.value == ""
        await seat.pilot.press("escape")
        assert isinstance(seat.app.focused, Prompt)

    sit(three_memories(desk), use)


def test_more_memories_than_fit_are_counted(desk, monkeypatch):
    monkeypatch.setattr(panel_module, "SHOWN", 2)
    monkeypatch.setattr(panel_module, "LISTED", 1)

    async def use(seat):
        assert seat.memories().endswith("… and 1 more: narrow them above.")
        await seat.send("/memory")
        assert seat.lines("note")[-1].endswith("… and 2 more.")

    sit(three_memories(desk), use)


HOSTILE = (
    "[red]not red[/red] [@click=app.quit]x[/] [a link](https://e.example) <b>b</b> "
    "\x1b[2J\x07 [/nothing"
)
AS_SHOWN = (
    "[red]not red[/red] [@click=app.quit]x[/] [a link](https://e.example) <b>b</b> �[2J� [/nothing"
)


def test_what_a_memory_says_is_shown_letter_by_letter(desk):
    conversation = desk.conversation(model=FunctionModel(stream_function=answer_hostile))
    conversation.agent.memory.hf.remember(HOSTILE, kind="fact")

    async def use(seat):
        # What the store keeps of it is its own affair; what it gives back is shown.
        assert (
            "[red]not red[/red] [@click=app.quit]x[/] [a link](https://e.example)"
            in seat.memories()
        )
        assert "\x1b" not in seat.memories() and "\x07" not in seat.memories()
        await seat.say(HOSTILE)
        await seat.send("/memory")
        assert seat.lines("said") == [AS_SHOWN]
        shown = seat.screen()
        assert "\x1b" not in shown and "\x07" not in shown
        # Once in the panel, in what was said, in the answer and in the list; the panel may break
        # the line.
        assert shown.count("[@click=app.quit]x[/] [a link](https://e.example)") >= 3
        assert shown.count("<b>b</b>") == 4
        metas = [
            style.meta
            for line in seat.app.screen._compositor.render_strips()
            for _, style, _ in line
            if style
        ]
        assert not any(value for meta in metas for key, value in meta.items() if key == "@click")

    sit(conversation, use, size=(240, 40))


async def answer_hostile(messages, info):
    yield HOSTILE


@pytest.mark.parametrize(("size", "shown"), [(WIDE, True), ((80, 24), True), (NARROW, False)])
def test_the_panel_is_hidden_where_it_is_narrow(desk, size, shown):
    async def use(seat):
        panel = seat.app.query_one(MemoryPanel)
        assert panel.display is shown
        await seat.pilot.press("ctrl+b")
        assert panel.display is not shown
        await seat.pilot.press("ctrl+b")
        assert panel.display is shown

    sit(three_memories(desk), use, size=size)


def test_the_panel_follows_the_width_of_the_terminal(desk):
    async def use(seat):
        panel = seat.app.query_one(MemoryPanel)
        await seat.pilot.press("ctrl+f")
        await seat.pilot.resize_terminal(*NARROW)
        await seat.until(lambda: not panel.display)
        assert isinstance(seat.app.focused, Prompt)
        await seat.pilot.resize_terminal(*WIDE)
        await seat.until(lambda: panel.display)
        await seat.pilot.resize_terminal(*NARROW)
        await seat.until(lambda: not panel.display)
        await seat.pilot.press("ctrl+f")
        assert panel.display and isinstance(seat.app.focused, Input)

    sit(three_memories(desk), use)


# Writing


def test_keys_of_the_prompt(desk):
    async def use(seat):
        prompt = seat.app.query_one(Prompt)
        await seat.pilot.press("a", "ctrl+j", "b", "shift+enter", "c")
        assert prompt.text == "a\nb\nc"
        await seat.pilot.press("up", "up", "x")
        assert prompt.text == "ax\nb\nc"  # the cursor moved, for something is written
        await seat.pilot.press("home", "ctrl+d")
        assert prompt.text == "x\nb\nc"
        await seat.pilot.press("enter")
        await seat.settled()
        assert seat.lines("said") == ["x\nb\nc"] and prompt.text == ""
        await seat.pilot.press("enter", "space", "enter")
        assert len(seat.lines("said")) == 1  # there was nothing to say

    sit(desk.conversation(), use)


def test_earlier_messages_come_back(desk):
    async def use(seat):
        prompt = seat.app.query_one(Prompt)
        await seat.pilot.press("up")
        assert prompt.text == ""
        for text in ("First fact.", "Second fact."):
            await seat.say(text)
        seen = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await seat.pilot.press(key)
            seen.append(prompt.text)
        assert seen == ["Second fact.", "First fact.", "First fact.", "Second fact.", "", ""]
        await seat.pilot.press("up", "!", "up")
        assert prompt.text == "Second fact.!"

    sit(desk.conversation(), use)


def test_what_is_typed_while_a_message_is_on_its_way_stays(desk):
    async def use(seat):
        prompt = seat.app.query_one(Prompt)
        await seat.write(" First fact. ")
        prompt.action_send()
        prompt.insert("And")
        await seat.settled()
        await seat.write(" more.")
        assert prompt.text == "And more."
        assert seat.lines("said") == ["First fact."]

    sit(desk.conversation(), use)


def test_commands(desk):
    async def use(seat):
        await seat.send("/help")
        assert seat.lines("note") == [HELP]
        await seat.send("/memory")
        assert seat.lines("note")[-1].splitlines() == [
            "#3 procedural:deployment  Always run the tests first",
            "#2 episodic:deployment  The deployment failed on Monday",
            "#1 semantic:preferences  Ann drinks green tea",
        ]
        await seat.send("/memory green")
        assert seat.lines("note")[-1] == "#1 semantic:preferences  Ann drinks green tea"
        await seat.send("/memroy")
        assert seat.lines("error") == ["There is no command /memroy. /help lists them."]
        seat.app.query_one(Prompt).text = ""
        assert seat.lines("said") == []
        await seat.say("/etc/hosts is where names are.")
        assert seat.lines("said") == ["/etc/hosts is where names are."]

    sit(three_memories(desk), use)


def test_what_was_said_is_searched_summed_up_and_written_down(desk, tmp_path):
    async def use(seat):
        await seat.say(TEA)
        await seat.say("/search history tea")
        assert seat.lines("note")[-1].startswith("Said:\n") and TEA in seat.lines("note")[-1]
        await seat.say("/summary")
        assert seat.lines("note")[-1] == "There is not enough yet to sum up."
        for _ in range(2):
            await seat.say(f"/export {tmp_path / 'talk.md'}")
        assert seat.lines("note")[-1] == f"Wrote 2 messages to {tmp_path / 'talk.md'}."
        assert "already exists" in seat.lines("error")[-1]
        assert seat.lines("said") == [TEA]

    sit(desk.conversation(), use)


# Ending


def test_another_session_begins_on_a_new_screen(desk, monkeypatch):
    first, seen = desk.conversation(consolidation={"enabled": False}), []

    async def use(seat):
        seen.append(seat.app.conversation)
        await seat.say(TEA)
        if len(seen) > 1:
            await seat.send("/end")
            return
        for wrong in ("/end now", f"/end new {first.session}"):
            await seat.send(wrong)
        assert "/end new ID" in seat.lines("error")[0] and "already" in seat.lines("error")[1]
        await seat.send("/end new second")

    run_with(monkeypatch, use)
    assert chat(lambda tell: first) == []
    assert [one.session for one in seen] == [first.session, "second"]
    ended = {one.id: one.end_reason for one in first.agent.memory.hf.sessions.list()}
    assert ended == {first.session: "ended", "second": "ended"}


def run_with(monkeypatch, use):
    """Lets `chat` run before a screen that nobody looks at."""

    async def pilot_does(pilot):
        seat = Seat(pilot.app, pilot)
        await seat.settled()
        await use(seat)

    monkeypatch.setattr(
        ChatApp, "run", partialmethod(App.run, headless=True, size=WIDE, auto_pilot=pilot_does)
    )


def counted(monkeypatch, conversation):
    ended = []
    end = conversation.end
    monkeypatch.setattr(conversation, "end", lambda: ended.append(conversation.session) or end())
    return ended


@pytest.mark.parametrize("how", ["ctrl+d", "ctrl+q", "/end"])
def test_the_session_ends_once_and_its_lines_come_back(desk, monkeypatch, how):
    conversation = desk.conversation()
    conversation.agent.memory.remember(
        "episodic", "Ann decided to use the blue theme because it is calm."
    )
    ended, told = counted(monkeypatch, conversation), []

    async def use(seat):
        await seat.say(TEA)
        assert ended == []
        await (seat.send(how) if how == "/end" else seat.pilot.press(how))

    run_with(monkeypatch, use)
    lines = chat(lambda tell: conversation, report=told.append)
    assert lines == ["Created 1 semantic memories from episodic data."]
    assert ended == [conversation.session] and told == ["Ending the session…"]


@pytest.mark.parametrize("how", ["ctrl+q", "ctrl+d", "/end"])
def test_ending_stops_the_turn_that_runs(desk, monkeypatch, how):
    waiting = Waiting("Well, ")
    conversation = desk.conversation(model=waiting.model, consolidation={"enabled": False})
    ended = counted(monkeypatch, conversation)

    async def use(seat):
        await seat.send("Tell me a story.")
        await seat.until(seat.answers)
        await (seat.send(how) if how == "/end" else seat.pilot.press(how))

    run_with(monkeypatch, use)
    assert chat(lambda tell: conversation) == []
    assert len(ended) == 1 and conversation.history == [] and waiting.cancelled.wait(PATIENCE)


def test_a_screen_that_fails_ends_the_session_too(desk, monkeypatch, capfd):
    waiting = Waiting()
    conversation = desk.conversation(model=waiting.model, consolidation={"enabled": False})
    ended = counted(monkeypatch, conversation)

    def fail():
        raise RuntimeError("out of paint")

    async def use(seat):
        await seat.send("Tell me a story.")
        await seat.until(lambda: conversation.agent._running)
        seat.app.call_later(fail)
        await seat.pilot.pause()

    run_with(monkeypatch, use)
    with pytest.raises(HoldfastError, match="screen failed"):
        chat(lambda tell: conversation)
    assert len(ended) == 1 and waiting.cancelled.wait(PATIENCE)
    assert "out of paint" in capfd.readouterr().err


def test_a_screen_that_fails_takes_along_a_turn_that_is_not_waiting_yet(desk, monkeypatch, capfd):
    waiting = Waiting()
    conversation = desk.conversation(model=waiting.model, consolidation={"enabled": False})
    cancel, calls = conversation.agent.cancel, []
    # The first call comes too early, as it does before the turn waits.
    monkeypatch.setattr(
        conversation.agent, "cancel", lambda: calls.append(1) or (len(calls) > 1 and cancel())
    )

    def fail():
        raise RuntimeError("out of paint")

    async def use(seat):
        await seat.send("Tell me a story.")
        await seat.until(lambda: conversation.agent._running)
        seat.app.call_later(fail)
        await seat.pilot.pause()

    run_with(monkeypatch, use)
    release = threading.Timer(PATIENCE, waiting.go_on.set)  # so that a failure ends too
    release.start()
    with pytest.raises(HoldfastError, match="screen failed"):
        chat(lambda tell: conversation)
    release.cancel()
    assert waiting.cancelled.wait(PATIENCE)
    assert "out of paint" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("{}", "recall()"),
        ("", "recall()"),
        ('{"query": "tea", "types": ["semantic"]}', 'recall(query="tea", types=["semantic"])'),
        ('{"query": "ti', 'recall("{\\"query\\": \\"ti")'),
        (json.dumps({"query": "é" * 100}), f'recall(query="{"é" * 58}…)'),
        ("[" * 100_000, f'recall("{"[" * 58}…)'),
    ],
)
def test_tool_calls_are_short_lines(arguments, line):
    assert call_line("recall", arguments) == line


def test_the_screen_is_there_before_what_only_answers_need():
    code = "import sys, holdfast.agents.tui; print([*sys.modules])"
    run = [sys.executable, "-c", code]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "'textual.app'" in loaded
    for late in ("markdown_it", "pygments", "pydantic_ai", "numpy", "holdfast.client"):
        assert f"'{late}'" not in loaded, late
