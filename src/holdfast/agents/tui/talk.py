"""Transcript on the screen: each message of the user with its answer."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from ...text.terminal import plain
from ..watcher import Watcher

if TYPE_CHECKING:
    from .answer import Answer

LONGEST_ARGUMENT = 60  # characters of a tool's argument


def shortened(text: str, most: int) -> str:
    """Beginning of a text, with its line breaks."""
    return text if len(text) <= most else text[: most - 1] + "…"


class Line(Static):
    """Literal text. Its class is one of: starting, said, tool, note, error."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(Content(plain(text)), classes=kind)

    def say(self, text: str) -> None:
        """Show another text."""
        self.update(Content(plain(text)))


def new_answer(text: str = "") -> Answer:
    """Return a widget for the agent's text."""
    # Imported with the first answer: a fifth of the time before the first picture was Markdown's.
    from .answer import Answer  # noqa: PLC0415

    return Answer(text)


class Exchange(Vertical):
    """A message of the user with its answer. Methods that add content are thread-safe."""

    class Told(Message):
        """There is new content to show."""

    class Ended(Message):
        """Everything is shown, and nothing more will come."""

    def __init__(self, prompt: str, answers: Sequence[str] = ()) -> None:
        super().__init__(Line(prompt, "said"), *map(new_answer, answers))
        self.prompt = prompt
        self._news: deque[tuple[str, str]] = deque()
        # The answer arrives on one thread, its end on another.
        self._telling = threading.Lock()
        self._over = False
        self._answer: Answer | None = None

    def watcher(self) -> Watcher:
        """Observer that shows the answer while it arrives."""
        return Watcher(
            text=lambda piece: self._tell("answer", piece),
            tool=lambda name, arguments: self._tell("tool", f"· {call_line(name, arguments)}"),
        )

    def end(self, text: str = "", kind: str = "note") -> None:
        """Show a last line, if any. Later output of a cancelled turn is dropped."""
        self._tell(kind, text, last=True)
        self.post_message(self.Ended())

    def _tell(
        self,
        kind: str,
        text: str,
        *,
        last: bool = False,
    ) -> None:
        with self._telling:
            if text and not self._over:
                self._news.append((kind, text))
                self.post_message(self.Told())
            self._over |= last

    @on(Told)
    async def _show(self) -> None:
        """Show everything queued at once, so that a fast model need not wait for the screen."""
        news = [self._news.popleft() for _ in range(len(self._news))]
        for kind, texts in groupby(news, key=itemgetter(0)):
            if kind == "answer":
                await self._write("".join(text for _, text in texts))
            else:
                # Text after a tool call goes below it.
                self._answer = None
                await self.mount(*(Line(text, kind) for _, text in texts))

    async def _write(self, text: str) -> None:
        if self._answer is None:
            self._answer = new_answer()
            await self.mount(self._answer)
        await self._answer.append(plain(text))


def call_line(name: str, arguments: str) -> str:
    """Render a tool call for people, with long arguments shortened.

    >>> call_line("recall", '{"query": "tea", "top_k": 3}')
    'recall(query="tea", top_k=3)'
    """
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        # A model may write anything; show it as it is.
        parsed = arguments
    if not isinstance(parsed, dict):
        return f"{name}({_argument(parsed)})"
    shown = [f"{key}={_argument(value)}" for key, value in parsed.items()]
    return f"{name}({', '.join(shown)})"


def _argument(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), LONGEST_ARGUMENT)
