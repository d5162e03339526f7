"""The strings that a Go source file writes down, evaluated without Go: just enough for other
scanners' test cases.

`Source` reads one file. Literals, `+`, composite literals, assignments and `append` are understood;
a call is handed to `calls`, a table of functions by name. What is not understood is `UNKNOWN`, and
never stops the rest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Unknown:
    """A value that this reader cannot work out."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()
Calls = Mapping[str, Callable[..., Any]]

# Comments and white space are dropped. A name keeps its package: `utils.Hex`.
_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<raw>`[^`]*`)|(?P<text>\"(?:\\.|[^\"\\\n])*\")|(?P<char>'(?:\\.|[^'\\])+')"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<number>\d[\w.]*)|(?P<mark>:=|\.\.\.|&&|\|\||[=!<>]=|.)",
    re.DOTALL,
)


class NotUnderstoodError(Exception):
    """The tokens are no expression of the kind that is read here."""


class Source:
    """One Go file: `names` has what was assigned, `called` every call that was met, with its
    arguments.
    """

    def __init__(self, text: str, calls: Calls) -> None:
        """Read the whole file."""
        self.tokens = [
            (m.lastgroup or "", m[0]) for m in _TOKEN.finditer(text) if m.lastgroup != "skip"
        ]
        self.calls, self.names, self.called, self.at = (
            calls,
            dict[str, Any](),
            list[tuple[str, list[Any]]](),
            0,
        )
        self.composites: list[Any] = []
        while self.at < len(self.tokens):
            self._statement()

    def _statement(self) -> None:
        start = self.at
        try:
            if self._kind() == "name" and self._mark(1) in (":=", "="):
                name = self._take()
                self._take()
                self.names[name] = self._expression()
                return
            if self._peek() == "return":
                self._take()
                self._expression()
                return
        except (NotUnderstoodError, IndexError):
            pass
        self.at = start + 1

    def _expression(self) -> Any:
        value = self._operand()
        while self._peek() in ("+", "-", "*", "/", "%", "==", "!=", "&&", "||", "<", ">"):
            mark, other = self._take(), self._operand()
            value = (
                value + other
                if mark == "+" and isinstance(value, str) and isinstance(other, str)
                else UNKNOWN
            )
        return value

    def _operand(self) -> Any:
        kind, text = self._kind(), self._take()
        match kind:
            case "raw":
                value: Any = text[1:-1]
            case "text":
                value = _interpreted(text)
            case "char" | "number":
                value = int(text) if text.isdecimal() else UNKNOWN
            case "name" if text in ("func", "struct", "range", "interface"):
                raise NotUnderstoodError(text)
            case "name" if text == "map":
                value = self._typed()
            case "name":
                value = self._named(text)
            case _ if text == "[":
                self.at -= 1
                value = self._typed()
            case _ if text == "(":
                value = self._expression()
                self._expect(")")
            case _ if text == "{":
                value = self._composite()
            case _ if text in "&*!-":
                value = self._operand()
            case _:
                raise NotUnderstoodError(text)
        return self._indexed(value)

    def _indexed(self, value: Any) -> Any:
        while self._peek() in ("[", "("):
            self._balanced()
            value = UNKNOWN
        return value

    def _named(self, name: str) -> Any:
        if self._peek() == "(":
            self._take()
            arguments = self._arguments()
            self.called.append((name, arguments))
            return self._call(name, arguments)
        if self._peek() == "{" and (name[0].isupper() or "." in name):
            self._take()
            return self._composite()
        return {"nil": None, "true": True, "false": False}.get(name, self.names.get(name, UNKNOWN))

    def _call(self, name: str, arguments: list[Any]) -> Any:
        if name == "append":
            first = arguments[0] if isinstance(arguments[0], list) else []
            return [*first, *arguments[1:]]
        if name == "len" or name not in self.calls:
            return UNKNOWN
        try:
            return self.calls[name](*arguments)
        except (TypeError, ValueError, AttributeError, re.error):
            return UNKNOWN

    def _arguments(self) -> list[Any]:
        values: list[Any] = []
        while self._peek() != ")":
            value = self._expression()
            if self._peek() == "...":
                self._take()
                values += value if isinstance(value, list) else [UNKNOWN]
            else:
                values.append(value)
            if self._peek() != ",":
                break
            self._take()
        self._expect(")")
        return values

    def _typed(self) -> Any:
        """A value after its type: `[]string{…}`, `map[string]string{…}`, `[]struct{…}{…}`,
        `[]byte(…)`.
        """
        while self._peek() == "[":
            self._balanced()
        while self._peek() == "*":
            self._take()
        name = self._take() if self._kind() == "name" else ""
        if name == "struct":
            self._balanced()
        if self._peek() == "(":
            self._take()
            return self._arguments()[0]
        self._expect("{")
        return self._composite()

    def _composite(self) -> Any:
        items: list[Any] = []
        pairs: list[tuple[Any, Any]] = []
        while self._peek() != "}":
            key = self._take() if self._kind() == "name" and self._mark(1) == ":" else None
            value = None if key else self._expression()
            if self._peek() == ":":
                self._take()
                pairs.append((key if key else value, self._expression()))
            else:
                items.append(value)
            if self._peek() == ",":
                self._take()
        self._expect("}")
        whole: Any = (
            dict(pairs) if pairs and all(isinstance(key, str) for key, _ in pairs) else items
        )
        self.composites.append(whole)
        return whole

    def _balanced(self) -> None:
        depth = 0
        while True:
            text = self._take()
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            if depth == 0:
                return

    def _expect(self, mark: str) -> None:
        if self._take() != mark:
            raise NotUnderstoodError(mark)

    def _peek(self) -> str:
        return self._mark(0)

    def _mark(self, ahead: int) -> str:
        place = self.at + ahead
        if place >= len(self.tokens) or self.tokens[place][0] in ("raw", "text", "char"):
            return ""
        return self.tokens[place][1]

    def _kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]


def _interpreted(text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]


def sprintf(form: str, *values: Any) -> str:
    """`fmt.Sprintf`, for texts and numbers."""
    left: Iterator[Any] = iter(values)
    return re.sub(
        r"%(?:(%)|[+#]?[0-9.]*[a-zA-Z])", lambda m: "%" if m[1] else str(next(left, "")), form
    )
