"""What is said, on the screen: each message of the person with all that came of it."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from markdown_it import MarkdownIt
from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, UserPromptPart
from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Markdown, Static

from ...text.terminal import plain
from ..agent_runner import Watcher

LONGEST_ARGUMENT = 60  # characters of a tool's argument


def shortened(text: str, most: int) -> str:
    """The beginning of a text, its lines as they are."""
    return text if len(text) <= most else text[: most - 1] + "…"


class Line(Static):
    """A text shown as it is, character by character. Its class says what it is: said, tool, note,
    error.
    """

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(Content(plain(text)), classes=kind)


class Answer(Markdown):
    """What the agent says. Links and HTML are shown as they were written, and do nothing."""

    def __init__(self, text: str = "") -> None:
        super().__init__(plain(text), parser_factory=_harmless_markdown, open_links=False)


def _harmless_markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])


class Exchange(Vertical):
    """A message of the person and all that came of it. The methods that tell it something may be
    called anywhere.
    """

    class Told(Message):
        """There is something to show."""

    class Ended(Message):
        """All of it is shown, and nothing more will come."""

    def __init__(self, prompt: str, answers: Sequence[str] = ()) -> None:
        super().__init__(Line(prompt, "said"), *map(Answer, answers))
        self.prompt = prompt
        self._news: deque[tuple[str, str]] = deque()
        # The answer comes on one thread, its end on another.
        self._telling = threading.Lock()
        self._over = False
        self._answer: Answer | None = None

    def watcher(self) -> Watcher:
        """Who shows the answer to this message while it is made."""
        return Watcher(
            text=lambda piece: self._tell("answer", piece),
            tool=lambda name, arguments: self._tell("tool", f"· {call_line(name, arguments)}"),
        )

    def end(self, text: str = "", kind: str = "note") -> None:
        """Shows a last line, if there is one. What a cancelled turn still sends after that is left
        out.
        """
        self._tell(kind, text, last=True)
        self.post_message(self.Ended())

    def _tell(self, kind: str, text: str, *, last: bool = False) -> None:
        with self._telling:
            if text and not self._over:
                self._news.append((kind, text))
                self.post_message(self.Told())
            self._over |= last

    @on(Told)
    async def _show(self) -> None:
        """Shows all there is at once, so that a quick model does not have to wait for the
        screen.
        """
        news = [self._news.popleft() for _ in range(len(self._news))]
        for kind, texts in groupby(news, key=itemgetter(0)):
            if kind == "answer":
                await self._write("".join(text for _, text in texts))
            else:
                # What is said after a tool was called stands below it.
                self._answer = None
                await self.mount(*(Line(text, kind) for _, text in texts))

    async def _write(self, text: str) -> None:
        if self._answer is None:
            self._answer = Answer()
            await self.mount(self._answer)
        await self._answer.append(plain(text))


def call_line(name: str, arguments: str) -> str:
    """A tool call as a person reads it, with long arguments shortened.

    >>> call_line("recall", '{"query": "tea", "top_k": 3}')
    'recall(query="tea", top_k=3)'
    """
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = arguments
    if not isinstance(given, dict):
        return f"{name}({_argument(given)})"
    return f"{name}({', '.join(f'{key}={_argument(value)}' for key, value in given.items())})"


def _argument(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), LONGEST_ARGUMENT)


def earlier_exchanges(history: Sequence[ModelMessage]) -> Iterator[tuple[str, list[str]]]:
    """What was said in a conversation: each message of the person with the texts that answered
    it.
    """
    prompt = ""
    answers = list[str]()
    for message in history:
        if not isinstance(message, ModelRequest):
            answers += [
                part.content
                for part in message.parts
                if isinstance(part, TextPart) and part.content
            ]
            continue
        said = [_said(part) for part in message.parts if isinstance(part, UserPromptPart)]
        if said:
            if prompt or answers:
                yield prompt, answers
            prompt = "\n".join(said)
            answers = []
    if prompt or answers:
        yield prompt, answers


def _said(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n".join(piece for piece in part.content if isinstance(piece, str))
