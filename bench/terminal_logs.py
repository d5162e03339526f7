"""Sessions that were copied from a terminal: Claude Code marks turns with `>` and `⏺`, Gemini CLI
with `>` and `✦`; a call's result stands behind `⎿`. Only the benchmark reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.transcripts.base import Entry
from holdfast.transcripts.tool_calls import condense

_WELCOME = re.compile(r"Welcome to Claude|^\s*(?:GEMINI|███)")
_USER = re.compile(r"^(?:> |[ │]{0,3}│ {1,2}> )(?P<said>.*)")
_CALL = re.compile(r"^⏺ (?P<tool>[A-Z]\w+(?: \w+)?)\((?P<argument>.*?)\)?…?\s*$")
_AGENT = re.compile(r"^[⏺✦] (?P<said>.*)")
_RESULT = re.compile(r"^\s{1,3}⎿\s{0,2}(?P<said>.*)")
_THOUGHT = re.compile(r"^[✻✽✶] ")
_BOX = re.compile(r"^\s{0,3}[╭╰│]")
# Characters: a shorter line was not broken by the terminal's width.
_WIDE = 110


@dataclass
class _Part:
    role: str
    first: int
    lines: list[str] = field(default_factory=list)
    tool: str = ""
    argument: str = ""


def sessions(path: Path) -> Iterator[list[Entry]]:
    """The sessions of a log, one after the other."""
    entries: list[Entry] = []
    part: _Part | None = None
    for number, line in enumerate(path.read_text("utf-8", "replace").split("\n"), 1):
        if _WELCOME.search(line) and entries:
            if part:
                entries += _entry(part)
            yield entries
            entries, part = [], None
            continue
        begun = _begun(line, number, part)
        if begun is not part and part is not None:
            entries += _entry(part)
        part = begun
    if part:
        entries += _entry(part)
    if entries:
        yield entries


def _begun(line: str, number: int, part: _Part | None) -> _Part | None:
    """The part that a line belongs to."""
    new = _new(line, number)
    if new is not None or part is None or _THOUGHT.match(line):
        return new
    return _continued(line, number, part)


def _new(line: str, number: int) -> _Part | None:
    if user := _USER.match(line):
        return _Part("user", number, [user["said"].rstrip(" │")])
    if call := _CALL.match(line):
        return _Part("tool", number, tool=call["tool"], argument=call["argument"])
    if agent := _AGENT.match(line):
        return _Part("assistant", number, [agent["said"]])
    return None


def _continued(line: str, number: int, part: _Part) -> _Part | None:
    if result := _RESULT.match(line):
        if part.role != "tool":
            part = _Part("tool", number, tool="command")
        part.lines.append(result["said"])
    elif part.role == "user" and _BOX.match(line):
        if not line.strip(" │╭╰─╮╯"):
            return None
        part.lines.append(line.strip(" │"))
    elif line.startswith((" ", "\t")) or not line.strip():
        part.lines.append(line.strip())
    else:
        return None
    return part


def _entry(part: _Part) -> Iterator[Entry]:
    last = part.first + len(part.lines)
    if part.role == "tool":
        text, failed = condense(part.tool, part.argument, "\n".join(part.lines))
        if re.search(r"^(?:Error|Exit code [1-9])", "\n".join(part.lines)):
            failed = True
        yield Entry("tool", text, None, (part.first, last), part.tool, failed)
        return
    said = unwrapped(part.lines).strip()
    if said:
        yield Entry(part.role, said, None, (part.first, last))  # type: ignore[arg-type]


def unwrapped(lines: list[str]) -> str:
    """Lines that the terminal broke, joined again."""
    said = ""
    wide = False
    for line in lines:
        said += (" " if wide and line else "\n" if said else "") + line
        wide = len(line) > _WIDE
    return said
