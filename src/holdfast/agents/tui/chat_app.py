"""The chat screen: layout, keys, and the turn in progress."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Input

from ...errors import HoldfastError
from .prompt import Prompt
from .talk import Exchange, Line

# Agents and their libraries take a second to load, and the screen shows before that. The panel
# comes with the conversation.
if TYPE_CHECKING:
    from ..conversation import Conversation
    from .panel import MemoryPanel

Opening: TypeAlias = "Callable[[Callable[[str], object]], Conversation]"
"""Opens a conversation; it is given a function that shows what it is doing."""

# Columns below which the side panel is hidden.
NARROW = 80
# Seconds between two attempts to stop a turn.
AGAIN = 0.02

STARTING = "Starting…"
SENT_LATER = "The agent is still starting. Your message is sent as soon as it is there."
NOT_RESUMED = "No previous session found."
ENDING = "Ending the session…"
STILL_ANSWERING = "The last message is still being answered. Escape stops that."
NOT_SAVED = "This could not be saved, so it cannot be resumed later. The next turn tries again."
HELP = """\
/memory [words]  list memories, or those with these words
/memory status, list, recall, forget, clear …: view and change them; /memory forget shows how
/memory view, clear, enqueue, stats, diagnose: memory of this project
/search words    search transcripts and memories; /search history …, /search memory …: only one
/summary         summarise this conversation
/export [file]   write this conversation to a new file
/settings        show the switches for memory, recall and project memory; /settings recall off
/help            show this help
/end, /quit      end the session, like Ctrl+Q, or Ctrl+D on an empty line; /end new [id] for another

