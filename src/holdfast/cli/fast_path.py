"""The commands that agents run at every step, answered without the library that parses all the
others.

Loading that library takes longer than such a command does. Only plain ways to write it are
understood here; everything else, asking for help and mistakes among it, is left to the library,
which reads it as always.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Sequence
from typing import Any

from .exit_codes import outcome


def answered(words: Sequence[str]) -> int | None:
    """The exit code of a command that was answered; None for one that was not understood."""
    command = _command(words[0]) if words else None
    options = understood(command, words[1:]) if command else None
    return None if command is None or options is None else outcome(lambda: command(**options))


def _command(name: str) -> Callable[..., Any] | None:
    if name == "recall":
        # Nothing is worth collecting in so short a life,.
        gc.disable()
        # Nor at its end, when Python would look through all there is.
        atexit.register(gc.freeze)
        from .fast_recall import recall

        return recall
    if name == "mcp":
        from .fast_mcp import mcp

        return mcp
    return None


def understood(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments that words on the command line stand for, by the types of a command's
    parameters; None if unsure.

    >>> def find(text: str, *, limit: int | None, tag: list[str] | None, why: bool) -> None: ...
    >>> understood(find, ["tea", "--limit", "3", "--tag", "hot", "--tag", "green", "--why"])
    {'text': 'tea', 'limit': 3, 'tag': ['hot', 'green'], 'why': True}
    >>> understood(find, ["tea", "--limit", "three"])
    """
    typed = {name: type_ for name, type_ in command.__annotations__.items() if name != "return"}
    argument = next(iter(command.__code__.co_varnames[: command.__code__.co_argcount]), None)
    known = {
        f"--{name.replace('_', '-')}": (name, type_)
        for name, type_ in typed.items()
        if name != argument
    }
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, type_ = known.get(word, (argument, "str"))
        value = (
            True
            if type_ == "bool"
            else _value(type_, word if name == argument else next(rest, "-"))
        )
        if name is None or value is None or (name in given and not isinstance(value, list)):
            return None
        given[name] = [*given.get(name, ()), *value] if isinstance(value, list) else value
    return given


def _value(type_: str, word: str) -> Any:
    """A word as the type wants it; None where the library should have a look."""
    if word.startswith("-"):
        return None
    if type_.startswith("int"):
        return int(word) if word.isascii() and word.isdigit() and int(word) > 0 else None
    return [word] if type_.startswith("list") else word
