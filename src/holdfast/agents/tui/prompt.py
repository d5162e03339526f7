"""Input field with history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea


class Prompt(TextArea):
    """Multi-line input field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send"),
        Binding("ctrl+j,shift+enter", "new_line", "New line"),
    ]

    class Sent(Message):
        """The user sent this message."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__(placeholder="Say something, or /help", id="prompt")
        self._earlier = list[str]()
        self._at = 0

    def know(self, earlier: Sequence[str]) -> None:
        """Take over the messages of an earlier conversation into the history."""
        self._earlier = [*earlier, *self._earlier]

    def take(self, text: str) -> None:
        """Remove sent text from the field and add it to the history. Text typed meanwhile stays."""
        self._earlier.append(text)
        _, _, since = self.text.partition(text)
        self._put(since.lstrip())

    async def _on_key(self, event: events.Key) -> None:
        """Send on Enter, in key order: the screen handles a priority binding before typed
        letters.
        """
        actions = {
            "enter": self.action_send,
            "ctrl+j": self.action_new_line,
            "shift+enter": self.action_new_line,
        }
        if event.key not in actions:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        actions[event.key]()

    def action_send(self) -> None:
        """Send the text."""
        if self.text.strip():
            self.post_message(self.Sent(self.text.strip()))

    def action_new_line(self) -> None:
        """Insert a line break, as Enter does elsewhere."""
        self.replace("\n", *self.selection)

    def action_cursor_up(self, select: bool = False) -> None:
        """Show the previous message if nothing new is typed."""
        if select or not self._walk(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Show the next message if nothing new is typed."""
        if select or not self._walk(1):
            super().action_cursor_down(select)

    def _walk(self, step: int) -> bool:
        if not self.text:
            self._at = len(self._earlier)
        elif self.text != self._brought_back():
            return False
        self._at = min(max(self._at + step, 0), len(self._earlier))
        self._put(self._brought_back())
        return True

    def _brought_back(self) -> str:
        """Message at the current position of the history; none at its end."""
        return self._earlier[self._at] if self._at < len(self._earlier) else ""

    def _put(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)