Enter sends; Shift+Enter or Ctrl+J inserts a line break; ↑ and ↓ recall earlier messages.
Escape or Ctrl+C stops an answer. Ctrl+B shows or hides the memories; / or Ctrl+F filters them."""

# A slash, the command's name, and the rest of the message with its line breaks.
_COMMAND = re.compile(r"/(?P<name>\w+)(?:\s+(?P<rest>.*))?", re.DOTALL)


class ChatApp(App[None]):
    """Chat application for a conversation, which it opens. The caller ends the session once the
    screen has closed.
    """

    CSS_PATH = "chat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "return", "Stop", show=False),
        Binding("ctrl+c", "stop", "Stop", priority=True),
        # Textual's default, for when there is nothing to stop.
        Binding("ctrl+c", "help_quit", show=False, system=True),
        Binding("ctrl+b", "toggle_memory", "Memory"),
        Binding("ctrl+f", "filter", "Filter"),
        Binding("slash", "filter", "Filter", show=False),
        Binding("ctrl+d", "leave", "End", priority=True, show=False),
        Binding("ctrl+q", "quit", "End", priority=True),
    ]

    def __init__(self, opening: Opening, *, resume: bool = False) -> None:
        super().__init__()
        self.conversation: Conversation | None = None
        """The conversation, as soon as it is open."""
        self.following: Conversation | None = None
        """Conversation that the user requested next."""
        self.failure: HoldfastError | None = None
        """Why the conversation could not be opened."""
        self._opening = opening
        self._resume = resume
        # Whether Enter was pressed before the conversation was open.
        self._early = False
        self._turn: Exchange | None = None
        # Held by the thread that waits for an answer.
        self._answering = threading.Lock()
        self._leaving = False
        self._gone = False
        self._narrow: bool | None = None
        self._memories: MemoryPanel | None = None

    # Layout

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield VerticalScroll(Line(STARTING, "starting"), id="talk")
        yield Prompt()
        yield Footer()

    def on_mount(self) -> None:
        """Start."""
        self.query_one("#talk").anchor()
        self.query_one(Prompt).focus()
        # Loading would compete with the first picture.
        self.call_after_refresh(self._open)

    @work(thread=True, group="opening")
    def _open(self) -> None:
        """Open the conversation while the user may already type."""
        # Loads what the conversation and its first answer need, so that the screen need not wait.
        from . import answer, panel  # noqa: F401, PLC0415

        try:
            self.conversation = self._opening(self._doing)
            if self._resume:
                self.conversation.resume()
            self.conversation.project.begin()
        except HoldfastError as error:
            self.failure = error
        if not self._gone:
            self.call_from_thread(self.exit if self.failure else self._opened)

    def _doing(self, what: str) -> None:
        """Show what is done before the conversation is open."""
        if not self._gone:
            self.call_from_thread(self.query_one(".starting", Line).say, what)

    async def _opened(self) -> None:
        """Show the conversation, and send what was entered meanwhile."""
        from .panel import MemoryPanel  # noqa: PLC0415

        conversation = self._talk
        self.title = conversation.agent.role.name
        earlier = conversation.exchanges()
        talk = self.query_one("#talk")
        await self.query(".starting").remove()
        await talk.mount_all(Exchange(prompt, answers) for prompt, answers in earlier)
        if self._resume and not earlier:
            self._write(NOT_RESUMED)
        panel = MemoryPanel(conversation.agent.memory)
        panel.display = not self._narrow
        await self.query_one(Horizontal).mount(panel)
        self._memories = panel
        # The size may have changed meanwhile.
        self._show_panel(not self._narrow)
        prompt = self.query_one(Prompt)
        prompt.know([said for said, _ in earlier])
        panel.reload()
        if self._early:
            prompt.action_send()

    async def on_unmount(self) -> None:
        """Cancel a running turn, however the screen ended: the process could not exit before it."""
        self._gone = True
        while self._answering.locked():
            await self._cancel()

    def on_resize(self, event: events.Resize) -> None:
        """Hide the panel on a narrow screen and show it again; in between the user decides."""
        narrow = event.size.width < NARROW
        if narrow != self._narrow:
            self._narrow = narrow
            self._show_panel(not narrow)

    @property
    def _talk(self) -> Conversation:
        """The conversation, which must be open."""
        assert self.conversation is not None
        return self.conversation

    @property
    def _panel(self) -> MemoryPanel:
        """The panel, which comes with the conversation."""
        assert self._memories is not None
        return self._memories

    def _show_panel(self, shown: bool) -> None:
        if self._memories is None:
            return
        # A hidden field must not keep the focus.
        if not shown and self.focused and self._panel in self.focused.ancestors:
            self.query_one(Prompt).focus()
        self._panel.display = shown

    def _write(self, text: str, kind: str = "note") -> None:
        self.query_one("#talk").mount(Line(text, kind))

    # Input

    @on(Prompt.Sent)
    def _hear(self, sent: Prompt.Sent) -> None:
        if self._memories is None:
            self._early = True
            self.notify(SENT_LATER, markup=False)
            return
        command = _COMMAND.fullmatch(sent.text)
        known: dict[str, Callable[[str], object]]
        known = {"memory": self._list_memories, "help": self._help}
        known |= dict.fromkeys(self._talk.ends, self._end)
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
            reply = self._talk.slash(wanted)
        except HoldfastError as error:
            self._write(str(error), "error")
            return
        if reply is not None:
            self._write(reply)
            self._panel.reload()
        else:
            text = self._panel.render_found(wanted, nothing=self._talk.project.usage)
            self._write(text, "error" if self._panel.failure else "note")

    def _help(self, _: str) -> None:
        self._write(HELP)

    @work(thread=True, group="telling")
    def _tell(self, name: str, rest: str) -> None:
        """Show the answer to a command about the transcript; a model may take a while."""
        try:
            reply = self._talk.command(name, rest.strip()) or ""
            kind = "note"
        except HoldfastError as error:
            reply = str(error)
            kind = "error"
        if not self._gone:
            self.call_from_thread(self._write, reply, kind)

    def _end(self, rest: str) -> None:
        try:
            self.following = self._talk.following(rest)
        except HoldfastError as error:
            self._write(str(error), "error")
        else:
            self._quit()

    # Turns

    def _begin(self, prompt: str) -> None:
        exchange = self._turn = Exchange(prompt)
        talk = self.query_one("#talk")
        talk.mount(exchange)
        # Scroll to the end: the user wants to see the answer.
        talk.anchor()
        self.refresh_bindings()
        self._answer(exchange)

    @work(thread=True, group="turn")
    def _answer(self, exchange: Exchange) -> None:
        with self._answering:
            # The screen is closing: nobody would see the answer or stop it.
            if self._gone:
                return
            try:
                self._talk.say(exchange.prompt, watcher=exchange.watcher())
            except CancelledError:
                exchange.end("— interrupted —")
            except HoldfastError as error:
                exchange.end(str(error), "error")
            else:
                exchange.end("" if self._talk.saved else NOT_SAVED, "error")

    @on(Exchange.Ended)
    def _ended(self) -> None:
        self._turn = None
        self.refresh_bindings()
        self._panel.reload()

    @work(exclusive=True, group="stopping")
    async def _stop(self) -> None:
        """Stop the current turn, and quit if requested."""
        stopped = self._turn
        while stopped is not None and self._turn is stopped:  # the next turn must not be stopped
            await self._cancel()
        if self._leaving:
            self.exit()

    async def _cancel(self) -> None:
        """Try to stop a turn. It may take several attempts, because a turn may not be cancellable
        yet.
        """
        self._talk.agent.cancel()
        await asyncio.sleep(AGAIN)

    def _quit(self) -> None:
        self._leaving = True
        self._stop()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Ctrl+C and Ctrl+D to fields that use them: copy, and delete a character."""
        if action == "stop":
            return self._turn is not None
        if action == "leave":
            return not getattr(self.focused, "text", getattr(self.focused, "value", ""))
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Stop the answer in progress; its text so far stays."""
        if self._turn is not None:
            self._stop()

    def action_return(self) -> None:
        """Stop the answer in progress and focus the input."""
        self.query_one(Prompt).focus()
        self.action_stop()

    def action_toggle_memory(self) -> None:
        """Show or hide the panel."""
        if self._memories is not None:
            self._show_panel(not self._memories.display)

    def action_filter(self) -> None:
        """Focus the filter."""
        # Without memory the panel has no filter, and at first there is no panel.
        for field in self.query(Input):
            self._show_panel(True)
            field.focus()

    @on(Input.Submitted, "#filter")
    def _filtered(self) -> None:
        self.query_one(Prompt).focus()

    def action_leave(self) -> None:
        """Quit if the input is empty."""
        self._quit()

    async def action_quit(self) -> None:
        """Quit."""
        self._quit()
