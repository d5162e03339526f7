"""Assembly of a conversation: entries in order, each tool call joined with its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..text.terminal import shorten
from ..types import Micros
from .base import Entry, Role, Transcript
from .tool_calls import condense
from .user_text import own_words

# How much may wait for the outcome of a call. A call that never ends must not hold back, or keep in
# memory, the rest.
_MOST_WAITING = 64
_MOST_CHARACTERS = 2_000_000
_TITLE = 80


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: Any
    at: Micros | None
    line: int
    branch: bool = False


class Talk:
    """Buffer of a conversation while it is read.

    Entries leave in the order in which they arrived. A call leaves once its result is known, so
    later entries wait for it, up to a limit.
    """

    def __init__(self, transcript: Transcript) -> None:
        """Start empty. Keeps the times and the title of `transcript` up to date."""
        # Whether what is heard now stands on a branch that was not continued.
        self.branch = False
        self._transcript = transcript
        self._waiting: list[Entry | _Call] = []
        self._characters = 0

    def say(
        self,
        role: Role,
        text: str,
        at: Micros | None,
        line: int,
        *,
        lines: bool = False,
    ) -> None:
        """Add a message, without text that a tool injected; ignore it if nothing is left.

        `lines` means that the lines of the text are lines of the file.
        """
        self._seen(at)
        words = own_words(text, role=role)
        if words:
            first, last = _spanned(text, line) if lines else (line, line)
            if (
                role == "user"
                and not self.branch
                and not self._transcript.title
                and not self._transcript.continued
            ):
                self._transcript.title = _headline(words)
            self._add(Entry(role, words, at, (first, last), branch=self.branch))

    def call(
        self,
        key: str,
        name: str,
        arguments: Any,
        at: Micros | None,
        line: int,
    ) -> None:
        """Add a tool call; its result will refer to `key`."""
        self._seen(at)
        self._add(_Call(key, name, arguments, at, line, self.branch))

    def outcome(
        self,
        key: str,
        output: str,
        at: Micros | None,
        line: int,
        *,
        failed: bool | None = None,
    ) -> None:
        """Add the result of the call `key`. A result without a call becomes an entry of its own."""
        self._seen(at)
        for index, waiting in enumerate(self._waiting):
            if isinstance(waiting, _Call) and waiting.id == key:
                self._waiting[index] = entry = _told(waiting, output, failed, line)
                self._characters += len(entry.text)
                return
        self._add(_told(_Call(key, "", None, at, line, self.branch), output, failed, line))

    def ran(
        self,
        name: str,
        arguments: Any,
        output: str | None,
        at: Micros | None,
        line: int,
        *,
        last: int | None = None,
        failed: bool | None = None,
    ) -> None:
        """Add a call together with its result, which is on one line or goes on to the line
        `last`.
        """
        self._seen(at)
        call = _Call("", name, arguments, at, line, self.branch)
        self._add(_told(call, output, failed, line if last is None else last))

    def ready(self) -> Iterator[Entry]:
        """Return the entries that no longer wait for a call."""
        done = 0
        for waiting in self._waiting:
            if isinstance(waiting, _Call) and not self._too_many(done):
                break
            done += 1
        yield from self._take(done)

    def rest(self) -> Iterator[Entry]:
        """Return the remaining entries at the end of the input, with calls that have no result."""
        yield from self._take(len(self._waiting))

    def _add(self, item: Entry | _Call) -> None:
        self._waiting.append(item)
        self._characters += len(item.text) if isinstance(item, Entry) else 0

    def _take(self, count: int) -> Iterator[Entry]:
        taken = self._waiting[:count]
        self._waiting = self._waiting[count:]
        for item in taken:
            entry = item if isinstance(item, Entry) else _told(item, None, None, item.line)
            self._characters -= len(item.text) if isinstance(item, Entry) else 0
            yield entry

    def _too_many(self, done: int) -> bool:
        return len(self._waiting) - done > _MOST_WAITING or self._characters > _MOST_CHARACTERS

    def _seen(self, at: Micros | None) -> None:
        transcript = self._transcript
        if at is not None:
            transcript.updated_at = max(transcript.updated_at or at, at)
            if not transcript.continued:
                transcript.started_at = min(transcript.started_at or at, at)


def _told(
    call: _Call,
    output: str | None,
    failed: bool | None,
    line: int,
) -> Entry:
    text, failed = condense(call.name, call.arguments, output, failed=failed)
    lines = min(call.line, line), max(call.line, line)
    return Entry("tool", text, call.at, lines, call.name, failed, branch=call.branch)


def _spanned(text: str, line: int) -> tuple[int, int]:
    """Return the first and last non-blank line of a text that starts at `line`."""
    full = [number for number, words in enumerate(text.split("\n"), line) if words.strip()]
    return full[0], full[-1]


def _headline(words: str) -> str:
    return shorten(next(filter(None, map(str.strip, words.splitlines())), ""), _TITLE)
