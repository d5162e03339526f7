"""The screen itself: what stands where, what the keys do, and the turn that is being answered."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial
from typing import ClassVar

from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Input

from ...errors import HoldfastError
from ..conversation import Conversation
from .panel import MemoryPanel
from .prompt import Prompt
from .talk import Exchange, Line, earlier_exchanges

# Columns, below which the conversation needs all of them.
NARROW = 80
# Seconds between two attempts to stop a turn.
AGAIN = 0.02

ENDING = "Ending the session…"
STILL_ANSWERING = "The last message is still being answered. Escape stops that."
NOT_SAVED = "This could not be saved, so it cannot be resumed later. The next turn tries again."
HELP = """\
/memory [words]  lists what the agent remembers, or what of it has these words
/memory status, list, recall, forget, clear …: see and change it; /memory forget says how
/memory view, clear, enqueue, stats, diagnose: what past sessions of this project taught
/search words    looks for them in what was said and what is remembered; /search history …, /search memory …: in one
/summary         tells what this conversation was about so far
/export [file]   writes this conversation to a new file
/settings        shows what is on and off: memory, recall, the memory of this project; /settings recall off
/help            shows this
/end             ends the session, as does Ctrl+Q, or Ctrl+D where nothing is typed; /end new [id] begins another

Enter sends; Shift+Enter or Ctrl+J begins a new line; ↑ and ↓ bring back earlier messages.
Escape or Ctrl+C stops an answer. Ctrl+B shows or hides the memories; / or Ctrl+F filters them."""

_COMMAND = re.compile(r"/(?P<name>\w+)(?:\s+(?P<rest>.*))?", re.DOTALL)


class ChatApp(App[None]):
    """A conversation on the screen. It does not end the session: that is for whoever runs it, once
    it has closed.
    """

    CSS_PATH = "chat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "return", "Stop", show=False),
        Binding("ctrl+c", "stop", "Stop", priority=True),
        Binding(
            "ctrl+c", "help_quit", show=False, system=True
        ),  # what Textual does when there is nothing to stop
        Binding("ctrl+b", "toggle_memory", "Memory"),
        Binding("ctrl+f", "filter", "Filter"),
        Binding("slash", "filter", "Filter", show=False),
        Binding("ctrl+d", "leave", "End", priority=True, show=False),
        Binding("ctrl+q", "quit", "End", priority=True),
    ]

    def __init__(self, conversation: Conversation) -> None:
        super().__init__()
        self.conversation = conversation
        self.following: Conversation | None = None
        """The conversation that the person wants next, once this one has ended."""
        self.title = conversation.agent.role.name
        self._turn: Exchange | None = None
        # Held by the thread that waits for an answer.
        self._answering = threading.Lock()
        self._leaving = False
        self._gone = False
        self._narrow: bool | None = None

    # The screen

    def compose(self) -> ComposeResult:
        earlier = list(earlier_exchanges(self.conversation.history))
        with Horizontal():
            yield VerticalScroll(
                *(Exchange(prompt, answers) for prompt, answers in earlier), id="talk"
            )
            yield MemoryPanel(self.conversation.agent.memory)
        yield Prompt([prompt for prompt, _ in earlier])
        yield Footer()

    def on_mount(self) -> None:
        """Begins."""
        self.query_one("#talk").anchor()
        self.query_one(Prompt).focus()
        self._panel.reload()

    async def on_unmount(self) -> None:
        """Leaves no turn behind, whatever ended the screen: the process could not end before it."""
        self._gone = True
        while self._answering.locked():
            await self._cancel()

    def on_resize(self, event: events.Resize) -> None:
        """Hides the panel where it becomes narrow, and shows it again; in between the person
        decides.
        """
        narrow = event.size.width < NARROW
        if narrow != self._narrow:
            self._narrow = narrow
            self._show_panel(not narrow)

    @property
    def _panel(self) -> MemoryPanel:
        return self.query_one(MemoryPanel)

    def _show_panel(self, shown: bool) -> None:
        if not shown and self.focused and self._panel in self.focused.ancestors:
            self.query_one(Prompt).focus()
        self._panel.display = shown

    def _write(self, text: str, kind: str = "note") -> None:
        self.query_one("#talk").mount(Line(text, kind))

    # What the person says

    @on(Prompt.Sent)
    def _hear(self, sent: Prompt.Sent) -> None:
        command = _COMMAND.fullmatch(sent.text)
        known: dict[str, Callable[[str], object]]
        known = {"memory": self._list_memories, "help": self._help, "end": self._end}
        known |= {
            name: partial(self._tell, name) for name in ("search", "summary", "export", "settings")
        }
        if command and command["name"] in known:
            self.query_one(Prompt).take(sent.text)
            known[command["name"]](command["rest"] or "")
        elif command and command["rest"] is None:
            self._write(f"There is no command {sent.text}. /help lists them.", "error")
        elif self._turn or self._leaving:
            self.notify(ENDING if self._leaving else STILL_ANSWERING, markup=False)
        else:
            self.query_one(Prompt).take(sent.text)
            self._begin(sent.text)

    def _list_memories(self, wanted: str) -> None:
        try:
            reply = self.conversation.slash(wanted)
        except HoldfastError as error:
            self._write(str(error), "error")
            return
        if reply is not None:
            self._write(reply)
            self._panel.reload()
        else:
            told = self._panel.told(wanted, nothing=self.conversation.project.usage)
            self._write(told, "error" if self._panel.failure else "note")

    def _help(self, _: str) -> None:
        self._write(HELP)

    @work(thread=True, group="telling")
    def _tell(self, name: str, rest: str) -> None:
        """Shows the reply to a command about what was said; it may take a model a while."""
        try:
            reply = self.conversation.command(name, rest.strip()) or ""
            kind = "note"
        except HoldfastError as error:
            reply = str(error)
            kind = "error"
        if not self._gone:
            self.call_from_thread(self._write, reply, kind)

    def _end(self, rest: str) -> None:
        try:
            self.following = self.conversation.following(rest)
        except HoldfastError as error:
            self._write(str(error), "error")
        else:
            self._quit()

    # Turns

    def _begin(self, prompt: str) -> None:
        exchange = self._turn = Exchange(prompt)
        talk = self.query_one("#talk")
        talk.mount(exchange)
        # who says something wants to see what comes of it, wherever the screen was scrolled to
        talk.anchor()
        self.refresh_bindings()
        self._answer(exchange)

    @work(thread=True, group="turn")
    def _answer(self, exchange: Exchange) -> None:
        with self._answering:
            # Nobody would see the answer, nor stop it.
            if self._gone:
                return
            try:
                self.conversation.say(exchange.prompt, watcher=exchange.watcher())
            except CancelledError:
                exchange.end("— interrupted —")
            except HoldfastError as error:
                exchange.end(str(error), "error")
            else:
                exchange.end("" if self.conversation.saved else NOT_SAVED, "error")

    @on(Exchange.Ended)
    def _ended(self) -> None:
        self._turn = None
        self.refresh_bindings()
        self._panel.reload()

    @work(exclusive=True, group="stopping")
    async def _stop(self) -> None:
        """Stops the turn at hand, and leaves if that was wanted."""
        stopped = self._turn
        while (
            stopped is not None and self._turn is stopped
        ):  # the next one is none of this one's business
            await self._cancel()
        if self._leaving:
            self.exit()

    async def _cancel(self) -> None:
        """One attempt to stop a turn. It may take several, for a turn may not have got as far as
        waiting.
        """
        self.conversation.agent.cancel()
        await asyncio.sleep(AGAIN)

    def _quit(self) -> None:
        self._leaving = True
        self._stop()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leaves Ctrl+C and Ctrl+D to the fields they have a use in: copying, and deleting a
        character.
        """
        if action == "stop":
            return self._turn is not None
        if action == "leave":
            return not getattr(self.focused, "text", getattr(self.focused, "value", ""))
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Stops the answer that is being made; what is there of it stays."""
        if self._turn is not None:
            self._stop()

    def action_return(self) -> None:
        """Stops the answer that is being made, and goes back to writing."""
        self.query_one(Prompt).focus()
        self.action_stop()

    def action_toggle_memory(self) -> None:
        """Shows or hides the panel."""
        self._show_panel(not self._panel.display)

    def action_filter(self) -> None:
        """Goes to the field that narrows the memories."""
        for field in self._panel.query(Input):
            self._show_panel(True)
            field.focus()

    @on(Input.Submitted, "#filter")
    def _filtered(self) -> None:
        self.query_one(Prompt).focus()

    def action_leave(self) -> None:
        """Ends, where there is nothing typed."""
        self._quit()

    async def action_quit(self) -> None:
        """Ends."""
        self._quit()
