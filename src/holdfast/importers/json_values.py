"""The values of a JSON text, each with the line it begins on: of an array, an object's lists, or
one after another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Value:
    """A value, the line it begins on, and the list of the outermost object that it is in; '' where
    there is none.
    """

    line: int
    value: Any
    list_name: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that cannot be taken in: the line it begins on, and why."""

    line: int
    reason: str


def values(text: str, *, lists: Sequence[str] = ()) -> Iterator[Value | Problem]:
    """The values in a text. An object that has one of these lists stands for what is in them."""
    walk = _Walk(text.removeprefix("\ufeff"))
    if walk.sign() == "[":
        yield from walk.elements()
    elif walk.sign() == "{" and walk.has_any(lists):
        yield from walk.fields(lists)
    else:
        yield from walk.lines()


class _Walk:
    """A place in a text that goes forward value by value."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._counted = 0
        self._decode = json.JSONDecoder().raw_decode

    def sign(self) -> str:
        """The next character that is no space; nothing at the end."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def line(self) -> int:
        """The line of the next value."""
        self.sign()
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def next(self) -> Any:
        """The next value; ValueError when it is none."""
        self.sign()
        try:
            value, self._at = self._decode(self._text, self._at)
        except RecursionError as error:
            raise ValueError("it is nested too deeply") from error
        return value

    def has_any(self, lists: Sequence[str]) -> bool:
        """Whether the next value is an object with one of these lists; the place stays."""
        try:
            found = self._decode(self._text, self._at)[0]
        except (ValueError, RecursionError):
            return False
        return any(isinstance(found.get(name), list) for name in lists)

    def elements(self, list_name: str = "") -> Iterator[Value | Problem]:
        """What is in an array; a place where it stops being JSON ends it."""
        self._at += 1
        while (sign := self.sign()) not in ("]", ""):
            if sign == ",":
                self._at += 1
                continue
            line = self.line()
            try:
                yield Value(line, self.next(), list_name)
            except ValueError as error:
                yield Problem(line, f"this is not JSON ({error}); what follows cannot be read")
                self._at = len(self._text)
                return
        if self.sign() == "":
            yield Problem(self.line(), "the file is cut off")
        self._at += 1

    def fields(self, lists: Sequence[str]) -> Iterator[Value | Problem]:
        """What is in the lists of an object, which is known to be one."""
        self._at += 1
        while self.sign() == '"':
            name = self.next()
            self.sign()
            # The colon.
            self._at += 1
            if self.sign() == "[" and name in lists:
                yield from self.elements(name)
            else:
                self.next()
            self._at += self.sign() == ","

    def lines(self) -> Iterator[Value | Problem]:
        """One value after another; a line that is none is passed over."""
        while self.sign():
            line = self.line()
            try:
                yield Value(line, self.next())
            except ValueError as error:
                yield Problem(line, f"this is not JSON ({error})")
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
