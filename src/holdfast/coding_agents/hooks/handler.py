"""`holdfast hook run EVENT`: a host's JSON on stdin, one answer on stdout, exit code 0, in time,
whatever happens.

The timer starts before anything else is loaded. What the hook did goes to the log; the host hears
of no error, for memory that fails must not stop anybody's work.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any

from .deadline import Answer, age, time_left
from .events import AFTER, EMPTY, EVENTS, START, Call, answer_with, late_answer, read_call

CHUNK = 1 << 20


class Noted:
    """What the log is told. Nothing, while it is not loaded: the timer must never wait for an
    import.
    """

    def __init__(self, event: str, tool: str) -> None:
        self.facts: dict[str, Any] = {"event": event, "tool": tool}
        self._log: ModuleType | None = None

    def load(self) -> None:
        """Loads what the log needs; where that fails, there is none."""
        if self._log is None:
            with suppress(Exception):
                self._log = import_module(".log", __package__)

    def failed(self, error: BaseException) -> None:
        """Remembers an error for the log."""
        self.load()
        self.facts["error"] = self._log.describe_error(error) if self._log else type(error).__name__

    def write(self, outcome: str) -> None:
        """Adds a line to the log."""
        if self._log is not None:
            self._log.note(**self.facts, outcome=outcome, ms=round(age() * 1000))


def main(args: Sequence[str]) -> None:
    """Answers the event that `args` name, and ends the process."""
    event = next(iter(args), "")
    tool = option(args, "--tool")
    noted = Noted(event, tool)
    answer = Answer(noted.write)
    answer.watch(time_left())
    # There is no time to tidy up, and nothing that lives long enough.
    gc.disable()
    text = EMPTY
    outcome = "nothing"
    try:
        if event not in EVENTS:
            _say_unknown(event)
        _hush()
        # There, what goes on afterwards is started before anything else.
        if event not in AFTER:
            noted.load()
        text, outcome = respond(
            heard(event), noted, answer, tool=tool, project_level="--project" in args
        )
    except BaseException as error:
        # A host is told nothing, and must not be kept waiting.
        outcome = "failed"
        noted.failed(error)
    finally:
        noted.load()
        answer.give(text, outcome)


def option(args: Sequence[str], name: str) -> str:
    """The value after `name`; empty when it is not there."""
    return next((value for key, value in pairwise(args) if key == name), "")


def heard(event: str) -> Call:
    """What the host says on stdin. A host that keeps the pipe open is heard as soon as its object
    is complete.
    """
    data = b""
    while chunk := os.read(0, CHUNK):
        data += chunk
        if data.rstrip().endswith(b"}"):
            try:
                return read_call(data, event)
            except ValueError:
                continue
    try:
        return read_call(data, event)
    except ValueError as error:
        # Its message goes into the log, and with it what to look at.
        from ...errors import InvalidInput  # noqa: PLC0415

        raise InvalidInput("standard input had no JSON object") from error


def respond(
    call: Call,
    noted: Noted,
    answer: Answer,
    *,
    tool: str,
    project_level: bool,
) -> tuple[str, str]:
    """The answer to a call, and what became of it in a word; `answer` is told what can be given if
    it gets late.
    """
    noted.facts |= {"session": call.session, "said": len(call.prompt), "source": call.source}
    if call.event not in EVENTS:
        return EMPTY, "not ours"
    if project_level and _told_already(tool):
        return EMPTY, "left to the person's own hook"
    if call.event in AFTER:
        # Each event loads what it needs.
        from .spawn import begin  # noqa: PLC0415

        return EMPTY, begin(call)
    from .inject import recalled, standing_in  # noqa: PLC0415

    def ready(context: str) -> None:
        noted.facts["given"] = len(context)
        answer.prepare(late_answer(call.event, context, tool))

    context = (standing_in if call.event == START else recalled)(call, noted.facts, ready)
    noted.facts["given"] = len(context)
    text = answer_with(call.event, context, tool)
    return text, "nothing" if text == EMPTY else "told"


def _told_already(tool: str) -> bool:
    from ..programs import runs_our_hooks, with_hooks  # noqa: PLC0415

    return tool in with_hooks() and runs_our_hooks(tool)


def _say_unknown(event: str) -> None:
    """Tells whoever typed or configured an event that is none of ours. Hosts show stderr to people
    and not to the model. The exit code stays 0: 2 would block the prompt in Claude Code, and others
    count any other as a failure.
    """
    from ...errors import meant  # noqa: PLC0415

    what = f"Unknown event {event!r}.{meant(event, EVENTS)}" if event else "Which event?"
    os.write(2, f"{what} Known are {', '.join(EVENTS)}. Nothing was done.\n".encode())


def _hush() -> None:
    """Whatever is written to stderr from here on, a warning of a library perhaps, is not shown to
    anybody.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
